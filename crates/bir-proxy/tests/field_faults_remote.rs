//! Faults that users of bridges to remote MCP servers have reported, one test a kind. The number is that of the list the
//! project keeps; those that have a test elsewhere carry it there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/raw_http.rs"]
mod raw_http;
#[path = "common/remote.rs"]
mod remote;

use bir_testkit::{Allow, On, Script, StdioHost, Step};
use common::*;
use raw_http::*;
use remote::*;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What the proxy may have held at most, in KiB.
const MOST_KIB: u64 = 8 * 1024;

fn unknown(answer: &str) -> bool {
    answer.contains("\"error\":{\"code\":-32000")
        && answer.contains("whether the call took effect is unknown")
}

/// A proxy in front of a raw server.
fn host(url: &str, options: &[&str], env: &[(&str, &str)]) -> (StdioHost, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = to(url, options, home.path());
    for (name, value) in env {
        command = command.env(name, value);
    }
    (command.start().unwrap(), home)
}

fn ask(host: &mut StdioHost, line: &str) -> String {
    text(host.ask(line, BUDGET).unwrap_or_else(|e| panic!("{line}: {e}")))
}

fn open(host: &mut StdioHost) {
    assert!(ask(host, INIT).contains("\"result\""));
    host.send(INITIALIZED).unwrap();
}

/// An answer that goes on until the proxy has had enough, or for 64 MiB.
fn endless(stream: &mut TcpStream, media_type: &str, head: &str, filler: u8) -> bool {
    let http = format!("HTTP/1.1 200 X\r\nContent-Type: {media_type}\r\n\r\n{head}");
    let block = vec![filler; 1 << 20];
    let _ = stream.write_all(http.as_bytes()).is_ok() && (0..64).all(|_| stream.write_all(&block).is_ok());
    false
}

#[test]
fn t17_an_endless_answer_costs_no_memory_and_ends_in_an_error() {
    const JSON: &str = "application/json";
    const EVENTS: &str = "text/event-stream";
    for (media_type, head, filler, streams) in [
        (JSON, "{\"id\":1,\"result\":\"", b'x', true),
        (EVENTS, "data: {\"id\":1,\"result\":\"", b'x', true),
        (JSON, "", b'x', false),
        (JSON, "", b' ', false),
        (JSON, "", b'\n', false),
        (EVENTS, "data: ", b' ', false),
        (EVENTS, "data: nothing", b'y', false),
        (EVENTS, ":", b'c', false),
        (EVENTS, "id: ", b'i', false),
        (EVENTS, "event: ", b'e', false),
        (EVENTS, "unknown", b'f', false),
        (EVENTS, "", b'\n', false),
        ("text/html", "", b'h', false),
    ] {
        let what = format!("{media_type} {head:?} {:?}", filler as char);
        let server = RawServer::start(move |asked, stream| {
            shake_hands(asked, stream).unwrap_or_else(|| endless(stream, media_type, head, filler))
        });
        let home = tempfile::tempdir().unwrap();
        let mut host = to(&server.url(), &[], home.path()).count_stdout().start().unwrap();
        host.send(INIT).unwrap();
        host.wait_stdout_len(20, BUDGET);
        let begun = host.stdout_len();
        host.send(INITIALIZED).unwrap();
        host.send(call("1", "x", "{}")).unwrap();
        let streamed = if streams { 64 << 20 } else { 0 };
        let came = host.wait_stdout_len(begun + streamed + 60, BUDGET * 2) - begun;
        let peak = peak_kib(host.pid());
        assert!(peak < MOST_KIB, "{what}: {peak} KiB");
        assert_eq!(host.finish(BUDGET).unwrap_or_else(|e| panic!("{what}: {e}")), 0, "{what}");
        assert!(came > streamed && host.stdout_len() - begun < streamed + 400, "{what}: {came}");
        assert!(host.stderr_text().lines().count() <= 1, "{what}: {}", host.stderr_text());
        let calls = server.asked().iter().filter(|a| a.body.contains("tools/call")).count();
        assert_eq!(calls, 1, "{what}");
    }
}

