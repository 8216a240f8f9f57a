//! The test upstream itself: an engine without transport, and the transports around it.
//!
//! ```text
//!   command_line ─┬─ stdio ─────────┐
//!   inside ───────┴─ http_server ───┴─▶ engine ─▶ call (steps) ─▶ outlet: stdout, post_outlet, event_stream
//!                                                   └─ defaults, tools, tasks
//! ```

mod call;
pub(crate) mod command_line;
mod defaults;
pub(crate) mod engine;
pub(crate) mod event_stream;
pub(crate) mod headers;
mod http_server;
pub(crate) mod inside;
pub(crate) mod outlet;
pub(crate) mod post_outlet;
mod process;
mod stdio;
mod tasks;
mod tools;
