//! Reading an event stream that carries messages.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bir_net::Response;
use bir_wire::sse::{Decoder, Part};
use bir_wire::{Field, Kind, Message};
use bytes::Bytes;

use super::assemble::{Assembler, Finished, HOLD, Verdict, lacks_id};
use super::ids::same_value;
use super::inbox::Inbox;
use super::outgoing::Facts;
use super::registry::Entry;
use super::upstream::Shared;
use super::verdict::is_response;
use super::{Failure, mirror};

/// The shortest pause before a stream is asked for again, whatever `retry:` says.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// Pause before the first try when the stream named none; grows by half each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Where a stream can be picked up again.
#[derive(Debug, Default, Clone)]
pub(crate) struct Place {
    /// One for all bodies of the stream: what it knows of ids and times outlives each of them.
    pub(crate) decoder: Decoder,
    pub(crate) last_event_id: Option<Vec<u8>>,
    pub(crate) retry: Option<Duration>,
}

impl Place {
    /// How long to wait before try number `attempt` (from zero).
    pub(crate) fn pause(&self, attempt: u32) -> Duration {
        let base = match self.retry {
            Some(retry) if attempt == 0 => return retry.clamp(SHORTEST_PAUSE, Duration::from_secs(3600)),
            Some(retry) => retry.max(FIRST_PAUSE),
            None => FIRST_PAUSE,
        };
        let grown = base.mul_f64(1.5_f64.powi(attempt.min(16).cast_signed()));
        // Between 80 % and 100 %, so that many proxies do not come back at the same moment.
        let longest = LONGEST_PAUSE.max(self.retry.unwrap_or_default());
        grown.min(longest).mul_f64(0.8 + 0.2 * random())
    }
}

/// A number between 0 and 1. Not for secrets.
fn random() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let bits = std::hash::RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

/// What a stream or body belongs to.
pub(crate) struct Belongs<'a> {
    /// The request whose own stream this is.
    pub(crate) entry: Option<&'a Entry>,
    /// What that request was.
    pub(crate) facts: Option<&'a Facts>,
    /// Whether a response here answers the request whatever its id says (a JSON body).
    pub(crate) alone: bool,
    /// Whether the request is modern.
    pub(crate) modern: bool,
}

impl Belongs<'_> {
    pub(crate) const NOBODY: Belongs<'static> =
        Belongs { entry: None, facts: None, alone: false, modern: false };

    fn is_tools_list(&self) -> bool {
        self.modern && self.facts.is_some_and(|facts| facts.method_is("tools/list"))
    }
}

/// Whether a message in the answer to a request is nothing that the host can use, while the request still needs an
/// answer: to hand it on would mean two.
fn is_useless(message: &Message<'_>, belongs: &Belongs<'_>) -> bool {
    let Some(entry) = belongs.entry.filter(|entry| !entry.is_answered()) else { return false };
    let id = message.envelope().raw(Field::Id);
    match message.kind() {
        // On a stream they pass as they came, as they do over stdio; as the whole answer they are none.
        Kind::NotJson(_) | Kind::Other => belongs.alone,
        Kind::ErrorResponse if !is_response(message) => {
            lacks_id(message)
                || (belongs.alone
                    && !entry.only_unanswered().zip(id).is_some_and(|(own, id)| same_value(&own, id)))
        }
        _ => false,
    }
}

