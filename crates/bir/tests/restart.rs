//! `bir up --restart`: what runs is replaced by the programs of today, and a session that is under way loses nothing.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_testkit::procs::{self, Proc};
use bir_testkit::{HostCommand, On, Script, Step, TestUpstream, bins};
use common::{Home, Said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BUDGET: Duration = Duration::from_secs(60);

/// A home with a project that is set up; beside this `bir` are the other programs.
fn home() -> (Home, PathBuf) {
    for name in ["bir-hub", "bir-proxy", "bir-hooks"] {
        bins::bin(name, name).unwrap();
    }
    let home = Home::new();
    let project = home.path().join("p");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    assert_eq!(
        home.command(&["project", "add", project.to_str().unwrap()]).status().unwrap().code(),
        Some(0)
    );
    (home, project)
}

/// The programs as another build, at a place of its own.
fn older(home: &Home) -> PathBuf {
    let dir = home.path().join("old");
    std::fs::create_dir(&dir).unwrap();
    for name in ["bir", "bir-hub", "bir-hooks"] {
        let from = Path::new(env!("CARGO_BIN_EXE_bir")).with_file_name(name);
        std::fs::copy(from, dir.join(name)).unwrap();
    }
    dir
}

/// What runs of a program in a home.
fn running(home: &Home, name: &str) -> Vec<Proc> {
    let mine = format!("BIR_HOME={}", home.state().display());
    let all = procs::with_env(&mine).into_iter().filter(procs::runs);
    all.filter(|proc| program(proc).file_name().is_some_and(|file| file == name)).collect()
}

fn program(proc: &Proc) -> PathBuf {
    std::fs::read_link(format!("/proc/{}/exe", proc.pid)).unwrap_or_default()
}

/// The one process of a program.
#[track_caller]
fn one(home: &Home, name: &str) -> Proc {
    let until = Instant::now() + BUDGET;
    loop {
        let mut all = running(home, name);
        if all.len() == 1 {
            return all.remove(0);
        }
        assert!(Instant::now() < until, "{name}: {}", all.len());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn programs_of_an_older_build_are_replaced_and_a_session_under_way_loses_nothing() {
    let (home, _project) = home();
    let old = older(&home);
    let mut up = Command::new(old.join("bir"));
    let same = home.command(&[]);
    up.env_clear().envs(same.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Said::from(up.arg("up").current_dir(home.path()).output().unwrap()).ok();
    let before = [one(&home, "bir-hub"), one(&home, "bir-hooks")];
    assert!(before.iter().all(|proc| program(proc).starts_with(&old)));

    let script =
        Script::new().on(On::tool("echo"), [Step::result(r#"{"content":[{"type":"text","text":"it is"}]}"#)]);
    let upstream = TestUpstream::new(script).unwrap();
    let proxy = Path::new(env!("CARGO_BIN_EXE_bir")).with_file_name("bir-proxy");
    let outer = HostCommand::new(proxy)
        .args(["--server-name", "fs"])
        .env("BIR_HOME", home.state())
        .env("HOME", home.path());
    let mut host = outer.arg("--").wrap(&upstream.command()).start().unwrap();
    host.ask(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        BUDGET,
    )
    .unwrap();
    host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
    let mut calls = 0;
    let mut call = || {
        calls += 1;
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{calls},"method":"tools/call","params":{{"name":"echo","arguments":{{"n":{calls}}}}}}}"#
        );
        assert!(String::from_utf8_lossy(&host.ask(line, BUDGET).unwrap()).contains("it is"));
    };
    call();
    let mut restart = home.command(&["up", "--restart", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    // Calls before, while nothing runs, and after.
    while restart.try_wait().unwrap().is_none() {
        call();
        std::thread::sleep(Duration::from_millis(20));
    }
    call();
    let said: Value = serde_json::from_slice(&restart.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((&said["started"], &said["control"]["started"]), (&true.into(), &true.into()), "{said}");
    let after = [one(&home, "bir-hub"), one(&home, "bir-hooks")];
    assert!(after.iter().all(|proc| !program(proc).starts_with(&old)));
    assert!(procs::wait_gone(&before, BUDGET).is_empty());
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    assert!(calls > 3, "{calls}");

    // One run with each of them.
    let until = Instant::now() + BUDGET;
    loop {
        let runs = home.bir(&["runs", "list", "--json"]).json();
        let run = home.bir(&["runs", "show", "last", "--json"]);
        let run: Value = serde_json::from_str(&run.out).unwrap_or_default();
        let steps = run["steps"].as_array().cloned().unwrap_or_default();
        let inputs: Vec<&str> = steps.iter().filter_map(|step| step["toolInput"].as_str()).collect();
        let answers = steps.iter().filter(|step| step["outcome"] == "ok").count();
        let all = (1..=calls).map(|n| format!("{{\"n\":{n}}}")).collect::<Vec<_>>();
        if runs.as_array().unwrap().len() == 1 && inputs == all && answers == all.len() {
            break;
        }
        let count = inputs.len();
        assert!(Instant::now() < until, "{count} of {calls}: {runs}");
        std::thread::sleep(Duration::from_millis(200));
    }
    home.bir(&["down"]).ok();
    assert!(running(&home, "bir-hub").is_empty() && running(&home, "bir-hooks").is_empty());
}

#[test]
fn where_nothing_runs_a_restart_starts_and_many_at_once_end_with_one_of_each() {
    let (home, _project) = home();
    let said = home.bir(&["up", "--restart", "--json"]).json();
    assert_eq!((&said["started"], &said["control"]["started"]), (&true.into(), &true.into()), "{said}");
    let (hub, control) = (one(&home, "bir-hub"), one(&home, "bir-hooks"));
    let spawn =
        |args: &[&str]| home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let children = [
        spawn(&["up", "--restart", "--json"]),
        spawn(&["up", "--restart", "--json"]),
        spawn(&["up", "--json"]),
    ];
    for child in children {
        let said = Said::from(child.wait_with_output().unwrap()).json();
        assert!(said["pid"].is_u64() && said["control"]["running"] == true, "{said}");
    }
    let (new_hub, new_control) = (one(&home, "bir-hub"), one(&home, "bir-hooks"));
    assert!(new_hub.pid != hub.pid && new_control.pid != control.pid);
    let status = home.bir(&["status", "--json"]).json();
    assert_eq!(status["hub"]["reachable"], true, "{status}");
    home.bir(&["down"]).ok();
    assert!(running(&home, "bir-hub").is_empty() && running(&home, "bir-hooks").is_empty());
}
