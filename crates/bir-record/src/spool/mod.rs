//! The spool: what is recorded reaches a file here before anything else happens to it.
//!
//! ```text
//!  spool/run_0193….lock            held by who records the run; then by who ships what is left of it
//!  spool/run_0193…-000000.spool    lines of the run; closed at 1 MiB, then
//!  spool/run_0193…-000001.spool    the next one, which begins with the run's first record again
//!  spool/run_0193….ack             how far the hub has booked it
//!  spool/run_0193….lost            what had to go because the spool was full
//!  spool/run_0193….carried         a control server records it, and its successor goes on with it
//!  spool/run_0193….missed          how much could not be written, on room that was taken ahead
//!  spool/run_0193…-000000-7-14.gone  a segment that is being dropped, with the calls and records in it
//! ```
//!
//! A line is `CRC32 (8 hex digits), space, JSON of one record, line feed`. A record is *acknowledged* once the write of its line has
//! returned: from then on it survives the death of the process. An interrupted write leaves a line without an end or
//! with a wrong checksum, which a reader passes over.
//!
//! Nothing here fails outward once a run has begun: what cannot be written is counted, and the count is written as soon as
//! writing works again; if it never does, the count stands in `.missed`.

mod bound;
mod line;
mod names;
mod read;
mod reserve;
mod resume;
mod side;
mod write;

use bir_model::{RunId, StepId};
use ring::digest::{SHA256, digest};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use bound::{lock as bound_lock, note_gone};
pub use line::LONGEST_LINE;
pub use line::{decode, framed};
pub(crate) use names::SegmentName;
pub(crate) use names::{length, remove_sides, segments_of, side as side_file, try_lock};
pub(crate) use read::{Item, SegmentReader};
pub(crate) use reserve::read_missed;
pub(crate) use side::{Ack, OpenCall, note_loss, read_ack, write_ack};
pub use write::RunWriter;

use crate::SafeRecord;

/// A segment is closed when it has grown to so many bytes.
pub const SEGMENT: u64 = 1024 * 1024;

/// Bytes of the whole spool unless the configuration says otherwise: 256 MiB.
pub const DEFAULT_LIMIT: u64 = 256 * 1024 * 1024;

