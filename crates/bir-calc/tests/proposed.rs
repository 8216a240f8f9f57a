//! Proposals of a model endpoint: what stands the tests is kept, marked, and runs nothing; everything else is dropped with its reason.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bir_calc::Stored;
use bir_calc::calculate::calculate;
use bir_calc::level::act;
use bir_calc::proposed::{Dropped, Proved, prove, unexplained};
use bir_calc::rehearse::{Values, rehearse};
use bir_calc::trace::{Recorded, Tools};
use bir_model::record::{RunStart, Step};
use bir_model::scenario::{Act, Level, Mark};
use bir_plan::proposal::Proposal;
use bir_plan::template::{Confidence, Origin};
use serde_json::{Value, json};
use std::time::Duration;

const AMPLE: Duration = Duration::from_secs(60);

/// A run of calls `(tool, input, output)`.
fn run(prompt: &str, calls: &[(&str, Value, Value)]) -> Recorded {
    let id = bir_model::RunId::new();
    let start: RunStart = serde_json::from_value(json!({"id": id, "tier": "bound", "input": prompt,
        "startedAt": 1_796_032_800_000_u64, "metadata": {"timeZone": "Europe/Berlin"}}))
    .unwrap();
    let row = |index: usize, kind: &str, tool: &str, name: &str, text: String| -> Step {
        serde_json::from_value(json!({"id": bir_model::StepId::new(), "runId": id, "stepIndex": index, "stepType": kind,
            "toolName": format!("mcp__s__{tool}"), "server": "s", "tool": tool, "at": 1, name: text, "outcome": "ok"}))
        .unwrap()
    };
    let mut rows = Vec::new();
    for (n, (tool, input, output)) in calls.iter().enumerate() {
        let result = json!({"content": [{"type": "text", "text": output.to_string()}]});
        rows.push(row(2 * n, "tool_selected", tool, "toolInput", input.to_string()));
        rows.push(row(2 * n + 1, "tool_response", tool, "toolOutput", result.to_string()));
    }
    Recorded::read(&start, &rows, None, &Tools::default())
}

/// The most that is paid is the price, rounded; the wish is in nobody's words.
fn stay(city: &str, id: u64, price: f64, wish: &str) -> Recorded {
    run(
        &format!("Look up a room in {city} and hold it"),
        &[
            (
                "find_city",
                json!({"query": city}),
                json!([{"city_id": id, "price": price, "other": price - 41.5, "label": format!("{city} {id}")}]),
            ),
            (
                "get_room",
                json!({"city": id, "most": price.round() as i64, "wish": wish}),
                json!({"ok": true}),
            ),
        ],
    )
}

fn two() -> Vec<Recorded> {
    vec![
        stay("Rome", 712_345, 1_190.4, "somewhere with a garden"),
        stay("Oslo", 998_877, 2_084.6, "near the old harbour"),
    ]
}

fn stored(runs: &[Recorded]) -> Stored {
    calculate(runs.to_vec(), None, 1_000, AMPLE).unwrap().stored
}

fn proposal(argument: &str, keeps: Value, expr: Value) -> Proposal {
    serde_json::from_value(json!({"step": 1, "argument": argument, "keeps": keeps, "expr": expr})).unwrap()
}

fn rounded(from: &str) -> Proposal {
    let keeps = json!([{"step": 0, "key": "k", "expr": {"result": [0, from]}}]);
    proposal("most", keeps, json!({"round": {"of": {"kept": "k"}, "digits": 0}}))
}

fn tried(runs: &[Recorded], one: Proposal) -> Result<Stored, Dropped> {
    let Proved { stored, accepted, dropped } = prove(&stored(runs), runs, vec![one.clone()], None);
    match dropped.first() {
        None => {
            assert_eq!(accepted, [one]);
            Ok(stored)
        }
        Some((_, _, why)) => {
            assert!(accepted.is_empty());
            assert_eq!(stored, self::stored(runs), "nothing of it is left");
            Err(*why)
        }
    }
}

