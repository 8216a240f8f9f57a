//! The standalone stream is there before the host's first request reaches the server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::*;

/// A server whose GET takes a while, and which loses what it has for a stream that is not open yet.
fn server(get_takes: Duration) -> Server {
    let open = AtomicBool::new(false);
    Server::start(move |request, conn| {
        if request.method == "GET" {
            std::thread::sleep(get_takes);
            open.store(true, Ordering::SeqCst);
            conn.events(&[]);
            conn.closed_by_client();
            return Then::Close;
        }
        handshake(request, conn, "s").unwrap_or_else(|| {
            let id = request.id();
            conn.json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, open.load(Ordering::SeqCst)));
            Then::Keep
        })
    })
}

#[test]
fn a_call_right_after_the_handshake_finds_the_stream_open() {
    run(async {
        let server = server(Duration::from_millis(100));
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        assert_eq!(host.ask(&call("1")).await, r#"{"jsonrpc":"2.0","id":1,"result":true}"#);
    });
}

#[test]
fn a_stream_that_does_not_begin_holds_nothing_up() {
    run(async {
        let server = server(PATIENCE * 2);
        let mut host = Host::at(&server.url());
        host.shake_hands().await;
        assert_eq!(host.ask(&call("1")).await, r#"{"jsonrpc":"2.0","id":1,"result":false}"#);
    });
}
