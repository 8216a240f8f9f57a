//! What a server prints that is no message: kept from the host, shown on stderr, and bounded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, On, Script, Step};
use common::*;

#[test]
fn t79_banners_before_and_between_frames_go_to_stderr_under_the_servers_name() {
    for era in [Eras::Legacy, Eras::Modern] {
        let script = Script::era(era)
            .framing(|f| f.before_each = "[dotenv] injecting env\n".into())
            .on(On::start(), [Step::bytes("> pkg@1.0.0 start\n> node .\r\n\nnpm notice\n")])
            .on(On::tool("say"), [Step::bytes("  warn: \"x\"\n42\n\"a string\"\nnull\n"), Step::result("{}")])
            .on(On::eof(), [Step::bytes("bye"), Step::Exit(0)]);
        let mut front = front(script).start();
        // A blank line separates frames and passes.
        assert_eq!(front.ask(modern_call("1", "say", "{}")), "");
        assert_eq!(front.next(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        assert_eq!(front.finish(), 0);
        assert_eq!(text(front.stdout()), "\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        let stderr = front.stderr_text();
        for line in [
            "> pkg@1.0.0 start",
            "> node .",
            "npm notice",
            "  warn: \"x\"",
            "42",
            "\"a string\"",
            "null",
            "bye",
            "[dotenv] injecting env",
        ] {
            assert!(stderr.contains(&format!("[x stdout] {line}\n")), "{line} in {stderr}");
        }
        assert!(stderr.contains("kept from the host: 9\n"), "{stderr}");
    }
}

#[test]
fn broken_json_is_the_hosts_to_refuse_and_is_named_once() {
    let script = Script::new().on(On::tool("say"), [Step::bytes("{\"a\":}\n{\"b\":\n"), Step::result("{}")]);
    let mut front = front(script).start().open();
    assert_eq!(front.ask(call("1", "say", "{}")), "{\"a\":}");
    assert_eq!(front.next(), "{\"b\":");
    front.next();
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stderr_text().matches("is not JSON").count(), 1, "{}", front.stderr_text());
    assert!(front.stderr_text().contains("were not JSON: 2\n"));
}

#[test]
fn t17_endless_output_without_a_newline_costs_no_memory() {
    // 256 MiB as noise, as a frame, and after a frame's first bytes.
    for head in ["", "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\""] {
        let script = Script::new().on(
            On::tool("flood"),
            [Step::bytes(head), Step::Fill(256 << 20), Step::bytes("\n"), Step::result("{\"done\":1}")],
        );
        let setup = front(script);
        let mut front = setup.start_counting();
        front.send(call("1", "flood", "{}")).unwrap();
        let frame = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"done\":1}}\n".len() as u64;
        let through = if head.is_empty() { 0 } else { head.len() as u64 + (256 << 20) + 1 };
        assert_eq!(front.wait_stdout_len(through + frame, BUDGET * 3), through + frame);
        let peak = peak_kib(front.pid());
        assert!(peak < 16 * 1024, "{peak} KiB");
        assert_eq!(front.finish(), 0);
        if head.is_empty() {
            let stderr = front.stderr_text();
            assert!(stderr.contains(" more bytes)\n") && stderr.len() < 10_000, "{}", stderr.len());
        }
    }
}

#[test]
fn t1_a_server_with_content_length_framing_is_named_and_ends_the_session() {
    for banner in ["", "starting\n"] {
        let script =
            Script::new().framing(|f| f.content_length_out = true).on(On::start(), [Step::bytes(banner)]);
        let mut front = front(script).start();
        front.send(INIT).unwrap();
        assert_eq!(front.status(), 1);
        assert_eq!(text(front.stdout()).trim(), "");
        let stderr = front.stderr_text();
        let diagnosis: Vec<&str> =
            stderr.lines().filter(|l| l.contains("`Content-Length` framing")).collect();
        assert_eq!(diagnosis.len(), 1, "{stderr}");
        assert!(
            diagnosis[0].starts_with("bir-proxy[x]: ") && diagnosis[0].contains("one JSON message per line")
        );
        assert_eq!(front.left(), []);
    }
}

#[test]
fn t1_a_server_that_waits_for_another_framing_gets_a_hint() {
    let script = Script::new().framing(|f| {
        f.content_length_in = true;
        f.content_length_out = true;
    });
    let mut front = front(script).start();
    front.send(INIT).unwrap();
    front.wait_stderr("`Content-Length` framing", BUDGET).unwrap();
    assert!(front.stderr_text().contains("has not answered for 5 s"));
    // A hint and no verdict: a slow server goes on.
    assert!(front.wait_exit(std::time::Duration::ZERO).is_err());
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stdout(), b"");
}

#[test]
fn a_server_that_answers_gets_no_hint_however_long_a_call_takes() {
    let mut front = front(Script::new()).start().open();
    assert!(front.ask(call("1", "sleep", "{\"ms\":5500}")).contains("slept"));
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stderr_text(), "");
}
