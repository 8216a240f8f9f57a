use serde::{Deserialize, Serialize};
use std::fmt;

/// How a run was seen (DESIGN.md §1). What was seen by nobody is no run: `passthrough` records nothing and is no tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// By hooks and proxies: built-in tools and MCP calls, with the prompt and the final answer.
    Bound,
    /// By one proxy alone: MCP calls of one server, without prompt or answer.
    Standalone,
}

impl Tier {
    /// The name on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Standalone => "standalone",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
