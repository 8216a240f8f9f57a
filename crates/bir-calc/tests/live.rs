//! A dry replay says what a live one does: the same steps with the same inputs, and the same word for what runs.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bir_calc::level::act;
use bir_calc::rehearse::{Values, rehearse};
use bir_calc::stored::{Stored, effect};
use bir_model::scenario::{Decision as HubDecision, Derived, Level, Mark, Matched};
use bir_model::{RunId, ScenarioId, TicketId};
use bir_plan::effect::Effect;
use bir_plan::template::Confidence;
use bir_replay::budget::Budgets;
use bir_replay::event::{AskId, Ended};
use bir_replay::expect::Expected;
use bir_replay::gate::{Found, Place, Question, Tools};
use bir_replay::inputs::NoBodies;
use bir_replay::policy::Policy;
use bir_replay::script::Now;
use bir_replay::{Action, Decision, Event, Replay, decide};
use serde_json::{Value, json};

#[test]
fn both_know_the_same_of_levels_and_effects() {
    for level in Level::ALL {
        for of in [Effect::Read, Effect::Idempotent, Effect::Write, Effect::Destructive] {
            for confidence in [Confidence::None, Confidence::Low, Confidence::Medium, Confidence::High] {
                for mark in [None, Some(Mark::ByHand), Some(Mark::Calculation)] {
                    for edited in [false, true] {
                        let dry = act(*level, of, confidence, mark, edited);
                        let live = bir_replay::coverage::act(*level, effect(of), confidence, mark, edited);
                        assert_eq!(dry, live, "{level} {of:?} {confidence:?} {mark:?} {edited}");
                    }
                }
            }
        }
    }
}

fn stored() -> Stored {
    let leaf =
        |expr: Value, origin: &str| json!({"leaf": {"expr": expr, "origin": origin, "confidence": "high"}});
    let steps = json!([
        {"server": "h", "tool": "search", "effect": "read",
            "input": {"object": [["city", leaf(json!({"param": "city"}), "prompt")], ["day", leaf(json!({"clock": "date"}), "clock")]]},
            "keeps": [{"key": "s0_id", "expr": {"pick": {"from": {"result": ["hotels"]}, "by": {"min": ["price"]}, "path": ["id"]}}}]},
        {"server": "h", "tool": "rooms", "effect": "read",
            "input": {"object": [["hotel", leaf(json!({"kept": "s0_id"}), "result")]]},
            "keeps": [{"key": "s1_room", "expr": {"result": ["rooms", 0, "id"]}}]},
        {"server": "h", "tool": "hold", "effect": "write",
            "input": {"object": [["room", leaf(json!({"kept": "s1_room"}), "result")], ["note", leaf(json!({"concat": [{"const": "for "}, {"param": "city"}]}), "prompt")]]},
            "keeps": []},
    ]);
    let of = |tool: &str, input: Value, output: Value| json!({"toolName": format!("mcp__h__{tool}"), "recordedInput": input, "recordedOutput": output});
    let stored: Stored = serde_json::from_value(json!({
        "plan": {"prompt": "Hold a room in Rome", "runs": 2, "steps": steps,
            "params": [{"name": "city", "spans": [{"start": 15, "end": 19}], "reading": "text", "role": "target", "sample": "Rome"}]},
        "wording": {"recordedAt": "2026-11-30T10:00:00+01:00[Europe/Berlin]",
            "examples": [{"text": "Hold a room in Rome", "slots": [{"span": {"start": 15, "end": 19}, "param": 0}]}]},
        "intent": "Hold a room in {city}", "family": "f", "level": "L3", "levelReason": "",
        "steps": [
            of("search", json!({"city": "Rome", "day": "2026-11-30"}),
                json!({"hotels": [{"id": "a7", "price": 90}, {"id": "b8", "price": 70.5}]})),
            of("rooms", json!({"hotel": "b8"}), json!({"rooms": [{"id": 12_345_678_901_234_567_u64}]})),
            of("hold", json!({"room": 12_345_678_901_234_567_u64, "note": "for Rome"}), json!("held")),
        ],
    }))
    .unwrap();
    stored.checked().unwrap()
}

#[test]
fn a_live_replay_makes_the_inputs_that_the_dry_one_has_shown() {
    let stored = stored();
    let dry = rehearse(&stored, Values::Recorded, None);
    assert!(dry.whole && dry.steps.iter().all(|step| step.equal), "{dry:?}");
    let matched = Matched {
        run_id: RunId::new(),
        scenario_id: Some(ScenarioId::new()),
        similarity: None,
        execution_ticket: Some(TicketId::new()),
        // Over the wire, as a runner has it.
        scenario: Some(serde_json::from_value(serde_json::to_value(stored.payload(1)).unwrap()).unwrap()),
        derived: Some(Derived { params: stored.samples(), derived: true, ..Derived::default() }),
        iterations: 2,
        decision: Some(HubDecision::Execute),
        why: None,
    };
    let (policy, wrapped) = (Policy::default(), ["h".to_owned()].into());
    let question = Question {
        at: 0,
        now: Now { text: "2026-11-30T10:00".into(), ms: 0 },
        found: Found::Match(Box::new(matched)),
        planning: false,
        on: true,
        cooling: false,
        held: false,
        policy: &policy,
        wrapped: &wrapped,
        tools: Tools::default(),
        here: Place::default(),
        there: Place::default(),
        approved: true,
        delivers: true,
        expected: Expected::default(),
    };
    let Decision::Arm(ready) = decide(question) else { panic!("declined") };
    let (mut plan, _) = Replay::arm("p".into(), *ready, &policy, Budgets::default(), 0, &mut NoBodies);
    plan.hear(1, Event::ScenarioPre { ask: AskId(1), call: None, planning: false }, &mut NoBodies);
    let mut actions = plan.hear(2, Event::ScenarioRun { ask: AskId(2), call: None }, &mut NoBodies);
    let mut live = Vec::new();
    for step in &stored.steps {
        let call = actions.iter().find_map(|action| match action {
            Action::Call(call) => Some(call.clone()),
            _ => None,
        });
        let call = call.expect("the next step is sent");
        live.push(call.arguments);
        let ended = Ended::Result(step.recorded_output.clone());
        actions = plan.hear(3, Event::Worked { work: call.work, ended }, &mut NoBodies);
    }
    let shown: Vec<Value> = dry.steps.iter().filter_map(|step| step.input.clone()).collect();
    assert_eq!(live, shown);
    assert_eq!(plan.outcome().to_string(), "steered_full");
}
