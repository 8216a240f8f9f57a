//! The control server as a person meets it: started by `bir up`, ended by `bir down`, told of by `bir status`.
//!
//! ```text
//!  up ──── control/stopped goes ── anybody there? ── no ─▶ bir-hooks serve ── until it answers
//!  down ── control/stopped comes ─ each that answers ── POST /shutdown ── gone? ── no ─▶ SIGTERM
//!  status ─ every project's discovery file ── GET /health ─▶ look ─▶ report
//! ```
//!
//! Where no project is set up there is no token to ask with and nothing to serve: nothing is started then.

pub(crate) mod down;
pub(crate) mod look;
pub(crate) mod report;
pub(crate) mod up;

pub(crate) use look::{Project, Served, look};
