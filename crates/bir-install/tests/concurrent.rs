//! Two of us at once, and other programs that write all the time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

mod common;

use bir_install::operation::{CommitError, commit, read_ledger, repair};
use common::{Lines, files, install, line, snapshot, state, world};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Reads, plans and commits until nobody was faster; how often that took.
fn until_it_is_done(root: &Path, name: &str, paths: &[std::path::PathBuf]) -> usize {
    for tries in 1..500 {
        match commit(&state(root), &install(root, name, paths), &Lines) {
            Ok(()) => return tries,
            Err(CommitError::Changed(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("never");
}

#[test]
fn the_child() {
    let Ok(root) = std::env::var("COMMIT_ROOT") else { return };
    let (root, name) = (std::path::PathBuf::from(root), std::env::var("COMMIT_NAME").unwrap());
    until_it_is_done(&root, &name, &files(&root));
}

fn all_are_there(root: &Path, names: &[String]) {
    let ledger = read_ledger(&state(root)).unwrap();
    for path in files(root) {
        let text = fs::read_to_string(&path).unwrap();
        for name in names {
            assert_eq!(text.matches(&line(name)).count(), 1, "{name} in {text}");
        }
        assert_eq!(ledger.file(&path).unwrap().layers.len(), names.len());
    }
    assert!(snapshot(root).keys().all(|path| !path.to_string_lossy().contains(".tmp")));
}

#[test]
fn threads_commit_one_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    world(root);
    let names: Vec<_> = (0..4).map(|i| format!("thread-{i}")).collect();
    thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| until_it_is_done(root, name, &files(root)));
        }
    });
    all_are_there(root, &names);
}

#[test]
fn processes_commit_one_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    world(dir.path());
    let names: Vec<_> = (0..4).map(|i| format!("process-{i}")).collect();
    let start = |name: &String| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "the_child", "--quiet"]);
        child.env("COMMIT_ROOT", dir.path()).env("COMMIT_NAME", name).spawn().unwrap()
    };
    let mut children: Vec<_> = names.iter().map(start).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    all_are_there(dir.path(), &names);
}

/// Two plans out of one ledger: the second one may not write its ledger over the first one's, though their files differ.
#[test]
fn a_plan_out_of_an_older_ledger_is_not_carried_out() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    world(root);
    let [_, one, two] = files(root);
    let (first, second) = (install(root, "a", &[one]), install(root, "b", std::slice::from_ref(&two)));
    commit(&state(root), &first, &Lines).unwrap();
    let now = snapshot(root);
    let error = commit(&state(root), &second, &Lines).unwrap_err();
    assert!(matches!(&error, CommitError::Changed(path) if path.ends_with("installed.json")), "{error:?}");
    assert_eq!(snapshot(root), now);
    commit(&state(root), &install(root, "b", &[two]), &Lines).unwrap();
    assert_eq!(read_ledger(&state(root)).unwrap().files.len(), 2);
}

/// Writes numbers into the file as fast as it can, and ends somewhere in the middle of a commit.
fn beside_a_writer(write: impl Fn(&Path, &str) + Sync) {
    let (mut rounds, mut retried, mut survived) = (0, 0, 0);
    let began = Instant::now();
    while rounds < 60 || (survived == 0 && began.elapsed() < Duration::from_secs(60)) {
        rounds += 1;
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (dir.path(), dir.path().join("settings"));
        fs::write(&path, "number = 0\n").unwrap();
        let going = AtomicBool::new(true);
        let last = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut number = 0;
                while going.load(Ordering::Relaxed) {
                    number += 1;
                    write(&path, &format!("number = {number}\n"));
                }
                number
            });
            scope.spawn(|| {
                // Ends at another moment of the commit in each round.
                thread::sleep(Duration::from_millis(rounds % 40));
                going.store(false, Ordering::Relaxed);
            });
            retried += until_it_is_done(root, "ours", std::slice::from_ref(&path)) - 1;
            writer.join().unwrap()
        });
        let text = fs::read_to_string(&path).unwrap();
        let others = text.replace(&line("ours"), "");
        assert_eq!(others, format!("number = {last}\n"), "round {rounds}");
        survived += usize::from(others != text);
        assert_eq!(repair(&state(root), &Lines).unwrap(), None);
        assert_eq!(fs::read_dir(root).unwrap().count(), 2, "the file, and the state directory");
    }
    assert!(retried > 0, "the writer was never faster");
    assert!(survived > 0, "no line of ours was ever there at the end");
}

#[test]
fn nothing_of_a_writer_that_renames_is_lost() {
    beside_a_writer(|path, text| {
        let other = path.with_extension("other");
        fs::write(&other, text).unwrap();
        fs::rename(&other, path).unwrap();
    });
}

/// This one truncates the file and then writes it, so that others see it empty for a moment.
#[test]
fn nothing_of_a_writer_in_place_is_lost() {
    beside_a_writer(|path, text| fs::write(path, text).unwrap());
}
