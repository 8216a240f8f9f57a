//! What the hosts' files say, as they are now.

use bir_edit::Document;
use bir_hosts::Host;
use bir_hosts::config::{ConfigFile, Found, Server};
use std::path::PathBuf;

/// A file, read.
#[derive(Debug)]
pub struct ReadFile {
    /// Which.
    pub file: ConfigFile,
    /// Its bytes; none: there is no file.
    pub bytes: Option<Vec<u8>>,
    /// What it says, or why it cannot be changed: one sentence.
    pub document: Result<Document, String>,
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
