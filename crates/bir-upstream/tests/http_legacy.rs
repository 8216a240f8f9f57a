//! Streamable HTTP of the legacy era against scripted servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use support::*;

#[test]
fn a_json_answer_passes_byte_for_byte_with_session_and_version() {
    run(async {
        let odd = "{ \"id\" : 7, \"jsonrpc\":\"2.0\",\"result\":{\"n\":1e400,\"z\":-0,\"a\":1,\"a\":2,\"s\":\"\\ud800 \u{1f600}\"} }";
        let server = Server::start(move |request, conn| {
            handshake(request, conn, "s-1").unwrap_or_else(|| {
                conn.json(odd);
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        assert_eq!(host.ask("{ \"jsonrpc\" : \"2.0\", \"id\":7, \"method\":\"odd\" }\r\n").await, odd);
        let seen = server.wait_for(1, |seen| seen.rpc_method() == "odd").await;
        assert_eq!(seen[0].text(), "{ \"jsonrpc\" : \"2.0\", \"id\":7, \"method\":\"odd\" }");
        assert_eq!(seen[0].header("mcp-session-id"), Some("s-1"));
        assert_eq!(seen[0].header("mcp-protocol-version"), Some("2025-06-18"));
        assert_eq!(seen[0].header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(seen[0].header("content-type"), Some("application/json"));
        let mut names: Vec<_> = seen[0].headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "accept",
                "accept-encoding",
                "content-length",
                "content-type",
                "host",
                "mcp-protocol-version",
                "mcp-session-id",
                "user-agent"
            ]
        );
        let first = server.wait_for(1, |seen| seen.rpc_method() == "initialize").await;
        assert_eq!(
            (first[0].header("mcp-session-id"), first[0].header("mcp-protocol-version")),
            (None, None)
        );
        let get = server.wait_for(1, |seen| seen.method == "GET").await;
        assert_eq!(get[0].header("mcp-session-id"), Some("s-1"));
        host.upstream.close().await;
        let delete = server.wait_for(1, |seen| seen.method == "DELETE").await;
        assert_eq!(delete[0].header("mcp-session-id"), Some("s-1"));
        assert!(server.connections.load(Ordering::SeqCst) < 4, "connections are kept");
    });
}

#[test]
fn newlines_between_tokens_become_spaces_and_a_mark_is_dropped() {
    run(async {
        let server = Server::start(|request, conn| {
            let id = request.id();
            let body = format!(
                "\u{feff}\r\n{{\r\n  \"jsonrpc\":\"2.0\",\n  \"id\": {id},\n  \"result\":{{\"t\":\"a\\nb\"}}\n}}\r\n\n"
            );
            conn.raw(b"HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n");
            for byte in body.as_bytes().chunks(1) {
                conn.chunk(byte);
            }
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert_eq!(
            host.ask(&call("1")).await,
            "{    \"jsonrpc\":\"2.0\",   \"id\": 1,   \"result\":{\"t\":\"a\\nb\"} }"
        );
    });
}

#[test]
fn an_event_stream_may_be_cut_anywhere() {
    run(async {
        let server = Server::start(|request, conn| {
            let stream = format!(
                ": hi\r\nid: 1\r\ndata:\r\n\r\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"e\":\"\u{1f600}\"}}}}\n\n\
                 event: ping\ndata: {{}}\n\ndata: {{\"jsonrpc\":\"2.0\",\ndata:  \"id\":{},\"result\":{{}}}}\n\n",
                request.id()
            );
            let cut = request.json()["params"]["cut"].as_u64().unwrap() as usize % stream.len();
            conn.events(&[]);
            if cut > 0 {
                conn.chunk(&stream.as_bytes()[..cut]);
            }
            conn.chunk(&stream.as_bytes()[cut..]);
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for cut in 0..260 {
            host.send(&format!(r#"{{"jsonrpc":"2.0","id":{cut},"method":"x","params":{{"cut":{cut}}}}}"#))
                .await;
            assert_eq!(
                host.message().await,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"e\":\"\u{1f600}\"}}"
            );
            assert_eq!(
                host.message().await,
                format!("{{\"jsonrpc\":\"2.0\",  \"id\":{cut},\"result\":{{}}}}")
            );
        }
        assert!(host.arrived().is_empty());
    });
}

#[test]
fn messages_arrive_as_they_are_sent_not_at_the_end() {
    run(async {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let server_gate = gate.clone();
        let server = Server::start(move |request, conn| {
            conn.events(&[]);
            conn.chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"first\"}\n\n");
            let (open, signal) = &*server_gate;
            drop(signal.wait_while(open.lock().unwrap(), |open| !*open).unwrap());
            conn.chunk(format!("data: {}\n\n", ok(&request.id())).as_bytes());
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&call("1")).await.contains("first"));
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        assert_eq!(host.message().await, ok("1"));
    });
}

#[test]
fn odd_ids_come_back_as_written_and_repeated_ones_do_not_cross() {
    run(async {
        let server = Server::start(|request, conn| {
            let text = request.text();
            let id = text.split("\"id\":").nth(1).unwrap().split(",\"method\"").next().unwrap();
            conn.json(&ok(id));
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for id in ["1", "\"1\"", "1.0", "12345678901234567890123", "\"\\u0061\"", "1", "-0"] {
            assert_eq!(host.ask(&call(id)).await, ok(id));
        }
    });
}

#[test]
fn handshake_lines_sent_at_once_are_posted_in_order() {
    run(async {
        let server = Server::start(|request, conn| {
            handshake(request, conn, "s").unwrap_or_else(|| {
                conn.json(&ok(&request.id()));
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        host.send(INITIALIZE).await;
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        host.send(&call("1")).await;
        assert!(host.message().await.contains("serverInfo"));
        assert_eq!(host.message().await, ok("1"));
        let posts = server.wait_for(3, |seen| seen.method == "POST").await;
        let order: Vec<_> = posts.iter().map(|seen| seen.rpc_method()).collect();
        assert_eq!(order, ["initialize", "notifications/initialized", "tools/call"]);
        assert_eq!(posts[2].header("mcp-session-id"), Some("s"));
    });
}

#[test]
fn a_host_answer_is_posted_while_its_call_is_open() {
    run(async {
        let answered = Arc::new((Mutex::new(false), Condvar::new()));
        let server = Server::start(move |request, conn| {
            let (done, signal) = &*answered;
            if request.json().get("result").is_some() {
                *done.lock().unwrap() = true;
                signal.notify_all();
                conn.accepted();
                return Then::Keep;
            }
            conn.events(&[]);
            conn.chunk(b"data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n");
            drop(signal.wait_while(done.lock().unwrap(), |done| !*done).unwrap());
            conn.chunk(format!("data: {}\n\n", ok(&request.id())).as_bytes());
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&call("1")).await.contains("sampling/createMessage"));
        host.send(r#"{"jsonrpc":"2.0","id":"s1","result":{}}"#).await;
        assert_eq!(host.message().await, ok("1"));
    });
}

#[test]
fn a_forgotten_session_is_initialised_again_once_for_sixteen_calls() {
    for status in [404, 400] {
        run(async move {
            let restarted = Arc::new(AtomicBool::new(false));
            let flag = restarted.clone();
            let server = Server::start(move |request, conn| {
                let restarted = flag.load(Ordering::SeqCst);
                let current = if restarted { "s-2" } else { "s-1" };
                if request.method == "POST"
                    && request.rpc_method() != "initialize"
                    && request.header("mcp-session-id") != Some(current)
                {
                    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#;
                    conn.respond(status, &[("Content-Type", "application/json")], body.as_bytes());
                    return Then::Keep;
                }
                handshake(request, conn, current).unwrap_or_else(|| {
                    conn.json(&ok(&request.id()));
                    Then::Keep
                })
            });
            let mut host = Host::at(&server.url());
            host.shake_hands().await;
            assert_eq!(host.ask(&call("0")).await, ok("0"));
            restarted.store(true, Ordering::SeqCst);
            for id in 1..=16 {
                host.send(&call(&id.to_string())).await;
            }
            let mut answers = Vec::new();
            for _ in 1..=16 {
                answers.push(host.message().await);
            }
            answers.sort();
            let mut expected: Vec<_> = (1..=16).map(|id| ok(&id.to_string())).collect();
            expected.sort();
            assert_eq!(answers, expected);
            let initialized = server.wait_for(2, |seen| seen.rpc_method() == "initialize").await;
            assert_eq!(initialized.len(), 2);
            assert_eq!(initialized[1].id(), "\"bir:reinit-1\"");
            assert_eq!(initialized[1].json()["params"], initialized[0].json()["params"]);
            assert_eq!(initialized[1].header("mcp-session-id"), None);
            assert_eq!(
                server.wait_for(2, |seen| seen.rpc_method() == "notifications/initialized").await.len(),
                2
            );
            let served = server
                .seen()
                .iter()
                .filter(|seen| {
                    seen.rpc_method() == "tools/call" && seen.header("mcp-session-id") == Some("s-2")
                })
                .count();
            assert_eq!(served, 16);
        });
    }
}

#[test]
fn a_call_rejected_twice_is_an_error() {
    run(async {
        let server = Server::start(|request, conn| {
            handshake(request, conn, "s").unwrap_or_else(|| {
                conn.respond(404, &[], b"secret page");
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        let answer = host.ask(&call("1")).await;
        assert_eq!(
            answer,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"upstream answered HTTP 404"}}"#
        );
        assert_eq!(server.seen().iter().filter(|seen| seen.rpc_method() == "tools/call").count(), 2);
        assert_eq!(server.seen().iter().filter(|seen| seen.rpc_method() == "initialize").count(), 2);
    });
}

#[test]
fn a_call_whose_connection_was_cut_is_never_sent_again() {
    run(async {
        let server = Server::start(|request, conn| handshake(request, conn, "s").unwrap_or(Then::Close));
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        let answer = host.ask(&call("1")).await;
        assert!(
            answer.contains("whether the call took effect is unknown") && answer.contains("\"id\":1"),
            "{answer}"
        );
        assert!(host.ask(&call("2")).await.contains("unknown"));
        for id in ["1", "2"] {
            assert_eq!(server.seen().iter().filter(|seen| seen.id() == id).count(), 1);
        }
    });
}

#[test]
fn a_stream_that_ends_early_is_picked_up_where_it_ended() {
    run(async {
        let gets = Arc::new(AtomicUsize::new(0));
        let server = Server::start(move |request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            if request.method == "POST" {
                conn.events(&[]);
                conn.chunk(b"id: e1\nretry: 120\ndata:\n\n");
                conn.chunk(
                    b"id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\nid: e3\ndata: {\"torn",
                );
                // The last chunk is missing: the connection breaks.
                return Then::Close;
            }
            match gets.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    conn.respond(503, &[], b"");
                    Then::Keep
                }
                1 => {
                    conn.events(&[]);
                    conn.chunk(b"id: e3\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"two\"}\n\n");
                    conn.end_chunks();
                    Then::Keep
                }
                _ => {
                    conn.events(&[]);
                    conn.chunk(format!("id: e4\ndata: {}\n\n", ok("1")).as_bytes());
                    conn.end_chunks();
                    Then::Keep
                }
            }
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.send(&call("1")).await;
        assert!(host.message().await.contains("one"));
        assert!(host.message().await.contains("two"));
        assert_eq!(host.message().await, ok("1"));
        let resumed: Vec<_> = server
            .seen()
            .iter()
            .filter(|seen| seen.method == "GET")
            .filter_map(|seen| seen.header("last-event-id").map(str::to_owned))
            .collect();
        assert_eq!(resumed, ["e2", "e2", "e3"]);
        assert_eq!(server.seen().iter().filter(|seen| seen.rpc_method() == "tools/call").count(), 1);
    });
}

#[test]
fn a_stream_without_event_ids_that_ends_early_is_an_error() {
    run(async {
        let server = Server::start(|_, conn| {
            conn.events(&[]);
            conn.chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\n");
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.send(&call("\"x\"")).await;
        assert!(host.message().await.contains("one"));
        let answer = host.message().await;
        assert!(
            answer.contains("closed the stream before answering") && answer.contains("\"id\":\"x\""),
            "{answer}"
        );
    });
}

#[test]
fn the_standalone_stream_is_opened_after_initialized_and_kept_open() {
    run(async {
        let gets = Arc::new(AtomicUsize::new(0));
        let server = Server::start(move |request, conn| {
            if request.method != "GET" {
                return handshake(request, conn, "s").unwrap_or(Then::Keep);
            }
            conn.events(&[]);
            let number = gets.fetch_add(1, Ordering::SeqCst);
            conn.chunk(
                format!(
                    "id: g{number}\nretry: 110\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"n{number}\"}}\n\n"
                )
                .as_bytes(),
            );
            if number == 0 {
                return Then::Close;
            }
            conn.closed_by_client();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        assert!(host.message().await.contains("n0"));
        assert!(host.message().await.contains("n1"));
        let gets = server.wait_for(2, |seen| seen.method == "GET").await;
        assert_eq!(gets[0].header("accept"), Some("text/event-stream"));
        assert_eq!((gets[0].header("last-event-id"), gets[1].header("last-event-id")), (None, Some("g0")));
        let order = server.seen();
        let at = |what: &dyn Fn(&Seen) -> bool| order.iter().position(what).unwrap();
        assert!(
            at(&|seen| seen.rpc_method() == "notifications/initialized") < at(&|seen| seen.method == "GET")
        );
    });
}

#[test]
fn an_answer_on_the_standalone_stream_counts() {
    run(async {
        let called = Arc::new((Mutex::new(false), Condvar::new()));
        let server = Server::start(move |request, conn| {
            let (done, signal) = &*called;
            if request.method == "GET" {
                conn.events(&[]);
                conn.chunk(b": open\n\n");
                drop(signal.wait_while(done.lock().unwrap(), |done| !*done).unwrap());
                conn.chunk(format!("data: {}\n\n", ok("1")).as_bytes());
                conn.closed_by_client();
                return Then::Close;
            }
            handshake(request, conn, "s").unwrap_or_else(|| {
                conn.accepted();
                *done.lock().unwrap() = true;
                signal.notify_all();
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        server.wait_for(1, |seen| seen.method == "GET").await;
        assert_eq!(host.ask(&call("1")).await, ok("1"));
    });
}

#[test]
fn a_request_that_is_only_accepted_is_an_error() {
    run(async {
        let server = Server::start(|_, conn| {
            conn.accepted();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&call("1")).await.contains("sent no answer (HTTP 202)"));
    });
}

#[test]
fn a_cancellation_is_posted_and_the_stream_stays() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.rpc_method() == "notifications/cancelled" {
                conn.accepted();
                return Then::Keep;
            }
            conn.events(&[]);
            conn.chunk(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"started\"}\n\n");
            conn.closed_by_client();
            Then::Close
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(&call("1")).await.contains("started"));
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
        server.wait_for(1, |seen| seen.rpc_method() == "notifications/cancelled").await;
    });
}

#[test]
fn a_batch_is_answered_element_by_element() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.text().contains("whole") {
                conn.json(r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#);
            } else {
                conn.events(&[]);
                conn.chunk(format!("data: {}\n\n", ok("1")).as_bytes());
                conn.end_chunks();
            }
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        let batch = |method: &str| {
            format!(
                r#"[{{"jsonrpc":"2.0","id":1,"method":"{method}"}},{{"jsonrpc":"2.0","id":2,"method":"b"}}]"#
            )
        };
        assert!(host.ask(&batch("whole")).await.starts_with("[{"));
        assert_eq!(host.ask(&batch("part")).await, ok("1"));
        let rest = host.message().await;
        assert!(rest.contains("\"id\":2,\"error\"") && rest.contains("unknown"), "{rest}");
    });
}

#[test]
fn a_server_without_sessions_is_no_trouble() {
    run(async {
        let server = Server::start(|request, conn| {
            match request.method.as_str() {
                "GET" | "DELETE" => conn.respond(405, &[("Allow", "POST")], b""),
                _ if request.id() == "null" => conn.accepted(),
                _ => conn.json(&ok(&request.id())),
            }
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        assert_eq!(host.ask(&call("1")).await, ok("1"));
        server.wait_for(1, |seen| seen.method == "GET").await;
        host.upstream.close().await;
        assert!(server.seen().iter().all(|seen| seen.method != "DELETE"));
        assert!(host.arrived().is_empty() && host.notes.is_empty());
    });
}
