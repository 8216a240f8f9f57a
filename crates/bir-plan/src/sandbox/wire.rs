//! What goes to the worker and comes back: one JSON object a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// Which body it is, and so what it is given and has to return: always a plain object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// `paramsLogic(params)`: the parameters as the steps read them.
    Params,
    /// `toolInputLogic(params, respParams)`: the arguments of a call.
    ToolInput,
    /// `toolOutputLogic(toolOutput, params, respParams)`: what later steps need of a result.
    ToolOutput,
    /// `responseParamsLogic(params, respParams)`: what the answer is made of.
    ResponseParams,
}

impl Kind {
    /// The names of its arguments, in order.
    #[must_use]
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Params => &["params"],
            Self::ToolInput | Self::ResponseParams => &["params", "respParams"],
            Self::ToolOutput => &["toolOutput", "params", "respParams"],
        }
    }

    /// Its name in a scenario.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Params => "paramsLogic",
            Self::ToolInput => "toolInputLogic",
            Self::ToolOutput => "toolOutputLogic",
            Self::ResponseParams => "responseParamsLogic",
        }
    }
}

/// What a body may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Milliseconds.
    pub time_ms: u64,
    /// Bytes of the engine's memory.
    pub memory: usize,
    /// Bytes of its stack.
    pub stack: usize,
    /// Bytes of the result as JSON.
    pub result: usize,
}

impl Limits {
    /// `BIR_LOGIC_TIMEOUT_MS` where nothing is said.
    pub const TIME_MS: u64 = 1_000;
    /// Its ceiling.
    pub const MOST_TIME_MS: u64 = 10_000;

    /// With a time limit, brought under its ceiling.
    #[must_use]
    pub fn of_ms(time_ms: u64) -> Self {
        Self { time_ms: time_ms.clamp(1, Self::MOST_TIME_MS), ..Self::default() }
    }

    /// The time limit.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.time_ms)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { time_ms: Self::TIME_MS, memory: 64 << 20, stack: 512 << 10, result: 4 << 20 }
    }
}

/// A body to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Which it is.
    pub kind: Kind,
    /// A function body.
    pub body: String,
    /// A value for each of [`Kind::arguments`].
    pub arguments: Vec<Value>,
    /// What `Date.now()` says, ms since the Unix epoch; without it the clock throws.
    pub now_ms: Option<i64>,
    /// What it may take.
    pub limits: Limits,
}

/// A [`Job`] as it is sent. Values are JSON texts, so that the worker hands them on unread.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobLine {
    /// Returned with the answer.
    pub id: u64,
    /// [`Job::kind`]
    pub kind: Kind,
    /// [`Job::body`]
    pub body: String,
    /// [`Job::arguments`]
    pub arguments: Vec<String>,
    /// [`Job::now_ms`]
    pub now_ms: Option<i64>,
    /// [`Job::limits`]
    pub limits: Limits,
}

/// The worker's answer: a JSON text, or what went wrong.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Of the job.
    pub id: u64,
    /// The outcome.
    pub result: Result<String, LogicError>,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is no function body.
    Syntax,
    /// It threw.
    Threw,
    /// It took too long.
    Time,
    /// It took too much memory.
    Memory,
    /// It went too deep.
    Stack,
    /// It returned a promise, or anything with a `then`: what it would do later is not bounded.
    Thenable,
    /// It returned something else than a plain object.
    NotPlain,
    /// Its result is too long, or no JSON.
    Result,
    /// It took the worker down, twice.
    Died,
    /// It was blamed a short while ago, and was not tried.
    Refused,
    /// No worker can be started: nothing was evaluated.
    Unavailable,
}

/// Why a body gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogicError {
    /// What kind of failure.
    pub why: Why,
    /// In words; of what a body threw, its message.
    pub message: String,
    /// Where in the body, from 1, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl LogicError {
    /// Without a place.
    #[must_use]
    pub fn new(why: Why, message: impl Into<String>) -> Self {
        Self { why, message: message.into(), line: None, column: None }
    }
}

impl fmt::Display for LogicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: {}", self.message),
            (Some(line), None) => write!(f, "line {line}: {}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for LogicError {}
