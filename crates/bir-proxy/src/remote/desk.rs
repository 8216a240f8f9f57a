//! Where every message of both directions passes: it is observed here, and those for the host are written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bir_model::Direction;
use bir_model::control::LONGEST_RESULT;
use bir_tap::{Asked, Conversation, SystemClock};
use bir_upstream::http::{Failure, Inbox, LargeMessage};
use bir_wire::{Envelope, Field, Kind, Message};
use bytes::Bytes;

use super::pen::{Pen, Stroke};
use crate::call_ids::{CallIds, Stripped};
use crate::log;
use crate::replay::OwnCalls;

/// The host's side of the relay.
#[derive(Clone)]
pub(crate) struct Desk {
    conversation: Arc<Mutex<Conversation<SystemClock>>>,
    pen: Arc<Pen>,
    call_ids: Option<CallIds>,
    /// Calls of our own, for a plan.
    own: Option<Arc<OwnCalls>>,
}

impl Desk {
    pub(crate) fn new(
        conversation: Conversation<SystemClock>,
        pen: Pen,
        call_ids: Option<CallIds>,
        own: Option<Arc<OwnCalls>>,
    ) -> Self {
        Self { conversation: Arc::new(Mutex::new(conversation)), pen: Arc::new(pen), call_ids, own }
    }

    /// Calls of our own, once there was any.
    fn used(&self) -> Option<&Arc<OwnCalls>> {
        self.own.as_ref().filter(|own| own.is_used())
    }

    pub(crate) fn own(&self) -> Option<&Arc<OwnCalls>> {
        self.own.as_ref()
    }

    pub(crate) fn conversation(&self) -> MutexGuard<'_, Conversation<SystemClock>> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a message is the answer to a call of our own. What the server asks while nothing of the host's is open, it asks
    /// for our calls.
    fn is_for_own_call(&self, about: &Message<'_>, whole: Option<&[u8]>) -> bool {
        let Some(own) = self.used() else { return false };
        if let Some(number) = own.answered_by(about.envelope()) {
            own.answer(number, about, whole, &mut self.conversation());
            return true;
        }
        if about.kind() == Kind::Request && own.any() {
            let mut conversation = self.conversation();
            if conversation.open_requests() == 0 {
                own.asked_for_input(about.envelope(), None, &mut conversation);
            }
        }
        false
    }

    /// A message of the host without ids in its arguments, where there are any. They are told with the message that is shown
    /// next.
    pub(crate) fn strip(&self, message: &Message<'_>) -> Option<Bytes> {
        let Stripped { line, ids } = self.call_ids.as_ref()?.strip(message)?;
        self.conversation().name_calls(ids);
        Some(line.into())
    }

    /// Shows one complete message to the observers. Every message of both directions comes through here:
    /// small ones before their bytes go on, streamed ones when they are complete.
    pub(crate) fn observe(&self, direction: Direction, message: &Message<'_>) -> Option<Asked> {
        if direction == Direction::HostToUpstream
            && let Some(own) = &self.own
        {
            own.saw_host(message);
        }
        let mut conversation = self.conversation();
        let answered = conversation.observe(direction, message);
        if let Some(asked) = answered.filter(|asked| asked.is_opening()) {
            log::opening_answered(asked, message);
        }
        if conversation.lost_tap() {
            log::error!("{}", log::LOST_TAP);
        }
        answered
    }

    pub(crate) fn pen(&self) -> &Arc<Pen> {
        &self.pen
    }
}

/// A long message.
pub(crate) enum Streaming {
    /// For the host: it is written as it comes.
    Host { desk: Desk, stroke: Stroke },
    /// In answer to a call of our own: it is collected, up to the length of a result.
    Own { desk: Desk, held: Vec<u8>, length: usize },
}

/// Bytes of an answer to a call of our own that are held.
const MOST_OF_OWN: usize = LONGEST_RESULT + 64 * 1024;

impl Inbox for Desk {
    type Large = Streaming;

    async fn message(&self, bytes: Bytes, about: &Message<'_>) {
        if self.is_for_own_call(about, Some(&bytes)) {
            return;
        }
        let answered = self.observe(Direction::UpstreamToHost, about);
        let call_ids = self.call_ids.as_ref().filter(|_| answered == Some(Asked::ToolsList));
        let declared = call_ids.and_then(|call_ids| call_ids.declare(&bytes));
        self.pen.line(declared.as_deref().unwrap_or(&bytes)).await;
    }

    async fn open(&self, so_far: &Envelope, own: bool) -> Streaming {
        let answers = self.used().is_some_and(|own| own.answered_by(so_far).is_some());
        // What the server asks is for the host, however long it is.
        let asks = so_far.has(Field::Method) && so_far.has(Field::Id);
        if answers || (own && !asks) {
            return Streaming::Own { desk: self.clone(), held: Vec::new(), length: 0 };
        }
        Streaming::Host { desk: self.clone(), stroke: self.pen.clone().begin().await }
    }

    fn is_own(&self, id: &[u8]) -> bool {
        self.used().is_some_and(|own| own.number(id).is_some())
    }

    fn asked_in_answer(&self, id: &[u8], request: &Envelope) {
        if let Some(own) = self.used()
            && let Some(number) = own.number(id)
        {
            own.asked_for_input(request, Some(number), &mut self.conversation());
        }
    }

    fn failed(&self, id: &[u8], failure: &Failure) -> bool {
        let Some(own) = self.used() else { return false };
        let Some(number) = own.number(id) else { return false };
        let mut conversation = self.conversation();
        match failure {
            // Nothing came through.
            Failure::Crowded | Failure::SignIn | Failure::Forbidden => {
                own.not_sent(number, &failure.to_string(), &mut conversation);
            }
            Failure::TooLarge => own.too_large(number, &mut conversation),
            _ => own.failed(number, &failure.to_string(), &mut conversation),
        }
        true
    }

    fn note(&self, text: &str) {
        log::warn!("{text}");
    }
}

impl LargeMessage for Streaming {
    async fn piece(&mut self, bytes: Bytes) {
        match self {
            Self::Host { stroke, .. } => stroke.piece(&bytes).await,
            Self::Own { held, length, .. } => {
                *length += bytes.len();
                if *length <= MOST_OF_OWN {
                    held.extend_from_slice(&bytes);
                } else {
                    *held = Vec::new();
                }
            }
        }
    }

    async fn end(self, about: &Message<'_>) {
        match self {
            Self::Host { desk, stroke } => {
                desk.observe(Direction::UpstreamToHost, about);
                stroke.end().await;
            }
            Self::Own { desk, held, length } => {
                let whole = (held.len() == length).then_some(&held[..]);
                desk.is_for_own_call(about, whole);
            }
        }
    }
}
