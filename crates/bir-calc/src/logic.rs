//! Bodies of logic, evaluated within a budget.

use bir_model::scenario::Source;
use bir_plan::sandbox::{Job, Kind, Limits, LogicError, Sandbox, Why};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Where bodies are evaluated, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Logic<'s> {
    sandbox: &'s Sandbox,
    /// Where a body that was costly is tried once more, before it is blamed.
    again: Option<&'s Sandbox>,
    limits: Limits,
    until: Instant,
}

/// Why a body gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It failed.
    Body(LogicError),
    /// There is no time left for it.
    Budget,
}

impl<'s> Logic<'s> {
    /// In a sandbox, each body for at most so long (`BIR_LOGIC_TIMEOUT_MS`), all of them for at most `budget` from now
    /// on.
    #[must_use]
    pub fn new(sandbox: &'s Sandbox, body_ms: u64, budget: Duration) -> Self {
        let now = Instant::now();
        Self {
            sandbox,
            again: None,
            limits: Limits::of_ms(body_ms),
            until: now.checked_add(budget).unwrap_or(now),
        }
    }

    /// What is left of the budget.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// With another sandbox, in which a body that took too long or took the evaluator down is run once more before it
    /// is blamed.
    #[must_use]
    pub fn with_rerun(self, again: &'s Sandbox) -> Self {
        Self { again: Some(again), ..self }
    }

    /// Evaluates a body.
    pub(crate) fn run(
        &self,
        kind: Kind,
        body: &str,
        arguments: Vec<Value>,
        now_ms: i64,
    ) -> Result<Value, Failure> {
        let Some(again) = self.again else { return self.once(self.sandbox, kind, body, arguments, now_ms) };
        match self.once(self.sandbox, kind, body, arguments.clone(), now_ms) {
            Err(Failure::Body(error)) if matches!(error.why, Why::Time | Why::Memory | Why::Died) => {
                self.once(again, kind, body, arguments, now_ms)
            }
            other => other,
        }
    }

    fn once(
        &self,
        sandbox: &Sandbox,
        kind: Kind,
        body: &str,
        arguments: Vec<Value>,
        now_ms: i64,
    ) -> Result<Value, Failure> {
        let left = u64::try_from(self.left().as_millis()).unwrap_or(u64::MAX);
        if left == 0 {
            return Err(Failure::Budget);
        }
        let limits = Limits { time_ms: self.limits.time_ms.min(left), ..self.limits };
        let short = limits.time_ms < self.limits.time_ms;
        let job = Job { kind, body: body.to_owned(), arguments, now_ms: Some(now_ms), limits };
        sandbox.evaluate(&job).map_err(|error| match error.why {
            // It had less time than a body has.
            Why::Time if short => Failure::Budget,
            _ => Failure::Body(error),
        })
    }
}

impl Failure {
    /// A stable word, and in words.
    pub(crate) fn told(&self) -> (&'static str, String) {
        match self {
            Self::Body(error) if error.why == Why::Unavailable => ("unavailable", error.to_string()),
            Self::Body(error) => ("logic", error.to_string()),
            Self::Budget => ("budget", "there was no time left to evaluate it".to_owned()),
        }
    }
}

/// Which evaluates a body, edited or not.
pub(crate) fn source(edited: bool) -> Source {
    if edited { Source::Sandbox } else { Source::Native }
}
