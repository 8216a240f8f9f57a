//! Parameters: the words of a prompt that went into calls.

use bir_entity::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;

/// Whether a task can do without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It reaches an id, a path, a recipient, an amount or any write: without it nothing runs.
    Target,
    /// Where a prompt does not mention it, it is what it was in the recording.
    Setting,
}

/// How the words of a prompt become the value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The words as they stand.
    Text,
    /// The normal form of an entity.
    Normal(Kind),
}

/// A parameter of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Param {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Where it stands in the prompt of the recording, in bytes; several where it is said more than once.
    pub spans: Vec<Range<usize>>,
    /// How its words are read.
    pub reading: Reading,
    /// Whether a task can do without it.
    pub role: Role,
    /// Its value in the recording.
    pub sample: Value,
}
