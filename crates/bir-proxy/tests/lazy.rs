//! `--lazy`: the upstream starts when it is needed, and the handshake is answered from the last start.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, Script, TestUpstream, procs};
use common::*;
use std::os::unix::fs::PermissionsExt as _;

/// Starts one after the other in front of the same upstream, with the same state directory.
struct Lazy(TestUpstream);

impl Lazy {
    fn new(script: Script) -> Self {
        Self(TestUpstream::new(script).unwrap())
    }

    fn starts(&self) -> usize {
        self.0.events().unwrap().iter().filter(|e| e.name() == "start").count()
    }

    fn start(&self) -> bir_testkit::StdioHost {
        proxy(&["--lazy".into()], &self.0.command())
            .env("BIR_HOME", self.0.dir().join("home"))
            .start()
            .unwrap()
    }

    /// One earlier session that opened with these lines; gives the answers.
    fn learn(&self, opening: &[&str]) -> Vec<String> {
        let mut host = self.start();
        let answers = opening.iter().map(|line| ask(&mut host, line)).collect();
        assert_eq!(host.finish(BUDGET).unwrap(), 0);
        answers
    }
}

fn ask(host: &mut bir_testkit::StdioHost, line: &str) -> String {
    text(host.ask(line, BUDGET).unwrap_or_else(|e| panic!("{line}: {e}")))
}

/// An odd answer that only comes back equal when nothing parses it.
fn odd(era: Eras) -> Script {
    Script::era(era).server(|s| {
        s.instructions = Some("\"\\u00e9 é \\/ \\ud83d\\ude00\"".into());
        s.capabilities = Some("{\"tools\" : { },\"n\":1.0,\"n\":1e400}".into());
    })
}

#[test]
fn a_first_start_is_eager_and_a_second_one_sleeps_until_it_is_needed() {
    for (era, opening) in
        [(Eras::Legacy, INIT.to_owned()), (Eras::Modern, modern("\"probe\"", "server/discover", ""))]
    {
        let lazy = Lazy::new(odd(era));
        let learnt = lazy.learn(&[&opening]);
        assert_eq!(lazy.starts(), 1);

        let mut host = lazy.start();
        let answer = ask(&mut host, &opening);
        // The result is the upstream's, byte for byte; the envelope around it is the same here.
        assert_eq!(answer, learnt[0]);
        host.send(INITIALIZED).unwrap();
        let again =
            ask(&mut host, &opening.replacen("\"id\":", "\"id\":1", 1).replacen("1\"probe\"", "1.0", 1));
        assert_eq!(again.split_once(",\"result\"").unwrap().1, answer.split_once(",\"result\"").unwrap().1);
        assert_eq!(procs::tree(host.pid()).len(), 1, "no child until it is needed");
        assert_eq!(lazy.starts(), 1);

        assert!(ask(&mut host, &modern_call("1", "echo", "{}")).contains("\"id\":1,\"result\""));
        assert_eq!(lazy.starts(), 2);
        assert_eq!(host.finish(BUDGET).unwrap(), 0);
        let received = lazy.0.lines().unwrap();
        let woken: Vec<String> = received[1..].iter().map(text).collect();
        assert!(woken[0].contains("\"id\":\"bir:handshake-1\""), "{woken:?}");
        assert_eq!(woken[1], INITIALIZED);
        assert_eq!(woken[2], modern_call("1", "echo", "{}"));
    }
}

#[test]
fn a_host_that_probes_and_then_initializes_is_answered_as_before() {
    let probe = modern("\"probe\"", "server/discover", "");
    let lazy = Lazy::new(Script::new());
    let learnt = lazy.learn(&[&probe, INIT]);
    assert!(learnt[0].contains("-32601"));
    let mut host = lazy.start();
    assert_eq!(ask(&mut host, &probe), learnt[0]);
    assert_eq!(ask(&mut host, INIT), learnt[1]);
    host.send(INITIALIZED).unwrap();
    assert_eq!(lazy.starts(), 1);
    assert!(ask(&mut host, &request("1", "tools/list", "{}")).contains("\"tools\""));
    assert_eq!(lazy.starts(), 2);
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn the_end_of_input_while_asleep_ends_with_zero_and_starts_nothing() {
    let lazy = Lazy::new(Script::new());
    lazy.learn(&[INIT]);
    let mut host = lazy.start();
    ask(&mut host, INIT);
    host.send(INITIALIZED).unwrap();
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert_eq!(lazy.starts(), 1);
}

#[test]
fn a_signal_while_asleep_ends_the_proxy() {
    use rustix::process::Signal;
    let lazy = Lazy::new(Script::new());
    lazy.learn(&[INIT]);
    for (signal, expected) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut host = lazy.start();
        ask(&mut host, INIT);
        host.signal(signal).unwrap();
        assert_eq!(host.wait_exit(BUDGET).unwrap().code(), Some(expected));
    }
    assert_eq!(lazy.starts(), 1);
}

