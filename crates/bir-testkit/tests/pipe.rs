//! The pipe carries sessions of both eras to children on stdio and back.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bir_testkit::client::{self, HttpAnswer};
use bir_testkit::log::Event;
use bir_testkit::{Eras, HostCommand, On, Script, StdioHost, Step, TestUpstream, bins, procs};

const BUDGET: Duration = Duration::from_secs(20);
const MODERN: &str = "2026-07-28";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

struct Pipe {
    host: StdioHost,
    port: u16,
    upstream: TestUpstream,
}

fn pipe(script: Script) -> Pipe {
    pipe_with(script, &[])
}

fn pipe_with(script: Script, options: &[&str]) -> Pipe {
    let upstream = TestUpstream::new(script).unwrap();
    let file: PathBuf = upstream.dir().join("pipe-port");
    let command =
        HostCommand::new(bins::test_pipe().unwrap()).arg("--port-file").arg(&file).args(options).arg("--");
    let host = command.wrap(&upstream.command()).start().unwrap();
    let deadline = Instant::now() + BUDGET;
    loop {
        if let Ok(port) = std::fs::read_to_string(&file) {
            return Pipe { host, port: port.trim().parse().unwrap(), upstream };
        }
        assert!(Instant::now() < deadline, "{}", host.stderr_text());
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Pipe {
    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
        client::send(self.port, method, "/mcp", headers, body, BUDGET).unwrap()
    }

    fn open(&self) -> String {
        let mut answer = self.send(
            "POST",
            &[],
            r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        );
        assert_eq!(answer.status, 200);
        assert!(answer.event().unwrap().unwrap().data.contains("\"protocolVersion\":\"2025-11-25\""));
        answer.header("mcp-session-id").unwrap().to_owned()
    }

    fn modern(&self, id: &str, method: &str, name: &str, params: &str) -> HttpAnswer {
        let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", name));
        }
        self.send("POST", &headers, &request(id, method, params))
    }

    fn starts(&self) -> usize {
        self.upstream.events().unwrap().iter().filter(|event| event.name() == "start").count()
    }

    fn wait(&self, ready: impl Fn(&[Event]) -> bool) {
        self.upstream.wait_log(BUDGET, ready).unwrap();
    }
}

fn request(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{comma}{META}}}}}"
    )
}

fn call(tool: &str, arguments: &str) -> String {
    format!(
        "{{\"id\":7,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments},\"_meta\":{{\"progressToken\":\"p\"}}}}}}"
    )
}

/// The next event that carries a message.
fn message(answer: &mut HttpAnswer) -> String {
    loop {
        let event = answer.event().unwrap().unwrap();
        if !event.data.is_empty() {
            return event.data;
        }
    }
}

