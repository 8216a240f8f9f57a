use super::group::ChildUpstream;
use super::platform;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, Stdio};
use thiserror::Error;

/// Environment variables with this prefix are ours. The upstream must see the environment that it would have without
/// us, and some of ours hold credentials.
const OWN_PREFIX: &str = "BIR_";

/// The command line of an upstream.
#[derive(Debug, Clone)]
pub struct ChildCommand {
    program: OsString,
    args: Vec<OsString>,
}

/// Why an upstream could not be started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// No such program.
    #[error(
        "cannot start `{program}`: no such command; check the name, or give its absolute path (PATH is {path})"
    )]
    NotFound {
        /// The command as given.
        program: String,
        /// The `PATH` that was searched.
        path: String,
    },
    /// It is there and may not be run.
    #[error("cannot start `{program}`: it is not executable; check its permissions and that it is a program")]
    NotExecutable {
        /// The command as given.
        program: String,
    },
    /// The system refused: no memory, no process slots, an argument list that is too long.
    #[error("cannot start `{program}`: {source}")]
    System {
        /// The command as given.
        program: String,
        /// The system's own error.
        source: io::Error,
    },
}

impl SpawnError {
    /// The status that a wrapper exits with, as shells and `env` do: 127 not found, 126 not executable, 1 otherwise.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::System { .. } => 1,
        }
    }

    pub(super) fn of(program: &OsStr, error: io::Error) -> Self {
        let program = program.to_string_lossy().into_owned();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let path = std::env::var_os("PATH");
                let path = path.map_or_else(|| "not set".into(), |p| format!("`{}`", p.to_string_lossy()));
                Self::NotFound { program, path }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => Self::NotExecutable { program },
            _ if platform::is_exec_format_error(&error) => Self::NotExecutable { program },
            _ => Self::System { program, source: error },
        }
    }
}

impl ChildCommand {
    /// A program and its arguments, passed on exactly.
    pub fn new(program: OsString, args: Vec<OsString>) -> Self {
        Self { program, args }
    }

    /// The program and its arguments.
    #[must_use]
    pub fn words(&self) -> Vec<&OsStr> {
        std::iter::once(&*self.program).chain(self.args.iter().map(|a| &**a)).collect()
    }

    /// An error of the system while it was being started.
    #[must_use]
    pub fn failed(&self, error: io::Error) -> SpawnError {
        SpawnError::of(&self.program, error)
    }

    /// Starts it with three pipes. Call from a thread that lives as long as the process: the child's parent-death signal
    /// is bound to the thread that starts it.
    pub fn spawn(&self) -> Result<ChildUpstream, SpawnError> {
        let mut command = self.base();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        platform::prepare(&mut command);
        let child = command.spawn().map_err(|e| SpawnError::of(&self.program, e))?;
        ChildUpstream::new(child).map_err(|e| SpawnError::of(&self.program, e))
    }

    /// Becomes the program, with the stdio and the process id that we have. Returns only when that failed.
    #[must_use]
    pub fn replace_self(&self) -> SpawnError {
        SpawnError::of(&self.program, platform::exec(&mut self.base()))
    }

    fn base(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(OWN_PREFIX) {
                command.env_remove(&name);
            }
        }
        command
    }
}
