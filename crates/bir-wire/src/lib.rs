//! JSON-RPC messages as bytes: scanner, splices, SSE framing.
