//! What the hosts' files say, as they are now.
//!
//! ```text
//!  Modules ── is_there, or named ──▶ files ── read (bounded, regular files alone) ──▶ Document, or one sentence why not
//!                                                └── Found ── servers
//! ```
//!
//! A file that cannot be read or understood costs itself and what stands in it; the others are read all the same.

mod module;
pub(crate) mod owner;
mod read;

pub use module::{Module, Modules};

use bir_edit::Document;
use bir_hosts::Host;
use bir_hosts::config::{Config, ConfigFile, Found, FoundFile, Machine, Role, Server, any};
use std::path::{Path, PathBuf};

/// The name of a host in plans and in the ledger; a file that `--config` named has none of its own.
#[must_use]
pub fn name_of(host: Option<Host>) -> &'static str {
    host.map_or("file", Host::as_str)
}

/// A file, read.
#[derive(Debug)]
pub struct ReadFile {
    /// Which.
    pub file: ConfigFile,
    /// Its bytes; none: there is no file, or it was not read.
    pub bytes: Option<Vec<u8>>,
    /// What it says, or why it cannot be changed: one sentence.
    pub document: Result<Document, String>,
    /// Why it cannot be written, though it was read: one sentence.
    pub locked: Option<String>,
}

impl ReadFile {
    /// Whether there is something at its path.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.bytes.is_some() || self.document.is_err()
    }
}

/// A host that is there.
#[derive(Debug)]
pub struct HostSurvey {
    /// Which; none: a file that `--config` named.
    pub host: Option<Host>,
    /// All of its files, absent ones too.
    pub files: Vec<ReadFile>,
    /// Those that were read, for the host's module.
    pub found: Found,
    /// Its servers.
    pub servers: Vec<Server>,
}

/// Everything.
#[derive(Debug)]
pub struct Survey {
    /// The project: absolute, resolved.
    pub project: PathBuf,
    /// The hosts that seem to be there, and those that were named.
    pub hosts: Vec<HostSurvey>,
}

/// Reads the files of every host that is there; `named`: of these alone, whether they seem to be there or not; `config_files`:
/// and of these alone, where some are given.
#[must_use]
pub fn survey(
    modules: &Modules<'_>,
    machine: &Machine<'_>,
    project: &Path,
    named: &[Host],
    config_files: &[PathBuf],
) -> Survey {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let meant = |config: &&&dyn Config| {
        if named.is_empty() {
            config_files.is_empty() && config.is_there(machine, project, &exists)
        } else {
            named.contains(&config.host())
        }
    };
    let mut hosts: Vec<HostSurvey> = Vec::new();
    for config in modules.hosts.iter().filter(meant) {
        let files = config.files(machine, project);
        hosts.push(look(Some(config.host()), Module::Host(*config), machine, project, files));
    }
    for path in config_files {
        let text = read::bytes(path).ok().flatten().unwrap_or_default();
        let file = any::file(path, project, &String::from_utf8_lossy(&text));
        hosts.push(look(None, Module::Any, machine, project, vec![file]));
    }
    Survey { project: project.to_path_buf(), hosts }
}

fn look(
    host: Option<Host>,
    module: Module<'_>,
    machine: &Machine<'_>,
    project: &Path,
    files: Vec<ConfigFile>,
) -> HostSurvey {
    let files: Vec<ReadFile> = files.into_iter().map(read_file).collect();
    let found =
        Found { files: files.iter().filter_map(found_file).collect(), project: project.to_path_buf() };
    let servers = module.servers(machine, &found);
    HostSurvey { host, files, found, servers }
}

/// A file as its host's module is shown it.
fn found_file(read: &ReadFile) -> Option<FoundFile> {
    let document =
        read.document.as_ref().ok().filter(|_| read.bytes.is_some() && read.file.role != Role::Own)?;
    Some(FoundFile { file: read.file.clone(), value: document.value().clone() })
}

/// Reads a file that a module names.
#[must_use]
pub fn read_file(file: ConfigFile) -> ReadFile {
    let (bytes, document) = match read::bytes(&file.path) {
        Ok(None) => (None, Document::parse(b"", file.format)),
        // Its text is compared, and need not be of any format.
        Ok(Some(bytes)) if file.role == Role::Own => (Some(bytes), Document::parse(b"", file.format)),
        Ok(Some(bytes)) => {
            let document = Document::parse(&bytes, file.format);
            (Some(bytes), document)
        }
        Err(why) => return ReadFile { file, bytes: None, document: Err(why), locked: None },
    };
    let locked = if file.role == Role::Read { None } else { read::locked(&file.path) };
    ReadFile { file, bytes, document: document.map_err(|e| e.to_string()), locked }
}
