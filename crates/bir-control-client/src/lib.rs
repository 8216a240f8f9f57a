//! How proxy, hooks and shim find the control server, speak to it, and get by without it.
//!
//! ```text
//!   BIR_CONTROL_URL + BIR_CONTROL_TOKEN ─ else control/<key>.json of the project, or of a directory above it
//!        │
//!   Contact ── one question with its token, loopback only, within a budget ──▶ control server
//!        └─ nobody ──▶ Inbox (files that the next one reads) and revive (start it)
//! ```
//!
//! A project is the git root of the working directory, else that directory ([`project_of`]); its key is made of its path.
//! The URL of a generated entry alone is no contact: in a user-scope entry it names another project's server (seed 01
//! phase 5). What follows from an answer is the caller's affair.

#![forbid(unsafe_code)]

mod contact;
mod control;
mod courier;
mod inbox;
mod project;
pub mod projects;
pub mod replay;
mod revive;
pub mod seen;

pub use contact::{Contact, ContactError, Place, Token, find};
pub use control::{BUDGET, Control, ControlError, Health, ask};
pub use courier::{Courier, Delivery, Errand};
pub use inbox::{Inbox, InboxError};
pub use project::{key, project_of};
pub use projects::Discovery;
pub use replay::Replay;
pub use revive::{ReviveError, revive, stopped_file};
pub use seen::Seen;
