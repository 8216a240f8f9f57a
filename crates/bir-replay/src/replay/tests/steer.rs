//! Calls of the model that are steered.

use super::*;
use crate::action::Permission;
use crate::budget::{REPORT_GRACE_MS, WAIT_REPORTED_MS, WAIT_RUNNING_MS};
use crate::state::{State, StopKind};

/// A plan with a built-in tool in it: it is steered.
fn mixed() -> Value {
    json!([
        {"server": "s", "tool": "find", "effect": "read", "input": {"city": {"param": "p"}},
            "keeps": [{"key": "k", "expr": {"result": ["id"]}}]},
        {"tool": "Read", "effect": "read", "input": {"file_path": {"const": "/a"}}},
        {"server": "t", "tool": "put", "effect": "write", "input": {"id": {"kept": "k"}}},
    ])
}

/// After the first step.
fn second() -> Bed {
    let mut bed = Bed::of(mixed());
    bed.pre("1", Some("s"), "find", json!({"city": "dev"}));
    assert!(bed.pinned().is_some());
    bed.post("1", json!({"city": "dev"}), ok(json!([{"type": "text", "text": "x"}])));
    bed.report("1", json!({"city": "dev"}), ok(json!({"id": 7})));
    bed
}

#[test]
fn three_pinned_calls_end_the_plan() {
    let mut bed = second();
    bed.pre("2", None, "Read", json!({"file_path": "/b"}));
    assert_eq!(bed.pinned(), Some(json!({"file_path": "/a"})), "a reader is steered to the step's file");
    bed.post("2", json!({"file_path": "/a"}), ok(json!({"file": "text"})));
    let ask = bed.ask();
    let tool = ToolRef { name: "mcp__t__put".into(), server: Some("t".into()), tool: Some("put".into()) };
    bed.hear(Event::Pre(Pre {
        ask,
        call: Some("3".into()),
        tool,
        input: json!({}),
        agent: false,
        planning: false,
        inject: Some("bir-1".into()),
    }));
    let Reply::Pin { input, pinned, permission } = bed.replied().clone() else { panic!("not pinned") };
    assert_eq!(input, json!({"id": 7, "__bir_call_id__": "bir-1"}), "both payloads in one object");
    assert_eq!((pinned, permission), (json!({"id": 7}), Some(Permission::Allow)));
    bed.report("bir-1", json!({"id": 7}), ok(json!({})));
    assert!(bed.plan.is_over());
    assert_eq!(bed.outcome(), "steered_full");
    journal_is_sound(&bed.all);
    bed.pre("4", None, "Read", json!({"file_path": "/z"}));
    assert!(bed.is_as_written() && bed.text().is_empty());
}

#[test]
fn a_wrapped_step_threads_from_its_proxy_and_from_the_host_after_the_grace_alone() {
    let begin = || {
        let mut bed = Bed::of(mixed());
        bed.pre("1", Some("s"), "find", json!({"city": "dev"}));
        bed
    };
    // The proxy first.
    let mut bed = begin();
    bed.report("1", json!({"city": "dev"}), ok(json!({"id": 7})));
    assert!(bed.plan.states()[0].is_done());
    bed.post("1", json!({"city": "dev"}), ok(json!({"id": 8})));
    assert_eq!(bed.plan.kept["k"], json!(7));
    // The host first: it waits.
    let mut bed = begin();
    bed.post("1", json!({"city": "dev"}), ok(json!({"id": 8})));
    assert!(bed.plan.states()[0].is_sent() && bed.plan.due_at() == Some(bed.at + REPORT_GRACE_MS));
    bed.after(REPORT_GRACE_MS - 1);
    assert!(bed.plan.states()[0].is_sent());
    bed.after(1);
    assert!(bed.logged("replay.thread_fallback"));
    assert_eq!(bed.plan.kept["k"], json!(8));
    bed.report("1", json!({"city": "dev"}), ok(json!({"id": 7})));
    assert_eq!(bed.plan.kept["k"], json!(8), "too late");
    // A built-in tool has no proxy.
    let mut bed = second();
    bed.pre("2", None, "Read", json!({"file_path": "/a"}));
    bed.post("2", json!({"file_path": "/a"}), ok(json!("text")));
    assert!(bed.plan.states()[1].is_done());
}

