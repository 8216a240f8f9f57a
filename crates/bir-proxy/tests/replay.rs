//! Work of a plan: a real control server orders it, the proxy runs it on the host's connection, and the host notices nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/orders.rs"]
mod orders;
#[path = "common/remote.rs"]
mod remote;
#[path = "common/spool.rs"]
mod spool;

use bir_control::work::{Outcome, Unsent, Work};
use bir_model::control::{LONGEST_RESULT, WorkEnd};
use bir_testkit::{On, Script, Step};
use common::*;
use orders::*;
use remote::*;
use std::time::Duration;

fn result(outcome: Outcome) -> String {
    match outcome {
        Outcome::Ended(WorkEnd::Result { json }) => json,
        other => panic!("{other:?}"),
    }
}

/// Nothing of ours has reached the host, and it ends as ever.
fn unnoticed(stage: Stage, way: Way) {
    let seen = stage.finish();
    let host = seen.host.concat();
    assert!(!host.contains("bir:"), "{way:?}: {host}");
    assert_eq!(seen.status, 0, "{way:?}: {}", seen.stderr);
}

#[test]
fn an_order_runs_on_the_hosts_connection_and_never_reaches_it() {
    for way in Way::ALL {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&Script::new(), way);
        open(&mut stage);
        serving.ready(&world);
        let json = result(serving.run(world.work("echo", "{\"b\" : 1e400,\n\"a\":[ -0 ]}")));
        assert!(json.contains(r#"{\"b\" : 1e400, \"a\":[ -0 ]}"#), "{way:?}: {json}");
        let json = result(serving.run(world.work("fail", "{}")));
        assert!(json.contains("\"isError\":true"), "{way:?}: {json}");
        match serving.run(world.work("rpc_error", "{}")) {
            Outcome::Ended(WorkEnd::Error { json }) => {
                assert_eq!(json, r#"{"code":-32001,"message":"rpc failed","data":{"x":1.0}}"#, "{way:?}");
            }
            other => panic!("{way:?}: {other:?}"),
        }
        // The host goes on, also with an id that begins as ours do.
        let line = stage.call("\"bir:1\"", "echo", "{\"host\":1}");
        assert!(stage.ask(line).contains("\"bir:1\""), "{way:?}");
        let before = stage.host.stdout().len();
        let pending = serving.submit(world.work("sleep", "{\"ms\":300}"));
        let line = stage.call("7", "echo", "{\"host\":2}");
        assert!(stage.ask(line).contains("\\\"host\\\":2"), "{way:?}");
        assert!(result(pending.wait()).contains("slept"), "{way:?}");
        assert!(!text(&stage.host.stdout()[before..]).contains("slept"), "{way:?}");
        assert_eq!(ours(&stage).len(), 5, "{way:?}: four of ours and one of the host's: {:#?}", ours(&stage));
        let host = text(stage.host.stdout()).replace("\"bir:1\"", "");
        assert!(!host.contains("bir:"), "{way:?}: {host}");
        assert_eq!(stage.finish().status, 0, "{way:?}");
    }
}

#[test]
fn what_a_plan_did_is_recorded_as_replayed_in_its_place() {
    let world = World::new();
    let serving = world.serve();
    let mut stage = world.stage(&Script::new(), Way::ALL[0]);
    open(&mut stage);
    serving.ready(&world);
    let line = stage.call("1", "echo", "{\"n\":1}");
    stage.ask(line);
    result(serving.run(world.work("echo", "{\"n\":2}")));
    serving.run(world.work("rpc_error", "{}"));
    let line = stage.call("2", "echo", "{\"n\":3}");
    stage.ask(line);
    let rows = || spool::runs(&world.home()).into_iter().flat_map(|run| run.steps).collect::<Vec<_>>();
    wait_until("all rows", || rows().len() == 8);
    let mut rows = rows();
    rows.sort_by_key(|row| row.step_index);
    let shown: Vec<_> = rows
        .iter()
        .step_by(2)
        .map(|row| {
            let is_ours = row.call_id.as_deref().is_some_and(|id| id.starts_with("bir:"));
            (row.replayed, is_ours, row.tool_input.as_deref().unwrap_or("-"))
        })
        .collect();
    let expected = [
        (false, false, r#"{"n":1}"#),
        (true, true, r#"{"n":2}"#),
        (true, true, "{}"),
        (false, false, r#"{"n":3}"#),
    ];
    assert_eq!(shown, expected, "{rows:#?}");
    let ends: Vec<_> = rows.iter().skip(1).step_by(2).map(|row| row.outcome.unwrap().as_str()).collect();
    assert_eq!(ends, ["ok", "ok", "rpc_error", "ok"]);
    unnoticed(stage, Way::ALL[0]);
}

#[test]
fn a_budget_that_is_over_is_told_to_the_server() {
    for way in Way::ALL {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&Script::new().on(On::tool("never"), []), way);
        open(&mut stage);
        serving.ready(&world);
        let work = Work { budget: Duration::from_millis(400), ..world.work("never", "{}") };
        assert_eq!(serving.run(work), Outcome::Ended(WorkEnd::Timeout), "{way:?}");
        if way.is_modern() && matches!(way, Way::Remote(_)) {
            // The stream is closed, which is the cancellation.
            assert!(!ours(&stage).iter().any(|line| line.contains("notifications/cancelled")));
        } else {
            wait_until("the cancellation", || {
                ours(&stage).iter().any(|line| line.contains("notifications/cancelled"))
            });
        }
        // The connection is as good as before.
        assert!(result(serving.run(world.work("echo", "{}"))).contains("content"), "{way:?}");
        unnoticed(stage, way);
    }
}

#[test]
fn what_is_withdrawn_is_told_to_the_server_and_its_answer_is_nobodys() {
    for way in [Way::ALL[0], Way::ALL[1], Way::ALL[3], Way::ALL[6]] {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&Script::new(), way);
        open(&mut stage);
        serving.ready(&world);
        let pending = serving.submit(world.work("sleep", "{\"ms\":700}"));
        wait_until("it runs", || !ours(&stage).is_empty());
        drop(pending);
        if !(way.is_modern() && matches!(way, Way::Remote(_))) {
            wait_until("the cancellation", || ours(&stage).len() == 2);
        }
        // Its late answer comes while the host goes on.
        let line = stage.call("9", "sleep", "{\"ms\":900}");
        assert!(stage.ask(line).contains("slept"), "{way:?}");
        unnoticed(stage, way);
    }
}

#[test]
fn what_asks_for_input_hands_over() {
    for way in Way::ALL {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&Script::new(), way);
        open(&mut stage);
        serving.ready(&world);
        let asks = "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\"}}";
        let outcome = serving.run(world.work("reverse", asks));
        let asked = if way.is_modern() { "input_required" } else { "elicitation/create" };
        assert_eq!(outcome, Outcome::Ended(WorkEnd::InputRequired { asked: asked.into() }), "{way:?}");
        if !way.is_modern() {
            // The host has the question as it came, and its answer goes back.
            let question = stage.next();
            assert!(question.contains("elicitation/create"), "{way:?}: {question}");
            let id = question.split("\"id\":").nth(1).unwrap().split([',', '}']).next().unwrap().to_owned();
            stage.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"action\":\"cancel\"}}}}"));
            wait_until("the host's answer", || {
                stage.received().iter().any(|line| line.contains("\"action\""))
            });
            wait_until("the cancellation", || {
                ours(&stage).iter().any(|line| line.contains("notifications/cancelled"))
            });
        }
        let line = stage.call("5", "echo", "{}");
        assert!(stage.ask(line).contains("\"id\":5"), "{way:?}");
        unnoticed(stage, way);
    }
}

