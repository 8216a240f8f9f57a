//! A server that ends while the host opens the connection is never answered for: the host starts it again by itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const OPENINGS: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"server/discover\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n";

fn open_after(wait: Duration, options: &[&str], command: &[&str]) -> Output {
    let mut proxy = Command::new(env!("CARGO_BIN_EXE_bir-proxy"))
        .args(["--server-name", "x"])
        .env("BIR_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"))
        .args(options)
        .arg("--")
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The moment at which the opening comes is what the test varies: before, while and after the server ends.
    std::thread::sleep(wait);
    let mut stdin = proxy.stdin.take().unwrap();
    let _ = stdin.write_all(OPENINGS);
    // Held open until the proxy has ended: its end must come from the server's.
    let output = {
        let out = proxy.stdout.take().unwrap();
        let err = proxy.stderr.take().unwrap();
        let stdout = std::io::read_to_string(out).unwrap().into_bytes();
        let stderr = std::io::read_to_string(err).unwrap().into_bytes();
        Output { status: proxy.wait().unwrap(), stdout, stderr }
    };
    drop(stdin);
    output
}

#[test]
fn t37_a_server_that_ends_at_once_is_never_answered_for() {
    for (command, status) in
        [(&["true"][..], 0), (&["false"], 1), (&["sh", "-c", "exit 3"], 3), (&["echo", "hi"], 0)]
    {
        for wait in [0, 1, 2, 4, 8] {
            for _ in 0..12 {
                let output = open_after(Duration::from_millis(wait), &[], command);
                assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{command:?} after {wait} ms");
                assert_eq!(output.status.code(), Some(status));
            }
        }
    }
}

#[test]
fn a_server_that_never_opened_is_not_started_again() {
    for _ in 0..20 {
        let output = open_after(Duration::from_millis(2), &["--restart"], &["false"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("once more"), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
}
