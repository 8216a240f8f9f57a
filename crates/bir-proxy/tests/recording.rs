//! What is recorded is what passed: arguments, results, errors, times, rounds, withdrawals; in both eras, over every way to an
//! upstream. Nothing of it is recorded where it must not be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/control.rs"]
mod control;
#[path = "common/remote.rs"]
mod remote;
#[path = "common/spool.rs"]
mod spool;

use bir_model::record::{EndReason, Step};
use bir_model::{Era, Tier};
use bir_testkit::{Eras, On, Script};
use common::*;
use remote::{Leg, Stage};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments that survive only where nothing is parsed and written anew.
const ODD: &str = r#"{"b" : 1e400,"a":[ -0, 12345678901234567890 ],"s":"\u00e9 é \ud83d\ude00","b":2}"#;

fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The end of the n-th call.
fn end_of(run: &spool::Run, n: u32) -> &Step {
    run.call(n).1.unwrap_or_else(|| panic!("call {n} has no end in {run:#?}"))
}

/// The result as it stands in the line that the host read.
fn result_in(line: &str) -> &str {
    let at = line.find("\"result\":").unwrap() + "\"result\":".len();
    line.trim_end()[at..].strip_suffix('}').unwrap()
}

#[test]
fn a_legacy_session_is_recorded_as_the_wire_had_it() {
    let setup = front(Script::new().on(On::tool("never"), []));
    let home = setup.home();
    let before = now_ms();
    let mut front = setup.env("BIR_LOG", "info").start().open();
    let echoed = front.ask(call("1", "echo", ODD));
    let failed = front.ask(call("\"x\"", "fail", "{}"));
    let refused = front.ask(call("3", "rpc_error", "{}"));
    let slept = front.ask(call("4", "sleep", r#"{"ms":30}"#));
    front.send(call("5", "never", r#"{"n":5}"#)).unwrap();
    front.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#).unwrap();
    front
        .send(request("6", "tools/call", r#"{"name":"never","_meta":{"claudecode/toolUseId":"toolu_6"}}"#))
        .unwrap();
    front.ask(request("7", "ping", "{}"));
    front.wait_stderr("tier standalone, run run_", BUDGET).unwrap();
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    let after = now_ms();

    assert_eq!((run.start.tier, run.start.framework.as_deref()), (Tier::Standalone, Some("baseinstrunner")));
    let host = run.start.host.as_ref().unwrap();
    assert_eq!((host.app.as_str(), host.version.as_deref()), ("t", Some("1")));
    let server = &run.start.servers[0];
    assert_eq!((server.name.as_str(), server.era), ("x", Some(Era::Legacy)));
    assert!(server.title.is_some() && server.version.is_some(), "{server:?}");
    let root = bir_control_client::project_of(&std::env::current_dir().unwrap());
    assert_eq!(run.start.project.as_deref(), root.to_str());
    let zone = bir_record::Zone::system().map(|zone| zone.as_str().into());
    assert_eq!(run.start.metadata.get("timeZone"), zone.as_ref());
    assert_eq!(run.outcomes(), ["ok", "tool_error", "rpc_error", "ok", "cancelled", "unknown"]);
    assert_eq!(run.finish.as_ref().unwrap().reason, EndReason::Closed);

    let (began, _) = run.call(0);
    assert_eq!(began.tool_input.as_deref(), Some(ODD), "byte for byte");
    assert_eq!((began.tool_name.as_str(), began.server.as_deref()), ("echo", Some("x")));
    assert_eq!(end_of(&run, 0).tool_output.as_deref(), Some(result_in(&echoed)));
    assert_eq!(end_of(&run, 1).tool_output.as_deref(), Some(result_in(&failed)));
    let error = end_of(&run, 2);
    assert!(refused.contains(error.tool_error.as_deref().unwrap()) && error.tool_output.is_none());
    assert_eq!(end_of(&run, 3).tool_output.as_deref(), Some(result_in(&slept)));
    assert!(end_of(&run, 3).duration_us.unwrap() >= 30_000);
    assert_eq!(run.call(5).0.call_id.as_deref(), Some("toolu_6"));
    assert_eq!(run.call(5).0.tool_input, None, "it had none");
    assert!(run.steps.iter().all(|step| (before..=after).contains(&step.at)));
    for n in 0..6 {
        let (began, ended) = (run.call(n).0, end_of(&run, n));
        assert_eq!(ended.id, bir_record::response_id(began.id));
        assert!(ended.at >= began.at);
    }
}

#[test]
fn batches_and_repeated_ids_are_recorded_element_by_element() {
    let element = |n: u32| format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{"content":[],"n":{n}}}}}"#);
    // The handshake is two messages, the batch the third; its answers come in the other order.
    let answers = format!("[{},{}]\n", element(2), element(1));
    let setup = front(Script::new().on(On::message(3), [bir_testkit::Step::Bytes(answers.into())]));
    let home = setup.home();
    let mut front = setup.start().open();
    let batch = format!("[{},{}]", call("1", "echo", r#"{"n":1}"#), call("2", "echo", r#"{"n":2}"#));
    assert!(front.ask(&batch).contains(&element(1)));
    front.send([call("7", "sleep", r#"{"ms":50}"#), call("7", "sleep", r#"{"ms":51}"#)].join("\n")).unwrap();
    wait_until("all answers", || text(front.stdout()).matches("\"id\":7").count() == 2);
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    assert_eq!(run.outcomes(), ["ok"; 4]);
    for n in 0..2 {
        assert_eq!(run.call(n).0.tool_input.as_deref(), Some(format!(r#"{{"n":{}}}"#, n + 1).as_str()));
        let result = format!(r#"{{"content":[],"n":{}}}"#, n + 1);
        assert_eq!(end_of(&run, n).tool_output.as_deref(), Some(result.as_str()));
    }
    assert!(end_of(&run, 2).ambiguous && !end_of(&run, 3).ambiguous);
}

#[test]
fn a_modern_call_is_one_call_with_its_rounds() {
    let setup = front(Script::era(Eras::Modern));
    let home = setup.home();
    let mut front = setup.start();
    let meta = META.replace(
        "\"_meta\":{",
        r#""_meta":{"io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2.1.332"},"#,
    );
    let params = r#""name":"reverse","arguments":{"method":"elicitation/create","params":{"a" : 1.0}}"#;
    let required = front.ask(request("1", "tools/call", &format!("{{{params},{meta}}}")));
    let state = r#""state of reverse: \"é\"""#;
    assert!(required.contains(state), "{required}");
    let responses = r#"{"reverse":{"action" : "accept","content":{"n":1.0}}}"#;
    let retry = format!("{{{params},\"inputResponses\":{responses},\"requestState\":{state},{meta}}}");
    let answered = front.ask(request("2", "tools/call", &retry));
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    assert_eq!(run.outcomes(), ["ok"]);
    let end = end_of(&run, 0);
    assert_eq!(end.tool_output.as_deref(), Some(result_in(&answered)));
    assert_eq!(end.legs.len(), 1, "{end:#?}");
    assert_eq!(end.legs[0].asked, result_in(&required));
    assert_eq!(end.legs[0].answered.as_deref(), Some(responses));
    let host = run.start.host.as_ref().unwrap();
    assert_eq!((host.app.as_str(), host.version.as_deref()), ("claude-code", Some("2.1.332")));
    assert_eq!(run.start.servers[0].era, Some(Era::Modern), "though nobody opened");
}

#[test]
fn calls_of_a_remote_server_are_recorded_over_every_leg() {
    for leg in Leg::ALL {
        let mut stage = Stage::through(&Script::new(), leg);
        let home = stage.up.dir().join("home");
        stage.open();
        let echoed = stage.ask(stage.call("1", "echo", ODD));
        let failed = stage.ask(stage.call("2", "fail", "{}"));
        // Longer than what is held: both stream.
        let long = format!("{{\"x\":\"{}\"}}", "y".repeat(2 << 20));
        stage.ask(stage.call("3", "echo", &long));
        let all = ["ok", "tool_error", "ok"];
        wait_until("all are written", || spool::runs(&home).iter().any(|run| run.outcomes() == all));
        // `finish` takes the stage, and with it the directory.
        assert_eq!(stage.host.finish(BUDGET).unwrap(), 0);
        let run = spool::run(&home);
        assert_eq!(run.outcomes(), ["ok", "tool_error", "ok"], "{leg:?}");
        assert_eq!(run.call(0).0.tool_input.as_deref(), Some(ODD), "{leg:?}");
        assert_eq!(end_of(&run, 0).tool_output.as_deref(), Some(result_in(&echoed)), "{leg:?}");
        assert_eq!(end_of(&run, 1).tool_output.as_deref(), Some(result_in(&failed)), "{leg:?}");
        for row in [run.call(2).0, end_of(&run, 2)] {
            assert!(row.truncated && row.original_bytes.unwrap() > 2 << 20, "{leg:?}");
            let payload = row.tool_input.as_ref().or(row.tool_output.as_ref()).unwrap();
            assert!(payload.contains("yyyy") && payload.len() <= 64 << 10, "{leg:?}: the head is kept");
            serde_json::from_str::<serde_json::Value>(payload).unwrap();
        }
        let era = if leg.is_modern() { None } else { Some(Era::Legacy) };
        assert_eq!(run.start.servers[0].era.filter(|_| era.is_some()), era, "{leg:?}");
    }
}

#[test]
fn large_results_are_cut_and_images_leave_the_text_beside_them() {
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ".repeat(800 * 1024 / 44);
    let result = format!(
        r#"{{"content":[{{"type":"image","data":"{image}","mimeType":"image/png"}},{{"type":"text","text":"the caption"}}]}}"#
    );
    let script = Script::new().on(On::tool("shot"), [bir_testkit::Step::Result(result.clone().into())]);
    let setup = front(script);
    let home = setup.home();
    let mut front = setup.start().open();
    assert!(front.ask(call("1", "shot", "{}")).ends_with(&format!("{result}}}")), "the host has all of it");
    front.ask(call("2", "sized", r#"{"n":3000000}"#));
    // An unoptimised recorder is slower with so much than the end of a session is patient.
    wait_until("both are written", || spool::runs(&home).iter().any(|run| run.outcomes() == ["ok", "ok"]));
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    let shot = end_of(&run, 0);
    assert_eq!((shot.truncated, shot.original_bytes), (true, Some(result.len() as u64)));
    assert!(shot.tool_output.as_deref().unwrap().contains("the caption"), "base64 goes first");
    let sized = end_of(&run, 1);
    assert!(sized.truncated && sized.original_bytes.unwrap() > 3_000_000);
    serde_json::from_str::<serde_json::Value>(sized.tool_output.as_deref().unwrap()).unwrap();
}

#[test]
fn secrets_do_not_reach_the_disk() {
    let setup = front(Script::new());
    let home = setup.home();
    let mut front = setup.env("BIR_LOG", "debug").start().open();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    front.ask(call("1", "echo", &format!(r#"{{"token":"hunter2hunter2","text":"use {secret} now"}}"#)));
    assert_eq!(front.finish(), 0);
    let said = front.stderr_text();
    for file in spool::files(&home) {
        let content = text(std::fs::read(&file).unwrap());
        assert!(!content.contains(secret) && !content.contains("hunter2hunter2"), "{file}");
    }
    assert!(!said.contains(secret) && !said.contains("hunter2"), "{said}");
    assert!(spool::run(&home).call(0).0.tool_input.as_deref().unwrap().contains("[redacted:"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&home), mode(&home.join("spool"))), (0o700, 0o700));
    spool::files(&home).iter().for_each(|file| assert_eq!(mode(Path::new(file)), 0o600, "{file}"));
}

#[test]
fn a_secret_known_by_its_shape_alone_is_found_in_a_result() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    assert_eq!(token.len(), 40);
    let said = format!("origin https://example.com/app.git, cloned with {token}.");
    let result = format!(r#"{{"content":[{{"type":"text","text":"{said}"}}],"isError":false}}"#);
    let script = Script::new().on(On::tool("remote"), [bir_testkit::Step::Result(result.clone().into())]);
    let setup = front(script).option("--standalone").env("BIR_LOG", "debug");
    let home = setup.home();
    let mut front = setup.start().open();
    assert!(front.ask(call("1", "remote", "{}")).contains(&token), "the host has it");
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    let kept = end_of(&run, 0).tool_output.clone().unwrap();
    let at = result.find(&token).unwrap();
    assert!(kept.starts_with(&result[..at]) && kept.ends_with(&result[at + token.len()..]), "{kept}");
    assert!(kept[at..].starts_with("[redacted:github:"), "{kept}");
    let files = spool::files(&home);
    assert!(!files.is_empty());
    for part in token.as_bytes()[4..].windows(8).map(|part| std::str::from_utf8(part).unwrap()) {
        for file in &files {
            assert!(!text(std::fs::read(file).unwrap()).contains(part), "{part} in {file}");
        }
        assert!(!front.stderr_text().contains(part), "{part}");
    }
}

/// One session of a call and a ping; gives what the state directory holds then.
fn left_by(setup: Setup, call_line: &str) -> Vec<String> {
    let home = setup.home();
    let mut front = setup.start().open();
    front.ask(call_line);
    front.ask(request("9", "ping", "{}"));
    assert_eq!(front.finish(), 0, "{}", front.stderr_text());
    spool::files(&home)
}

#[test]
fn where_nothing_is_to_be_recorded_nothing_is_written() {
    let echo = call("1", "echo", "{}");
    let none: [String; 0] = [];
    assert_eq!(left_by(front(Script::new()).option("--no-record"), &echo), none);
    assert_eq!(left_by(front(Script::new()).option("--scope=user"), &echo), none, "passthrough is possible");
    assert_eq!(left_by(front(Script::new()), &request("1", "tools/list", "{}")), none, "a health check");
    let mut stage = Stage::with(&Script::new(), Leg::Json, |command| command.env("BIR_OFF", "1"));
    stage.open();
    stage.ask(stage.call("1", "echo", "{}"));
    let home = stage.up.dir().join("home");
    assert_eq!(stage.host.finish(BUDGET).unwrap(), 0);
    assert_eq!(spool::files(&home), none, "switched off");
}

#[test]
fn a_user_scope_entry_records_in_a_project_that_is_set_up() {
    let echo = call("1", "echo", "{}");
    for by_environment in [true, false] {
        let mut setup = front(Script::new()).option("--scope=user");
        let home = setup.home();
        if by_environment {
            setup = setup.env("BIR_CONTROL_URL", "http://127.0.0.1:9").env("BIR_CONTROL_TOKEN", "t");
        } else {
            let project = tempfile::tempdir().unwrap().keep();
            let key = bir_control_client::key(&project.canonicalize().unwrap());
            std::fs::create_dir_all(home.join("control")).unwrap();
            let file = home.join("control").join(format!("{key}.json"));
            std::fs::write(file, r#"{"url":"http://127.0.0.1:9","token":"t"}"#).unwrap();
            setup = setup.dir(&project);
        }
        // Nobody answers within this short session, and who comes later has it.
        assert_eq!(control_lines(setup, &echo), ["0 echo began", "0 echo ok"]);
    }
    left_by_and(front(Script::new()).option("--scope=user").option("--standalone"), &echo, |run| {
        assert_eq!(run.outcomes(), ["ok"]);
    });
}

fn control_lines(setup: Setup, call_line: &str) -> Vec<String> {
    let home = setup.home();
    let mut front = setup.start().open();
    front.ask(call_line);
    assert_eq!(front.finish(), 0, "{}", front.stderr_text());
    assert!(spool::runs(&home).is_empty());
    control::inbox_lines(&home)
}

fn left_by_and(setup: Setup, call_line: &str, look: impl FnOnce(spool::Run)) {
    let home = setup.home();
    let mut front = setup.start().open();
    front.ask(call_line);
    assert_eq!(front.finish(), 0, "{}", front.stderr_text());
    look(spool::run(&home));
}

#[test]
fn what_the_configuration_excludes_is_not_recorded() {
    let setup = front(Script::new());
    let home = setup.home();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.toml"), "[record]\nexclude = [\"tool:x/sl*\", \"path:**/.env\"]\n")
        .unwrap();
    let mut front = setup.start().open();
    front.ask(call("1", "sleep", r#"{"ms":1}"#));
    front.ask(call("2", "echo", r#"{"path":"/home/a/.env"}"#));
    front.ask(call("3", "echo", r#"{"path":"/home/a/env"}"#));
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    assert_eq!((run.calls(), run.call(0).0.tool_input.as_deref()), (1, Some(r#"{"path":"/home/a/env"}"#)));
}

#[test]
fn two_proxies_side_by_side_write_two_runs() {
    let home = tempfile::tempdir().unwrap();
    let mut fronts: Vec<Front> = (0..2)
        .map(|_| front(Script::new()).env("BIR_HOME", home.path().to_str().unwrap()).start().open())
        .collect();
    for n in 0..20 {
        for (front, name) in fronts.iter_mut().zip(["a", "b"]) {
            front.ask(call(&n.to_string(), "echo", &format!(r#"{{"{name}":{n}}}"#)));
        }
    }
    fronts.iter_mut().for_each(|front| assert_eq!(front.finish(), 0));
    let runs = spool::runs(home.path());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let first = run.call(0).0.tool_input.clone().unwrap();
        let name = if first.contains("\"a\"") { "a" } else { "b" };
        assert_eq!((run.calls(), run.finish.is_some()), (20, true));
        for n in 0..20 {
            assert_eq!(run.call(n).0.tool_input, Some(format!(r#"{{"{name}":{n}}}"#)));
        }
    }
}
