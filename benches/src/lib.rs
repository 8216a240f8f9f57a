//! Side-by-side benchmark: what a proxy costs, and what it does to messages.
//!
//! ```text
//!             ┌── direct ───────────────────────┐
//!  driver ────┼── byte pump ────────────────────┼──► ref-upstream
//!  (the host) ├── bir-proxy ────────────────────┤    (stdio or HTTP)
//!             └── node relay, peers … ──────────┘
//! ```
//!
//! The driver acts as the host, `ref-upstream` is a fast MCP server whose tools exercise a proxy, and `pump` is the
//! floor: it copies bytes without looking at them. All ways are open at once and take turns, block by block, so that a
//! slow moment of a shared machine falls on each of them. Nothing here re-encodes a message: what is compared is what
//! was on the wire.
//!
//! Limits: Linux only (`/proc`, child subreaper); the driver speaks revision 2025-06-18 as a host.

#![cfg(target_os = "linux")]

mod arms;
mod budgets;
mod cli;
mod conn;
mod ending;
mod fail;
mod fidelity;
mod large;
mod lines;
mod machine;
mod paired;
mod peers;
mod procs;
pub mod raw;
mod report;
mod stats;
mod table;
mod upstream;

pub use cli::run;
pub use fail::Fail;
pub use lines::Lines;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `m` whether or not another holder died: a benchmark's queues stay usable after a failed check.
pub fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
