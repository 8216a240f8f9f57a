//! Keeping the spool within its bound.
//!
//! The oldest segment goes first, whoever wrote it, and its run is told in its `.lost` file. A segment that a living process
//! is appending to is the last of its run and is spared: it is bounded by [`SEGMENT`](super::SEGMENT). So the spool exceeds
//! its bound by at most one segment for each run that is being recorded.

use bir_model::RunId;
use bir_model::record::{Lost, Record, StepType};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::names::GoneName;
use super::read::{Item, SegmentReader};
use super::{Inner, SegmentName, derived_id, names, side};

/// Below the bound by so much, so that not every record makes room anew: a sixteenth.
const SLACK: u64 = 16;

/// Bytes of all segments.
pub(crate) fn bytes(dir: &Path) -> u64 {
    names::segments(dir).iter().map(|segment| names::length(&dir.join(segment.file_name()))).sum()
}

/// One process at a time makes room, or takes up what `.lost` files say.
pub(crate) fn lock(dir: &Path) -> Option<File> {
    let file =
        bir_home::private().write(true).create(true).truncate(false).open(dir.join("bound.lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Deletes the oldest segments until the spool is below its bound. Returns what is left in bytes.
pub(crate) fn make_room(inner: &Inner) -> u64 {
    let _held = lock(&inner.dir);
    note(&inner.dir, names::gone(&inner.dir, None));
    let segments = names::segments(&inner.dir);
    let mut last_of: HashMap<RunId, u32> = HashMap::new();
    for segment in &segments {
        last_of.insert(segment.run, segment.number);
    }
    let target = inner.limit - inner.limit / SLACK;
    let mut left = bytes(&inner.dir);
    for segment in segments {
        if left <= target {
            break;
        }
        let is_last = last_of.get(&segment.run) == Some(&segment.number);
        if is_last && is_written(inner, segment.run) {
            continue;
        }
        left = left.saturating_sub(drop_segment(&inner.dir, segment));
    }
    left
}

fn is_written(inner: &Inner, run: RunId) -> bool {
    inner.own().contains_key(&run) || names::try_lock(&inner.dir, run).is_none()
}

/// Deletes one segment and notes what it held and the hub has not booked. Returns its size.
///
/// Its name is changed first, and says what is lost from then on: whoever dies in between leaves a file by which the next one
/// finishes it.
fn drop_segment(dir: &Path, segment: SegmentName) -> u64 {
    let path = dir.join(segment.file_name());
    let size = names::length(&path);
    let (calls, records) = unbooked(dir, segment);
    let gone = GoneName { segment, calls, records };
    match fs::rename(&path, dir.join(gone.file_name())) {
        Ok(()) => note(dir, vec![gone]),
        // Somebody booked it meanwhile, or nothing can be done here.
        Err(_) => return 0,
    }
    size
}

/// Notes what segments held whose dropping was begun, of one run, and deletes them.
pub(crate) fn note_gone(dir: &Path, run: RunId) {
    if !names::gone(dir, Some(run)).is_empty() {
        let _held = lock(dir);
        note(dir, names::gone(dir, Some(run)));
    }
}

/// The caller holds the lock.
fn note(dir: &Path, gone: Vec<GoneName>) {
    for gone in gone {
        let path = dir.join(gone.file_name());
        let (head, length) = head(&path);
        let (run_id, number) = (gone.segment.run, gone.segment.number);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let lost = Lost {
            run_id,
            id: derived_id(&format!("{run_id} gone {number}")),
            calls: gone.calls,
            records: gone.records,
            reason: "spool_full".into(),
            at: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
        };
        if gone.records == 0 || side::note_loss(dir, head.as_ref(), &lost).is_ok() {
            let _ = fs::remove_file(&path);
        } else if let Ok(file) = File::options().write(true).open(&path) {
            // There is no room for the note. The name says it, and all but the head makes room.
            let _ = file.set_len(length);
        }
    }
}

/// The run record with which a segment begins, and the length of its line.
fn head(path: &Path) -> (Option<Record>, u64) {
    match SegmentReader::open(path, 0).and_then(|mut reader| reader.next()) {
        Ok(Some(Item::Record { json, end })) => {
            let record = serde_json::from_slice(&json).ok().filter(|r| matches!(r, Record::Run(_)));
            (record, end)
        }
        _ => (None, 0),
    }
}

/// Calls that began, and records, behind what is booked. The first line repeats the run and does not count.
fn unbooked(dir: &Path, segment: SegmentName) -> (u64, u64) {
    let ack = side::read_ack(dir, segment.run);
    if segment.number < ack.segment {
        return (0, 0);
    }
    let from = if segment.number == ack.segment { ack.offset } else { 0 };
    let Ok(mut reader) = SegmentReader::open(&dir.join(segment.file_name()), from) else { return (0, 0) };
    let (mut calls, mut records) = (0, 0);
    while let Ok(Some(item)) = reader.next() {
        let Item::Record { json, .. } = item else {
            records += 1;
            continue;
        };
        match serde_json::from_slice::<Record>(&json) {
            Ok(Record::Run(_)) => {}
            Ok(Record::Step(step)) => {
                records += 1;
                calls += u64::from(step.step_type == StepType::ToolSelected);
            }
            Ok(_) | Err(_) => records += 1,
        }
    }
    (calls, records)
}
