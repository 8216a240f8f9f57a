//! Where servers answer in ways of their own: errors of web frameworks, streams that say little, sizes that nobody
//! expects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bir_upstream::http::Transport;
use support::*;

const TOO_LARGE: &str = "\"error\":{\"code\":-32000,\"message\":\"upstream answer too large\"}";

#[test]
fn an_error_of_a_web_framework_is_told_by_its_status_and_never_repeated() {
    run(async {
        let server = Server::start(|request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            let params = &request.json()["params"];
            let body = params["body"].as_str().unwrap().to_owned();
            let status = params["status"].as_u64().unwrap() as u16;
            conn.respond(status, &[("Content-Type", "application/json")], body.as_bytes());
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        for (status, body) in [
            (500, r#"{"timestamp":"1","status":500,"error":"SECRET","path":"/mcp"}"#),
            (503, r#"{"error":"SECRET"}"#),
            (400, r#"{"error":{"reason":"SECRET"}}"#),
            (429, r#"{"error":{"message":"SECRET","code":"rate_limited"}}"#),
            (500, r#"{"result":"SECRET"}"#),
            (200, r#"{"error":"SECRET"}"#),
        ] {
            let answer = host
                .ask(&format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"status":{status},"body":{body:?}}}}}"#
                ))
                .await;
            assert!(answer.contains("\"id\":1,\"error\":{\"code\":-32000,"), "{answer}");
            assert!(!answer.contains("SECRET"), "{answer}");
            let told = if status == 200 {
                "was not a JSON-RPC response".to_owned()
            } else {
                format!("HTTP {status}")
            };
            assert!(answer.contains(&told), "{answer}");
        }
        assert!(host.arrived().iter().all(|got| matches!(got, Got::Note(_))));
    });
}

#[test]
fn a_web_framework_without_the_route_may_serve_sse() {
    run(async {
        let stream = Mutex::new(None);
        let server = Server::start(move |request, conn| {
            if request.method == "GET" {
                conn.events(&[]);
                // Before the client knows where to send anything.
                *stream.lock().unwrap() = Some(conn.stream.try_clone().unwrap());
                conn.chunk(b"event: endpoint\ndata: /messages\n\n");
            } else if request.path == "/messages" {
                conn.accepted();
                let mut stream =
                    Conn { stream: stream.lock().unwrap().as_ref().unwrap().try_clone().unwrap() };
                stream.chunk(format!("data: {}\n\n", ok(&request.id())).as_bytes());
            } else {
                conn.respond(
                    404,
                    &[("Content-Type", "application/json")],
                    br#"{"statusCode":404,"error":"Not Found","message":"Route POST:/mcp not found"}"#,
                );
            }
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert_eq!(host.ask(INITIALIZE).await, ok("0"));
    });
}

#[test]
fn an_event_id_outlives_streams_that_name_none() {
    run(async {
        let gets = AtomicUsize::new(0);
        let server = Server::start(move |request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            conn.events(&[]);
            if request.method == "POST" {
                conn.chunk(b"id: 1\nretry: 100\ndata:\n\n");
            } else if gets.fetch_add(1, Ordering::SeqCst) == 0 {
                conn.chunk(b": keep-alive\n\n");
            } else {
                conn.chunk(format!("data: {}\n\n", ok("7")).as_bytes());
            }
            conn.end_chunks();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        assert_eq!(host.ask(&call("7")).await, ok("7"));
        let asked: Vec<_> = server
            .seen()
            .iter()
            .filter_map(|request| request.header("last-event-id").map(str::to_owned))
            .collect();
        assert_eq!(asked, ["1", "1"]);
    });
}

#[test]
fn an_event_id_of_the_standalone_stream_is_kept_too() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.method != "GET" {
                return handshake(request, conn, "s").unwrap_or(Then::Close);
            }
            conn.events(&[]);
            if request.header("last-event-id").is_none() {
                conn.chunk(
                    b"retry: 100\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n",
                );
            } else {
                conn.chunk(b": ping\n\n");
            }
            conn.end_chunks();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        server.wait_for(2, |request| request.header("last-event-id") == Some("7")).await;
        let gets = server.seen().into_iter().filter(|request| request.method == "GET").skip(1);
        for get in gets {
            assert_eq!(get.header("last-event-id"), Some("7"));
        }
    });
}

/// Events of one answer, each beyond a limit of 2000 bytes but the last.
fn sized(kind: &str, id: &str) -> String {
    let filling = "a".repeat(5000);
    match kind {
        "answer" => format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"{filling}\"}}\n\n"),
        "notification" => format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"{filling}\"}}\n\ndata: {}\n\n",
            ok(id)
        ),
        "other" => format!("event: log\ndata: {}\n\ndata: {}\n\n", "b".repeat(600_000), ok(id)),
        _ => format!("data: {}\n\n", ok(id)),
    }
}

