//! Server-sent events, decoded in pieces and encoded whole.
//!
//! An event of a Streamable HTTP answer may carry 64 MiB in one `data` line. So the [`Decoder`] never collects data:
//! it hands out the pieces of each chunk as they stand, with the field names and line ends taken away.
//!
//! ```
//! use bir_wire::sse::{Decoder, Part};
//!
//! let mut decoder = Decoder::new();
//! let mut text = Vec::new();
//! for chunk in [&b": hello\nid: 7\nda"[..], b"ta: {\"id\":\r\ndata: 1}\r", b"\n\n"] {
//!     let mut rest = chunk;
//!     while let Some(part) = decoder.next(&mut rest) {
//!         match part {
//!             Part::KeepAlive => {}                              // a comment line: the peer is alive
//!             Part::Data(bytes) => text.extend_from_slice(bytes), // more of the event's data
//!             Part::DataNewline => text.push(b' '),              // one `data` line ended and another begins
//!             Part::End(end) => {                                // the blank line: the event is complete
//!                 assert_eq!(end.id, Some(&b"7"[..]));
//!                 assert!(end.had_data && end.is_message());
//!                 assert_eq!(text, b"{\"id\": 1}");
//!             }
//!         }
//!     }
//! }
//! assert_eq!(decoder.last_event_id(), Some(&b"7"[..]));
//! assert!(!decoder.finish());                                    // true: an event was cut, drop its data
//! ```
//!
//! How to use it:
//!
//! - One decoder per logical stream. For each HTTP response body: [`Decoder::next`] until it returns `None` for each
//!   chunk, then [`Decoder::finish`] at the end of the body. The decoder is then ready for the next body (a resumed
//!   stream), and [`last_event_id`](Decoder::last_event_id) and [`retry`](Decoder::retry) live on.
//! - A line break inside the data is [`Part::DataNewline`]. Inside JSON it is white space, and where the message goes
//!   out as one line it must become a space.
//! - An event with `had_data` and `data_len == 0` (the priming event of revision 2025-11-25) carries no message but an
//!   id. One without `had_data` (`retry` alone) is no event for a browser either, but its `id` counts.
//! - Bytes are not checked to be UTF-8: the scanner does that for the data.
//!
//! The format is that of the HTML standard, "Server-sent events": lines end with CR, LF or CRLF, one byte order mark
//! may come first, one space after the colon is dropped, a line without colon is a field without value, unknown fields
//! are ignored, an `id` with NUL is ignored, `retry` counts with digits only, an event that is unfinished at the end
//! of the stream is discarded.

/// The longest value of `id` and `event` that is kept, in bytes; a longer one is ignored and
/// [`End::oversized`] says so.
pub const LONGEST_VALUE: usize = 8 << 10;

/// One piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A comment line began.
    KeepAlive,
    /// The next bytes of the event's data; never empty, no line ends inside.
    Data(&'a [u8]),
    /// A further `data` line began: a line break stands between the data before and after.
    DataNewline,
    /// A blank line ended an event that had at least one known field.
    End(End<'a>),
}

/// What an event had beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End<'a> {
    /// The `id` of this event, when it has one; it may be empty, which clears the last event id.
    pub id: Option<&'a [u8]>,
    /// The `event` of this event: its type. Missing or empty means `message`.
    pub event: Option<&'a [u8]>,
    /// The `retry` of this event, in ms.
    pub retry: Option<u64>,
    /// Whether it had a `data` line, be it an empty one.
    pub had_data: bool,
    /// Bytes of data, with one for each line break between `data` lines.
    pub data_len: u64,
    /// Whether an `id` or `event` was ignored because it is longer than [`LONGEST_VALUE`].
    pub oversized: bool,
}

