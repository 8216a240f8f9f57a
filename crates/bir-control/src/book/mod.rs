//! From what hooks and proxies tell to the rows of runs. Pure: the time comes with each entry, and what is to be kept goes out
//! as effects. The same entries in the same order make the same effects under the same ids, so that a journal of entries is all
//! that has to survive.
//!
//! ```text
//!             ┌─ hooks ────▶ sessions ─▶ runs ─▶ calls ─┐
//!   Entry ────┼─ reports ──▶ proxies ── join ─────┘      ├──▶ Effect
//!             └─ time ─────▶ timers ──▶ finish ──────────┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `state` | [`Book`]: all state, and who may change it |
//! | `hooks`, `reports` | what each kind of entry does |
//! | `session`, `run`, `call`, `proxies` | the state, one noun each |
//! | `join` | when two views are of one call |
//! | `finish` | how a run ends |
//! | `ids`, `heard`, `timers`, `inject` | ids that derive, what was told twice, deadlines, ids for calls |
//!
//! Time moves with entries and with [`Book::tick`] alike, and each deadline is met at its own time: whether somebody ticked
//! in between makes no difference to the rows.

mod call;
mod finish;
mod heard;
mod hooks;
mod ids;
mod inject;
mod join;
mod proxies;
mod reports;
mod run;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod timers;
mod view;

pub use inject::{Decision, Injection};
pub use state::{Book, Options};
pub use view::{ProxyView, SessionView, View};

use bir_model::RunId;
use bir_model::control::{HookEvent, HookReply, ProxyReport, Registered, Registration};
use bir_record::{SafeRecord, SafeTold};
use std::path::PathBuf;

/// One thing that the control server was told, redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it was taken, ms since the Unix epoch.
    pub taken_at: u64,
    /// What.
    pub what: EntryWhat,
}

/// What the control server was told.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryWhat {
    /// A hook event, with what the transcript says of it.
    Hook {
        /// The event.
        event: Box<HookEvent<SafeTold>>,
        /// The model's text and reasoning before the call, where the transcript has it.
        context: Option<SafeTold>,
    },
    /// A proxy introduces itself.
    Register(Box<Registration>),
    /// A proxy's report.
    Report {
        /// Who.
        proxy_id: String,
        /// What.
        report: Box<ProxyReport<SafeTold>>,
    },
    /// What the transcript says of a run that is about to be finished: answers [`Effect::Ask`].
    Transcript {
        /// The run.
        run: RunId,
        /// The facts.
        facts: Box<TranscriptFacts>,
    },
    /// The host's process is gone; its sessions are over.
    HostGone {
        /// Its process.
        pid: u32,
    },
}

/// What a transcript tells of one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TranscriptFacts {
    /// Calls that it shows to be over, by the host's id, with the outcome that the text tells.
    pub outcomes: Vec<(String, bir_model::Outcome)>,
    /// The last text of the model in the turn.
    pub final_answer: Option<SafeTold>,
    /// Tokens of the turn, by model; JSON as it stands in a run's metrics.
    pub usage: Option<serde_json::Value>,
}

/// What the book wants done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A run begins with this record; one that was begun before goes on.
    Begin(SafeRecord),
    /// A record of a run that has begun.
    Append(SafeRecord),
    /// What does the transcript say of this turn? Answered by [`EntryWhat::Transcript`], at once: as soon as all effects of
    /// the same call are carried out. Without an answer the run is finished by a tick five seconds later.
    Ask {
        /// The run.
        run: RunId,
        /// The session's transcript and those of its sub-agents.
        transcripts: Vec<PathBuf>,
        /// The turn, and what others belong to it.
        turns: Vec<String>,
        /// When the turn began, ms since the Unix epoch.
        since: u64,
        /// Calls whose end nobody has told.
        open_calls: Vec<String>,
    },
    /// The run takes no more records; its writer may go.
    End(RunId),
    /// No run of this session is open. All entries of it until now, the one that was just heard too, are of no use any more,
    /// but for what [`Book::essence`] gives in their place. It is the last effect of its call, and a hint: a book that hears
    /// its journal again may not repeat it.
    Settled {
        /// The session.
        session: String,
    },
}

/// What is answered to whoever told.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To a hook.
    Hook(HookReply),
    /// To a proxy that registers.
    Registered(Registered),
    /// The proxy has to register first.
    UnknownProxy,
    /// Taken; nothing is to be said.
    Taken,
}