#[test]
fn t17_an_endless_head_is_given_up() {
    let server = RawServer::start(|asked, stream| {
        shake_hands(asked, stream).unwrap_or_else(|| {
            let block = "h".repeat(1 << 20);
            let _ = stream.write_all(b"HTTP/1.1 200 X\r\nX-Long: ").is_ok()
                && (0..64).all(|_| stream.write_all(block.as_bytes()).is_ok());
            false
        })
    });
    let (mut host, _home) = host(&server.url(), &[], &[]);
    open(&mut host);
    assert!(ask(&mut host, &call("1", "x", "{}")).contains("\"id\":1,\"error\""));
    assert!(peak_kib(host.pid()) < MOST_KIB);
}

#[test]
fn t17_a_limit_ends_an_endless_answer_before_the_host_sees_any_of_it() {
    for (media_type, head) in [("application/json", "{\"r\":\""), ("text/event-stream", "data: {\"r\":\"")] {
        let server = RawServer::start(move |asked, stream| {
            shake_hands(asked, stream).unwrap_or_else(|| endless(stream, media_type, head, b'x'))
        });
        let (mut host, _home) = host(&server.url(), &[], &[("BIR_UPSTREAM_MAX_MESSAGE_BYTES", "100000")]);
        open(&mut host);
        let answer = ask(&mut host, &call("1", "x", "{}"));
        assert!(answer.contains("\"id\":1,\"error\"") && answer.contains("too large"), "{answer}");
        assert!(peak_kib(host.pid()) < MOST_KIB);
    }
}

#[test]
fn t25_thirty_two_proxies_at_once_lose_no_initialized() {
    let up = bir_testkit::TestUpstream::new(Script::new()).unwrap();
    let server = up.http().unwrap();
    let command = to(&server.url(), &[], &up.dir().join("home"));
    std::thread::scope(|scope| {
        for n in 0..32 {
            let command = &command;
            scope.spawn(move || {
                let mut host = command.start().unwrap();
                // All in one write: nothing waits for the answer to `initialize`.
                host.write(format!("{INIT}\n{INITIALIZED}\n{}\n", call(&n.to_string(), "seen", "{}")))
                    .unwrap();
                assert!(text(host.line(BUDGET).unwrap()).contains("protocolVersion"));
                let seen = text(host.line(BUDGET).unwrap());
                assert!(
                    seen.contains(&format!("\"id\":{n},")) && seen.contains("notifications/initialized"),
                    "{seen}"
                );
                assert_eq!(host.finish(BUDGET).unwrap(), 0);
                assert_eq!(host.stderr_text(), "");
            });
        }
    });
    let events = up.events().unwrap();
    let sessions = |part: &str| {
        let mut found: Vec<&str> = events
            .iter()
            .filter(|e| e.name() == "line" && e.str("text").contains(part))
            .map(|e| e.str("session"))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.len()
    };
    assert_eq!(
        (sessions("\"initialize\""), sessions("notifications/initialized"), sessions("\"seen\"")),
        (32, 32, 32)
    );
}

#[test]
fn t46_a_restarted_upstream_is_initialised_again_once_and_the_host_sees_nothing() {
    for leg in [Leg::Json, Leg::Events, Leg::Modern] {
        let mut stage = Stage::through(&Script::new(), leg);
        stage.open();
        assert!(stage.ask(stage.call("1", "echo", "{}")).contains("\"id\":1"));
        for round in 0..2 {
            let port = stage.server.take().unwrap().port;
            stage.server = Some(stage.up.serve_at("--http", &format!("127.0.0.1:{port}")).unwrap());
            for n in 0..3 {
                let id = format!("\"{round}{n}\"");
                let answer = stage.ask(stage.call(&id, "echo", "{\"a\" : 1.0}"));
                assert!(
                    answer.contains(&format!("\"id\":{id}")) && answer.contains("\\\"a\\\" : 1.0"),
                    "{answer}"
                );
            }
        }
        let count = |part: &str| stage.received().iter().filter(|line| line.contains(part)).count();
        let times = if leg.is_modern() { 0 } else { 3 };
        assert_eq!(count("\"initialize\""), times, "{leg:?}");
        assert_eq!(count("notifications/initialized"), times, "{leg:?}");
        let before = if leg.is_modern() { 0 } else { 1 };
        let seen = stage.finish();
        assert_eq!((seen.host.len(), seen.status), (before + 1 + 6, 0), "{:?}", seen.host);
    }
}

