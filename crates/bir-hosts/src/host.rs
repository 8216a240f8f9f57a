//! The hosts whose hooks are understood.

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex: command line, IDE and app.
    Codex,
    /// GitHub Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    OpenCode,
    /// Cursor, which runs the hooks of Claude Code's files. Nothing is installed for it.
    Cursor,
}

impl Host {
    /// Those for which hooks are installed.
    pub const INSTALLED: [Self; 5] =
        [Self::ClaudeCode, Self::Codex, Self::Copilot, Self::Gemini, Self::OpenCode];

    /// Its name in `--host`, on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor",
        }
    }

    /// The host of a name in `--host`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::INSTALLED.into_iter().find(|host| host.as_str() == name)
    }

    /// How it renders the name of a tool of an MCP server. Other characters may be changed on the way, so that no name can be taken
    /// apart by it.
    #[must_use]
    pub fn rendered_tool(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Cursor => "mcp__{server}__{tool}",
            Self::Copilot => "{server}-{tool}",
            Self::Gemini => "mcp_{server}_{tool}",
            Self::OpenCode => "{server}_{tool}",
        }
    }

    /// The file of hooks that is ours alone, below the directory in which the host keeps its own (`COPILOT_HOME`); where it stands, the
    /// host tells us by it whatever it tells by other hosts' files.
    #[must_use]
    pub fn own_file(self) -> Option<OwnFile> {
        (self == Self::Copilot).then_some(OwnFile {
            variable: "COPILOT_HOME",
            in_home: ".copilot",
            path: "hooks/bir.json",
        })
    }
}

/// Where a file of hooks stands that is ours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFile {
    /// The variable that names the host's directory.
    pub variable: &'static str,
    /// That directory where the variable is not set, relative to the home directory.
    pub in_home: &'static str,
    /// The file in it.
    pub path: &'static str,
}
