//! What goes wrong with a remote upstream, and what the host is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bir_upstream::headers::UpstreamHeaders;
use bir_upstream::http::{MAX_REQUESTS, Transport};
use bir_wire::Scanner;
use bytes::Bytes;
use support::*;

#[test]
fn statuses_become_short_errors_that_echo_nothing() {
    run(async {
        let server = Server::start(|request, conn| {
            let status = request.json()["params"]["status"].as_u64().unwrap() as u16;
            let kind =
                if request.json()["params"]["json"] == true { "application/json" } else { "text/html" };
            let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"SECRET"}}"#;
            let body = if kind == "text/html" { "<h1>SECRET</h1>" } else { body };
            conn.respond(status, &[("Content-Type", kind)], body.as_bytes());
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for (status, json, text) in [
            (401, false, "upstream requires sign-in (HTTP 401)"),
            (401, true, "upstream requires sign-in (HTTP 401)"),
            (403, true, "upstream refused (HTTP 403)"),
            (500, false, "upstream answered HTTP 500"),
            (502, false, "upstream answered HTTP 502"),
            (429, false, "upstream answered HTTP 429"),
            (404, false, "upstream answered HTTP 404"),
            (
                200,
                false,
                "upstream answered with text/html instead of JSON or an event stream; whether the call took effect is unknown",
            ),
        ] {
            let answer = host
                .ask(&format!(
                    r#"{{"jsonrpc":"2.0","id":"i","method":"x","params":{{"status":{status},"json":{json}}}}}"#
                ))
                .await;
            assert_eq!(
                answer,
                format!(r#"{{"jsonrpc":"2.0","id":"i","error":{{"code":-32000,"message":"{text}"}}}}"#)
            );
        }
    });
}

#[test]
fn a_refusing_port_is_an_error_and_the_next_message_tries_again() {
    run(async {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut host = Host::at(&format!("http://127.0.0.1:{port}/mcp"));
        for id in ["1", "2"] {
            let answer = host.ask(&call(id)).await;
            assert!(answer.contains("upstream unreachable: connection refused by 127.0.0.1"), "{answer}");
            assert!(answer.contains(&format!("\"id\":{id},")));
        }
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
        assert!(host.note().await.contains("notifications/x was not delivered"));
        assert!(host.arrived().is_empty());
    });
}

#[test]
fn bodies_that_are_no_answer() {
    run(async {
        let server = Server::start(|request, conn| {
            let body = request.json()["params"]["body"].as_str().unwrap().to_owned();
            conn.json(&body);
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        let ask =
            |body: &str| format!(r#"{{"jsonrpc":"2.0","id":9,"method":"x","params":{{"body":{body:?}}}}}"#);
        for body in
            ["<html>", "true", "  ", "{\"broken\":", "{\"error\":\"x\"}", "{\"id\":9,\"result\":1}\n{}"]
        {
            let answer = host.ask(&ask(body)).await;
            assert!(answer.contains("was not a JSON-RPC response"), "{body}: {answer}");
        }
        assert!(host.ask(&ask("")).await.contains("sent no answer (HTTP 200)"));
        // The body answers the POST whatever its id says, and an error without one gets it.
        assert_eq!(host.ask(&ask("{\"id\":\"9\",\"result\":{}}")).await, "{\"id\":\"9\",\"result\":{}}");
        assert_eq!(
            host.ask(&ask("{\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}")).await,
            "{\"id\":9,\"error\":{\"code\":1,\"message\":\"m\"}}"
        );
        assert!(host.arrived().is_empty());
    });
}

#[test]
fn an_answer_beyond_the_limit_ends_the_call() {
    run(async {
        let server = Server::start(|request, conn| {
            let size = request.json()["params"]["size"].as_u64().unwrap() as usize;
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"t":"{}"}}}}"#,
                request.id(),
                "x".repeat(size)
            );
            if request.json()["params"]["sse"] == true {
                conn.events(&[]);
                conn.chunk(format!("data: {answer}\n\n").as_bytes());
                conn.end_chunks();
            } else {
                conn.json(&answer);
            }
            // A connection that the server is about to close may take the next request and never answer it.
            Then::Keep
        });
        let mut settings = options(&server.url());
        settings.max_message_bytes = Some(400_000);
        let mut host = Host::new(settings);
        for sse in [true, false] {
            let ask = |size: usize| {
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"size":{size},"sse":{sse}}}}}"#)
            };
            assert!(host.ask(&ask(399_000)).await.len() > 399_000, "held, not streamed");
            assert_eq!(
                host.ask(&ask(400_000)).await,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"upstream answer too large"}}"#
            );
        }
        assert!(host.arrived().is_empty());
    });
}

