//! What is sent in one request: lines of one run, from where the hub has booked it.

use bir_model::record::{EndReason, Finish, Lost, Record, Source, Step, StepType};
use bir_model::{Outcome, RunId, StepId};
use serde::Deserialize;
use std::io;
use std::path::Path;

use crate::spool::{self, Ack, Item, OpenCall, SegmentReader};

/// Bytes of a request, about.
pub(super) const BYTES: usize = 1024 * 1024;

/// Lines of a request.
pub(super) const LINES: usize = 1000;

/// What a line is, without its payloads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Light {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    step_index: Option<u32>,
    step_type: Option<StepType>,
    tool_name: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    call_id: Option<String>,
    at: Option<u64>,
    started_at: Option<u64>,
}

/// Lines for one request, and where the run stands when they are booked.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// JSON lines.
    pub(super) body: Vec<u8>,
    /// For each line, whether its refusal is a loss of a call or of a record; the run's own record and losses are none.
    pub(super) counts: Vec<Weight>,
    /// Where the run stands afterwards.
    pub(super) ack: Ack,
    /// Lines that are no repetition of the run's record.
    pub(super) fresh: usize,
    /// Bytes of the `.lost` file that are in here.
    pub(super) lost_bytes: u64,
    /// What `.missed` says is in here.
    pub(super) missed: bool,
}

/// What a refused line costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Nothing,
    Record,
    Call,
}

impl Batch {
    /// Collects what comes next.
    pub(super) fn collect(dir: &Path, run: RunId, ack: &Ack, most: usize) -> io::Result<Self> {
        let mut batch = Self { ack: ack.clone(), ..Self::default() };
        // In this order: a segment that has a successor is not written any more.
        let mut segments = spool::segments_of(dir, run);
        segments.retain(|segment| segment.number >= ack.segment);
        let losses = read_losses(dir, run)?;
        // A request stands for itself: the hub may have forgotten the run, or be another one.
        if let Some(first) = segments.first()
            && (!losses.is_empty() || (first.number == ack.segment && ack.offset > 0))
        {
            batch.repeat_head(&dir.join(first.file_name()));
        }
        batch.take_losses(&losses);
        for segment in segments {
            if segment.number > batch.ack.segment {
                batch.ack.segment = segment.number;
                batch.ack.offset = 0;
            }
            let path = dir.join(segment.file_name());
            let mut reader = match SegmentReader::open(&path, batch.ack.offset) {
                Ok(reader) => reader,
                // Somebody made room.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(e),
            };
            while batch.fresh < most && batch.body.len() < BYTES {
                let Some(item) = reader.next()? else { break };
                batch.take(run, segment.number, item);
            }
            if batch.fresh >= most || batch.body.len() >= BYTES {
                break;
            }
        }
        Ok(batch)
    }

    /// What is still to be said of a run that nobody writes any more: how its open calls ended is not known, and it is over.
    /// Nothing when all of it was said.
    pub(super) fn closing(dir: &Path, run: RunId, ack: &Ack) -> io::Result<Self> {
        let mut batch = Self { ack: ack.clone(), ..Self::default() };
        let missed = spool::read_missed(dir, run);
        // One whose writer was killed before its first line was whole is nobody's run.
        if !ack.known || (ack.finished && ack.open.is_empty() && missed.is_none()) {
            return Ok(batch);
        }
        if let Some(segment) = spool::segments_of(dir, run).first() {
            batch.repeat_head(&dir.join(segment.file_name()));
        }
        if let Some(missed) = missed {
            let json = serde_json::to_vec(&Record::Lost(missed.loss(run)))?;
            batch.push(&json, Weight::Nothing);
            batch.fresh += 1;
            batch.missed = true;
        }
        for call in &ack.open {
            batch.say(&Record::Step(unknown_end(run, call, ack.last_at)))?;
        }
        if !ack.finished {
            let reason = EndReason::Abandoned;
            batch.say(&Record::Finish(Finish {
                run_id: run,
                at: ack.last_at,
                reason,
                final_output: None,
                metrics: None,
            }))?;
        }
        batch.ack.open.clear();
        batch.ack.finished = true;
        Ok(batch)
    }

    fn say(&mut self, record: &Record) -> io::Result<()> {
        let json = serde_json::to_vec(record)?;
        self.push(&json, Weight::Record);
        self.fresh += 1;
        Ok(())
    }