#[test]
fn a_pin_counts_only_if_what_ran_is_what_was_pinned() {
    for (ran, counts) in [
        (Ran::With(json!({"city": "dev", "__bir_call_id__": "x"})), true),
        (Ran::AsPinned(true), true),
        (Ran::With(json!({"city": "other"})), false),
        (Ran::AsPinned(false), false),
        (Ran::Untold, false),
    ] {
        let mut bed = Bed::of(mixed());
        bed.pre("1", Some("s"), "find", json!({"city": "dev"}));
        bed.hear(Event::Report { call: "1".into(), ran: ran.clone(), ended: ok(json!({"id": 7})) });
        assert_eq!(bed.plan.states()[0].is_done(), counts, "{ran:?}");
        assert_eq!(bed.logged("replay.pin_overridden"), !counts);
        if !counts {
            let ask = Some(bed.ask());
            bed.hear(Event::Post { ask, call: Some("1".into()), ran: Ran::Untold, ended: ok(json!({})) });
            assert!(bed.text().contains("ran with other arguments than the scenario's"));
            bed.pre("2", None, "Read", json!({"file_path": "/a"}));
            assert!(bed.is_as_written(), "nothing is pinned after it");
            assert_eq!(bed.outcome(), "failed");
        }
    }
}

#[test]
fn a_call_that_is_not_the_step_runs_as_it_was_written() {
    let shell = json!([
        {"tool": "Bash", "effect": "destructive", "input": {"command": {"const": "git push origin main"}}},
        {"server": "s", "tool": "find", "effect": "read"},
    ]);
    let mut bed = Bed::of(shell);
    bed.pre("1", None, "Bash", json!({"command": "ls"}));
    assert!(bed.is_as_written() && bed.logged("replay.pin_declined") && !bed.plan.is_over());
    bed.pre("2", None, "Bash", json!({"command": "git push"}));
    assert_eq!(bed.pinned(), Some(json!({"command": "git push origin main"})), "it stays armed for the step");

    let mut bed = Bed::of(mixed());
    bed.pre("1", Some("s"), "find", json!({"city": "placeholder"}));
    assert!(bed.is_as_written());
    bed.pre("2", Some("s"), "other", json!({}));
    assert!(
        bed.is_as_written()
            && bed.text().contains("your own arguments")
            && bed.logged("replay.pin_abandoned")
    );
    assert!(bed.plan.is_over() && !bed.all.iter().any(|action| matches!(action, Action::Call(_))));
    assert_eq!(bed.outcome(), "not_steered");
}

#[test]
fn a_call_beside_a_pin_waits_for_it_and_then_hands_over() {
    // Nobody has told of the pin: it waits a little.
    let mut bed = Bed::of(mixed());
    bed.pre("1", Some("s"), "find", json!({"city": "dev"})).pre("x", Some("t"), "put", json!({}));
    assert!(bed.replies().is_empty() && bed.plan.due_at() == Some(bed.at + WAIT_RUNNING_MS));
    bed.after(WAIT_RUNNING_MS);
    assert!(bed.logged("replay.concurrent_call") && bed.text().contains("has not reported back"));
    assert!(bed.plan.is_over());
    // What the pin gives is still taken in, and threads nothing.
    bed.report("1", json!({"city": "dev"}), ok(json!({"id": 7})));
    assert!(bed.plan.states()[0].worked() && bed.replies().is_empty());
    assert_eq!(bed.outcome(), "fell_back");

    // The host has told that it ended: it waits for its proxy, and then is the next step.
    let mut bed = Bed::of(mixed());
    bed.pre("1", Some("s"), "find", json!({"city": "dev"}));
    bed.post("1", json!({"city": "dev"}), ok(json!({})));
    bed.pre("2", Some("u"), "other", json!({}));
    assert_eq!(bed.plan.held[0].until, bed.at + WAIT_REPORTED_MS);
    bed.report("1", json!({"city": "dev"}), ok(json!({"id": 7})));
    assert_eq!(bed.plan.stopped().map(|stop| stop.kind), Some(StopKind::OutOfReach));

    // The last step is under way: it does not wait at all.
    let mut bed = second();
    bed.pre("2", None, "Read", json!({"file_path": "/a"})).post(
        "2",
        json!({"file_path": "/a"}),
        ok(json!("t")),
    );
    bed.pre("3", Some("t"), "put", json!({})).pre("4", None, "Read", json!({"file_path": "/b"}));
    assert!(matches!(bed.replied(), Reply::InPlace(_)) && bed.logged("replay.concurrent_call"));
}

