//! From pieces of a body or an event to one message of one line.
//!
//! Up to [`HOLD`] bytes are held, so that a message that breaks off leaves no trace at the host, and so that
//! it is known before it is handed on. A longer one streams. Line breaks can only stand between tokens of
//! JSON; inside the message each becomes a space, at its ends they are dropped.

use bir_wire::{Edits, Envelope, Field, Kind, Limits, Message, Scanner};
use bytes::{Bytes, BytesMut};

use super::Failure;
use super::inbox::{Inbox, LargeMessage};

/// Bytes of one message that are held before it streams: 256 KiB.
pub const HOLD: usize = 256 * 1024;

const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Blanks before a message that are handed on with it: 1 KiB. Some servers keep a connection alive with blanks; up to
/// [`HOLD`] bytes of them may come.
const LEADING_BLANKS: usize = 1024;

/// One message on its way from the upstream.
pub(crate) struct Assembler<I: Inbox> {
    /// Made when it is needed: it is large, and this struct is moved.
    scanner: Option<Box<Scanner>>,
    held: Held,
    large: Option<I::Large>,
    length: u64,
    breaks: usize,
    mark: usize,
    /// White space before it so far.
    blanks: usize,
    /// The first byte that is not blank.
    first: Option<u8>,
    /// Why the rest of this message is not kept. It is read to its end, so that it is known whom it answers.
    refused: Option<Refusal>,
    hold: usize,
    limit: Option<u64>,
    /// Bytes of a message that streams that are kept for whoever observes it.
    keep: usize,
    /// It comes in answer to a request that is none of the host's.
    own: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    TooLarge,
    NoMessage,
}

/// What became of a message that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finished {
    /// There was none.
    Nothing,
    HandedOn,
    /// It was no message, or none that the host may see.
    Dropped,
    /// It was beyond the limit. It answers these ids; `None` stands for an answer without an id.
    TooLarge(Vec<Option<Bytes>>),
}

enum Held {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl<I: Inbox> Assembler<I> {
    /// `hold`: bytes to hold before streaming. `limit`: the longest message that is let through; with one,
    /// nothing streams. `keep`: bytes of the head of what streams that are kept for whoever observes it.
    pub(crate) fn new(hold: usize, limit: Option<u64>, keep: usize) -> Self {
        Self {
            scanner: None,
            held: Held::Nothing,
            large: None,
            length: 0,
            breaks: 0,
            mark: 0,
            blanks: 0,
            first: None,
            refused: None,
            hold: if limit.is_some() { usize::MAX } else { hold },
            limit,
            keep,
            own: false,
        }
    }

    /// What comes is in answer to a request that is none of the host's.
    pub(crate) fn of_own(self, own: bool) -> Self {
        Self { own, ..self }
    }

    /// Whether nothing of a message has come yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether the end of a message beyond the limit is not worth waiting for: it is an answer, as far as it was
    /// read, or has four times the length that is let through.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.refused == Some(Refusal::TooLarge)
            && (self.limit.is_some_and(|limit| self.length / 4 > limit)
                || self.scanner.as_ref().is_some_and(|scanner| {
                    let so_far = scanner.so_far();
                    !so_far.has(Field::Method) && (so_far.has(Field::Result) || so_far.has(Field::Error))
                }))
    }

    /// Whether what is held is a complete message.
    pub(crate) fn holds_a_message(&self) -> bool {
        self.begins_like_a_message()
            && self.refused.is_none()
            && !matches!(Scanner::default().finish_whole(self.held()).kind(), Kind::NotJson(_) | Kind::Blank)
    }

    /// A line break that may or may not stand between two tokens.
    pub(crate) fn line_break(&mut self) {
        if self.first.is_some() {
            self.breaks += 1;
        }
    }

