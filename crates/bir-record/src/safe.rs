//! The boundary that nothing unredacted crosses: a [`Raw`] value becomes [`Redacted`] through the redactor alone, and a
//! [`SafeRecord`], the only thing that the spool takes, is made of redacted parts alone.

use crate::Zone;
use crate::tools::SafeTools;
use bir_model::RunId;
use bir_model::control::Join;
use bir_model::record::{FinalAnswer, Finish, Leg, Lost, Record, RunStart, Step, ToolsSeen};

/// A value of a message as it stood on the wire, as far as it was kept. It has no way to a disk.
#[derive(Clone, Copy)]
pub struct Raw<'a> {
    /// The JSON value's first bytes; all of them when there are `len`.
    pub head: &'a [u8],
    /// The value's length on the wire in bytes.
    pub len: u64,
}

impl std::fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Raw({} bytes)", self.len)
    }
}

/// A JSON value without secrets, cut to size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    pub(crate) json: String,
    pub(crate) original_bytes: u64,
    pub(crate) truncated: bool,
}

impl Redacted {
    /// The JSON text; always valid.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Bytes of the value on the wire.
    #[must_use]
    pub fn original_bytes(&self) -> u64 {
        self.original_bytes
    }

    /// Whether something was cut off.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.truncated
    }
}

/// A text without secrets (a prompt, an answer, a name), cut to size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText(pub(crate) String);

impl RedactedText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A record that may reach a disk or the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct SafeRecord(Record);

/// What the metadata of a run says: words of our own and names of zones, so that nothing of a payload gets there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// How the calls that hooks and proxies saw are recognised as one; `join`.
    pub join: Option<Join>,
    /// The time zone that it ran in; `timeZone`.
    pub zone: Option<Zone>,
}

/// The payloads of one row.
#[derive(Debug, Clone, Default)]
pub struct SafePayload {
    /// Arguments as they ran.
    pub input: Option<Redacted>,
    /// Arguments as the model wrote them.
    pub model_input: Option<Redacted>,
    /// The model's reasoning.
    pub context: Option<RedactedText>,
    /// The result.
    pub output: Option<Redacted>,
    /// The error.
    pub error: Option<Redacted>,
    /// Rounds of a multi-round-trip call.
    pub legs: Vec<SafeLeg>,
}

/// One round of a multi-round-trip call.
#[derive(Debug, Clone)]
pub struct SafeLeg {
    /// Counted from 1.
    pub leg: u32,
    /// The `input_required` result.
    pub asked: Redacted,
    /// ms since the Unix epoch.
    pub asked_at: u64,
    /// `inputResponses`.
    pub answered: Option<Redacted>,
    /// ms since the Unix epoch.
    pub answered_at: Option<u64>,
}

impl SafeRecord {
    /// The beginning of a run. What `start` says of prompt and metadata is dropped; the prompt comes redacted.
    #[must_use]
    pub fn run(start: RunStart, input: Option<RedactedText>) -> Self {
        Self::run_with(start, input, RunFacts::default())
    }

    /// As [`SafeRecord::run`], with metadata.
    #[must_use]
    pub fn run_with(start: RunStart, input: Option<RedactedText>, facts: RunFacts) -> Self {
        let join = facts.join.map(|join| ("join".to_owned(), join.as_str().into()));
        let zone = facts.zone.map(|zone| ("timeZone".to_owned(), zone.as_str().into()));
        Self(Record::Run(RunStart {
            input: input.map(|t| t.0),
            metadata: join.into_iter().chain(zone).collect(),
            ..start
        }))
    }

    /// One row of a call. Payload members of `step` are dropped; they come redacted.
    #[must_use]
    pub fn step(step: Step, payload: SafePayload) -> Self {
        let main = [&payload.output, &payload.error, &payload.input].into_iter().flatten().next();
        let original_bytes = main.map(Redacted::original_bytes);
        let truncated = [&payload.input, &payload.model_input, &payload.output, &payload.error]
            .into_iter()
            .flatten()
            .any(Redacted::truncated);
        let leg = |l: SafeLeg| Leg {
            leg: l.leg,
            asked: l.asked.json,
            asked_at: l.asked_at,
            answered: l.answered.map(|r| r.json),
            answered_at: l.answered_at,
        };
        Self(Record::Step(Step {
            tool_input: payload.input.map(|r| r.json),
            model_input: payload.model_input.map(|r| r.json),
            context: payload.context.map(|t| t.0),
            tool_output: payload.output.map(|r| r.json),
            tool_error: payload.error.map(|r| r.json),
            legs: payload.legs.into_iter().map(leg).collect(),
            original_bytes,
            truncated,
            ..step
        }))
    }

    /// The final answer of a turn; what `answer.answer` says is dropped.
    #[must_use]
    pub fn final_answer(answer: FinalAnswer, text: RedactedText) -> Self {
        Self(Record::Final(FinalAnswer { answer: text.0, ..answer }))
    }

    /// The end of a run; its output comes redacted.
    #[must_use]
    pub fn finish(finish: Finish, output: Option<RedactedText>) -> Self {
        Self(Record::Finish(Finish { final_output: output.map(|t| t.0), ..finish }))
    }

    /// A loss; it holds no payload.
    #[must_use]
    pub fn lost(lost: Lost) -> Self {
        Self(Record::Lost(lost))
    }

    /// Tools of a server.
    #[must_use]
    pub fn tools(run_id: RunId, server: String, tools: SafeTools, at: u64) -> Self {
        let (set, hash) = tools.into_parts();
        Self(Record::Tools(ToolsSeen { run_id, server, hash, at, set: Some(set) }))
    }

    /// The name of tools that are said elsewhere.
    #[must_use]
    pub fn tools_named(run_id: RunId, server: String, hash: String, at: u64) -> Self {
        Self(Record::Tools(ToolsSeen { run_id, server, hash, at, set: None }))
    }

    /// The record.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.0
    }
}
