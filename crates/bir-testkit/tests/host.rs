//! The test host, the transcript and the finder of programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use bir_testkit::{
    Act, Eras, HostCommand, HostError, On, Script, Step, TestUpstream, Transcript, bins, procs,
};

const BUDGET: Duration = Duration::from_secs(20);

fn acts() -> Vec<Act> {
    let mut acts = Vec::new();
    acts.extend(Act::exchange(r#"{"id": 1,"method":"initialize","params":{}}"#, 1));
    acts.push(Act::line(r#"{"method":"notifications/initialized"}"#));
    acts.extend(Act::exchange(r#"{"id":2,"method":"tools/call","params":{"name":"reverse"}}"#, 1));
    acts.extend(Act::exchange(r#"{"id":"ask-1", "result":{}}"#, 1));
    acts.extend([Act::Bytes(1), Act::Close]);
    acts
}

/// A relay that changes one byte of what the host sends, or none.
fn relay(script: &str, upstream: &TestUpstream) -> HostCommand {
    HostCommand::new("sh")
        .arg("-c")
        .arg(format!("sed -u '{script}' | \"$@\""))
        .arg("relay")
        .wrap(&upstream.command())
}

#[test]
fn two_runs_give_the_same_bytes_and_a_change_is_seen() {
    let run = |change: Option<&str>| {
        let upstream = TestUpstream::plain(Eras::Legacy).unwrap();
        let command = change.map_or(upstream.command(), |script| relay(script, &upstream));
        Transcript::run(&command, &upstream, &acts(), BUDGET).unwrap()
    };
    let direct = run(None);
    assert_eq!((direct.upstream.len(), direct.status), (4, 0));
    assert_eq!(direct.difference(&run(Some(""))), None);
    let changed = run(Some("s/\"id\": 1/\"id\":1/"));
    assert!(direct.difference(&changed).unwrap().contains("message 0 to the upstream differs at byte 6"));
}

#[test]
fn deadlines_are_kept_and_say_what_stderr_had() {
    let upstream = TestUpstream::new(Script::new().on(On::start(), [Step::stderr("hello\n")])).unwrap();
    let mut host = upstream.host().unwrap();
    host.wait_stderr("hello", BUDGET).unwrap();
    match host.line(Duration::from_millis(20)) {
        Err(HostError::Timeout(_, stderr)) => assert_eq!(stderr, "hello\n"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(host.wait_exit(Duration::from_millis(20)), Err(HostError::Timeout(..))));
    assert!(host.wait_stderr("never", Duration::from_millis(20)).is_err());
}

#[test]
fn a_command_that_does_not_exist_is_an_error() {
    assert!(matches!(HostCommand::new("/does/not/exist").start(), Err(HostError::Io(_))));
}

#[test]
fn environment_and_directory_are_given() {
    let dir = tempfile::tempdir().unwrap();
    let mut host = HostCommand::new("sh")
        .args(["-c", "echo $A-$HOME; pwd"])
        .env("A", "b")
        .env_remove("HOME")
        .dir(dir.path())
        .start()
        .unwrap();
    assert_eq!(host.line(BUDGET).unwrap(), b"b-");
    assert_eq!(host.line(BUDGET).unwrap(), dir.path().canonicalize().unwrap().to_str().unwrap().as_bytes());
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
}

#[test]
fn orphans_are_cleaned_up_too() {
    let script = "(setsid sh -c 'trap \"\" TERM; echo orphan; sleep 60' &) ; exit 0";
    let mut host = HostCommand::new("sh").args(["-c", script]).start().unwrap();
    assert_eq!(host.line(BUDGET).unwrap(), b"orphan");
    host.wait_exit(BUDGET).unwrap();
    let orphans = host.processes();
    assert!(!orphans.is_empty());
    drop(host);
    assert_eq!(procs::wait_gone(&orphans, BUDGET), []);
}

#[test]
fn programs_are_found_and_missing_ones_explained() {
    assert!(bins::test_upstream().unwrap().exists());
    let told = bins::bin("bir-testkit", "no-such-program").unwrap_err().to_string();
    // Where building is turned off, it says what to run.
    let expected = match std::env::var_os("BIR_TESTKIT_NO_BUILD") {
        None => "failed to build no-such-program of package bir-testkit",
        Some(_) => "no-such-program does not exist; run: cargo build -p bir-testkit --bin no-such-program",
    };
    assert!(told.contains(expected), "{told}");
}
