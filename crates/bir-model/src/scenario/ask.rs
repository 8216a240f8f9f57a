//! What is asked of scenarios as a whole: whether a prompt is for one, calculating, approving.

use super::payload::Matched;
use super::replay::ReplayedStep;
use super::view::Level;
use crate::{RunId, ScenarioId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::words::words;

/// The body of `POST /scenarios/match`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchAsk {
    /// What would be asked.
    pub prompt: String,
    /// In which project; a scenario of another one does not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// When, ms since the Unix epoch; without it the hub's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// The user's time zone (`Europe/Berlin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

words! {
    /// What the hub makes of a prompt.
    Decision {
        /// The scenario may run.
        Execute = "execute",
        /// The model is told what would run.
        Steer = "steer",
        /// Nothing: it is the model's.
        Decline = "decline",
    }
}

/// Its answer. Nothing was written, and there is no ticket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchSaid {
    /// What would be done.
    pub decision: Decision,
    /// A stable word for it, one of [`MatchSaid::CODES`].
    pub code: String,
    /// Why, in words.
    pub why: String,
    /// What a run with this prompt would be answered, without a ticket; none: nothing matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    /// The words of the prompt that parameters were read from, by name; of one that stands on its sample, none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, String>,
    /// What would run, against recorded results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ReplayedStep>,
    /// The recorded prompt that is most like it, also where nothing matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// How long the match took, microseconds.
    #[serde(default)]
    pub took_us: u64,
}

impl MatchSaid {
    /// What a code can be.
    pub const CODES: [&'static str; 12] = [
        "same",
        "values",
        "joined",
        "missing_target",
        "veto",
        "unlikely",
        "nothing_alike",
        "nothing_recorded",
        "not_in_time",
        "too_long",
        "gone",
        "unreadable",
    ];
}

/// A recorded prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nearest {
    /// Its run, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Its scenario, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_id: Option<ScenarioId>,
    /// The prompt, cut to 500 characters.
    pub prompt: String,
}

/// The body of `POST /recordings/runs/{id}/calculate` and `POST /scenarios/{id}/recalculate`; an empty one is the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CalculateAsk {
    /// Also where it was calculated before, in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Changes by hand go.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard_edits: bool,
}

/// The body of `POST /scenarios/{id}/approve`; an empty one approves at the level that it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApproveAsk {
    /// How far it may run by itself: `L1` reads, `L2` idempotent writes too, `L3` everything. Above `L1` two runs have to agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Take the approval back: it no longer runs unasked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoke: bool,
}
