//! From what passes on the wire to what is kept.

pub mod redact;
mod safe;

pub use safe::{Raw, Redacted, RedactedText, SafeLeg, SafePayload, SafeRecord};
