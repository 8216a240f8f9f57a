//! How proxy, hooks and shim find the control server.
//!
//! ```text
//!   BIR_CONTROL_URL + BIR_CONTROL_TOKEN ─ else control/<key>.json of the project, or of a directory above it
//!        │
//!   Contact ── GET /health with its token, loopback only, 500 ms ──▶ Health
//! ```
//!
//! A project is the git root of the working directory, else that directory ([`project_of`]); its key is made of its path.
//! The URL of a generated entry alone is no contact: in a user-scope entry it names another project's server (seed 01
//! phase 5). This crate finds and asks; what follows from it is the caller's affair.

#![forbid(unsafe_code)]

mod contact;
mod health;
mod project;

pub use contact::{Contact, ContactError, Token, find};
pub use health::{BUDGET, Health, HealthError, ask};
pub use project::{key, project_of};
