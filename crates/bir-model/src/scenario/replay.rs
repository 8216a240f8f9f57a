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
    /// What evaluated its input.
    pub by: Source,
    /// What would be done with it at the scenario's level.
    pub act: Act,
    /// Where it hands over, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over: Option<HandOver>,
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
    /// A stable word: `unread` (the prompt does not ask for it), `missing_target` (it does not say something that it
    /// has to),
    /// `unexplained` (nothing gives a value), `disagree` (its explanations do), `absent` (what it is made of is not
    /// there), `frozen`,
    /// `redacted` (it would hold a placeholder), `no_output` (no recorded result is left), `logic` (a body failed),
    /// `unavailable` (there
    /// is no sandbox), `budget`, `unreadable` (the scenario itself).
    pub code: String,
    /// In words.
    pub why: String,
}