    fn push(&mut self, json: &[u8], weight: Weight) {
        self.body.extend_from_slice(json);
        self.body.push(b'\n');
        self.counts.push(weight);
    }

    fn repeat_head(&mut self, path: &Path) {
        let first = SegmentReader::open(path, 0).and_then(|mut reader| reader.next());
        if let Ok(Some(Item::Record { json, .. })) = first {
            self.note(&json);
            self.push(&json, Weight::Nothing);
        }
    }

    fn take_losses(&mut self, text: &[u8]) {
        for json in text.split(|&b| b == b'\n').filter_map(spool::decode) {
            // Where nothing else is left of a run, this says when it was.
            self.note(json);
            self.push(json, Weight::Nothing);
            self.fresh += 1;
            self.ack.known = true;
        }
        self.lost_bytes = text.len() as u64;
    }

    fn take(&mut self, run: RunId, segment: u32, item: Item) {
        match item {
            Item::Record { json, end } => {
                let weight = self.note(&json);
                self.push(&json, weight);
                self.fresh += 1;
                self.ack.offset = end;
            }
            Item::Damaged { end } => {
                let lost = Lost {
                    run_id: run,
                    id: derived(run, segment, end),
                    calls: 0,
                    records: 1,
                    reason: "damaged".into(),
                    at: self.ack.last_at,
                };
                if let Ok(json) = serde_json::to_vec(&Record::Lost(lost)) {
                    self.push(&json, Weight::Nothing);
                }
                self.fresh += 1;
                self.ack.offset = end;
            }
        }
    }

    /// Notes what a line changes: calls that are open, the run's end.
    fn note(&mut self, json: &[u8]) -> Weight {
        let Ok(line) = serde_json::from_slice::<Light>(json) else { return Weight::Record };
        self.ack.last_at = self.ack.last_at.max(line.at.or(line.started_at).unwrap_or_default());
        match (line.kind.as_str(), line.step_type) {
            ("run", _) => {
                self.ack.known = true;
                Weight::Nothing
            }
            // A hub that does not know tool sets has lost nothing of the run.
            ("lost" | "tools", _) => Weight::Nothing,
            ("finish", _) => {
                self.ack.finished = true;
                Weight::Record
            }
            ("step", Some(StepType::ToolSelected)) => {
                let id = line.id.and_then(|id| id.parse().ok());
                if let (Some(id), Some(step_index)) = (id, line.step_index) {
                    let tool_name = line.tool_name.unwrap_or_default();
                    let (server, tool, call_id) = (line.server, line.tool, line.call_id);
                    self.ack.open.push(OpenCall { id, step_index, tool_name, server, tool, call_id });
                }
                Weight::Call
            }
            ("step", Some(StepType::ToolResponse)) => {
                if let Some(index) = line.step_index {
                    self.ack.open.retain(|call| call.step_index + 1 != index);
                }
                Weight::Record
            }
            _ => Weight::Record,
        }
    }
}

/// What had to go, as the `.lost` file says.
fn read_losses(dir: &Path, run: RunId) -> io::Result<Vec<u8>> {
    match std::fs::read(spool::side_file(dir, run, "lost")) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

fn unknown_end(run: RunId, call: &OpenCall, at: u64) -> Step {
    Step {
        id: crate::response_id(call.id),
        run_id: run,
        step_index: call.step_index + 1,
        step_type: StepType::ToolResponse,
        tool_name: call.tool_name.clone(),
        server: call.server.clone(),
        tool: call.tool.clone(),
        call_id: call.call_id.clone(),
        agent_id: None,
        sources: vec![Source::Proxy],
        tool_input: None,
        model_input: None,
        context: None,
        tool_output: None,
        tool_error: None,
        outcome: Some(Outcome::Unknown),
        at,
        duration_us: None,
        original_bytes: None,
        truncated: false,
        ambiguous: false,
        bypassed: false,
        replayed: false,
        legs: Vec::new(),
    }
}

/// The id of what is said of a place in a segment: whoever says it says it under the same id.
pub(super) fn derived(run: RunId, segment: u32, end: u64) -> StepId {
    spool::derived_id(&format!("{run} {segment} {end}"))
}
