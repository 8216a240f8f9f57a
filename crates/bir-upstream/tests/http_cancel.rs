//! Requests that the host cancels, that have no answer at the end, and that are answered under another form of their id.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use bir_upstream::http::MAX_REQUESTS;
use support::*;

fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

fn is_call(seen: &Seen) -> bool {
    seen.rpc_method() == "tools/call"
}

/// A legacy server that opens a stream for each call and never answers.
fn silent() -> Server {
    Server::start(|request, conn| {
        if let Some(then) = handshake(request, conn, "s") {
            return then;
        }
        match request.rpc_method().as_str() {
            "tools/call" => {
                conn.events(&[]);
                conn.closed_by_client();
                return Then::Close;
            }
            "ping" => conn.json(&ok(&request.id())),
            _ => conn.accepted(),
        }
        Then::Keep
    })
}

#[test]
fn cancelled_calls_that_are_never_answered_give_up_their_places() {
    allow_files(3 * MAX_REQUESTS as u64);
    run(async {
        let server = silent();
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        for id in 1..=MAX_REQUESTS {
            host.send(&call(&id.to_string())).await;
        }
        // initialize, notifications/initialized and GET come before.
        server.wait_until(3 + MAX_REQUESTS).await;
        for id in 1..=MAX_REQUESTS {
            host.send(&cancel(&id.to_string())).await;
        }
        assert_eq!(
            host.ask(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await,
            ok("\"p\""),
            "every place was taken by a call that nobody waits for"
        );
        let cancels =
            server.wait_for(MAX_REQUESTS, |seen| seen.rpc_method() == "notifications/cancelled").await;
        assert_eq!(cancels.len(), MAX_REQUESTS);
    });
}

#[test]
fn the_end_does_not_wait_for_what_was_cancelled() {
    run(async {
        let server = silent();
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.send(&call("1")).await;
        server.wait_for(1, is_call).await;
        host.send(&cancel("1")).await;
        assert_eq!(host.upstream.open_requests(), 0);
        host.upstream.settled().await;
        assert_eq!(
            server.seen().last().unwrap().rpc_method(),
            "notifications/cancelled",
            "the cancellation itself was delivered"
        );
        host.upstream.close().await;
    });
}

#[test]
fn a_late_answer_to_a_cancelled_call_still_passes() {
    run(async {
        let server = Server::start(|request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            if is_call(request) {
                conn.events(&[]);
                // Long enough for the cancellation to come first.
                std::thread::sleep(Duration::from_millis(300));
                conn.chunk(format!("data: {}\n\n", ok(&request.id())).as_bytes());
                conn.end_chunks();
            } else {
                conn.accepted();
            }
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.send(&call("1")).await;
        server.wait_for(1, is_call).await;
        host.send(&cancel("1")).await;
        assert_eq!(host.message().await, ok("1"));
    });
}

#[test]
fn a_large_answer_that_stalls_is_broken_off_by_its_cancellation() {
    run(async {
        let server = Server::start(|request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            if is_call(request) {
                conn.raw(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n{\"id\":1,\"result\":\"");
                conn.raw(&vec![b'x'; 1 << 20]);
                conn.closed_by_client();
                return Then::Close;
            }
            conn.accepted();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.send(&call("1")).await;
        server.wait_for(1, is_call).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        host.send(&cancel("1")).await;
        match host.any().await {
            Got::Large { complete: false, length, .. } => assert!(length > 256 * 1024),
            other => panic!("{other:?}"),
        }
        host.upstream.settled().await;
        assert!(host.arrived().is_empty(), "no answer is invented for a cancelled call");
    });
}

#[test]
fn subscriptions_do_not_take_the_places_of_calls() {
    allow_files(3 * MAX_REQUESTS as u64);
    run(async {
        let server = Server::start(|request, conn| {
            if request.rpc_method() == "subscriptions/listen" {
                conn.events(&[]);
                conn.closed_by_client();
                return Then::Close;
            }
            conn.json(&ok(&request.id()));
            Then::Keep
        });
        let modern = |id: &str, method: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
            )
        };
        let mut host = Host::at(&server.url());
        for id in 0..MAX_REQUESTS {
            host.send(&modern(&format!("\"l{id}\""), "subscriptions/listen")).await;
        }
        assert_eq!(host.ask(&modern("1", "ping")).await, ok("1"));
    });
}

#[test]
fn an_id_that_the_server_wrote_anew_is_answered_once() {
    run(async {
        let server = Server::start(|request, conn| {
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            // As a server does that reads ids as numbers and text, and one that makes text of them.
            let id = match request.text() {
                text if text.contains("1.0") => "1",
                text if text.contains("1e2") => "100",
                text if text.contains("u00e9") => "\"é\"",
                _ => "\"7\"",
            };
            conn.events(&[]);
            conn.chunk(format!("data: {}\n\n", ok(id)).as_bytes());
            conn.end_chunks();
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        for (id, answered) in [("1.0", "1"), ("1e2", "100"), ("\"\\u00e9\"", "\"é\""), ("7", "\"7\"")] {
            assert_eq!(host.ask(&call(id)).await, ok(answered));
            host.upstream.settled().await;
            assert_eq!(host.arrived(), [], "{id} has its answer");
        }
    });
}

#[test]
fn several_that_wait_for_a_session_share_its_failure() {
    run(async {
        let server = Server::start(|request, conn| {
            let again = request.text().contains("bir:reinit");
            if again {
                // Long enough for the others to wait for this one.
                std::thread::sleep(Duration::from_millis(500));
                conn.respond(500, &[], b"");
                return Then::Keep;
            }
            if let Some(then) = handshake(request, conn, "s") {
                return then;
            }
            conn.respond(404, &[], b"");
            Then::Keep
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        for id in 1..=20 {
            host.send(&call(&id.to_string())).await;
        }
        for _ in 1..=20 {
            let answer = host.message().await;
            assert!(answer.contains("initialising again failed: HTTP 500"), "{answer}");
        }
        let tries = server.seen().iter().filter(|seen| seen.text().contains("bir:reinit")).count();
        assert!(tries < 5, "{tries} tries for one lost session");
        // A later message tries anew.
        assert!(host.ask(&call("21")).await.contains("initialising again failed"));
        let later = server.seen().iter().filter(|seen| seen.text().contains("bir:reinit")).count();
        assert_eq!(later, tries + 1);
    });
}

#[test]
fn a_second_initialize_ends_the_first_session() {
    run(async {
        let server = Server::start(|request, conn| {
            let session = if request.id() == "0" { "first" } else { "second" };
            handshake(request, conn, session).unwrap_or_else(|| {
                conn.json(&ok(&request.id()));
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        host.ask(&INITIALIZE.replace("\"id\":0", "\"id\":1")).await;
        let ended = server.wait_for(1, |seen| seen.method == "DELETE").await;
        assert_eq!(ended[0].header("mcp-session-id"), Some("first"));
        assert_eq!(host.ask(&call("2")).await, ok("2"));
        let asked = server.wait_for(1, is_call).await;
        assert_eq!(asked[0].header("mcp-session-id"), Some("second"));
        host.upstream.close().await;
        server
            .wait_for(1, |seen| seen.header("mcp-session-id") == Some("second") && seen.method == "DELETE")
            .await;
    });
}

#[test]
fn what_follows_an_unanswered_initialized_is_sent_all_the_same() {
    run(async {
        let server = Server::start(|request, conn| {
            if request.rpc_method() == "notifications/initialized" {
                conn.closed_by_client();
                return Then::Close;
            }
            handshake(request, conn, "s").unwrap_or_else(|| {
                conn.json(&ok(&request.id()));
                Then::Keep
            })
        });
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        let before = Instant::now();
        assert_eq!(host.ask(&call("1")).await, ok("1"));
        assert!(before.elapsed() > Duration::from_secs(5), "it did wait for the handshake to end");
        assert!(host.notes[0].contains("has not taken notifications/initialized"), "{:?}", host.notes);
    });
}
