//! From what passes on the wire to what is kept.
//!
//! ```text
//!  Raw ── redact ──▶ SafeRecord ── spool ──▶ files ── ship ──▶ hub
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`recorder`] | from what the relay tells to rows of a run, on a thread of its own |
//! | [`redact`] | takes secrets out and cuts to size; the only maker of [`Redacted`] |
//! | [`spool`] | append-only files, one set a run, bounded, safe at every point of a crash |
//! | [`ship`] | sends what is spooled, in order, and deletes it when it is booked |
//! | [`hub`] | how a hub is found and spoken to |
//! | [`config`] | `config.toml` of the state directory |
//! | [`state_dir`] | where all of this lives |

pub mod config;
pub mod hub;
pub mod recorder;
pub mod redact;
mod safe;
pub mod ship;
pub mod spool;
pub mod state_dir;

pub use safe::{Raw, Redacted, RedactedText, SafeLeg, SafePayload, SafeRecord};