#[test]
fn notifications_on_the_answer_of_an_order_are_not_the_hosts() {
    for way in [Way::Remote(Leg::Json), Way::Remote(Leg::Events), Way::Remote(Leg::ModernEvents)] {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&Script::new(), way);
        open(&mut stage);
        serving.ready(&world);
        assert!(result(serving.run(world.work("log", "{}"))).contains("logged"), "{way:?}");
        let line = stage.call("5", "echo", "{}");
        assert!(stage.ask(line).contains("\"id\":5"), "{way:?}");
        let host = text(stage.host.stdout());
        assert!(!host.contains("a log line"), "{way:?}: {host}");
        unnoticed(stage, way);
    }
}

#[test]
fn a_long_result_comes_whole_and_one_that_is_too_long_is_left_out() {
    for way in Way::ALL {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&Script::new(), way);
        open(&mut stage);
        serving.ready(&world);
        let json = result(serving.run(world.work("sized", "{\"n\":3000000}")));
        assert!(json.len() >= 3_000_000, "{way:?}: {}", json.len());
        let too_long = format!("{{\"n\":{}}}", LONGEST_RESULT + 1);
        match serving.run(world.work("sized", &too_long)) {
            Outcome::Ended(WorkEnd::TooLarge { bytes }) => assert!(bytes > LONGEST_RESULT as u64, "{way:?}"),
            other => panic!("{way:?}: {other:?}"),
        }
        // While an order runs, the host's long answers stream as ever.
        let pending = serving.submit(world.work("sleep", "{\"ms\":400}"));
        let line = stage.call("8", "sized", "{\"n\":2000000}");
        assert!(stage.ask(line).len() >= 2_000_000, "{way:?}");
        assert!(result(pending.wait()).contains("slept"), "{way:?}");
        unnoticed(stage, way);
    }
}

