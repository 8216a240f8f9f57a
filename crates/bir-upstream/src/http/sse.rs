//! Server-sent events, decoded as they arrive.
//!
//! The data of an event is handed on in pieces, so that an event of any size passes through a fixed amount of
//! memory. Follows the event stream interpretation of the HTML standard: lines end with CR, LF or CRLF, a byte order mark at the start is skipped,
//! comments are ignored, an id counts once its event is complete.

/// Longest `event`, `id` or `retry` value that is kept; a longer one is ignored.
const MAX_FIELD: usize = 8 * 1024;

/// What the decoder found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Bytes of a data line.
    Data(&'a [u8]),
    /// Another data line of the same event begins: a newline stands between the two.
    Join,
    /// The event is complete.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Mark(usize),
    LineStart,
    Name,
    AfterColon,
    Value,
    Comment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    Other,
}

/// A decoder for one stream.
#[derive(Debug)]
pub(crate) struct Decoder {
    state: State,
    after_cr: bool,
    field: Field,
    name: Vec<u8>,
    value: Vec<u8>,
    overlong: bool,
    data_lines: usize,
    event: Vec<u8>,
    next_id: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    retry: Option<u64>,
}

const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Mark(0),
            after_cr: false,
            field: Field::Other,
            name: Vec::new(),
            value: Vec::new(),
            overlong: false,
            data_lines: 0,
            event: Vec::new(),
            next_id: None,
            id: None,
            retry: None,
        }
    }

    /// The id of the last complete event that had one.
    pub(crate) fn last_event_id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }

    /// The last `retry` value, in milliseconds.
    pub(crate) fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// The type of the event in progress, as far as it is known. Empty means `message`.
    pub(crate) fn event_type(&self) -> &[u8] {
        &self.event
    }

    /// The next thing in `bytes`, which is advanced behind it. `None` when all bytes are taken.
    pub(crate) fn step<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Step<'a>> {
        while let Some(&byte) = bytes.first() {
            if self.after_cr {
                self.after_cr = false;
                if byte == b'\n' {
                    *bytes = bytes.get(1..).unwrap_or_default();
                    continue;
                }
            }
            match self.state {
                State::Mark(seen) => {
                    if MARK.get(seen) == Some(&byte) {
                        *bytes = bytes.get(1..).unwrap_or_default();
                        self.state =
                            if seen + 1 == MARK.len() { State::LineStart } else { State::Mark(seen + 1) };
                    } else if seen == 0 {
                        self.state = State::LineStart;
                    } else {
                        // Half a byte order mark begins a field that nobody knows.
                        self.name.clear();
                        self.name.push(b'?');
                        self.state = State::Name;
                    }
                }
                State::LineStart => match byte {
                    b'\r' | b'\n' => {
                        self.newline(bytes, byte);
                        if let Some(step) = self.dispatch() {
                            return Some(step);
                        }
                    }
                    b':' => self.state = State::Comment,
                    _ => {
                        self.name.clear();
                        self.state = State::Name;
                    }
                },
                State::Name => {
                    let end = memchr::memchr3(b':', b'\r', b'\n', bytes).unwrap_or(bytes.len());
                    let (part, rest) = bytes.split_at(end);
                    let room = 16_usize.saturating_sub(self.name.len());
                    self.name.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
                    *bytes = rest;
                    let &byte = rest.first()?;
                    self.field = match self.name.as_slice() {
                        b"data" => Field::Data,
                        b"event" => Field::Event,
                        b"id" => Field::Id,
                        b"retry" => Field::Retry,
                        _ => Field::Other,
                    };
                    self.value.clear();
                    self.overlong = false;
                    if byte == b':' {
                        *bytes = rest.get(1..).unwrap_or_default();
                        self.state = State::AfterColon;
                    } else {
                        self.state = State::Value;
                    }
                    if self.field == Field::Data {
                        self.data_lines += 1;
                        if self.data_lines > 1 {
                            return Some(Step::Join);
                        }
                    }
                }
                State::AfterColon => {
                    self.state = State::Value;
                    if byte == b' ' {
                        *bytes = bytes.get(1..).unwrap_or_default();
                    }
                }
                State::Value => {
                    let end = memchr::memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                    let (part, rest) = bytes.split_at(end);
                    *bytes = rest;
                    if self.field == Field::Data {
                        if !part.is_empty() {
                            return Some(Step::Data(part));
                        }
                    } else if self.value.len() + part.len() > MAX_FIELD {
                        self.overlong = true;
                    } else {
                        self.value.extend_from_slice(part);
                    }
                    if let Some(&byte) = rest.first() {
                        self.newline(bytes, byte);
                        self.take_field();
                    }
                }
                State::Comment => {
                    let end = memchr::memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                    *bytes = bytes.get(end..).unwrap_or_default();
                    if let Some(&byte) = bytes.first() {
                        self.newline(bytes, byte);
                    }
                }
            }
        }
        None
    }

    fn newline(&mut self, bytes: &mut &[u8], byte: u8) {
        self.after_cr = byte == b'\r';
        *bytes = bytes.get(1..).unwrap_or_default();
        self.state = State::LineStart;
    }

    fn take_field(&mut self) {
        if self.overlong {
            return;
        }
        match self.field {
            Field::Event => self.event = std::mem::take(&mut self.value),
            Field::Id if !self.value.contains(&0) => self.next_id = Some(std::mem::take(&mut self.value)),
            Field::Retry if !self.value.is_empty() && self.value.iter().all(u8::is_ascii_digit) => {
                self.retry = str::from_utf8(&self.value).ok().and_then(|text| text.parse().ok());
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Step<'static>> {
        if let Some(id) = self.next_id.take() {
            self.id = (!id.is_empty()).then_some(id);
        }
        if self.data_lines == 0 {
            self.event.clear();
            return None;
        }
        self.data_lines = 0;
        Some(Step::End)
    }

    /// Forgets the type of the event that [`Step::End`] closed.
    pub(crate) fn event_done(&mut self) {
        self.event.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Events = Vec<(String, String)>;

    fn decode(pieces: &[&[u8]]) -> (Events, Decoder) {
        let mut decoder = Decoder::new();
        let (mut events, mut data) = (Vec::new(), Vec::new());
        for piece in pieces {
            let mut bytes = *piece;
            while let Some(step) = decoder.step(&mut bytes) {
                match step {
                    Step::Data(part) => data.extend_from_slice(part),
                    Step::Join => data.push(b'\n'),
                    Step::End => {
                        events.push((
                            String::from_utf8(decoder.event_type().to_vec()).unwrap(),
                            String::from_utf8(std::mem::take(&mut data)).unwrap(),
                        ));
                        decoder.event_done();
                    }
                }
            }
        }
        (events, decoder)
    }

    #[test]
    fn the_same_events_wherever_the_stream_is_cut() {
        let stream = "\u{feff}: hi\r\nid: 7\r\nretry: 250\r\ndata\r\n\r\nevent: message\ndata: {\"a\":\"\u{1f600}\"}\n\n\
                      data:  two\rdata:lines\r\rid\ndata: x\n\nretry: 1x\nid: 9\ndata: never ended"
            .as_bytes();
        let expected: Events =
            [("", ""), ("message", "{\"a\":\"\u{1f600}\"}"), ("", " two\nlines"), ("", "x")]
                .map(|(kind, data)| (kind.to_owned(), data.to_owned()))
                .to_vec();
        for cut in 0..=stream.len() {
            let (events, decoder) = decode(&[&stream[..cut], &stream[cut..]]);
            assert_eq!(events, expected, "cut at {cut}");
            assert_eq!((decoder.last_event_id(), decoder.retry()), (None, Some(250)));
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&bytes).0, expected);
    }

    #[test]
    fn ids_count_with_their_event() {
        assert_eq!(decode(&[b"id: 1\ndata: a\n\nid: 2\ndata: b"]).1.last_event_id(), Some(&b"1"[..]));
        assert_eq!(decode(&[b"id: 1\n\n"]).1.last_event_id(), Some(&b"1"[..]));
        assert_eq!(decode(&[b"id: a\0b\ndata: a\n\n"]).1.last_event_id(), None);
    }
}
