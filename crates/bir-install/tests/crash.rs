//! A command is killed before each of its steps, and so is the repair: what remains is the one state or the other.
//!
//! The test program starts itself as the child that is killed: `the_child` does nothing unless it is told to by its environment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

mod common;

use bir_install::operation::disk::Disk;
use bir_install::operation::{Operation, commit, commit_on, read_ledger, repair, repair_on};
use common::{Lines, SECRET, files, install, no_secret, snapshot, state, uninstall, without_ours, world};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

type Snapshot = BTreeMap<PathBuf, String>;

/// More steps than anything here has.
const MANY: usize = 400;

fn operation(root: &Path, what: &str) -> Operation {
    match what {
        "install" => install(root, "one", &files(root)),
        "again" => install(root, "two", &files(root)),
        "uninstall" => uninstall(root),
        // The credential is in the older text alone: no delta may lead back to it.
        "bare" => {
            let mut operation = install(root, "one", &files(root));
            for after in operation.changes.iter_mut().filter_map(|change| change.after.as_mut()) {
                *after = String::from_utf8_lossy(after).replace(SECRET, "").into_bytes();
            }
            operation
        }
        other => panic!("{other}"),
    }
}

/// The state before a command.
fn prepare(root: &Path, what: &str) {
    world(root);
    if what != "again" && what != "uninstall" {
        // The state directory is made by whatever comes first, and is nobody's trace.
        commit(&state(root), &install(root, "none", &[]), &Lines).unwrap();
    } else {
        commit(&state(root), &operation(root, "install"), &Lines).unwrap();
    }
}

#[test]
fn the_child() {
    let Ok(root) = std::env::var("CRASH_ROOT") else { return };
    let (root, what) = (PathBuf::from(root), std::env::var("CRASH_WHAT").unwrap());
    let at: usize = std::env::var("CRASH_AT").unwrap().parse().unwrap();
    let steps = AtomicUsize::new(0);
    let disk = Disk::watched(Box::new(move |_, _| {
        if steps.fetch_add(1, Ordering::Relaxed) == at {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        Ok(())
    }));
    let disk = if std::env::var_os("CRASH_PLAIN").is_some() { disk.without_exchange() } else { disk };
    if what == "repair" {
        repair_on(&disk, &state(&root), &Lines).unwrap();
    } else {
        commit_on(&disk, &state(&root), &operation(&root, &what), &Lines).unwrap();
    }
}

/// True: it was killed at that step. False: it came to its end.
fn killed(root: &Path, what: &str, at: usize, plain: bool) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "the_child", "--quiet"]).stdout(Stdio::null());
    child.env("CRASH_ROOT", root).env("CRASH_WHAT", what).env("CRASH_AT", at.to_string());
    if plain {
        child.env("CRASH_PLAIN", "1");
    }
    let status = child.status().unwrap();
    assert!(status.success() || status.signal() == Some(9), "{what} {at}: {status}");
    status.signal() == Some(9)
}

/// What stands there before and after a command that nothing disturbs.
fn both(what: &str) -> (Snapshot, Snapshot) {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path(), what);
    let before = snapshot(dir.path());
    commit(&state(dir.path()), &operation(dir.path(), what), &Lines).unwrap();
    (before, snapshot(dir.path()))
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap().success());
}

fn at_every_step(what: &str, plain: bool) {
    let (before, after) = both(what);
    assert_ne!(before, after);
    for at in 0..MANY {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path(), what);
        let root = dir.path();
        let ended = !killed(root, what, at, plain);
        no_secret(root);
        if ended {
            assert_eq!(snapshot(root), after);
            assert!(at > 25, "{at} steps are too few to be all of them");
            return;
        }
        // The repair is killed at every step in its turn, each time out of the same state.
        for again in (at % 4..MANY).step_by(4) {
            let dir = tempfile::tempdir().unwrap();
            copy(root, dir.path());
            // Absolute paths stand in the ledger and in the note.
            for name in ["installed.json", "pending.json"] {
                let path = state(dir.path()).join(name);
                let Ok(text) = fs::read_to_string(&path) else { continue };
                fs::write(&path, text.replace(root.to_str().unwrap(), dir.path().to_str().unwrap())).unwrap();
            }
            let ended = !killed(dir.path(), "repair", again, plain);
            repair(&state(dir.path()), &Lines).unwrap();
            one_of(&snapshot(dir.path()), &before, &after, what, (at, again));
            if ended {
                break;
            }
        }
        // And one repair after the other is killed, each a step later than the last one.
        let mut chain = 0;
        while at % 5 == 0 && killed(root, "repair", chain, plain) {
            chain += 1;
        }
        repair(&state(root), &Lines).unwrap();
        let now = snapshot(root);
        one_of(&now, &before, &after, what, (at, chain));
        assert_eq!(repair(&state(root), &Lines).unwrap(), None);
        assert_eq!(snapshot(root), now);
    }
    panic!("it does not end");
}