/// An id that follows from what it is for, so that whoever says the same says it under the same id.
pub(crate) fn derived_id(what: &str) -> StepId {
    let hash = digest(&SHA256, what.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    StepId::from_uuid(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

/// What waits in the spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpoolStats {
    /// Runs.
    pub runs: u64,
    /// Their segments.
    pub segments: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// When the oldest run began, ms since the Unix epoch.
    pub oldest: Option<u64>,
}

/// The spool of one state directory, as one process sees it. Clones are the same spool.
#[derive(Clone, Debug)]
pub struct Spool(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) dir: PathBuf,
    pub(crate) limit: u64,
    carried_on: bool,
    /// Bytes in the directory, as far as this process knows; counted anew where it matters.
    bytes: AtomicU64,
    /// Runs that this process records or has recorded, and has not shipped whole.
    own: Mutex<HashMap<RunId, Own>>,
    /// Told after each write.
    pub(crate) news: tokio::sync::Notify,
}

/// A run of this process.
#[derive(Debug)]
pub(crate) enum Own {
    /// It is being written.
    Live,
    /// It is over; the lock is kept until it has been shipped.
    Ended(File),
}

impl Spool {
    /// The spool of a state directory, which need not exist yet: nothing is made before there is something to keep.
    #[must_use]
    pub fn new(state_dir: &Path, limit: u64) -> Self {
        Self(Arc::new(Inner {
            dir: state_dir.join("spool"),
            limit,
            carried_on: false,
            bytes: AtomicU64::new(u64::MAX),
            own: Mutex::default(),
            news: tokio::sync::Notify::new(),
        }))
    }

    /// The same spool, whose runs a successor of this process goes on with when it dies. Others leave them alone for ten
    /// minutes after the last write.
    #[must_use]
    pub fn carried_on(mut self) -> Self {
        // Nobody else has it yet, or it stays as it is.
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.carried_on = true;
        }
        self
    }

    /// Begins a run, or goes on with one whose writer has ended or was killed; `first` is its
    /// [`Record::Run`](bir_model::record::Record::Run).
    ///
    /// # Errors
    ///
    /// The directory or the files cannot be made, or somebody records the run, or ships what is left of it (`ResourceBusy`).
    pub fn begin(&self, first: &SafeRecord) -> io::Result<RunWriter> {
        bir_home::ensure(&self.0.dir)?;
        if self.0.bytes.load(Ordering::Relaxed) == u64::MAX {
            self.0.bytes.store(bound::bytes(&self.0.dir), Ordering::Relaxed);
        }
        RunWriter::begin(Arc::clone(&self.0), first)
    }

    /// Whether anything is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        names::runs(&self.0.dir).is_empty()
    }

    /// The runs that nobody records any more and nobody is shipping. One that a control server may be going on with soon is
    /// not among them.
    #[must_use]
    pub fn abandoned(&self) -> Vec<RunId> {
        let dir = &self.0.dir;
        let mut runs = names::runs(dir);
        let own = self.own();
        runs.retain(|run| {
            !own.contains_key(run) && try_lock(dir, *run).is_some() && !resume::is_awaited(dir, *run)
        });
        runs
    }

    /// What waits.
    #[must_use]
    pub fn stats(&self) -> SpoolStats {
        let mut stats = SpoolStats::default();
        let runs = names::runs(&self.0.dir);
        stats.runs = runs.len() as u64;
        // The first 48 bits of a UUIDv7 are its time in ms.
        stats.oldest = runs.first().map(|run| u64::try_from(run.uuid().as_u128() >> 80).unwrap_or_default());
        for segment in names::segments(&self.0.dir) {
            stats.segments += 1;
            stats.bytes += length(&self.0.dir.join(segment.file_name()));
        }
        stats
    }

    /// Runs of this process, oldest first, and whether their writing is over.
    pub(crate) fn own_runs(&self) -> Vec<(RunId, bool)> {
        let mut runs: Vec<_> =
            self.own().iter().map(|(run, own)| (*run, matches!(own, Own::Ended(_)))).collect();
        runs.sort_unstable();
        runs
    }

    /// Whether this process writes the run now.
    pub(crate) fn is_live(&self, run: RunId) -> bool {
        matches!(self.own().get(&run), Some(Own::Live))
    }

    /// A run has been shipped whole: its files are taken away, and its lock goes. Nothing is done, and it is false, where the
    /// run has begun to go on meanwhile.
    pub(crate) fn release(&self, run: RunId, take_away: impl FnOnce()) -> bool {
        let mut own = self.own();
        if matches!(own.get(&run), Some(Own::Live)) {
            return false;
        }
        take_away();
        own.remove(&run);
        true
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    fn own(&self) -> MutexGuard<'_, HashMap<RunId, Own>> {
        self.0.own()
    }
}

impl Inner {
    pub(crate) fn own(&self) -> MutexGuard<'_, HashMap<RunId, Own>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock of a run that this process has ended; the run counts as being written from now on.
    fn reclaim(&self, run: RunId) -> Option<File> {
        let mut own = self.own();
        match own.remove(&run)? {
            Own::Live => {
                own.insert(run, Own::Live);
                None
            }
            Own::Ended(lock) => {
                own.insert(run, Own::Live);
                Some(lock)
            }
        }
    }

    /// Notes that so many bytes were written, and makes room where they are too many.
    fn grown(&self, bytes: u64) {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.limit {
            let left = bound::make_room(self);
            self.bytes.store(left, Ordering::Relaxed);
        }
    }

    pub(crate) fn shrunk(&self, bytes: u64) {
        let less = |held: u64| if held == u64::MAX { None } else { Some(held.saturating_sub(bytes)) };
        let _ = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}
