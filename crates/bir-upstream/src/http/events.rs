//! Reading an event stream that carries messages.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bir_net::Response;
use bir_wire::sse::{Decoder, Part};
use bir_wire::{Kind, Message};
use bytes::Bytes;

use super::assemble::{Assembler, HOLD, Verdict, lacks_id};
use super::inbox::Inbox;
use super::outgoing::Facts;
use super::registry::Entry;
use super::upstream::Shared;
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

impl<I: Inbox> Shared<I> {
    pub(crate) fn assembler(&self, belongs: &Belongs<'_>) -> Assembler<I> {
        let hold = if belongs.is_tools_list() { mirror::MAX_LIST } else { HOLD };
        Assembler::new(hold, self.options.max_message_bytes)
    }

    /// Reads messages from an event stream until it ends. How it ended makes no difference: what counts is
    /// whether an answer is missing.
    pub(crate) async fn read_events(
        &self,
        mut response: Response,
        belongs: &Belongs<'_>,
        place: &mut Place,
    ) -> Result<(), Failure> {
        let mut decoder = Decoder::new();
        let mut assembler = self.assembler(belongs);
        while let Ok(Some(chunk)) = response.chunk().await {
            self.feed(&mut decoder, &mut assembler, &chunk, belongs, place).await?;
        }
        Ok(())
    }

    /// Reads the messages in one chunk of an event stream.
    pub(crate) async fn feed(
        &self,
        decoder: &mut Decoder,
        assembler: &mut Assembler<I>,
        chunk: &Bytes,
        belongs: &Belongs<'_>,
        place: &mut Place,
    ) -> Result<(), Failure> {
        let mut rest: &[u8] = chunk;
        while let Some(part) = decoder.next(&mut rest) {
            match part {
                Part::KeepAlive => {}
                Part::Data(part) => assembler.data(&self.inbox, chunk.slice_ref(part)).await?,
                Part::DataNewline => assembler.line_break(),
                // Events of other types carry no messages.
                Part::End(end) if !end.is_message() => assembler.discard(),
                Part::End(_) => {
                    let _writing = self.registry.writing();
                    assembler.finish(&self.inbox, |message, bytes| self.look(message, bytes, belongs)).await;
                }
            }
        }
        place.last_event_id = decoder.last_event_id().filter(|id| !id.is_empty()).map(<[u8]>::to_vec);
        place.retry = decoder.retry().map(Duration::from_millis).or(place.retry);
        Ok(())
    }

    /// What every message of the upstream passes before it goes to the host: books the answer and keeps what
    /// later headers need.
    pub(crate) fn look(
        &self,
        message: &Message<'_>,
        bytes: Option<&Bytes>,
        belongs: &Belongs<'_>,
    ) -> Verdict {
        match message.kind() {
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
            _ => {}
        }
        Verdict::HandOn
    }

    fn answered(&self, envelope: &bir_wire::Envelope, belongs: &Belongs<'_>) {
        let id = envelope.raw(bir_wire::Field::Id);
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