fn one_of(now: &Snapshot, before: &Snapshot, after: &Snapshot, what: &str, at: (usize, usize)) {
    let differ = |other: &Snapshot| {
        let gone = other.iter().filter(|(path, says)| now.get(*path) != Some(says));
        let new = now.iter().filter(|(path, says)| other.get(*path) != Some(says));
        format!("{:#?} instead of {:#?}", new.collect::<Vec<_>>(), gone.collect::<Vec<_>>())
    };
    assert!(now == before || now == after, "{what} at {at:?}: {}\nor {}", differ(before), differ(after));
}

#[test]
fn an_install_is_killed_at_every_step() {
    at_every_step("install", false);
}

#[test]
fn an_install_over_another_is_killed_at_every_step() {
    at_every_step("again", false);
}

#[test]
fn an_uninstall_is_killed_at_every_step() {
    at_every_step("uninstall", false);
}

/// There is no delta, but the old file itself is still there.
#[test]
fn an_install_without_a_way_back_in_its_note_is_killed_at_every_step() {
    at_every_step("bare", false);
}

#[test]
fn a_system_without_exchange_is_killed_at_every_step() {
    at_every_step("again", true);
    at_every_step("uninstall", true);
}

/// After the crash another program writes into the files that are there, before anybody repairs.
#[test]
fn another_program_writes_between_a_crash_and_its_repair() {
    for what in ["install", "again", "uninstall"] {
        let mut mended = 0;
        for at in 0..MANY {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path();
            prepare(root, what);
            if !killed(root, what, at, false) {
                break;
            }
            let written: Vec<_> = files(root).into_iter().filter(|path| path.exists()).collect();
            for (index, path) in written.iter().enumerate() {
                let text = [&fs::read(path).unwrap(), &b"\nothers\n"[..]].concat();
                let target = fs::canonicalize(path).unwrap();
                if (index + at) % 2 == 0 {
                    fs::write(&target, text).unwrap();
                } else {
                    fs::write(target.with_extension("other"), text).unwrap();
                    fs::rename(target.with_extension("other"), &target).unwrap();
                }
            }
            mended += usize::from(repair(&state(root), &Lines).unwrap().is_some());
            let ledger = read_ledger(&state(root)).unwrap();
            for path in &written {
                let text = fs::read(path).unwrap();
                let others = without_ours(&text);
                assert!(others.ends_with(b"\nothers\n"), "{what} {at}: {others:?}");
                let layers = ledger.file(path).map_or(0, |record| record.layers.len());
                let lines =
                    text.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"bir:")).count();
                assert_eq!(lines, layers, "{what} {at}: {}", String::from_utf8_lossy(&text));
            }
            let left =
                snapshot(root).into_keys().filter(|path| path.to_string_lossy().contains(".bir-")).count();
            assert_eq!(left, 0, "{what} {at}");
        }
        assert!(mended > 15, "{what}: {mended}");
    }
}

/// What cannot be mended stays, and stays in the ledger.
#[test]
fn a_file_that_cannot_be_read_any_more_stays_noted() {
    for what in ["again", "uninstall"] {
        // The first step after which the last file has changed.
        let dir = (0..MANY).find_map(|at| {
            let dir = tempfile::tempdir().unwrap();
            prepare(dir.path(), what);
            let whole = fs::read(&files(dir.path())[2]).unwrap();
            assert!(killed(dir.path(), what, at, false), "never");
            (fs::read(&files(dir.path())[2]).unwrap() != whole).then_some(dir)
        });
        let dir = dir.unwrap();
        let root = dir.path();
        assert!(state(root).join("pending.json").exists());
        let plain = &files(root)[2];
        fs::write(plain, "bir:two\nbir:one\nthis cannot be read").unwrap();
        let told = repair(&state(root), &Lines).unwrap().unwrap();
        assert!(told.contains("plain was left as it is, since it cannot be read"), "{told}");
        assert_eq!(fs::read(plain).unwrap(), b"bir:two\nbir:one\nthis cannot be read");
        let ledger = read_ledger(&state(root)).unwrap();
        let layers = |index: usize| ledger.file(&files(root)[index]).map_or(0, |record| record.layers.len());
        assert_eq!([layers(0), layers(1), layers(2)], if what == "again" { [1, 1, 2] } else { [0, 0, 1] });
        assert_eq!(repair(&state(root), &Lines).unwrap(), None);
    }
}