impl End<'_> {
    /// Whether the type is `message`, stated or by default.
    pub fn is_message(&self) -> bool {
        matches!(self.event, None | Some(b"" | b"message"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Data,
    Id,
    Event,
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of the stream, after this many bytes of a byte order mark.
    Mark(u8),
    LineStart,
    /// In a field name of which this many bytes were read; it may still be a known one.
    Name(u8),
    /// After the colon of a known field; one space may be dropped.
    Colon(Known),
    Value(Known),
    /// In a comment or an unknown field.
    Skip,
}

/// The longest known name.
const NAME: usize = 5;

/// An incremental decoder; see the [module](self).
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    /// The last byte was CR: an LF that comes first belongs to it.
    after_cr: bool,
    name: [u8; NAME],
    /// The value of `id`, `event` or `retry` that is being read.
    value: Vec<u8>,
    too_long: bool,

    id: Vec<u8>,
    has_id: bool,
    event: Vec<u8>,
    has_event: bool,
    event_retry: Option<u64>,
    had_data: bool,
    data_len: u64,
    oversized: bool,
    /// The event was handed out and its fields are cleared before the next byte.
    ended: bool,

    last_id: Vec<u8>,
    has_last_id: bool,
    retry: Option<u64>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Creates a decoder at the start of a stream.
    pub fn new() -> Self {
        Self {
            state: State::Mark(0),
            after_cr: false,
            name: [0; NAME],
            value: Vec::new(),
            too_long: false,
            id: Vec::new(),
            has_id: false,
            event: Vec::new(),
            has_event: false,
            event_retry: None,
            had_data: false,
            data_len: 0,
            oversized: false,
            ended: false,
            last_id: Vec::new(),
            has_last_id: false,
            retry: None,
        }
    }

    /// The id of the last complete event that had one, for `Last-Event-ID`. `None` when there was none; an empty one
    /// means that the server cleared it, and no header is to be sent.
    pub fn last_event_id(&self) -> Option<&[u8]> {
        self.has_last_id.then_some(&self.last_id)
    }

    /// Whether the event that is being read is a message as far as its lines were read: no `event` line has named
    /// another type yet. One may still follow the data.
    pub fn is_message_so_far(&self) -> bool {
        !self.has_event || matches!(self.event.as_slice(), b"" | b"message")
    }

    /// How long to wait before reconnecting, in ms, as the server last said; it counts as soon as its line is read,
    /// and can be anything up to [`u64::MAX`].
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Takes bytes off the front of `rest` until there is a part to hand out. `None` when `rest` is used up.
    pub fn next<'a, 'chunk: 'a>(&'a mut self, rest: &mut &'chunk [u8]) -> Option<Part<'a>> {
        if self.ended {
            self.clear_event();
        }
        while let Some(&byte) = rest.first() {
            if self.after_cr {
                self.after_cr = false;
                if byte == b'\n' {
                    *rest = &rest[1..];
                    continue;
                }
            }
            let line_end = byte == b'\n' || byte == b'\r';
            match self.state {
                State::Mark(n) => {
                    self.state = match (n, byte) {
                        (0, 0xef) | (1, 0xbb) => State::Mark(n + 1),
                        (2, 0xbf) => State::LineStart,
                        (0, _) => {
                            self.state = State::LineStart;
                            continue;
                        }
                        // Half a mark is the beginning of some unknown name.
                        _ => {
                            self.state = State::Skip;
                            continue;
                        }
                    };
                    *rest = &rest[1..];
                }
                State::LineStart if line_end => {
                    self.line_end(rest);
                    if self.dispatch() {
                        return Some(Part::End(self.end()));
                    }
                }
                State::LineStart if byte == b':' => {
                    *rest = &rest[1..];
                    self.state = State::Skip;
                    return Some(Part::KeepAlive);
                }
                State::LineStart => self.state = State::Name(0),
                State::Name(n) if line_end || byte == b':' => {
                    let known = self.known(n);
                    self.state = match known {
                        Some(known) => State::Colon(known),
                        None => State::Skip,
                    };
                    if !line_end {
                        *rest = &rest[1..];
                    }
                    if known == Some(Known::Data) && self.begin_data() {
                        return Some(Part::DataNewline);
                    }
                }
                State::Name(n) => {
                    match self.name.get_mut(usize::from(n)) {
                        Some(place) => {
                            *place = byte;
                            self.state = State::Name(n + 1);
                        }
                        None => self.state = State::Skip,
                    }
                    *rest = &rest[1..];
                }
                State::Colon(known) => {
                    self.state = State::Value(known);
                    if byte == b' ' {
                        *rest = &rest[1..];
                    }
                }
                State::Value(known) if line_end => {
                    self.field(known);
                    self.line_end(rest);
                }
                State::Value(known) => {
                    let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    let (piece, after) = rest.split_at(length);
                    *rest = after;
                    if known == Known::Data {
                        self.data_len += piece.len() as u64;
                        return Some(Part::Data(piece));
                    }
                    self.collect(piece);
                }
                State::Skip => match memchr::memchr2(b'\n', b'\r', rest) {
                    None => *rest = &[],
                    Some(at) => {
                        *rest = &rest[at..];
                        self.line_end(rest);
                    }
                },
            }
        }
        None
    }

    /// Ends a body. Returns whether an event with data was unfinished: what [`Part::Data`] gave since the last
    /// [`Part::End`] must be dropped. The next bytes are the start of another body; the last event id and the retry
    /// time live on.
    pub fn finish(&mut self) -> bool {
        if self.ended {
            self.clear_event();
        }
        let unfinished = self.had_data;
        self.clear_event();
        self.state = State::Mark(0);
        self.after_cr = false;
        self.value.clear();
        self.too_long = false;
        unfinished
    }

    /// Takes the CR or LF at the front.
    fn line_end(&mut self, rest: &mut &[u8]) {
        self.after_cr = rest.first() == Some(&b'\r');
        *rest = rest.get(1..).unwrap_or_default();
        self.state = State::LineStart;
    }

    fn known(&self, length: u8) -> Option<Known> {
        match self.name.get(..usize::from(length))? {
            b"data" => Some(Known::Data),
            b"id" => Some(Known::Id),
            b"event" => Some(Known::Event),
            b"retry" => Some(Known::Retry),
            _ => None,
        }
    }

    /// A `data` line begins. Returns whether another came before it.
    fn begin_data(&mut self) -> bool {
        let further = self.had_data;
        self.had_data = true;
        self.data_len += u64::from(further);
        further
    }

    fn collect(&mut self, piece: &[u8]) {
        if self.value.len() + piece.len() > LONGEST_VALUE {
            self.too_long = true;
        } else if !self.too_long {
            self.value.extend_from_slice(piece);
        }
    }

    /// The line of a known field is complete.
    fn field(&mut self, known: Known) {
        let too_long = std::mem::take(&mut self.too_long);
        match known {
            Known::Data => {}
            Known::Id | Known::Event if too_long => self.oversized = true,
            Known::Id => {
                if !self.value.contains(&0) {
                    self.has_id = true;
                    std::mem::swap(&mut self.id, &mut self.value);
                }
            }
            Known::Event => {
                self.has_event = true;
                std::mem::swap(&mut self.event, &mut self.value);
            }
            Known::Retry => {
                if !too_long && !self.value.is_empty() && self.value.iter().all(u8::is_ascii_digit) {
                    let ms = self
                        .value
                        .iter()
                        .fold(0u64, |n, d| n.saturating_mul(10).saturating_add(u64::from(d - b'0')));
                    self.event_retry = Some(ms);
                    self.retry = Some(ms);
                }
            }
        }
        self.value.clear();
    }

    /// A blank line came. Returns whether there is an event to hand out.
    fn dispatch(&mut self) -> bool {
        if self.has_id {
            self.has_last_id = true;
            self.last_id.clone_from(&self.id);
        }
        self.ended =
            self.has_id || self.has_event || self.had_data || self.event_retry.is_some() || self.oversized;
        self.ended
    }

    fn end(&self) -> End<'_> {
        End {
            id: self.has_id.then_some(&self.id),
            event: self.has_event.then_some(&self.event),
            retry: self.event_retry,
            had_data: self.had_data,
            data_len: self.data_len,
            oversized: self.oversized,
        }
    }

    fn clear_event(&mut self) {
        self.has_id = false;
        self.has_event = false;
        self.event_retry = None;
        self.had_data = false;
        self.data_len = 0;
        self.oversized = false;
        self.ended = false;
    }
}

/// Appends one event to `out`. Each line of `data` becomes a `data` line; a CR or CRLF in it is read back as LF. Line
/// ends in `id` and `event` are left out.
pub fn encode_event(out: &mut Vec<u8>, id: Option<&str>, event: Option<&str>, data: &[u8]) {
    for (name, value) in [("id", id), ("event", event)] {
        if let Some(value) = value {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend(value.bytes().filter(|b| !matches!(b, b'\r' | b'\n')));
            out.push(b'\n');
        }
    }
    let mut rest = data;
    loop {
        let at = memchr::memchr2(b'\n', b'\r', rest);
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&rest[..at.unwrap_or(rest.len())]);
        out.push(b'\n');
        let Some(at) = at else { break };
        rest = &rest[at..];
        rest = rest.strip_prefix(b"\r\n").unwrap_or(&rest[1..]);
    }
    out.push(b'\n');
}
