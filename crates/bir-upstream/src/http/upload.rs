//! A message that is sent while the host still writes it.

use bir_net::{BodySender, RequestBody};
use bir_wire::Message;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::job::Payload;
use super::outgoing::Facts;

/// A large message on its way to the upstream. Dropping it before its end breaks the request off.
pub struct Upload {
    body: Option<BodySender>,
    facts: oneshot::Sender<Facts>,
    over: oneshot::Receiver<()>,
}

/// The sending end's hold on an upload: dropping it says that nobody takes the rest.
#[derive(Debug)]
pub(crate) struct Wanted {
    _over: oneshot::Sender<()>,
}

impl Upload {
    /// An upload, and what is sent of it.
    pub(crate) fn new() -> (Self, Payload) {
        let (sender, body) = RequestBody::stream();
        let (facts, known) = oneshot::channel();
        let (wanted, over) = oneshot::channel();
        let payload = Payload::Stream(Some(body), Some(known), Some(Wanted { _over: wanted }));
        (Self { body: Some(sender), facts, over }, payload)
    }

    /// Hands over the next bytes; waits while the connection is behind. Bytes after the upstream has had
    /// enough are dropped.
    pub async fn push(&mut self, bytes: Bytes) {
        let Some(body) = &self.body else { return };
        let taken = tokio::select! {
            biased;
            // Only ever dropped: the upstream has answered and reads no more.
            _ = &mut self.over => false,
            pushed = body.push(bytes) => pushed.is_ok(),
        };
        if !taken {
            self.body = None;
        }
    }

    /// The message is complete, and this is what it was.
    pub async fn end(self, message: &Message<'_>) {
        let _ = self.facts.send(Facts::of(message));
        if let Some(body) = self.body {
            tokio::select! {
                biased;
                _ = self.over => {}
                _ = body.end() => {}
            }
        }
    }
}
