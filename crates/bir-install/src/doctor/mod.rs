//! What is wrong with an installation, why, and the command that mends it.
//!
//! ```text
//!  files, processes, hub ── looked at elsewhere ──▶ entries │ hooks │ control │ hub │ state │ projects │ ledger
//!                                                      └──────── each a function ──────▶ Finding…  ── sorted ──▶ a person
//! ```
//!
//! Everything here is a function of what was observed: no file, no process, no clock. A finding has a [`Code`] that stays, a
//! severity, and says what is, why that matters and what to do. `docs/doctor.md` has a line for each code, and a test compares them.

mod code;
pub mod control;
pub mod entries;
mod finding;
pub mod hooks;
pub mod hub;
pub mod ledger;
pub mod names;
pub mod program;
pub mod projects;
pub mod registered;
pub mod state;

pub use code::Code;
pub use finding::{Finding, Severity, sorted};
