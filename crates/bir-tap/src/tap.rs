use bir_model::{Era, Outcome};
use bir_wire::{Message, Span};
use std::borrow::Cow;

use crate::Moment;

/// Names one tool call for as long as its conversation lives. Not an id of the wire: ids repeat and change between legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(pub u64);

/// A value of a message as it stood on the wire, as far as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    /// The value's first bytes; all of them when [`Payload::is_complete`].
    pub head: &'a [u8],
    /// The value's length on the wire in bytes.
    pub len: u64,
}

impl<'a> Payload<'a> {
    pub(crate) fn of(message: &'a Message<'_>, span: Span) -> Self {
        let head = message.head();
        let clip = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(head.len());
        Self { head: &head[clip(span.start)..clip(span.end)], len: span.end - span.start }
    }

    /// Whether nothing was cut off.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.head.len() as u64 == self.len
    }
}

/// What a tap is told, in the order in which it happened on the wire.
#[derive(Debug)]
pub enum Event<'a> {
    /// The host opens the connection by `initialize` or `server/discover`. It may call before that is answered.
    Opening {
        /// By which of the two.
        era: Era,
        /// `clientInfo` as the host wrote it: a JSON object that names it. Absent when it sent none, or one of unreasonable
        /// length.
        client: Option<&'a [u8]>,
        /// When the request passed.
        at: Moment,
    },
    /// The upstream answered `initialize` or `server/discover`: the connection is in use.
    Connected {
        /// By which of the two the host opened.
        era: Era,
        /// `clientInfo` as the host wrote it in the opening: a JSON object that names it. Absent when it sent none, or one of
        /// unreasonable length.
        client: Option<&'a [u8]>,
        /// The answer's result.
        result: Payload<'a>,
        /// When the answer passed.
        at: Moment,
    },
    /// The host asked which tools there are: it is about to use the connection.
    ToolsAsked {
        /// When the request passed.
        at: Moment,
    },
    /// The upstream said which tools there are, or a page of it.
    ToolsListed {
        /// `params` of the request, JSON, where it had any: a page names its place there. Absent also when they are of
        /// unreasonable length.
        params: Option<&'a [u8]>,
        /// The answer's result.
        result: Payload<'a>,
        /// When the answer passed.
        at: Moment,
    },
    /// The host asked for a tool.
    Began {
        /// The call.
        call: CallKey,
        /// The tool's name as the upstream knows it, decoded.
        tool: Cow<'a, str>,
        /// `_meta["claudecode/toolUseId"]`, `_meta.callId` or `_meta["bir/callId"]`, or what was taken out of the arguments: joins the call to the host's own events.
        host_call_id: Option<Cow<'a, str>>,
        /// `params.arguments`; absent when the host sent none.
        arguments: Option<Payload<'a>>,
        /// `clientInfo` of this very request, as the modern era has it; a host of that era may call without an opening.
        client: Option<&'a [u8]>,
        /// Not the host's call: the relay itself made it for a plan.
        replayed: bool,
        /// When the request passed.
        at: Moment,
    },
    /// A multi-round-trip call asks the host for input; the call goes on.
    LegEnded {
        /// The call.
        call: CallKey,
        /// Counted from 1.
        leg: u32,
        /// The whole `input_required` result.
        result: Payload<'a>,
        /// When the answer passed.
        at: Moment,
    },
    /// The host sent the input; the same call under another id.
    LegBegan {
        /// The call.
        call: CallKey,
        /// Counted from 1; the second leg is the first that is reported.
        leg: u32,
        /// `params.inputResponses`.
        input: Option<Payload<'a>>,
        /// When the request passed.
        at: Moment,
    },
    /// The upstream answered.
    Ended {
        /// The call.
        call: CallKey,
        /// `Ok`, `ToolError` or `RpcError`.
        outcome: Outcome,
        /// The result or the error.
        answer: Payload<'a>,
        /// Another request with the same id was in flight: which answer belongs to which is a guess (first asked, first
        /// answered).
        ambiguous: bool,
        /// When the answer passed.
        at: Moment,
    },
    /// The host withdrew the call before it was answered.
    Cancelled {
        /// The call.
        call: CallKey,
        /// When the notification passed.
        at: Moment,
    },
    /// The upstream is gone, or too much was in flight to follow: how the call ended is not known.
    Lost {
        /// The call.
        call: CallKey,
        /// When that was found.
        at: Moment,
    },
}

/// Is told what happens on a connection. Called on the relay's path, before the bytes go on: it must hand its work to
/// somebody else and return within microseconds.
pub trait Tap: Send {
    /// One event; borrowed from the message that is passing.
    fn observe(&mut self, event: Event<'_>);
}
