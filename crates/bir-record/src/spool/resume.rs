//! Going on with a run whose writer is gone.
//!
//! ```text
//!   killed ──▶ lock free ──┬─ the next control server begins the run again ──▶ next segment, head line again
//!                          └─ nobody does for ten minutes ──▶ whoever sweeps closes it as abandoned
//! ```
//!
//! A control server's successor knows from its journal how its runs go on. So nobody else takes such a run up too early; they
//! are marked with a file, `.carried` ([`Spool::carried_on`](super::Spool::carried_on)). A run that has its end is not waited
//! for: nothing but shipping is left to do.

use bir_model::RunId;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::names;
use super::read::{Item, SegmentReader};
use super::reserve::{self, Missed};
use super::side::{self, Ack};

/// How long after the last write of such a run the next control server may come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The ending of the file that marks a run which a successor goes on with.
const MARK: &str = "carried";

/// Marks a run.
pub(super) fn mark(dir: &Path, run: RunId) -> io::Result<()> {
    bir_home::private().write(true).create(true).truncate(true).open(names::side(dir, run, MARK)).map(drop)
}

/// The number of the next segment: behind those that are there, that were sent, and that were dropped.
pub(super) fn next_number(dir: &Path, run: RunId) -> u32 {
    let there = names::segments_of(dir, run).last().map(|segment| segment.number);
    let dropped = names::gone(dir, Some(run)).iter().map(|gone| gone.segment.number).max();
    let ack = side::read_ack(dir, run);
    let sent = (ack != Ack::default()).then_some(ack.segment);
    [there, dropped, sent].into_iter().flatten().max().map_or(0, |last| last.saturating_add(1))
}

/// What its writer could not tell any more.
pub(super) fn missed(dir: &Path, run: RunId, goes_on: bool) -> Missed {
    // A count that was told before had a turn that nobody remembers; the time is none of those.
    let turn = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    reserve::read(dir, run).unwrap_or_else(|| Missed {
        turn: if goes_on { u64::try_from(turn()).unwrap_or_default() } else { 0 },
        ..Missed::default()
    })
}

/// Whether a run that nobody writes is to be left to the control server that comes next.
pub(super) fn is_awaited(dir: &Path, run: RunId) -> bool {
    if !names::side(dir, run, MARK).exists() {
        return false;
    }
    let Some(last) = names::segments_of(dir, run).last().map(|last| dir.join(last.file_name())) else {
        return false;
    };
    let written = std::fs::metadata(&last).and_then(|found| found.modified());
    let is_recent = written.is_ok_and(|at| at.elapsed().is_ok_and(|since| since < PATIENCE));
    is_recent && !is_finished(dir, run, &last)
}

fn is_finished(dir: &Path, run: RunId, last: &Path) -> bool {
    if side::read_ack(dir, run).finished {
        return true;
    }
    let Ok(mut reader) = SegmentReader::open(last, 0) else { return false };
    while let Ok(Some(item)) = reader.next() {
        if matches!(item, Item::Record { json, .. } if json.starts_with(br#"{"type":"finish""#)) {
            return true;
        }
    }
    false
}
