//! Where every message of both directions passes: it is observed here, and those for the host are written.

use std::sync::{Arc, Mutex, PoisonError};

use bir_model::Direction;
use bir_tap::{Asked, Conversation, SystemClock};
use bir_upstream::http::{Inbox, LargeMessage};
use bir_wire::Message;
use bytes::Bytes;

use super::pen::{Pen, Stroke};
use crate::call_ids::{CallIds, Stripped};
use crate::log;

/// The host's side of the relay.
#[derive(Clone)]
pub(crate) struct Desk {
    conversation: Arc<Mutex<Conversation<SystemClock>>>,
    pen: Arc<Pen>,
    call_ids: Option<CallIds>,
}

impl Desk {
    pub(crate) fn new(conversation: Conversation<SystemClock>, pen: Pen, call_ids: Option<CallIds>) -> Self {
        Self { conversation: Arc::new(Mutex::new(conversation)), pen: Arc::new(pen), call_ids }
    }

    /// A message of the host without ids in its arguments, where there are any. They are told with the message that is shown
    /// next.
    pub(crate) fn strip(&self, message: &Message<'_>) -> Option<Bytes> {
        let Stripped { line, ids } = self.call_ids.as_ref()?.strip(message)?;
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner).name_calls(ids);
        Some(line.into())
    }

    /// Shows one complete message to the observers. Every message of both directions comes through here:
    /// small ones before their bytes go on, streamed ones when they are complete.
    pub(crate) fn observe(&self, direction: Direction, message: &Message<'_>) -> Option<Asked> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A message for the host that is written as it comes.
pub(crate) struct Streaming {
    desk: Desk,
    stroke: Stroke,
}

impl Inbox for Desk {
    type Large = Streaming;

    async fn message(&self, bytes: Bytes, about: &Message<'_>) {
        let answered = self.observe(Direction::UpstreamToHost, about);
        let call_ids = self.call_ids.as_ref().filter(|_| answered == Some(Asked::ToolsList));
        let declared = call_ids.and_then(|call_ids| call_ids.declare(&bytes));
        self.pen.line(declared.as_deref().unwrap_or(&bytes)).await;
    }

    async fn open(&self) -> Streaming {
        Streaming { desk: self.clone(), stroke: self.pen.clone().begin().await }
    }

    fn note(&self, text: &str) {
        log::warn!("{text}");
    }
}

impl LargeMessage for Streaming {
    async fn piece(&mut self, bytes: Bytes) {
        self.stroke.piece(&bytes).await;
    }

    async fn end(self, about: &Message<'_>) {
        self.desk.observe(Direction::UpstreamToHost, about);
        self.stroke.end().await;
    }
}