#[test]
fn a_server_that_dies_in_the_middle_leaves_it_unknown() {
    let world = World::new();
    let serving = world.serve();
    let mut stage = world.stage(&Script::new(), Way::ALL[0]);
    open(&mut stage);
    serving.ready(&world);
    let outcome = serving.run(world.work("crash", "{}"));
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    assert_eq!(stage.host.finish(BUDGET).unwrap(), 3, "the proxy ends as its server did");
    let world = World::new();
    let serving = world.serve();
    let dies = Script::new().on(On::tool("die"), [Step::Exit(3)]);
    let mut stage = world.stage(&dies, Way::Remote(Leg::Json));
    open(&mut stage);
    serving.ready(&world);
    let outcome = serving.run(world.work("die", "{}"));
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
}

#[test]
fn a_proxy_that_is_killed_leaves_it_unknown_at_once() {
    let world = World::new();
    let serving = world.serve();
    let mut stage = world.stage(&Script::new().on(On::tool("never"), []), Way::ALL[0]);
    open(&mut stage);
    serving.ready(&world);
    let given = serving.submit(Work { budget: Duration::from_secs(600), ..world.work("never", "{}") });
    wait_until("it runs", || !ours(&stage).is_empty());
    stage.host.signal(rustix::process::Signal::KILL).unwrap();
    let outcome = given.wait();
    assert!(matches!(&outcome, Outcome::Unknown { why } if why.contains("left")), "{outcome:?}");
    assert_eq!(serving.run(world.work("echo", "{}")), Outcome::NotSent(Unsent::NoProxy));
}

