//! How the relay begins and ends: starts, deaths, signals, the end of the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, On, Script, Step, procs};
use common::*;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn the_status_of_the_upstream_is_the_status_of_the_proxy() {
    for (step, expected) in [
        (Step::Exit(0), 0),
        (Step::Exit(7), 7),
        (Step::Signal("SIGKILL".into()), 137),
        (Step::Exit(255), 255),
    ] {
        for on in [On::eof(), On::start()] {
            let mut front = front(Script::new().on(on.clone(), [step.clone()])).start();
            front.close_stdin();
            assert_eq!(front.status(), expected, "{on:?}");
            assert_eq!(front.stdout(), b"");
        }
    }
}

#[test]
fn t37_an_upstream_that_dies_at_start_ends_the_proxy_with_its_status_and_its_last_words() {
    for line in [INIT.to_owned(), modern("\"probe\"", "server/discover", "")] {
        let script =
            Script::era(Eras::Dual).on(On::message(1), [Step::stderr("no licence\n"), Step::Exit(9)]);
        let mut front = front(script).start();
        front.send(&line).unwrap();
        assert_eq!(front.status(), 9);
        // The host's own restart works only when nobody answers.
        assert_eq!(text(front.stdout()), "");
        assert!(front.stderr_text().contains("[x] no licence\n"), "{}", front.stderr_text());
        assert!(front.stderr_text().contains("exit status: 9"), "{}", front.stderr_text());
    }
}

#[test]
fn an_upstream_that_refuses_the_probe_and_dies_in_initialize_is_not_answered_for() {
    let mut front = front(Script::new().on(On::method("initialize"), [Step::Exit(4)])).start();
    assert!(front.ask(modern("1", "server/discover", "")).contains("-32601"));
    front.send(INIT).unwrap();
    assert_eq!(front.status(), 4);
    assert_eq!(text(front.stdout()).lines().count(), 1);
}

#[test]
fn an_upstream_that_dies_in_a_call_is_answered_for_and_the_proxy_exits_as_it_did() {
    let script = Script::new().on(On::tool("hold"), []).on(On::method("x/hold"), []);
    let mut front = front(script).start().open();
    front.send(call("\"a\"", "hold", "{}")).unwrap();
    front.send(request("2", "x/hold", "{}")).unwrap();
    front.send(call("3", "crash", "{\"code\":12}")).unwrap();
    let mut got: Vec<String> = (0..3).map(|_| front.next()).collect();
    got.sort();
    let mut expected = vec![lost_call("\"a\""), lost_request("2"), lost_call("3")];
    expected.sort();
    assert_eq!(got, expected);
    assert_eq!(front.status(), 12);
}

#[test]
fn a_call_that_was_answered_or_withdrawn_is_not_answered_again() {
    let mut front = front(Script::new().on(On::tool("hold"), [])).start().open();
    front.send(call("1", "hold", "{}")).unwrap();
    front.send(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#).unwrap();
    assert!(front.ask(call("2", "echo", "{}")).contains("\"id\":2"));
    assert_eq!(front.ask(call("3", "crash", "{}")), lost_call("3"));
    assert_eq!(front.status(), 3);
    assert_eq!(text(front.stdout()).lines().count(), 3);
}

#[test]
fn a_host_that_ended_the_session_gets_no_answer_that_the_upstream_did_not_give() {
    // As without the proxy: an upstream that ends as it was asked to owes nothing, and nothing is said for it.
    let script = Script::era(Eras::Modern).on(On::tool("hold"), []);
    let seen = same(&script, |host| {
        host.send(modern_call("1", "hold", "{}")).unwrap();
        host.send(modern("2", "subscriptions/listen", "\"notifications\":{}")).unwrap();
        assert!(text(host.line(BUDGET).unwrap()).contains("acknowledged"));
    });
    assert_eq!(text(&seen.host).lines().count(), 1);
    let mut front = front(Script::new().on(On::tool("hold"), [])).start().open();
    front.send(call("1", "hold", "{}")).unwrap();
    assert!(front.ask(call("2", "echo", "{}")).contains("\"id\":2"));
    front.signal(SIGTERM).unwrap();
    assert_eq!(front.status(), 143);
    assert_eq!(text(front.stdout()).lines().count(), 2);
}

#[test]
fn a_host_that_only_closed_its_input_is_answered_for_an_upstream_that_crashed() {
    let script = Script::new().on(On::tool("hold"), []).on(On::eof(), [Step::Exit(5)]);
    let mut front = front(script).start().open();
    front.send(call("1", "hold", "{}")).unwrap();
    front.close_stdin();
    assert_eq!(front.next(), lost_call("1"));
    assert_eq!(front.status(), 5);
}

const SIGTERM: rustix::process::Signal = rustix::process::Signal::TERM;

#[test]
fn half_a_line_of_an_upstream_that_died_does_not_reach_the_host() {
    let script = Script::new().on(
        On::tool("half"),
        [Step::bytes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"con"), Step::Exit(2)],
    );
    let mut front = front(script).start().open();
    assert_eq!(front.ask(call("1", "half", "{}")), lost_call("1"));
    assert_eq!(front.status(), 2);
    assert_eq!(text(front.stdout()).lines().count(), 2);
    assert!(front.stderr_text().contains("\"result\":{\"con"), "{}", front.stderr_text());
}

