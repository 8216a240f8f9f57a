//! What a proxy reports of the calls that pass through it.

use super::{Compared, PayloadKind, Told};
use crate::record::{HostInfo, ServerInfo};
use crate::tools::ToolSet;
use crate::{Outcome, RunId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A proxy introduces itself; it may do so again at any time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// [`API_VERSION`](super::API_VERSION) of the proxy.
    pub api_version: u64,
    /// The version of its program.
    #[serde(default)]
    pub version: String,
    /// Made by the proxy at its start; names it for as long as it lives.
    pub proxy_id: String,
    /// The server, with the key under which the host knows it.
    pub server: ServerInfo,
    /// The proxy's process.
    pub pid: u32,
    /// Its parent: the host's process. That binds it to a session (facts/claude-code.md §0.4).
    pub parent_pid: u32,
    /// Where it works.
    pub cwd: PathBuf,
    /// The host as it introduced itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostInfo>,
    /// The host's session, where its environment tells it reliably (Copilot CLI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_session: Option<String>,
    /// It takes an injected id out of the arguments.
    #[serde(default)]
    pub takes_call_id: bool,
    /// The tools that the server declares, redacted; absent where they are not known, or were left before. An introduction
    /// without them leaves what was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Box<ToolSet>>,
}

/// What a registration is answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// [`API_VERSION`](super::API_VERSION) of the control server.
    pub api_version: u64,
    /// The version of its program.
    #[serde(default)]
    pub version: String,
    /// The session to which the proxy belongs, where that is known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The session's run, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Replay is on here: the proxy is to ask for work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
    /// How long a poll is held at most, ms; with `replay` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_hold_ms: Option<u64>,
}

/// Reports of one proxy, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub struct StepReports<P = Told> {
    /// Who reports; a proxy that is not known is answered `409` and registers.
    pub proxy_id: String,
    /// What it saw.
    pub reports: Vec<ProxyReport<P>>,
}

/// What reports are answered, once all of them are safe from the death of the control server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepAnswer {
    /// How many were taken: all.
    pub taken: u64,
}

/// One thing that a proxy saw of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub struct ProxyReport<P = Told> {
    /// The call, counted by the proxy from 0.
    pub call: u64,
    /// The tool as the server names it.
    pub tool: String,
    /// The host's id of the call, from `_meta` or injected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Of the arguments before redaction; absent where not all of them were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Compared>,
    /// The call is not the host's: the proxy made it for a plan. `call_id` is its own then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// What.
    #[serde(flatten)]
    pub what: ProxyWhat<P>,
}

/// What a proxy saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "saw", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub enum ProxyWhat<P = Told> {
    /// The call was sent to the server.
    Began {
        /// The arguments as they ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<P>,
    },
    /// The call has ended, or will not be heard of again (`unknown`).
    Ended {
        /// How.
        outcome: Outcome,
        /// The whole result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<P>,
        /// The JSON-RPC error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<P>,
        /// From beginning to end in microseconds, on the monotonic clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_us: Option<u64>,
        /// The pairing of request and answer was a guess.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ambiguous: bool,
        /// Rounds of a multi-round-trip call before the last.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        legs: Vec<ToldLeg<P>>,
    },
    /// Calls of which the proxy kept nothing; `call` names the loss, not a call.
    Lost {
        /// How many, at least.
        calls: u64,
        /// Why, as a loss of a run says it.
        reason: String,
    },
}

/// One round of a multi-round-trip call: the server asked for input, and the host sent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: Deserialize<\'de>"))]
pub struct ToldLeg<P = Told> {
    /// Counted from 1.
    pub leg: u32,
    /// The `input_required` result.
    pub asked: P,
    /// When it passed, ms since the Unix epoch.
    pub asked_at: u64,
    /// `inputResponses`; absent when the host never sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<P>,
    /// When they passed, ms since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<u64>,
}

impl<P> ProxyReport<P> {
    /// The same report with other payloads.
    pub fn map<Q>(self, each: &mut dyn FnMut(PayloadKind, P) -> Q) -> ProxyReport<Q> {
        let mut json = |payload| each(PayloadKind::Json, payload);
        let what = match self.what {
            ProxyWhat::Began { input } => ProxyWhat::Began { input: input.map(&mut json) },
            ProxyWhat::Ended { outcome, output, error, duration_us, ambiguous, legs } => ProxyWhat::Ended {
                outcome,
                output: output.map(&mut json),
                error: error.map(&mut json),
                duration_us,
                ambiguous,
                legs: legs
                    .into_iter()
                    .map(|leg| ToldLeg {
                        leg: leg.leg,
                        asked: json(leg.asked),
                        asked_at: leg.asked_at,
                        answered: leg.answered.map(&mut json),
                        answered_at: leg.answered_at,
                    })
                    .collect(),
            },
            ProxyWhat::Lost { calls, reason } => ProxyWhat::Lost { calls, reason },
        };
        ProxyReport {
            call: self.call,
            tool: self.tool,
            call_id: self.call_id,
            fingerprint: self.fingerprint,
            replayed: self.replayed,
            at: self.at,
            what,
        }
    }
}