#[test]
fn independent_reads_are_pinned_side_by_side() {
    let steps = json!([
        {"server": "s", "tool": "a", "effect": "read"},
        {"server": "u", "tool": "b", "effect": "read"},
        {"tool": "Read", "effect": "read", "input": {"file_path": {"const": "/a"}}},
    ]);
    let mut bed = Bed::of(steps);
    bed.pre("2", Some("u"), "b", json!({}));
    assert!(bed.pinned().is_some());
    bed.pre("1", Some("s"), "a", json!({}));
    assert!(bed.pinned().is_some());
    bed.pre("3", None, "Read", json!({"file_path": "/a"}));
    assert!(bed.pinned().is_some());
    bed.post("2", json!({"n": 1}), ok(json!({}))).post("3", json!({"file_path": "/a"}), ok(json!("t")));
    bed.report("1", json!({"n": 1}), ok(json!({})));
    assert_eq!(bed.outcome(), "steered_full");
}

#[test]
fn a_pinned_step_that_fails_hands_over() {
    for (ended, kind) in [
        (Ended::Error("no".into()), StopKind::ToolError),
        (Ended::Unknown("timed out".into()), StopKind::Unanswered),
        (Ended::NotMade("denied".into()), StopKind::Refused),
    ] {
        let mut bed = second();
        bed.pre("2", None, "Read", json!({"file_path": "/a"}));
        bed.hear(Event::Post {
            ask: Some(AskId(99)),
            call: Some("2".into()),
            ran: Ran::Untold,
            ended: ended.clone(),
        });
        assert_eq!(bed.plan.stopped().map(|stop| stop.kind), Some(kind), "{ended:?}");
        assert!(bed.text().contains("Step 2"), "{}", bed.text());
        bed.pre("3", Some("t"), "put", json!({}));
        assert!(bed.is_as_written() && bed.text().is_empty(), "nothing is pinned after it");
    }
}

#[test]
fn off_the_script_what_is_left_runs_in_the_place_of_the_call() {
    let all = json!([
        {"tool": "Read", "effect": "read", "input": {"file_path": {"const": "/a"}}},
        {"server": "s", "tool": "find", "effect": "read", "keeps": [{"key": "k", "expr": {"result": ["id"]}}]},
        {"server": "t", "tool": "put", "effect": "write", "input": {"id": {"kept": "k"}}},
    ]);
    let begin = || {
        let mut bed = Bed::of(all.clone());
        bed.pre("1", None, "Read", json!({"file_path": "/a"})).post(
            "1",
            json!({"file_path": "/a"}),
            ok(json!("t")),
        );
        bed
    };
    let mut bed = begin();
    bed.pre("x", None, "Bash", json!({"command": "ls"}));
    assert_eq!(bed.steps_sent(), [1]);
    bed.worked(1, ok(json!({"id": 7}))).worked(2, ok(json!({"ok": "BIR_REPLAY_END"})));
    let Reply::InPlace(InPlace::Command(command)) = bed.replied() else {
        panic!("no command: {:?}", bed.replied())
    };
    assert!(command.starts_with("cat <<'BIR_REPLAY_END") && command.contains("The remaining steps"));
    assert_eq!(bed.outcome(), "diverged");
    // Another tool is denied with it.
    let mut bed = begin();
    bed.pre("x", Some("u"), "other", json!({}))
        .worked(1, ok(json!({"id": 7})))
        .worked(2, Ended::Error("no".into()));
    assert!(
        matches!(bed.replied(), Reply::InPlace(InPlace::Deny(_)))
            && bed.text().contains("answered with an error")
    );
    assert_eq!(bed.outcome(), "fell_back");
    // Nothing begins past its budget, or after the hook was answered.
    let mut bed = begin();
    bed.pre("x", Some("u"), "other", json!({}));
    bed.at += bed.plan.budgets.pretool_ms - 1;
    bed.worked(1, ok(json!({"id": 7})));
    assert_eq!(bed.steps_sent(), [2]);
    let mut bed = begin();
    bed.pre("x", Some("u"), "other", json!({}));
    let ask = AskId(bed.asks);
    bed.hear(Event::AskLost(ask));
    assert!(bed.replies().is_empty() && bed.logged("replay.diverge_overran"));
    bed.worked(1, ok(json!({"id": 7})));
    assert!(bed.steps_sent().is_empty() && bed.replies().is_empty());
    bed.pre("y", Some("t"), "put", json!({}));
    assert!(matches!(bed.replied(), Reply::InPlace(_)) && bed.text().contains("│ {\"id\":7}"));
}

