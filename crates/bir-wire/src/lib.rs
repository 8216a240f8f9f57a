//! JSON-RPC messages as bytes.
//!
//! A relay must hand a message on exactly as it came, and yet know whose call it is. So nothing here builds a tree
//! or a typed message: the [`Scanner`] reads the bytes once, in whatever chunks they arrive, and says where the parts
//! of the envelope stand; an edit is a splice of the original bytes.
//!
//! | Module | Answers |
//! |---|---|
//! | [`lines`] | where does a line end in this chunk |
//! | [`scanner`] | what kind of message is it, which id, method, tool, and where are its parts |
//! | [`envelope`] | the fields that were found: raw bytes, decoded text, spans |
//! | [`splice`] | how to remove, insert or replace a part and leave every other byte alone |
//! | [`sse`] | the events of a `text/event-stream`, in pieces |
//! | [`text`] | what a JSON string token says |
//!
//! Limits have names ([`Limits`]); no input panics, blocks, or makes memory grow with the length of a message.

#![forbid(unsafe_code)]

pub mod envelope;
pub mod lines;
mod machine;
mod nest;
pub mod scanner;
pub mod splice;
pub mod sse;
mod strings;
pub mod text;
mod track;

pub use envelope::{Envelope, Field, Span, ValueKind};
pub use lines::{Lines, Piece, split};
pub use scanner::{Fault, FaultKind, Kind, Limits, Message, Scanner};
pub use splice::{Edits, SpliceError};
