//! The way of an operation, from the look at the files to the end of its note.

use super::disk::Disk;
use super::exchange::{self, Change, Names};
use super::lock::Lock;
use super::mend::{Bench, Side};
use super::pending::{Pending, PendingFile};
use super::{CommitError, FileChange, Mender, Operation, place, repair, writers};
use crate::ledger::{self, Ledger, store};
use std::io;
use std::path::{Path, PathBuf};

/// Carries an operation out. What a crash had left before is mended first.
///
/// # Errors
///
/// [`CommitError`]; what had been written is taken back.
pub fn commit(state_dir: &Path, operation: &Operation, mender: &dyn Mender) -> Result<(), CommitError> {
    commit_on(&Disk::default(), state_dir, operation, mender)
}

/// [`commit`], on a disk that a test watches.
///
/// # Errors
///
/// The same.
pub fn commit_on(
    disk: &Disk,
    state_dir: &Path,
    operation: &Operation,
    mender: &dyn Mender,
) -> Result<(), CommitError> {
    let _lock = Lock::take(state_dir)?;
    repair::locked(disk, state_dir, mender)?;
    let ledger = store::read(state_dir)?;
    if ledger.revision != operation.ledger.revision {
        return Err(CommitError::Changed(store::path(state_dir)));
    }
    let changes = looked_at(&operation.changes)?;
    if changes.is_empty() && operation.empty_dirs.is_empty() && ledger == operation.ledger {
        return Ok(());
    }

    let files = changes.iter().map(|(change, real)| PendingFile::of(operation.kind, change, real.clone()));
    let (next, made_dirs) = prepared(&operation.ledger, &changes);
    let pending = Pending::new(operation, files.collect(), made_dirs, next);
    pending.write(disk, state_dir)?;

    if let Err(error) = carried_out(disk, state_dir, &pending, &changes) {
        let known: Vec<_> = changes.iter().map(|(change, _)| change.before.as_deref()).collect();
        let bench = Bench {
            disk,
            pending: &pending,
            ledger: &ledger,
            mender,
            side: Side::Before,
            known: Some(&known),
        };
        return Err(match repair::settled(&bench, state_dir) {
            Ok(_) => error,
            Err(CommitError::Write { path, source }) => CommitError::Unfinished { path, source },
            Err(worse) => worse,
        });
    }
    // It is done. Should the rest fail, the next command does it.
    let _ = repair::finish(disk, state_dir, &pending);
    Ok(())
}

/// The changes that change something, with their real files, which are as they were read and may be written.
fn looked_at(changes: &[FileChange]) -> Result<Vec<(&FileChange, PathBuf)>, CommitError> {
    let mut all: Vec<(&FileChange, PathBuf)> = Vec::with_capacity(changes.len());
    for change in changes.iter().filter(|change| change.before != change.after) {
        let fail = || CommitError::write(&change.path);
        let real = place::real(&change.path).map_err(fail())?;
        if let Some((other, _)) = all.iter().find(|(_, other)| *other == real) {
            let why = format!("it is the same file as {}", other.path.display());
            return Err(fail()(place::refuse(io::ErrorKind::InvalidInput, &why)));
        }
        place::may_write(&real).map_err(fail())?;
        if place::read(&real).map_err(fail())? != change.before {
            return Err(CommitError::Changed(change.path.clone()));
        }
        all.push((change, real));
    }
    Ok(all)
}

/// The ledger with what only is known now, and the directories that are made, outermost first.
fn prepared(ledger: &Ledger, changes: &[(&FileChange, PathBuf)]) -> (Ledger, Vec<PathBuf>) {
    let mut next = ledger.clone();
    next.version = ledger::VERSION;
    next.program = env!("CARGO_PKG_VERSION").to_owned();
    next.revision = uuid::Uuid::now_v7().simple().to_string();
    let mut made = Vec::new();
    for (change, real) in changes.iter().filter(|(change, _)| change.after.is_some()) {
        // Two files in one new directory both note it: it goes with the last of them.
        let dirs = place::missing_dirs(real);
        if let Some(record) = next.files.iter_mut().find(|record| record.path == change.path) {
            add(&mut record.made_dirs, &dirs);
        }
        add(&mut made, &dirs);
    }
    (next, made)
}

fn add(to: &mut Vec<PathBuf>, dirs: &[PathBuf]) {
    for dir in dirs {
        if !to.contains(dir) {
            to.push(dir.clone());
        }
    }
}

/// Up to the ledger, which makes it valid.
fn carried_out(
    disk: &Disk,
    state_dir: &Path,
    pending: &Pending,
    changes: &[(&FileChange, PathBuf)],
) -> Result<(), CommitError> {
    for dir in &pending.made_dirs {
        disk.make_dir(dir).and_then(|_| disk.sync_dir_of(dir)).map_err(CommitError::write(dir))?;
    }
    let mut held = Vec::new();
    for (index, (change, real)) in changes.iter().enumerate() {
        let names = Names { id: &pending.id, index, real };
        match exchange::change(disk, names, change.before.as_deref(), change.after.as_deref()) {
            Ok(Change::Done(old)) => held.extend(old.map(|old| (*change, old))),
            Ok(Change::Faster) => return Err(CommitError::Changed(change.path.clone())),
            Err(source) => return Err(CommitError::write(&change.path)(source)),
        }
    }
    writers::wait_for(&held.iter().map(|(_, old)| old.as_path()).collect::<Vec<_>>());
    for (change, old) in held {
        if place::read(&old).map_err(CommitError::write(&change.path))? != change.before {
            return Err(CommitError::Changed(change.path.clone()));
        }
    }
    // A host may have written what it remembers over ours; the ledger says nothing then that is not so.
    for (change, real) in changes {
        if place::read(real).map_err(CommitError::write(&change.path))? != change.after {
            return Err(CommitError::Changed(change.path.clone()));
        }
    }
    store::write(disk, state_dir, &pending.ledger)
}