#[test]
fn what_is_cached_is_private_and_refreshed_by_every_start() {
    let lazy = Lazy::new(odd(Eras::Legacy));
    lazy.learn(&[INIT]);
    let dir = lazy.0.dir().join("home/handshakes");
    let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!((mode(&files[0]), mode(&dir), mode(dir.parent().unwrap())), (0o600, 0o700, 0o700));

    // The server is upgraded: what it says now is what the next start says.
    let new = odd(Eras::Legacy).server(|s| s.info = Some("{\"name\":\"new\"}".into()));
    new.save(&lazy.0.dir().join("script.json")).unwrap();
    let mut host = lazy.start();
    assert!(!ask(&mut host, INIT).contains("\"new\""));
    ask(&mut host, &call("1", "echo", "{}"));
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    let mut host = lazy.start();
    assert!(ask(&mut host, INIT).contains("{\"name\":\"new\"}"));
    assert_eq!(lazy.starts(), 2);
}

#[test]
fn an_opening_that_was_never_answered_before_wakes_the_upstream() {
    let lazy = Lazy::new(Script::new());
    lazy.learn(&[INIT]);
    let mut host = lazy.start();
    let other = INIT.replace("2025-11-25", "2025-06-18");
    assert!(ask(&mut host, &other).contains("2025-06-18"));
    assert_eq!(lazy.starts(), 2);
    assert_eq!(lazy.0.lines().unwrap().len(), 2, "nothing is repeated before it");
}

#[test]
fn a_cache_that_is_broken_is_as_good_as_none() {
    let lazy = Lazy::new(Script::new());
    let answer = lazy.learn(&[INIT]);
    let dir = lazy.0.dir().join("home/handshakes");
    let file = std::fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    for broken in [&b""[..], b"\xff\xfe\x00", b"no tab here\n", b"initialize 2025-11-25\n"] {
        std::fs::write(&file, broken).unwrap();
        let mut host = lazy.start();
        assert_eq!(ask(&mut host, INIT), answer[0]);
        assert_eq!(host.finish(BUDGET).unwrap(), 0);
    }
    assert_eq!(lazy.starts(), 5);
}

#[test]
fn a_long_first_message_wakes_the_upstream_and_reaches_it_whole() {
    let lazy = Lazy::new(Script::new());
    lazy.learn(&[INIT]);
    for size in [70_000, 300_000] {
        let mut host = lazy.start();
        ask(&mut host, INIT);
        host.send(INITIALIZED).unwrap();
        let long = call("1", "echo", &format!("{{\"s\":\"{}\"}}", "y".repeat(size)));
        assert!(ask(&mut host, &long).starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\""));
        assert_eq!(text(lazy.0.lines().unwrap().last().unwrap()), long);
        assert_eq!(host.finish(BUDGET).unwrap(), 0);
    }
}

#[test]
fn an_upstream_that_cannot_be_started_when_it_is_needed_ends_the_proxy_as_at_any_start() {
    let lazy = Lazy::new(Script::new());
    lazy.learn(&[INIT]);
    // The same command, gone from the disk.
    let script = lazy.0.dir().join("script.json");
    std::fs::rename(&script, lazy.0.dir().join("moved")).unwrap();
    let mut host = lazy.start();
    ask(&mut host, INIT);
    host.send(call("1", "echo", "{}")).unwrap();
    assert_eq!(text(host.line(BUDGET).unwrap()), lost_call("1"));
    assert_eq!(host.wait_exit(BUDGET).unwrap().code(), Some(64));
}
