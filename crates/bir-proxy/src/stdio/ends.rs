//! The two ends that the pumps write to: the host's stdout and the upstream's stdin.

use super::patient::Patient;
use std::io::{self, Write as _};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The host's end: stdout, shared by the pump that forwards the upstream and whoever answers in its place.
///
/// A duplicate of descriptor 1 and not `std::io::stdout`, whose line buffer would copy every message.
pub(super) struct HostEnd {
    inner: Mutex<HostInner>,
    /// The upstream's bytes are being written: the host has not taken them yet.
    writing: AtomicBool,
    /// Pieces that the host has taken, so that one that reads slowly is told from one that does not read.
    taken: AtomicU64,
}

struct HostInner {
    stdout: Patient,
    /// A line was begun and not ended.
    mid_line: bool,
}

impl HostEnd {
    pub(super) fn new(stdout: Patient) -> Self {
        Self {
            inner: Mutex::new(HostInner { stdout, mid_line: false }),
            writing: AtomicBool::new(false),
            taken: AtomicU64::new(0),
        }
    }

    /// Bytes of the upstream, as they came.
    pub(super) fn forward(&self, bytes: &[u8]) -> io::Result<()> {
        let mut inner = lock(&self.inner);
        self.writing.store(true, Ordering::Relaxed);
        let mut left = bytes;
        while !left.is_empty() {
            match inner.stdout.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    left = &left[n..];
                    self.taken.fetch_add(1, Ordering::Relaxed);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.writing.store(false, Ordering::Relaxed);
                    return Err(e);
                }
            }
        }
        self.writing.store(false, Ordering::Relaxed);
        inner.mid_line = bytes.last().is_some_and(|&b| b != b'\n');
        Ok(())
    }

    /// A line of our own.
    pub(super) fn say(&self, line: &[u8]) -> io::Result<()> {
        let mut inner = lock(&self.inner);
        inner.end_line()?;
        inner.stdout.write_all(line)
    }

    /// An upstream that died in the middle of a line leaves it to us to end that line.
    pub(super) fn end_line(&self) -> io::Result<()> {
        lock(&self.inner).end_line()
    }

    /// How much the host has taken so far, while it still has to take what the upstream has said.
    pub(super) fn is_behind(&self) -> Option<u64> {
        self.writing.load(Ordering::Relaxed).then(|| self.taken.load(Ordering::Relaxed))
    }
}

impl HostInner {
    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.mid_line) { self.stdout.write_all(b"\n") } else { Ok(()) }
    }
}

/// The upstream's end: the stdin of the child that is running now.
pub(super) struct UpstreamEnd(Mutex<UpstreamInner>);

pub(super) struct UpstreamInner {
    stdin: Option<ChildStdin>,
    /// A line was begun and not ended.
    mid_line: bool,
    /// The line under way began with an earlier child: its rest means nothing to this one.
    skip_line: bool,
    /// The first generation of messages that this child may see.
    generation: u32,
    /// Lines of our own that wait for the end of the host's line under way.
    waiting: Vec<u8>,
}

impl UpstreamEnd {
    pub(super) fn closed() -> Self {
        Self(Mutex::new(UpstreamInner {
            stdin: None,
            mid_line: false,
            skip_line: false,
            generation: 0,
            waiting: Vec::new(),
        }))
    }

    /// While the guard is held no message of the host goes out: a restart repeats the handshake under it.
    pub(super) fn lock(&self) -> MutexGuard<'_, UpstreamInner> {
        lock(&self.0)
    }

    /// Bytes of the host, and the generation of their message. They are dropped while there is no child, and when the
    /// child that they were meant for has been answered for.
    pub(super) fn forward(&self, bytes: &[u8], generation: u32) -> io::Result<()> {
        let mut inner = self.lock();
        let is_stale = generation < inner.generation;
        inner.pass(bytes, is_stale)
    }

    /// A line of our own, after the host's line under way.
    pub(super) fn say(&self, line: &[u8]) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.mid_line {
            inner.waiting.extend_from_slice(line);
            return Ok(());
        }
        inner.say(line)
    }

    /// As [`UpstreamEnd::say`]. False: there is no child that could read it.
    pub(super) fn say_if_there(&self, line: &[u8]) -> io::Result<bool> {
        let mut inner = self.lock();
        if inner.stdin.is_none() {
            return Ok(false);
        }
        if inner.mid_line {
            inner.waiting.extend_from_slice(line);
        } else {
            inner.say(line)?;
        }
        Ok(true)
    }

    /// Lets the child read the end of its stdin, unless a write to it is stuck; then a signal must do.
    pub(super) fn disconnect(&self) {
        if let Ok(mut inner) = self.0.try_lock() {
            inner.close();
        }
    }
}

impl UpstreamInner {
    /// A line of our own, where no line of the host's is under way.
    pub(super) fn say(&mut self, line: &[u8]) -> io::Result<()> {
        self.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(line))
    }

    fn pass(&mut self, mut bytes: &[u8], is_stale: bool) -> io::Result<()> {
        if self.skip_line {
            let Some(end) = bytes.iter().position(|&b| b == b'\n') else { return Ok(()) };
            bytes = &bytes[end + 1..];
            self.skip_line = false;
        }
        let Some(last) = bytes.last().filter(|_| !is_stale) else { return Ok(()) };
        self.mid_line = *last != b'\n';
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        stdin.write_all(bytes)?;
        if !self.mid_line && !self.waiting.is_empty() {
            stdin.write_all(&std::mem::take(&mut self.waiting))?;
        }
        Ok(())
    }

    /// Lets the child read the end of its stdin.
    pub(super) fn close(&mut self) {
        self.stdin = None;
    }

    /// From now on the host speaks to this child.
    pub(super) fn connect(&mut self, stdin: ChildStdin, generation: u32) {
        self.generation = generation;
        self.stdin = Some(stdin);
        self.skip_line = self.mid_line;
        self.mid_line = false;
        self.waiting.clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
