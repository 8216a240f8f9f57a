//! Going on with a run whose writer is gone.
//!
//! ```text
//!   killed ──▶ lock free ──┬─ the next control server begins the run again ──▶ next segment, head line again
//!                          └─ nobody does for ten minutes ──▶ whoever sweeps closes it as abandoned
//! ```
//!
//! A run of the bound tier is owned by a control server, whose successor knows from its journal how it goes on. So nobody else
//! takes such a run up too early. A run that has its end is not waited for: nothing but shipping is left to do.

use bir_model::record::Record;
use bir_model::{RunId, Tier};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::names;
use super::read::{Item, SegmentReader};
use super::reserve::{self, Missed};
use super::side::{self, Ack};

/// How long after the last write of a bound run its next control server may come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10 * 60);

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
    let segments = names::segments_of(dir, run);
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return false };
    let last = dir.join(last.file_name());
    let written = std::fs::metadata(&last).and_then(|found| found.modified());
    let is_recent = written.is_ok_and(|at| at.elapsed().is_ok_and(|since| since < PATIENCE));
    is_recent && is_bound(&dir.join(first.file_name())) && !is_finished(dir, run, &last)
}

fn is_bound(first: &Path) -> bool {
    let Ok(Some(Item::Record { json, .. })) =
        SegmentReader::open(first, 0).and_then(|mut reader| reader.next())
    else {
        return false;
    };
    matches!(serde_json::from_slice(&json), Ok(Record::Run(run)) if run.tier == Tier::Bound)
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