#[test]
fn what_stands_the_tests_is_kept_marked_and_runs_nothing() {
    let runs = two();
    let before = stored(&runs);
    assert_eq!(unexplained(&before), [(1, "most".to_owned()), (1, "wish".to_owned())]);
    let after = tried(&runs, rounded("price")).unwrap();
    let leaves = after.plan.steps[1].input.leaves();
    let (_, leaf) = leaves.iter().find(|(path, _)| path == "most").unwrap();
    assert_eq!((leaf.origin, leaf.confidence), (Origin::Proposed, Confidence::Low));
    assert_eq!(unexplained(&after), [(1, "wish".to_owned())]);
    assert_eq!((after.level, &after.level_reason), (before.level, &before.level_reason));
    // The other value is still unexplained, so the step hands over.
    assert_eq!(after.steps[1].edits.mark, Some(Mark::Calculation));
    assert_eq!(rehearse(&after, Values::Recorded, None).hand_over.unwrap().code, "unexplained");
    // Without it, it is what was calculated.
    assert_eq!(bir_calc::proposed::without(&after), before.plan.steps);
    // It is stored and read as everything else.
    let text = serde_json::to_string(&after).unwrap();
    assert_eq!(serde_json::from_str::<Stored>(&text).unwrap().checked().unwrap(), after);
}

#[test]
fn a_step_whose_last_value_is_proposed_steers_at_every_level() {
    let plain = |city: &str, id: u64, price: f64| {
        let mut run = stay(city, id, price, "x");
        run.trace.calls[1].input.as_object_mut().unwrap().remove("wish");
        run
    };
    let runs = vec![plain("Rome", 712_345, 1_190.4), plain("Oslo", 998_877, 2_084.6)];
    let after = tried(&runs, rounded("price")).unwrap();
    assert!(after.steps[1].edits.mark.is_none() && unexplained(&after).is_empty());
    let replayed = rehearse(&after, Values::Recorded, None);
    assert!(replayed.whole && replayed.steps[1].equal, "{replayed:?}");
    let step = &after.plan.steps[1];
    for level in Level::ALL {
        assert_eq!(act(*level, step.effect, step.confidence(), None, false), Act::Steer, "{level}");
    }
    let shown = after.step_view(1).unwrap();
    assert_eq!(shown.leaves.iter().find(|leaf| leaf.path == "most").unwrap().origin, "proposed");
}

