//! What is known of a step of a plan, and why a plan has stopped.

use crate::intent::{By, Fate};
use bir_model::scenario::Stage;
use serde_json::Value;

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nothing of it was begun.
    Waiting,
    /// It was sent, and is given up at `due`; a pinned call has no such time.
    Sent {
        /// By whom.
        by: By,
        /// When, ms since the Unix epoch.
        at: u64,
        /// Until when it is waited for.
        due: Option<u64>,
    },
    /// It ran, and what later steps need of it was read.
    Done {
        /// By whom.
        by: By,
        /// Its result.
        output: Value,
        /// How long it took, ms.
        took: u64,
    },
    /// It ran, and what later steps need could not be read.
    Unread {
        /// By whom.
        by: By,
        /// Its result.
        output: Value,
    },
    /// It was answered with an error.
    Error {
        /// By whom.
        by: By,
        /// Words of the tool.
        text: String,
    },
    /// The session's call ran with other arguments than the plan's.
    Overridden,
    /// It was sent, and nobody knows whether it ran.
    Unknown {
        /// By whom.
        by: By,
    },
    /// It could not be sent, or was refused: nothing of it happened.
    NotSent,
}

impl State {
    /// What is written down of it.
    #[must_use]
    pub fn fate(&self) -> Fate {
        match self {
            Self::Waiting | Self::NotSent => Fate::NotStarted,
            Self::Done { .. } | Self::Unread { .. } => Fate::Done,
            Self::Error { .. } => Fate::Error,
            Self::Sent { .. } | Self::Overridden | Self::Unknown { .. } => Fate::Unknown,
        }
    }

    /// Whether its tool did its work under the plan.
    #[must_use]
    pub fn worked(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Unread { .. })
    }

    /// Whether it is under way.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        matches!(self, Self::Sent { .. })
    }

    /// Whether later steps may be made of it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Who carried it out.
    #[must_use]
    pub fn by(&self) -> Option<By> {
        match self {
            Self::Sent { by, .. }
            | Self::Done { by, .. }
            | Self::Unread { by, .. }
            | Self::Error { by, .. }
            | Self::Unknown { by } => Some(*by),
            Self::Overridden => Some(By::Session),
            Self::Waiting | Self::NotSent => None,
        }
    }
}

/// Why a plan has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// A stable word.
    pub kind: StopKind,
    /// Before or in which step, from 0.
    pub step: Option<usize>,
    /// At what, where its own logic failed.
    pub stage: Option<Stage>,
    /// In words of ours. No value of a call is in it.
    pub why: String,
    /// Words of others: what a tool or a body of logic said.
    pub said: Option<String>,
}

/// What made a plan stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopKind {
    /// Its input could not be made, or may not be sent.
    Input,
    /// It ran, and what later steps need could not be read.
    Output,
    /// A later step cannot be made of what is known, and a write comes before it.
    Ahead,
    /// The tool answered with an error.
    ToolError,
    /// It was sent, and nobody answered.
    Unanswered,
    /// It could not be sent.
    NotSent,
    /// The user or a rule refused it.
    Refused,
    /// Only the session can carry it out, or it may not run by itself.
    OutOfReach,
    /// The time is over.
    Budget,
    /// Whoever asked waits no longer.
    Cancelled,
    /// Another call ran beside a pinned one.
    Concurrent,
    /// The session's call ran with other arguments than the pinned ones.
    Overridden,
    /// The model went its own way.
    OffScript,
}

impl Stop {
    /// Without a stage and without words of others.
    #[must_use]
    pub fn new(kind: StopKind, step: impl Into<Option<usize>>, why: impl Into<String>) -> Self {
        Self { kind, step: step.into(), stage: None, why: why.into(), said: None }
    }

    /// With what a tool or a body said.
    #[must_use]
    pub fn saying(self, said: impl Into<String>) -> Self {
        Self { said: Some(said.into()), ..self }
    }

    /// At a stage of the scenario's own logic.
    #[must_use]
    pub fn at(self, stage: Stage) -> Self {
        Self { stage: Some(stage), ..self }
    }
}
