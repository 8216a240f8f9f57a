//! Where a value comes from: a small language, stored as JSON, evaluated here ([`eval()`]) and emitted as JavaScript ([`emit`](crate::emit)).
//!
//! ```text
//!  parameters, the clock ─┐                        ┌─▶ inputs of this step
//!  kept of earlier results ┼─▶ Expr ─ evaluated ──┤
//!  the result of this step ┘   (only in its keeps)  └─▶ kept for later steps, under a key
//! ```
//!
//! It is total: no loops, no state, every operation either gives a value or says why not. What an operation means is chosen so that
//! JavaScript can say the same: times are texts (`2026-11-30`, `08:00`, `2026-11-30T08:00`), numbers are doubles.

mod eval;
mod number;
mod text;
mod time;

pub use eval::{EvalError, Scope, compare, eval, view};
pub use number::{as_number, number, shown};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A way into a value: keys and indexes.
pub type Path = Vec<At>;

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum At {
    /// A member.
    Key(String),
    /// An element, from 0.
    Index(usize),
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Expr {
    /// Always this.
    Const(Value),
    /// A parameter.
    Param(String),
    /// What an earlier step kept, by its key.
    Kept(String),
    /// Something of the result of this step. Only what is kept of a step may be made of it.
    Result(Path),
    /// Something of the element that is looked at, in a [`Pick`](Self::Pick), or of the round of a loop.
    Item(Path),
    /// When the task runs, in the user's zone.
    Clock(Clock),
    /// Something of a value.
    Get {
        /// The value.
        of: Box<Expr>,
        /// What of it.
        path: Path,
    },
    /// One element of a list, and something of it.
    Pick {
        /// The list.
        from: Box<Expr>,
        /// Which element.
        by: Selector,
        /// What of it.
        path: Path,
    },
    /// Texts one after the other; numbers become texts.
    Concat(Vec<Expr>),
    /// A part of a text between two separators.
    Cut {
        /// The text.
        of: Box<Expr>,
        /// It begins behind the first of these; empty: at the beginning.
        after: String,
        /// It ends before the next of these; empty: at the end.
        before: String,
    },
    /// A text in another case.
    Case {
        /// The text.
        of: Box<Expr>,
        /// Which.
        to: Case,
    },
    /// A number as a text, a text that is a number as a number.
    To {
        /// The value.
        of: Box<Expr>,
        /// What it becomes.
        to: Type,
    },
    /// A time in another form.
    Time {
        /// A date, a time of a day, or both with a `T` between them.
        of: Box<Expr>,
        /// The form.
        form: TimeForm,
    },
    /// A number or a time that is so much later.
    Add {
        /// The number, date, time, or date with time.
        of: Box<Expr>,
        /// How much.
        amount: Box<Expr>,
        /// Of what.
        unit: Unit,
    },
    /// A number, rounded half away from zero.
    Round {
        /// The number.
        of: Box<Expr>,
        /// Digits behind the point, at most 12.
        digits: u8,
    },
    /// A part of an address.
    Url {
        /// The address.
        of: Box<Expr>,
        /// Which.
        part: UrlPart,
    },
    /// A text that is JSON, read.
    Json {
        /// The text.
        of: Box<Expr>,
        /// What of it.
        path: Path,
    },
    /// One word for another.
    Map {
        /// The value.
        of: Box<Expr>,
        /// What it may be, and what it becomes.
        cases: Vec<(Value, Value)>,
    },
    /// How many of a unit a length of time is (`PT1H30M` → 90 minutes); an error where that is no whole number.
    Amount {
        /// The length of time, in ISO 8601.
        of: Box<Expr>,
        /// Days, months or minutes.
        unit: Unit,
    },
    /// How many elements a list has.
    Len(Box<Expr>),
}

/// What of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Clock {
    /// `2026-11-30`
    Date,
    /// `08:00`
    Time,
    /// `2026-11-30T08:00`
    DateTime,
}

/// Which element of a list. None that fits is an error, and so is more than one where one is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Selector {
    /// The first.
    First,
    /// The last.
    Last,
    /// By its place, from 0.
    Nth(usize),
    /// That with the smallest number; of equals the first.
    Min(Path),
    /// That with the largest number; of equals the first.
    Max(Path),
    /// The one that fits.
    Only(Test),
    /// The first that fits.
    FirstThat(Test),
}

/// What an element has to be like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// What of it.
    pub path: Path,
    /// How it compares.
    pub op: Op,
    /// With what.
    pub with: Box<Expr>,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Op {
    /// The same value; a number equals the text that spells it.
    Equal,
    /// Not that.
    NotEqual,
    /// The same text, whatever its case and the white space around it.
    SameText,
    /// A smaller number.
    Less,
    /// A smaller or the same.
    AtMost,
    /// A larger number.
    Greater,
    /// A larger or the same.
    AtLeast,
}

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Case {
    /// Small letters.
    Lower,
    /// Capitals.
    Upper,
    /// Each word with a capital, the rest as it is.
    Title,
    /// Small letters and digits, everything else one hyphen, none at the ends.
    Slug,
    /// Without white space at the ends.
    Trimmed,
}

/// What a value is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Type {
    /// A text.
    Text,
    /// A number.
    Number,
}

/// A form of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimeForm {
    /// `2026-11-30`
    Date,
    /// `08:00`
    Time,
    /// `08:00:00`
    TimeWithSeconds,
    /// `2026-11-30T08:00`
    DateTime,
    /// `2026-11-30T08:00:00`
    DateTimeWithSeconds,
    /// `2026-11-30 08:00`
    DateSpaceTime,
    /// `30.11.2026`
    DotDate,
    /// `11/30/2026`
    SlashDateMonthFirst,
    /// `30/11/2026`
    SlashDateDayFirst,
    /// `20261130`
    CompactDate,
    /// `2026`
    Year,
    /// `11`
    Month,
    /// `30`
    Day,
}

/// What is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// A plain number.
    Number,
    /// Days of a date, with or without a time.
    Days,
    /// Months; the last day of a month where the day is not there.
    Months,
    /// Minutes of a time; a time of a day alone goes around the clock.
    Minutes,
}

/// A part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UrlPart {
    /// `https`
    Scheme,
    /// `example.com`, with a port where there is one.
    Host,
    /// `/a/b`
    Path,
    /// The part of the path behind the last slash.
    LastSegment,
}
