use std::fmt;

/// Which way a message travels through a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the host (Claude Code, Codex …) to the upstream MCP server.
    HostToUpstream,
    /// From the upstream MCP server to the host.
    UpstreamToHost,
}

impl Direction {
    /// The other way round: a response travels against its request.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::HostToUpstream => Self::UpstreamToHost,
            Self::UpstreamToHost => Self::HostToUpstream,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HostToUpstream => "host→upstream",
            Self::UpstreamToHost => "upstream→host",
        })
    }
}
