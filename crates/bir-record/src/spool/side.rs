//! The files beside a run's segments: how far it is booked, and what it lost.

use bir_model::record::{Lost, Record};
use bir_model::{RunId, StepId};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;

use super::{line, names};

/// How far the hub has booked a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ack {
    /// The segment that is being sent.
    pub(crate) segment: u32,
    /// Bytes of it that are booked.
    pub(crate) offset: u64,
    /// Whether the run's own record is booked, or that of its loss.
    #[serde(default)]
    pub(crate) known: bool,
    /// Calls that began and have not ended, so that they can be closed if nobody else does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) open: Vec<OpenCall>,
    /// Whether the run's end is booked.
    #[serde(default)]
    pub(crate) finished: bool,
    /// The latest time of a record, ms since the Unix epoch.
    #[serde(default)]
    pub(crate) last_at: u64,
}

/// A call that has no end yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenCall {
    pub(crate) id: StepId,
    pub(crate) step_index: u32,
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) server: Option<String>,
    #[serde(default)]
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) call_id: Option<String>,
}

/// What is noted; the beginning when nothing readable is. Sending from the beginning books nothing twice.
pub(crate) fn read_ack(dir: &Path, run: RunId) -> Ack {
    let text = std::fs::read(names::side(dir, run, "ack")).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

pub(crate) fn write_ack(dir: &Path, run: RunId, ack: &Ack) -> io::Result<()> {
    bir_home::replace(&names::side(dir, run, "ack"), &serde_json::to_vec(ack)?)
}

/// Notes a loss of a run that this process may not be writing, behind the run's own record where that is known: the hub may
/// not have heard of it. The caller holds the lock of the bound.
pub(crate) fn note_loss(dir: &Path, head: Option<&Record>, lost: &Lost) -> io::Result<()> {
    let mut text = Vec::new();
    if let Some(head) = head {
        line::encode(head, &mut text)?;
    }
    line::encode(&Record::Lost(lost.clone()), &mut text)?;
    let path = names::side(dir, lost.run_id, "lost");
    bir_home::private().append(true).create(true).open(path)?.write_all(&text)
}
