//! Reaching an MCP server: child process, Streamable HTTP, HTTP+SSE.