#[test]
fn t46_what_belongs_to_no_call_comes_again_after_a_restart() {
    let mut stage = Stage::through(&Script::new(), Leg::Json);
    stage.open();
    let port = stage.server.take().unwrap().port;
    stage.server = Some(stage.up.serve_at("--http", &format!("127.0.0.1:{port}")).unwrap());
    stage.send(stage.call("1", "change", "{\"what\":\"tools\"}"));
    let both = [stage.next(), stage.next()].concat();
    assert!(both.contains("\"id\":1") && both.contains("notifications/tools/list_changed"), "{both}");
}

#[test]
fn t46_a_call_that_was_under_way_in_the_restart_is_unknown_and_the_next_one_works() {
    for leg in [Leg::Json, Leg::Modern] {
        let script = Script::new().on(On::tool("slow"), [Step::notify("x/begun", "{}"), Step::Hang]);
        let mut stage = Stage::through(&script, leg);
        stage.open();
        assert!(stage.ask(stage.call("1", "slow", "{}")).contains("x/begun"));
        let port = stage.server.take().unwrap().port;
        let answer = stage.next();
        assert!(answer.contains("\"id\":1,") && unknown(&answer), "{leg:?}: {answer}");
        stage.server = Some(stage.up.serve_at("--http", &format!("127.0.0.1:{port}")).unwrap());
        assert!(stage.ask(stage.call("2", "echo", "{}")).contains("\"id\":2,\"result\""));
        let calls = stage.received().iter().filter(|line| line.contains("\"slow\"")).count();
        assert_eq!(calls, 1, "a call is never sent twice");
    }
}

