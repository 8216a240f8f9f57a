//! `bir doctor` on prepared set-ups: files, processes and servers that are really there, and the program itself. Each test breaks a
//! healthy set-up in one way, and exactly that is found, with what mends it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;
mod control;
mod entries;
mod hooks;
mod hub;
mod install;
mod patient;
mod projects;
mod state;

use bir_install::doctor::Code;
use patient::Patient;

#[test]
fn a_healthy_set_up_has_no_finding() {
    let patient = Patient::healthy();
    let seen = patient.looks();
    assert_eq!(seen.codes, Vec::<String>::new(), "{:#}", seen.report);
    assert_eq!((seen.status, &seen.report["faults"]), (Some(0), &0.into()));
    let wrapped = &seen.report["wrapped"][0];
    assert_eq!((&wrapped["server"], &wrapped["host"]), (&"files".into(), &"claude-code".into()));
    assert_eq!((&wrapped["scope"], &wrapped["state"]), (&"local".into(), &"active".into()));
    let text = patient.bir(&["doctor"]);
    assert!(text.0 == Some(0) && text.1.starts_with("no fault in ") && text.1.contains("files"), "{text:?}");
    assert!(!text.1.contains(patient::SECRET), "{text:?}");
    // There was nothing to mend, and that is said.
    let fixed = patient.looks_with(&["--fix"]);
    assert_eq!((fixed.status, &fixed.report["done"]), (Some(0), &serde_json::json!([])));
}

#[test]
fn where_nothing_is_installed_nothing_is_wrong() {
    let patient = Patient::untouched();
    let seen = patient.looks();
    assert_eq!((seen.status, seen.codes.len()), (Some(0), 0), "{:#}", seen.report);
    assert!(!patient.state().exists(), "looking makes nothing");
    let (status, text, _) = patient.bir(&["doctor"]);
    assert!(status == Some(0) && text.contains("no server is wrapped"), "{text}");
}

#[test]
fn a_mistake_in_the_command_line_is_neither_0_nor_1() {
    assert_eq!(Patient::untouched().bir(&["doctor", "--fxi"]).0, Some(2));
}

/// What cannot be caused here: a full disk, and a policy in `/etc`. Their functions are tested in `bir_install::doctor`.
const ELSEWHERE: [Code; 2] = [Code::DiskFull, Code::PolicyForbids];

#[test]
fn every_code_is_caused_by_a_test() {
    let tests = [
        include_str!("control.rs"),
        include_str!("entries.rs"),
        include_str!("hooks.rs"),
        include_str!("hub.rs"),
        include_str!("install.rs"),
        include_str!("projects.rs"),
        include_str!("state.rs"),
    ];
    let caused = |code: &Code| tests.iter().any(|text| text.contains(&format!("\"{}\"", code.as_str())));
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !caused(code) && !ELSEWHERE.contains(code))
        .map(|code| code.as_str())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
