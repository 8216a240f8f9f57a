//! Reaching an MCP server.
//!
//! [`child`] runs one as a process of our own and ends its whole tree. [`http`] reaches one over Streamable HTTP or
//! legacy HTTP+SSE, with the [`headers`] that the person configured.

pub mod child;
pub mod headers;
pub mod http;
