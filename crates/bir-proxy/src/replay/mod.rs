//! Replay on the proxy's side: `tools/call` requests of our own, on the connection that the relay holds.
//!
//! ```text
//!   poller ── order ──▶ OwnCalls ── line, id "bir:…" ──▶ Line (stdio or remote) ──▶ upstream
//!     ▲                    │ ▲                                                          │
//!     └──── WorkEnd ───────┘ └──────── the relay: an answer with such an id ◀───────────┘
//! ```
//!
//! The thread of the poller is there only where the control server has said that replay is on. Nothing of what is asked or
//! answered here reaches the host: an id begins with a prefix that is made anew with each process, so that one of the host's,
//! whatever it begins with, is another. What the server asks on behalf of such a call (sampling, elicitation, roots) is not
//! answered by us: the request goes to the host as it came, the call is withdrawn, and the plan hands over.

mod line;
mod own;
mod poller;

pub(crate) use own::{Line, OwnCalls, Sendable};
pub(crate) use poller::Poller;
