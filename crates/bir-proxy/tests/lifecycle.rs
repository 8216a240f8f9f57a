//! How the relay begins and ends: starts, deaths, restarts, signals, the end of the host.
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
    front.signal(SIGTERM).unwrap();
    front.status();
    assert_eq!(front.left(), []);
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

#[test]
fn the_upstream_has_the_environment_directory_arguments_and_group_that_it_would_have() {
    let odd = ["", " two  words ", "\"quoted\" 'twice'", "$HOME `id` \\", "é😀", "&|%^;<>", "--server-name"];
    let setup = front(Script::new())
        .env("BIR_LOG", "debug")
        .env("BIR_UPSTREAM_HEADERS", "{\"Authorization\":\"secret\"}")
        .env("BIRD", "kept")
        .env("ODD", "a=b\n é");
    let dir = setup.home();
    std::fs::create_dir_all(&dir).unwrap();
    let inner = setup.up_command().arg("--").args(odd);
    let mut front = setup.dir(&dir).start_as(&inner).open();
    let seen = front.wait_start(1);
    let env: std::collections::BTreeMap<String, String> =
        serde_json::from_value(seen.0["env"].clone()).unwrap();
    let mut expected: std::collections::BTreeMap<String, String> =
        std::env::vars().filter(|(name, _)| !name.starts_with("BIR_")).collect();
    expected.insert("BIRD".into(), "kept".into());
    expected.insert("ODD".into(), "a=b\n é".into());
    expected.insert("PROXY_TEST_TREE".into(), env["PROXY_TEST_TREE"].clone());
    assert_eq!(env, expected);
    let argv: Vec<String> = serde_json::from_value(seen.0["argv"].clone()).unwrap();
    assert_eq!(argv[argv.len() - odd.len()..], odd);
    assert_eq!(seen.str("cwd"), dir.canonicalize().unwrap().to_string_lossy());
    assert_eq!(seen.0["pgid"], seen.0["pid"]);
    assert_eq!(seen.0["ppid"], front.pid());
    assert_eq!(front.finish(), 0);
}

#[test]
fn stderr_of_the_upstream_is_passed_on_line_by_line_under_its_name() {
    let script = Script::new()
        .on(On::tool("talk"), [Step::stderr("one\ntwo\r\n\n"), Step::stderr("three"), Step::result("{}")]);
    let mut front = front(script).start().open();
    front.ask(call("1", "talk", "{}"));
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stderr_text(), "[x] one\n[x] two\n[x] three\n");
}

#[test]
fn t14_a_host_that_never_reads_stderr_loses_lines_and_not_the_session() {
    let script = Script::new().on(
        On::method("tools/list"),
        [
            Step::StderrFill { bytes: 1 << 20, line: 80 },
            Step::Chunk(bir_testkit::Chunking::default()),
            Step::Size(5 << 20),
        ],
    );
    let up = bir_testkit::TestUpstream::new(script).unwrap();
    let tree = unique();
    let mut child = plain(&up, &[], &tree)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", request("1", "tools/list", "{}")).unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.len() > 5 << 20);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.lines().all(|l| l.starts_with("[x] ") || l.starts_with("bir-proxy[x]: ")));
}

#[test]
fn the_log_level_decides_what_we_say_and_the_upstream_is_always_heard() {
    for (level, warns, debugs) in
        [("off", false, false), ("error", false, false), ("warn", true, false), ("debug", true, true)]
    {
        let script = Script::new().on(On::start(), [Step::bytes("a banner\n"), Step::stderr("heard\n")]);
        let mut front = front(script).env("BIR_LOG", level).start().open();
        front.ask(call("1", "echo", "{}"));
        front.signal(SIGTERM).unwrap();
        front.status();
        let stderr = front.stderr_text();
        assert!(stderr.contains("[x] heard\n"), "{level}: {stderr}");
        assert_eq!(stderr.contains("no messages"), warns, "{level}: {stderr}");
        assert_eq!(stderr.contains("is passed on"), debugs, "{level}: {stderr}");
        assert_eq!(text(front.stdout()).lines().count(), 2, "{level}");
    }
}

