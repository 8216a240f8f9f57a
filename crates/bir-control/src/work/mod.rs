//! Work for proxies: a `tools/call` that a plan needs runs on the connection that a proxy already holds.
//!
//! ```text
//!   plan ── Works::submit ──▶ desk ── Event ──▶ queue (pure) ── Action ──▶ desk ─┬─ intent ──▶ ahead (a file)
//!        ◀── Outcome ─────────┘                                                 ├─ answers a poll: the order, once
//!   proxy ── /proxy/poll ─────▶ held until there is an order, a withdrawal, or nothing for 25 s
//!   proxy ── /proxy/result ───▶ taken once, from the proxy that has the order
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `queue` | which order is whose, and how each ends: a state machine without payloads, clocks or sockets |
//! | `route` | which proxies may run what a session's plan asks for; pure |
//! | `ahead` | what was handed out and has not ended, on the disk before it is handed out |
//! | `desk` | the I/O around the three; lives on the server's thread |
//! | `works` | the handle with which others submit |
//! | `scenario` | who delivers a plan's results: the `bir-scenario` processes that said hello |
//!
//! Every order ends exactly once. One that was handed out and never came back is *unknown*, also after a restart, and is
//! never handed out again.

mod ahead;
mod desk;
mod queue;
mod route;
mod scenario;
mod works;

pub use ahead::Unsettled;
pub(crate) use desk::{Desk, Registry, Reported};
pub(crate) use route::Seat;
pub use works::{Outcome, Pending, Unsent, Work, Works};

/// How long a poll is held at most, ms (seed 02 §16.1).
pub(crate) const POLL_HOLD_MS: u64 = 25_000;
