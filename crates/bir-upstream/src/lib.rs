//! Reaching an MCP server.
//!
//! [`child`] runs one as a process of our own and ends its whole tree.

pub mod child;
