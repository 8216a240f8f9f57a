//! Steps that the plan carries out.

use super::*;
use crate::gate::Consent;
use crate::state::{State, StopKind};
use bir_plan::sandbox::{Job, LogicError, Why};

/// A read that keeps `k`, a read that is made of it, a write.
pub(super) fn three() -> Value {
    json!([
        {"server": "s", "tool": "find", "effect": "read", "input": {"city": {"param": "p"}},
            "keeps": [{"key": "k", "expr": {"result": ["id"]}}]},
        {"server": "s", "tool": "get", "effect": "read", "input": {"id": {"kept": "k"}},
            "keeps": [{"key": "n", "expr": {"result": ["name"]}}]},
        {"server": "t", "tool": "put", "effect": "write", "input": {"name": {"kept": "n"}}},
    ])
}

#[test]
fn a_direct_plan_threads_its_results_and_answers_once() {
    let mut bed = Bed::of(three());
    let text = bed.all.iter().find_map(|action| match action {
        Action::Announce(text) => Some(text.clone()),
        _ => None,
    });
    assert!(text.unwrap().contains("Call mcp__bir__run_scenario once") && bed.logged("plan.armed"));
    bed.run_scenario();
    assert_eq!(bed.sent(), [(0, json!({"city": "dev"}))]);
    bed.worked(0, ok(json!({"content": [{"type": "text", "text": "{\"id\": 7}"}]})));
    assert_eq!(bed.sent(), [(1, json!({"id": 7}))]);
    bed.worked(1, ok(json!({"structuredContent": {"name": "N"}, "content": []})));
    assert_eq!(bed.sent(), [(2, json!({"name": "N"}))]);
    bed.worked(2, ok(json!({"done": true})));
    let Reply::Results { text, response, steps, partial } = bed.replied().clone() else {
        panic!("no results")
    };
    assert_eq!((steps, partial, response), (3, false, json!({"k": 7, "n": "N"})));
    for part in [
        "All 3 steps",
        "Step 1 of 3, mcp__s__find. It ran with\n│ {\"city\":\"dev\"}\nand gave",
        "│ {\"done\":true}",
        "approve scn_",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    journal_is_sound(&bed.all);
    let report = bed.seal().unwrap();
    assert_eq!(
        (report.outcome.to_string().as_str(), report.steps_pinned, report.measured),
        ("steered_full", 3, true)
    );
    assert!(report.ticket.is_some() && bed.seal().is_none(), "told once");
}

#[test]
fn each_fault_stops_it_and_the_note_says_what_is_true() {
    let second = |ended: Ended| {
        let mut bed = Bed::of(three());
        bed.run_scenario().worked(0, ok(json!({"id": 7})));
        bed.worked(1, ended);
        bed
    };
    for (ended, says, outcome) in [
        (
            ok(json!({"isError": true, "content": [{"type": "text", "text": "boom"}]})),
            "Step 2 of 3 (mcp__s__get) was answered with an error.",
            "fell_back",
        ),
        (Ended::Error("boom".into()), "Step 2 of 3 (mcp__s__get) was answered with an error.", "fell_back"),
        (
            Ended::Unknown("cut off".into()),
            "Step 2 of 3 (mcp__s__get) was sent but did not answer",
            "fell_back",
        ),
        (
            Ended::NotMade("no proxy".into()),
            "Step 2 of 3 (mcp__s__get) did not run: nobody took the call.",
            "fell_back",
        ),
        (ok(json!({"other": 1})), "Step 2 of 3 (mcp__s__get) ran: its result is real", "fell_back"),
        (ok(json!({"name": null})), "could not read its output (`n` is null)", "fell_back"),
        (ok(json!("text")), "Do not run it again.", "fell_back"),
    ] {
        let mut bed = second(ended.clone());
        let text = bed.text();
        assert!(text.contains(says), "{ended:?}\n{text}");
        assert!(text.contains("3. mcp__t__put") && text.contains("│ {\"id\":7}"), "{text}");
        assert!(text.ends_with("(partial: the scenario stopped before all of its steps ran)"));
        assert_eq!(bed.outcome(), outcome);
        assert!(bed.steps_sent().is_empty() && bed.plan.is_over(), "nothing is begun after a fault");
        journal_is_sound(&bed.all);
    }
}

#[test]
fn an_empty_list_stops_before_the_write_that_does_not_need_it() {
    let steps = json!([
        {"server": "s", "tool": "list", "effect": "read", "keeps": [{"key": "l", "expr": {"result": ["l"]}}]},
        {"server": "t", "tool": "put", "effect": "write"},
        {"server": "s", "tool": "get", "effect": "read",
            "input": {"id": {"pick": {"from": {"kept": "l"}, "by": "first", "path": ["id"]}}}},
    ]);
    let mut bed = Bed::of(steps.clone());
    bed.run_scenario().worked(0, ok(json!({"l": []})));
    assert_eq!(bed.plan.stopped().map(|stop| (stop.kind, stop.step)), Some((StopKind::Ahead, Some(1))));
    assert!(bed.text().contains("it writes, and step 3 cannot be made afterwards"));
    let mut bed = Bed::of(steps);
    bed.run_scenario().worked(0, ok(json!({"l": [{"id": 1}]})));
    assert_eq!(bed.steps_sent(), [1]);
}

#[test]
fn a_step_that_does_not_answer_is_cancelled_and_unknown() {
    let mut bed = Bed::of(three());
    bed.run_scenario();
    assert_eq!(bed.plan.due_at(), Some(1_000 + crate::budget::STEP_MS));
    bed.after(crate::budget::STEP_MS - 1);
    assert!(bed.last.is_empty());
    bed.after(1);
    assert_eq!(bed.cancelled(), 1);
    assert!(bed.text().contains("No step of the scenario is known to have finished"));
    assert_eq!(bed.outcome(), "failed");
    // It answers after all: nobody is told anything else, and it is written down.
    bed.worked(0, ok(json!({"id": 7})));
    assert!(bed.logged("replay.late_result") && bed.steps_sent().is_empty() && bed.replies().is_empty());
    assert!(matches!(bed.plan.states()[0], State::Unknown { .. }));
    assert!(bed.last.iter().any(|a| matches!(a, Action::Record(Entry { what: What::Outcome { .. }, .. }))));
}

#[test]
fn the_time_of_a_plan_ends_it() {
    let budgets = Budgets { plan_ms: 5_000, ..Budgets::default() };
    let mut bed = Setting { budgets, ..Setting::default() }.bed(three());
    bed.run_scenario();
    bed.at += 4_999;
    bed.worked(0, ok(json!({"id": 7})));
    let Some(Action::Call(call)) = bed.last.iter().find(|action| matches!(action, Action::Call(_))) else {
        panic!("not sent")
    };
    assert_eq!(call.timeout_ms, 1, "a step has no more than the plan has left");
    bed.after(1);
    assert!(bed.text().contains("was sent but did not answer"));

    let mut bed = Setting { budgets, ..Setting::default() }.bed(three());
    bed.run_scenario();
    bed.at += 5_000;
    bed.worked(0, ok(json!({"id": 7})));
    assert!(bed.steps_sent().is_empty());
    assert_eq!(bed.outcome(), "failed", "its answer came when its time was over");
}

#[test]
fn esc_begins_nothing_more_and_the_note_comes_with_the_next_call() {
    let mut bed = Bed::of(three());
    bed.run_scenario().worked(0, ok(json!({"id": 7})));
    bed.hear(Event::ScenarioCancelled { ask: AskId(2) });
    assert_eq!((bed.cancelled(), bed.replies().len()), (1, 0));
    // The answer comes in spite of that, before anybody is told: what is told is the truth.
    bed.worked(1, ok(json!({"name": "N"})));
    assert!(bed.steps_sent().is_empty());
    bed.pre("x", Some("t"), "put", json!({"name": "N"}));
    let text = bed.text();
    assert!(
        matches!(bed.replied(), Reply::InPlace(InPlace::Deny(_))),
        "in the place of what could repeat it"
    );
    assert!(
        text.contains("Steps 1–2: done: the result is below.") && text.contains("│ {\"name\":\"N\"}"),
        "{text}"
    );
    bed.pre("y", Some("t"), "put", json!({"name": "N"}));
    assert!(bed.is_as_written() && bed.text().is_empty(), "told once");
    let report = bed.seal().unwrap();
    assert_eq!((report.outcome.to_string().as_str(), report.measured), ("fell_back", false));
}

#[test]
fn a_cancelled_note_may_go_with_the_next_prompt() {
    let mut bed = Bed::of(three());
    bed.run_scenario();
    bed.hear(Event::ScenarioCancelled { ask: AskId(2) });
    bed.seal();
    let note = bed.plan.take_note().unwrap();
    assert!(note.contains("Step 1 (mcp__s__find): unknown"), "{note}");
    assert_eq!(bed.plan.take_note(), None);
}

#[test]
fn run_scenario_is_refused_vetoed_or_asked_twice() {
    // Another call first.
    let mut bed = Bed::of(three());
    bed.pre("x", None, "Read", json!({"file_path": "/a"}));
    assert!(bed.is_as_written() && bed.text().contains("is not being run") && bed.logged("replay.vetoed"));
    let ask = bed.ask();
    bed.hear(Event::ScenarioRun { ask, call: None });
    assert_eq!(bed.text(), "Nothing to run for this request; continue normally.");
    assert_eq!(bed.seal(), None, "nothing ran, and nothing was spent");
    // Housekeeping is no call.
    let mut bed = Bed::of(three());
    bed.pre("x", None, "ToolSearch", json!({}));
    bed.run_scenario();
    assert_eq!(bed.steps_sent(), [0]);
    // Refused by the user or a rule.
    let mut bed = Bed::of(three());
    bed.hear(Event::ScenarioPre { ask: AskId(90), call: Some("c".into()), planning: false });
    bed.hear(Event::ScenarioPost { ask: AskId(91), call: Some("c".into()) });
    assert!(bed.plan.is_over() && bed.text().contains("is not being run"));
    assert_eq!(bed.outcome(), "not_steered");
    // A request that names another call.
    let mut bed = Bed::of(three());
    bed.hear(Event::ScenarioPre { ask: AskId(90), call: Some("c".into()), planning: false });
    bed.hear(Event::ScenarioRun { ask: AskId(91), call: Some("other".into()) });
    assert!(bed.text().starts_with("Nothing to run") && bed.steps_sent().is_empty());
    // A second one while the first one runs, and any other call beside it.
    let mut bed = Bed::of(three());
    bed.run_scenario();
    bed.hear(Event::ScenarioRun { ask: AskId(92), call: Some("d".into()) });
    assert!(bed.text().contains("already being produced"));
    bed.pre("x", Some("t"), "put", json!({}));
    assert!(matches!(bed.replied(), Reply::InPlace(_)) && bed.text().contains("Wait for them"));
    // In plan mode.
    let mut bed = Bed::of(three());
    bed.hear(Event::ScenarioPre { ask: AskId(90), call: None, planning: true });
    assert!(bed.is_as_written());
}

#[test]
fn what_its_owner_has_not_approved_is_asked_once() {
    let mut bed = Setting { approved: false, ..Setting::default() }.bed(three());
    bed.hear(Event::ScenarioPre { ask: AskId(90), call: Some("c".into()), planning: false });
    assert_eq!(bed.replied(), &Reply::Scenario(crate::action::Permission::Ask));
    bed.hear(Event::ScenarioRun { ask: AskId(91), call: Some("c".into()) });
    assert_eq!(bed.steps_sent(), [0]);
    assert!(bed.last.contains(&Action::Approved));
    // Nothing runs unasked, whatever the model calls.
    let steered =
        json!([{"tool": "Read", "effect": "read"}, {"server": "s", "tool": "get", "effect": "read"}]);
    let mut bed = Setting { approved: false, ..Setting::default() }.bed(steered);
    assert_eq!(bed.plan.consent, Consent::Ask);
    bed.pre("x", Some("s"), "strange", json!({}));
    assert!(bed.is_as_written() && !bed.all.iter().any(|action| matches!(action, Action::Call(_))));
}

#[test]
fn reads_of_two_servers_run_side_by_side_and_a_fault_waits_for_what_is_under_way() {
    let steps = json!([
        {"server": "s", "tool": "a", "effect": "read"},
        {"server": "t", "tool": "b", "effect": "read"},
        {"server": "t", "tool": "w", "effect": "write"},
    ]);
    let mut bed = Bed::of(steps.clone());
    bed.run_scenario();
    assert_eq!(bed.steps_sent(), [0, 1]);
    bed.worked(1, ok(json!({})));
    assert!(bed.steps_sent().is_empty(), "no write before every read");
    bed.worked(0, ok(json!({})));
    assert_eq!(bed.steps_sent(), [2]);

    let mut bed = Bed::of(steps);
    bed.run_scenario().worked(1, Ended::Error("no".into()));
    assert_eq!((bed.cancelled(), bed.replies().len()), (1, 0), "the other one may still answer");
    assert_eq!(bed.plan.due_at(), Some(bed.at + crate::budget::SETTLE_MS));
    bed.worked(0, ok(json!({})));
    assert!(bed.text().contains("Step 1 (mcp__s__a): done") && bed.text().contains("Step 2 of 3"));
}

#[test]
fn results_that_are_of_nothing_change_nothing() {
    let mut bed = Bed::of(three());
    bed.run_scenario().worked(0, ok(json!({"id": 7})));
    for (work, name) in [
        ("plan.0", "replay.duplicate_result"),
        ("plan.2", "replay.duplicate_result"),
        ("other.1", "replay.strange_result"),
    ] {
        bed.hear(Event::Worked { work: work.into(), ended: ok(json!({"id": 8})) });
        assert!(bed.logged(name) && bed.steps_sent().is_empty() && bed.replies().is_empty());
    }
    bed.worked(1, ok(json!({"name": "N"})));
    assert_eq!(bed.sent(), [(2, json!({"name": "N"}))]);
}

#[test]
fn the_reads_at_the_beginning_run_in_one_call_and_the_write_is_pinned() {
    let mut bed = Setting { level: Level::L1, ..Setting::default() }.bed(three());
    bed.run_scenario().worked(0, ok(json!({"id": 7}))).worked(1, ok(json!({"name": "N"})));
    let text = bed.text();
    assert!(
        text.contains("3. mcp__t__put\n│ arguments: {\"name\":\"N\"}") && text.contains("│ {\"name\":\"N\"}"),
        "{text}"
    );
    bed.pre("x", Some("t"), "put", json!({"name": "N"}));
    let Reply::Pin { input, permission, .. } = bed.replied().clone() else { panic!("not pinned") };
    assert_eq!((input, permission), (json!({"name": "N"}), None), "the host's own prompt decides");
    bed.report("x", json!({"name": "N"}), ok(json!({})));
    assert!(bed.plan.is_over());
    assert_eq!(bed.outcome(), "steered_full");
    journal_is_sound(&bed.all);
}

#[test]
fn edited_bodies_are_evaluated_elsewhere_and_their_failures_hand_over() {
    struct Elsewhere(Result<Value, Why>);
    impl Bodies for Elsewhere {
        fn evaluate(&mut self, job: &Job) -> Result<Value, LogicError> {
            assert_eq!(job.now_ms, Some(1_796_025_600_000));
            self.0.clone().map_err(|why| LogicError::new(why, "x is not\ndefined"))
        }
    }
    let steps = json!([{"server": "s", "tool": "find", "effect": "read", "edited": true}]);
    for (gives, says) in [
        (Ok(json!({"city": "Rome"})), None),
        (Ok(json!([1])), Some("its input is no object")),
        (Ok(json!({"key": "[redacted:token:1]"})), Some("the placeholder of a secret")),
        (Err(Why::Threw), Some("toolInputLogic failed. It said \"x is not defined\"")),
        (Err(Why::Time), Some("toolInputLogic ran longer than 1000 ms and was stopped")),
        (Err(Why::Unavailable), Some("there is no sandbox")),
    ] {
        let mut bed = Bed::of(steps.clone());
        bed.hear(Event::ScenarioPre { ask: AskId(90), call: None, planning: false });
        let mut bodies = Elsewhere(gives.clone());
        bed.hear_with(Event::ScenarioRun { ask: AskId(91), call: None }, &mut bodies);
        match says {
            None => assert_eq!(bed.sent(), [(0, json!({"city": "Rome"}))]),
            Some(says) => {
                assert!(
                    bed.text().contains(says) && bed.steps_sent().is_empty(),
                    "{gives:?}: {}",
                    bed.text()
                );
                assert_eq!(bed.outcome(), "failed");
            }
        }
    }
}

#[test]
fn a_prompt_that_was_answered_without_the_directive_has_no_plan() {
    let mut bed = Bed::of(three());
    bed.hear(Event::Unannounced);
    assert!(bed.plan.is_over() && bed.logged("replay.arm_unannounced"));
    bed.run_scenario();
    assert!(bed.steps_sent().is_empty());
}
