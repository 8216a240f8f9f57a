//! An upstream that died: started once more with `--restart`, or answered for while the proxy stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, On, Script, Step, procs};
use common::*;

#[test]
fn half_a_long_notification_of_an_upstream_that_is_restarted_leaves_the_next_line_whole() {
    let script = Script::new().on(
        On::method("x/half"),
        [Step::bytes("{\"method\":\"x\",\"params\":\""), Step::Fill(300_000), Step::Exit(2)],
    );
    let mut front = front(script).option("--restart").start().open();
    front.send(r#"{"method":"x/half"}"#).unwrap();
    assert!(front.next().ends_with("xxx"));
    front.wait_start(2);
    assert!(front.ask(call("1", "echo", "{}")).starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,"));
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_restart_repeats_the_legacy_handshake_and_answers_what_was_in_flight_once() {
    let script = Script::new().on(On::tool("hold"), []);
    let mut front = front(script).option("--restart").start().open();
    front.send(call("1", "hold", "{}")).unwrap();
    front.send(call("2", "crash", "{}")).unwrap();
    let mut got = [front.next(), front.next()];
    got.sort();
    assert_eq!(got, ["1", "2"].map(lost_call));
    // The next call waits for the handshake and works.
    assert!(front.ask(call("3", "echo", "{}")).contains("\"id\":3,\"result\""));
    assert_eq!(front.starts(), 2);
    let repeated = INIT.replace("\"id\":0", "\"id\":\"bir:handshake-2\"");
    let received = front.received();
    assert_eq!(received[4..], [repeated, INITIALIZED.to_owned(), call("3", "echo", "{}")]);
    // A second death is the end, with its status.
    assert_eq!(front.ask(call("4", "crash", "{\"code\":6}")), lost_call("4"));
    assert_eq!(front.status(), 6);
    assert_eq!(front.starts(), 2);
    assert_eq!(text(front.stdout()).lines().count(), 5);
}

#[test]
fn what_the_host_asks_the_moment_it_hears_of_the_death_reaches_the_next_child() {
    for _ in 0..15 {
        let mut front = front(Script::new()).option("--restart").start().open();
        assert_eq!(front.ask(call("1", "crash", "{}")), lost_call("1"));
        assert!(front.ask(call("2", "echo", "{}")).contains("\"id\":2,\"result\""));
        assert_eq!(front.finish(), 0);
    }
}

#[test]
fn a_restart_in_the_modern_era_is_a_new_process_and_nothing_more() {
    let mut front = front(Script::era(Eras::Modern)).option("--restart").start();
    // Without a probe there is nothing to repeat.
    assert!(front.ask(modern_call("1", "echo", "{}")).contains("\"id\":1"));
    assert_eq!(front.ask(modern_call("2", "crash", "{}")), lost_call("2"));
    assert!(front.ask(modern_call("3", "echo", "{}")).contains("\"id\":3,\"result\""));
    assert_eq!(front.received()[2..], [modern_call("3", "echo", "{}")]);
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_long_answer_to_our_own_handshake_stays_ours() {
    let long = format!("\"{}\"", "i".repeat(200_000));
    let script = Script::new().server(|s| s.instructions = Some(long.into()));
    let mut front = front(script).option("--restart").start().open();
    assert_eq!(front.ask(call("1", "crash", "{}")), lost_call("1"));
    assert!(front.ask(call("2", "echo", "{}")).starts_with("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\""));
    assert_eq!(front.finish(), 0);
    assert_eq!(text(front.stdout()).lines().count(), 3);
}

#[test]
fn a_restart_in_the_modern_era_repeats_no_probe() {
    let probe = modern("0", "server/discover", "");
    let mut front = front(Script::era(Eras::Modern)).option("--restart").start();
    assert!(front.ask(&probe).contains("supportedVersions"));
    assert_eq!(front.ask(modern_call("1", "crash", "{}")), lost_call("1"));
    assert!(front.ask(modern_call("2", "echo", "{}")).contains("\"id\":2,\"result\""));
    assert_eq!(front.received(), [probe, modern_call("1", "crash", "{}"), modern_call("2", "echo", "{}")]);
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_restarted_upstream_gets_the_first_long_message_whole() {
    let mut front = front(Script::new()).option("--restart").start().open();
    assert_eq!(front.ask(call("1", "crash", "{}")), lost_call("1"));
    let long = call("2", "echo", &format!("{{\"s\":\"{}\"}}", "y".repeat(300_000)));
    front.send(&long).unwrap();
    assert!(front.next().starts_with("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\""));
    assert_eq!(front.received().last(), Some(&long));
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_long_message_that_was_under_way_when_the_upstream_died_is_answered_for() {
    let mut front = front(Script::new()).option("--restart").start().open();
    let long = call("2", "echo", &format!("{{\"s\":\"{}\"}}", "y".repeat(300_000)));
    // The upstream waits for the rest of this line; it dies of a signal meanwhile.
    front.write(&long.as_bytes()[..200_000]).unwrap();
    let first = front.wait_start(1).0["pid"].as_u64().unwrap() as u32;
    procs::send(first, rustix::process::Signal::KILL).unwrap();
    front.wait_start(2);
    front.write(&long.as_bytes()[200_000..]).unwrap();
    front.write("\n").unwrap();
    assert_eq!(front.next(), lost_call("2"));
    assert!(front.ask(call("3", "echo", "{}")).contains("\"id\":3,\"result\""));
    assert_eq!(front.finish(), 0);
}

#[test]
fn an_upstream_that_a_signal_of_the_host_ended_is_not_restarted() {
    for setup in
        [front(Script::new()).option("--restart"), front(Script::new()).env("BIR_PROXY_STAY_UP", "1")]
    {
        let mut front = setup.start().open();
        front.ask(call("1", "echo", "{}"));
        front.signal(rustix::process::Signal::INT).unwrap();
        assert_eq!(front.status(), 130);
        assert_eq!(front.starts(), 1);
    }
}

#[test]
fn a_proxy_told_to_stay_answers_for_an_upstream_that_never_came() {
    let up = front(Script::new()).env("BIR_PROXY_STAY_UP", "1");
    let mut front = up.start_as(&bir_testkit::HostCommand::new("/nonexistent/server"));
    assert_eq!(front.ask(INIT), lost_request("0"));
    assert_eq!(front.ask(call("1", "echo", "{}")), lost_call("1"));
    front.send(INITIALIZED).unwrap();
    assert_eq!(front.ask(request("\"2\"", "ping", "{}")), lost_request("\"2\""));
    front.close_stdin();
    assert_eq!(front.status(), 127);
    assert!(front.stderr_text().contains("/nonexistent/server"), "{}", front.stderr_text());
}

#[test]
fn a_proxy_told_to_stay_answers_for_an_upstream_that_died_later() {
    let mut front = front(Script::new()).env("BIR_PROXY_STAY_UP", "1").start().open();
    assert_eq!(front.ask(call("1", "crash", "{}")), lost_call("1"));
    assert_eq!(front.ask(request("2", "tools/list", "{}")), lost_request("2"));
    assert_eq!(front.ask(call("3", "echo", &format!("\"{}\"", "z".repeat(200_000)))), lost_call("3"));
    front.signal(rustix::process::Signal::TERM).unwrap();
    front.status();
    assert_eq!(front.left(), []);
}
