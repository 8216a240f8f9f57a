//! The stdio upstream does what its script says.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panic")]

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use bir_testkit::log::Event;
use bir_testkit::{Eras, On, Script, StdioHost, Step, TestUpstream, procs};

mod modern;

const BUDGET: Duration = Duration::from_secs(20);

fn up(script: Script) -> (TestUpstream, StdioHost) {
    let upstream = TestUpstream::new(script).unwrap();
    let host = upstream.host().unwrap();
    (upstream, host)
}

fn plain() -> (TestUpstream, StdioHost) {
    up(Script::new())
}

fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}}}}}"
    )
}

fn text(line: &[u8]) -> String {
    String::from_utf8(line.to_vec()).unwrap()
}

/// Asks and gives the one line of answer.
fn ask(host: &mut StdioHost, line: &str) -> String {
    text(&host.ask(line, BUDGET).unwrap_or_else(|error| panic!("{line}: {error}")))
}

fn say(id: &str, quoted: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}}}"
    )
}

#[test]
fn ids_and_arguments_come_back_as_written() {
    let (_up, mut host) = plain();
    for id in ["1", "\"1\"", "1.0", "9007199254740993123", "\"\\u00e9\"", "-0", "1e400"] {
        let arguments = r#"{"a" : 1.0,"a":2, "s":"\ud800 😀"}"#;
        let quoted = r#""{\"a\" : 1.0,\"a\":2, \"s\":\"\\ud800 😀\"}""#;
        assert_eq!(ask(&mut host, &call(id, "echo", arguments)), say(id, quoted));
    }
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn the_log_has_every_line_exactly_and_the_start() {
    let (up, mut host) = plain();
    let odd = "{\"jsonrpc\":\"2.0\", \"id\" : 1 ,\"method\":\"ping\"}  ";
    host.write(format!("{odd}\r\n\n")).unwrap();
    host.write(b"{\"method\":\"n\",\"x\":\"\xff\"}\n").unwrap();
    host.write(b"half a line").unwrap();
    assert_eq!(host.line(BUDGET).unwrap(), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert_eq!(up.lines().unwrap(), [odd.as_bytes(), b"{\"method\":\"n\",\"x\":\"\xff\"}", b"half a line"]);
    let events = up.events().unwrap();
    let names: Vec<&str> = events.iter().map(Event::name).collect();
    assert_eq!(names, ["start", "line", "noise", "line", "line", "eof", "exit"]);
    assert_eq!(events[4].0["partial"], true);
    assert_eq!(events[0].0["ppid"], std::process::id());
    assert!(events[0].0["env"].get(bir_testkit::MARK).is_some());
}

#[test]
fn initialize_answers_a_known_revision_and_the_script_overrides() {
    let (_up, mut host) = plain();
    let line = |v: &str| {
        format!("{{\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{v}\"}}}}")
    };
    assert!(ask(&mut host, &line("2025-06-18")).contains("\"protocolVersion\":\"2025-06-18\""));
    assert!(ask(&mut host, &line("2026-07-28")).contains("\"protocolVersion\":\"2025-11-25\""));
    let (_up, mut host) = up(Script::new().server(|s| {
        s.info = Some(r#"{"name" : "x"}"#.into());
        s.capabilities = Some(r#"{"odd":1.0}"#.into());
        s.instructions = Some("\"i\"".into());
        s.versions = vec!["2024-11-05".into()];
    }));
    assert_eq!(
        ask(&mut host, &line("2025-06-18")),
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"odd":1.0},"instructions":"i","serverInfo":{"name" : "x"}}}"#
    );
}

#[test]
fn default_tools_answer() {
    let (_up, mut host) = plain();
    assert_eq!(ask(&mut host, &call("1", "sized", r#"{"n":3}"#)), say("1", "\"xxx\""));
    assert_eq!(ask(&mut host, &call("2", "sleep", r#"{"ms":1}"#)), say("2", "\"slept\""));
    assert_eq!(
        ask(&mut host, &call("3", "raw", r#"{"result":"[1.0 ]"}"#)),
        r#"{"jsonrpc":"2.0","id":3,"result":[1.0 ]}"#
    );
    assert_eq!(
        ask(&mut host, &call("3", "raw", r#"{"error":"{}"}"#)),
        r#"{"jsonrpc":"2.0","id":3,"error":{}}"#
    );
    let line = call("4", "rawline", "{ }");
    assert_eq!(ask(&mut host, &line), say("4", &format!("\"{}\"", line.replace('"', "\\\""))));
    assert!(ask(&mut host, &call("5", "fail", "{}")).contains("\"isError\":true"));
    assert!(ask(&mut host, &call("6", "rpc_error", "{}")).contains("-32001"));
    assert!(ask(&mut host, &call("7", "structured", "{}")).contains("\"structuredContent\":{\"n\": 7.0}"));
    assert!(ask(&mut host, &call("8", "image", "{}")).contains("image/png"));
    assert!(ask(&mut host, &call("9", "nope", "{}")).contains("-32602"));
    assert!(ask(&mut host, r#"{"id":10,"method":"nope"}"#).contains("-32601"));
    assert!(ask(&mut host, "nope").contains("-32700"));
    assert!(ask(&mut host, "[]").contains("-32600"));
}

#[test]
fn tools_that_send_something_first() {
    let (_up, mut host) = plain();
    let line = r#"{"id":1,"method":"tools/call","params":{"name":"notify","arguments":{"n":2},"_meta":{"progressToken":"\u00e9"}}}"#;
    assert_eq!(
        ask(&mut host, line),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"\u00e9","progress":1,"total":2}}"#
    );
    assert!(text(&host.line(BUDGET).unwrap()).contains("\"progress\":2"));
    assert_eq!(text(&host.line(BUDGET).unwrap()), say("1", "\"notified\""));
    assert_eq!(ask(&mut host, &call("2", "notify", r#"{"n":2}"#)), say("2", "\"notified\""));
    assert_eq!(ask(&mut host, &call("3", "emit", r#"{"line":"any thing"}"#)), "any thing");
    assert_eq!(text(&host.line(BUDGET).unwrap()), say("3", "\"emitted\""));
    assert!(ask(&mut host, &call("4", "log", "{}")).contains("notifications/message"));
    assert_eq!(text(&host.line(BUDGET).unwrap()), say("4", "\"logged\""));
    host.wait_stderr("a stderr line\n", BUDGET).unwrap();
    assert!(
        ask(&mut host, &call("5", "add_tool", r#"{"name":"new"}"#))
            .contains("notifications/tools/list_changed")
    );
    assert_eq!(text(&host.line(BUDGET).unwrap()), say("5", "\"added\""));
    assert!(ask(&mut host, r#"{"id":6,"method":"tools/list"}"#).contains("\"name\":\"new\""));
    assert!(
        ask(&mut host, &call("7", "change", r#"{"what":"prompts"}"#))
            .contains("notifications/prompts/list_changed")
    );
}

#[test]
fn reverse_gives_the_raw_reply_and_seen_the_raw_notifications() {
    let (_up, mut host) = plain();
    assert_eq!(
        ask(&mut host, &call("1", "reverse", r#"{"method":"roots/list","params":{"a" : 1}}"#)),
        r#"{"jsonrpc":"2.0","id":"ask-1","method":"roots/list","params":{"a" : 1}}"#
    );
    let reply = r#"{"id":"ask-1","result":{"roots" :[]}}"#;
    host.send(reply).unwrap();
    assert_eq!(text(&host.line(BUDGET).unwrap()), say("1", &format!("\"{}\"", reply.replace('"', "\\\""))));
    host.send(r#"{"method":"notifications/x", "params":{}}"#).unwrap();
    assert_eq!(
        ask(&mut host, &call("2", "seen", "{}")),
        say("2", r#""{\"method\":\"notifications/x\", \"params\":{}}""#)
    );
    assert_eq!(ask(&mut host, &call("3", "seen", "{}")), say("3", "\"\""));
}

#[test]
fn a_call_that_waits_does_not_hold_up_others() {
    let (_up, mut host) = up(Script::new().on(On::tool("held"), [Step::wait_for("ping"), Step::result("1")]));
    host.send(call("1", "held", "{}")).unwrap();
    assert!(ask(&mut host, &call("2", "echo", "{}")).contains("\"id\":2"));
    host.send(r#"{"id":3,"method":"ping"}"#).unwrap();
    let mut both = [text(&host.line(BUDGET).unwrap()), text(&host.line(BUDGET).unwrap())];
    both.sort();
    assert_eq!(both, [r#"{"jsonrpc":"2.0","id":1,"result":1}"#, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#]);
}

#[test]
fn rules_give_raw_answers_in_order_with_counts() {
    let (_up, mut host) = up(Script::new()
        .on(On::tool("x").nth(2), [Step::error("{\"code\":1e400}")])
        .on(On::tool("x").times(1), [Step::sleep(1), Step::result("\"${id}\"")])
        .on(On::method("odd"), [Step::message("<${id}>"), Step::answer("not json at all ${arguments}")])
        .on(On::method("tools/list"), [Step::Default, Step::message("after")])
        .on(On::method("notifications/initialized"), [Step::Changed("tools".into())]));
    assert_eq!(ask(&mut host, &call("1.0", "x", "{}")), r#"{"jsonrpc":"2.0","id":1.0,"result":"1.0"}"#);
    assert_eq!(ask(&mut host, &call("2", "x", "{}")), r#"{"jsonrpc":"2.0","id":2,"error":{"code":1e400}}"#);
    assert!(ask(&mut host, &call("3", "x", "{}")).contains("Unknown tool"));
    assert_eq!(ask(&mut host, r#"{"id":"4","method":"odd","params":{"arguments":[ 1]}}"#), "<\"4\">");
    assert_eq!(text(&host.line(BUDGET).unwrap()), "not json at all [ 1]");
    assert!(ask(&mut host, r#"{"id":5,"method":"tools/list"}"#).contains("\"x-extra\":1.0"));
    assert_eq!(host.line(BUDGET).unwrap(), b"after");
    assert!(ask(&mut host, r#"{"method":"notifications/initialized"}"#).contains("tools/list_changed"));
}

#[test]
fn asking_in_a_rule_puts_the_reply_into_the_result() {
    let (_up, mut host) = up(Script::new().on(
        On::tool("x"),
        [
            Step::ask("elicitation/create", r#"{"message":"?"}"#),
            Step::notify("notifications/message", r#"{"data":1}"#),
            Step::result(r#"{"reply":"${=reply}","line":"${=reply_line}"}"#),
        ],
    ));
    assert!(ask(&mut host, &call("1", "x", "{}")).contains("elicitation/create"));
    assert!(ask(&mut host, r#"{"id":"ask-1","error":{"code" : 1}}"#).contains("notifications/message"));
    assert_eq!(
        text(&host.line(BUDGET).unwrap()),
        r#"{"jsonrpc":"2.0","id":1,"result":{"reply":{"code" : 1},"line":{"id":"ask-1","error":{"code" : 1}}}}"#
    );
}

#[test]
fn lists_and_tools_of_the_script_are_raw() {
    let (_up, mut host) = up(Script::new()
        .server(|s| {
            s.hide_default_tools = true;
            s.tools = vec![r#"{"name":"a" }"#.into(), r#"{"name":"b","x":1e5}"#.into()];
            s.resources = vec![r#"{"uri": "u"}"#.into()];
        })
        .on(
            On::tool("drop"),
            [Step::RemoveTool("a".into()), Step::AddTool("{\"name\":\"c\"}".into()), Step::result("0")],
        ));
    assert!(
        ask(&mut host, r#"{"id":1,"method":"tools/list"}"#)
            .ends_with(r#"{"tools":[{"name":"a" },{"name":"b","x":1e5}]}}"#)
    );
    assert!(
        ask(&mut host, r#"{"id":1,"method":"resources/list"}"#).ends_with(r#"{"resources":[{"uri": "u"}]}}"#)
    );
    ask(&mut host, &call("1", "drop", "{}"));
    assert!(
        ask(&mut host, r#"{"id":1,"method":"tools/list"}"#)
            .ends_with(r#"{"tools":[{"name":"b","x":1e5},{"name":"c"}]}}"#)
    );
}

#[test]
fn framing_faults() {
    let (_up, mut host) = up(Script::new()
        .framing(|f| {
            f.bom = true;
            f.line_end = "\r\n".into();
            f.before_each = "\nnpm notice\n".into();
        })
        .on(On::start(), [Step::bytes("banner\n")]));
    host.send(r#"{"id":1,"method":"ping"}"#).unwrap();
    host.send(r#"{"id":2,"method":"ping"}"#).unwrap();
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert_eq!(
        text(&host.stdout()),
        "\u{feff}banner\n\nnpm notice\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\
         \nnpm notice\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\r\n"
    );
}

#[test]
fn content_length_framing_ignores_newline_json() {
    let (up, mut host) = up(Script::new().framing(|f| {
        f.content_length_in = true;
        f.content_length_out = true;
    }));
    host.send(r#"{"id":1,"method":"ping"}"#).unwrap();
    let body = r#"{"id":2,"method":"ping"}"#;
    host.write(format!("Content-Length: {}\r\n\r\n{body}", body.len())).unwrap();
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert_eq!(
        text(&host.stdout()),
        "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"
    );
    assert_eq!(up.lines().unwrap(), [body.as_bytes()]);
    assert!(up.events().unwrap().iter().any(|e| e.name() == "noise" && e.str("text").contains("\"id\":1")));
}

#[test]
fn chunks_are_separate_writes() {
    // Each write of one byte is at least readable as the same bytes in total; that they are separate writes is
    // tested at the writer itself. Here: with a pause, a first part is seen before the rest exists.
    let cut = Step::Chunk(bir_testkit::Chunking { at: vec![5], every: 0, pause_ms: 300 });
    let (_up, mut host) = up(Script::new()
        .on(On::tool("halves"), [cut, Step::answer("0123456789")])
        .on(On::tool("bytes"), [Step::chunk_every(1), Step::answer("é😀")]));
    host.send(call("1", "halves", "{}")).unwrap();
    assert_eq!(host.wait_stdout_len(1, BUDGET), 5);
    assert_eq!(host.line(BUDGET).unwrap(), b"0123456789");
    assert_eq!(ask(&mut host, &call("1", "bytes", "{}")), "é😀");
}

#[test]
fn huge_answers_do_not_fill_memory() {
    let upstream = TestUpstream::new(Script::new().on(On::tool("x"), [Step::Size(256 << 20)])).unwrap();
    let mut host = upstream.command().count_stdout().start().unwrap();
    host.send(call("1", "x", "{}")).unwrap();
    let frame = say("1", "\"\"").len() as u64 + 1 + (256 << 20);
    assert_eq!(host.wait_stdout_len(frame, Duration::from_secs(60)), frame);
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
    let peak: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|kb| kb.trim().trim_end_matches(" kB").parse().ok())
        .unwrap();
    assert!(peak < 64 * 1024, "peak of {peak} kB");
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn output_without_newline_and_stderr_floods() {
    let (_up, mut host) = up(Script::new().on(
        On::start(),
        [
            Step::StderrFill { bytes: 1 << 20, line: 80 },
            Step::stderr("no newline"),
            Step::Fill(100_000),
            Step::Exit(7),
        ],
    ));
    assert_eq!(host.finish(BUDGET).unwrap(), 7);
    assert_eq!(host.stdout(), vec![b'x'; 100_000]);
    let stderr = host.stderr();
    assert_eq!(stderr.len(), (1 << 20) + 10);
    assert_eq!(stderr[..80].iter().filter(|b| **b == b'\n').count(), 1);
}

#[test]
fn ends_on_command() {
    let cases: Vec<(On, Step, i32)> = vec![
        (On::start(), Step::Exit(5), 5),
        (On::start(), Step::Signal("SIGKILL".into()), 128 + 9),
        (On::method("ping"), Step::Signal("SIGTERM".into()), 128 + 15),
        (On::message(2), Step::Exit(9), 9),
        (On::eof(), Step::Exit(4), 4),
    ];
    for (on, step, expected) in cases {
        let (up, mut host) = up(Script::new().on(on.clone(), [step]));
        // The upstream may be gone before we write.
        let _ = host.send(r#"{"id":1,"method":"other"}"#);
        let _ = host.send(r#"{"id":2,"method":"ping"}"#);
        assert_eq!(host.finish(BUDGET).unwrap(), expected, "{on:?}");
        assert_eq!(up.events().unwrap().last().unwrap().name(), "exit");
    }
    let (_up, mut host) = plain();
    host.send(call("1", "crash", r#"{"code":12}"#)).unwrap();
    assert_eq!(host.finish(BUDGET).unwrap(), 12);
    assert_eq!(host.stderr_text(), "crashing now\n");
}

#[test]
fn half_a_line_and_a_closed_stdout() {
    let (_up, mut host) =
        up(Script::new().on(On::tool("half"), [Step::bytes("{\"jsonrpc\":"), Step::Exit(0)]));
    host.send(call("1", "half", "{}")).unwrap();
    assert!(
        matches!(host.line(BUDGET), Err(bir_testkit::HostError::Ended(rest, _)) if rest == "{\"jsonrpc\":")
    );
    let (_up, mut host) = up(Script::new().on(On::tool("close"), [Step::result("1"), Step::CloseStdout]));
    assert!(ask(&mut host, &call("1", "close", "{}")).contains("\"result\":1"));
    assert!(host.wait_stdout_end(BUDGET));
    assert!(host.wait_exit(Duration::from_millis(50)).is_err());
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn signals_are_logged_and_can_be_ignored() {
    use rustix::process::Signal;
    let (up, mut host) = plain();
    ask(&mut host, r#"{"id":1,"method":"ping"}"#);
    host.signal(Signal::INT).unwrap();
    assert_eq!(host.wait_exit(BUDGET).unwrap().signal(), Some(2));
    assert!(up.events().unwrap().iter().any(|e| e.name() == "signal" && e.str("name") == "SIGINT"));

    let all = ["eof", "SIGTERM", "SIGINT"].map(String::from).to_vec();
    let (up, mut host) = up_ignoring(all);
    ask(&mut host, r#"{"id":1,"method":"ping"}"#);
    host.close_stdin();
    host.signal(Signal::TERM).unwrap();
    host.signal(Signal::INT).unwrap();
    up.wait_log(BUDGET, |events| {
        events.iter().filter(|e| e.name() == "signal").count() == 2
            && events.iter().any(|e| e.name() == "eof")
    })
    .unwrap();
    assert!(host.wait_exit(Duration::from_millis(50)).is_err());
    let left = host.processes();
    assert_eq!(left.len(), 1);
    drop(host);
    assert_eq!(procs::wait_gone(&left, BUDGET), []);
}

fn up_ignoring(what: Vec<String>) -> (TestUpstream, StdioHost) {
    up(Script::new().on(On::start(), [Step::Ignore(what)]))
}

#[test]
fn the_stubborn_tool_outlives_eof() {
    let (_up, mut host) = plain();
    assert_eq!(ask(&mut host, &call("1", "stubborn", "{}")), say("1", "\"stubborn\""));
    assert!(host.finish(Duration::from_millis(200)).is_err());
}

#[test]
fn a_grandchild_holds_the_pipes_and_is_cleaned_up() {
    let grandchild = Step::Grandchild { seconds: 60, stubborn: true, own_group: true };
    let (up, mut host) = up(Script::new().on(On::start(), [grandchild]));
    ask(&mut host, r#"{"id":1,"method":"ping"}"#);
    let procs = host.processes();
    assert_eq!(procs.len(), 2, "{procs:?}");
    host.close_stdin();
    assert_eq!(host.wait_exit(BUDGET).unwrap().code(), Some(0));
    assert!(!host.wait_stdout_end(Duration::from_millis(50)), "the grandchild holds stdout");
    assert_eq!(host.processes().len(), 1);
    assert!(up.events().unwrap().iter().any(|e| e.name() == "grandchild"));
    drop(host);
    assert_eq!(procs::wait_gone(&procs, BUDGET), []);
}

#[test]
fn tasks_run_beside_and_are_asked_for() {
    let (_up, mut host) = up(Script::new()
        .server(|s| s.tasks = true)
        .on(On::tool("x"), [Step::wait_for("ping"), Step::result(r#"{"content":[]}"#)]));
    let line = r#"{"id":1,"method":"tools/call","params":{"name":"x","task":{"ttl":60000}}}"#;
    let created = ask(&mut host, line);
    assert!(created.contains(r#""result":{"task":{"taskId":"task-1","status":"working""#), "{created}");
    assert!(created.contains(r#""ttl":60000"#));
    assert!(
        ask(&mut host, r#"{"id":2,"method":"tasks/get","params":{"taskId":"task-1"}}"#).contains("working")
    );
    host.send(r#"{"id":3,"method":"tasks/result","params":{"taskId":"task-1"}}"#).unwrap();
    host.send(r#"{"id":4,"method":"ping"}"#).unwrap();
    let mut lines: Vec<String> = (0..3).map(|_| text(&host.line(BUDGET).unwrap())).collect();
    lines.sort();
    assert_eq!(
        lines[0],
        r#"{"jsonrpc":"2.0","id":3,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-1"}},"content":[]}}"#
    );
    assert!(lines[2].contains("notifications/tasks/status") && lines[2].contains("completed"));
    assert!(ask(&mut host, r#"{"id":5,"method":"tasks/list"}"#).contains("\"status\":\"completed\""));
    assert!(
        ask(&mut host, r#"{"id":6,"method":"tasks/cancel","params":{"taskId":"task-1"}}"#).contains("-32602")
    );
    ask(
        &mut host,
        &line.replace("\"x\"", "\"sleep\"").replace("\"task\"", "\"arguments\":{\"ms\":60000},\"task\""),
    );
    assert!(
        ask(&mut host, r#"{"id":7,"method":"tasks/cancel","params":{"taskId":"task-2"}}"#)
            .contains("cancelled")
    );
}

#[test]
fn a_bad_command_line_is_refused() {
    let path = bir_testkit::bins::test_upstream().unwrap();
    let mut host = bir_testkit::HostCommand::new(path).arg("--nope").start().unwrap();
    assert_eq!(host.finish(BUDGET).unwrap(), 64);
    assert!(host.stderr_text().contains("unknown option --nope"));
    assert_eq!(host.stdout(), b"");
}

#[test]
fn calls_end_with_stdin_or_are_finished() {
    for finish in [true, false] {
        let (_up, mut host) = up(Script::new().server(|s| s.finish_calls = finish));
        host.send(call("1", "sleep", r#"{"ms":300}"#)).unwrap();
        assert_eq!(host.finish(BUDGET).unwrap(), 0);
        assert_eq!(!host.stdout().is_empty(), finish);
    }
}

#[test]
fn a_script_is_a_file_that_people_can_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.json");
    let script = r#"{
        "era": "dual",
        "server": {"info": {"name" : "by hand"}, "tools": [{"name":"x",  "n":1.0}]},
        "rules": [
            {"on": {"tool": "x", "nth": 1}, "do": [{"progress": 1}, {"result": {"id": "${=id}", "odd" : 1e400}}]},
            {"on": {"tool": "x"}, "do": [{"bytes": {"$base64": "/wo="}}, {"answer": {"$text": "id ${id}"}}, {"exit": 3}]}
        ]
    }"#;
    std::fs::write(&path, script).unwrap();
    let mut host = bir_testkit::HostCommand::new(bir_testkit::bins::test_upstream().unwrap())
        .arg("--script")
        .arg(&path)
        .start()
        .unwrap();
    assert_eq!(
        ask(&mut host, &call("\"a\"", "x", "{}")),
        r#"{"jsonrpc":"2.0","id":"a","result":{"id": "a", "odd" : 1e400}}"#
    );
    host.send(call("2", "x", "{}")).unwrap();
    assert_eq!(host.line(BUDGET).unwrap(), b"\xff");
    assert_eq!(host.line(BUDGET).unwrap(), b"id 2");
    assert_eq!(host.finish(BUDGET).unwrap(), 3);
}

#[test]
fn asking_has_ids_and_deadlines_of_the_script() {
    let ask_as = |id: Option<&str>, timeout_ms| Step::Ask {
        method: "roots/list".into(),
        params: None,
        id: id.map(Into::into),
        timeout_ms,
    };
    let (_up, mut host) = up(Script::new()
        .on(On::tool("own"), [ask_as(Some("1.0"), 10_000), Step::result("${reply}")])
        .on(On::tool("late"), [ask_as(None, 30), Step::result("${reply}")]));
    assert_eq!(
        ask(&mut host, &call("1.0", "own", "{}")),
        r#"{"jsonrpc":"2.0","id":1.0,"method":"roots/list"}"#
    );
    assert_eq!(ask(&mut host, r#"{"id":1.0,"result":[ ]}"#), r#"{"jsonrpc":"2.0","id":1.0,"result":[ ]}"#);
    assert!(ask(&mut host, &call("2", "late", "{}")).contains("\"id\":\"ask-2\""));
    assert_eq!(text(&host.line(BUDGET).unwrap()), r#"{"jsonrpc":"2.0","id":2,"result":"no reply"}"#);
}

#[test]
fn waiting_in_vain_and_hanging() {
    let wait = Step::WaitFor { method: "never".into(), count: 1, timeout_ms: 20 };
    let (_up, mut host) = up(Script::new()
        .on(On::tool("vain"), [wait, Step::result("1")])
        .on(On::tool("hang"), [Step::Hang, Step::result("1")]));
    assert!(ask(&mut host, &call("1", "vain", "{}")).contains("waited in vain for 1 of never"));
    host.send(call("2", "hang", "{}")).unwrap();
    assert!(ask(&mut host, &call("3", "echo", "{}")).contains("\"id\":3"), "only the hanging call hangs");
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert!(!text(&host.stdout()).contains("\"id\":2"));
}

#[test]
fn a_message_rule_comes_before_the_normal_handling() {
    let (_up, mut host) = up(Script::new().on(On::message(2), [Step::message("first")]));
    assert!(ask(&mut host, r#"{"id":1,"method":"ping"}"#).contains("\"id\":1"));
    assert_eq!(ask(&mut host, r#"{"id":2,"method":"ping"}"#), "first");
    assert!(text(&host.line(BUDGET).unwrap()).contains("\"id\":2"));
}

#[test]
fn whole_results_of_the_script_win() {
    let (_up, mut host) = up(Script::era(Eras::Dual).server(|s| {
        s.initialize = Some(r#"{"i" : 1.0}"#.into());
        s.discover = Some(r#"{"d" : 1.0}"#.into());
    }));
    assert!(
        ask(&mut host, &modern::modern("1", "server/discover", "")).ends_with(r#""result":{"d" : 1.0}}"#)
    );
    assert!(ask(&mut host, r#"{"id":1,"method":"initialize"}"#).ends_with(r#""result":{"i" : 1.0}}"#));
}

#[test]
fn stderr_without_newlines_and_a_life_that_ends() {
    let upstream = TestUpstream::new(
        Script::new()
            .on(On::start(), [Step::StderrFill { bytes: 70_000, line: 0 }, Step::Ignore(vec!["eof".into()])]),
    )
    .unwrap();
    let mut host = upstream.command().args(["--max-seconds", "1"]).start().unwrap();
    assert_eq!(host.finish(BUDGET).unwrap(), 86);
    assert_eq!(host.stderr(), vec![b'e'; 70_000]);
}

#[test]
fn other_methods_have_defaults() {
    let (_up, mut host) = plain();
    for (method, part) in [
        ("resources/templates/list", "\"resourceTemplates\":[]"),
        ("prompts/list", "\"prompts\":[]"),
        ("resources/read", "\"contents\":[{\"uri\":\"u\","),
        ("prompts/get", "prompt text"),
        ("completion/complete", "\"values\""),
        ("logging/setLevel", "\"result\":{}"),
        ("resources/subscribe", "\"result\":{}"),
        ("x/custom", r#""line":"{\"id\":1,\"method\":\"x/custom\""#),
        ("tasks/list", "-32601"),
    ] {
        let answer =
            ask(&mut host, &format!("{{\"id\":1,\"method\":\"{method}\",\"params\":{{\"uri\":\"u\"}}}}"));
        assert!(answer.contains(part), "{method}: {answer}");
    }
}
