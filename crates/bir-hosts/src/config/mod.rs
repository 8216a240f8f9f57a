//! Where each host keeps its servers and its hooks, and how an entry is wrapped and unwrapped there.
//!
//! ```text
//!  Machine, project ── files ──▶ ConfigFile…  (read and parsed elsewhere)  ──▶ Found
//!  Found ── servers ──▶ Server (name, scope, state, how it is reached)
//!  Server ── wrap ──▶ edits and a Memo │ Refusal: why not
//!  entry + Memo ── unwrap ──▶ edits
//! ```
//!
//! One module per host with the same small interface, [`Config`]. Most hosts are data ([`Shape`]); what makes a host different
//! is in its file. Everything here is a function of values: no clock, no process, no file.

mod address;
mod amp;
pub mod any;
mod carry;
mod change;
#[cfg(test)]
pub(crate) mod check;
pub mod claude_code;
mod claude_desktop;
mod cline;
mod codex;
mod committed;
mod continue_dev;
mod copilot_cli;
mod cursor;
mod entry;
mod gemini_cli;
mod goose;
mod hermes;
mod kiro;
mod merged;
mod opencode;
mod paths;
mod placeholder;
#[cfg(test)]
mod properties;
mod remote;
mod shape;
mod table;
mod unwrap;
mod vs_code;
mod windsurf;
mod wrap;
mod zed;

pub use carry::carry_out;
pub use claude_code::is_copy_of;
pub use entry::{of_file, servers};
pub use placeholder::{Filled, Syntax};
pub use shape::{ByName, CommandAs, Kind, Kinds, Off, Shape};
pub use unwrap::unwrap;
pub use wrap::{is_wrapped, wrap, wrapped_copy};

use crate::Host;
use bir_model::{Edit, Format, Place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The system whose paths are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and whatever is like it.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// What is known of the machine and its user.
pub struct Machine<'a> {
    /// The user's home directory.
    pub home: PathBuf,
    /// The system.
    pub system: System,
    /// A variable of the environment (`CODEX_HOME`, `XDG_CONFIG_HOME`, `APPDATA`); empty ones count as absent.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// For whom an entry counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One project, and this user alone.
    Local,
    /// One project, and everybody who works in it: the file is often committed.
    Project,
    /// Every project of this user.
    User,
    /// The machine's operator decides.
    Managed,
}

/// What a file is read and written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It holds servers, and nothing of ours but wrapped entries.
    Servers,
    /// It holds hooks; ours are appended.
    Hooks,
    /// It holds both.
    Both,
    /// It is ours alone: written whole and deleted whole.
    Own,
    /// It is read (approvals, a policy) and never written.
    Read,
}

/// A file of a host. Whether it is there is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Where.
    pub path: PathBuf,
    /// For whom it counts.
    pub scope: Scope,
    /// How it is written.
    pub format: Format,
    /// What it is for.
    pub role: Role,
}

/// A file as it was found; one that is absent is not among them.
#[derive(Debug, Clone)]
pub struct FoundFile {
    /// Which.
    pub file: ConfigFile,
    /// What it says.
    pub value: Value,
}

/// Everything that was found of one host.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Its files.
    pub files: Vec<FoundFile>,
    /// The project, as a git root or a directory; absolute and resolved.
    pub project: PathBuf,
}

impl Found {
    /// The file at a path.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&FoundFile> {
        self.files.iter().find(|found| found.file.path == path)
    }
}

/// How a server is reached, as its entry says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A command that the host starts.
    Command {
        /// The program.
        program: String,
        /// Its arguments; they may hold secrets.
        args: Vec<String>,
    },
    /// An address.
    Remote {
        /// It may hold secrets.
        url: String,
        /// Whether the entry brings credentials of its own, so that the host does not sign in.
        has_headers: bool,
    },
    /// Something that a proxy cannot stand in front of (in process, a built-in one), as the entry names it.
    Other(String),
}