#[test]
fn t49_a_call_whose_connection_was_cut_is_unknown_and_not_sent_again() {
    for leg in [Leg::Json, Leg::Events, Leg::Modern, Leg::ModernEvents] {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{\"id\"";
        let script = Script::new()
            .on(On::tool("none"), [Step::Drop])
            .on(On::tool("part"), [Step::Connection(head.into())])
            .on(On::tool("head"), [Step::Connection("HTTP/1.1 200".into())]);
        let mut stage = Stage::through(&script, leg);
        stage.open();
        for (n, tool) in ["none", "part", "head"].into_iter().enumerate() {
            // The second round goes over a connection that was used before.
            for round in 0..2 {
                let id = format!("\"{n}{round}\"");
                let answer = stage.ask(stage.call(&id, tool, "{}"));
                assert!(
                    answer.contains(&format!("\"id\":{id},")) && unknown(&answer),
                    "{leg:?} {tool}: {answer}"
                );
                stage.ask(stage.call("\"echo\"", "echo", "{}"));
            }
        }
        for tool in ["none", "part", "head"] {
            let calls = stage.received().iter().filter(|line| line.contains(&format!("\"{tool}\""))).count();
            assert_eq!(calls, 2, "{leg:?} {tool}");
        }
        assert_eq!(stage.finish().status, 0);
    }
}

#[test]
fn t49_a_call_under_way_when_an_sse_stream_drops_is_unknown() {
    let script = Script::new().on(On::tool("slow"), [Step::notify("x/begun", "{}"), Step::Cut(false)]);
    let mut stage = Stage::through(&script, Leg::Sse);
    stage.open();
    assert!(stage.ask(stage.call("1", "slow", "{}")).contains("x/begun"));
    let answer = stage.next();
    assert!(answer.contains("\"id\":1,") && unknown(&answer), "{answer}");
    let status = stage.host.wait_exit(BUDGET).unwrap();
    assert_eq!(status.code(), Some(1), "as a child that died");
    assert_eq!(stage.received().iter().filter(|line| line.contains("\"slow\"")).count(), 1);
}

#[test]
fn t52_five_calls_make_one_initialize_and_use_a_connection_again() {
    let server = RawServer::start(|asked, stream| {
        shake_hands(asked, stream).unwrap_or_else(|| json(stream, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#))
    });
    let (mut host, _home) = host(&server.url(), &[], &[]);
    open(&mut host);
    for _ in 0..5 {
        assert_eq!(ask(&mut host, &call("1", "x", "{}")), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    let asked = server.asked();
    let count = |part: &str| asked.iter().filter(|a| a.body.contains(part)).count();
    assert_eq!((count("\"initialize\""), count("tools/call")), (1, 5));
    assert_eq!(asked.iter().filter(|a| a.head.starts_with("delete")).count(), 1);
    assert!(server.connections() <= 3, "{} connections", server.connections());
}

#[test]
fn t53_a_server_without_sessions_is_used_without_a_session_id() {
    let mut stage = Stage::through(&Script::new().http(|http| http.sessions = false), Leg::Json);
    stage.open();
    for id in ["1", "2"] {
        assert!(stage.ask(stage.call(id, "echo", "{}")).contains("\"result\""));
    }
    let up = stage.up.log_path();
    assert_eq!((stage.host.finish(BUDGET).unwrap(), stage.host.stderr_text()), (0, String::new()));
    let events = bir_testkit::log::read(&up).unwrap();
    let http: Vec<_> = events.iter().filter(|e| e.name() == "http").collect();
    assert!(http.iter().all(|e| e.header("mcp-session-id").is_none()));
    assert!(http.iter().all(|e| e.str("method") != "DELETE"), "there is nothing to delete");
}

#[test]
fn t55_the_get_after_the_handshake_names_session_and_version() {
    let mut stage = Stage::through(&Script::new(), Leg::Json);
    stage.open();
    stage.send(stage.call("1", "change", "{}"));
    let both = [stage.next(), stage.next()].concat();
    assert!(both.contains("list_changed"), "{both}");
    let (gets, posts) = (stage.http("GET"), stage.http("POST"));
    assert_eq!(gets.len(), 1);
    assert_eq!(gets[0].header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(gets[0].header("accept"), Some("text/event-stream"));
    assert!(gets[0].header("mcp-session-id").is_some());
    assert_eq!(gets[0].header("mcp-session-id"), posts[2].header("mcp-session-id"));
    assert_eq!(posts[0].header("mcp-session-id"), None);
}

#[test]
fn t56_a_405_to_get_and_delete_is_no_trouble() {
    let script = Script::new().http(|http| {
        http.get = Allow::No;
        http.delete = Allow::No;
    });
    let seen = same_over(&[Leg::Json, Leg::Events], &script, |stage| {
        stage.open();
        for id in ["1", "2", "3"] {
            stage.ask(stage.call(id, "echo", "{}"));
        }
        if stage.server.is_some() {
            assert_eq!(stage.http("GET").len(), 1, "it is not asked for again");
        }
    });
    assert!(seen.iter().all(|seen| seen.stderr.is_empty() && seen.status == 0));
}

#[test]
fn t59_an_idle_stream_stays_open() {
    // Longer than any budget of the proxy but those of the idle pool and of saying farewell: connecting and bodies of errors
    // have 10 s. Nothing in it waits for a stream with a limit.
    const IDLE: Duration = Duration::from_secs(15);
    let ms = IDLE.as_millis().to_string();
    std::thread::scope(|scope| {
        for leg in [Leg::Json, Leg::Events, Leg::Sse, Leg::Modern, Leg::ModernEvents] {
            let ms = &ms;
            scope.spawn(move || {
                // One call whose stream has begun, one without any byte, one standalone stream.
                let begun =
                    [Step::notify("x/begun", "{}"), Step::SleepMs(ms.parse().unwrap()), Step::result("{ }")];
                let script = Script::new().on(On::tool("begun"), begun);
                let mut stage = Stage::through(&script, leg);
                stage.open();
                assert!(stage.ask(stage.call("1", "begun", "{}")).contains("x/begun"));
                let start = Instant::now();
                stage.send(stage.call("2", "sleep", &format!("{{\"ms\":{ms}}}")));
                let both = [stage.next(), stage.next()].concat();
                assert!(start.elapsed() >= IDLE - Duration::from_millis(100), "{leg:?}: {both}");
                assert!(both.contains("{ }") && both.contains("slept"), "{leg:?}: {both}");
                if !leg.is_modern() {
                    stage.send(stage.call("3", "change", "{}"));
                    let both = [stage.next(), stage.next()].concat();
                    assert!(both.contains("list_changed"), "{leg:?}: {both}");
                    assert_eq!(
                        stage.http("GET").len(),
                        1,
                        "{leg:?}: the standalone stream is still the first"
                    );
                }
                let seen = stage.finish();
                assert_eq!((seen.status, &*seen.stderr), (0, ""), "{leg:?}");
            });
        }
    });
}

#[test]
fn t64_a_dead_upstream_is_not_dialled_in_a_loop() {
    const WATCHED: Duration = Duration::from_secs(4);
    let watch = |what: &str, server: &RawServer, most: usize| {
        std::thread::sleep(WATCHED);
        let (connections, requests) = (server.connections(), server.asked().len());
        assert!(
            connections <= most && requests <= most,
            "{what}: {connections} connections, {requests} requests"
        );
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for status in [401, 403, 503] {
                let server = RawServer::start(move |_, stream| whole(stream, status, "", ""));
                let (mut host, _home) = host(&server.url(), &["--transport", "http"], &[]);
                for _ in 0..3 {
                    assert!(ask(&mut host, INIT).contains("\"error\""));
                }
                watch("refused", &server, 3);
            }
        });
        scope.spawn(|| {
            // Accepts and closes.
            let server = RawServer::start(|_, _| false);
            let (mut host, _home) = host(&server.url(), &[], &[]);
            assert!(ask(&mut host, INIT).contains("\"error\""));
            watch("closed", &server, 2);
        });
        for status in [0, 401, 405, 500, 503] {
            scope.spawn(move || {
                // The standalone stream: refused for good, or for now.
                let server = RawServer::start(move |asked, stream| match asked.head.starts_with("get") {
                    true => status != 0 && whole(stream, status, "", ""),
                    false => shake_hands(asked, stream).unwrap_or(false),
                });
                let (mut host, _home) = host(&server.url(), &[], &[]);
                open(&mut host);
                watch(&format!("GET answered {status}"), &server, 2 + 4);
            });
        }
    });
}

#[test]
fn t64_a_standalone_stream_that_keeps_failing_is_left_alone_until_the_server_answers() {
    let server = RawServer::start(|asked, stream| match asked.head.starts_with("get") {
        true => whole(stream, 503, "", ""),
        false => shake_hands(asked, stream)
            .unwrap_or_else(|| json(stream, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)),
    });
    let gets = || server.asked().iter().filter(|asked| asked.head.starts_with("get")).count();
    let (mut host, _home) = host(&server.url(), &[], &[]);
    open(&mut host);
    wait_until("six tries", || gets() >= 6);
    // The seventh would have come after eight seconds.
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(gets(), 6);
    ask(&mut host, &call("1", "x", "{}"));
    wait_until("one more try", || gets() == 7);
    assert_eq!((host.finish(BUDGET).unwrap(), host.stderr_text()), (0, String::new()));
}

#[test]
fn t74_a_black_hole_is_an_error_within_the_connect_budget() {
    // A queue that is full: connections are neither taken nor refused.
    let listener =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&listener, &"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = std::net::SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
    let mut full = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        full.push(stream);
        assert!(full.len() < 50);
    }
    for transport in ["http", "auto", "sse"] {
        let url = format!("http://{address}/mcp");
        let budget = [("BIR_UPSTREAM_CONNECT_TIMEOUT_MS", "400")];
        let (mut host, _home) = host(&url, &["--transport", transport], &budget);
        let answer = ask(&mut host, INIT);
        assert!(answer.contains("\"id\":0,\"error\":{\"code\":-32000"), "{transport}: {answer}");
        assert_eq!(host.finish(BUDGET).unwrap(), 1, "{transport}");
    }
}

#[test]
fn t83_headers_of_the_protocol_come_from_nobody_else() {
    let server = RawServer::start(|asked, stream| {
        let other = "Content-Type: application/json\r\nMcp-Session-Id: other\r\nMcp-Protocol-Version: 1\r\nSet-Cookie: a=b\r\n";
        shake_hands(asked, stream)
            .unwrap_or_else(|| whole(stream, 200, other, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#))
    });
    for name in [
        "Host",
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "MCP-Session-Id",
        "Mcp-Protocol-Version",
        "Mcp-Method",
        "mcp-name",
        "Mcp-Param-X",
        "Last-Event-ID",
        "Content-Type",
        "accept",
        "Expect",
        "TE",
        "Proxy-Authorization",
    ] {
        let (mut host, _home) = host(&server.url(), &["--header", &format!("{name}: internal")], &[]);
        assert_eq!(host.finish(BUDGET).unwrap(), 2, "{name}");
        assert!(host.stderr_text().contains("set by the relay itself"), "{name}: {}", host.stderr_text());
        let json = serde_json::json!({ name: "internal" }).to_string();
        let (mut host, _home) = self::host(&server.url(), &[], &[("BIR_UPSTREAM_HEADERS", &json)]);
        assert_eq!(host.finish(BUDGET).unwrap(), 2, "{name}");
    }
    assert_eq!(server.connections(), 0);
    // Nor does an answer in the middle of a session change what the next request says.
    let (mut host, _home) = host(&server.url(), &[], &[]);
    open(&mut host);
    ask(&mut host, &call("1", "x", "{}"));
    ask(&mut host, &call("1", "x", "{}"));
    let last = server.asked().pop().unwrap().head;
    assert!(
        last.contains("mcp-session-id: s-1\r\n") && last.contains("mcp-protocol-version: 2025-11-25\r\n"),
        "{last}"
    );
    assert!(!last.contains("cookie"), "{last}");
}

#[test]
fn t86_a_redirect_from_elsewhere_never_leads_into_this_machine_or_its_link() {
    let inner = RawServer::start(|_, stream| json(stream, r#"{"id":0,"result":{}}"#));
    let port = inner.port;
    for host_name in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",
        "127.1",
        "[::]",
        "169.254.169.254",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "2852039166",
        "localhost.",
    ] {
        for status in [307, 308] {
            // The proxy of the environment stands for the far origin.
            let location = format!("Location: http://{host_name}:{port}/mcp\r\n");
            let far = RawServer::start(move |_, stream| whole(stream, status, &location, ""));
            let through = format!("http://127.0.0.1:{}", far.port);
            let (mut host, _home) =
                host("http://example.test/mcp", &["--transport", "http"], &[("http_proxy", &through)]);
            let answer = ask(&mut host, INIT);
            assert!(answer.contains("\"id\":0,\"error\""), "{host_name}: {answer}");
            let asked = far.asked();
            assert_eq!(asked.len(), 1, "{host_name}: {asked:?}");
            assert_eq!(inner.connections(), 0, "{host_name}");
            host.finish(BUDGET).unwrap();
        }
    }
}

#[test]
fn t86_an_endpoint_event_leads_nowhere_else() {
    let inner = RawServer::start(|_, stream| whole(stream, 202, "", ""));
    for endpoint in [
        format!("http://127.0.0.1:{}/messages", inner.port),
        format!("//127.0.0.1:{}/messages", inner.port),
        format!("http://localhost:{}/messages", inner.port),
        "http://169.254.169.254/latest".into(),
        "file:///etc/passwd".into(),
    ] {
        let script = Script::new().http(|http| http.endpoint = Some(endpoint.clone()));
        let mut stage = Stage::through(&script, Leg::Sse);
        let answer = stage.ask(INIT);
        assert!(answer.contains("\"id\":0,\"error\""), "{endpoint}: {answer}");
        assert_eq!(stage.host.finish(BUDGET).unwrap(), 1, "{endpoint}");
        assert_eq!(inner.connections(), 0, "{endpoint}");
    }
}

/// What must be seen by the upstream alone.
const SECRETS: [&str; 5] =
    ["sentinel-env-1", "sentinel-env-2", "sentinel-arg-3", "sentinel-query-4", "sentinel-user-5"];

fn assert_secret(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} has {secret}: {text}");
    }
}

#[test]
fn t89_no_secret_of_the_configuration_is_ever_told() {
    let echo = |asked: &Asked| asked.head.replace("\r\n", "\n");
    // Each fault, and the status of the proxy's own: what it was sent stands in every answer that is no JSON-RPC.
    type Fault = Box<dyn Fn(&Asked, &mut TcpStream) -> bool + Send + Sync>;
    let page = |status: u16, media_type: &'static str| -> Fault {
        Box::new(move |asked, stream| {
            whole(
                stream,
                status,
                &format!("Content-Type: {media_type}\r\n"),
                &asked.head.replace("\r\n", "\n"),
            )
        })
    };
    let echoing = move |kind: fn(&str) -> String| -> Fault {
        Box::new(move |asked, stream| {
            let _ = stream.write_all(kind(&echo(asked)).as_bytes());
            false
        })
    };
    let faults: Vec<Fault> = vec![
        page(200, "text/html"),
        page(200, "application/json"),
        page(200, "text/event-stream"),
        page(400, "application/json"),
        page(401, "text/html"),
        page(403, "text/plain"),
        page(404, "text/html"),
        page(500, "application/json"),
        page(503, "text/html"),
        echoing(|_| {
            "HTTP/1.1 307 X\r\nLocation: /other?key=sentinel-query-4\r\nContent-Length: 0\r\n\r\n".into()
        }),
        echoing(|_| {
            "HTTP/1.1 302 X\r\nLocation: /other?key=sentinel-query-4\r\nContent-Length: 0\r\n\r\n".into()
        }),
        echoing(|_| {
            "HTTP/1.1 307 X\r\nLocation: http://[bad?key=sentinel-query-4\r\nContent-Length: 0\r\n\r\n".into()
        }),
        echoing(|_| {
            "HTTP/1.1 307 X\r\nLocation: ftp://u:sentinel-user-5@h/?key=sentinel-query-4\r\nContent-Length: 0\r\n\r\n".into()
        }),
        echoing(|head| format!("not http at all {head}")),
        echoing(|head| {
            format!("HTTP/1.1 200 X\r\nContent-Length: 9999\r\nContent-Type: application/json\r\n\r\n{head}")
        }),
        echoing(|_| String::new()),
    ];
    let headers = r#"{"Authorization":"Bearer sentinel-env-1","X-Api-Key":"sentinel-env-2"}"#;
    let env = [("BIR_UPSTREAM_HEADERS", headers), ("BIR_LOG", "debug")];
    for (n, fault) in faults.into_iter().enumerate() {
        let server = RawServer::start(move |asked, stream| fault(asked, stream));
        for transport in ["http", "auto", "sse"] {
            let url = format!("{}?key=sentinel-query-4", server.url());
            let options = ["--transport", transport, "--header", "X-Other: sentinel-arg-3"];
            let (mut host, home) = host(&url, &options, &env);
            let answer = ask(&mut host, INIT);
            assert!(answer.contains("\"error\""), "{n} {transport}: {answer}");
            host.finish(BUDGET).unwrap();
            assert_secret(&format!("{n} {transport}: stdout"), &text(host.stdout()));
            assert_secret(&format!("{n} {transport}: stderr"), &host.stderr_text());
            let kept = std::process::Command::new("grep")
                .args(["-rl", "sentinel-"])
                .arg(home.path())
                .output()
                .unwrap();
            assert_eq!(text(kept.stdout), "", "{n} {transport}");
        }
        let asked = server.asked();
        let first = &asked[0].head;
        for secret in &SECRETS[..4] {
            assert!(first.contains(secret), "the upstream itself has them: {first}");
        }
    }
}

#[test]
fn t89_no_secret_is_told_when_nothing_can_be_reached_or_the_address_is_wrong() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let headers = r#"{"Authorization":"Bearer sentinel-env-1"}"#;
    for (url, headers, header) in [
        (format!("http://{free}/?key=sentinel-query-4"), headers, "X: sentinel-arg-3"),
        ("http://no-such-host.invalid/?key=sentinel-query-4".into(), headers, "X: sentinel-arg-3"),
        (format!("https://{free}/?key=sentinel-query-4"), headers, "X: sentinel-arg-3"),
        (format!("http://name:sentinel-user-5@{free}/"), headers, "X: y"),
        (format!("http://sentinel-user-5@{free}/"), headers, "X: y"),
        ("http://h:99999/?key=sentinel-query-4".into(), headers, "X: y"),
        ("sentinel-user-5".into(), headers, "X: y"),
        (format!("http://{free}/"), r#"{"Authorization":"Bearer sentinel-env-1"#, "X: y"),
        (format!("http://{free}/"), r#"["sentinel-env-1"]"#, "X: y"),
        (format!("http://{free}/"), r#"{"X":["sentinel-env-1"]}"#, "X: y"),
        (format!("http://{free}/"), "{\"X\":\"sentinel-env-1\\n\"}", "X: y"),
        (format!("http://{free}/"), headers, "Bearer sentinel-arg-3"),
        (format!("http://{free}/"), headers, "X: a\u{7}sentinel-arg-3"),
    ] {
        for transport in ["http", "sse"] {
            let env = [
                ("BIR_UPSTREAM_HEADERS", headers),
                ("BIR_LOG", "debug"),
                ("BIR_UPSTREAM_CONNECT_TIMEOUT_MS", "2000"),
            ];
            let (mut host, _home) = host(&url, &["--transport", transport, "--header", header], &env);
            // It may have gone before it reads.
            let _ = host.send(INIT);
            let status = host.finish(BUDGET).unwrap();
            assert_ne!(status, 0, "{url}: {}", text(host.stdout()));
            assert_secret(&url, &text(host.stdout()));
            assert_secret(&url, &host.stderr_text());
            assert_ne!(host.stderr_text(), "");
        }
    }
}