#[test]
fn a_legacy_session_is_a_child() {
    let pipe = pipe(Script::new());
    let (one, two) = (pipe.open(), pipe.open());
    assert_ne!(one, two);
    assert_eq!(pipe.starts(), 2);
    let headers = [("Mcp-Session-Id", one.as_str())];
    let mut answer = pipe.send("POST", &headers, &call("notify", r#"{"n":1}"#));
    let priming = answer.event().unwrap().unwrap();
    assert!(priming.data.is_empty() && priming.id.is_some() && priming.retry.is_some());
    assert!(message(&mut answer).contains("\"progressToken\":\"p\",\"progress\":1"));
    assert!(message(&mut answer).contains("\"id\":7,\"result\""));
    assert_eq!(answer.event().unwrap(), None);
    assert_eq!(pipe.send("POST", &headers, r#"{"method":"notifications/initialized"}"#).status, 202);
    let procs = pipe.host.processes();
    assert_eq!(pipe.send("DELETE", &headers, "").status, 200);
    assert_eq!(procs::wait_gone(&procs, Duration::ZERO).len(), 2, "pipe and the other session's child");
    assert_eq!(pipe.send("POST", &headers, &call("echo", "{}")).status, 404);
    assert_eq!(pipe.send("POST", &[], &call("echo", "{}")).status, 400);
}

#[test]
fn requests_of_the_server_and_changes_go_where_they_belong() {
    let pipe = pipe(Script::new());
    let id = pipe.open();
    let headers = [("Mcp-Session-Id", id.as_str())];
    let mut stream = pipe.send("GET", &headers, "");
    let mut answer = pipe.send("POST", &headers, &call("reverse", r#"{"method":"roots/list"}"#));
    assert!(message(&mut answer).contains(r#""id":"ask-1","method":"roots/list""#));
    assert_eq!(pipe.send("POST", &headers, r#"{"id":"ask-1","result":{"roots" :[]}}"#).status, 202);
    assert!(message(&mut answer).contains(r#"{\"id\":\"ask-1\",\"result\":{\"roots\" :[]}}"#));
    message(&mut pipe.send("POST", &headers, &call("change", "{}")));
    assert!(message(&mut stream).contains("notifications/tools/list_changed"));
    assert_eq!(pipe.send("GET", &headers, "").status, 409);
}

#[test]
fn a_client_that_lost_its_stream_gets_the_rest() {
    let pipe = pipe(Script::new().on(On::tool("x"), [Step::wait_for("go"), Step::result("1")]));
    let id = pipe.open();
    let headers = [("Mcp-Session-Id", id.as_str())];
    let mut answer = pipe.send("POST", &headers, &call("x", "{}"));
    let last = answer.event().unwrap().unwrap().id.unwrap();
    drop(answer);
    assert_eq!(pipe.send("POST", &headers, r#"{"method":"go"}"#).status, 202);
    let mut again = pipe.send("GET", &[headers[0], ("Last-Event-ID", &last)], "");
    let rest = message(&mut again);
    assert!(rest.contains("\"id\":7,\"result\":1"), "{rest}");
}

#[test]
fn bodies_go_through_byte_for_byte_on_one_line() {
    let pipe = pipe(Script::new());
    let id = pipe.open();
    let odd = "{\"id\" : 1.0 ,\n\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\r\n\"arguments\":{\"a\":1e400,\"a\":\"\\ud800\"}}}";
    let mut answer = pipe.send("POST", &[("Mcp-Session-Id", &id)], odd);
    assert!(message(&mut answer).contains(r#""id":1.0,"result""#));
    let seen = pipe.upstream.lines().unwrap().pop().unwrap();
    assert_eq!(String::from_utf8(seen).unwrap(), odd.replace(['\n', '\r'], " "));
}

#[test]
fn equal_ids_of_several_clients_do_not_cross() {
    let pipe = pipe(Script::era(Eras::Modern).on(
        On::tool("held"),
        [Step::wait_for_nth("tools/call", 2), Step::Progress(1), Step::result("${arguments}")],
    ));
    let ask = |token: &'static str, arguments: &'static str| {
        let params = format!(r#""name":"held","arguments":{arguments}"#);
        let body = request("\"same\\u0031\"", "tools/call", &params)
            .replace(r#""_meta":{"#, &format!(r#""_meta":{{"progressToken":{token},"#));
        let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "held")];
        let port = pipe.port;
        std::thread::spawn(move || {
            let mut answer = client::send(port, "POST", "/mcp", &headers, &body, BUDGET).unwrap();
            (message(&mut answer), message(&mut answer))
        })
    };
    let (one, two) = (ask("1.0", "[1]"), ask("\"t\"", "[2]"));
    let ((progress_one, one), (progress_two, two)) = (one.join().unwrap(), two.join().unwrap());
    assert_eq!(one, r#"{"jsonrpc":"2.0","id":"same\u0031","result":[1]}"#);
    assert_eq!(two, r#"{"jsonrpc":"2.0","id":"same\u0031","result":[2]}"#);
    assert!(progress_one.contains(r#""progressToken":1.0,"#), "{progress_one}");
    assert!(progress_two.contains(r#""progressToken":"t","#), "{progress_two}");
    assert_eq!(pipe.starts(), 1, "one child for all");
}

#[test]
fn modern_statuses_are_mapped_from_codes() {
    let pipe = pipe(
        Script::era(Eras::Modern).on(On::tool("cap"), [Step::error(r#"{"code":-32021,"message":"m"}"#)]),
    );
    let mut found = pipe.modern("1", "server/discover", "", "");
    assert_eq!((found.status, found.header("content-type")), (200, Some("application/json")));
    assert!(found.text().unwrap().contains("supportedVersions"));
    assert_eq!(pipe.modern("1", "nope", "", "").status, 404);
    assert_eq!(pipe.modern("1", "tools/call", "cap", r#""name":"cap""#).status, 400);
    assert_eq!(pipe.modern("1", "tools/call", "unknown", r#""name":"unknown""#).status, 200);
    let mut wrong = pipe.modern("1", "tools/call", "other", r#""name":"echo""#);
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().unwrap().contains("-32020"));
    let old = request("1", "tools/list", "").replace(MODERN, "1999-01-01");
    let mut unsupported =
        pipe.send("POST", &[("MCP-Protocol-Version", "1999-01-01"), ("Mcp-Method", "tools/list")], &old);
    assert_eq!(unsupported.status, 400);
    assert!(unsupported.text().unwrap().contains("-32022"));
    let mut contradicts =
        pipe.send("POST", &[("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/list")], &old);
    assert!(contradicts.text().unwrap().contains("-32020"));
    let mut missing = pipe.send(
        "POST",
        &[("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/list")],
        r#"{"id":1,"method":"tools/list"}"#,
    );
    assert_eq!(missing.status, 400);
    assert!(missing.text().unwrap().contains("-32602"));
    for method in ["GET", "DELETE"] {
        assert_eq!(pipe.send(method, &[("MCP-Protocol-Version", MODERN)], "").status, 405);
    }
}

#[test]
fn closing_a_modern_stream_cancels_and_subscriptions_keep_their_id() {
    let pipe = pipe(Script::era(Eras::Modern));
    let mut listen =
        pipe.modern("\"l:0\"", "subscriptions/listen", "", r#""notifications":{"toolsListChanged":true}"#);
    let acknowledged = message(&mut listen);
    assert!(acknowledged.contains(r#""io.modelcontextprotocol/subscriptionId":"l:0""#), "{acknowledged}");
    pipe.modern("1", "tools/call", "change", r#""name":"change","arguments":{}"#);
    assert!(
        message(&mut listen)
            .contains(r#"list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l:0"}}"#)
    );
    drop(listen);
    pipe.wait(|events| events.iter().any(|event| event.str("text").contains("notifications/cancelled")));
    let lines = pipe.upstream.lines().unwrap();
    let sent =
        lines.iter().find(|line| line.windows(21).any(|part| part == b"subscriptions/listen\"")).unwrap();
    let id = String::from_utf8_lossy(bir_testkit::raw::get(sent, "id").unwrap()).into_owned();
    let cancelled = String::from_utf8(lines.last().unwrap().clone()).unwrap();
    assert!(cancelled.contains(&format!("\"requestId\":{id},")), "{cancelled} for {id}");
}

#[test]
fn declared_parameters_must_be_in_headers() {
    let tool = r#"{"name":"p","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#;
    let pipe = pipe(
        Script::era(Eras::Modern)
            .server(|s| s.tools.push(tool.into()))
            .on(On::tool("p"), [Step::result("1")]),
    );
    let body = request("1", "tools/call", r#""name":"p","arguments":{"region":"eu"}"#);
    let base = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "p")];
    let with =
        |value| pipe.send("POST", &[base[0], base[1], base[2], ("Mcp-Param-Region", value)], &body).status;
    assert_eq!((with("eu"), with("us")), (200, 400));
    assert_eq!(pipe.send("POST", &base, &body).status, 400);
}

#[test]
fn authorizations_do_not_share_a_child() {
    let pipe = pipe(Script::era(Eras::Modern));
    let body = request("1", "tools/list", "");
    let base = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/list")];
    for token in ["Bearer a", "Bearer b", "Bearer a"] {
        assert_eq!(pipe.send("POST", &[base[0], base[1], ("Authorization", token)], &body).status, 200);
    }
    assert_eq!(pipe.starts(), 2);
}

#[test]
fn foreign_hosts_and_bad_requests_are_refused() {
    let pipe = pipe(Script::new());
    let ping = r#"{"id":1,"method":"ping"}"#;
    assert_eq!(pipe.send("POST", &[("Host", "evil.example")], ping).status, 403);
    assert_eq!(pipe.send("POST", &[("Origin", "http://evil.example")], ping).status, 403);
    assert_eq!(pipe.send("POST", &[("Content-Type", "text/plain")], ping).status, 415);
    assert_eq!(pipe.send("POST", &[("Accept", "text/html")], ping).status, 406);
    assert_eq!(pipe.send("POST", &[], "nope").status, 400);
    assert_eq!(pipe.send("POST", &[], "[]").status, 400);
    assert_eq!(pipe.send("PUT", &[], "").status, 405);
    assert_eq!(pipe.starts(), 0, "no child for any of these");
}

#[test]
fn a_child_that_dies_ends_its_calls_and_its_session() {
    let pipe = pipe(Script::era(Eras::Dual));
    let id = pipe.open();
    let headers = [("Mcp-Session-Id", id.as_str())];
    let mut answer = pipe.send("POST", &headers, &call("crash", "{}"));
    assert!(answer.event().unwrap().is_some_and(|event| event.data.is_empty()), "the priming event");
    assert!(answer.event().is_err(), "cut, not ended");
    let deadline = Instant::now() + BUDGET;
    while pipe.send("POST", &headers, r#"{"method":"x"}"#).status != 404 {
        assert!(Instant::now() < deadline);
    }
    let body = request("1", "tools/call", r#""name":"crash","arguments":{}"#);
    let base = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "crash")];
    assert!(client::send(pipe.port, "POST", "/mcp", &base, &body, BUDGET).is_err());
    assert_eq!(pipe.modern("1", "tools/list", "", "").status, 200, "a new child for the next");
}

#[test]
fn ending_the_pipe_ends_the_children() {
    let mut pipe = pipe(Script::new());
    pipe.open();
    let all = pipe.host.processes();
    assert_eq!(all.len(), 2);
    pipe.host.signal(rustix::process::Signal::TERM).unwrap();
    assert_eq!(pipe.host.wait_exit(BUDGET).unwrap().code(), Some(0));
    assert_eq!(procs::wait_gone(&all, BUDGET), []);
}

#[test]
fn a_bad_command_line_is_refused() {
    for args in [&["--nope"][..], &[], &["--"], &["--listen", "0.0.0.0:0", "--", "true"]] {
        let mut host = HostCommand::new(bins::test_pipe().unwrap()).args(args).start().unwrap();
        assert_ne!(host.finish(BUDGET).unwrap(), 0, "{args:?}");
        assert!(host.stderr_text().contains("bir-test-pipe: "));
    }
}

#[test]
fn a_stream_that_is_late_is_closed_and_polled() {
    let script = Script::new().on(On::tool("x"), [Step::wait_for("go"), Step::result("1")]);
    let pipe = pipe_with(script, &["--poll-after", "30"]);
    let id = pipe.open();
    let headers = [("Mcp-Session-Id", id.as_str())];
    let mut answer = pipe.send("POST", &headers, &call("x", "{}"));
    let last = answer.event().unwrap().unwrap().id.unwrap();
    assert_eq!(answer.event().unwrap(), None, "ended properly");
    assert_eq!(pipe.send("POST", &headers, r#"{"method":"go"}"#).status, 202);
    let mut again = pipe.send("GET", &[headers[0], ("Last-Event-ID", &last)], "");
    assert!(message(&mut again).contains("\"id\":7,\"result\":1"));
    assert_eq!(again.event().unwrap(), None);
}
