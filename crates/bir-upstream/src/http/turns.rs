//! The order in which messages are sent.
//!
//! Each message takes a turn when it arrives and waits for the one before it, right before its first byte is
//! written. Connections are opened beside each other; only the writing is in order.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// Hands out turns.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    last: Mutex<Option<oneshot::Receiver<()>>>,
}

/// A place in the order. Dropping it lets the next one go.
#[derive(Debug)]
pub(crate) struct Turn {
    before: Option<oneshot::Receiver<()>>,
    done: Option<oneshot::Sender<()>>,
}

/// How a turn that was limited ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    InTime,
    Late,
}

impl Turns {
    pub(crate) fn take(&self) -> Turn {
        let (done, next) = oneshot::channel();
        let before = self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(next);
        Turn { before, done: Some(done) }
    }
}

impl Turn {
    /// No place in the order: an answer to the upstream goes at once, also while the handshake is under way.
    pub(crate) fn none() -> Self {
        Self { before: None, done: None }
    }

    /// Waits until the message before this one was sent or given up.
    pub(crate) async fn come(&mut self) {
        if let Some(before) = &mut self.before {
            // A dropped sender means the same as a sent one.
            let _ = before.await;
            self.before = None;
        }
    }

    /// Lets the next message go after `limit` even if this one is not done. Returns how it ended.
    pub(crate) fn limit(&mut self, limit: Duration) -> impl Future<Output = Ended> + Send + use<> {
        let (done, ours) = oneshot::channel();
        let next = self.done.replace(done);
        async move {
            let late = tokio::time::timeout(limit, ours).await.is_err();
            drop(next);
            if late { Ended::Late } else { Ended::InTime }
        }
    }

    /// Lets the next message go.
    pub(crate) fn done(&mut self) {
        if let Some(done) = self.done.take() {
            let _ = done.send(());
        }
    }
}

/// A turn that is given up before it came must not let later ones pass earlier ones.
impl Drop for Turn {
    fn drop(&mut self) {
        let (Some(before), Some(done)) = (self.before.take(), self.done.take()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = before.await;
                let _ = done.send(());
            });
        }
    }
}
