//! The relay in front of a remote server.
//!
//! ```text
//!              ┌─ lines ─ observe ─▶ HttpUpstream ── POST ──▶┐
//!   host stdio │                                             │ upstream
//!              └◀─ pen ◀─ observe ◀─ Desk (Inbox) ◀─ bodies, events ─┘
//! ```
//!
//! Everything runs on one thread. The host is read by one loop, which hands over each message in the order in which it came; what comes
//! back is written by whoever holds the [`Pen`](pen::Pen). A large message takes the pen when its hold is full and keeps it until its end; all others
//! are held by the upstream side until they are complete, and wait for the pen.
//!
//! The end: when the host closes stdin, what is in flight has [`FAREWELL`] to be answered; a signal, a closed stdout or an upstream that is gone for
//! good end the relay at once. A legacy session is deleted, within a second. The exit status is 0, or 1 when the upstream could not be used.

mod desk;
mod lines;
mod pen;
mod pipe;
mod settings;

use std::time::Duration;

use bir_tap::{Conversation, SystemClock, Tap};
use bir_upstream::http::HttpUpstream;

use self::desk::Desk;
use self::lines::Lines;
use self::pen::Pen;
use self::pipe::Source;
pub(crate) use self::settings::{Prepared, Settings, prepare};
use crate::{exit, log};

/// How long requests in flight may take once the host has closed stdin.
const FAREWELL: Duration = Duration::from_secs(2);

/// Relays until the session is over. Returns the exit status.
pub(crate) fn run(prepared: Prepared, tap: Option<Box<dyn Tap>>) -> u8 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            log::error!("the event loop could not be started: {error}");
            return exit::UPSTREAM;
        }
    };
    let code = runtime.block_on(relay(prepared, tap));
    // A name that is being looked up on another thread is not worth waiting for.
    runtime.shutdown_background();
    code
}

async fn relay(prepared: Prepared, tap: Option<Box<dyn Tap>>) -> u8 {
    let mut conversation = Conversation::new(SystemClock);
    if let Some(tap) = tap {
        conversation.attach(tap);
    }
    let stay_up = prepared.stay_up;
    let desk = Desk::new(conversation, Pen::stdout());
    let upstream = HttpUpstream::new(prepared.options, desk.clone());
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            log::error!("signals cannot be received: {error}");
            return exit::UPSTREAM;
        }
    };
    let code = tokio::select! {
        biased;
        code = session(&upstream, &desk, stay_up) => code,
        () = signals.one() => 0,
    };
    // A second signal means at once.
    tokio::select! {
        biased;
        () = upstream.close() => {}
        () = signals.one() => {}
    }
    code
}

async fn session(upstream: &HttpUpstream<Desk>, desk: &Desk, stay_up: bool) -> u8 {
    if let Err(failure) = upstream.connect().await {
        log::error!("the event stream could not be opened: {failure}");
        return refuse_all(desk, &failure.to_string()).await;
    }
    let mut source = Source::stdin();
    let mut lines = Lines::new();
    let reading = async {
        while let Some(chunk) = source.chunk().await {
            lines.feed(chunk, upstream, desk).await;
        }
        lines.end(upstream, desk).await;
        let _ = tokio::time::timeout(FAREWELL, upstream.settled()).await;
    };
    tokio::select! {
        biased;
        () = reading => 0,
        () = desk.pen().broken() => 0,
        () = upstream.gone(), if !stay_up => {
            log::error!("the upstream's event stream has ended");
            exit::UPSTREAM
        }
    }
}

/// The upstream could not be reached at all: what the host has asked so far is answered, then the proxy exits as a server that failed to start.
async fn refuse_all(desk: &Desk, why: &str) -> u8 {
    /// How long is waited for the host's first request, so that it has an answer.
    const FIRST_WORDS: Duration = Duration::from_millis(250);
    let mut source = Source::stdin();
    let mut lines = Lines::new();
    let listening = async {
        while let Some(chunk) = source.chunk().await {
            if lines.refuse(chunk, desk, why).await {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(FIRST_WORDS, listening).await;
    exit::UPSTREAM
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that ends the relay.
    async fn one(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn one(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
