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
}
