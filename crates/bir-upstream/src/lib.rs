//! Reaching an MCP server: child process, Streamable HTTP, legacy HTTP+SSE.

pub mod headers;
pub mod http;
