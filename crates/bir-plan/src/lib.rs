//! Scenarios: the parameters of a task, its steps, and where each input comes from.
//!
//! ```text
//!  Trace… ── calculated (bir-infer) ──▶ Scenario ── evaluated natively, or emitted as JavaScript ──▶ inputs of calls
//!  prompt ── matched (bir-match) ──▶ values of its parameters
//! ```

#![forbid(unsafe_code)]

pub mod effect;
pub mod emit;
pub mod expr;
pub mod param;
pub mod proposal;
pub mod result;
pub mod sandbox;
pub mod scenario;
pub mod template;
pub mod told;
pub mod trace;
mod words;

pub use words::words;
