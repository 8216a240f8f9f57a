//! One module per host: how its hook payloads read in the words that all hosts share, and how it is told to call us.

#![forbid(unsafe_code)]

use serde_json::json;

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Claude Code.
    ClaudeCode,
}

impl Host {
    /// Those for which hooks are installed.
    pub const INSTALLED: [Self; 1] = [Self::ClaudeCode];

    /// Its name in `--host`, on the wire and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
        }
    }

    /// The host of a name in `--host`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::INSTALLED.into_iter().find(|host| host.as_str() == name)
    }
}

/// Where a host's hooks are set up, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The file that holds for every project, relative to the home directory.
    pub in_home: &'static str,
    /// The file that holds for one project, relative to it. Absent where the host has none, or none of ours could stand there.
    pub in_project: Option<&'static str>,
    /// The file is ours alone: it is written whole, and removed whole. Otherwise the text is to be merged into what is there.
    pub whole_file: bool,
    /// What goes there.
    pub text: String,
    /// What a person has to do besides, if anything.
    pub note: Option<&'static str>,
}

/// How a host is told to call `program`, an absolute path.
#[must_use]
pub fn hooks(host: Host, program: &str) -> Option<Hooks> {
    let hook =
        json!([{ "hooks": [{ "type": "command", "command": program, "args": ["hook", "SessionStart"] }] }]);
    match host {
        Host::ClaudeCode => Some(Hooks {
            in_home: ".claude/settings.json",
            in_project: Some(".claude/settings.local.json"),
            whole_file: false,
            text: format!("{:#}\n", json!({ "hooks": { "SessionStart": hook } })),
            note: None,
        }),
    }
}
