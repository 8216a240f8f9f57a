//! What hooks and proxies tell the control server, and what it answers: JSON over HTTP on loopback.
//!
//! ```text
//!   host ── hook event ──▶ bir-hooks ── HookEvent ──▶ control server ──▶ HookReply ──▶ what the host is answered
//!   host ── tools/call ──▶ bir-proxy ── Registration, then ProxyReport ──▶ control server
//! ```
//!
//! Payloads are redacted by who saw them, before they cross a process boundary. Every message may be sent twice: a hook event
//! has an id, and a report names its call. What nobody takes goes to a file of the inbox as an [`Envelope`], and the next
//! control server reads it there.

mod hook;
mod proxy;
mod work;

pub use hook::{
    BatchCall, Compared, HookCall, HookEvent, HookReply, HookWhat, Inject, Join, PayloadKind, Told,
};
pub use proxy::{ProxyReport, ProxyWhat, Registered, Registration, StepAnswer, StepReports, ToldLeg};
pub use work::{
    LONGEST_RESULT, NO_PLAN, RUNNING, ScenarioAnswer, ScenarioHello, ScenarioRun, WorkAnswer, WorkEnd,
    WorkOrder, WorkPoll, WorkReport,
};

use serde::{Deserialize, Serialize};

/// The version of the control server's interface. Within a major version any pair of programs works together.
pub const API_VERSION: u64 = 1;

/// What a file of the inbox holds, one a line: a message that no control server has taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Envelope {
    /// A hook event.
    Hook(Box<HookEvent>),
    /// Reports of a proxy, with who it is.
    Proxy {
        /// Who reports.
        registration: Box<Registration>,
        /// What it saw.
        reports: StepReports,
    },
}
