//! A change of a step by hand (seed 02 §16.5).

use super::replay::Divergence;
use super::view::Mark;
use super::words::words;
use crate::EditId;
use serde::{Deserialize, Serialize};

/// The body of `POST /scenarios/{id}/steps/{n}/check` and of `PATCH /scenarios/{id}/steps/{n}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditAsk {
    /// The body that makes the step's input; without it that one stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_logic: Option<String>,
    /// The body that makes what later steps need; without it that one stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_logic: Option<String>,
    /// The scenario is to stop before this step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub freeze: bool,
    /// And no longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfreeze: bool,
    /// Save in spite of the report; needs a note.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Another revision than this one is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
}

/// The body of `POST /scenarios/{id}/edits/{e}/revert`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoAsk {
    /// Undo in spite of the report; needs a note.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Another revision than this one is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
}

words! {
    /// Which body of a step.
    Part {
        /// `toolInputLogic`
        Input = "input",
        /// `toolOutputLogic`
        Output = "output",
    }
}

words! {
    /// What is wrong with a change.
    ProblemKind {
        /// It is no function body.
        DoesNotCompile = "does_not_compile",
        /// It throws, takes too long, or returns something else than a plain object.
        Fails = "fails",
        /// With the values of the recording it does not give what was recorded.
        DoesNotReproduce = "does_not_reproduce",
        /// It gives the recorded values whatever it is given.
        Copy = "copy",
        /// A later step no longer gets what it needs.
        BreaksLater = "breaks_later",
        /// The final answer no longer gets what it needs.
        BreaksAnswer = "breaks_answer",
        /// It takes longer than a check may.
        TooCostly = "too_costly",
    }
}

/// Something that is wrong with a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// In which step it shows, from 0; none: in the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// In which body of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// In words.
    pub message: String,
    /// Where in the body, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Which values differ, at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Divergence>,
}

/// What a change would do; the same for a check and a save.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditReport {
    /// It reproduces the recording and is no copy of it.
    pub ok: bool,
    /// Bodies and mark are those that the step has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_change: bool,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Who has frozen the step afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// How long it took, milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// What was saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edited {
    /// The entry of the history.
    pub edit: EditEntry,
    /// Of the scenario, now.
    pub revision: u64,
    /// What was checked.
    pub report: EditReport,
}

/// A change in the history of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditEntry {
    /// Its id.
    pub edit_id: EditId,
    /// Of which step, from 0.
    pub step_index: u32,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// Who, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The edited parts of the step before it.
    pub before: StepEdits,
    /// And after it.
    pub after: StepEdits,
    /// It was saved in spite of the report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of the scenario, after it.
    pub revision: u64,
    /// It takes back this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_back: Option<EditId>,
}

/// What is changed by hand in a step. Nothing: it is as it was calculated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEdits {
    /// The edited body that makes its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_logic: Option<String>,
    /// The edited body that makes what later steps need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_logic: Option<String>,
    /// Who has frozen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}
