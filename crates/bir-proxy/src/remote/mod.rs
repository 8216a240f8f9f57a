//! The relay in front of a remote server.
//!
//! ```text
//!              ┌─ lines ─ observe ─▶ HttpUpstream ── POST ──▶┐
//!   host stdio │                                             │ upstream
//!              └◀─ pen ◀─ observe ◀─ Desk (Inbox) ◀─ bodies, events ─┘
//! ```
//!
//! Everything runs on one thread. The host is read by one loop, which hands over each message in the order in
//! which it came; what comes back is written by whoever holds the [`Pen`]. A large message takes
//! the pen when its hold is full and keeps it until its end; all others are held by the upstream side until
//! they are complete, and wait for the pen.
//!
//! The end: when the host closes stdin, what is in flight has [`FAREWELL`] to be answered; a signal, a closed
//! stdout or an upstream that is gone for good end the relay at once. A host that hung up is read to its end, unless
//! the upstream takes nothing for [`STUCK`]. A legacy session is deleted, within a
//! second. The exit status is 0, 1 when the upstream could not be
//! used, or 128+N after signal N.

mod desk;
mod lines;
mod outside;
mod own_turns;
mod pen;
mod pipe;
mod settings;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bir_record::recorder::MAX_COPY;
use bir_tap::{Conversation, SystemClock, Tap};
use bir_upstream::http::HttpUpstream;

use self::desk::Desk;
use self::lines::Lines;
use self::outside::{Outside, allow_connections};
use self::own_turns::OwnTurns;
use self::pen::Pen;
use self::pipe::Source;
pub(crate) use self::settings::{Prepared, Settings, Url, prepare};
use crate::call_ids::CallIds;
use crate::replay::OwnCalls;
use crate::{exit, log};

/// How long requests in flight may take once the host has closed stdin and goes on reading: as long as in front of a
/// child. A host that wants to go sooner sends a signal.
const FAREWELL: Duration = Duration::from_secs(30);

/// How long the upstream may take nothing of what a host wrote that has hung up.
const STUCK: Duration = Duration::from_secs(10);

/// Relays until the session is over. Returns the exit status.
pub(crate) fn run(
    prepared: Prepared,
    call_ids: Option<CallIds>,
    own: Option<Arc<OwnCalls>>,
    tap: Option<Box<dyn Tap>>,
) -> u8 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            log::error!("the event loop could not be started: {error}");
            return exit::UPSTREAM;
        }
    };
    let code = runtime.block_on(relay(prepared, call_ids, own, tap));
    // A name that is being looked up on another thread is not worth waiting for.
    runtime.shutdown_background();
    code
}

async fn relay(
    mut prepared: Prepared,
    call_ids: Option<CallIds>,
    own: Option<Arc<OwnCalls>>,
    tap: Option<Box<dyn Tap>>,
) -> u8 {
    let mut conversation = Conversation::new(SystemClock);
    prepared.options.keep = if tap.is_some() { MAX_COPY } else { 0 };
    let keep = prepared.options.keep;
    if let Some(tap) = tap {
        conversation.attach(tap);
    }
    allow_connections();
    let stay_up = prepared.stay_up;
    let desk = Desk::new(conversation, Pen::stdout(), call_ids, own);
    let ours = OwnTurns::connect(&desk);
    let upstream = HttpUpstream::new(prepared.options, desk.clone());
    let mut outside = Outside::watch();
    let code = tokio::select! {
        biased;
        code = session(&upstream, &desk, ours, keep, stay_up, outside.hang_up()) => code,
        code = outside.end() => code,
    };
    // A second signal means at once.
    tokio::select! {
        biased;
        () = upstream.close() => {}
        _ = outside.end() => {}
    }
    code
}

async fn session(
    upstream: &HttpUpstream<Desk>,
    desk: &Desk,
    ours: OwnTurns,
    keep: usize,
    stay_up: bool,
    hang_up: impl Future<Output = ()>,
) -> u8 {
    if let Err(failure) = upstream.connect().await {
        log::error!("the event stream could not be opened: {failure}");
        if !stay_up {
            return refuse_all(desk, &failure.to_string()).await;
        }
    }
    let mut source = Source::stdin();
    let mut lines = Lines::new(keep);
    // Steps of reading the host: a step that is under way, or none any more.
    let reads = Cell::new(Some(0_u64));
    let reading = async {
        while let Some(chunk) = source.chunk().await {
            lines.feed(chunk, upstream, desk).await;
            reads.set(reads.get().map(|count| count + 1));
        }
        lines.end(upstream, desk).await;
        reads.set(None);
        if tokio::time::timeout(FAREWELL, upstream.settled()).await.is_err() {
            match upstream.open_requests() {
                0 => log::warn!("the host has closed stdin and does not read the last answers"),
                open => log::warn!(
                    "the host has closed stdin; {open} of its requests had no answer within {} s",
                    FAREWELL.as_secs()
                ),
            }
        }
    };
    let stuck = async {
        hang_up.await;
        while let Some(before) = reads.get() {
            tokio::time::sleep(STUCK).await;
            if reads.get() == Some(before) {
                return log::warn!("the host has hung up, and the upstream does not take what is left");
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        biased;
        () = reading => if upstream.never_reached() { exit::UPSTREAM } else { 0 },
        () = stuck => 0,
        () = ours.send(upstream, desk) => 0,
        () = desk.pen().broken() => 0,
        () = upstream.gone(), if !stay_up => {
            log::error!("the upstream's event stream has ended");
            exit::UPSTREAM
        }
    }
}

/// The upstream could not be reached at all: what the host has asked so far is answered, then the proxy exits
/// as a server that failed to start.
async fn refuse_all(desk: &Desk, why: &str) -> u8 {
    /// How long is waited for the host's first request, so that it has an answer.
    const FIRST_WORDS: Duration = Duration::from_millis(250);
    let mut source = Source::stdin();
    let mut lines = Lines::new(0);
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
