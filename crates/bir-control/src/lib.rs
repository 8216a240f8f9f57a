//! The control server: it owns the runs of the hosts that have hooks.
//!
//! ```text
//!   hooks, proxies ── HTTP ──▶ server ── Entry ──▶ journal ──▶ Book ── Effect ──▶ spool ──▶ hub
//!   inbox files ────────────────┘        (redacted again)     (pure)
//! ```

#![forbid(unsafe_code)]

pub mod book;
pub mod transcript;