fn sized_call(kind: &str, id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x","params":{{"kind":"{kind}"}}}}"#)
}

async fn sizes_concern_one_message_only(host: &mut Host) {
    for (id, kind) in ["answer", "notification", "other", "answer", "small"].iter().enumerate() {
        let id = id.to_string();
        let answer = host.ask(&sized_call(kind, &id)).await;
        if *kind == "answer" {
            assert_eq!(answer, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{TOO_LARGE}}}"));
        } else {
            assert_eq!(answer, ok(&id), "{kind}");
        }
    }
    assert_eq!(
        host.notes.iter().filter(|note| note.contains("it is too large")).count(),
        1,
        "{:?}",
        host.notes
    );
}

#[test]
fn what_is_too_large_in_a_stream_concerns_its_call_only() {
    run(async {
        let server = Server::start(|request, conn| {
            conn.events(&[]);
            let kind = request.json()["params"]["kind"].as_str().unwrap().to_owned();
            conn.chunk(sized(&kind, &request.id()).as_bytes());
            conn.end_chunks();
            Then::Close
        });
        let mut settings = options(&server.url());
        settings.max_message_bytes = Some(2000);
        sizes_concern_one_message_only(&mut Host::new(settings)).await;
    });
}

#[test]
fn what_is_too_large_does_not_end_an_sse_session() {
    run(async {
        let stream = Mutex::new(None);
        let server = Server::start(move |request, conn| {
            if request.method == "GET" {
                conn.events(&[]);
                conn.chunk(b"event: endpoint\ndata: /m\n\n");
                *stream.lock().unwrap() = Some(conn.stream.try_clone().unwrap());
                return Then::Keep;
            }
            conn.accepted();
            let kind = request.json()["params"]["kind"].as_str().unwrap().to_owned();
            let mut stream = Conn { stream: stream.lock().unwrap().as_ref().unwrap().try_clone().unwrap() };
            stream.chunk(sized(&kind, &request.id()).as_bytes());
            Then::Keep
        });
        let mut settings = options(&server.url());
        settings.transport = Transport::Sse;
        settings.max_message_bytes = Some(2000);
        let mut host = Host::new(settings);
        host.upstream.connect().await.unwrap();
        sizes_concern_one_message_only(&mut host).await;
    });
}

