//! A subreaper sees what its descendants leave behind. In a process of its own, since it changes the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use bir_testkit::{HostCommand, procs};

const BUDGET: Duration = Duration::from_secs(20);

#[test]
fn orphans_become_ours_and_can_be_reaped() {
    procs::become_subreaper().unwrap();
    let mut host = HostCommand::new("sh").args(["-c", "(sleep 60 & echo $!)"]).unmarked().start().unwrap();
    let pid: u32 = String::from_utf8(host.line(BUDGET).unwrap()).unwrap().trim().parse().unwrap();
    host.wait_exit(BUDGET).unwrap();
    let orphan = procs::find(pid).unwrap();
    assert_eq!(orphan.ppid, std::process::id());
    assert!(procs::tree(std::process::id()).iter().any(|proc| proc.pid == pid));
    assert_eq!(procs::kill_all(std::slice::from_ref(&orphan), BUDGET), []);
    assert_eq!(procs::find(pid), None, "reaped, no zombie");
}