/// Whether the host starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It does.
    Active,
    /// The entry is switched off.
    Disabled,
    /// The host has not asked the user yet.
    Pending,
    /// The user has said no.
    Rejected,
    /// An entry of the same name counts instead; where.
    Shadowed(PathBuf),
    /// A policy of the machine forbids it; what it says.
    Forbidden(String),
}

/// A server of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Its key.
    pub name: String,
    /// For whom its entry counts.
    pub scope: Scope,
    /// The file of its entry.
    pub file: PathBuf,
    /// Where the entry stands in it.
    pub place: Place,
    /// The entry, secrets and all: never shown, logged or kept.
    pub entry: Value,
    /// How it is reached; of a wrapped entry, what stands behind the proxy.
    pub reach: Reach,
    /// Whether the host starts it.
    pub state: State,
    /// The proxy's path, where the entry is wrapped already (by this installation or another).
    pub wrapped: Option<String>,
    /// It is a server of `bir` itself, which is never wrapped.
    pub ours: bool,
}

/// With what entries are wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapping {
    /// The absolute path of `bir-proxy`.
    pub proxy: String,
    /// `--no-correlation`.
    pub no_correlation: bool,
    /// Wrap in place what would otherwise be copied into the project's own scope: `.mcp.json` (`--mcp-json`).
    pub mcp_json: bool,
    /// Every directory is a project: entries of the user's scope are wrapped in place (`--everywhere`).
    pub everywhere: bool,
    /// The host was named by the user: one that works in no project (Claude Desktop) is wrapped too, with an entry that always records.
    pub host_named: bool,
    /// The server was named by the user: a remote one that may sign in by itself, or one that nobody has approved yet, is wrapped too.
    pub named: bool,
}

/// What has to be remembered to unwrap an entry, and cannot be read from the wrapped one. No value of a credential is in it: those
/// stand in the wrapped entry.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memo {
    /// Members that were replaced or removed, by their keys in the order of the entry, as they were; a credential in one of them is a
    /// [`Recall`] instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub was: Vec<(String, Was)>,
    /// Members that were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

/// How a member of an entry was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Was {
    /// This value; nothing in it is a credential.
    Value(Value),
    /// To be read back from the wrapped entry.
    Recall(Recall),
}

/// What of a wrapped entry a member is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Recall {
    /// The program behind `--`.
    Program,
    /// The arguments behind it.
    Args,
    /// Program and arguments as one array.
    Command,
    /// The address.
    Url,
    /// The headers, an object; values come from the entry's environment, names and order from here.
    Headers(Vec<String>),
}

/// How an entry is wrapped.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrap {
    /// The file that changes, which need not be there yet.
    pub file: ConfigFile,
    /// The changes, in order.
    pub edits: Vec<Edit>,
    /// Where the wrapped entry stands.
    pub place: Place,
    /// How to undo it: absent where the entry is a copy of ours, which goes whole.
    pub memo: Option<Memo>,
}

/// Why a server is not wrapped. Each says what a person can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A short word for programs: `disabled`, `oauth`, `policy`, `pending`, `rejected`, `shadowed`, `ours`, `shape`, `variable` …
    pub code: &'static str,
    /// One sentence without a full stop, without a secret.
    pub why: String,
}

