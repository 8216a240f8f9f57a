//! What is known about one message: its tracked fields, as bytes and spans.
//!
//! An envelope belongs to the scanner and is reused; small values are copied into its arena, because the chunk that
//! they came in is gone when somebody asks. Nothing is interpreted: an id is the token that was written.

use std::borrow::Cow;
use std::fmt;

use crate::scanner::Kind;
use crate::text;

/// A range of bytes inside one message, counted from the message's first byte (a byte order mark or white space
/// counts too).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

impl Span {
    /// How many bytes it covers.
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it covers none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number, of any size and precision.
    Number,
    /// A string.
    String,
    /// An object.
    Object,
    /// An array.
    Array,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A place in a message that the scanner looks for. Keys are compared decoded and case-sensitively.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Field {
            $($(#[$doc])* $name,)*
        }

        impl Field {
            /// All fields, in declaration order.
            pub const ALL: [Field; [$(Field::$name),*].len()] = [$(Field::$name),*];
        }
    };
}

fields! {
    /// `id`
    Id,
    /// `method`
    Method,
    /// `params.name`: the tool of `tools/call`, the prompt of `prompts/get`
    ToolName,
    /// `params._meta["claudecode/toolUseId"]`
    ToolUseId,
    /// `params._meta.callId` (Codex)
    CallId,
    /// `params._meta["bir/callId"]`: for hosts that let somebody else name a call
    BirCallId,
    /// `params._meta["io.modelcontextprotocol/protocolVersion"]` (2026-07-28)
    ProtocolVersion,
    /// `params.protocolVersion`: what a host asks for in `initialize`
    InitProtocolVersion,
    /// `params.clientInfo`: how a host names itself in `initialize`
    InitClientInfo,
    /// `params._meta["io.modelcontextprotocol/clientInfo"]`: how it names itself in each request (2026-07-28)
    ClientInfo,
    /// `params._meta.progressToken`
    ProgressToken,
    /// `params.requestId` of `notifications/cancelled`
    RequestId,
    /// `params.uri`
    Uri,
    /// `params.requestState` (2026-07-28)
    ParamsRequestState,
    /// `result.resultType` (2026-07-28)
    ResultType,
    /// `result.requestState` (2026-07-28)
    ResultRequestState,
    /// `result.isError`
    IsError,
    /// `result.protocolVersion`: what an upstream answers to `initialize`
    ResultProtocolVersion,
    /// `error.code`
    ErrorCode,
    /// `params`
    Params,
    /// `params.arguments`
    Arguments,
    /// `params._meta`
    Meta,
    /// `params.inputResponses` (2026-07-28)
    InputResponses,
    /// `result`
    Result,
    /// `error`
    Error,
}

const fn bits(fields: &[Field]) -> u32 {
    let (mut bits, mut i) = (0, 0);
    while i < fields.len() {
        bits |= fields[i].bit();
        i += 1;
    }
    bits
}

const IN_META: u32 = bits(&[
    Field::ToolUseId,
    Field::CallId,
    Field::BirCallId,
    Field::ProtocolVersion,
    Field::ProgressToken,
    Field::ClientInfo,
]);
const IN_PARAMS: u32 = IN_META
    | bits(&[
        Field::ToolName,
        Field::InitProtocolVersion,
        Field::InitClientInfo,
        Field::RequestId,
        Field::Uri,
        Field::ParamsRequestState,
    ])
    | bits(&[Field::Arguments, Field::Meta, Field::InputResponses]);
const IN_RESULT: u32 =
    bits(&[Field::ResultType, Field::ResultRequestState, Field::IsError, Field::ResultProtocolVersion]);
const IN_ERROR: u32 = bits(&[Field::ErrorCode]);

impl Field {
    const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The fields that stand inside the value of this one.
    const fn inner(self) -> u32 {
        match self {
            Field::Params => IN_PARAMS,
            Field::Meta => IN_META,
            Field::Result => IN_RESULT,
            Field::Error => IN_ERROR,
            _ => 0,
        }
    }
}

/// The end of a value that has begun and is not complete.
const OPEN: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Slot {
    start: u64,
    end: u64,
    /// Where the copy stands in the arena.
    at: usize,
    len: usize,
    kind: ValueKind,
}

const EMPTY: Slot = Slot { start: 0, end: 0, at: 0, len: 0, kind: ValueKind::Null };

/// The tracked fields of one message, or of one element of a batch.
pub struct Envelope {
    seen: u32,
    copied: u32,
    repeated: bool,
    start: u64,
    end: u64,
    slots: [Slot; Field::ALL.len()],
    arena: Vec<u8>,
}

/// A larger arena is given back when the next message begins.
const ARENA_KEPT: usize = 16 << 10;

impl Envelope {
    pub(crate) fn new() -> Self {
        Self {
            seen: 0,
            copied: 0,
            repeated: false,
            start: 0,
            end: 0,
            slots: [EMPTY; Field::ALL.len()],
            arena: Vec::new(),
        }
    }

    #[inline]
    fn slot(&self, field: Field) -> Option<&Slot> {
        if self.seen & field.bit() == 0 { None } else { self.slots.get(field as usize) }
    }

    /// Returns the raw JSON token of a scalar value exactly as written, quotes and escapes included. `None` when the
    /// field is absent, an object or an array, or longer than [`Limits::scalar`](crate::Limits::scalar).
    #[inline]
    pub fn raw(&self, field: Field) -> Option<&[u8]> {
        if self.copied & field.bit() == 0 {
            return None;
        }
        let slot = self.slot(field)?;
        self.arena.get(slot.at..slot.at + slot.len)
    }

