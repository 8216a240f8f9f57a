//! Changing several files as one: all of it, or none; and nothing that another program has written in the meantime is overwritten.
//!
//! ```text
//!  lock ─▶ repair ─▶ are the files as they were read? ─▶ pending.json ─▶ each file ─▶ looked at ─▶ installed.json ─▶ pending.json goes
//!                          └ no: Changed, and nothing was done          (exchanged)   once more      the point of no return
//! ```
//!
//! Until `installed.json` is there, every file that was exchanged is kept beside the new one under a temporary name, so that taking
//! back is one more exchange. A crash before that point is mended by the next command: an install is taken back, an uninstall is finished.
//!
//! One file per idea: [`disk`] is everything that changes something; `place` says which file is meant and whether it may be written;
//! `exchange` changes one file; `pending` is the note for the next command; `commit` is the picture above; `mend` brings files to
//! one state out of any; `repair` does so after a crash; `lock` keeps two of us apart.

pub mod disk;

mod commit;
mod exchange;
mod lock;
mod mend;
mod pending;
mod place;
mod repair;
mod writers;

pub use commit::{commit, commit_on};
pub use repair::{repair, repair_on};

use crate::ledger::{FileRecord, Layer, Ledger};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Which way a crash is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What was done is taken back.
    Install,
    /// What is left is done.
    Uninstall,
}

/// One file as it is to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Which. Through a symbolic link, its target is written.
    pub path: PathBuf,
    /// As it was read; none: there was no file.
    pub before: Option<Vec<u8>>,
    /// As it is to be; none: it goes.
    pub after: Option<Vec<u8>>,
    /// The values of credentials in it, for the deltas of the pending file.
    pub secrets: Vec<String>,
}

/// Changes that belong together.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Which way a crash is mended.
    pub kind: Kind,
    /// The files.
    pub changes: Vec<FileChange>,
    /// The ledger as it is to be, made out of the one that [`read_ledger`] gave: its revision says which one that was, and another
    /// one in between is a [`CommitError::Changed`]. The directories that are made for a file are noted in its record here.
    pub ledger: Ledger,
    /// Directories that go when they are empty, innermost first.
    pub empty_dirs: Vec<PathBuf>,
}

/// Why it was not done. Nothing has changed then.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Another program has changed a file (or another `bir` the ledger) since it was read: read all of it again.
    #[error("{} was changed by another program", .0.display())]
    Changed(PathBuf),
    /// Another `bir` is at it.
    #[error("another `bir install` or `bir uninstall` is running; wait for its end")]
    Busy,
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The ledger, or the note of an interrupted command, is of a newer version, or broken. Nothing was touched.
    #[error("{0}")]
    Ledger(String),
    /// It failed, and so did taking it back; the note is kept, and the next command mends it. The one error after which files may have
    /// changed.
    #[error("cannot write {}: {source}; what was begun could not be taken back: run the command again once that is mended", path.display())]
    Unfinished {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl CommitError {
    /// Whether another of us has written the ledger in between: a new plan is enough, and it comes through once the others are done.
    #[must_use]
    pub fn is_by_another_bir(&self, state_dir: &Path) -> bool {
        matches!(self, Self::Busy)
            || matches!(self, Self::Changed(path) if *path == crate::ledger::store::path(state_dir))
    }

    fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

/// A file that is neither as it was before an interrupted command nor as it is after it, or for which there is no delta.
#[derive(Debug, Clone, Copy)]
pub struct Mending<'a> {
    /// Which, as the host names it.
    pub path: &'a Path,
    /// What it says now.
    pub text: &'a [u8],
    /// What of ours may stand in it.
    pub from: Option<&'a FileRecord>,
    /// What of ours is to stand in it; none: nothing.
    pub to: Option<&'a FileRecord>,
}

impl Mending<'_> {
    /// The layers that are to be taken off, the newest first.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        let stay = self.to.map_or(&[][..], |record| &record.layers);
        let all = self.from.map_or(&[][..], |record| &record.layers);
        all.iter().rev().filter(move |layer| !stay.contains(layer))
    }
}

/// What becomes of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mended {
    /// This. The same text as now: there is nothing of ours in it.
    Text(Vec<u8>),
    /// It goes: there was nothing in it but what is ours.
    Gone,
    /// It cannot be told, and why: one sentence without a full stop. The file stays, and so does what the ledger says of it.
    Unclear(String),
}

/// Takes entries and hooks of ours out of a text of another program. Asked twice, the second answer must be the text as it is.
pub trait Mender {
    /// What the file is to say.
    fn mend(&self, mending: &Mending<'_>) -> Mended;
}

/// The ledger; an empty one where there is none.
///
/// # Errors
///
/// It is broken, or of a newer version.
pub fn read_ledger(state_dir: &Path) -> Result<Ledger, CommitError> {
    crate::ledger::store::read(state_dir)
}