impl Refusal {
    /// A refusal; `why` is one sentence without a full stop, without a secret.
    #[must_use]
    pub fn new(code: &'static str, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// A change for hooks.
#[derive(Debug, Clone, PartialEq)]
pub enum HookChange {
    /// A file that is ours alone, whole.
    Own {
        /// Which.
        file: ConfigFile,
        /// Its text.
        text: String,
    },
    /// Elements to be appended, each to an array.
    Appended {
        /// The file, which need not be there yet.
        file: ConfigFile,
        /// Where to, and what; nothing of it is secret.
        elements: Vec<(Place, Value)>,
    },
}

/// One host's configuration.
pub trait Config: Sync {
    /// Which host.
    fn host(&self) -> Host;

    /// Whether the host seems to be there, by directories or files that it makes itself; `exists` looks.
    fn is_there(&self, machine: &Machine<'_>, project: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
        self.files(machine, project).iter().any(|file| file.role != Role::Own && exists(&file.path))
    }

    /// Every file that may say something, in the host's own order of precedence, first those that count more.
    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile>;

    /// The servers of the files that were found, shadowed ones included.
    fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server>;

    /// How a server is wrapped.
    ///
    /// # Errors
    ///
    /// It is not to be wrapped, or cannot be.
    fn wrap(
        &self,
        machine: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal>;

    /// The edits that undo it, for an entry that is still wrapped; `place`: where it stands.
    ///
    /// # Errors
    ///
    /// The entry is not wrapped any more, or its memo does not fit it.
    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal>;

    /// Its hooks. `user`: for every project of the user; `program`: the absolute path of `bir-hooks`. None: none are installed for it,
    /// and its sessions are recorded as standalone.
    fn hooks(&self, machine: &Machine<'_>, project: &Path, user: bool, program: &str) -> Option<HookChange> {
        let _ = (machine, project, user, program);
        None
    }

    /// Why hooks of ours would not run, where a policy or a setting forbids all of them; none are installed then.
    fn hooks_refused(&self, machine: &Machine<'_>, found: &Found) -> Option<Refusal> {
        let _ = (machine, found);
        None
    }

    /// What a person does for the host to read its files anew.
    fn restart_hint(&self) -> &'static str;
}

/// The configurations of all hosts, in the order of [`Host::ALL`].
#[must_use]
pub fn all() -> [&'static dyn Config; 16] {
    Host::ALL.map(of)
}

/// The configuration of a host.
#[must_use]
pub fn of(host: Host) -> &'static dyn Config {
    match host {
        Host::ClaudeCode => &claude_code::ClaudeCode,
        Host::Codex => &codex::Codex,
        Host::Cursor => &cursor::CURSOR,
        Host::VsCode => &vs_code::VS_CODE,
        Host::CopilotCli => &copilot_cli::CopilotCli,
        Host::GeminiCli => &gemini_cli::GeminiCli,
        Host::OpenCode => &opencode::OpenCode,
        Host::Windsurf => &windsurf::WINDSURF,
        Host::ClaudeDesktop => &claude_desktop::CLAUDE_DESKTOP,
        Host::Zed => &zed::ZED,
        Host::Cline => &cline::CLINE,
        Host::Goose => &goose::GOOSE,
        Host::Continue => &continue_dev::CONTINUE,
        Host::Amp => &amp::AMP,
        Host::Kiro => &kiro::KIRO,
        Host::Hermes => &hermes::HERMES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_is_of_its_host_and_says_what_a_person_does() {
        let mut files = Vec::new();
        for (config, host) in all().into_iter().zip(Host::ALL) {
            assert_eq!(config.host(), host);
            let hint = config.restart_hint();
            assert!(!hint.is_empty() && !hint.ends_with('.'), "{hint}");
            for system in [System::Linux, System::MacOs, System::Windows] {
                let all = check::on(system, &[], |machine| config.files(machine, Path::new("/p")));
                let absolute = |file: &ConfigFile| file.path.is_absolute() || system == System::Windows;
                assert!(all.iter().all(absolute), "{:?}", config.host());
                let written = all.into_iter().filter(|file| matches!(file.role, Role::Servers | Role::Both));
                files.extend(written.map(|file| (system, file.path, config.host())));
            }
        }
        // No file is two hosts', so that nothing is wrapped twice; but that one, which two of them read.
        files.retain(|(_, path, _)| !path.ends_with(".mcp.json"));
        for (n, (system, path, host)) in files.iter().enumerate() {
            let same =
                files[n + 1..].iter().find(|(other, at, who)| (other, at) == (system, path) && who != host);
            assert_eq!(same, None, "{host:?}");
        }
    }
}
