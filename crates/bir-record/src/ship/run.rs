//! Sending one run.

use bir_model::RunId;
use bir_model::record::{Lost, Record};
use bytes::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::batch::{self, Batch, LINES, Weight};
use super::{Level, Log};
use crate::hub::{HubClient, HubError};
use crate::spool::{self, Ack, Spool};

/// What the hub says of a batch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Booked {
    refused: Vec<Refusal>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    /// Counted from 1.
    line: usize,
    code: String,
}

/// Sends what is there of a run. `over`: nobody writes it any more. True: all of it is booked and its files are gone.
pub(super) async fn ship(
    client: &mut HubClient,
    spool: &Spool,
    run: RunId,
    over: bool,
    log: &Log,
) -> Result<bool, HubError> {
    let dir = &spool.inner().dir;
    spool::note_gone(dir, run);
    let mut ack = spool::read_ack(dir, run);
    // What was too much once is too much for the rest of the run, too.
    let mut most = LINES;
    loop {
        // It may begin to go on at any time.
        let over = over && !spool.is_live(run);
        let batch = Batch::collect(dir, run, &ack, most).map_err(|e| state(dir, &e))?;
        let batch = if batch.fresh == 0 && over {
            Batch::closing(dir, run, &ack).map_err(|e| state(dir, &e))?
        } else {
            batch
        };
        if batch.fresh == 0 {
            return Ok(over && remove(spool, run));
        }
        match client.post_lines("/recordings/batch", Bytes::from(batch.body.clone())).await {
            Ok(answer) => {
                let booked: Booked = answer.json()?;
                settle(spool, run, &batch, &booked.refused, log);
            }
            // Too much at once, or something in it that the hub cannot read: less at once, until it is one line.
            Err(e) if matches!(e.status(), Some(400 | 413 | 422)) && batch.fresh > 1 && most > 1 => {
                most = (batch.fresh / 2).max(1);
                continue;
            }
            Err(e) if matches!(e.status(), Some(400 | 413 | 422)) => {
                let code = e.code().unwrap_or_default().to_owned();
                settle(spool, run, &batch, &[Refusal { line: batch.counts.len(), code }], log);
            }
            Err(e) => return Err(e),
        }
        ack = batch.ack;
        spool::write_ack(dir, run, &ack).map_err(|e| state(dir, &e))?;
        delete_booked(spool, run, &ack);
    }
}

fn state(dir: &Path, e: &std::io::Error) -> HubError {
    HubError::State { place: dir.display().to_string(), why: e.to_string() }
}

/// A batch was taken: what was refused is told, and the losses that were in it are told no more.
fn settle(spool: &Spool, run: RunId, batch: &Batch, refused: &[Refusal], log: &Log) {
    let dir = &spool.inner().dir;
    let held = spool::bound_lock(dir);
    let lost_file = spool::side_file(dir, run, "lost");
    if batch.lost_bytes > 0 && spool::length(&lost_file) == batch.lost_bytes {
        let _ = std::fs::remove_file(&lost_file);
    }
    if batch.missed {
        let _ = std::fs::remove_file(spool::side_file(dir, run, "missed"));
    }
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut calls, mut records) = (0, 0);
    for refusal in refused {
        let weight = refusal.line.checked_sub(1).and_then(|at| batch.counts.get(at)).copied();
        match weight {
            None | Some(Weight::Nothing) => continue,
            Some(Weight::Record) => records += 1,
            Some(Weight::Call) => {
                records += 1;
                calls += 1;
            }
        }
        *codes.entry(&refusal.code).or_default() += 1;
    }
    if records == 0 {
        return;
    }
    for (code, count) in &codes {
        log(Level::Warn, &format!("the hub refused {count} records of {run}: {code}"));
    }
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let lost = Lost {
        run_id: run,
        id: batch::derived(run, batch.ack.segment, batch.ack.offset),
        calls,
        records,
        reason: "refused".into(),
        at: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
    };
    let _ = spool::note_loss(dir, None::<&Record>, &lost);
    drop(held);
}

/// Deletes the segments that are booked whole.
fn delete_booked(spool: &Spool, run: RunId, ack: &Ack) {
    let inner = spool.inner();
    for segment in spool::segments_of(&inner.dir, run).into_iter().filter(|s| s.number < ack.segment) {
        let path = inner.dir.join(segment.file_name());
        let bytes = spool::length(&path);
        if std::fs::remove_file(path).is_ok() {
            inner.shrunk(bytes);
        }
    }
}

/// The run is booked whole. False: it has begun to go on.
fn remove(spool: &Spool, run: RunId) -> bool {
    spool.release(run, || {
        delete_booked(spool, run, &Ack { segment: u32::MAX, ..Ack::default() });
        spool::remove_sides(&spool.inner().dir, run);
    })
}
