//! The handle with which others in this process have work done.

use super::ahead::Unsettled;
use bir_model::control::WorkEnd;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

/// Submissions that wait for the desk.
const QUEUE: usize = 64;

/// One `tools/call` that a plan wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The project in which it runs.
    pub project: PathBuf,
    /// The key under which the host knows the server.
    pub server: String,
    /// The session whose proxy is to run it; `None`: a person asks by hand, and the newest proxy of the server does.
    pub session: Option<String>,
    /// The tool, as the server names it.
    pub tool: String,
    /// The raw JSON of an object.
    pub arguments: String,
    /// How long it may take, all in all.
    pub budget: Duration,
    /// What the submitter calls its plan, for [`Unsettled`]. It stands in a file: no values of anybody.
    pub plan: Option<String>,
    /// The plan's step.
    pub step: Option<u32>,
}

/// How it ended. Exactly one for each [`Work`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The proxy has it from the server. [`WorkEnd::NotSent`] does not come this way.
    Ended(WorkEnd),
    /// Nothing of it happened.
    NotSent(Unsent),
    /// It was handed out, and nobody can say what became of it. Never to be tried again without a look.
    Unknown {
        /// Why, for a person.
        why: String,
    },
}

/// Why nothing of a work happened.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unsent {
    /// No proxy of that server asks for work.
    #[error("no proxy of the server asks for work")]
    NoProxy,
    /// There are proxies of the server, and none is known to be the session's.
    #[error("no proxy of the server is known to be the session's own")]
    NotItsOwn,
    /// Its time was over before a proxy took it.
    #[error("no proxy took it in time")]
    TimedOut,
    /// It was withdrawn before a proxy took it.
    #[error("it was withdrawn before a proxy took it")]
    Withdrawn,
    /// The last proxy that might have taken it is gone.
    #[error("the proxy that might have taken it is gone")]
    Left,
    /// Too much waits.
    #[error("too much work waits")]
    Crowded,
    /// It could not be written down first, or the proxy went in that moment.
    #[error("it could not be handed out")]
    NotGiven,
    /// The arguments are no JSON object, or too long.
    #[error("the arguments are no JSON object of at most 4 MiB")]
    BadArguments,
    /// Replay is off in the project.
    #[error("replay is off here")]
    Off,
    /// The control server ends, or does not get on.
    #[error("the control server ends, or does not get on")]
    Unavailable,
    /// The proxy could not send it.
    #[error("the proxy could not send it: {0}")]
    Proxy(String),
}

/// Hands work to the proxies. Cheap to clone; works from any thread.
#[derive(Debug, Clone)]
pub struct Works(pub(super) mpsc::Sender<Asked>);

/// What the desk is asked for.
#[derive(Debug)]
pub(crate) enum Asked {
    Do { work: Work, answer: oneshot::Sender<Outcome> },
    Unsettled(oneshot::Sender<Vec<Unsettled>>),
    Settle(String),
    Delivers { project: PathBuf, answer: oneshot::Sender<bool> },
}

/// A work under way. Dropping it withdraws the work.
#[derive(Debug)]
pub struct Pending(oneshot::Receiver<Outcome>);

impl Works {
    pub(super) fn new() -> (Self, mpsc::Receiver<Asked>) {
        let (send, asked) = mpsc::channel(QUEUE);
        (Self(send), asked)
    }

    /// Has a work done. Its budget runs from now on.
    #[must_use]
    pub fn submit(&self, work: Work) -> Pending {
        let (answer, outcome) = oneshot::channel();
        if let Err(
            TrySendError::Full(Asked::Do { answer, .. }) | TrySendError::Closed(Asked::Do { answer, .. }),
        ) = self.0.try_send(Asked::Do { work, answer })
        {
            let _ = answer.send(Outcome::NotSent(Unsent::Unavailable));
        }
        Pending(outcome)
    }

    /// Orders that an earlier control server handed out and of which nobody knows how they ended.
    pub async fn unsettled(&self) -> Vec<Unsettled> {
        let (answer, told) = oneshot::channel();
        if self.0.send(Asked::Unsettled(answer)).await.is_err() {
            return Vec::new();
        }
        told.await.unwrap_or_default()
    }

    /// Whoever had to know of such an order has heard of it.
    pub async fn settle(&self, work: &str) {
        let _ = self.0.send(Asked::Settle(work.to_owned())).await;
    }

    /// Whether a `bir-scenario` of the project is there to deliver results.
    pub async fn delivers(&self, project: PathBuf) -> bool {
        let (answer, told) = oneshot::channel();
        self.0.send(Asked::Delivers { project, answer }).await.is_ok() && told.await.unwrap_or_default()
    }
}

impl Pending {
    /// Waits for the end. There is one within the work's budget.
    pub async fn outcome(&mut self) -> Outcome {
        (&mut self.0).await.unwrap_or_else(|_| gone())
    }

    /// As [`Pending::outcome`], from where no runtime runs.
    #[must_use]
    pub fn wait(self) -> Outcome {
        self.0.blocking_recv().unwrap_or_else(|_| gone())
    }
}

fn gone() -> Outcome {
    Outcome::Unknown { why: "the control server has ended".into() }
}
