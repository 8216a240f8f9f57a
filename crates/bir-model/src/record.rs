//! What is recorded, as it stands in a line of the spool, in a batch to the hub, and in an export: one JSON object each.
//!
//! ```text
//! {"type":"run",…}      a run began
//! {"type":"step",…}     one row of a call: tool_selected when it begins, tool_response when it ends
//! {"type":"final",…}    the final answer of a turn
//! {"type":"finish",…}   the run is over; what it lost
//! {"type":"lost",…}     something of the run could not be kept
//! {"type":"tools",…}    which tools a server of the run declares
//! ```
//!
//! Every record names its run, and each has an identity that its maker chose: booking one twice is booking it once.
//! Payloads are texts that hold JSON, redacted and cut to size before they came here.

use crate::tools::ToolSet;
use crate::{Era, Outcome, RunId, StepId, Tier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One record. Unknown members are ignored, so that an older reader takes what a newer one writes. An older hub refuses a kind
/// that it does not know line by line; a shipper counts the refusal of `tools` as no loss, since nothing of the run is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    /// A run began. May be repeated; the first one counts.
    Run(RunStart),
    /// One row of a call.
    Step(Step),
    /// The final answer of the turn.
    Final(FinalAnswer),
    /// The run is over. A later record of the same run is taken all the same.
    Finish(Finish),
    /// Something of the run could not be kept.
    Lost(Lost),
    /// Which tools a server of the run declares.
    Tools(ToolsSeen),
}

impl Record {
    /// The run that it belongs to.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        match self {
            Self::Run(r) => r.id,
            Self::Step(s) => s.run_id,
            Self::Final(a) => a.run_id,
            Self::Finish(f) => f.run_id,
            Self::Lost(l) => l.run_id,
            Self::Tools(t) => t.run_id,
        }
    }
}

/// The beginning of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStart {
    /// The run.
    pub id: RunId,
    /// How it is seen.
    pub tier: Tier,
    /// What recorded it, `baseinstrunner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// The user's prompt; a standalone run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// When it began, ms since the Unix epoch.
    pub started_at: u64,
    /// The project: the git root of the working directory, else that directory, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The program with the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostInfo>,
    /// The servers that are recorded, by their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerInfo>,
    /// The host's session, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Anything else, as the seeds' `metadata`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, serde_json::Value>,
}

/// A host as it names itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostInfo {
    /// `claude-code`, `codex` …
    pub app: String,
    /// Its version, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A server that takes part in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// The key under which the host knows it.
    pub name: String,
    /// What it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// By which handshake the connection was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<Era>,
    /// The hash of the [tools](ToolsSeen) that it declared, where they are known as the run begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
}

/// Which row of a call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepType {
    /// The call began.
    ToolSelected,
    /// The call ended.
    ToolResponse,
}

impl StepType {
    /// The name on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolSelected => "tool_selected",
            Self::ToolResponse => "tool_response",
        }
    }
}

/// Who saw a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The host's hooks.
    Hook,
    /// A proxy or the shim.
    Proxy,
}

/// One row of a call. The call takes two indexes, an even one for its beginning and the next for its end, so that the
/// order of rows is the order of starting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The row.
    pub id: StepId,
    /// The run that it belongs to.
    pub run_id: RunId,
    /// Position in the run, from 0.
    pub step_index: u32,
    /// Beginning or end.
    pub step_type: StepType,
    /// The tool as the host renders it, where that is known; else as the server names it.
    pub tool_name: String,
    /// The key under which the host knows the server; absent for a built-in tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool as the server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The host's own id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The sub-agent that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Who saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// The arguments as they ran, JSON; in the row that begins. In the row that ends only where they were not those of the
    /// first row, which was written before they ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<String>,
    /// The arguments as the model wrote them, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_input: Option<String>,
    /// The model's reasoning before the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The whole result, JSON; in the row that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_output: Option<String>,
    /// The JSON-RPC error, or what a hook told; in the row that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_error: Option<String>,
    /// How it ended; in the row that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When this row happened, ms since the Unix epoch.
    pub at: u64,
    /// From beginning to end in microseconds, on the monotonic clock; in the row that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// Bytes of the payload on the wire, before anything was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_bytes: Option<u64>,
    /// Whether something was cut from the payload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The pairing of request and answer was a guess, because their id repeated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ambiguous: bool,
    /// A call over MCP that the hooks saw and no proxy did: the server is not wrapped, or its proxy is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bypassed: bool,
    /// Not the host's call: a proxy made it for a plan, under an id of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// The rounds of a multi-round-trip call before the last, in order; in the row that ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legs: Vec<Leg>,
}

/// One round of a multi-round-trip call: the server asked for input, and the host sent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leg {
    /// Counted from 1.
    pub leg: u32,
    /// The `input_required` result, JSON.
    pub asked: String,
    /// When it passed, ms since the Unix epoch.
    pub asked_at: u64,
    /// `inputResponses`, JSON; absent when the host never sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<String>,
    /// When they passed, ms since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<u64>,
}

/// The final answer of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinalAnswer {
    /// The run.
    pub run_id: RunId,
    /// The row.
    pub id: StepId,
    /// Position in the run.
    pub step_index: u32,
    /// The answer.
    pub answer: String,
    /// When, ms since the Unix epoch.
    pub at: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The host closed the connection, or the turn was over.
    Closed,
    /// A standalone run saw no call for 30 minutes.
    Idle,
    /// The recorder ended without a word; somebody else closed the run in its place.
    Abandoned,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish {
    /// The run.
    pub run_id: RunId,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// Why.
    pub reason: EndReason,
    /// The final output, where the host tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_output: Option<String>,
    /// Cost and tokens of the turn, where the host has a transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<serde_json::Value>,
}

/// Something that could not be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    /// The run.
    pub run_id: RunId,
    /// Names this loss, so that it is counted once.
    pub id: StepId,
    /// How many calls, at least; 0 when that is not known.
    pub calls: u64,
    /// How many records of the spool, at least.
    pub records: u64,
    /// Why: `backlog`, `spool_full`, `disk`, `damaged`, `refused`.
    pub reason: String,
    /// When it was found, ms since the Unix epoch.
    pub at: u64,
}

/// The tools that a server of the run declared, as the calls behind this record found them. A later record of the same server
/// counts from there on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsSeen {
    /// The run.
    pub run_id: RunId,
    /// The key under which the host knows the server.
    pub server: String,
    /// The set's name: SHA-256 of its canonical JSON, 64 hex digits.
    pub hash: String,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// The set itself; absent where its recorder has sent it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<ToolSet>,
}
