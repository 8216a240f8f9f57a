//! Evaluating a body of logic somewhere else: in a worker process that has nothing but what it is given.
//!
//! ```text
//!  Job ── Sandbox ── one line ──▶ bir-sandbox (QuickJS: deadline, memory, stack; no clock, no randomness, no I/O)
//!            │ ◀── one line ──────┘
//!            ├─ no answer at deadline plus grace: killed, and the body is blamed (one native call can outrun the deadline)
//!            ├─ it died: once more with a new one, then the body is blamed
//!            └─ a blamed body is refused for ten minutes, unread
//! ```
//!
//! The logic of a scenario is JavaScript: as it was emitted, or as somebody has edited it. Hub and runner use the same worker, so that a dry
//! replay says what a live one does.

mod blame;
mod client;
mod wire;

pub use client::Sandbox;
pub use wire::{Job, JobLine, Kind, Limits, LogicError, Reply, Why};