    /// Takes bytes of a JSON body, with its line breaks and a byte order mark before it.
    ///
    /// # Errors
    ///
    /// Why the body is of no use, as soon as that is certain.
    pub(crate) async fn body(&mut self, inbox: &I, bytes: Bytes) -> Result<(), Failure> {
        let mut rest = bytes;
        while self.length == 0 && self.mark < MARK.len() && rest.first() == MARK.get(self.mark) {
            self.mark += 1;
            rest = rest.slice(1..);
        }
        while let Some(at) = memchr::memchr2(b'\r', b'\n', &rest) {
            if self.first.is_none() && at == 0 {
                let run = rest.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
                self.blank(run);
                rest = rest.slice(run..);
                continue;
            }
            // Short runs between breaks (pretty-printed JSON) are joined in one copy instead of one piece each.
            let end = rest.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
            let trailing = rest.len() - end;
            let mut flat = BytesMut::from(rest.get(..end).unwrap_or_default());
            for byte in flat.iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')) {
                *byte = b' ';
            }
            self.data(inbox, flat.freeze()).await;
            self.breaks += if self.first.is_some() { trailing } else { 0 };
            return self.usable();
        }
        self.data(inbox, rest).await;
        self.usable()
    }

    /// Whether what is under way went beyond the limit.
    pub(crate) fn is_too_large(&self) -> bool {
        self.refused == Some(Refusal::TooLarge)
    }

    /// Counts white space before the message. Without end it is no answer.
    fn blank(&mut self, count: usize) {
        self.blanks += count;
        if self.blanks > HOLD {
            self.take_held();
            self.refused = Some(Refusal::NoMessage);
        }
    }

    fn usable(&self) -> Result<(), Failure> {
        match self.refused {
            None => Ok(()),
            Some(Refusal::TooLarge) => Err(Failure::TooLarge),
            Some(Refusal::NoMessage) => Err(Failure::NotAResponse),
        }
    }

    /// Takes bytes without line breaks.
    pub(crate) async fn data(&mut self, inbox: &I, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        while self.breaks > 0 {
            const SPACES: &[u8] = &[b' '; 64];
            let count = self.breaks.min(SPACES.len());
            self.breaks -= count;
            self.add(inbox, Bytes::from_static(SPACES).slice(..count)).await;
        }
        self.add(inbox, bytes).await;
    }

    async fn add(&mut self, inbox: &I, mut bytes: Bytes) {
        if self.first.is_none() {
            let blank = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
            self.first = bytes.get(blank).copied();
            self.blank(blank);
            let room = LEADING_BLANKS.saturating_sub(self.held().len());
            bytes = bytes.slice(blank.saturating_sub(room)..);
        }
        self.length += bytes.len() as u64;
        if self.refused == Some(Refusal::NoMessage) {
            return;
        }
        if let Some(large) = &mut self.large {
            scanner(&mut self.scanner, self.keep).push(&bytes);
            large.piece(bytes).await;
            return;
        }
        if self.refused.is_some() {
            scanner(&mut self.scanner, self.keep).push(&bytes);
            return;
        }
        if self.limit.is_some_and(|limit| self.length > limit) {
            let held = self.take_held();
            let scanner = scanner(&mut self.scanner, self.keep);
            scanner.push(&held);
            scanner.push(&bytes);
            self.refused = Some(Refusal::TooLarge);
            return;
        }
        self.held = match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Nothing => Held::One(bytes),
            Held::One(first) => {
                let mut many = BytesMut::with_capacity((first.len() + bytes.len()) * 2);
                many.extend_from_slice(&first);
                many.extend_from_slice(&bytes);
                Held::Many(many)
            }
            Held::Many(mut many) => {
                many.extend_from_slice(&bytes);
                Held::Many(many)
            }
        };
        if self.length <= self.hold as u64 || self.first.is_none() {
            return;
        }
        // What begins like no message (an error page, a banner) must never be streamed to the host, nor held any
        // longer.
        let held = self.take_held();
        if self.begins_like_a_message() {
            scanner(&mut self.scanner, self.keep).push(&held);
            let so_far = scanner(&mut self.scanner, self.keep).so_far();
            let mut large = inbox.open(so_far, self.own).await;
            large.piece(held).await;
            self.large = Some(large);
        } else {
            self.refused = Some(Refusal::NoMessage);
        }
    }

    fn held(&self) -> &[u8] {
        match &self.held {
            Held::Nothing => &[],
            Held::One(bytes) => bytes,
            Held::Many(bytes) => bytes,
        }
    }

    fn begins_like_a_message(&self) -> bool {
        matches!(self.first, Some(b'{' | b'['))
    }

    fn take_held(&mut self) -> Bytes {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Nothing => Bytes::new(),
            Held::One(bytes) => bytes,
            Held::Many(bytes) => bytes.freeze(),
        }
    }

    /// Forgets what came of this message.
    pub(crate) fn discard(&mut self) {
        self.begin_again();
        self.held = Held::Nothing;
        self.large = None;
        if let Some(scanner) = &mut self.scanner {
            scanner.reset();
        }
    }

    fn begin_again(&mut self) {
        (self.length, self.breaks, self.mark, self.blanks) = (0, 0, 0, 0);
        (self.first, self.refused) = (None, None);
    }

    /// Ends the message: `look` sees it first and says what happens to it.
    ///
    /// After this the assembler is ready for the next message.
    pub(crate) async fn finish(
        &mut self,
        inbox: &I,
        mut look: impl FnMut(&Message<'_>, Option<&Bytes>) -> Verdict,
    ) -> Finished {
        if self.length == 0 {
            self.begin_again();
            return Finished::Nothing;
        }
        let finished = if let Some(large) = self.large.take() {
            let message = scanner(&mut self.scanner, self.keep).finish();
            look(&message, None);
            large.end(&message).await;
            Finished::HandedOn
        } else if self.refused == Some(Refusal::TooLarge) {
            Finished::TooLarge(answers(&scanner(&mut self.scanner, self.keep).finish()))
        } else if self.begins_like_a_message() && self.refused.is_none() {
            let bytes = self.take_held();
            let message = scanner(&mut self.scanner, self.keep).finish_whole(&bytes);
            match look(&message, Some(&bytes)) {
                Verdict::HandOn => {
                    inbox.message(bytes.clone(), &message).await;
                    Finished::HandedOn
                }
                Verdict::WithId(id) => {
                    let spliced = with_id(&bytes, &message, &id);
                    let mut again = Scanner::default();
                    let message = again.finish_whole(&spliced);
                    inbox.message(spliced.clone(), &message).await;
                    Finished::HandedOn
                }
                Verdict::Withhold => Finished::Dropped,
                Verdict::Keep => Finished::HandedOn,
            }
        } else {
            self.take_held();
            Finished::Dropped
        };
        self.begin_again();
        if let Some(scanner) = &mut self.scanner {
            scanner.reset();
        }
        finished
    }
}

