//! Diagnostics on stderr. stdout belongs to the protocol.
//!
//! A host need not read our stderr, and a full pipe would stop whoever writes to it. So lines go through a bounded queue
//! to a thread of their own, and what does not fit is counted and dropped. The thread starts with the first line.

use bir_tap::Asked;
use bir_wire::{Field, Message};
use std::fmt;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// Said once when a recorder panicked.
pub(crate) const LOST_TAP: &str = "recording failed and is off for this session; the relay goes on";

/// Lines that may wait for a slow reader.
const QUEUE: usize = 512;

/// How long a line of the upstream waits for room before lines are dropped.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long the end of the process waits for the last lines.
const LAST_WORDS: Duration = Duration::from_millis(200);

macro_rules! error { ($($arg:tt)*) => { $crate::log::say($crate::log::Level::Error, format_args!($($arg)*)) } }
macro_rules! warn_ { ($($arg:tt)*) => { $crate::log::say($crate::log::Level::Warn, format_args!($($arg)*)) } }
macro_rules! info { ($($arg:tt)*) => { $crate::log::say($crate::log::Level::Info, format_args!($($arg)*)) } }
macro_rules! debug { ($($arg:tt)*) => { $crate::log::say($crate::log::Level::Debug, format_args!($($arg)*)) } }
pub(crate) use {debug, error, info, warn_ as warn};

/// How much is said; `BIR_LOG`, by default `warn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

enum Entry {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

struct Log {
    level: Option<Level>,
    prefix: String,
    queue: OnceLock<SyncSender<Entry>>,
    dropped: AtomicU64,
    /// The last line of the upstream found no room: its successors do not wait again.
    stuck: AtomicBool,
}

static LOG: OnceLock<Log> = OnceLock::new();

/// Sets the name that lines carry and the level. Later calls change nothing.
pub(crate) fn init(server_name: &str, level: Option<&str>) {
    let (level, unknown) = match level.unwrap_or("warn") {
        "off" => (None, None),
        "error" => (Some(Level::Error), None),
        "warn" => (Some(Level::Warn), None),
        "info" => (Some(Level::Info), None),
        "debug" => (Some(Level::Debug), None),
        other => (Some(Level::Warn), Some(other)),
    };
    let prefix = format!("bir-proxy[{server_name}]: ");
    let _ = LOG.set(Log {
        level,
        prefix,
        queue: OnceLock::new(),
        dropped: AtomicU64::new(0),
        stuck: AtomicBool::new(false),
    });
    if let Some(other) = unknown {
        warn!("BIR_LOG is `{other}`; it takes off, error, warn, info or debug, and is warn now");
    }
}

/// What a panic says may hold bytes that passed, and they are not for a log: only its place is told.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let thread = std::thread::current();
        error!("a fault of our own{place}, thread {}", thread.name().unwrap_or("unnamed"));
    }));
}

pub(crate) fn say(level: Level, text: fmt::Arguments<'_>) {
    let Some(log) = LOG.get() else { return };
    if log.level.is_none_or(|most| level > most) {
        return;
    }
    log.send_within(format!("{}{text}\n", log.prefix).into_bytes(), Duration::ZERO);
}

/// One line of the upstream's, whatever the level. Called where waiting hurts nobody but the upstream's own stderr: a
/// slow reader is waited for, as it would be without us; one that does not read at all costs lines and not the session.
pub(crate) fn pass(line: Vec<u8>) {
    let Some(log) = LOG.get() else { return };
    let patience = if log.stuck.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
    let stuck = !log.send_within(line, patience);
    log.stuck.store(stuck, Ordering::Relaxed);
}

/// How the upstream took the host's opening.
pub(crate) fn opening_answered(asked: Asked, message: &Message<'_>) {
    let method = if asked == Asked::Initialize { "initialize" } else { "server/discover" };
    let envelope = message.envelope();
    if envelope.has(Field::Result) {
        let revision = envelope.text(Field::ResultProtocolVersion);
        let revision = revision.map(|r| format!(", revision {}", r.escape_debug())).unwrap_or_default();
        info!("the server accepted `{method}`{revision}");
    } else {
        info!("the server refused `{method}`");
    }
}

/// Waits a moment for the lines that are still queued.
pub(crate) fn flush() {
    let Some(queue) = LOG.get().and_then(|log| log.queue.get()) else { return };
    let (done, wait) = sync_channel(1);
    if queue.try_send(Entry::Flush(done)).is_ok() {
        let _ = wait.recv_timeout(LAST_WORDS);
    }
}

impl Log {
    /// Queues a line; false when there was no room for it in time.
    fn send_within(&self, line: Vec<u8>, patience: Duration) -> bool {
        let queue = self.queue.get_or_init(start_writer);
        let lost = self.dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let note = format!("{}{lost} lines were dropped, since nobody read them\n", self.prefix);
            if queue.try_send(Entry::Line(note.into_bytes())).is_err() {
                self.dropped.fetch_add(lost, Ordering::Relaxed);
            }
        }
        let deadline = Instant::now() + patience;
        let mut entry = Entry::Line(line);
        loop {
            match queue.try_send(entry) {
                Ok(()) => return true,
                Err(TrySendError::Full(back)) if Instant::now() < deadline => {
                    entry = back;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TrySendError::Disconnected(Entry::Line(line))) => {
                    // No thread could be had; what has to be said about that is said from here.
                    return std::io::stderr().write_all(&line).is_ok();
                }
                Err(_) => {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
            }
        }
    }
}

fn start_writer() -> SyncSender<Entry> {
    let (queue, entries) = sync_channel(QUEUE);
    let writer = move || {
        for entry in entries {
            match entry {
                Entry::Line(line) => {
                    let _ = std::io::stderr().write_all(&line);
                }
                Entry::Flush(done) => {
                    let _ = done.send(());
                }
            }
        }
    };
    // Without the thread the queue has no reader, and whoever has something to say writes it.
    let _ = std::thread::Builder::new().name("log".into()).spawn(writer);
    queue
}
