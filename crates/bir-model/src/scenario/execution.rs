//! What became of an execution, and what it saved (seed 02 §11).

use super::view::Level;
use super::words::words;
use crate::{TicketId, Usd};
use serde::{Deserialize, Serialize};

words! {
    /// What became of an execution; a later one in this order takes the place of an earlier one, never the other way
    /// round.
    Outcome {
        /// It was declined, or ended before it ran anything: the model did the task, a sample of the baseline.
        NotSteered = "not_steered",
        /// It gave up before any step did its work: a sample of the baseline.
        Failed = "failed",
        /// Some steps did their work, then the task was handed over.
        FellBack = "fell_back",
        /// The model went its own way, or a budget ended after some steps.
        Diverged = "diverged",
        /// Every step ran as planned.
        SteeredFull = "steered_full",
    }
}

impl Outcome {
    /// Whether the model did the task by itself, so that its cost is a sample of the baseline.
    #[must_use]
    pub fn is_baseline(self) -> bool {
        matches!(self, Self::NotSteered | Self::Failed)
    }
}

words! {
    /// How an execution ran.
    Mode {
        /// Every step through the proxies.
        Direct = "direct",
        /// In the live session, with pinned inputs.
        Steer = "steer",
        /// Not at all.
        None = "none",
    }
}

words! {
    /// What a step did.
    StepVerdict {
        /// It ran.
        Ok = "ok",
        /// A recorded result stood in for it.
        Recorded = "recorded",
        /// It has no result: its call could not be sent, or nobody answered.
        Skipped = "skipped",
        /// The scenario's own logic failed.
        Failed = "failed",
    }
}

words! {
    /// Where in a scenario something went wrong.
    Stage {
        /// Its parameters were derived.
        Derive = "derive",
        /// `paramsLogic`
        Params = "params_logic",
        /// `toolInputLogic`
        Input = "input_logic",
        /// The call itself.
        Call = "call",
        /// `toolOutputLogic`
        Output = "output_logic",
        /// `responseParamsLogic`
        Response = "response_params_logic",
    }
}

/// What one step did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// The scenario's own index.
    pub step_index: u32,
    /// The tool.
    #[serde(default)]
    pub tool_name: String,
    /// What it did.
    pub status: StepVerdict,
    /// Where in the step, for `failed` and `skipped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The body of `POST /scenarios/{id}/executions`. Everything but the outcome may be missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionReport {
    /// Under which it is booked, once; without one, as an execution of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketId>,
    /// What became of it.
    pub outcome: Outcome,
    /// How it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// At which level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What deriving the parameters cost.
    #[serde(default)]
    pub derive_cost_usd: Usd,
    /// What the live turn cost.
    #[serde(default)]
    pub session_cost_usd: Usd,
    /// What handing over cost.
    #[serde(default)]
    pub fallback_cost_usd: Usd,
    /// Tokens of the whole turn.
    #[serde(default)]
    pub tokens: u64,
    /// The model of the session; where there were several, the one that wrote most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// From prompt to answer, milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Steps of the plan.
    #[serde(default)]
    pub steps_planned: u32,
    /// Steps that ran with inputs of the plan.
    #[serde(default)]
    pub steps_pinned: u32,
    /// Whether cost and tokens were measured.
    #[serde(default)]
    pub measured: bool,
    /// The version of the prices that the costs were made with.
    #[serde(default)]
    pub pricing_version: String,
    /// The prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the steps did; those that were never reached are absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepResult>,
    /// The first failed step's error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where in the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_stage: Option<Stage>,
    /// Which step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_step_index: Option<u32>,
    /// Which tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_tool_name: Option<String>,
}

impl ExecutionReport {
    /// Takes the error from the first failed step, where there is one: the headline and the steps are one statement.
    pub fn blame_first_failed_step(&mut self) {
        if let Some(step) = self.steps.iter().find(|step| step.status == StepVerdict::Failed) {
            self.error.clone_from(&step.error);
            self.error_stage = step.stage;
            self.error_step_index = Some(step.step_index);
            self.error_tool_name = Some(step.tool_name.clone()).filter(|name| !name.is_empty());
        }
    }

    /// Whether there is anything to book: a decline without cost and without an error says nothing.
    #[must_use]
    pub fn says_something(&self) -> bool {
        let costs = [self.derive_cost_usd, self.session_cost_usd, self.fallback_cost_usd];
        self.outcome != Outcome::NotSteered
            || costs.iter().any(|cost| *cost != Usd::ZERO)
            || self.tokens > 0
            || self.error.is_some()
            || self.steps.iter().any(|step| step.status == StepVerdict::Failed)
    }
}

/// Its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionBooked {
    /// Whether a row was made.
    pub recorded: bool,
    /// It was booked before, and nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// What it saved, where that can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<Saving>,
}

/// Money, tokens and time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measure {
    /// Money.
    pub usd: Usd,
    /// Tokens; fewer than none is what replay spent more than the model would have.
    pub tokens: i64,
    /// Milliseconds.
    pub duration_ms: i64,
}

/// What executions saved, at least, net of what they spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saving {
    /// So many model runs were measured.
    pub baseline_runs: u32,
    /// So many are needed before anything is booked.
    pub baseline_needed: u32,
    /// What one model run costs, at least; none: not yet measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Measure>,
    /// What was saved, at least; none: not yet measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Measure>,
    /// Executions that it is the sum of.
    pub executions: u32,
    /// Executions that are not in it, because something of them was not measured.
    pub unmeasured: u32,
    /// The version of the prices.
    pub pricing_version: String,
    /// How the bound is made, in words.
    pub method: String,
}
