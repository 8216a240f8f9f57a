//! Writing one run.

use bir_model::RunId;
use bir_model::record::{Record, StepType};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use super::reserve::{Missed, Reserve};
use super::{Inner, Own, SEGMENT, SegmentName, line, names, resume};
use crate::SafeRecord;

/// Bytes of lines that are written in one go, about.
const GROUP: usize = 512 * 1024;

/// Bytes of the buffer for lines that are kept between groups.
const MOST_KEPT: usize = 64 * 1024;

/// Writes one run. Dropping it ends the writing; the run itself ends with its [`Record::Finish`].
#[derive(Debug)]
pub struct RunWriter {
    spool: Arc<Inner>,
    run: RunId,
    /// The line of the run's first record, which begins every segment.
    head: Vec<u8>,
    number: u32,
    segment: Option<Segment>,
    /// Segments that were left since the last sync.
    left: Vec<File>,
    /// What could not be written since something last could.
    missed: Missed,
    reserve: Reserve,
    /// Reused for each group of lines.
    buffer: Vec<u8>,
    /// Held until the run has been shipped; absent only while it begins.
    lock: Option<File>,
}

#[derive(Debug)]
struct Segment {
    file: File,
    length: u64,
}

impl RunWriter {
    pub(super) fn begin(spool: Arc<Inner>, first: &SafeRecord) -> io::Result<Self> {
        let run = first.record().run_id();
        if !matches!(first.record(), Record::Run(_)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a run begins with its run record"));
        }
        let mut head = Vec::new();
        line::encode(first.record(), &mut head)?;
        // One that this process has ended, and whose lock it still holds for shipping, goes on under that lock.
        let ours = spool.reclaim(run);
        let was_ours = ours.is_some();
        let lock = ours.or_else(|| names::lock_new(&spool.dir, run)).ok_or(io::ErrorKind::ResourceBusy)?;
        match Self::begin_locked(&spool, run, head) {
            Ok(mut writer) => {
                writer.lock = Some(lock);
                spool.own().insert(run, Own::Live);
                spool.news.notify_one();
                Ok(writer)
            }
            Err(e) => {
                if was_ours {
                    spool.own().insert(run, Own::Ended(lock));
                }
                Err(e)
            }
        }
    }

    /// The caller has the lock, and gives it to the writer.
    fn begin_locked(spool: &Arc<Inner>, run: RunId, head: Vec<u8>) -> io::Result<Self> {
        let number = resume::next_number(&spool.dir, run);
        let missed = resume::missed(&spool.dir, run, number > 0);
        let begin = || {
            if spool.carried_on {
                resume::mark(&spool.dir, run)?;
            }
            let reserve = Reserve::take(&spool.dir, run, missed)?;
            let mut writer = Self {
                spool: Arc::clone(spool),
                run,
                head,
                number,
                segment: None,
                left: Vec::new(),
                missed,
                reserve,
                buffer: Vec::new(),
                lock: None,
            };
            writer.open_segment().map(|()| writer)
        };
        begin().inspect_err(|_| {
            // Of a run that was there before, what is known of it stays.
            if number == 0 {
                for side in ["missed", "carried", "lock"] {
                    let _ = std::fs::remove_file(names::side(&spool.dir, run, side));
                }
            }
        })
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Writes records, in one go where they are few. When this returns they survive the death of the process, or are
    /// counted as lost.
    pub fn append(&mut self, records: &[SafeRecord]) {
        let mut lines = std::mem::take(&mut self.buffer);
        let mut rest = records;
        loop {
            rest = self.append_group(rest, &mut lines);
            if rest.is_empty() {
                break;
            }
        }
        // One group of large rows is not kept around.
        lines.clear();
        lines.shrink_to(MOST_KEPT);
        self.buffer = lines;
        self.spool.news.notify_one();
    }

    /// Calls and records that could not be written and are not told in the spool yet.
    #[must_use]
    pub fn missed(&self) -> (u64, u64) {
        (self.missed.calls, self.missed.records)
    }

    /// Hands out what is to be brought to the disk itself, so that it survives a loss of power. Syncing may wait for the disk
    /// as long as it likes, so it is the caller's to do, wherever nothing waits for it.
    pub fn take_unsynced(&mut self) -> Vec<File> {
        let mut files = std::mem::take(&mut self.left);
        files.extend(self.segment.as_ref().and_then(|segment| segment.file.try_clone().ok()));
        files
    }

    /// Ends the writing.
    pub fn end(self) {}

    /// Writes as many records as fit into one group. Returns the others.
    fn append_group<'a>(&mut self, records: &'a [SafeRecord], lines: &mut Vec<u8>) -> &'a [SafeRecord] {
        lines.clear();
        let told = self.missed;
        if told.records > 0 {
            let _ = line::encode(&Record::Lost(told.loss(self.run)), lines);
        }
        let next = Missed { turn: told.turn + u64::from(told.records > 0), ..Missed::default() };
        let (mut group, mut unfit, mut taken) = (Missed::default(), next, 0);
        for record in records {
            let fits = line::encode(record.record(), lines).is_ok();
            count(if fits { &mut group } else { &mut unfit }, record);
            taken += 1;
            if lines.len() >= GROUP {
                break;
            }
        }
        self.missed = match self.write(lines) {
            Ok(()) => unfit,
            Err(_) => Missed {
                turn: told.turn,
                calls: told.calls + group.calls + unfit.calls,
                records: told.records + group.records + unfit.records,
            },
        };
        self.reserve.note(self.missed);
        &records[taken..]
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        if self.segment.as_ref().is_none_or(|segment| segment.length >= SEGMENT) {
            self.open_segment()?;
        }
        let segment = self.segment.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if let Err(e) = segment.file.write_all(lines) {
            // A part of it may stand there. Where it cannot be cut off, a reader stops before it, and another segment begins.
            if segment.file.set_len(segment.length).is_err() {
                self.segment = None;
            }
            return Err(e);
        }
        segment.length += lines.len() as u64;
        self.spool.grown(lines.len() as u64);
        Ok(())
    }

    fn open_segment(&mut self) -> io::Result<()> {
        let path = self.spool.dir.join(SegmentName { run: self.run, number: self.number }.file_name());
        let mut file = bir_home::private().append(true).create_new(true).open(&path)?;
        if let Err(e) = file.write_all(&self.head) {
            let _ = std::fs::remove_file(&path);
            return Err(e);
        }
        self.number += 1;
        let next = Segment { file, length: self.head.len() as u64 };
        self.left.extend(self.segment.replace(next).map(|full| full.file));
        self.spool.grown(self.head.len() as u64);
        Ok(())
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if self.missed.records > 0 && self.lock.is_some() {
            self.append(&[]);
        }
        // One that could not begin has none, and is nobody's.
        let Some(lock) = self.lock.take() else { return };
        self.spool.own().insert(self.run, Own::Ended(lock));
        self.spool.news.notify_one();
    }
}

fn count(missed: &mut Missed, record: &SafeRecord) {
    missed.records += 1;
    if let Record::Step(step) = record.record() {
        missed.calls += u64::from(step.step_type == StepType::ToolSelected);
    }
}
