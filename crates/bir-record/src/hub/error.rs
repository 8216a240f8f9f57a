use serde::Deserialize;
use std::time::Duration;
use thiserror::Error;

/// What a hub says of a request that it did not do (`application/problem+json`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Problem {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub title: String,
    /// For people: what, why, what to do.
    pub detail: String,
    /// Finds the request in the hub's log.
    pub request_id: Option<String>,
    /// The answer as it came, for what a problem holds beside that; in no error text. Cut at 4 MiB.
    #[serde(skip)]
    pub body: Vec<u8>,
}

/// Why a hub did not answer as asked.
#[derive(Debug, Error)]
pub enum HubError {
    /// No hub is configured, and none runs here.
    #[error("no hub is known; start one with `bir up`, or sign in to one with `bir login --server URL`")]
    NoHub,
    /// The address cannot be used.
    #[error("`{url}` cannot be the address of a hub: {why}")]
    Address {
        /// The address, without what could be a password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be reached, or went away.
    #[error("the hub at {url} does not answer: {why}")]
    Unreachable {
        /// Its address.
        url: String,
        /// What happened.
        why: String,
    },
    /// It took too long.
    #[error("the hub at {url} did not answer within {} s", after.as_secs())]
    Timeout {
        /// Its address.
        url: String,
        /// The budget.
        after: Duration,
    },
    /// It refused.
    #[error("{}", said(*status, problem))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says.
        problem: Box<Problem>,
        /// When to try again, where it says so.
        retry_after: Option<Duration>,
    },
    /// Its answer is not what the API says.
    #[error("the hub at {url} gave an answer that is not understood: {why}")]
    Answer {
        /// Its address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// It speaks a later API.
    #[error("the hub at {url} speaks version {found} of the API, and this bir version {known}; upgrade bir")]
    Newer {
        /// Its address.
        url: String,
        /// Its version.
        found: u64,
        /// The version here.
        known: u64,
    },
    /// The files of the state directory cannot be used.
    #[error("{place} cannot be used: {why}")]
    State {
        /// The file.
        place: String,
        /// What is wrong with it.
        why: String,
    },
}

impl HubError {
    /// The HTTP status, where the hub answered.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The refusal.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused { problem, .. } => Some(problem),
            _ => None,
        }
    }

    /// The stable code of a problem.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { problem, .. } => Some(&problem.code),
            _ => None,
        }
    }
}

fn said(status: u16, problem: &Problem) -> String {
    let text = [&problem.detail, &problem.title].into_iter().find(|text| !text.is_empty());
    // A hub says why it refuses; a proxy in between, or another program at that address, does not.
    let text = text.map_or("without a reason; is that a hub? check the address", String::as_str);
    match status {
        401 => format!("the hub does not accept the token ({text}); sign in with `bir login`"),
        _ => format!("the hub refused (HTTP {status}): {text}"),
    }
}