#[test]
fn events_of_other_types_are_not_streamed_to_the_host() {
    run(async {
        let server = Server::start(|request, conn| {
            conn.events(&[]);
            conn.chunk(format!("event: log\ndata: {{\"junk\":\"{}\"}}\n\n", "z".repeat(600_000)).as_bytes());
            conn.chunk(format!("data: {}\n\n", ok(&request.id())).as_bytes());
            conn.end_chunks();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        assert_eq!(host.ask(&call("1")).await, ok("1"));
        assert!(host.arrived().is_empty() && host.notes.is_empty());
    });
}

#[test]
fn blanks_before_a_message_may_be_many_but_not_without_end() {
    run(async {
        let server = Server::start(|request, conn| {
            let (kind, blanks) = match request.json()["params"]["kind"].as_str().unwrap().split_once(' ') {
                Some((kind, _)) => (kind.to_owned(), 4096),
                None => (request.json()["params"]["kind"].as_str().unwrap().to_owned(), 200),
            };
            if kind == "events" {
                conn.events(&[]);
                conn.chunk(b"data: ");
            } else {
                conn.raw(
                    b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
                );
            }
            for _ in 0..blanks {
                conn.chunk(&[b' '; 1024]);
            }
            conn.chunk(format!("{}\n\n", ok(&request.id())).as_bytes());
            conn.end_chunks();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        for kind in ["events", "json"] {
            let answer = host.ask(&sized_call(kind, "1")).await;
            assert!(answer.len() < 2048, "{} bytes", answer.len());
            assert_eq!(answer.trim_start(), ok("1"));
        }
        for (kind, told) in
            [("events endless", "closed the stream"), ("json endless", "was not a JSON-RPC response")]
        {
            let answer = host.ask(&sized_call(kind, "1")).await;
            assert!(answer.contains(told), "{answer}");
        }
    });
}

#[test]
fn resuming_slows_down_while_nothing_comes_of_it() {
    run(async {
        let server = Server::start(|request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            conn.events(&[]);
            conn.chunk(b"id: 1\nretry: 0\ndata:\n\n");
            conn.end_chunks();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.send(&call("1")).await;
        let resumed = |request: &Seen| request.header("last-event-id").is_some();
        server.wait_for(2, resumed).await;
        // At most the first pause is the server's: without growth dozens would follow within the second one.
        server.wait_for(3, resumed).await;
        assert!(server.seen().iter().filter(|request| resumed(request)).count() <= 4);
        assert!(host.arrived().is_empty());
    });
}

#[test]
fn a_complete_body_counts_although_its_end_is_missing() {
    run(async {
        let server = Server::start(|request, conn| {
            let body = ok(&request.id());
            let (extra, body) = if request.id() == "1" { (3, body) } else { (3, body.replace('}', "")) };
            let head = format!(
                "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len() + extra
            );
            conn.raw(format!("{head}{body}").as_bytes());
            Then::Close
        });
        let mut host = Host::at(&server.url());
        assert_eq!(host.ask(&call("1")).await, ok("1"));
        assert!(host.ask(&call("2")).await.contains("broke off"));
    });
}

#[test]
fn a_subscription_that_the_server_ends_is_not_an_error_too() {
    run(async {
        let cancelled = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        let server = Server::start(move |request, conn| {
            conn.events(&[]);
            conn.chunk(format!("data: {}\n\n", cancelled(&request.id())).as_bytes());
            conn.end_chunks();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let listen =
            format!(r#"{{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{{{meta}}}}}"#);
        assert_eq!(host.ask(&listen).await, cancelled("\"l\""));
        host.upstream.settled().await;
        assert!(host.arrived().is_empty());
        // Any other request that is only told to be cancelled still needs an answer.
        let call = listen.replace("subscriptions/listen", "tools/list");
        assert_eq!(host.ask(&call).await, cancelled("\"l\""));
        assert!(host.message().await.contains("\"id\":\"l\",\"error\""));
    });
}

#[test]
fn the_session_of_another_origin_is_not_kept() {
    run(async {
        let other = Server::start(|request, conn| handshake(request, conn, "FOREIGN").unwrap_or(Then::Close));
        let location = other.url();
        let server = Server::start(move |request, conn| {
            if request.rpc_method() == "initialize" {
                conn.respond(307, &[("Location", &location)], b"");
            } else if request.method == "POST" {
                conn.json(&ok(&request.id()));
            } else {
                conn.respond(405, &[], b"");
            }
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.ask(INITIALIZE).await;
        assert_eq!(host.ask(&call("1")).await, ok("1"));
        host.upstream.close().await;
        assert_eq!(other.seen().len(), 1);
        for request in server.seen() {
            assert_eq!(request.header("mcp-session-id"), None);
            assert_ne!(request.method, "DELETE");
        }
    });
}

#[test]
fn a_large_message_that_needs_a_length_is_told_so() {
    run(async {
        let server = Server::start(|request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            conn.respond(411, &[], b"");
            Then::Close
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        let text = call("1");
        let mut scanner = bir_wire::Scanner::default();
        scanner.push(text.as_bytes());
        let mut upload = host.upstream.begin(scanner.so_far()).unwrap();
        upload.push(text.into()).await;
        upload.end(&scanner.finish()).await;
        let answer = host.message().await;
        assert!(
            answer.contains("\"id\":1,") && answer.contains("HTTP 411: it takes no message as large"),
            "{answer}"
        );
    });
}

#[test]
fn a_name_that_no_header_can_say_is_left_out_and_told() {
    run(async {
        let server = Server::start(|request, conn| {
            conn.json(&ok("1"));
            assert_eq!(request.header("mcp-method"), Some("tools/call"));
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for (name, header) in [(r"\ud83d", None), (r"\ud83d\ude00", Some("=?base64?8J+YgA==?="))] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
            );
            assert_eq!(host.ask(&text).await, ok("1"));
            assert_eq!(server.seen().last().unwrap().header("mcp-name"), header);
        }
        assert_eq!(host.notes.len(), 1);
        assert!(host.notes[0].contains("mcp-name was left out"), "{:?}", host.notes);
    });
}
