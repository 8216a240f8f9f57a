//! The relay in front of a child process.
//!
//! ```text
//!              ┌──────────── host pump ───────────▶┐
//!   host stdio │      scan · observe · forward      │ child stdio
//!              └◀────────── upstream pump ──────────┘
//!                               │ events
//!    signals, parent, exit ─▶ supervisor (main thread): starts, restarts, ends
//! ```
//!
//! The pumps block on their pipes and hold no queue, so each side is slowed by the other as if they were connected
//! directly. The supervisor is the only one that starts and ends the child.

mod ending;
mod ends;
mod flow;
mod from_host;
mod from_upstream;
mod handshake;
mod noise;
mod own_line;
mod patient;
mod pump;
mod shared;
mod start;
mod supervisor;
#[cfg(test)]
mod tests;

use crate::call_ids::CallIds;
use crate::replay::OwnCalls;
use bir_model::ServerName;
use bir_tap::Tap;
use bir_upstream::child::{ChildCommand, Signal};
use std::path::PathBuf;
use std::sync::Arc;

/// Ids of the proxy's own requests begin like this; hosts use numbers and names of their own.
const OWN_IDS: &[u8] = b"\"bir:";

/// What to run, and how.
pub(crate) struct Options {
    pub(crate) server_name: ServerName,
    pub(crate) command: ChildCommand,
    /// Start an upstream that died after its handshake once more.
    pub(crate) restart: bool,
    /// Where the handshakes of earlier starts lie; set with `--lazy`.
    pub(crate) lazy: Option<PathBuf>,
    /// Stay when the upstream is gone.
    pub(crate) stay_up: bool,
    /// Largest message of the upstream in bytes.
    pub(crate) max_message: Option<usize>,
    /// Ids that come in the arguments are taken out.
    pub(crate) call_ids: Option<CallIds>,
    /// Calls of our own, for a plan.
    pub(crate) own: Option<Arc<OwnCalls>>,
    pub(crate) tap: Option<Box<dyn Tap>>,
}

/// What the supervisor is told.
enum Event {
    /// End of file on stdin.
    HostClosed,
    /// The host's process has ended, or its end of stdout is closed.
    HostGone,
    /// The host has let go of our stdin; what it wrote may still be unread.
    HostHungUp,
    /// A signal for the upstream.
    Signal(Signal),
    /// The child of this start has exited and is not reaped.
    UpstreamExited { start: u32 },
    /// The child of this start has closed its stdout, and all of it has been forwarded.
    UpstreamDrained { start: u32 },
    /// The child of this start has closed its stderr, and its last words are queued for ours.
    UpstreamSilent { start: u32 },
    /// The child takes no more on its stdin.
    UpstreamDeaf,
    /// A child that is being opened asks whether we are there, before it answers; the host cannot answer it yet.
    Ping { id: Vec<u8> },
    /// The upstream speaks `Content-Length` framing.
    ContentLengthFraming,
    /// The host has asked something for the first time.
    FirstRequest,
    /// A message needs the sleeping upstream.
    Wake(from_host::Wake),
    /// The upstream answered a request of our own. The member is its result or error, when it was kept.
    OwnAnswer { id: Vec<u8>, member: Option<String> },
}

/// Relays until the session is over. Returns the exit status.
pub(crate) fn run(options: Options) -> u8 {
    supervisor::Supervisor::run(options)
}
