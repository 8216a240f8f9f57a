//! The two ends that the pumps write to: the host's stdout and the upstream's stdin.

use std::fs::File;
use std::io::{self, Write as _};
use std::process::ChildStdin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The host's end: stdout, shared by the pump that forwards the upstream and whoever answers in its place.
///
/// A duplicate of descriptor 1 and not `std::io::stdout`, whose line buffer would copy every message.
pub(super) struct HostEnd(Mutex<HostInner>);

struct HostInner {
    stdout: File,
    /// A line was begun and not ended.
    mid_line: bool,
}

impl HostEnd {
    pub(super) fn new(stdout: File) -> Self {
        Self(Mutex::new(HostInner { stdout, mid_line: false }))
    }

    /// Bytes of the upstream, as they came.
    pub(super) fn forward(&self, bytes: &[u8]) -> io::Result<()> {
        let mut inner = lock(&self.0);
        inner.stdout.write_all(bytes)?;
        inner.mid_line = bytes.last().is_some_and(|&b| b != b'\n');
        Ok(())
    }

    /// A line of our own. An upstream that died in the middle of a line leaves it to us to end that line.
    pub(super) fn say(&self, line: &[u8]) -> io::Result<()> {
        let mut inner = lock(&self.0);
        if std::mem::take(&mut inner.mid_line) {
            inner.stdout.write_all(b"\n")?;
        }
        inner.stdout.write_all(line)
    }
}

/// The upstream's end: the stdin of the child that is running now.
pub(super) struct UpstreamEnd(Mutex<Option<ChildStdin>>);

impl UpstreamEnd {
    pub(super) fn closed() -> Self {
        Self(Mutex::new(None))
    }

    /// While the guard is held no message of the host goes out: a restart repeats the handshake under it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<ChildStdin>> {
        lock(&self.0)
    }

    /// Bytes of the host. They are dropped while there is no child; its death answers for them.
    pub(super) fn forward(&self, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.lock() {
            Some(stdin) => stdin.write_all(bytes),
            None => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
