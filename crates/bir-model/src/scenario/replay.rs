//! Parameters for a prompt, and a dry replay: what would run, and against what was recorded.

use crate::Usd;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::execution::Stage;
use super::view::Act;
use super::words::words;

/// The body of `POST /scenarios/{id}/derive`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeriveAsk {
    /// What the user asked.
    pub prompt: String,
    /// When, ms since the Unix epoch; without it the hub's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// The user's time zone (`Europe/Berlin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// Its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Derived {
    /// A value for each parameter that has one.
    pub params: Map<String, Value>,
    /// What the prompt does not say and has to, or does not say clearly: nothing runs.
    pub missing: Vec<String>,
    /// Settings that stand on their sample.
    pub sampled: Vec<String>,
    /// Whether the prompt was read; else nothing runs for it, and the values, where there are any, are the recording's.
    pub derived: bool,
    /// What it cost and is to be reported with the execution.
    pub cost_usd: Usd,
    /// Of those with a value: where a model endpoint pointed at the words of the prompt. With one of them nothing runs unasked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled: Vec<String>,
    /// What a model endpoint cost, at most. The hub has booked it; it is not reported again.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub booked_usd: Usd,
    /// Why a prompt cannot be read, or what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn is_nothing(usd: &Usd) -> bool {
    *usd == Usd::ZERO
}

/// The body of `POST /scenarios/{id}/replay`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayAsk {
    /// For this prompt; without it with the values of the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// When, ms since the Unix epoch; without it the hub's own clock, or with the recording's values the recording's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// The user's time zone (`Europe/Berlin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// Its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// The values that it ran with.
    pub derived: Derived,
    /// Every step was reached, and none hands over.
    pub whole: bool,
    /// The steps that were reached, in order.
    pub steps: Vec<ReplayedStep>,
    /// What the answer would be made of; where every step was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_params: Option<Value>,
    /// Where it stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over: Option<HandOver>,
}

/// A step of a dry replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayedStep {
    /// From 0.
    pub step_index: u32,
    /// The tool as the host renders it.
    pub tool_name: String,
    /// The input that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Whether it is the recorded one.
    pub equal: bool,
    /// Where it differs, at most 32 places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Divergence>,
    /// Where each value of the input is from, in its order; of a body that was changed by hand, one for the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<MadeOf>,
    /// What evaluated its input.
    pub by: Source,
    /// What would be done with it at the scenario's level.
    pub act: Act,
    /// Where it hands over, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over: Option<HandOver>,
}

/// Where a value of an input is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeOf {
    /// The way to it, `a.b.0`; empty for the whole input.
    pub path: String,
    /// What it is from.
    pub origin: MadeFrom,
    /// The same in words; none: nothing more is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

words! {
    /// What a value of a dry replay is from.
    MadeFrom {
        /// The prompt that was given.
        Prompt = "prompt",
        /// The prompt of the recording: a parameter that no prompt was given for, or that the prompt does not mention.
        RecordedPrompt = "recorded_prompt",
        /// The recorded result of an earlier step; live, it would be another one.
        RecordedResult = "recorded_result",
        /// It is always the same.
        Constant = "constant",
        /// The clock.
        Clock = "clock",
        /// Several of these, a recorded result among them.
        Mixed = "mixed",
        /// What a model endpoint proposed, recorded results among what it reads.
        Proposed = "proposed",
        /// A body that was changed by hand.
        ByHand = "by_hand",
    }
}

words! {
    /// What evaluated a body.
    Source {
        /// The plan, natively.
        Native = "native",
        /// The sandbox: the body is an edited one.
        Sandbox = "sandbox",
    }
}

/// A place in which two values differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Divergence {
    /// The way to it, `a.b.0`; empty for the whole value.
    pub path: String,
    /// What was recorded; none: it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    /// What was made; none: it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Value>,
}

/// Where a replay stops and gives the task to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandOver {
    /// Before or in which step, from 0; none: before the first one was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// At what.
    pub stage: Stage,
    /// A stable word, one of [`HandOver::CODES`].
    pub code: String,
    /// In words.
    pub why: String,
}

impl HandOver {
    /// What a code can be: the prompt does not ask for it (`unread`) or does not say something that it has to
    /// (`missing_target`); nothing gives a value (`unexplained`), its explanations do not agree (`disagree`), what it is made
    /// of is not there (`absent`), it would hold a placeholder (`redacted`); the step is `frozen`; no recorded result is left
    /// (`no_output`); a body failed (`logic`), there is no sandbox (`unavailable`) or no time (`budget`); the scenario itself
    /// cannot be read (`unreadable`).
    pub const CODES: [&'static str; 12] = [
        "unread",
        "missing_target",
        "unexplained",
        "disagree",
        "absent",
        "frozen",
        "redacted",
        "no_output",
        "logic",
        "unavailable",
        "budget",
        "unreadable",
    ];

    /// Before or in a step, or before the first was looked at.
    #[must_use]
    pub fn new(step: Option<usize>, stage: Stage, code: &'static str, why: impl Into<String>) -> Self {
        debug_assert!(Self::CODES.contains(&code), "`{code}` is no code of a hand-over");
        let step_index = step.and_then(|step| u32::try_from(step).ok());
        Self { step_index, stage, code: code.to_owned(), why: why.into() }
    }
}
