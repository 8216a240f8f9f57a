//! A scenario: what a task needs to be told, and its steps.
//!
//! ```text
//!  values of params ─▶ step 1 input ─▶ call ─▶ result ─▶ keeps ─┐
//!                      step 2 input ◀──────────── kept ◀────────┘ …
//! ```

use crate::effect::Effect;
use crate::emit::{self, Shape};
use crate::expr::{EvalError, Expr, Scope, view};
use crate::param::Param;
use crate::template::{Confidence, LeafError, Template};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scenario {
    /// The prompt of its first run; the spans of the parameters are bytes of it.
    pub prompt: String,
    /// What the prompt says that went into calls.
    pub params: Vec<Param>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// From how many runs it was calculated.
    pub runs: usize,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The server's key; none for a built-in tool.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// What it does to the world.
    pub effect: Effect,
    /// What it is given.
    pub input: Template,
    /// What is kept of its result for later steps.
    pub keeps: Vec<Keep>,
}

/// Something that is kept of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keep {
    /// Under which key.
    pub key: String,
    /// What: an expression over the result of this step, the parameters, and what was kept before.
    pub expr: Expr,
}

impl Scenario {
    /// The input of a step.
    ///
    /// # Errors
    ///
    /// [`LeafError`] of its first leaf without a value; a step that is not there counts as unexplained.
    pub fn input(
        &self,
        step: usize,
        params: &Map<String, Value>,
        kept: &Map<String, Value>,
        now: &str,
    ) -> Result<Value, LeafError> {
        let step = self.steps.get(step).ok_or(LeafError::Unexplained)?;
        step.input.value(&Scope { params, kept, result: None, item: None, now })
    }

    /// Whether every leaf of every step is sure enough for the scenario to begin unattended. Where one is not, some run has shown that its
    /// model knew more than the prompt and the results say, and nobody knows that it did so at that leaf alone; and what is begun would be
    /// handed over half done. `by_hand`: steps whose input a person has written, who answers for it.
    #[must_use]
    pub fn is_sure(&self, by_hand: impl Fn(usize) -> bool) -> bool {
        let mut steps = self.steps.iter().enumerate();
        steps.all(|(n, step)| by_hand(n) || step.confidence() >= Confidence::Medium)
    }

    /// The least confidence of its leaves; a scenario without any needs nothing.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.steps.iter().map(Step::confidence).min().unwrap_or(Confidence::High)
    }
}

impl Step {
    /// The least confidence of its leaves.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.input.leaves().iter().map(|(_, leaf)| leaf.confidence).min().unwrap_or(Confidence::High)
    }

    /// Adds to what was kept what is kept of this result.
    ///
    /// # Errors
    ///
    /// The result has not what was kept of the recorded one.
    pub fn keep(
        &self,
        result: &Value,
        params: &Map<String, Value>,
        kept: &mut Map<String, Value>,
        now: &str,
    ) -> Result<(), EvalError> {
        for Keep { key, expr } in &self.keeps {
            let scope = Scope { params, kept, result: Some(result), item: None, now };
            let value = view(expr, &scope)?.into_owned();
            kept.insert(key.clone(), value);
        }
        Ok(())
    }

    /// The body that makes its input.
    #[must_use]
    pub fn input_logic(&self) -> String {
        match self.input.shape() {
            Shape::Object(members) => emit::body(&members, None),
            // A tool's arguments are an object; nothing else is recorded.
            _ => emit::body(&[], None),
        }
    }

    /// The body that makes what is kept.
    #[must_use]
    pub fn output_logic(&self) -> String {
        let members: Vec<_> =
            self.keeps.iter().map(|keep| (keep.key.as_str(), Shape::Expr(&keep.expr))).collect();
        emit::body(&members, Some("toolOutput"))
    }
}
