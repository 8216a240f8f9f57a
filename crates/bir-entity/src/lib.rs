//! What a text mentions that has a type: dates, times, numbers with units, amounts of money, addresses, paths, ids, quoted text,
//! names, words of a vocabulary; each with the bytes that it stands on and a normal form.
//!
//! Both sides of a scenario read prompts with it: whoever calculates it finds out which words of the prompt went into a call, and whoever
//! matches another prompt finds the words that stand in their place. It is a function of the text, a clock and a vocabulary.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;

/// When and where a prompt was written; "tomorrow" counts from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// With the zone of the user.
    pub now: jiff::ZonedDateTime,
}

/// Words that tools accept for an argument (`enum` of a JSON Schema), in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// The words as the schema writes them.
    pub words: BTreeSet<String>,
}

/// What something mentioned is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A day; normal form `2026-11-30`.
    Date,
    /// A time of a day; normal form `08:00`.
    Time,
    /// A length of time; normal form in ISO 8601 (`PT1H`, `P2D`).
    Duration,
    /// A number without a unit; normal form a number.
    Number,
    /// A number with a unit; normal form `{"number": 5, "unit": "km"}`.
    Quantity,
    /// An amount of money; normal form `{"number": 5, "currency": "EUR"}`.
    Money,
    /// An e-mail address.
    Email,
    /// An address of the web.
    Url,
    /// A path of a file system.
    Path,
    /// What looks like an identifier: digits and letters mixed, `ABC-123`, a hash, `#42`.
    Id,
    /// Text in quotes; normal form without them.
    Quoted,
    /// A chunk that is written as a name.
    Name,
    /// A word of the vocabulary; normal form as the schema writes it.
    Word,
}

/// Something mentioned.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// The bytes that it stands on.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
    /// Its normal form.
    pub normal: Value,
}
