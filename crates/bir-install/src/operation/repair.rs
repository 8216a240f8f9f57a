//! What a crash has left becomes the one state or the other, with the ledger that belongs to it.

use super::disk::Disk;
use super::exchange::{self, Names};
use super::lock::Lock;
use super::mend::{Bench, Side, Unclear};
use super::pending::Pending;
use super::{CommitError, Kind, Mender};
use crate::ledger::{Ledger, store};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a crash had left, in words, once it has been mended. None: nothing was left.
///
/// # Errors
///
/// [`CommitError`]. What had been mended until then stays so; the next time goes on from there.
pub fn repair(state_dir: &Path, mender: &dyn Mender) -> Result<Option<String>, CommitError> {
    repair_on(&Disk::default(), state_dir, mender)
}

/// [`repair`], on a disk that a test watches.
///
/// # Errors
///
/// The same.
pub fn repair_on(disk: &Disk, state_dir: &Path, mender: &dyn Mender) -> Result<Option<String>, CommitError> {
    if !Pending::path(state_dir).exists() && leftovers(state_dir).is_empty() {
        return Ok(None);
    }
    let _lock = Lock::take(state_dir)?;
    locked(disk, state_dir, mender)
}

/// Half-written files of the state directory.
fn leftovers(state_dir: &Path) -> Vec<PathBuf> {
    let ours = |name: &str| name.starts_with(".bir-") && name.ends_with(".tmp");
    let entries = fs::read_dir(state_dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(ours)).map(|entry| entry.path()).collect()
}

/// [`repair`], by whoever holds the lock.
pub(super) fn locked(
    disk: &Disk,
    state_dir: &Path,
    mender: &dyn Mender,
) -> Result<Option<String>, CommitError> {
    for path in leftovers(state_dir) {
        disk.remove(&path).map_err(CommitError::write(&path))?;
    }
    let Some(pending) = Pending::read(state_dir)? else { return Ok(None) };
    let ledger = store::read(state_dir)?;
    if ledger.revision == pending.ledger.revision {
        finish(disk, state_dir, &pending)?;
        return Ok(Some(told(&pending, "had been interrupted at its very end, and is complete now", &[])));
    }
    let (side, what) = match pending.kind {
        Kind::Install => (Side::Before, "was interrupted; what it had done was taken back"),
        Kind::Uninstall => (Side::After, "was interrupted; what was left has been done"),
    };
    let bench = Bench { disk, pending: &pending, ledger: &ledger, mender, side, known: None };
    let unclear = settled(&bench, state_dir)?;
    Ok(Some(told(&pending, what, &unclear)))
}

/// The files, the ledger, and then the end of the note.
pub(super) fn settled(bench: &Bench<'_>, state_dir: &Path) -> Result<Vec<Unclear>, CommitError> {
    let unclear = bench.all()?;
    let ledger = ledger_of(bench, &unclear);
    if ledger != *bench.ledger {
        store::write(bench.disk, state_dir, &ledger)?;
    }
    match bench.side {
        Side::Before => end(bench.disk, state_dir)?,
        Side::After => finish(bench.disk, state_dir, bench.pending)?,
    }
    Ok(unclear)
}

/// The ledger of the side that was taken. What may still stand in a file that could not be mended stays noted.
fn ledger_of(bench: &Bench<'_>, unclear: &[Unclear]) -> Ledger {
    let (mut ledger, other) = match bench.side {
        Side::Before => (bench.ledger.clone(), &bench.pending.ledger),
        Side::After => (bench.pending.ledger.clone(), bench.ledger),
    };
    for Unclear { index, .. } in unclear {
        if let Some(record) = other.file(&bench.pending.files[*index].path) {
            ledger.put(record.clone());
        }
    }
    if bench.side == Side::Before && ledger != *bench.ledger {
        // Not the revision of the operation, which would mean that it is done.
        ledger.version = crate::ledger::VERSION;
        ledger.revision = uuid::Uuid::now_v7().simple().to_string();
    }
    ledger
}

/// What comes after the ledger: nothing of it is needed any more.
pub(super) fn finish(disk: &Disk, state_dir: &Path, pending: &Pending) -> Result<(), CommitError> {
    for (index, file) in pending.files.iter().enumerate() {
        let names = Names { id: &pending.id, index, real: &file.real };
        exchange::tidy(disk, names, file.after.as_ref()).map_err(CommitError::write(&file.path))?;
    }
    for dir in &pending.empty_dirs {
        disk.remove_empty_dir(dir).map_err(CommitError::write(dir))?;
    }
    if store::read(state_dir)?.is_empty() {
        let path = store::path(state_dir);
        disk.remove(&path).map_err(CommitError::write(&path))?;
    }
    end(disk, state_dir)
}

fn end(disk: &Disk, state_dir: &Path) -> Result<(), CommitError> {
    let path = Pending::path(state_dir);
    let gone =
        disk.sync_dir_of(&path).and_then(|()| disk.remove(&path)).and_then(|()| disk.sync_dir_of(&path));
    gone.map_err(|source: io::Error| CommitError::Write { path, source })
}

fn told(pending: &Pending, what: &str, unclear: &[Unclear]) -> String {
    let name = match pending.kind {
        Kind::Install => "an install",
        Kind::Uninstall => "an uninstall",
    };
    let mut text = format!("{name} {what}");
    for Unclear { index, why } in unclear {
        let path = pending.files[*index].path.display();
        text += &format!("; {path} was left as it is, since {why}: what of ours may be in it stays noted");
    }
    text
}