#[test]
fn what_does_not_stand_the_tests_is_dropped() {
    let runs = two();
    let kept = |path: Value| json!([{"step": 0, "key": "k", "expr": {"result": path}}]);
    let from = |argument: &str, path: Value, expr: Value| proposal(argument, kept(path), expr);
    let k = || json!({"kept": "k"});
    for (one, why) in [
        (rounded("other"), Dropped::DoesNotReproduce),
        (rounded("nothing"), Dropped::DoesNotReproduce),
        (proposal("most", json!([]), json!({"const": 1190})), Dropped::Constant),
        (proposal("city", json!([]), json!({"clock": "date"})), Dropped::NoSuchValue),
        (proposal("none", json!([]), json!({"clock": "date"})), Dropped::NoSuchValue),
        (Proposal { step: 9, ..rounded("price") }, Dropped::NoSuchValue),
        (Proposal { step: 0, argument: "query".into(), ..rounded("price") }, Dropped::NoSuchValue),
        (proposal("most", json!([]), json!({"param": "nobody"})), Dropped::Form),
        (proposal("most", json!([]), k()), Dropped::Form),
        (proposal("most", json!([]), json!({"result": [0, "price"]})), Dropped::Form),
        // Of a later step, or of itself.
        (proposal("most", json!([{"step": 1, "key": "k", "expr": {"result": ["ok"]}}]), k()), Dropped::Form),
        // A table of answers.
        (
            from(
                "most",
                json!([0, "city_id"]),
                json!({"map": {"of": k(), "cases": [[712_345, 1190], [998_877, 2085]]}}),
            ),
            Dropped::Form,
        ),
        // The answer in a constant, whole or in parts, with something that adds nothing.
        (
            from(
                "wish",
                json!([0, "label"]),
                json!({"concat": [{"const": "somewhere with a garden"},
                {"cut": {"of": k(), "after": "Rome 712345", "before": ""}}]}),
            ),
            Dropped::Copy,
        ),
        (
            from(
                "wish",
                json!([0, "label"]),
                json!({"concat": [{"const": "somewhere "}, {"const": "with a garden"},
                {"cut": {"of": k(), "after": "Rome 712345", "before": ""}}]}),
            ),
            Dropped::Copy,
        ),
        (
            from(
                "most",
                json!([0, "price"]),
                json!({"add": {"of": k(), "amount": {"const": -0.4}, "unit": "number"}}),
            ),
            Dropped::DoesNotReproduce,
        ),
        // It gives the answer in one of two runs.
        (
            from(
                "most",
                json!([0, "other"]),
                json!({"round": {"of": {"add": {"of": k(), "amount": {"const": 41.5},
                "unit": "number"}}, "digits": 1}}),
            ),
            Dropped::DoesNotReproduce,
        ),
    ] {
        assert_eq!(tried(&runs, one.clone()).err(), Some(why), "{one:?}");
    }
    let deep = (0..20).fold(k(), |inner, _| json!({"len": inner}));
    assert_eq!(tried(&runs, from("most", json!([]), deep)).err(), Some(Dropped::Form));
}

#[test]
fn one_run_is_held_to_more() {
    let runs = vec![stay("Rome", 712_345, 1_190.4, "somewhere with a garden")];
    let plan = stored(&runs);
    assert!(unexplained(&plan).iter().any(|(_, path)| path == "most"), "{:?}", unexplained(&plan));
    assert!(tried(&runs, rounded("price")).is_ok());
    let kept = json!([{"step": 0, "key": "k", "expr": {"result": [0, "other"]}}]);
    // A number that is added may be anything that gives the answer.
    let added = json!({"round": {"of": {"add": {"of": {"kept": "k"}, "amount": {"const": 41.5}, "unit": "number"}}, "digits": 0}});
    assert_eq!(tried(&runs, proposal("most", kept, added)).err(), Some(Dropped::Form));
    let pick = |by: Value| {
        let keeps = json!([{"step": 0, "key": "k", "expr": {"pick": {"from": {"result": []}, "by": by, "path": ["price"]}}}]);
        proposal("most", keeps, json!({"round": {"of": {"kept": "k"}, "digits": 0}}))
    };
    assert_eq!(tried(&runs, pick(json!({"nth": 0}))).err(), Some(Dropped::Form));
    // Found by something that was copied from the very element.
    let only = json!({"only": {"path": ["label"], "op": "sameText", "with": {"const": "rome 712345"}}});
    assert_eq!(tried(&runs, pick(only)).err(), Some(Dropped::Copy));
    assert!(tried(&runs, pick(json!({"min": ["price"]}))).is_ok());
}

#[test]
fn runs_that_cannot_be_read_prove_nothing() {
    let runs = two();
    let plan = stored(&runs);
    let mut other = two();
    other[1].trace.prompt = "Delete every room in Oslo now".into();
    let proved = prove(&plan, &other, vec![rounded("price")], None);
    assert_eq!(proved.dropped[0].2, Dropped::Unread);
    let proved = prove(&plan, &[], vec![rounded("price")], None);
    assert!(proved.accepted.is_empty() && proved.stored == plan);
    let explained = |runs: Vec<Recorded>| {
        bir_calc::proposed::explained(&plan, runs)
            .map(|runs| runs.iter().map(|run| run.run).collect::<Vec<_>>())
    };
    assert_eq!(explained(other.clone()), Some(vec![other[0].run]));
    other.reverse();
    assert_eq!(explained(other), None);
}
