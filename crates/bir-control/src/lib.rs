//! The control server: it owns the runs of the hosts that have hooks.
//!
//! ```text
//!   hooks, proxies ── HTTP ──▶ server ── Entry ──▶ journal ──▶ Book ── Effect ──▶ spool ──▶ hub
//!   inbox files ────────────────┘        (redacted again)     (pure)
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`book`] | from entries to rows of runs; pure |
//! | [`ledger`] | what the rest needs of the book, and of the reader of transcripts |
//! | `core` | one thread that owns journal, book and spool, and takes one thing after the other |
//! | `journal` | every entry, in a file a session, until it is of no use any more |
//! | `server` | HTTP on loopback: who may say what, and in which form |
//! | [`work`] | what proxies are to call for a plan, and how each of it ended |
//! | `projects` | tokens and discovery files |
//! | `single` | one control server a user, and the change from an older one to a newer one |
//! | [`daemon`] | the life of the whole |
//! | [`log`] | what it says of itself |

#![forbid(unsafe_code)]

pub mod book;
mod core;
pub mod daemon;
mod journal;
pub mod ledger;
pub mod log;
mod process;
mod projects;
mod server;
mod single;
pub mod transcript;
pub mod work;

/// ms since the Unix epoch.
fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