#[test]
fn a_huge_answer_streams_in_pieces() {
    run(async {
        const SIZE: usize = 64 << 20;
        let server = Server::start(|request, conn| {
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"t\":\"", request.id());
            let block = vec![b'x'; 1 << 20];
            if request.rpc_method() == "json" {
                conn.raw(
                    b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
                );
                conn.chunk(head.as_bytes());
            } else {
                conn.events(&[]);
                conn.chunk(format!("data: {head}").as_bytes());
            }
            for _ in 0..SIZE >> 20 {
                conn.chunk(&block);
            }
            conn.chunk(b"\"}}");
            if request.rpc_method() != "json" {
                conn.chunk(b"\n\n");
            }
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for method in ["json", "events"] {
            host.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#)).await;
            match host.any().await {
                Got::Large { length, complete, largest_piece } => {
                    assert_eq!(length, SIZE + br#"{"jsonrpc":"2.0","id":1,"result":{"t":""}}"#.len());
                    assert!(complete);
                    assert!(largest_piece <= 512 * 1024, "{largest_piece}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(host.arrived().is_empty(), "answered once");
    });
}

#[test]
fn a_huge_answer_that_breaks_off_is_followed_by_an_error() {
    run(async {
        let server = Server::start(|request, conn| {
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"t\":\"", request.id());
            conn.raw(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n");
            conn.raw(head.as_bytes());
            conn.raw(&vec![b'x'; 1 << 20]);
            Then::Close
        });
        let mut host = Host::at(&server.url());
        host.send(&call("1")).await;
        assert!(matches!(host.any().await, Got::Large { complete: false, .. }));
        let answer = host.message().await;
        assert!(answer.contains("broke off; whether the call took effect is unknown"), "{answer}");
    });
}

#[test]
fn a_large_message_of_the_host_streams_as_it_comes() {
    run(async {
        let server = Server::start(|request, conn| {
            handshake(request, conn, "s").unwrap_or_else(|| {
                conn.json(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, request.body.len()));
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        let mut scanner = Scanner::default();
        let head = br#"{"method":"tools/call","params":{"name":"x","arguments":{"t":""#;
        scanner.push(head);
        assert!(
            host.upstream.begin(scanner.so_far()).is_none(),
            "before anything is known, nothing can be begun"
        );
        host.shake_hands().await;
        let mut upload = host.upstream.begin(scanner.so_far()).unwrap();
        upload.push(Bytes::from_static(head)).await;
        let block = Bytes::from(vec![b'y'; 1 << 20]);
        for _ in 0..8 {
            scanner.push(&block);
            upload.push(block.clone()).await;
        }
        let tail = br#""}},"jsonrpc":"2.0","id":7}"#;
        scanner.push(tail);
        upload.push(Bytes::from_static(tail)).await;
        upload.end(&scanner.finish()).await;
        let length = head.len() + (8 << 20) + tail.len();
        assert_eq!(host.message().await, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{length}}}"#));
        let seen = server.wait_for(1, |seen| seen.rpc_method() == "tools/call").await;
        assert_eq!(seen[0].header("mcp-session-id"), Some("s"));
        assert_eq!(seen[0].header("transfer-encoding"), Some("chunked"));
    });
}

#[test]
fn a_large_message_that_is_refused_early_gets_its_error() {
    run(async {
        let server = Server::start(|request, conn| handshake(request, conn, "s").unwrap_or(Then::Close));
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        let mut scanner = Scanner::default();
        let head =
            br#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"x","arguments":{"t":""#;
        scanner.push(head);
        let mut upload = host.upstream.begin(scanner.so_far()).unwrap();
        upload.push(Bytes::from_static(head)).await;
        let block = Bytes::from(vec![b'y'; 1 << 20]);
        for _ in 0..4 {
            scanner.push(&block);
            upload.push(block.clone()).await;
        }
        scanner.push(b"\"}}}");
        upload.push(Bytes::from_static(b"\"}}}")).await;
        upload.end(&scanner.finish()).await;
        let answer = host.message().await;
        assert!(answer.contains("\"id\":8,\"error\""), "{answer}");
    });
}

/// A server that answers the head of a streamed request and reads none of its body.
#[test]
fn a_large_message_that_is_refused_before_it_is_read_does_not_hang() {
    use std::io::{Read, Write};
    run(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut text = Vec::new();
                let mut byte = [0];
                while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                    text.push(byte[0]);
                }
                let head = String::from_utf8(text).unwrap().to_ascii_lowercase();
                let answer = match head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
                    Some(length) => {
                        let mut body = vec![0; length.parse().unwrap()];
                        stream.read_exact(&mut body).unwrap();
                        let body = ok("0");
                        format!(
                            "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                            body.len()
                        )
                    }
                    None => "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n".to_owned(),
                };
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let mut host = Host::at(&format!("http://127.0.0.1:{port}/"));
        host.shake_hands().await;
        let mut scanner = Scanner::default();
        let head =
            br#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"x","arguments":{"t":""#;
        scanner.push(head);
        let mut upload = host.upstream.begin(scanner.so_far()).unwrap();
        upload.push(Bytes::from_static(head)).await;
        let block = Bytes::from(vec![b'y'; 1 << 20]);
        for _ in 0..32 {
            scanner.push(&block);
            upload.push(block.clone()).await;
        }
        scanner.push(b"\"}}}");
        upload.push(Bytes::from_static(b"\"}}}")).await;
        upload.end(&scanner.finish()).await;
        let answer = host.message().await;
        assert!(answer.contains("\"id\":8,\"error\""), "{answer}");
    });
}

#[test]
fn requests_beyond_the_bound_wait_and_host_answers_do_not() {
    // Both ends of every connection are in this process.
    allow_files(3 * MAX_REQUESTS as u64);
    run(async {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let server = Server::start(move |request, conn| {
            let (open, signal) = &*gate;
            if request.json().get("result").is_some() {
                conn.accepted();
                *open.lock().unwrap() = true;
                signal.notify_all();
                return Then::Keep;
            }
            drop(signal.wait_while(open.lock().unwrap(), |open| !*open).unwrap());
            conn.json(&ok(&request.id()));
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        for id in 0..MAX_REQUESTS + 6 {
            host.send(&call(&id.to_string())).await;
        }
        server.wait_for(MAX_REQUESTS, |seen| seen.rpc_method() == "tools/call").await;
        // One that waits can still be called back, and is never sent.
        let last = MAX_REQUESTS + 5;
        host.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{last}}}}}"#
        ))
        .await;
        assert_eq!(server.seen().len(), MAX_REQUESTS);
        host.send(r#"{"jsonrpc":"2.0","id":"s","result":{}}"#).await;
        for _ in 0..MAX_REQUESTS + 5 {
            host.message().await;
        }
        assert!(server.seen().iter().all(|seen| seen.id() != last.to_string()));
    });
}

#[test]
fn redirects_keep_credentials_on_the_origin_and_drop_them_elsewhere() {
    run(async {
        let other = Server::start(|request, conn| {
            conn.json(&ok(&request.id()));
            Then::Keep
        });
        let elsewhere = other.url();
        let server = Server::start(move |request, conn| {
            let to = match (request.path.as_str(), request.rpc_method().as_str()) {
                ("/mcp", "same") => "/mcp/".to_owned(),
                ("/mcp", "other") => elsewhere.clone(),
                ("/mcp", _) => "/see-other".to_owned(),
                _ => {
                    conn.json(&ok(&request.id()));
                    return Then::Keep;
                }
            };
            let status = if request.rpc_method() == "see" { 303 } else { 307 };
            conn.respond(status, &[("Location", to.as_str())], b"moved");
            Then::Keep
        });
        let mut settings = options(&server.url());
        settings.headers =
            UpstreamHeaders::from_sources(Some(r#"{"Authorization":"Bearer t","X-Key":"k"}"#), []).unwrap();
        let mut host = Host::new(settings);
        let ask = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        assert_eq!(host.ask(&ask("same")).await, ok("1"));
        let seen = server.seen().pop().unwrap();
        assert_eq!(
            (seen.path.as_str(), seen.header("authorization"), seen.header("x-key")),
            ("/mcp/", Some("Bearer t"), Some("k"))
        );
        assert_eq!(seen.text(), ask("same"));
        assert_eq!(host.ask(&ask("other")).await, ok("1"));
        let seen = other.seen().pop().unwrap();
        assert_eq!((seen.header("authorization"), seen.header("x-key")), (None, None));
        assert_eq!(seen.text(), ask("other"));
        let answer = host.ask(&ask("see")).await;
        assert!(answer.contains("HTTP 303 would turn this POST into a GET"), "{answer}");
    });
}

#[test]
fn legacy_sse_works_when_named_and_when_found() {
    for transport in [Transport::Sse, Transport::Auto] {
        run(async move {
            let (to_stream, from_posts) = std::sync::mpsc::channel::<Option<String>>();
            let from_posts = Mutex::new(from_posts);
            let to_stream = Mutex::new(to_stream);
            let server = Server::start(move |request, conn| {
                if request.method == "GET" {
                    conn.events(&[]);
                    conn.chunk(b"event: endpoint\ndata: /messages?sid=1\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"early\"}\n\n");
                    while let Ok(Some(message)) = from_posts.lock().unwrap().recv() {
                        conn.chunk(format!("event: message\ndata: {message}\n\n").as_bytes());
                    }
                    return Then::Close;
                }
                if request.path == "/mcp" {
                    conn.respond(405, &[], b"Method not allowed");
                    return Then::Keep;
                }
                conn.respond(202, &[("Content-Type", "text/plain")], b"Accepted");
                let to_stream = to_stream.lock().unwrap();
                match request.rpc_method().as_str() {
                    "die" => to_stream.send(None).unwrap(),
                    "notifications/initialized" => {}
                    _ => to_stream.send(Some(ok(&request.id()))).unwrap(),
                }
                Then::Keep
            });
            let mut settings = options(&server.url());
            settings.transport = transport;
            let mut host = Host::new(settings);
            host.upstream.connect().await.unwrap();
            host.send(INITIALIZE).await;
            assert!(host.message().await.contains("early"));
            assert_eq!(host.message().await, ok("0"));
            host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
            assert_eq!(host.ask(&call("1")).await, ok("1"));
            assert!(server.seen().iter().any(|seen| seen.path == "/messages?sid=1"));
            assert_eq!(server.seen().iter().filter(|seen| seen.method == "GET").count(), 1);
            let answer = host.ask(r#"{"jsonrpc":"2.0","id":2,"method":"die"}"#).await;
            assert!(answer.contains("\"id\":2") && answer.contains("closed the stream"), "{answer}");
            tokio::time::timeout(PATIENCE, host.upstream.gone()).await.expect("it is gone");
        });
    }
}

#[test]
fn an_sse_upstream_that_was_not_there_is_tried_again() {
    run(async {
        let here = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flag = here.clone();
        let server = Server::start(move |request, conn| {
            if !flag.load(std::sync::atomic::Ordering::SeqCst) {
                conn.respond(503, &[], b"");
            } else if request.method == "GET" {
                conn.events(&[]);
                conn.chunk(b"event: endpoint\ndata: /messages\n\n");
                conn.chunk(format!("data: {}\n\n", ok("2")).as_bytes());
                conn.closed_by_client();
            } else {
                conn.accepted();
            }
            Then::Keep
        });
        let mut settings = options(&server.url());
        settings.transport = Transport::Sse;
        let mut host = Host::new(settings);
        assert!(host.upstream.connect().await.is_err());
        assert!(host.ask(&call("1")).await.contains("upstream answered HTTP 503"));
        here.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(host.ask(&call("2")).await, ok("2"));
    });
}

#[test]
fn an_endpoint_elsewhere_or_none_is_refused() {
    for event in [
        "event: endpoint\ndata: http://127.0.0.1:9/messages\n\n",
        "event: endpoint\ndata: //evil.example/messages\n\n",
        "data: {}\n\n",
        "",
    ] {
        run(async move {
            let server = Server::start(move |_, conn| {
                conn.events(&[]);
                conn.chunk(format!("{event}: \n").as_bytes());
                conn.end_chunks();
                Then::Close
            });
            let mut settings = options(&server.url());
            settings.transport = Transport::Sse;
            let host = Host::new(settings);
            let error = host.upstream.connect().await.unwrap_err().to_string();
            assert!(error.contains("endpoint"), "{error}");
        });
    }
}

#[test]
fn a_refused_initialize_without_sse_keeps_its_own_error() {
    run(async {
        let server = Server::start(|request, conn| {
            let status = if request.method == "GET" { 405 } else { 404 };
            conn.respond(status, &[], b"");
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        assert!(host.ask(INITIALIZE).await.contains("upstream answered HTTP 404"));
        // The proxy lives, and the next message tries again.
        assert!(host.ask(&call("1")).await.contains("upstream answered HTTP 404"));
    });
}

#[test]
fn closing_ends_what_is_in_flight_within_the_budget() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.method == "DELETE" {
                std::thread::sleep(Duration::from_secs(30));
            }
            handshake(request, conn, "s").unwrap_or_else(|| {
                conn.closed_by_client();
                Then::Close
            })
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.send(&call("1")).await;
        server.wait_for(1, |seen| seen.rpc_method() == "tools/call").await;
        tokio::time::timeout(Duration::from_secs(10), host.upstream.close())
            .await
            .expect("a budget of one second");
        assert_eq!(host.message_or_note().await, "the session was not ended: no answer in time");
    });
}
