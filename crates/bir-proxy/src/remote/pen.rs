//! The one owner of stdout. Whoever writes a message holds the pen from its first byte to its line end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use super::pipe::Sink;
use crate::log;

/// How long a message waits for the pen before that is spoken of.
const LONG_WAIT: Duration = Duration::from_secs(10);

/// Writes lines to the host.
pub(crate) struct Pen {
    sink: Arc<Mutex<Sink>>,
    /// The last message was broken off: its line must be ended before another begins.
    torn: AtomicBool,
    /// Bytes are on their way to the host at this moment.
    writing: AtomicBool,
    /// A long wait was spoken of, and nothing was written since.
    told: AtomicBool,
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
            writing: AtomicBool::new(false),
            told: AtomicBool::new(false),
            broken: watch::Sender::new(false),
        }
    }

    /// Writes one whole message and its line end.
    pub(crate) async fn line(self: &Arc<Self>, message: &[u8]) {
        let mut sink = self.take().await;
        let torn = self.torn.swap(false, Ordering::Relaxed);
        let before: &[u8] = if torn { b"\n" } else { b"" };
        // One write for a small message: a host that reads line by line wakes up once.
        self.write(&mut sink, [before, message, b"\n"]).await;
    }

    /// Takes the pen for a message that comes in pieces.
    pub(crate) async fn begin(self: Arc<Self>) -> Stroke {
        let mut sink = self.take().await;
        if self.torn.swap(false, Ordering::Relaxed) {
            self.write(&mut sink, [b"\n", b"", b""]).await;
        }
        Stroke { pen: self, sink, ended: false }
    }

    /// Waits for the pen; says so when that takes long, and who is slow.
    async fn take(self: &Arc<Self>) -> OwnedMutexGuard<Sink> {
        if let Ok(sink) = self.sink.clone().try_lock_owned() {
            return sink;
        }
        let mut taking = std::pin::pin!(self.sink.clone().lock_owned());
        if let Ok(sink) = tokio::time::timeout(LONG_WAIT, &mut taking).await {
            return sink;
        }
        if !self.told.swap(true, Ordering::Relaxed) {
            match self.writing.load(Ordering::Relaxed) {
                true => log::warn!("messages for the host wait: it does not read"),
                false => log::warn!(
                    "messages for the host wait: the upstream does not go on with the large one before them"
                ),
            }
        }
        taking.await
    }

    async fn write(&self, sink: &mut Sink, parts: [&[u8]; 3]) {
        self.writing.store(true, Ordering::Relaxed);
        let outcome = sink.write(parts).await;
        self.writing.store(false, Ordering::Relaxed);
        self.told.store(false, Ordering::Relaxed);
        self.check(outcome);
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
        self.pen.write(&mut self.sink, [bytes, b"", b""]).await;
    }

    pub(crate) async fn end(mut self) {
        self.ended = true;
        self.pen.write(&mut self.sink, [b"\n", b"", b""]).await;
    }
}

impl Drop for Stroke {
    fn drop(&mut self) {
        if !self.ended {
            self.pen.torn.store(true, Ordering::Relaxed);
        }
    }
}
