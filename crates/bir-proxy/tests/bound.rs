//! A proxy in a project that is set up: what it tells the control server, and what becomes of it where there is none. Whatever
//! happens there, the host notices nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/control.rs"]
mod control;
#[path = "common/spool.rs"]
mod spool;

use bir_model::Era;
use bir_model::control::{API_VERSION, ProxyWhat};
use bir_testkit::{HostCommand, On, Script};
use common::*;
use control::{Control, Project, inbox, inbox_lines};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A proxy whose project is set up, and that project.
fn set_up(script: Script) -> (Setup, Project, PathBuf) {
    let setup = front(script);
    let home = setup.home();
    let project = Project::new(&home);
    (setup.dir(&project.path()), project, home)
}

fn no_run(home: &Path) {
    assert!(spool::runs(home).is_empty(), "{:#?}", spool::runs(home));
}

#[test]
fn a_bound_session_is_told_as_it_happens_and_nowhere_else() {
    let control = Control::start();
    let (setup, project, home) = set_up(Script::new());
    project.served_by(&control);
    let setup = setup.env("COPILOT_AGENT_SESSION_ID", "session-7").env("CLAUDE_CODE_SESSION_ID", "foreign");
    let mut front = setup.env("BIR_LOG", "info").start().open();
    let echoed = front.ask(request(
        "1",
        "tools/call",
        r#"{"name":"echo","arguments":{"b" : 1e400,"a":2},"_meta":{"claudecode/toolUseId":"toolu_1"}}"#,
    ));
    wait_until("it is told", || control.told().len() == 2);
    front.ask(request("2", "tools/call", r#"{"name":"fail","arguments":{},"_meta":{"callId":"call_2"}}"#));
    front.ask(request("3", "tools/call", r#"{"name":"rpc_error","_meta":{"bir/callId":"c3"}}"#));
    wait_until("all is told", || control.told().len() == 6);
    front.wait_stderr("tier.bound", BUDGET).unwrap();
    assert_eq!(front.finish(), 0);

    control.seen(|seen| {
        assert_eq!(seen.routes[..2], ["/proxy/register", "/proxy/step"]);
        assert_eq!(seen.registrations.len(), 1, "it is shown once: {:?}", seen.registrations);
        let shown = &seen.registrations[0];
        assert_eq!((shown.api_version, shown.pid), (API_VERSION, front.pid()));
        assert_eq!(shown.parent_pid, std::process::id());
        assert_eq!((&shown.cwd, shown.host_session.as_deref()), (&project.path(), Some("session-7")));
        assert_eq!(shown.host.as_ref().map(|host| host.app.as_str()), Some("t"));
        assert_eq!((shown.server.name.as_str(), shown.server.era), ("x", Some(Era::Legacy)));
        assert!(shown.server.title.is_some() && !shown.takes_call_id);
        let ids: Vec<_> = seen.reports.iter().map(|r| r.call_id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["toolu_1", "toolu_1", "call_2", "call_2", "c3", "c3"]);
        let ProxyWhat::Began { input: Some(input) } = &seen.reports[0].what else { panic!() };
        assert_eq!(input.text, r#"{"b" : 1e400,"a":2}"#, "byte for byte");
        let ProxyWhat::Ended { output: Some(output), duration_us, .. } = &seen.reports[1].what else {
            panic!()
        };
        assert!(echoed.contains(&output.text) && duration_us.is_some());
        let ProxyWhat::Ended { error: Some(error), output: None, .. } = &seen.reports[5].what else {
            panic!()
        };
        assert!(error.text.contains("code"), "{error:?}");
        assert!(seen.reports.iter().all(|report| report.at > 0));
        assert!(seen.reports[2].fingerprint.is_some());
        assert_eq!(seen.reports[2].fingerprint, seen.reports[3].fingerprint);
        assert_ne!(seen.reports[0].fingerprint, seen.reports[2].fingerprint);
        assert_eq!(seen.reports[2].fingerprint, seen.reports[4].fingerprint, "no arguments are none");
    });
    let lines = ["0 echo began", "0 echo ok", "1 fail began", "1 fail tool_error"];
    assert_eq!(control.told()[..4], lines);
    no_run(&home);
    assert!(inbox(&home).is_empty());
}

#[test]
fn work_is_asked_for_where_replay_is_on_and_whoever_never_answers_is_asked_again() {
    for replay in [false, true] {
        let control = Control::start();
        control.seen(|seen| seen.replay = replay);
        let (setup, project, _) = set_up(Script::new());
        project.served_by(&control);
        let mut front = setup.start().open();
        let polls =
            || control.seen(|seen| seen.routes.iter().filter(|route| *route == "/proxy/poll").count());
        front.ask(call("1", "echo", "{}"));
        wait_until("it is told", || control.told().len() == 2);
        if replay {
            wait_until("two polls", || polls() >= 2);
        }
        front.ask(call("2", "echo", "{}"));
        wait_until("it is told", || control.told().len() == 4);
        assert_eq!(front.finish(), 0);
        assert_eq!(polls() > 0, replay, "nobody is asked where replay is off");
    }
}

#[test]
fn no_secret_crosses_and_what_is_excluded_is_not_told() {
    let control = Control::start();
    let (setup, project, home) = set_up(Script::new());
    project.served_by(&control);
    std::fs::write(home.join("config.toml"), "[record]\nexclude = [\"tool:x/sleep\"]\n").unwrap();
    let mut front = setup.env("BIR_LOG", "debug").start().open();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    front.ask(call("1", "sleep", r#"{"ms":1}"#));
    front.ask(call("2", "echo", &format!(r#"{{"token":"hunter2hunter2","text":"use {token} now"}}"#)));
    wait_until("it is told", || control.told().len() == 2);
    assert_eq!(front.finish(), 0);
    assert_eq!(control.told(), ["0 echo began", "0 echo ok"]);
    control.seen(|seen| {
        assert!(
            !seen.bodies.contains("hunter2") && !seen.bodies.contains("0123456789abcdef"),
            "{}",
            seen.bodies
        );
        assert!(seen.bodies.contains("[redacted:"));
    });
    let said = front.stderr_text();
    assert!(!said.contains("hunter2") && !said.contains(&control.token), "{said}");
}

#[test]
fn one_that_forgot_the_proxy_is_shown_it_again() {
    let control = Control::start();
    let (setup, project, home) = set_up(Script::new());
    project.served_by(&control);
    let mut front = setup.start().open();
    front.ask(call("1", "echo", "{}"));
    wait_until("it is told", || control.told().len() == 2);
    control.seen(|seen| seen.forgets = 1);
    front.ask(call("2", "echo", "{}"));
    wait_until("it is told", || control.told().len() == 4);
    assert_eq!(front.finish(), 0);
    assert_eq!(control.seen(|seen| seen.registrations.len()), 2);
    no_run(&home);
}

#[test]
fn the_environment_of_a_session_counts_before_the_file() {
    let (control, other) = (Control::start(), Control::start());
    let (setup, project, _) = set_up(Script::new());
    project.served_by(&other);
    let setup = setup.env("BIR_CONTROL_URL", &control.url).env("BIR_CONTROL_TOKEN", &control.token);
    let mut front = setup.start().open();
    front.ask(call("1", "echo", "{}"));
    wait_until("it is told", || control.told().len() == 2);
    assert_eq!(front.finish(), 0);
    assert!(other.seen(|seen| seen.routes.is_empty()));
}

#[test]
fn a_session_that_finds_nobody_is_left_whole_in_the_inbox() {
    for signalled in [false, true] {
        let (setup, project, home) = set_up(Script::new().on(On::tool("never"), []));
        project.served_by_nobody();
        let mut front = setup.start().open();
        front.ask(call("1", "echo", r#"{"password":"hunter2hunter2"}"#));
        front.send(call("2", "never", "{}")).unwrap();
        front.ask(request("3", "ping", "{}"));
        if signalled {
            front.signal(Signal::TERM).unwrap();
            assert_eq!(front.status(), 128 + 15);
        } else {
            assert_eq!(front.finish(), 0);
        }
        assert_eq!(inbox_lines(&home), ["0 echo began", "0 echo ok", "1 never began", "1 never unknown"]);
        let (registration, _) = &inbox(&home)[0];
        assert_eq!((registration.server.name.as_str(), registration.parent_pid), ("x", std::process::id()));
        no_run(&home);
        for file in spool::files(&home.join("inbox")) {
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(!text(std::fs::read(&file).unwrap()).contains("hunter2"));
        }
    }
}

/// Somebody takes the connection and says nothing, as a machine does that has too much to do.
#[test]
fn one_that_says_nothing_delays_nobody() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (setup, project, home) = set_up(Script::new());
    project.served(&format!("http://{}", listener.local_addr().unwrap()), "t");
    let mut front = setup.start().open();
    let begun = std::time::Instant::now();
    for n in 0..50 {
        front.ask(call(&n.to_string(), "echo", "{}"));
    }
    let took = begun.elapsed();
    assert!(took < bir_control_client::BUDGET * 20, "50 calls took {took:?}: each waited for an answer");
    assert_eq!(front.finish(), 0);
    assert_eq!(inbox_lines(&home).len(), 100);
    no_run(&home);
    drop(listener);
}

#[test]
fn one_that_is_killed_and_comes_back_elsewhere_costs_nothing() {
    let mut first = Control::start();
    let (setup, project, home) = set_up(Script::new());
    project.served_by(&first);
    let mut front = setup.start().open();
    front.ask(call("0", "echo", "{}"));
    wait_until("it is told", || first.told().len() == 2);
    first.kill();
    for n in 1..20 {
        front.ask(call(&n.to_string(), "echo", "{}"));
    }
    wait_until("what nobody takes is safe", || !inbox(&home).is_empty());
    let second = Control::start();
    project.served_by(&second);
    let mut n = 20;
    wait_until("the next is told", || {
        front.ask(call(&n.to_string(), "echo", "{}"));
        n += 1;
        !second.told().is_empty()
    });
    assert_eq!(front.finish(), 0);
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for line in [first.told(), second.told(), inbox_lines(&home)].concat() {
        *told.entry(line).or_default() += 1;
    }
    for call in 0..n {
        for what in ["began", "ok"] {
            assert!(told.contains_key(&format!("{call} echo {what}")), "{call} {what} of {n}: {told:?}");
        }
    }
    assert_eq!(told.len(), 2 * n, "{told:?}");
    assert_eq!(second.seen(|seen| seen.registrations.len()), 1);
    let ids = [&first, &second].map(|control| control.seen(|seen| seen.registrations[0].proxy_id.clone()));
    assert_eq!(ids[0], ids[1]);
    no_run(&home);
}

#[test]
fn one_of_another_major_version_is_said_once_and_recorded_beside() {
    let control = Control::of_version(API_VERSION + 1);
    let (setup, project, home) = set_up(Script::new());
    project.served_by(&control);
    let mut front = setup.start().open();
    for n in 0..3 {
        front.ask(call(&n.to_string(), "echo", "{}"));
    }
    wait_until("a run", || !spool::runs(&home).is_empty());
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stderr_text().matches("this release cannot report to it").count(), 1);
    assert_eq!(spool::run(&home).outcomes(), ["ok"; 3]);
    assert!(control.seen(|seen| seen.routes.is_empty()) && inbox(&home).is_empty());
}

/// A proxy beside a program that stands for `bir-hooks` and says that it was started.
fn beside_hooks(home: &Path, project: &Project, up: &HostCommand) -> (HostCommand, PathBuf) {
    let bin = home.with_file_name("bin");
    std::fs::create_dir(&bin).unwrap();
    let proxy = bin.join("bir-proxy");
    std::fs::hard_link(PROXY, &proxy).or_else(|_| std::fs::copy(PROXY, &proxy).map(drop)).unwrap();
    let (hooks, started) = (bin.join("bir-hooks"), bin.join("started"));
    let script =
        format!("#!/bin/sh\necho \"$@\" \"$BIR_UPSTREAM_HEADERS$SECRET\" >>'{}'\n", started.display());
    std::fs::write(&hooks, script).unwrap();
    std::fs::set_permissions(&hooks, std::fs::Permissions::from_mode(0o700)).unwrap();
    let command = HostCommand::new(&proxy).args(["--server-name", "x", "--"]).wrap(up);
    (command.env("BIR_HOME", home).env("SECRET", "hunter2").dir(project.path()), started)
}

#[test]
fn a_dead_one_is_brought_back_and_one_that_was_stopped_is_not() {
    for stopped in [false, true] {
        let setup = front(Script::new());
        let home = setup.home();
        let project = Project::new(&home);
        project.served_by_nobody();
        if stopped {
            std::fs::write(bir_control_client::stopped_file(&home), "").unwrap();
        }
        let (command, started) = beside_hooks(&home, &project, &setup.up_command());
        let mut host = command.start().unwrap();
        host.ask(INIT, BUDGET).unwrap();
        host.ask(call("1", "echo", "{}"), BUDGET).unwrap();
        if stopped {
            wait_until("a run", || spool::runs(&home).iter().any(|run| run.outcomes() == ["ok"]));
        } else {
            wait_until("it is started", || started.exists());
        }
        assert_eq!(host.finish(BUDGET).unwrap(), 0);
        if stopped {
            assert!(!started.exists() && inbox(&home).is_empty());
            assert!(spool::run(&home).lost.is_empty(), "nothing was lost");
        } else {
            let said = std::fs::read_to_string(&started).unwrap();
            assert_eq!(said.lines().next().unwrap().trim(), "serve --detached");
            assert_eq!(inbox_lines(&home), ["0 echo began", "0 echo ok"]);
            no_run(&home);
        }
    }
}

/// Its hooks tell of the calls after that, so not one of them may be kept by the proxy alone.
#[test]
fn the_first_call_after_one_has_come_is_told_to_it() {
    let (setup, project, home) = set_up(Script::new());
    std::fs::create_dir_all(home.join("control")).unwrap();
    std::fs::write(bir_control_client::stopped_file(&home), "").unwrap();
    project.served_by_nobody();
    let mut front = setup.start().open();
    front.ask(call("0", "echo", "{}"));
    wait_until("a run", || spool::runs(&home).iter().any(|run| run.outcomes() == ["ok"]));
    let control = Control::start();
    std::fs::remove_file(bir_control_client::stopped_file(&home)).unwrap();
    project.served_by(&control);
    front.ask(call("1", "echo", "{}"));
    wait_until("it is told", || control.told().len() == 2);
    assert_eq!(front.finish(), 0);
    assert_eq!(spool::run(&home).calls(), 1);
}

/// Stopped in mid-session, and up again later: one run of the proxy's own in between, and each call once.
#[test]
fn a_downgrade_and_a_return() {
    let mut first = Control::start();
    let (setup, project, home) = set_up(Script::new());
    project.served_by(&first);
    let mut front = setup.env("BIR_LOG", "info").start().open();
    front.ask(call("0", "echo", "{}"));
    wait_until("it is told", || first.told().len() == 2);
    std::fs::write(bir_control_client::stopped_file(&home), "").unwrap();
    first.kill();
    front.ask(call("1", "echo", "{}"));
    front.wait_stderr("tier.downgrade", BUDGET).unwrap();
    front.ask(call("2", "echo", "{}"));
    wait_until("a run", || spool::runs(&home).iter().any(|run| run.outcomes() == ["ok"]));
    let second = Control::start();
    std::fs::remove_file(bir_control_client::stopped_file(&home)).unwrap();
    project.served_by(&second);
    let mut n = 3;
    wait_until("the next is told", || {
        front.ask(call(&n.to_string(), "echo", "{}"));
        std::thread::sleep(std::time::Duration::from_millis(5));
        n += 1;
        second.told().iter().any(|line| line.ends_with("ok"))
    });
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    assert!(run.finish.is_some(), "it is over");
    assert_eq!((run.lost.len(), run.lost[0].calls, run.lost[0].reason.as_str()), (1, 0, "downgrade"));
    let ok = |lines: Vec<String>| lines.iter().filter(|line| line.ends_with("ok")).count();
    let mut reported = [second.told(), inbox_lines(&home)].concat();
    reported.sort();
    reported.dedup();
    assert_eq!(run.calls() + 1 + ok(reported), n, "each call is in one place");
    assert_eq!(front.stderr_text().matches("tier.bound").count(), 2);
}