#[test]
fn off_the_script_with_nothing_that_may_run_the_call_goes_on() {
    for (steps, setting) in [
        (
            mixed(),
            Setting {
                policy: Policy { allow_servers: Some(Policy::servers("t")), ..Policy::default() },
                ..Setting::default()
            },
        ),
        (
            json!([{"tool": "Read", "effect": "read"}, {"server": "s", "tool": "a", "effect": "read"}]),
            Setting::default(),
        ),
        (mixed(), Setting { level: Level::L0, ..Setting::default() }),
    ] {
        let mut bed = setting.bed(steps);
        bed.pre("x", None, "Grep", json!({"pattern": "x"}));
        assert!(bed.is_as_written() && bed.plan.is_over() && bed.logged("replay.diverged"));
        assert!(!bed.all.iter().any(|action| matches!(action, Action::Call(_))));
        assert_eq!(bed.outcome(), "failed");
    }
    // A step that stops the bundle: the live one behind a read.
    let mut bed = Bed::of(mixed());
    bed.pre("x", None, "Grep", json!({"pattern": "x"}));
    assert_eq!(bed.steps_sent(), [0]);
    bed.worked(0, ok(json!({"id": 7})));
    assert!(bed.text().contains("Step 2 of 3 (Read) did not run: only this session can call its tool."));
    assert_eq!(bed.outcome(), "diverged");
    // A call without an id cannot be pinned.
    let mut bed = Bed::of(mixed());
    let tool = ToolRef { name: "mcp__s__find".into(), server: Some("s".into()), tool: None };
    bed.hear(Event::Pre(Pre {
        ask: AskId(9),
        call: None,
        tool,
        input: json!({}),
        agent: false,
        planning: false,
        inject: None,
    }));
    assert_eq!(bed.steps_sent(), [0]);
}

#[test]
fn an_input_that_cannot_be_made_hands_over_in_the_place_of_the_call() {
    let steps = json!([
        {"tool": "Read", "effect": "read", "input": {"file_path": {"const": "/a"}}, "keeps": [{"key": "k", "expr": {"result": ["text"]}}]},
        {"server": "u", "tool": "put", "effect": "write", "input": {"text": {"kept": "k"}}},
    ]);
    let mut bed = Bed::of(steps);
    bed.pre("1", None, "Read", json!({"file_path": "/a"}));
    bed.post("1", json!({"file_path": "/a"}), ok(json!({"text": "token [redacted:token:9f]"})));
    bed.pre("2", Some("u"), "put", json!({}));
    assert!(matches!(bed.replied(), Reply::InPlace(InPlace::Deny(_))));
    assert!(
        bed.text()
            .contains("Step 2 of 2 (mcp__u__put) did not run: it would hold the placeholder of a secret"),
        "{}",
        bed.text()
    );
    assert_eq!(bed.outcome(), "fell_back");
}

#[test]
fn a_frozen_step_ends_what_is_steered() {
    let steps = json!([
        {"tool": "Read", "effect": "read", "input": {"file_path": {"const": "/a"}}},
        {"server": "s", "tool": "put", "effect": "write", "mark": "by_hand"},
    ]);
    let mut bed = Bed::of(steps);
    bed.pre("1", None, "Read", json!({"file_path": "/a"})).post(
        "1",
        json!({"file_path": "/a"}),
        ok(json!("t")),
    );
    assert!(bed.text().contains("Step 2 of 2 (mcp__s__put) did not run: it is frozen"), "{}", bed.text());
    assert!(bed.plan.is_over());
}

#[test]
fn planning_sub_agents_and_housekeeping_are_left_alone() {
    let mut bed = Bed::of(mixed());
    let tool = |name: &str, server: Option<&str>| ToolRef {
        name: name.into(),
        server: server.map(str::to_owned),
        tool: None,
    };
    for (tool, agent, planning, input) in [
        (tool("mcp__s__find", Some("s")), true, false, json!({})),
        (tool("mcp__s__find", Some("s")), false, true, json!({})),
        (tool("ToolSearch", None), false, false, json!({})),
        (tool("Bash", None), false, false, json!({"command": "bir status"})),
    ] {
        bed.hear(Event::Pre(Pre {
            ask: AskId(1),
            call: Some("c".into()),
            tool,
            input,
            agent,
            planning,
            inject: None,
        }));
        assert!(bed.is_as_written() && !bed.plan.is_over());
    }
    assert_eq!(bed.plan.states(), vec![State::Waiting; 3]);
}

#[test]
fn a_turn_that_ends_with_a_pin_under_way_does_not_know_of_it() {
    let mut bed = second();
    bed.pre("2", None, "Read", json!({"file_path": "/a"}));
    let report = bed.seal().unwrap();
    assert_eq!(report.outcome.to_string(), "fell_back");
    assert!(matches!(bed.plan.states()[1], State::Unknown { .. }));
    assert_eq!(report.steps.len(), 2, "what was never reached is absent");
}
