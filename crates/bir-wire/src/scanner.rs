//! The scanner: one message at a time, in whatever chunks it comes.
//!
//! ```
//! use bir_wire::{Field, Kind, Limits, Scanner};
//!
//! let mut scanner = Scanner::new(Limits::default());
//! scanner.push(br#"{"jsonrpc":"2.0","id":"#);
//! scanner.push(b"1.0,\"method\":\"tools/call\",\"params\":{\"name\":\"ad");
//! let message = scanner.finish_whole(b"d\",\"arguments\":{\"a\":1}}}\n");
//!
//! assert_eq!(message.kind(), Kind::Request);
//! assert_eq!(message.envelope().raw(Field::Id), Some(&b"1.0"[..]));
//! assert!(message.envelope().text_is(Field::ToolName, "add"));
//! let arguments = message.envelope().span(Field::Arguments).unwrap();
//! assert_eq!(message.slice(arguments), Some(&br#"{"a":1}"#[..]));
//! scanner.reset();
//! ```
//!
//! Accepted is RFC 8259 JSON, encoded in UTF-8, with white space around it and one byte order mark before it. A fault
//! never stops the scanner from taking bytes: it is reported at the end, and what was found before stays readable.
//! Nothing here grows with the length of a message: see [`Scanner::capacity`].

use std::fmt;

use crate::envelope::{Envelope, Span};
use crate::machine::Machine;
use crate::track::Tracker;

/// What a scanner keeps and follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message's head that are kept for a reader when the message comes in more than one push.
    pub keep: usize,
    /// The longest scalar that is copied, in bytes as written. A longer one has a span and no text. All copies of one
    /// message together may take 22 times as much, which only a batch or repeated keys can reach.
    pub scalar: usize,
    /// How deep arrays and objects may be nested; deeper is [`FaultKind::Nesting`].
    pub depth: u32,
    /// How many elements of a batch are described. Further ones are checked and counted.
    pub batch: usize,
}

impl Default for Limits {
    /// 64 KiB of head, scalars up to 64 KiB, 100,000 levels, 256 elements.
    fn default() -> Self {
        Self { keep: 64 << 10, scalar: 64 << 10, depth: 100_000, batch: 256 }
    }
}

/// What is wrong with a message that is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A string holds bytes that are not UTF-8.
    Utf8,
    /// Brackets do not match, or are nested deeper than [`Limits::depth`].
    Nesting,
    /// A byte that cannot stand where it stands.
    Syntax,
    /// The message ended in the middle.
    Truncated,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultKind::Utf8 => "invalid UTF-8",
            FaultKind::Nesting => "unbalanced or too deeply nested brackets",
            FaultKind::Syntax => "a byte that JSON does not allow there",
            FaultKind::Truncated => "ends in the middle",
        })
    }
}

/// The first fault of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The byte of the message that cannot be, or the first byte of the sequence that is not UTF-8; for
    /// [`FaultKind::Truncated`] the length of the message.
    pub at: u64,
    /// What is wrong there.
    pub what: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing but white space (and a byte order mark).
    Blank,
    /// A method with an id.
    Request,
    /// A method without an id.
    Notification,
    /// An id with a result.
    Response,
    /// An error, with or without an id.
    ErrorResponse,
    /// An array with at least one object in it.
    Batch,
    /// JSON, but no JSON-RPC message.
    Other,
    /// No JSON.
    NotJson(Fault),
}

/// A larger buffer for heads is given back when the next message begins.
const HEAD_KEPT: usize = 64 << 10;

/// Reads messages one after the other; buffers are reused from message to message.
pub struct Scanner {
    machine: Machine,
    head: Vec<u8>,
    keep: usize,
}

impl Scanner {
    /// Creates a scanner that is ready for the first message.
    pub fn new(limits: Limits) -> Self {
        Self {
            machine: Machine::new(limits.depth, Tracker::new(limits.scalar, limits.batch)),
            head: Vec::new(),
            keep: limits.keep,
        }
    }

    /// Takes the next bytes of the message, split anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.keep.saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.machine.push(bytes);
    }

    /// Ends the message and says what it was. The scanner must be [`reset`](Self::reset) before the next one.
    pub fn finish(&mut self) -> Message<'_> {
        self.machine.finish();
        self.message(&self.head)
    }

    /// Takes the last or only bytes of the message and ends it. If nothing was pushed before, [`Message::head`] is
    /// `bytes`, and nothing is copied but small scalars.
    pub fn finish_whole<'a>(&'a mut self, bytes: &'a [u8]) -> Message<'a> {
        if self.is_empty() {
            self.machine.push(bytes);
            self.machine.finish();
            self.message(bytes)
        } else {
            self.push(bytes);
            self.finish()
        }
    }

    fn message<'a>(&'a self, head: &'a [u8]) -> Message<'a> {
        let tracker = &self.machine.tracker;
        let kind = match self.machine.fault() {
            Some(fault) => Kind::NotJson(fault),
            None if self.machine.blank() => Kind::Blank,
            None if tracker.is_batch() => Kind::Batch,
            None => tracker.root().kind(),
        };
        Message {
            kind,
            len: self.len(),
            head,
            envelope: tracker.root(),
            batch: tracker.batch(),
            elements: tracker.elements(),
        }
    }

    /// What is known already, in the middle of a message. In a batch: nothing but where it begins.
    pub fn so_far(&self) -> &Envelope {
        self.machine.tracker.root()
    }

    /// The fault that was found already, in the middle of a message.
    pub fn fault_so_far(&self) -> Option<Fault> {
        self.machine.fault()
    }

    /// Bytes of this message that were pushed.
    pub fn len(&self) -> u64 {
        self.machine.len()
    }

    /// Whether nothing of this message was pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes ready for the next message. Buffers are kept, but for unusually large ones.
    pub fn reset(&mut self) {
        self.machine.reset();
        self.head.clear();
        self.head.shrink_to(HEAD_KEPT);
    }

    /// Bytes of memory that the scanner holds beside itself: the head, copied scalars, nesting and the elements of a
    /// batch. Bounded by the limits, whatever the length of a message.
    pub fn capacity(&self) -> usize {
        self.head.capacity() + self.machine.capacity()
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner")
            .field("len", &self.len())
            .field("so_far", self.so_far())
            .finish_non_exhaustive()
    }
}

/// One complete message, as long as the scanner keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    kind: Kind,
    len: u64,
    head: &'a [u8],
    envelope: &'a Envelope,
    batch: &'a [Envelope],
    elements: u64,
}

impl<'a> Message<'a> {
    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many bytes it has, white space and newline included.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first bytes: all of them when the message came in one piece through [`Scanner::finish_whole`], up to
    /// [`Limits::keep`] otherwise.
    pub fn head(&self) -> &'a [u8] {
        self.head
    }

    /// Whether [`head`](Self::head) is the whole message.
    pub fn is_whole(&self) -> bool {
        self.head.len() as u64 == self.len
    }

    /// The fields of the message; of a batch, its span and whether an element repeats a key.
    pub fn envelope(&self) -> &'a Envelope {
        self.envelope
    }

    /// The elements of a batch, up to [`Limits::batch`]. One that is no object has the kind [`Kind::Other`].
    pub fn batch(&self) -> &'a [Envelope] {
        self.batch
    }

    /// How many elements the batch has, described or not.
    pub fn batch_len(&self) -> u64 {
        self.elements
    }

    /// The bytes of a span; `None` when it reaches beyond [`head`](Self::head).
    pub fn slice(&self, span: Span) -> Option<&'a [u8]> {
        self.head.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)
    }
}
