//! The one owner of stdout. Whoever writes a message holds the pen from its first byte to its line end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use super::pipe::Sink;

/// Writes lines to the host.
pub(crate) struct Pen {
    sink: Arc<Mutex<Sink>>,
    /// The last message was broken off: its line must be ended before another begins.
    torn: AtomicBool,
    broken: watch::Sender<bool>,
}

/// A message in the middle of being written. Dropping it breaks the message off.
pub(crate) struct Stroke {
    pen: Arc<Pen>,
    sink: OwnedMutexGuard<Sink>,
    ended: bool,
}

impl Pen {
    pub(crate) fn stdout() -> Self {
        Self::new(Sink::stdout())
    }

    fn new(sink: Sink) -> Self {
        Self {
            sink: Arc::new(Mutex::new(sink)),
            torn: AtomicBool::new(false),
            broken: watch::Sender::new(false),
        }
    }

    /// Writes one whole message and its line end.
    pub(crate) async fn line(&self, message: &[u8]) {
        let mut sink = self.sink.lock().await;
        let torn = self.torn.swap(false, Ordering::Relaxed);
        let before: &[u8] = if torn { b"\n" } else { b"" };
        // One write for a small message: a host that reads line by line wakes up once.
        self.check(sink.write([before, message, b"\n"]).await);
    }

    /// Takes the pen for a message that comes in pieces.
    pub(crate) async fn begin(self: Arc<Self>) -> Stroke {
        let mut sink = self.sink.clone().lock_owned().await;
        if self.torn.swap(false, Ordering::Relaxed) {
            self.check(sink.write([b"\n", b"", b""]).await);
        }
        Stroke { pen: self, sink, ended: false }
    }

    /// Waits until the host no longer reads.
    pub(crate) async fn broken(&self) {
        let mut broken = self.broken.subscribe();
        let _ = broken.wait_for(|broken| *broken).await;
    }

    fn check(&self, outcome: io::Result<()>) {
        if outcome.is_err() {
            self.broken.send_replace(true);
        }
    }
}

impl Stroke {
    pub(crate) async fn piece(&mut self, bytes: &[u8]) {
        self.pen.check(self.sink.write([bytes, b"", b""]).await);
    }

    pub(crate) async fn end(mut self) {
        self.ended = true;
        self.pen.check(self.sink.write([b"\n", b"", b""]).await);
    }
}

impl Drop for Stroke {
    fn drop(&mut self) {
        if !self.ended {
            self.pen.torn.store(true, Ordering::Relaxed);
        }
    }
}
