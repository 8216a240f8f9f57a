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
//! | [`tools`] | what is kept of the tools that a server declares |
//! | [`hub`] | how a hub is found and spoken to |
//! | [`config`] | `config.toml` of the state directory |
//! | [`exclude`] | which calls are not to be recorded |
//! | [`opened`] | what a state directory says about recording, ready for use |

pub mod config;
pub mod exclude;
pub mod hub;
pub mod opened;
pub mod recorder;
pub mod redact;
mod safe;
pub mod ship;
pub mod spool;
mod told;
pub mod tools;
mod zone;

pub use redact::Redactor;
pub use safe::{Raw, Redacted, RedactedText, RunFacts, SafeLeg, SafePayload, SafeRecord};
pub use told::SafeTold;
pub use zone::Zone;

/// The id of the row that ends a call, from the id of the row that begins it: whoever has to end a call in the place of
/// another ends it under the same id.
#[must_use]
pub fn response_id(selected: bir_model::StepId) -> bir_model::StepId {
    bir_model::StepId::from_uuid(uuid::Uuid::from_u128(selected.uuid().as_u128() ^ 1))
}
