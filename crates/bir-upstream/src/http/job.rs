//! One message of the host on its way.

use bir_net::RequestBody;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::Failure;
use super::events::Belongs;
use super::outgoing::{Era, Facts};
use super::registry::Entry;
use super::turns::Turn;
use super::upload::Wanted;

/// The bytes of a message.
pub(crate) enum Payload {
    /// Held, so that it can be sent again.
    Whole(Bytes),
    /// Streamed; what it was is known when it is complete.
    Stream(Option<RequestBody>, Option<oneshot::Receiver<Facts>>, Option<Wanted>),
}

/// One message on its way.
pub(crate) struct Job {
    pub(crate) facts: Facts,
    pub(crate) era: Era,
    pub(crate) payload: Payload,
    pub(crate) turn: Turn,
    pub(crate) entry: Entry,
}

impl Job {
    /// Whether later messages must wait for the answer: they need what the handshake settles.
    pub(crate) fn is_barrier(&self) -> bool {
        self.era == Era::Legacy
            && (self.facts.method_is("initialize") || self.facts.method_is("notifications/initialized"))
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.era != Era::Legacy
    }

    pub(crate) fn belongs(&self, alone: bool) -> Belongs<'_> {
        Belongs { entry: Some(&self.entry), facts: Some(&self.facts), alone, modern: self.is_modern() }
    }

    /// Nobody takes the rest of a streamed message: whoever supplies it must not wait.
    pub(crate) fn stop_upload(&mut self) {
        if let Payload::Stream(body, _, wanted) = &mut self.payload {
            (*body, *wanted) = (None, None);
        }
    }

    /// Waits until a streamed message is complete, so that its id is known.
    pub(crate) async fn settle(&mut self) -> Result<(), Failure> {
        if let Payload::Stream(_, facts, _) = &mut self.payload
            && let Some(facts) = facts.take()
        {
            self.facts = facts.await.map_err(|_| Failure::HostGone)?;
            self.entry.expect(&self.facts.ids);
        }
        Ok(())
    }
}
