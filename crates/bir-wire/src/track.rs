//! Following the envelope: which container the scanner is in, and which field the next value is.
//!
//! The grammar ([`machine`](crate::machine)) calls in at each token of a *tracked* container: the message, its
//! `params`, `params._meta`, `result`, `error`, and a batch. Everything else is skimmed without a call.
//!
//! ```text
//! Outside ─[─► Batch ─{─► Message ─{─► Params ─{─► Meta
//!    └──────────{───────────┘   ├───{─► Result
//!                               └───{─► Error
//! ```
//!
//! A key or a scalar may be cut by a chunk boundary. What stood in the chunk is then carried: keys into a small
//! buffer, scalars straight into the arena of the envelope, where they belong in the end.

use crate::envelope::{Envelope, Field, Span, ValueKind};
use crate::text;

/// The longest tracked key, each character written as an escape, is shorter; a longer key is none of ours.
const LONGEST_KEY: usize = 256;

/// Copies of one message may take this many times the longest scalar. One message without repeated keys stays below;
/// a batch shares it.
const COPIES: usize = Field::ALL.len();

/// What the innermost tracked container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    Batch,
    Message,
    Params,
    Meta,
    Result,
    Error,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    place: Place,
    /// Which field of the container around it this container is.
    field: Option<Field>,
}

const OUTSIDE: Level = Level { place: Place::Outside, field: None };

/// The deepest path is outside, batch, message, params, meta.
const LEVELS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copying {
    /// Nobody asks for this value.
    Off,
    On,
    /// It was asked for and is too long.
    TooLong,
}

pub(crate) struct Tracker {
    /// The message, when it is no batch.
    root: Envelope,
    batch: Vec<Envelope>,
    /// How many of `batch` are in use.
    described: usize,
    /// Elements that began, described or not.
    elements: u64,
    /// Whether an element is an object.
    objects: bool,
    is_batch: bool,

    levels: [Level; LEVELS],
    top: usize,
    /// The field that the next value is.
    pending: Option<Field>,
    /// The field whose untracked container is being skimmed.
    skimmed: Option<Field>,

    /// Where the token in progress begins: in this chunk (zero when in an earlier one), and in the message.
    mark: usize,
    token: u64,
    copying: Copying,
    /// Where the copy of the value in progress begins in the arena.
    copy: usize,
    /// Arena bytes that were used for this message.
    spent: usize,
    key: Vec<u8>,

    longest: usize,
    most: usize,
}