/// Whom a message answers.
fn answers(message: &Message<'_>) -> Vec<Option<Bytes>> {
    let id = |envelope: &Envelope| match envelope.is_null(Field::Id) {
        true => None,
        false => envelope.raw(Field::Id).map(Bytes::copy_from_slice),
    };
    match message.kind() {
        Kind::Response | Kind::ErrorResponse => vec![id(message.envelope())],
        Kind::Batch => message
            .batch()
            .iter()
            .filter(|element| matches!(element.kind(), Kind::Response | Kind::ErrorResponse))
            .filter_map(|element| id(element).map(Some))
            .collect(),
        _ => Vec::new(),
    }
}

fn scanner(place: &mut Option<Box<Scanner>>, keep: usize) -> &mut Scanner {
    place.get_or_insert_with(|| Box::new(Scanner::new(Limits { keep, ..Limits::default() })))
}

/// What happens to a message that was looked at. A streamed one is on its way already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    HandOn,
    /// Hand on with this id in place of `null` or of none.
    WithId(Bytes),
    /// It is nothing that the host can use, and the request will be answered otherwise.
    Withhold,
    /// It is not for the host.
    Keep,
}

/// Whether this is an error without an id of its own.
pub(crate) fn lacks_id(message: &Message<'_>) -> bool {
    let envelope = message.envelope();
    message.kind() == Kind::ErrorResponse && (!envelope.has(Field::Id) || envelope.is_null(Field::Id))
}

/// The message with an id in place of `null`, or as its first member when it has none.
pub(crate) fn with_id(bytes: &Bytes, message: &Message<'_>, id: &[u8]) -> Bytes {
    let envelope = message.envelope();
    let mut edits = Edits::new();
    match envelope.span(Field::Id) {
        Some(span) => edits.replace(span, id),
        None => edits.insert_key(envelope.span_of_element(), "id", id),
    }
    let mut spliced = Vec::with_capacity(bytes.len() + id.len() + 8);
    match edits.apply(bytes, &mut spliced) {
        Ok(()) => spliced.into(),
        // Spans of this very message always fit it.
        Err(_) => bytes.clone(),
    }
}
