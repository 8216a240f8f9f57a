//! Where messages from the upstream go.

use super::Failure;
use bir_wire::{Envelope, Message};
use bytes::Bytes;

/// Takes what the upstream sends, and what this crate answers in its stead.
///
/// Waiting inside holds back the stream that the message came from, and no other.
pub trait Inbox: Send + Sync + 'static {
    /// A message that is handed over in pieces.
    type Large: LargeMessage;

    /// Takes one complete message, without a line end.
    fn message(&self, bytes: Bytes, about: &Message<'_>) -> impl Future<Output = ()> + Send;

    /// Begins a message that is too large to hold, of which so much is known. `own`: it came in answer to a request of which
    /// [`Inbox::is_own`] is true.
    fn open(&self, so_far: &Envelope, own: bool) -> impl Future<Output = Self::Large> + Send;

    /// Whether the request with this id, as written, was none of the host's: what comes in answer to it besides its answer is
    /// not for the host.
    fn is_own(&self, _id: &[u8]) -> bool {
        false
    }

    /// A request of the upstream has come in answer to such a request, and is about to be handed on.
    fn asked_in_answer(&self, _id: &[u8], _request: &Envelope) {}

    /// A request has failed. True: that was taken, and there is no error answer to be made of it.
    fn failed(&self, _id: &[u8], _failure: &Failure) -> bool {
        false
    }

    /// Takes a line for whoever reads the log. It holds no secrets and nothing that the upstream wrote.
    fn note(&self, text: &str);
}

/// A message too large to hold. Dropping it before [`LargeMessage::end`] means that the rest will not come.
pub trait LargeMessage: Send {
    /// Takes the next bytes.
    fn piece(&mut self, bytes: Bytes) -> impl Future<Output = ()> + Send;

    /// The message is complete; what it was is known now.
    fn end(self, about: &Message<'_>) -> impl Future<Output = ()> + Send;
}