#[test]
fn a_control_server_that_comes_back_is_asked_again_and_what_was_open_is_unknown() {
    let world = World::new();
    let serving = world.serve();
    let mut stage = world.stage(&Script::new().on(On::tool("never"), []), Way::ALL[0]);
    open(&mut stage);
    serving.ready(&world);
    let open = serving.submit(Work {
        budget: Duration::from_secs(600),
        plan: Some("scn".into()),
        step: Some(4),
        ..world.work("never", "{}")
    });
    wait_until("it runs", || !ours(&stage).is_empty());
    serving.end();
    assert!(matches!(open.wait(), Outcome::Unknown { .. }));
    let serving = world.serve();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let left = runtime.block_on(serving.works.unsettled());
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(
        (left[0].tool.as_str(), left[0].plan.as_deref(), left[0].step),
        ("never", Some("scn"), Some(4))
    );
    runtime.block_on(serving.works.settle(&left[0].work));
    assert!(runtime.block_on(serving.works.unsettled()).is_empty());
    serving.ready(&world);
    assert!(result(serving.run(world.work("echo", "{}"))).contains("content"));
    let calls = ours(&stage).iter().filter(|line| line.contains("\"never\"")).count();
    assert_eq!(calls, 1, "it is not tried again");
    unnoticed(stage, Way::ALL[0]);
}

#[test]
fn where_replay_is_off_nobody_asks_for_work() {
    let world = World::new();
    let serving = world.serve();
    // The kill switch of one session.
    let mut stage = world.stage_with(&Script::new(), Way::ALL[0], |command| command.env("BIR_REPLAY", "0"));
    open(&mut stage);
    let line = stage.call("1", "echo", "{}");
    stage.ask(line);
    wait_until("it is recorded", || !spool::runs(&world.home()).is_empty());
    assert_eq!(serving.run(world.work("echo", "{}")), Outcome::NotSent(Unsent::NoProxy));
    unnoticed(stage, Way::ALL[0]);
    // The project has opted out.
    bir_control_client::projects::set_replay(&world.home(), &world.project(), false).unwrap();
    assert_eq!(serving.run(world.work("echo", "{}")), Outcome::NotSent(Unsent::Off));
}

#[test]
fn a_long_answer_whose_id_comes_last_is_whose_it_is() {
    let late = |mark: &str| {
        let text = mark.repeat(200_000);
        format!(
            "{{\"jsonrpc\":\"2.0\",\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}},\"id\":${{id}}}}"
        )
    };
    let script = Script::new()
        .on(On::tool("ours"), [Step::SleepMs(50), Step::Answer(late("o").into())])
        .on(On::tool("hosts"), [Step::SleepMs(50), Step::Answer(late("h").into())]);
    for way in [Way::ALL[0], Way::Remote(Leg::Json), Way::Remote(Leg::Events)] {
        let world = World::new();
        let serving = world.serve();
        let mut stage = world.stage(&script, way);
        open(&mut stage);
        serving.ready(&world);
        let pending = serving.submit(world.work("ours", "{}"));
        let line = stage.call("77", "hosts", "{}");
        let answer = stage.ask(line);
        assert!(answer.contains("hhhh") && answer.contains("\"id\":77"), "{way:?}");
        assert!(result(pending.wait()).contains("oooo"), "{way:?}");
        assert!(!text(stage.host.stdout()).contains("oooo"), "{way:?}");
        unnoticed(stage, way);
    }
}

#[test]
fn what_was_open_when_a_server_is_started_again_is_unknown_and_the_next_order_runs() {
    let world = World::new();
    let serving = world.serve();
    let mut stage = world.stdio(&Script::new(), &["--restart"]);
    open(&mut stage);
    serving.ready(&world);
    let open = serving.submit(world.work("sleep", "{\"ms\":20000}"));
    wait_until("it runs", || !ours(&stage).is_empty());
    let outcome = serving.run(world.work("crash", "{}"));
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    assert!(matches!(open.wait(), Outcome::Unknown { .. }));
    wait_until("the next start", || {
        stage.up.events().unwrap().iter().filter(|e| e.name() == "start").count() == 2
    });
    let line = stage.call("3", "echo", "{}");
    assert!(stage.ask(line).contains("\"id\":3"));
    assert!(result(serving.run(world.work("echo", "{}"))).contains("content"));
    unnoticed(stage, Way::ALL[0]);
}
