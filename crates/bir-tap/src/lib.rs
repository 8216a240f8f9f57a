//! From scanned messages to tool calls.
//!
//! A relay shows every message of one connection to a [`Conversation`]. It keeps the requests that await an answer and,
//! where a [`Tap`] is attached, tells it what a recorder needs: a call began, a leg of it ended or began, its result, its
//! error, its cancellation, each with its time.
//!
//! ```text
//!   host ── tools/call ──▶ relay ──▶ upstream        Began
//!   host ◀─ input_required ─ relay ◀── upstream      LegEnded     (modern era: the call goes on)
//!   host ── tools/call + inputResponses ──▶ …        LegBegan     (another id, the same call)
//!   host ◀──── result ────── relay ◀── upstream      Ended
//! ```
//!
//! A call that the relay makes itself for a plan is none of the host's: it is told by `replay_…`, and what follows the host's
//! requests does not know of it.
//!
//! Pure: no I/O and no clock of its own. Nothing here changes a message or decides whether it passes.

#![forbid(unsafe_code)]

mod conversation;
mod in_flight;
mod moment;
mod parked;
mod replayed;
mod tap;

pub use conversation::{Conversation, Unanswered};
pub use in_flight::Asked;
pub use moment::{Clock, Moment, SystemClock};
pub use tap::{CallKey, Event, Payload, Tap};
