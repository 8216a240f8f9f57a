//! Replay work: the control server has a proxy run a `tools/call` on the connection that the proxy already holds.
//!
//! ```text
//!   proxy ── WorkPoll ──▶ control server        held until there is something to say
//!   proxy ◀─ WorkAnswer ── control server       an order, or ids of orders that are withdrawn
//!   proxy ── WorkReport ─▶ control server       how it ended; taken once, and from this proxy alone
//! ```
//!
//! Arguments and results are raw JSON, as text: they are threaded between steps in memory as they stood on the wire, and are
//! never written to a disk from here.

use serde::{Deserialize, Serialize};

/// Longest result that a proxy brings, in bytes of JSON: 10 MiB. A longer one is read to its end and left out.
pub const LONGEST_RESULT: usize = 10 * 1024 * 1024;

/// A proxy asks for work, and says by that that it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkPoll {
    /// Who asks; a proxy that is not known is answered `409` and registers.
    pub proxy_id: String,
    /// How long the answer may be held back, ms; the control server holds it no longer than it says at registration.
    pub hold_ms: u64,
    /// It takes an order now. Without, it only hears what is withdrawn.
    #[serde(default)]
    pub takes: bool,
}

/// What a poll is answered. Nothing in it: the time is over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkAnswer {
    /// An order. It is given to nobody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkOrder>,
    /// Orders of this proxy whose results nobody waits for any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancel: Vec<String>,
    /// False: replay is off here; there is no need to ask again soon.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub replay: bool,
}

/// One `tools/call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkOrder {
    /// Names the order; nobody can guess it.
    pub work_id: String,
    /// The tool as the server names it.
    pub tool_name: String,
    /// `params.arguments`: the raw JSON of an object.
    pub arguments: String,
    /// How long it may take, ms. The proxy gives up a little earlier, so that its cancellation reaches the server first.
    pub timeout_ms: u64,
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkReport {
    /// Who ran it.
    pub proxy_id: String,
    /// The order.
    pub work_id: String,
    /// How.
    #[serde(flatten)]
    pub end: WorkEnd,
}

/// How a call ended, as the proxy saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum WorkEnd {
    /// The server answered with a result, `isError` or not.
    Result {
        /// The whole `result`, raw JSON.
        json: String,
    },
    /// The server answered with a JSON-RPC error.
    Error {
        /// The whole `error`, raw JSON.
        json: String,
    },
    /// The server wants input that only the host can give: `input_required`, or a request of its own. It was not answered by
    /// us; the call was withdrawn.
    InputRequired {
        /// What it asked by: a method, or `input_required`.
        asked: String,
    },
    /// The call was sent, and the budget was over before an answer.
    Timeout,
    /// The call was sent, and it is not known what became of it.
    Unknown {
        /// Why, for a person.
        why: String,
    },
    /// The answer is longer than [`LONGEST_RESULT`]; the call ran.
    TooLarge {
        /// Bytes of the whole message.
        bytes: u64,
    },
    /// The call was withdrawn by the control server after it was sent.
    Cancelled,
    /// The call was not sent: nothing of it happened.
    NotSent {
        /// Why, for a person.
        why: String,
    },
}

/// `bir-scenario` says that it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioHello {
    /// Its process.
    pub pid: u32,
    /// The version of its program.
    pub version: String,
    /// How many tools it lists.
    pub tools: u32,
    /// It is switched off.
    pub off: bool,
}

/// The model has called `run_scenario`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioRun {
    /// The host's id of the call: it tells whose plan is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The host's session, where the caller knows it reliably.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// What `run_scenario` is to answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioAnswer {
    /// The plan ran, as far as `partial` does not say otherwise.
    pub ok: bool,
    /// What the model reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Steps that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The plan stopped before all of its steps ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Why there is nothing: [`NO_PLAN`], [`RUNNING`], a hand-over note, or words for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// `why` is a hand-over note that the model is to read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub note: bool,
}

/// No plan is armed for the call.
pub const NO_PLAN: &str = "no_plan";
/// The plan is running already, for an earlier call.
pub const RUNNING: &str = "running";

impl ScenarioAnswer {
    /// No plan is armed for this call.
    #[must_use]
    pub fn no_plan() -> Self {
        Self { why: Some(NO_PLAN.into()), ..Self::default() }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_answer_is_an_empty_object_and_back() {
        let nothing = WorkAnswer { replay: true, ..WorkAnswer::default() };
        assert_eq!(serde_json::to_string(&nothing).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<WorkAnswer>("{}").unwrap(), nothing);
        let off = WorkAnswer::default();
        assert_eq!(serde_json::to_string(&off).unwrap(), r#"{"replay":false}"#);
        assert_eq!(serde_json::from_str::<WorkAnswer>(r#"{"replay":false}"#).unwrap(), off);
    }

    #[test]
    fn a_report_is_flat_and_keeps_the_text_of_numbers() {
        let end = WorkEnd::Result { json: r#"{"n":1e400}"#.into() };
        let report = WorkReport { proxy_id: "p".into(), work_id: "w".into(), end };
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(json, r#"{"proxyId":"p","workId":"w","end":"result","json":"{\"n\":1e400}"}"#);
        assert_eq!(serde_json::from_str::<WorkReport>(&json).unwrap(), report);
    }
}