#[test]
fn half_a_message_too_long_to_hold_leaves_the_next_line_whole() {
    let half =
        |n| vec![Step::bytes("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\""), Step::Fill(n), Step::Exit(2)];
    let mut front = front(Script::new().on(On::tool("half"), half(300_000))).start().open();
    let broken = front.ask(call("1", "half", "{}"));
    assert!(broken.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"xxx") && !broken.contains('}'));
    assert_eq!(front.next(), lost_call("1"));
    assert_eq!(front.status(), 2);
}

#[test]
fn what_an_upstream_wrote_before_it_ended_reaches_a_host_that_reads_late() {
    let script = Script::new().on(On::tool("big"), [Step::Size(110_000), Step::Exit(0)]);
    let up = bir_testkit::TestUpstream::new(script).unwrap();
    let tree = unique();
    let mut child = plain(&up, &[], &tree).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", call("1", "big", "{}")).unwrap();
    // The upstream is through when it has exited: its last 64 KiB lie in the pipe.
    up.wait_log(BUDGET, |events| events.iter().any(|e| e.name() == "exit")).unwrap();
    let started = std::time::Instant::now();
    while started.elapsed() < Duration::from_millis(1_500) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut all = String::new();
    child.stdout.take().unwrap().read_to_string(&mut all).unwrap();
    assert_eq!(all.lines().count(), 1);
    assert!(all.len() > 110_000 && all.ends_with("\"}]}}\n"), "{} bytes", all.len());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(left(&tree, BUDGET), []);
}

#[test]
fn signals_are_passed_on() {
    use rustix::process::Signal;
    for (signal, name, number) in
        [(Signal::INT, "SIGINT", 2), (SIGTERM, "SIGTERM", 15), (Signal::HUP, "SIGHUP", 1)]
    {
        let mut front = front(Script::new()).start().open();
        front.ask(call("1", "echo", "{}"));
        front.signal(signal).unwrap();
        assert_eq!(front.status(), 128 + number, "{name}");
        assert!(front.up.events().unwrap().iter().any(|e| e.name() == "signal" && e.str("name") == name));
        assert_eq!(front.left(), []);
    }
}

#[test]
fn an_interrupt_that_the_upstream_handles_ends_nothing() {
    let script = Script::new().on(On::start(), [Step::Ignore(vec!["SIGINT".into()])]);
    let mut front = front(script).start().open();
    front.ask(call("1", "echo", "{}"));
    front.signal(rustix::process::Signal::INT).unwrap();
    front.wait_event("signal");
    assert!(front.ask(call("2", "echo", "{}")).contains("\"id\":2"));
    assert_eq!(front.finish(), 0);
}

fn deaf() -> Script {
    let all = ["eof", "SIGTERM", "SIGINT", "SIGHUP"].map(String::from).to_vec();
    Script::new().on(On::start(), [Step::Ignore(all)])
}

#[test]
fn t40_an_upstream_deaf_to_sigterm_is_killed_after_its_answers_have_passed() {
    let mut front = front(deaf()).start().open();
    front.send(call("1", "sleep", "{\"ms\":100}")).unwrap();
    front.signal(SIGTERM).unwrap();
    assert!(front.next().contains("\"id\":1"));
    assert_eq!(front.status(), 137);
    assert_eq!(front.left(), []);
}

