//! A recorded run, as calculation reads it.

use bir_entity::Clock;
use serde_json::Value;

/// A run.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What the user asked.
    pub prompt: String,
    /// When and where.
    pub clock: Clock,
    /// Its calls, in the order of starting.
    pub calls: Vec<Call>,
    /// The final answer.
    pub answer: Option<String>,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The server's key; none for a built-in tool.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// The JSON Schema of its input, where it is known.
    pub schema: Option<Value>,
    /// What the server says of the tool (`readOnlyHint` …), where it is known. Hints, no facts.
    pub annotations: Option<Value>,
    /// What it was given; placeholders of redaction included, which are never witnesses.
    pub input: Value,
    /// What it gave.
    pub output: Output,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A value: structured content, or a text that is JSON.
    Value {
        /// The value.
        value: Value,
        /// Something of it was cut off: nothing may be concluded from what is not there.
        truncated: bool,
    },
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Its end was cut off.
        truncated: bool,
    },
    /// It failed, was refused, or its end is not known.
    Failed,
}
