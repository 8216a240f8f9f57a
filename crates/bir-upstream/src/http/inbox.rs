//! Where messages from the upstream go.

use bir_wire::Message;
use bytes::Bytes;

/// Takes what the upstream sends, and what this crate answers in its stead.
///
/// Waiting inside holds back the stream that the message came from, and no other.
pub trait Inbox: Send + Sync + 'static {
    /// A message that is handed over in pieces.
    type Large: LargeMessage;

    /// Takes one complete message, without a line end.
    fn message(&self, bytes: Bytes, about: &Message<'_>) -> impl Future<Output = ()> + Send;

    /// Begins a message that is too large to hold.
    fn open(&self) -> impl Future<Output = Self::Large> + Send;

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
