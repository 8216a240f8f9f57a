//! Brings the files of an operation to one of its two states, out of any state that they may be in.
//!
//! | the file is | it becomes |
//! |---|---|
//! | as wanted | – |
//! | as on the other side | what is wanted: the file that is held, the text that is known, or the delta |
//! | gone | – |
//! | anything else, or there is no delta | what the [`Mender`] makes of it |
//!
//! Each step may be the last one before a crash; the next time goes on from what is there then.

use super::disk::Disk;
use super::exchange::{self, Change, Names};
use super::pending::{Pending, PendingFile};
use super::{CommitError, Mended, Mender, Mending, place, writers};
use crate::delta::Delta;
use crate::ledger::{Hash, Ledger};
use std::io;
use std::path::PathBuf;

/// So often a file is begun with anew, because another program was faster.
const TRIES: usize = 200;

/// To which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// As it was before.
    Before,
    /// As it was to become.
    After,
}

/// A file that could not be brought there, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) index: usize,
    pub(super) why: String,
}

/// What is needed for it.
pub(super) struct Bench<'a> {
    pub(super) disk: &'a Disk,
    pub(super) pending: &'a Pending,
    /// The ledger as it was before the operation.
    pub(super) ledger: &'a Ledger,
    pub(super) mender: &'a dyn Mender,
    pub(super) side: Side,
    /// The texts of that side, as long as they are remembered.
    pub(super) known: Option<&'a [Option<&'a [u8]>]>,
}

impl Bench<'_> {
    /// All files, the last one first.
    pub(super) fn all(&self) -> Result<Vec<Unclear>, CommitError> {
        let mut unclear = Vec::new();
        for (index, file) in self.pending.files.iter().enumerate().rev() {
            let why = self.one(index, file).map_err(CommitError::write(&file.path))?;
            unclear.extend(why.map(|why| Unclear { index, why }));
        }
        if self.side == Side::Before {
            for dir in self.pending.made_dirs.iter().rev() {
                self.disk.remove_empty_dir(dir).map_err(CommitError::write(dir))?;
            }
        }
        Ok(unclear)
    }

    fn one(&self, index: usize, file: &PendingFile) -> io::Result<Option<String>> {
        let (other, wanted) = match self.side {
            Side::Before => (&file.after, &file.before),
            Side::After => (&file.before, &file.after),
        };
        let names = Names { id: &self.pending.id, index, real: &file.real };
        for _ in 0..TRIES {
            exchange::tidy(self.disk, names, wanted.as_ref())?;
            let now = place::read(&file.real)?;
            let hash = now.as_deref().map(Hash::of);
            if hash == *wanted || (now.is_none() && other.is_some()) {
                return Ok(None);
            }
            let exact =
                if hash == *other { self.exact(index, file, now.as_deref(), wanted.as_ref()) } else { None };
            let next = match (exact, now.as_deref()) {
                (Some(exact), _) => exact,
                (None, None) => {
                    return Ok(Some("it is gone, and held a credential that is kept nowhere else".into()));
                }
                (None, Some(text)) => match self.asked(file, text) {
                    Mended::Text(next) if next == text => return Ok(None),
                    Mended::Text(next) => Some(next),
                    Mended::Gone => None,
                    Mended::Unclear(why) => return Ok(Some(why)),
                },
            };
            place::may_write(&file.real)?;
            if let Change::Done(old) = exchange::change(self.disk, names, now.as_deref(), next.as_deref())? {
                // The next turn looks at what is held, and at the file.
                writers::wait_for(&old.iter().map(PathBuf::as_path).collect::<Vec<_>>());
            }
        }
        Err(place::refuse(io::ErrorKind::ResourceBusy, "another program does not stop writing it"))
    }

    /// The wanted text, byte for byte; the outer none: there is no way to it.
    fn exact(
        &self,
        index: usize,
        file: &PendingFile,
        now: Option<&[u8]>,
        wanted: Option<&Hash>,
    ) -> Option<Option<Vec<u8>>> {
        let Some(wanted) = wanted else { return Some(None) };
        if let Some(known) = self.known.and_then(|known| known.get(index)) {
            return Some(known.map(<[u8]>::to_vec));
        }
        let way: &Delta = file.mend.as_ref()?;
        let text = way.apply(now.unwrap_or_default())?;
        (Hash::of(&text) == *wanted).then_some(Some(text))
    }

    fn asked(&self, file: &PendingFile, text: &[u8]) -> Mended {
        let (old, new) = (self.ledger.file(&file.path), self.pending.ledger.file(&file.path));
        let (from, to) = match self.side {
            Side::Before => (new, old),
            Side::After => (old, new),
        };
        self.mender.mend(&Mending { path: &file.path, text, from, to })
    }
}