#[test]
fn an_upstream_deaf_to_the_end_of_its_input_gets_sigterm_and_then_sigkill() {
    let mut front = front(deaf()).start().open();
    front.ask(call("1", "echo", "{}"));
    front.close_stdin();
    assert_eq!(front.status(), 137);
    let events = front.up.events().unwrap();
    let names: Vec<&str> = events.iter().map(|e| e.name()).collect();
    assert_eq!(names[names.len() - 2..], ["eof", "signal"]);
    assert_eq!(events.last().unwrap().str("name"), "SIGTERM");
    assert_eq!(front.left(), []);
}

#[test]
fn an_answer_still_to_come_at_the_end_of_input_is_waited_for() {
    // Longer than the 2 s after which an idle upstream is told to go.
    let script = Script::new().on(On::start(), [Step::Ignore(vec!["eof".into()])]);
    let mut front = front(script).start().open();
    front.send(call("1", "sleep", "{\"ms\":3000}")).unwrap();
    front.close_stdin();
    assert!(front.next().contains("slept"));
    assert_eq!(front.status(), 143);
}

#[test]
fn t41_a_host_that_is_killed_takes_the_tree_with_it_though_a_sibling_holds_our_input() {
    for deaf_too in [false, true] {
        let script = if deaf_too { deaf() } else { Script::new() };
        let up = bir_testkit::TestUpstream::new(script).unwrap();
        let tree = unique();
        let proxy: Vec<String> =
            plain(&up, &[], &tree).get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        // The host is a shell. Its sibling `sleep` keeps both of our pipes open when the shell is gone.
        let mut host = std::process::Command::new("sh")
            .args(["-c", "exec 3<&0; sleep 300 <&3 & echo $! >&2; \"$@\" <&3 & wait", "host", PROXY])
            .args(proxy)
            .env("PROXY_TEST_TREE", &tree)
            .env("BIR_HOME", up.dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut sibling = String::new();
        let mut stderr = BufReader::new(host.stderr.take().unwrap());
        stderr.read_line(&mut sibling).unwrap();
        let mut stdin = host.stdin.take().unwrap();
        writeln!(stdin, "{INIT}").unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(host.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"result\""));
        host.kill().unwrap();
        host.wait().unwrap();
        let sibling: u32 = sibling.trim().parse().unwrap();
        wait_until("only the sibling is left", || marked(&tree).iter().all(|p| p.pid == sibling));
        procs::kill_all(&marked(&tree), BUDGET);
    }
}

#[test]
fn a_host_that_closes_our_output_ends_the_tree() {
    let up = bir_testkit::TestUpstream::new(deaf()).unwrap();
    let tree = unique();
    let mut child = plain(&up, &[], &tree).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{INIT}").unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    // Its next answer finds nobody.
    writeln!(stdin, "{}", request("1", "ping", "{}")).unwrap();
    assert_eq!(left(&tree, BUDGET), []);
    child.wait().unwrap();
}

#[test]
fn what_the_upstream_left_running_with_our_pipes_is_ended() {
    for stubborn in [false, true] {
        let grandchild = Step::Grandchild { seconds: 200, stubborn, own_group: false };
        let mut front = front(Script::new().on(On::start(), [grandchild])).start().open();
        front.ask(call("1", "echo", "{}"));
        assert_eq!(front.alive().len(), 3);
        front.close_stdin();
        assert_eq!(front.status(), 0);
        assert_eq!(front.left(), []);
    }
}

#[test]
fn a_process_that_left_the_group_and_holds_our_pipes_does_not_hold_us() {
    let grandchild = Step::Grandchild { seconds: 200, stubborn: false, own_group: true };
    let mut front = front(Script::new().on(On::start(), [grandchild])).start().open();
    front.ask(call("1", "echo", "{}"));
    assert_eq!(front.ask(call("2", "crash", "{}")), lost_call("2"));
    assert_eq!(front.host.wait_exit(BUDGET).unwrap().code(), Some(3));
    assert_eq!(front.alive().len(), 1, "it is not ours to end");
}
