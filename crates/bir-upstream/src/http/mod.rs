//! A remote upstream: Streamable HTTP in both eras, and legacy HTTP+SSE.
//!
//! The relay hands over each message of the host as bytes; each becomes one POST. What comes back, as JSON or
//! as events, is handed to an [`Inbox`] message by message, large ones piece by piece. Bytes pass as they
//! came. The exceptions are that line breaks between tokens become spaces (the host's transport is one line
//! per message), that a byte order mark at the start of a body is dropped, and that an error body without an
//! id gets the id of the request it answers.
//!
//! ```text
//! host message ─> Outgoing (kind, ids, era) ─> turn (order) ─> POST ─┬─ JSON body ────┐
//!                                                                    ├─ event stream ─┼─> Assembler ─> Inbox
//!                          GET after notifications/initialized ──────┴─ event stream ─┘
//! ```
//!
//! | Concern | Where |
//! |---|---|
//! | what a host message is, which era it speaks | `outgoing` |
//! | headers made from the body | `protocol_headers`, `mirror`, `members` |
//! | order of sending, requests in flight | `turns`, `room`, `registry`, `ids` |
//! | the life of one POST | `job`, `upload`, `exchange` |
//! | what an answer means, sessions forgotten | `verdict` |
//! | event streams, resuming, the standalone stream | `events`, `listen` |
//! | session, initialising again | `session` |
//! | HTTP+SSE of 2024-11-05 | `legacy_sse` |
//! | errors the host is told, and a person | `failure`, `reach` |
//!
//! Eras are decided per message by what the host sends. A message with
//! `_meta["io.modelcontextprotocol/protocolVersion"]`, or `server/discover`, is modern (2026-07-28): no
//! session, no GET, no resuming, and closing the response stream cancels. Everything else is legacy (up to
//! 2025-11-25).
//!
//! Limits: [`MAX_REQUESTS`] requests are in flight at once, further ones wait in order; [`HOLD`] bytes of a
//! message are held before it streams.

mod assemble;
mod events;
mod exchange;
mod failure;
mod ids;
mod inbox;
mod job;
mod legacy_sse;
mod listen;
mod members;
mod mirror;
mod outgoing;
mod protocol_headers;
mod reach;
mod registry;
mod room;
mod session;
mod turns;
mod upload;
mod upstream;
mod verdict;

pub use assemble::HOLD;
pub use failure::{ERROR_CODE, Failure, error_answer};
pub use inbox::{Inbox, LargeMessage};
pub use upload::Upload;
pub use upstream::{HttpOptions, HttpUpstream, MAX_REQUESTS, Transport};
