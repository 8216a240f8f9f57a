use serde::{Deserialize, Serialize};
use std::fmt;

/// How a tool call ended (DESIGN.md §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A result without `isError`.
    Ok,
    /// A result with `isError: true`.
    ToolError,
    /// A JSON-RPC error.
    RpcError,
    /// Nobody answered within the host's limit.
    Timeout,
    /// The host withdrew the call before its answer.
    Cancelled,
    /// The host's user or policy refused the call.
    Denied,
    /// The call began and nothing says how it ended.
    Unknown,
}

impl Outcome {
    /// The name on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::RpcError => "rpc_error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
