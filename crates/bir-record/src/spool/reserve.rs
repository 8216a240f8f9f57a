//! What a writer could not write, told on room that was taken while there was some.
//!
//! A disk that is full may stay full until the writer ends, or is killed. So the count of what is missing waits for no room: it
//! stands in `<run>.missed`, which is made with the run at its whole size, and is overwritten in place. As soon as the disk
//! takes a line again, the count goes into a segment as a loss; if it never does, whoever ships the run reads it here. Both
//! use the same id, so it is booked once.

use bir_model::record::Lost;
use bir_model::{RunId, StepId};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{derived_id, line, names};

/// Bytes of the file: three numbers of any size and their names, a checksum, and room.
const SIZE: usize = 128;

/// What was not written since something last could be told in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missed {
    /// How often such a count was told before.
    pub(crate) turn: u64,
    pub(crate) calls: u64,
    pub(crate) records: u64,
}

impl Missed {
    /// The loss that tells of it. Whoever tells it uses the same id.
    pub(crate) fn loss(self, run_id: RunId) -> Lost {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Lost {
            run_id,
            id: self.id(run_id),
            calls: self.calls,
            records: self.records,
            reason: "disk".into(),
            at: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn id(self, run: RunId) -> StepId {
        derived_id(&format!("{run} missed {}", self.turn))
    }
}

/// The file, and what stands in it.
#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    noted: Missed,
}

impl Reserve {
    /// Takes the room, and notes what is missing already.
    pub(super) fn take(dir: &Path, run: RunId, missed: Missed) -> io::Result<Self> {
        let path = names::side(dir, run, "missed");
        // What stands there is overwritten in place: at no time is a count gone.
        let file = bir_home::private().write(true).create(true).truncate(false).open(path)?;
        let mut reserve = Self { file, noted: missed };
        reserve.write(missed)?;
        Ok(reserve)
    }

    /// Notes what is missing now.
    pub(super) fn note(&mut self, missed: Missed) {
        // It is overwritten where it stands, which takes no room. What fails all the same is tried with the next record.
        if missed != self.noted && self.write(missed).is_ok() {
            self.noted = missed;
        }
    }

    fn write(&mut self, missed: Missed) -> io::Result<()> {
        let json = serde_json::to_string(&missed)?;
        let text = line::framed(&format!("{json:<width$}", width = SIZE - line::PREFIX - 1));
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&text)
    }
}

/// What a run that nobody writes any more is missing and nobody was told of; None when that is nothing.
pub(crate) fn read_missed(dir: &Path, run: RunId) -> Option<Missed> {
    read(dir, run).filter(|missed| missed.records > 0)
}

/// What the file says; None where there is none that can be read.
pub(super) fn read(dir: &Path, run: RunId) -> Option<Missed> {
    let text = std::fs::read(names::side(dir, run, "missed")).ok()?;
    let json = line::decode(text.strip_suffix(b"\n")?)?;
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_as_it_was_noted_and_the_file_never_grows() {
        let (dir, run) = (tempfile::tempdir().unwrap(), RunId::new());
        let path = names::side(dir.path(), run, "missed");
        let mut reserve = Reserve::take(dir.path(), run, Missed::default()).unwrap();
        assert_eq!((read_missed(dir.path(), run), names::length(&path)), (None, SIZE as u64));
        for missed in [
            Missed { turn: 0, calls: 1, records: 3 },
            Missed { turn: 7, calls: 0, records: 1 },
            Missed { turn: u64::MAX, calls: u64::MAX, records: u64::MAX },
        ] {
            reserve.note(missed);
            assert_eq!((read_missed(dir.path(), run), names::length(&path)), (Some(missed), SIZE as u64));
        }
        reserve.note(Missed { turn: 8, ..Missed::default() });
        assert_eq!(read_missed(dir.path(), run), None);
    }
}