impl<I: Inbox> Shared<I> {
    /// The id of the request whose answer this is, where that is none of the host's.
    fn own_request<'a>(&self, belongs: &Belongs<'a>) -> Option<&'a Bytes> {
        belongs.facts?.ids.first().filter(|id| self.inbox.is_own(id))
    }

    pub(crate) fn assembler(&self, belongs: &Belongs<'_>) -> Assembler<I> {
        let hold = if belongs.is_tools_list() { mirror::MAX_LIST } else { HOLD };
        let own = self.own_request(belongs).is_some();
        Assembler::new(hold, self.options.max_message_bytes, self.options.keep).of_own(own)
    }

    /// Reads messages from an event stream until it ends. How it ended makes no difference: what counts is
    /// whether an answer is missing.
    ///
    /// Returns whether it led further: a message came, or an id that was not known.
    pub(crate) async fn read_events(
        &self,
        mut response: Response,
        belongs: &Belongs<'_>,
        place: &mut Place,
    ) -> bool {
        let before = place.last_event_id.clone();
        let mut assembler = self.assembler(belongs);
        let mut further = false;
        while let Ok(Some(chunk)) = response.chunk().await {
            further |= self.feed(&mut assembler, &chunk, belongs, place).await;
            // What is beyond the limit may have no end: a stream with one request is not read further for it.
            if assembler.is_hopeless() && belongs.entry.is_some_and(|entry| entry.only_unanswered().is_some())
            {
                break;
            }
        }
        place.decoder.finish();
        if assembler.is_too_large() {
            // Cut off beyond the limit: what it would have been is not known, and that it was too large is.
            Box::pin(self.answer_too_large(vec![None], belongs)).await;
        }
        further || place.last_event_id != before
    }

    /// Reads the messages in one chunk of an event stream. Returns whether one ended in it.
    pub(crate) async fn feed(
        &self,
        assembler: &mut Assembler<I>,
        chunk: &Bytes,
        belongs: &Belongs<'_>,
        place: &mut Place,
    ) -> bool {
        let mut rest: &[u8] = chunk;
        let mut further = false;
        while let Some(part) = place.decoder.next(&mut rest) {
            match part {
                Part::KeepAlive => {}
                Part::Data(part) => {
                    let part = chunk.slice_ref(part);
                    // Events of other types carry no messages, whatever their size.
                    if place.decoder.is_message_so_far() {
                        assembler.data(&self.inbox, part).await;
                    }
                }
                Part::DataNewline => assembler.line_break(),
                Part::End(end) if !end.is_message() => assembler.discard(),
                Part::End(_) => {
                    let _writing = self.registry.writing();
                    let look =
                        |message: &Message<'_>, bytes: Option<&Bytes>| self.look(message, bytes, belongs);
                    match assembler.finish(&self.inbox, look).await {
                        Finished::Nothing => continue,
                        Finished::TooLarge(ids) => Box::pin(self.answer_too_large(ids, belongs)).await,
                        Finished::Dropped => {
                            self.inbox.note("upstream→host: something that is no message was dropped");
                        }
                        Finished::HandedOn => {}
                    }
                    further = true;
                }
            }
        }
        let decoder = &place.decoder;
        place.last_event_id = decoder.last_event_id().filter(|id| !id.is_empty()).map(<[u8]>::to_vec);
        place.retry = decoder.retry().map(Duration::from_millis).or(place.retry);
        further
    }

    /// Answers in place of a message that was beyond the limit; what asked or told something is dropped.
    async fn answer_too_large(&self, ids: Vec<Option<Bytes>>, belongs: &Belongs<'_>) {
        if ids.is_empty() {
            self.inbox.note("upstream→host: a message was dropped: it is too large");
        }
        for id in ids {
            let own = belongs.entry.and_then(Entry::only_unanswered);
            // The host knows its id as it wrote it.
            let own = own.filter(|own| id.as_ref().is_none_or(|id| same_value(id, own)));
            let Some(id) = own.or(id) else { continue };
            match belongs.entry {
                Some(entry) if entry.answered(&id) => {}
                _ => {
                    self.registry.answered_elsewhere(&id);
                }
            }
            self.answer_with(&id, &Failure::TooLarge).await;
        }
    }

    /// What every message of the upstream passes before it goes to the host: books the answer and keeps what
    /// later headers need.
    pub(crate) fn look(
        &self,
        message: &Message<'_>,
        bytes: Option<&Bytes>,
        belongs: &Belongs<'_>,
    ) -> Verdict {
        if bytes.is_some() && is_useless(message, belongs) {
            return Verdict::Withhold;
        }
        match message.kind() {
            Kind::Notification if self.own_request(belongs).is_some() => return Verdict::Keep,
            Kind::Request => {
                if let Some(id) = self.own_request(belongs) {
                    self.inbox.asked_in_answer(id, message.envelope());
                }
            }
            Kind::Response | Kind::ErrorResponse => {
                if belongs.facts.is_some_and(|facts| facts.method_is("initialize")) {
                    self.state().agreed(message);
                }
                if belongs.is_tools_list()
                    && let Some(bytes) = bytes
                {
                    self.mirror.learn(bytes);
                }
                if lacks_id(message)
                    && let Some(entry) = belongs.entry
                    && let Some(id) = entry.only_unanswered()
                {
                    entry.all_answered();
                    return Verdict::WithId(id);
                }
                self.answered(message.envelope(), belongs);
            }
            Kind::Batch => {
                for element in message.batch() {
                    if matches!(element.kind(), Kind::Response | Kind::ErrorResponse) {
                        self.answered(element, belongs);
                    }
                }
            }
            // The end of a subscription that the server says itself is what the host waits for: no error follows.
            Kind::Notification
                if belongs.modern
                    && belongs.facts.is_some_and(|facts| facts.method_is("subscriptions/listen"))
                    && message.envelope().text_is(Field::Method, "notifications/cancelled") =>
            {
                if let (Some(entry), Some(id)) = (belongs.entry, message.envelope().raw(Field::RequestId)) {
                    entry.answered(id);
                }
            }
            _ => {}
        }
        Verdict::HandOn
    }

    fn answered(&self, envelope: &bir_wire::Envelope, belongs: &Belongs<'_>) {
        let id = envelope.raw(Field::Id);
        match (belongs.entry, id) {
            (Some(entry), Some(id)) if entry.answered(id) => {}
            (Some(entry), _) if belongs.alone && entry.only_unanswered().is_some() => entry.all_answered(),
            (own, Some(id)) => {
                // A response that is no other request's is the answer to whose stream it came on.
                if !self.registry.answered_elsewhere(id)
                    && let Some(entry) = own.filter(|entry| entry.only_unanswered().is_some())
                {
                    entry.all_answered();
                }
            }
            _ => {}
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}
