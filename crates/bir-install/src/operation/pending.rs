//! `pending.json`: the note for the next command, should this one not come to its end. It stands in the state directory as long as
//! files are being changed, and like the ledger holds no value of a credential.

use super::{CommitError, FileChange, Kind, Operation};
use crate::delta::Delta;
use crate::ledger::{Hash, Ledger, store};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the file; a newer one is not touched.
const VERSION: u32 = 1;

/// The note.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pending {
    /// [`VERSION`].
    pub(super) version: u32,
    /// The operation, as temporary names have it.
    pub(super) id: String,
    /// Which way it is mended.
    pub(super) kind: Kind,
    /// The files.
    pub(super) files: Vec<PendingFile>,
    /// Directories that are made, outermost first.
    pub(super) made_dirs: Vec<PathBuf>,
    /// Directories that go when they are empty, innermost first.
    pub(super) empty_dirs: Vec<PathBuf>,
    /// The ledger as it is to be. Once the one on the disk has its revision, the operation is done.
    pub(super) ledger: Ledger,
}

/// A file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingFile {
    /// As the host names it.
    pub(super) path: PathBuf,
    /// Behind all links.
    pub(super) real: PathBuf,
    /// Before; none: there was no file.
    pub(super) before: Option<Hash>,
    /// Afterwards; none: it goes.
    pub(super) after: Option<Hash>,
    /// The way in which a crash is mended: back for an install, on for an uninstall. None: none without a credential.
    pub(super) mend: Option<Delta>,
}

impl PendingFile {
    pub(super) fn of(kind: Kind, change: &FileChange, real: PathBuf) -> Self {
        let hash = |content: &Option<Vec<u8>>| content.as_deref().map(Hash::of);
        let text = |content: &'_ Option<Vec<u8>>| content.clone().unwrap_or_default();
        let (new, old) = match kind {
            Kind::Install => (&change.after, &change.before),
            Kind::Uninstall => (&change.before, &change.after),
        };
        let mend = old.is_some().then(|| Delta::between(&text(new), &text(old), &change.secrets)).flatten();
        let (before, after) = (hash(&change.before), hash(&change.after));
        Self { path: change.path.clone(), real, before, after, mend }
    }
}

impl Pending {
    pub(super) fn new(
        operation: &Operation,
        files: Vec<PendingFile>,
        made_dirs: Vec<PathBuf>,
        ledger: Ledger,
    ) -> Self {
        let id = uuid::Uuid::now_v7().simple().to_string();
        let empty_dirs = operation.empty_dirs.clone();
        Self { version: VERSION, id, kind: operation.kind, files, made_dirs, empty_dirs, ledger }
    }

    pub(super) fn path(state_dir: &Path) -> PathBuf {
        state_dir.join("pending.json")
    }

    pub(super) fn read(state_dir: &Path) -> Result<Option<Self>, CommitError> {
        let advice = "a `bir install` or `bir uninstall` did not come to its end, and cannot be mended without it: look at the files \
                      that it names, then remove it and run `bir doctor`";
        store::read_versioned(&Self::path(state_dir), VERSION, advice)
    }

    pub(super) fn write(&self, disk: &super::disk::Disk, state_dir: &Path) -> Result<(), CommitError> {
        let path = Self::path(state_dir);
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        text.and_then(|text| disk.replace(&path, &text)).map_err(CommitError::write(&path))
    }
}
