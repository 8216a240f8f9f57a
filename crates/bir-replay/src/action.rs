//! What a plan wants done, in this order: a record is safe on the disk before the next action is begun.

use crate::event::AskId;
use crate::intent::Entry;
use bir_model::scenario::ExecutionReport;
use serde_json::Value;

/// One thing that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Write this down, durably, before what follows.
    Record(Entry),
    /// Tell the model with its prompt.
    Announce(String),
    /// Have a proxy call a tool.
    Call(Call),
    /// Cancel it at its server; what it answers is still told.
    Cancel {
        /// [`Call::work`]
        work: String,
    },
    /// Answer who waits.
    Reply {
        /// Who.
        to: AskId,
        /// What.
        reply: Reply,
    },
    /// Write a line of the log.
    Log(Line),
    /// The host's own prompt was answered with yes: its owner has approved the scenario.
    Approved,
    /// Tell the hub, once.
    Report(Box<ExecutionReport>),
}

/// A call for a proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Names it; the same plan and step always have the same name, so that it is carried out once.
    pub work: String,
    /// Of which step, from 0.
    pub step: usize,
    /// The server's key.
    pub server: String,
    /// The tool as the server names it.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// It is given up after so long, ms.
    pub timeout_ms: u64,
}

/// Whether a call may be made without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// It may.
    Allow,
    /// The user is asked.
    Ask,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The call goes on as it is.
    AsWritten {
        /// What the model is told beside it.
        context: Option<String>,
    },
    /// The call of `run_scenario` goes on.
    Scenario(Permission),
    /// The call runs with these arguments.
    Pin {
        /// All of them, with the id for its proxy where there is one.
        input: Value,
        /// The arguments without that id: what is recorded as what ran.
        pinned: Value,
        /// None: the host decides as it always does.
        permission: Option<Permission>,
    },
    /// A text takes the place of the call.
    InPlace(crate::channel::InPlace),
    /// What `run_scenario` answers.
    Results {
        /// For the model.
        text: String,
        /// What the answer is made of.
        response: Value,
        /// So many steps ran.
        steps: usize,
        /// Some did not.
        partial: bool,
    },
    /// What `run_scenario` answers where nothing ran.
    Nothing {
        /// For the model.
        text: String,
        /// It is a hand-over note.
        note: bool,
    },
}

/// A line of the log. No value of a call is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its stable name, `replay.pin_declined`.
    pub name: &'static str,
    /// Of which step, from 0.
    pub step: Option<usize>,
    /// Why.
    pub why: String,
}

impl Action {
    pub(crate) fn log(name: &'static str, step: Option<usize>, why: impl Into<String>) -> Self {
        Self::Log(Line { name, step, why: why.into() })
    }
}