#[test]
fn switched_off_the_server_itself_runs_in_our_place() {
    let cases: [(&str, Option<&str>, bool); 5] = [
        ("1", None, true),
        ("0", None, false),
        ("", Some(""), true),
        ("", Some("# here\nHERE\n"), true),
        ("", Some("/nowhere/else\n"), false),
    ];
    for (variable, file, off) in cases {
        let setup = front(Script::new()).env("BIR_OFF", variable);
        let home = setup.home();
        std::fs::create_dir_all(&home).unwrap();
        let here = home.canonicalize().unwrap();
        if let Some(list) = file {
            std::fs::write(home.join("off"), list.replace("HERE", &here.to_string_lossy())).unwrap();
        }
        let mut front = setup.dir(&here).start().open();
        let start = front.wait_start(1);
        assert_eq!(start.0["pid"] == front.pid(), off, "BIR_OFF={variable} off={file:?}");
        assert_eq!(start.0["ppid"] == std::process::id(), off);
        assert!(start.0["env"].as_object().unwrap().keys().all(|name| !name.starts_with("BIR_")));
        assert!(front.ask(call("1", "log", "{}")).contains("a log line"));
        front.next();
        front.wait_stderr(if off { "a stderr line\n" } else { "[x] a stderr line\n" }, BUDGET).unwrap();
        assert_eq!(front.ask(call("2", "emit", "{\"line\":\"no frame\"}")) == "no frame", off);
        if off {
            front.next();
        }
        front.send(call("3", "crash", "{\"code\":5}")).unwrap();
        assert_eq!(front.status(), 5);
    }
}

#[test]
fn a_message_beyond_the_operators_limit_ends_its_call_and_nothing_else() {
    let fits = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"";
    let exact = format!("{fits}{}\"}}", "f".repeat(1_000 - fits.len() - 2));
    let request_line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\",\"params\":\"{}\"}}",
        "p".repeat(2_000)
    );
    let script = Script::new()
        .on(On::tool("exact"), [Step::answer(exact.as_str())])
        .on(On::tool("over"), [Step::answer(format!("{exact} "))])
        .on(On::method("x/big"), [Step::Size(3_000_000)])
        .on(
            On::tool("ask"),
            [
                Step::message(request_line),
                Step::notify("x/big", &format!("\"{}\"", "n".repeat(2_000))),
                Step::result("{}"),
            ],
        );
    let mut front = front(script).env("BIR_UPSTREAM_MAX_MESSAGE_BYTES", "1000").start().open();
    assert_eq!(front.ask(call("1", "exact", "{}")), exact);
    let over = front.ask(call("1", "over", "{}"));
    let refused = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"The result was too large to deliver (";
    assert!(over.starts_with(refused) && over.ends_with(" bytes)\"}],\"isError\":true}}"), "{over}");
    let big = front.ask(request("2", "x/big", "{}"));
    assert!(
        big.starts_with(
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":\"The result was too large"
        ),
        "{big}"
    );
    assert!(front.ask(call("3", "ask", "{}")).starts_with("{\"jsonrpc\":\"2.0\",\"id\":3"));
    assert!(front.ask(call("4", "echo", "{}")).contains("\"id\":4"));
    let refused = "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32600,\"message\":\"The request was too large to deliver\"}}";
    assert!(front.received().iter().any(|l| l == refused), "{:?}", front.received());
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_refusal_of_our_own_does_not_land_inside_a_long_line_of_the_host() {
    let request_line =
        format!("{{\"id\":\"q\",\"method\":\"roots/list\",\"params\":\"{}\"}}", "p".repeat(2_000));
    let script = Script::new()
        .on(On::tool("ask"), [Step::sleep(300), Step::message(request_line), Step::result("{}")]);
    let mut front = front(script).env("BIR_UPSTREAM_MAX_MESSAGE_BYTES", "1000").start().open();
    front.send(call("1", "ask", "{}")).unwrap();
    // The host is in the middle of a line when the refusal is made.
    let long = request("2", "ping", &format!("\"{}\"", "y".repeat(300_000)));
    front.write(&long.as_bytes()[..200_000]).unwrap();
    front.wait_stderr("was refused", BUDGET).unwrap();
    assert!(front.next().contains("\"id\":1"));
    front.write(&long.as_bytes()[200_000..]).unwrap();
    front.write("\n").unwrap();
    assert!(front.next().contains("\"id\":2"));
    let refusal = "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32600,\"message\":\"The request was too large to deliver\"}}";
    assert_eq!(front.finish(), 0);
    assert_eq!(front.received()[3..], [long, refusal.to_owned()]);
}
