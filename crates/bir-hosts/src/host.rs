//! The hosts that are known. The hooks of some are understood; servers are wrapped in all of them.

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
    /// Codex: command line, IDE and app.
    Codex,
    /// Cursor, which runs the hooks of Claude Code's files. None are installed for it.
    Cursor,
    /// VS Code, with GitHub Copilot.
    VsCode,
    /// GitHub Copilot CLI.
    CopilotCli,
    /// Gemini CLI.
    GeminiCli,
    /// opencode.
    OpenCode,
    /// Windsurf.
    Windsurf,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Zed.
    Zed,
    /// Cline.
    Cline,
    /// Goose.
    Goose,
    /// Continue.
    Continue,
    /// Amp.
    Amp,
    /// Kiro: IDE and command line.
    Kiro,
    /// Hermes agent.
    Hermes,
}

impl Host {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Cursor,
        Self::VsCode,
        Self::CopilotCli,
        Self::GeminiCli,
        Self::OpenCode,
        Self::Windsurf,
        Self::ClaudeDesktop,
        Self::Zed,
        Self::Cline,
        Self::Goose,
        Self::Continue,
        Self::Amp,
        Self::Kiro,
        Self::Hermes,
    ];

    /// Those for which hooks are installed.
    pub const INSTALLED: [Self; 5] =
        [Self::ClaudeCode, Self::Codex, Self::CopilotCli, Self::GeminiCli, Self::OpenCode];

    /// Its name in `--host`, on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::VsCode => "vs-code",
            Self::CopilotCli => "copilot-cli",
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
            Self::Windsurf => "windsurf",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Zed => "zed",
            Self::Cline => "cline",
            Self::Goose => "goose",
            Self::Continue => "continue",
            Self::Amp => "amp",
            Self::Kiro => "kiro",
            Self::Hermes => "hermes",
        }
    }

    /// Another name that is understood in `--host`: hooks that are installed say it, and runs are kept under it.
    #[must_use]
    pub fn other_name(self) -> Option<&'static str> {
        match self {
            Self::CopilotCli => Some("copilot"),
            Self::GeminiCli => Some("gemini"),
            Self::VsCode => Some("vscode"),
            _ => None,
        }
    }

    /// Its name as its makers write it, for sentences.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::CopilotCli => "Copilot CLI",
            Self::GeminiCli => "Gemini CLI",
            Self::OpenCode => "opencode",
            Self::Windsurf => "Windsurf",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Zed => "Zed",
            Self::Cline => "Cline",
            Self::Goose => "Goose",
            Self::Continue => "Continue",
            Self::Amp => "Amp",
            Self::Kiro => "Kiro",
            Self::Hermes => "Hermes",
        }
    }

    /// The host of a name in `--host`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.as_str() == name || host.other_name() == Some(name))
    }

    /// How it renders the name of a tool of an MCP server, where hooks tell of one. Other characters may be changed on the way, so that
    /// no name can be taken apart by it.
    #[must_use]
    pub fn rendered_tool(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Cursor => Some("mcp__{server}__{tool}"),
            Self::CopilotCli => Some("{server}-{tool}"),
            Self::GeminiCli => Some("mcp_{server}_{tool}"),
            Self::OpenCode => Some("{server}_{tool}"),
            _ => None,
        }
    }

    /// The file of hooks that is ours alone, below the directory in which the host keeps its own (`COPILOT_HOME`); where it stands, the
    /// host tells us by it whatever it tells by other hosts' files.
    #[must_use]
    pub fn own_file(self) -> Option<OwnFile> {
        (self == Self::CopilotCli).then_some(OwnFile {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_understood_and_none_twice() {
        let mut names: Vec<&str> = Host::ALL.into_iter().map(Host::as_str).collect();
        for host in Host::ALL {
            assert_eq!(Host::named(host.as_str()), Some(host));
            assert!(host.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
        }
        // Installed hooks of earlier versions say these.
        assert_eq!(Host::named("copilot"), Some(Host::CopilotCli));
        assert_eq!(Host::named("gemini"), Some(Host::GeminiCli));
        assert_eq!(Host::named("vscode"), Some(Host::VsCode));
        assert_eq!((Host::named("file"), Host::named("")), (None, None));
        names.extend(Host::ALL.into_iter().filter_map(Host::other_name));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 19);
    }
}