    /// Returns the decoded text of a string value; `None` where [`raw`](Self::raw) has none or the value is no
    /// string. Without escapes nothing is copied. Half a surrogate pair becomes U+FFFD.
    pub fn text(&self, field: Field) -> Option<Cow<'_, str>> {
        text::decode(self.raw(field)?)
    }

    /// Whether the value is a string that says `plain`, without allocating.
    #[inline]
    pub fn text_is(&self, field: Field, plain: &str) -> bool {
        self.raw(field).is_some_and(|raw| text::is(raw, plain))
    }

    /// Returns where the value stands; `None` when it is absent or has not ended (yet).
    #[inline]
    pub fn span(&self, field: Field) -> Option<Span> {
        self.slot(field).filter(|slot| slot.end != OPEN).map(|slot| Span { start: slot.start, end: slot.end })
    }

    /// Whether the field is there. A value counts from its beginning if it is an object or an array, and from its end
    /// otherwise.
    #[inline]
    pub fn has(&self, field: Field) -> bool {
        self.seen & field.bit() != 0
    }

    /// The type of the value; `None` when the field is absent.
    #[inline]
    pub fn value_kind(&self, field: Field) -> Option<ValueKind> {
        self.slot(field).map(|slot| slot.kind)
    }

    /// Whether the value is `null`.
    #[inline]
    pub fn is_null(&self, field: Field) -> bool {
        self.value_kind(field) == Some(ValueKind::Null)
    }

    /// Whether some tracked key occurs twice. Readers of JSON disagree on which one counts, so a policy must not
    /// trust such a message. The fields are those of the last occurrence.
    #[inline]
    pub fn repeated(&self) -> bool {
        self.repeated
    }

    /// The span of the whole element: without the white space around it, and without the commas of a batch. While it
    /// has not ended, up to what is known.
    pub fn span_of_element(&self) -> Span {
        Span { start: self.start, end: self.end }
    }

    /// What these fields make: [`Kind::Request`], [`Kind::Notification`], [`Kind::Response`],
    /// [`Kind::ErrorResponse`] or [`Kind::Other`]. In the middle of a message: what they make so far.
    ///
    /// A string `method` decides first: with it the message is a request when it has an `id` of any type, and a
    /// notification when it has none, whatever else is there. Then a non-null `error` (its `id` may be missing), then
    /// a `result` with an `id`. `jsonrpc` is not asked for.
    pub fn kind(&self) -> Kind {
        match self.value_kind(Field::Method) {
            Some(ValueKind::String) if self.has(Field::Id) => return Kind::Request,
            Some(ValueKind::String) => return Kind::Notification,
            Some(_) => return Kind::Other,
            None => {}
        }
        if self.has(Field::Error) && !self.is_null(Field::Error) {
            Kind::ErrorResponse
        } else if self.has(Field::Result) && self.has(Field::Id) {
            Kind::Response
        } else {
            Kind::Other
        }
    }

    pub(crate) fn reset(&mut self) {
        self.seen = 0;
        self.copied = 0;
        self.repeated = false;
        (self.start, self.end) = (0, 0);
        self.arena.clear();
        if self.arena.capacity() > ARENA_KEPT {
            self.arena = Vec::new();
        }
    }

    pub(crate) fn set_start(&mut self, at: u64) {
        (self.start, self.end) = (at, at);
    }

    pub(crate) fn set_end(&mut self, at: u64) {
        self.end = at;
    }

    pub(crate) fn mark_repeated(&mut self) {
        self.repeated = true;
    }

    /// A tracked key was read: an earlier value of it, and what stood inside, no longer counts.
    #[inline]
    pub(crate) fn key(&mut self, field: Field) {
        if self.seen & field.bit() != 0 {
            self.repeated = true;
            let gone = !(field.bit() | field.inner());
            self.seen &= gone;
            self.copied &= gone;
        }
    }

    pub(crate) fn open(&mut self, field: Field, start: u64, kind: ValueKind) {
        self.seen |= field.bit();
        self.slots[field as usize] = Slot { start, end: OPEN, kind, ..EMPTY };
    }

    pub(crate) fn close(&mut self, field: Field, end: u64) {
        self.slots[field as usize].end = end;
    }

    /// A scalar is complete; `copy` is where its bytes begin in the arena, which they end, unless it was too long.
    #[inline]
    pub(crate) fn scalar(&mut self, field: Field, span: Span, kind: ValueKind, copy: Option<usize>) {
        self.seen |= field.bit();
        let at = copy.unwrap_or_default();
        let len = if copy.is_some() { self.arena.len().saturating_sub(at) } else { 0 };
        if copy.is_some() {
            self.copied |= field.bit();
        }
        self.slots[field as usize] = Slot { start: span.start, end: span.end, at, len, kind };
    }

    #[inline]
    pub(crate) fn arena(&mut self) -> &mut Vec<u8> {
        &mut self.arena
    }

    /// Bytes reserved for copies.
    pub(crate) fn capacity(&self) -> usize {
        self.arena.capacity()
    }
}

/// Equal when every field, span and answer is equal; where the copies lie does not matter.
impl PartialEq for Envelope {
    fn eq(&self, other: &Self) -> bool {
        self.seen == other.seen
            && self.repeated == other.repeated
            && self.span_of_element() == other.span_of_element()
            && Field::ALL.iter().all(|&f| {
                self.raw(f) == other.raw(f)
                    && self.span(f) == other.span(f)
                    && self.value_kind(f) == other.value_kind(f)
            })
    }
}

impl Eq for Envelope {}

/// Field names, types and spans; no values, which may be secret.
impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        map.entry(&"element", &self.span_of_element()).entry(&"repeated", &self.repeated);
        for field in Field::ALL {
            if let Some(slot) = self.slot(field) {
                map.entry(&field, &(slot.kind, self.span(field), self.raw(field).map(<[u8]>::len)));
            }
        }
        map.finish()
    }
}
