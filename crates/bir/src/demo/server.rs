//! Which server is recorded: a real one where `npx` is, else the sample server.

use crate::error::CommandError;
use crate::programs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The reference server, as npm knows it.
const EVERYTHING: &str = "@modelcontextprotocol/server-everything";
/// How long it may take until it answers; the first time it is downloaded.
const NPX: Duration = Duration::from_secs(30);
/// How long the sample server may take.
const SAMPLE: Duration = Duration::from_secs(20);

/// A server that can be recorded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Server {
    Everything { npx: PathBuf },
    Sample { bir: PathBuf },
}

/// Those that are to be tried, the best first.
pub(super) fn candidates(sample: bool) -> Result<Vec<Server>, CommandError> {
    let bir = programs::this()?;
    let npx = programs::on_path(if cfg!(windows) { "npx.cmd" } else { "npx" }).filter(|_| !sample);
    Ok(npx.map(|npx| Server::Everything { npx }).into_iter().chain([Server::Sample { bir }]).collect())
}

impl Server {
    /// The key under which it is recorded.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Everything { .. } => "everything",
            Self::Sample { .. } => "sample",
        }
    }

    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Everything { .. } => EVERYTHING,
            Self::Sample { .. } => "the sample server",
        }
    }

    /// What a person should know before it is started.
    pub(super) fn note(&self) -> Option<&'static str> {
        matches!(self, Self::Everything { .. })
            .then_some("fetching the MCP project's server-everything with npx; --sample needs no network")
    }

    /// None comes after it.
    pub(super) fn is_last(&self) -> bool {
        matches!(self, Self::Sample { .. })
    }

    /// How long it may take until it answers.
    pub(super) fn budget(&self) -> Duration {
        if self.is_last() { SAMPLE } else { NPX }
    }

    /// The proxy in front of it, as a host would start it.
    pub(super) fn command(&self, proxy: &Path, home: &Path) -> Command {
        let mut command = Command::new(proxy);
        command.args(["--server-name", self.name(), "--standalone", "--"]).env("BIR_HOME", home);
        match self {
            Self::Everything { npx } => command.arg(npx).args(["-y", EVERYTHING]),
            Self::Sample { bir } => command.arg(bir).arg("sample-server"),
        };
        command
    }
}
