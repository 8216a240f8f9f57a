//! Request bodies: nothing, bytes that can be sent again, or a stream that cannot.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// Pieces of a streamed body that may wait for the connection. With pieces of 64 KiB: 256 KiB.
const STREAM_DEPTH: usize = 4;

/// What a request carries.
#[derive(Debug)]
pub struct RequestBody(Kind);

#[derive(Debug)]
enum Kind {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Piece>),
}

#[derive(Debug)]
enum Piece {
    Data(Bytes),
    End,
}

/// The supplying end of a streamed body. Dropping it without [`BodySender::end`] breaks the request off.
#[derive(Debug)]
pub struct BodySender(mpsc::Sender<Piece>);

/// The two ends of a streamed body lost each other: the request is over, or its supplier went away before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request ended before its body did")]
pub struct Unsent;

impl RequestBody {
    /// No body.
    pub fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    /// A body of known length, sent with `Content-Length` and again after a redirect.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(Some(bytes.into())))
    }

    /// A body of unknown length, sent chunked as it is supplied. It cannot follow a redirect.
    pub fn stream() -> (BodySender, Self) {
        let (sender, receiver) = mpsc::channel(STREAM_DEPTH);
        (BodySender(sender), Self(Kind::Stream(receiver)))
    }

    /// The same body again, where that is possible. No bytes are copied.
    pub(crate) fn again(&self) -> Option<Self> {
        match &self.0 {
            Kind::Whole(bytes) => Some(Self(Kind::Whole(bytes.clone()))),
            Kind::Stream(_) => None,
        }
    }
}

impl BodySender {
    /// Hands over a piece; waits while the connection is behind.
    ///
    /// # Errors
    ///
    /// [`Unsent`] when the request is over already.
    pub async fn push(&self, bytes: Bytes) -> Result<(), Unsent> {
        self.0.send(Piece::Data(bytes)).await.map_err(|_| Unsent)
    }

    /// Says that the body is complete.
    ///
    /// # Errors
    ///
    /// [`Unsent`] when the request is over already.
    pub async fn end(self) -> Result<(), Unsent> {
        self.0.send(Piece::End).await.map_err(|_| Unsent)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Unsent;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Unsent>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Stream(receiver) => receiver.poll_recv(context).map(|piece| match piece {
                Some(Piece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(Piece::End) => None,
                None => Some(Err(Unsent)),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(bytes) if bytes.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}
