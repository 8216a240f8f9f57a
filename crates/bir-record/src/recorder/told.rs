//! What the tap was told, with the bytes that it stood on.

use super::MAX_COPY;
use crate::Raw;
use bir_model::{Era, Outcome};
use bir_tap::{CallKey, Moment, Payload};

/// A value of a message: its head, up to [`MAX_COPY`], and its length on the wire.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Value {
    head: Vec<u8>,
    len: u64,
}

impl Value {
    pub(super) fn of(payload: Payload<'_>) -> Self {
        Self { head: payload.head[..payload.head.len().min(MAX_COPY)].to_vec(), len: payload.len }
    }

    /// Keeps so many bytes at most. The length on the wire stays, so that what is kept says that it was cut.
    fn cut(&mut self, most: usize) {
        if self.head.len() > most {
            self.head.truncate(most);
            self.head.shrink_to_fit();
        }
    }

    /// The value, where all of it was kept.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (self.head.len() as u64 == self.len).then_some(&*self.head)
    }

    pub(super) fn raw(&self) -> Raw<'_> {
        Raw { head: &self.head, len: self.len }
    }
}

/// Lengths only.
impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({} of {} bytes)", self.head.len(), self.len)
    }
}

/// One event of a call.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) call: CallKey,
    pub(super) at: Moment,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Began { tool: String, host_call_id: Option<String>, arguments: Option<Value>, replayed: bool },
    LegEnded { leg: u32, result: Value },
    LegBegan { input: Option<Value> },
    Ended { outcome: Outcome, answer: Value, ambiguous: bool },
    Cancelled,
    Lost,
}

impl Told {
    /// Cuts its values to so many bytes each.
    pub(super) fn cut(&mut self, most: usize) {
        match &mut self.what {
            What::Began { arguments: Some(value), .. }
            | What::LegEnded { result: value, .. }
            | What::LegBegan { input: Some(value) }
            | What::Ended { answer: value, .. } => value.cut(most),
            What::Began { .. } | What::LegBegan { .. } | What::Cancelled | What::Lost => {}
        }
    }

    /// Bytes of payload that it holds.
    pub(super) fn bytes(&self) -> usize {
        match &self.what {
            What::Began { tool, host_call_id, arguments, .. } => {
                tool.len() + host_call_id.as_ref().map_or(0, String::len) + length(arguments.as_ref())
            }
            What::LegEnded { result, .. } => result.head.len(),
            What::LegBegan { input } => length(input.as_ref()),
            What::Ended { answer, .. } => answer.head.len(),
            What::Cancelled | What::Lost => 0,
        }
    }
}

fn length(value: Option<&Value>) -> usize {
    value.map_or(0, |value| value.head.len())
}

/// How the connection was opened: who speaks with whom.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) era: Era,
    /// `clientInfo`, JSON.
    pub(super) client: Option<Vec<u8>>,
    /// The answer's result, JSON; empty when the host called without an opening.
    pub(super) result: Vec<u8>,
}
