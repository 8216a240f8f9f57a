//! Into the hosts' configurations and out again.
//!
//! ```text
//!  survey ── reads every host's files ──▶ Survey
//!  plan   ── Survey, Wish, Ledger ──▶ Plan (what changes, what does not, and why)   undo ── Ledger ──▶ Plan
//!  Plan ── text, diff: what a person is shown, without secrets
//!  Plan ──▶ Operation ── commit ──▶ files, ledger          repair: what a crash left becomes the one state or the other
//!  standing ── the ledger against the files, for `bir status`
//!  doctor ── findings, each with the command that mends it
//! ```
//!
//! The ledger (`installed.json` in the state directory) says which files hold something of ours, and how each was before. It holds
//! no value of a credential: what an original had is read back from the file that we changed ([`delta`], and
//! [`Memo`](bir_hosts::config::Memo)). Decision 8 says why.

#![forbid(unsafe_code)]

pub mod codex_trust;
pub mod delta;
pub mod doctor;
pub mod ledger;
pub mod operation;
pub mod plan;
pub mod standing;
pub mod survey;
pub mod undo;
