//! The HTTP and SSE upstreams do what their scripts say.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::io::Read as _;
use std::time::{Duration, Instant};

use bir_testkit::client::{self, HttpAnswer};
use bir_testkit::log::Event;
use bir_testkit::{Allow, Chunking, Eras, Format, InsideUpstream, On, Script, Step, TestUpstream};

const BUDGET: Duration = Duration::from_secs(20);
const MODERN: &str = "2026-07-28";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn up(script: Script) -> InsideUpstream {
    InsideUpstream::http(script).unwrap()
}

fn post(port: u16, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
    client::send(port, "POST", "/mcp", headers, body, BUDGET).unwrap()
}

fn get(port: u16, headers: &[(&str, &str)]) -> HttpAnswer {
    client::send(port, "GET", "/mcp", headers, "", BUDGET).unwrap()
}

fn session(up: &InsideUpstream) -> String {
    let answer =
        post(up.port, &[], r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#);
    answer.header("mcp-session-id").unwrap().to_owned()
}

/// A POST within a fresh session.
fn ask(up: &InsideUpstream, body: &str) -> HttpAnswer {
    let session = session(up);
    post(up.port, &[("Mcp-Session-Id", &session)], body)
}

fn call(tool: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{}}}}}}"
    )
}

fn wait(up: &InsideUpstream, ready: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let deadline = Instant::now() + BUDGET;
    loop {
        let events = up.events();
        if ready(&events) {
            return events;
        }
        assert!(Instant::now() < deadline, "{events:#?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

#[test]
fn sessions_begin_end_and_are_unknown_afterwards() {
    let up = up(Script::new());
    let id = session(&up);
    let headers = [("Mcp-Session-Id", id.as_str())];
    let mut answer = post(up.port, &headers, PING);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.text().unwrap(), PONG);
    let mut accepted = post(up.port, &headers, r#"{"method":"notifications/initialized"}"#);
    assert_eq!((accepted.status, accepted.text().unwrap().as_str()), (202, ""));
    assert_eq!(post(up.port, &[], PING).status, 400);
    assert_eq!(post(up.port, &[("mcp-session-id", "nope")], PING).status, 404);
    assert_eq!(post(up.port, &headers, "nope").status, 400);
    assert_eq!(client::send(up.port, "DELETE", "/mcp", &headers, "", BUDGET).unwrap().status, 200);
    assert_eq!(post(up.port, &headers, PING).status, 404);
    assert_eq!(client::send(up.port, "POST", "/other", &headers, PING, BUDGET).unwrap().status, 404);
    let events = up.events();
    let seen = events.iter().rfind(|event| event.name() == "http" && event.str("path") == "/mcp").unwrap();
    assert_eq!((seen.str("method"), seen.header("MCP-SESSION-ID")), ("POST", Some(id.as_str())));
    assert_eq!(seen.bytes(), PING.as_bytes());
}

#[test]
fn statuses_and_expiry_follow_the_script() {
    let up = up(Script::new().http(|h| {
        h.unknown_session = 400;
        h.expire_after = Some(2);
        h.get = Allow::No;
        h.delete = Allow::No;
    }));
    let id = session(&up);
    let headers = [("Mcp-Session-Id", id.as_str())];
    assert_eq!(post(up.port, &headers, PING).status, 200, "initialize was the first request");
    assert_eq!(post(up.port, &headers, PING).status, 400);
    assert_eq!(get(up.port, &headers).status, 405);
    assert_eq!(client::send(up.port, "DELETE", "/mcp", &headers, "", BUDGET).unwrap().status, 405);
}

#[test]
fn a_server_without_sessions_and_one_that_forgets() {
    let up_none = up(Script::new().http(|h| h.sessions = false));
    let answer = post(up_none.port, &[], r#"{"id":0,"method":"initialize","params":{}}"#);
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    assert_eq!(post(up_none.port, &[], PING).status, 200);
    let up = up(Script::new().on(On::tool("bye"), [Step::Forget, Step::result("1")]));
    let id = session(&up);
    assert_eq!(
        post(up.port, &[("mcp-session-id", &id)], &call("bye")).text().unwrap(),
        r#"{"jsonrpc":"2.0","id":7,"result":1}"#
    );
    assert_eq!(post(up.port, &[("mcp-session-id", &id)], PING).status, 404);
}

#[test]
fn what_precedes_the_answer_makes_it_a_stream() {
    let up = up(Script::new());
    let body = r#"{"id":1.0,"method":"tools/call","params":{"name":"notify","arguments":{"n":1},"_meta":{"progressToken":5}}}"#;
    let mut answer = ask(&up, body);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let one = answer.event().unwrap().unwrap();
    assert!(one.data.contains("\"progressToken\":5,\"progress\":1") && one.id.is_none(), "{one:?}");
    assert!(answer.event().unwrap().unwrap().data.contains("\"id\":1.0,\"result\""));
    assert_eq!(answer.event().unwrap(), None);
}

#[test]
fn shapes_of_answers() {
    let up = up(Script::new()
        .on(
            On::tool("sse"),
            [
                Step::shape(|a| {
                    a.format = Format::Sse;
                    a.event_name = true;
                    a.crlf = true
                }),
                Step::result("1"),
            ],
        )
        .on(On::tool("spread"), [Step::shape(|a| a.multiline = true), Step::result("{\"a,\":[1,2]}")])
        .on(
            On::tool("lines"),
            [
                Step::shape(|a| {
                    a.multiline = true;
                    a.format = Format::Sse
                }),
                Step::result("[1,2]"),
            ],
        )
        .on(
            On::tool("prime"),
            [
                Step::shape(|a| {
                    a.prime = true;
                    a.format = Format::Sse;
                    a.retry_ms = Some(9)
                }),
                Step::result("1"),
            ],
        )
        .on(On::tool("gzip"), [Step::shape(|a| a.gzip = true), Step::result("1")])
        .on(
            On::tool("gzip-sse"),
            [
                Step::shape(|a| {
                    a.gzip = true;
                    a.format = Format::Sse
                }),
                Step::message("{}"),
                Step::result("1"),
            ],
        )
        .on(
            On::tool("json"),
            [Step::shape(|a| a.format = Format::Json), Step::message("{\"early\":1}"), Step::result("1")],
        )
        .on(
            On::tool("type"),
            [
                Step::shape(|a| {
                    a.content_type = Some("Application/JSON; x=y".into());
                    a.headers.push(("X-A".into(), "b".into()))
                }),
                Step::result("1"),
            ],
        ));
    let result = r#"{"jsonrpc":"2.0","id":7,"result":1}"#;
    assert_eq!(ask(&up, &call("sse")).text().unwrap(), format!("event: message\r\ndata: {result}\r\n\r\n"));
    let spread = "{\n\"jsonrpc\":\"2.0\",\n\"id\":7,\n\"result\":{\n\"a,\":[\n1,\n2]}}";
    assert_eq!(ask(&up, &call("spread")).text().unwrap(), spread);
    assert_eq!(
        ask(&up, &call("lines")).text().unwrap(),
        "data: {\ndata: \"jsonrpc\":\"2.0\",\ndata: \"id\":7,\ndata: \"result\":[\ndata: 1,\ndata: 2]}\n\n"
    );
    let primed = ask(&up, &call("prime")).text().unwrap();
    assert!(primed.starts_with("id: ") && primed.contains("\nretry: 9\ndata: \n\nid: "), "{primed}");
    let mut answer = ask(&up, &call("gzip"));
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let unzip = |bytes: Vec<u8>| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!(unzip(answer.body().unwrap()), result);
    assert_eq!(
        unzip(ask(&up, &call("gzip-sse")).body().unwrap()),
        format!("data: {{}}\n\ndata: {result}\n\n")
    );
    let mut answer = ask(&up, &call("type"));
    assert_eq!(
        (answer.header("content-type"), answer.header("x-a")),
        (Some("Application/JSON; x=y"), Some("b"))
    );
    assert_eq!(answer.text().unwrap(), result);
    let id = session(&up);
    assert_eq!(post(up.port, &[("mcp-session-id", &id)], &call("json")).text().unwrap(), result);
    let early = get(up.port, &[("mcp-session-id", &id)]).event().unwrap().unwrap();
    assert_eq!(early.data, "{\"early\":1}", "kept for the stream");
}

#[test]
fn whole_http_answers_and_broken_connections() {
    let up = up(Script::new()
        .on(On::tool("401"), [Step::http(401, &[("WWW-Authenticate", "Bearer realm=\"x\"")], "no")])
        .on(On::tool("307"), [Step::http(307, &[("Location", "${origin}/mcp?again")], "")])
        .on(On::tool("drop"), [Step::Drop])
        .on(
            On::tool("garbage"),
            [
                Step::Chunk(Chunking { every: 3, ..Chunking::default() }),
                Step::Connection("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort".into()),
            ],
        )
        .on(On::http("PUT"), [Step::http(500, &[], "put")])
        .on(On::http("GET").nth(1), [Step::sleep(1), Step::Default]));
    let mut answer = ask(&up, &call("401"));
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer realm=\"x\"")));
    assert_eq!(answer.text().unwrap(), "no");
    let answer = ask(&up, &call("307"));
    assert_eq!(
        (answer.status, answer.header("location")),
        (307, Some(format!("{}?again", up.url()).as_str()))
    );
    let id = session(&up);
    assert!(
        client::send(up.port, "POST", "/mcp", &[("mcp-session-id", &id)], &call("drop"), BUDGET).is_err()
    );
    let mut answer = ask(&up, &call("garbage"));
    assert!(answer.body().is_err(), "cut before its length");
    assert_eq!(client::send(up.port, "PUT", "/mcp", &[], "", BUDGET).unwrap().status, 500);
    assert_eq!(get(up.port, &[]).status, 400, "the default goes on");
}

#[test]
fn a_request_without_an_answer_is_held_until_the_client_goes() {
    let up = up(Script::new().on(On::tool("never"), []));
    let id = session(&up);
    let bytes =
        client::request("POST", "/mcp", up.port, &[("mcp-session-id", &id)], call("never").as_bytes());
    let held = client::send_and_hold(up.port, &bytes).unwrap();
    let events = wait(&up, |events| events.iter().filter(|e| e.name() == "line").count() == 2);
    assert!(!events.iter().any(|e| e.name() == "http_gone"));
    drop(held);
    wait(&up, |events| events.iter().any(|e| e.name() == "http_gone"));
}

#[test]
fn the_hosts_reply_comes_by_another_post_and_the_get_stream_carries_changes() {
    let up = up(Script::new());
    let id = session(&up);
    let headers = [("mcp-session-id", id.as_str())];
    let mut stream = get(up.port, &headers);
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(get(up.port, &headers).status, 409);
    let mut asked = post(up.port, &headers, &call("reverse"));
    assert!(asked.event().unwrap().unwrap().data.contains(r#""id":"ask-1","method":"ping""#));
    assert_eq!(post(up.port, &headers, r#"{"id":"ask-1","result":{}}"#).status, 202);
    assert!(asked.event().unwrap().unwrap().data.contains(r#"\"result\":{}"#));
    post(up.port, &headers, &call("change"));
    assert!(stream.event().unwrap().unwrap().data.contains("notifications/tools/list_changed"));
    client::send(up.port, "DELETE", "/mcp", &headers, "", BUDGET).unwrap();
    assert_eq!(stream.event().unwrap(), None, "the stream ends with its session");
}

#[test]
fn a_cut_stream_is_taken_up_with_the_last_event_id() {
    for properly in [true, false] {
        let up = up(Script::new().on(
            On::tool("cut"),
            [
                Step::shape(|a| {
                    a.event_ids = true;
                    a.retry_ms = Some(1)
                }),
                Step::message("{\"n\":1}"),
                Step::Cut(properly),
                Step::message("{\"n\":2}"),
                Step::wait_for("go"),
                Step::result("3"),
            ],
        ));
        let id = session(&up);
        let mut answer = post(up.port, &[("mcp-session-id", &id)], &call("cut"));
        let first = answer.event().unwrap().unwrap();
        assert_eq!((first.data.as_str(), first.retry.as_deref()), ("{\"n\":1}", Some("1")));
        assert_eq!(answer.event().is_ok(), properly);
        let last = first.id.unwrap();
        let mut again = get(up.port, &[("mcp-session-id", &id), ("last-event-id", &last)]);
        let second = again.event().unwrap().unwrap();
        assert_eq!(second.data, "{\"n\":2}");
        post(up.port, &[("mcp-session-id", &id)], "{\"method\":\"go\"}");
        assert!(again.event().unwrap().unwrap().data.contains("\"result\":3"));
        assert_eq!(again.event().unwrap(), None);
        let mut late = get(up.port, &[("mcp-session-id", &id), ("last-event-id", &second.id.unwrap())]);
        assert!(late.event().unwrap().unwrap().data.contains("\"result\":3"), "also after its end");
        assert_eq!(get(up.port, &[("mcp-session-id", &id), ("last-event-id", "77-1")]).status, 400);
    }
}

#[test]
fn headers_can_be_late_and_bodies_slow() {
    let up = up(Script::new()
        .on(On::tool("late"), [Step::shape(|a| a.delay_headers_ms = 60), Step::result("1")])
        .on(
            On::tool("bytes"),
            [Step::shape(|a| a.format = Format::Sse), Step::chunk_every(1), Step::result("\"é😀\"")],
        ));
    let began = Instant::now();
    assert_eq!(ask(&up, &call("late")).status, 200);
    assert!(began.elapsed() >= Duration::from_millis(60));
    assert!(ask(&up, &call("bytes")).event().unwrap().unwrap().data.contains("é😀"));
}

#[test]
fn huge_answers_over_http() {
    let upstream = TestUpstream::new(
        Script::new()
            .on(On::tool("json"), [Step::Size(64 << 20)])
            .on(On::tool("sse"), [Step::shape(|a| a.format = Format::Sse), Step::Size(64 << 20)])
            .http(|h| h.sessions = false),
    )
    .unwrap();
    let http = upstream.http().unwrap();
    let frame =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""}]}}"#.len() + (64 << 20);
    assert_eq!(post(http.port, &[], &call("json")).body().unwrap().len(), frame);
    assert_eq!(post(http.port, &[], &call("sse")).body().unwrap().len(), frame + "data: \n\n".len());
    let status = std::fs::read_to_string(format!("/proc/{}/status", http.host.pid())).unwrap();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB");
    assert!(peak.parse::<u64>().unwrap() < 64 * 1024, "{peak} kB");
}

#[test]
fn the_binary_exits_on_command_and_restarts_at_its_address() {
    let upstream = TestUpstream::plain(Eras::Legacy).unwrap();
    let mut http = upstream.http().unwrap();
    let init = r#"{"id":0,"method":"initialize","params":{}}"#;
    let id = post(http.port, &[], init).header("mcp-session-id").unwrap().to_owned();
    let headers = [("mcp-session-id", id.as_str())];
    assert!(client::send(http.port, "POST", "/mcp", &headers, &call("crash"), BUDGET).is_err());
    assert_eq!(http.host.wait_exit(BUDGET).unwrap().code(), Some(3));
    let address = format!("127.0.0.1:{}", http.port);
    let again = upstream.serve_at("--http", &address).unwrap();
    assert_eq!(again.port, http.port);
    assert_eq!(post(again.port, &headers, PING).status, 404, "the session of the first process");
    let refused = upstream.serve_at("--http", "0.0.0.0:0");
    assert!(refused.is_err_and(|error| error.to_string().contains("not a loopback address")));
}

#[test]
fn an_inside_upstream_that_exits_stops() {
    let up = up(Script::new());
    let id = session(&up);
    assert!(
        client::send(up.port, "POST", "/mcp", &[("mcp-session-id", &id)], &call("crash"), BUDGET).is_err()
    );
    let events = wait(&up, |events| events.iter().any(|e| e.name() == "exit"));
    assert!(events.iter().any(|e| e.name() == "stderr"));
}

fn modern(method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{method}\",\"params\":{{{params}{comma}{META}}}}}")
}

fn post_modern(up: &InsideUpstream, method: &str, name: &str, params: &str) -> HttpAnswer {
    let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
    if !name.is_empty() {
        headers.push(("Mcp-Name", name));
    }
    post(up.port, &headers, &modern(method, params))
}

#[test]
fn the_modern_era_has_no_sessions_and_checks_headers() {
    let up = up(Script::era(Eras::Modern));
    let mut answer = post_modern(&up, "server/discover", "", "");
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    assert!(answer.text().unwrap().contains("supportedVersions"));
    assert_eq!(get(up.port, &[]).status, 405);
    assert_eq!(client::send(up.port, "DELETE", "/mcp", &[], "", BUDGET).unwrap().status, 405);
    assert_eq!(post_modern(&up, "nope", "", "").status, 404);
    let echo = r#""name":"echo","arguments":{}"#;
    assert_eq!(post_modern(&up, "tools/call", "echo", echo).status, 200);
    for (version, method, name) in
        [("x", "tools/call", "echo"), (MODERN, "x", "echo"), (MODERN, "tools/call", "x")]
    {
        let headers = [("MCP-Protocol-Version", version), ("Mcp-Method", method), ("Mcp-Name", name)];
        let mut answer = post(up.port, &headers, &modern("tools/call", echo));
        assert_eq!(answer.status, 400);
        assert!(answer.text().unwrap().contains("-32020"));
    }
    let old = modern("tools/list", "").replace(MODERN, "1999-01-01");
    let mut answer =
        post(up.port, &[("MCP-Protocol-Version", "1999-01-01"), ("Mcp-Method", "tools/list")], &old);
    assert_eq!(answer.status, 400);
    assert!(answer.text().unwrap().contains("-32022"));
    let mut answer = post(up.port, &[], r#"{"id":1,"method":"tools/list","params":{}}"#);
    assert_eq!(answer.status, 400);
    assert!(answer.text().unwrap().contains("-32602"));
}

#[test]
fn modern_input_and_listening_over_http() {
    let up = up(Script::era(Eras::Dual));
    let reverse = r#""name":"reverse","arguments":{"method":"roots/list"}"#;
    assert!(post_modern(&up, "tools/call", "reverse", reverse).text().unwrap().contains("input_required"));
    let mut listen =
        post_modern(&up, "subscriptions/listen", "", r#""notifications":{"toolsListChanged":true}"#);
    assert!(listen.event().unwrap().unwrap().data.contains("notifications/subscriptions/acknowledged"));
    post_modern(&up, "tools/call", "change", r#""name":"change","arguments":{}"#);
    assert!(
        listen
            .event()
            .unwrap()
            .unwrap()
            .data
            .contains(r#"list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#)
    );
    drop(listen);
    wait(&up, |events| events.iter().any(|e| e.name() == "http_gone"));
    assert!(!session(&up).is_empty(), "dual still knows initialize");
}

#[test]
fn closing_cancels_a_modern_call() {
    let up = up(Script::era(Eras::Modern));
    let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "sleep")];
    let body = modern("tools/call", r#""name":"sleep","arguments":{"ms":60000}"#);
    let held =
        client::send_and_hold(up.port, &client::request("POST", "/mcp", up.port, &headers, body.as_bytes()))
            .unwrap();
    wait(&up, |events| events.iter().any(|e| e.name() == "line"));
    drop(held);
    wait(&up, |events| events.iter().any(|e| e.name() == "http_gone"));
}

#[test]
fn legacy_sse_answers_on_the_stream() {
    let up = InsideUpstream::sse(Script::new().http(|h| h.path = "/sse".into())).unwrap();
    let send = |method: &str, path: &str, body: &str| {
        client::send(up.port, method, path, &[], body, BUDGET).unwrap()
    };
    assert_eq!(send("POST", "/sse", PING).status, 405);
    let mut stream = send("GET", "/sse", "");
    let endpoint = stream.event().unwrap().unwrap();
    assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
    assert_eq!(send("POST", &endpoint.data, PING).status, 202);
    assert_eq!(stream.event().unwrap().unwrap().data, PONG);
    send("POST", &endpoint.data, &call("reverse"));
    assert!(stream.event().unwrap().unwrap().data.contains("ask-1"));
    send("POST", &endpoint.data, r#"{"id":"ask-1","result":{}}"#);
    assert!(stream.event().unwrap().unwrap().data.contains(r#"\"result\":{}"#));
    assert_eq!(send("POST", "/messages?sessionId=nope", PING).status, 404);
    drop(stream);
    wait(&up, |events| events.iter().any(|e| e.name() == "http_gone"));
    assert_eq!(send("POST", &endpoint.data, PING).status, 404);
}

#[test]
fn an_endpoint_event_can_say_anything() {
    let up = InsideUpstream::sse(Script::new().http(|h| h.endpoint = Some("http://127.0.0.2:1/x".into())))
        .unwrap();
    let mut stream = client::send(up.port, "GET", "/mcp", &[], "", BUDGET).unwrap();
    assert_eq!(stream.event().unwrap().unwrap().data, "http://127.0.0.2:1/x");
}

#[test]
fn a_legacy_stream_can_be_cut() {
    let up = InsideUpstream::sse(Script::new().on(On::tool("cut"), [Step::message("{}"), Step::Cut(false)]))
        .unwrap();
    let mut stream = client::send(up.port, "GET", "/mcp", &[], "", BUDGET).unwrap();
    let endpoint = stream.event().unwrap().unwrap().data;
    client::send(up.port, "POST", &endpoint, &[], &call("cut"), BUDGET).unwrap();
    assert_eq!(stream.event().unwrap().unwrap().data, "{}");
    assert!(stream.event().is_err());
}

#[test]
fn a_stream_is_taken_over_from_a_connection_that_is_still_there() {
    let up = up(Script::new().on(
        On::tool("x"),
        [Step::shape(|a| a.event_ids = true), Step::message("1"), Step::wait_for("go"), Step::result("2")],
    ));
    let id = session(&up);
    let mut first = post(up.port, &[("mcp-session-id", &id)], &call("x"));
    let last = first.event().unwrap().unwrap().id.unwrap();
    let mut second = get(up.port, &[("mcp-session-id", &id), ("last-event-id", &last)]);
    assert!(first.event().is_err(), "cut");
    post(up.port, &[("mcp-session-id", &id)], "{\"method\":\"go\"}");
    assert!(second.event().unwrap().unwrap().data.contains("\"result\":2"));
}

#[test]
fn the_own_stream_can_be_replayed_and_the_default_shape_holds_for_all() {
    let up = up(Script::new().http(|h| {
        h.answer.event_ids = true;
        h.answer.format = Format::Sse;
    }));
    let id = session_of_stream(&up);
    let headers = [("mcp-session-id", id.as_str())];
    for _ in 0..2 {
        assert!(post(up.port, &headers, &call("change")).event().unwrap().unwrap().id.is_some());
    }
    let mut stream = get(up.port, &headers);
    let first = stream.event().unwrap().unwrap();
    assert!(first.data.contains("list_changed"));
    let second = stream.event().unwrap().unwrap();
    drop(stream);
    let mut again = get(up.port, &[headers[0], ("last-event-id", &first.id.unwrap())]);
    assert_eq!(again.event().unwrap().unwrap(), second);
}

fn session_of_stream(up: &InsideUpstream) -> String {
    let mut answer = post(up.port, &[], r#"{"id":0,"method":"initialize","params":{}}"#);
    assert!(answer.event().unwrap().unwrap().data.contains("protocolVersion"));
    answer.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn a_port_that_was_free_refuses() {
    let port = client::free_port().unwrap();
    let refused = client::send(port, "GET", "/", &[], "", BUDGET).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_task_runs_over_http() {
    let up = up(Script::new().server(|s| s.tasks = true).on(On::tool("x"), [Step::result("{}")]));
    let id = session(&up);
    let headers = [("mcp-session-id", id.as_str())];
    let call = r#"{"id":1,"method":"tools/call","params":{"name":"x","task":{}}}"#;
    assert!(post(up.port, &headers, call).text().unwrap().contains("task-1"));
    let result = r#"{"id":2,"method":"tasks/result","params":{"taskId":"task-1"}}"#;
    assert!(post(up.port, &headers, result).text().unwrap().contains("related-task"));
}