impl Tracker {
    /// Copies scalars up to `longest` bytes and describes up to `most` elements of a batch.
    pub(crate) fn new(longest: usize, most: usize) -> Self {
        Self {
            root: Envelope::new(),
            batch: Vec::new(),
            described: 0,
            elements: 0,
            objects: false,
            is_batch: false,
            levels: [OUTSIDE; LEVELS],
            top: 0,
            pending: None,
            skimmed: None,
            mark: 0,
            token: 0,
            copying: Copying::Off,
            copy: 0,
            spent: 0,
            key: Vec::new(),
            longest,
            most,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.root.reset();
        // So that the large copies of one batch are not kept until the next.
        self.batch.iter_mut().take(self.described).for_each(Envelope::reset);
        self.described = 0;
        self.elements = 0;
        self.objects = false;
        self.is_batch = false;
        self.top = 0;
        self.pending = None;
        self.skimmed = None;
        self.copying = Copying::Off;
        self.spent = 0;
        self.key.clear();
    }

    pub(crate) fn root(&self) -> &Envelope {
        &self.root
    }

    pub(crate) fn root_mut(&mut self) -> &mut Envelope {
        &mut self.root
    }

    pub(crate) fn batch(&self) -> &[Envelope] {
        self.batch.get(..self.described).unwrap_or_default()
    }

    pub(crate) fn elements(&self) -> u64 {
        self.elements
    }

    /// A batch of messages, as opposed to some array.
    pub(crate) fn is_batch(&self) -> bool {
        self.is_batch && self.objects
    }

    /// Bytes reserved by keys, copies and envelopes.
    pub(crate) fn capacity(&self) -> usize {
        let arenas: usize = self.batch.iter().map(Envelope::capacity).sum();
        self.key.capacity() + self.root.capacity() + arenas + self.batch.capacity() * size_of::<Envelope>()
    }

    #[inline]
    fn envelope(&mut self) -> &mut Envelope {
        if self.is_batch
            && let Some(last) = self.described.checked_sub(1).and_then(|n| self.batch.get_mut(n))
        {
            return last;
        }
        &mut self.root
    }

    fn place(&self) -> Place {
        self.levels[self.top].place
    }

    /// A value that belongs to no key begins: the message itself, or an element. False when it is not described.
    fn element(&mut self, at: u64, object: bool) -> bool {
        match self.place() {
            Place::Outside => self.root.set_start(at),
            Place::Batch => {
                self.elements += 1;
                self.objects |= object;
                if self.described == self.most {
                    return false;
                }
                if self.described == self.batch.len() {
                    self.batch.push(Envelope::new());
                }
                self.described += 1;
                self.envelope().set_start(at);
            }
            _ => {}
        }
        true
    }

    /// The element that began last is complete.
    fn element_ends(&mut self, at: u64) {
        match self.place() {
            Place::Outside => self.root.set_end(at),
            Place::Batch if self.elements == self.described as u64 => self.envelope().set_end(at),
            _ => {}
        }
    }

    /// A key begins; its first byte after the quote is byte `i` of this chunk.
    #[inline]
    pub(crate) fn begin_key(&mut self, i: usize) {
        self.mark = i;
        self.key.clear();
    }

    /// The chunk ends inside a key.
    pub(crate) fn carry_key(&mut self, bytes: &[u8]) {
        let more = bytes.get(self.mark..).unwrap_or_default();
        // One byte more than the limit says that it is longer.
        let room = (LONGEST_KEY + 1).saturating_sub(self.key.len());
        self.key.extend_from_slice(&more[..more.len().min(room)]);
        self.mark = 0;
    }

    /// A key is complete; its closing quote is byte `i`.
    #[inline]
    pub(crate) fn end_key(&mut self, bytes: &[u8], i: usize) {
        self.pending = if self.key.is_empty() {
            field(self.place(), &bytes[self.mark..i])
        } else {
            self.carry_key(&bytes[..i]);
            field(self.place(), &self.key)
        };
        if let Some(field) = self.pending {
            self.envelope().key(field);
        }
    }

    /// A scalar begins at byte `i` of this chunk.
    #[inline]
    pub(crate) fn begin_scalar(&mut self, i: usize, at: u64) {
        self.mark = i;
        self.token = at;
        if self.pending.is_some() {
            self.copying = Copying::On;
            self.copy = self.envelope().arena().len();
        } else {
            self.copying = Copying::Off;
            self.element(at, false);
        }
    }

    /// The chunk ends inside a scalar.
    pub(crate) fn carry_scalar(&mut self, bytes: &[u8]) {
        self.copy_scalar(bytes, bytes.len());
        self.mark = 0;
    }

    #[inline]
    fn copy_scalar(&mut self, bytes: &[u8], end: usize) {
        if self.copying != Copying::On {
            return;
        }
        let more = bytes.get(self.mark..end).unwrap_or_default();
        let (begun, longest, left) =
            (self.copy, self.longest, self.longest.saturating_mul(COPIES) - self.spent);
        let arena = self.envelope().arena();
        if arena.len() - begun + more.len() > longest || more.len() > left {
            arena.truncate(begun);
            self.copying = Copying::TooLong;
        } else {
            arena.extend_from_slice(more);
            self.spent += more.len();
        }
    }

    /// A scalar is complete; byte `i` is the first after it.
    #[inline]
    pub(crate) fn end_scalar(&mut self, bytes: &[u8], i: usize, end: u64, kind: ValueKind) {
        match self.pending.take() {
            Some(field) => {
                self.copy_scalar(bytes, i);
                let copy = (self.copying == Copying::On).then_some(self.copy);
                let span = Span { start: self.token, end };
                self.envelope().scalar(field, span, kind, copy);
            }
            None => self.element_ends(end),
        }
    }

    /// An object or array begins. Says whether its tokens are to be told; if not, [`skimmed`](Self::skimmed) is told
    /// when it ends.
    #[inline]
    pub(crate) fn open(&mut self, at: u64, object: bool) -> bool {
        let field = self.pending.take();
        if let Some(field) = field {
            let kind = if object { ValueKind::Object } else { ValueKind::Array };
            self.envelope().open(field, at, kind);
        }
        let described = self.element(at, object);
        let place = match (self.place(), field, object) {
            (Place::Outside, _, true) => Place::Message,
            (Place::Outside, _, false) => {
                self.is_batch = true;
                Place::Batch
            }
            (Place::Batch, _, true) if described => Place::Message,
            (Place::Message, Some(Field::Params), true) => Place::Params,
            (Place::Message, Some(Field::Result), true) => Place::Result,
            (Place::Message, Some(Field::Error), true) => Place::Error,
            (Place::Params, Some(Field::Meta), true) => Place::Meta,
            _ => {
                self.skimmed = field;
                return false;
            }
        };
        self.top += 1;
        self.levels[self.top] = Level { place, field };
        true
    }

    /// A tracked container ends; `end` is the byte after its bracket.
    #[inline]
    pub(crate) fn close(&mut self, end: u64) {
        let field = self.levels[self.top].field;
        self.top = self.top.saturating_sub(1);
        self.ended(field, end);
    }

    /// An untracked container inside a tracked one ends.
    #[inline]
    pub(crate) fn skimmed(&mut self, end: u64) {
        let field = self.skimmed.take();
        self.ended(field, end);
    }

    fn ended(&mut self, field: Option<Field>, end: u64) {
        match field {
            Some(field) => self.envelope().close(field, end),
            None => self.element_ends(end),
        }
    }

    /// The message is complete: a repeated key in an element makes the whole batch doubtful.
    pub(crate) fn finish(&mut self) {
        if self.batch().iter().any(Envelope::repeated) {
            self.root.mark_repeated();
        }
    }
}

/// Which field a key is, compared decoded.
#[inline]
fn field(place: Place, key: &[u8]) -> Option<Field> {
    let found = exact(place, key);
    if found.is_some() || !key.contains(&b'\\') || key.len() > LONGEST_KEY {
        return found;
    }
    escaped(place, key)
}

#[cold]
fn escaped(place: Place, key: &[u8]) -> Option<Field> {
    let mut token = [b'"'; LONGEST_KEY + 2];
    token.get_mut(1..=key.len())?.copy_from_slice(key);
    let token = token.get(..key.len() + 2)?;
    // Tracked keys are ASCII: one byte for each character, so the decoded key fits where the written one did.
    let mut plain = [0; LONGEST_KEY];
    let length = text::decode_into(token, &mut plain)?;
    exact(place, plain.get(..length)?)
}

#[inline]
fn exact(place: Place, key: &[u8]) -> Option<Field> {
    match place {
        Place::Message => match key {
            b"id" => Some(Field::Id),
            b"method" => Some(Field::Method),
            b"params" => Some(Field::Params),
            b"result" => Some(Field::Result),
            b"error" => Some(Field::Error),
            _ => None,
        },
        Place::Params => match key {
            b"name" => Some(Field::ToolName),
            b"arguments" => Some(Field::Arguments),
            b"_meta" => Some(Field::Meta),
            b"uri" => Some(Field::Uri),
            b"requestId" => Some(Field::RequestId),
            b"requestState" => Some(Field::ParamsRequestState),
            b"inputResponses" => Some(Field::InputResponses),
            b"protocolVersion" => Some(Field::InitProtocolVersion),
            b"clientInfo" => Some(Field::InitClientInfo),
            _ => None,
        },
        Place::Meta => match key {
            b"progressToken" => Some(Field::ProgressToken),
            b"bir/callId" => Some(Field::BirCallId),
            b"callId" => Some(Field::CallId),
            b"claudecode/toolUseId" => Some(Field::ToolUseId),
            b"io.modelcontextprotocol/protocolVersion" => Some(Field::ProtocolVersion),
            b"io.modelcontextprotocol/clientInfo" => Some(Field::ClientInfo),
            _ => None,
        },
        Place::Result => match key {
            b"isError" => Some(Field::IsError),
            b"resultType" => Some(Field::ResultType),
            b"requestState" => Some(Field::ResultRequestState),
            b"protocolVersion" => Some(Field::ResultProtocolVersion),
            _ => None,
        },
        Place::Error => match key {
            b"code" => Some(Field::ErrorCode),
            _ => None,
        },
        Place::Outside | Place::Batch => None,
    }
}
