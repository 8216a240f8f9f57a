//! What every command that installs stands on: the state directory, the person's home, the host modules, and what a crash had left.

use super::text;
use crate::error::CommandError;
use crate::home::Home;
use crate::out::time;
use crate::project::here;
use crate::say;
use bir_control_client::project_of;
use bir_hosts::Host;
use bir_hosts::config::{Machine, System};
use bir_install::codex_trust;
use bir_install::ledger::Ledger;
use bir_install::operation::{CommitError, Operation, commit, read_ledger, repair};
use bir_install::plan::Plan;
use bir_install::survey::{Modules, Survey, survey};
use bir_install::undo::ByEntries;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// It.
pub(crate) struct Ground {
    pub(crate) home: Home,
    /// The person's home directory.
    pub(crate) user: PathBuf,
    pub(crate) modules: Modules<'static>,
    /// What a crash had left, in words.
    repaired: Option<String>,
}

impl Ground {
    /// Finds it, and mends what a crash had left, which is said.
    ///
    /// # Errors
    ///
    /// The environment does not say where things are; what was left cannot be mended.
    pub(crate) fn find() -> Result<Self, CommandError> {
        let home = Home::find()?;
        let user = std::env::home_dir().filter(|user| user.is_absolute()).ok_or_else(|| {
            CommandError::failed("it is not known where your hosts keep their files; set HOME")
        })?;
        let modules = Modules::all();
        let repaired = mended(&home.dir).map_err(failed)?;
        if let Some(what) = &repaired {
            say(format_args!("note: {what}"));
        }
        Ok(Self { home, user, modules, repaired })
    }

    /// The project of a directory, else of the working directory.
    pub(crate) fn project(&self, dir: Option<&Path>) -> Result<PathBuf, CommandError> {
        let Some(dir) = dir else { return Ok(project_of(&here()?)) };
        if dir.is_dir() {
            return Ok(project_of(dir));
        }
        Err(CommandError::failed(format!("there is no directory {}", dir.display())))
    }

    /// Whether a directory is the person's home, and no project of itself.
    pub(crate) fn is_bare_home(&self, project: &Path) -> bool {
        let user = self.user.canonicalize();
        user.as_deref().unwrap_or(&self.user) == project && project.join(".git").symlink_metadata().is_err()
    }

    /// The ledger.
    pub(crate) fn ledger(&self) -> Result<Ledger, CommandError> {
        read_ledger(&self.home.dir).map_err(failed)
    }

    /// Reads the hosts' files.
    pub(crate) fn survey(&self, project: &Path, hosts: &[Host], configs: &[PathBuf]) -> Survey {
        self.with_machine(|machine| survey(&self.modules, machine, project, hosts, configs))
    }

    /// This machine, as the host modules see it.
    pub(crate) fn with_machine<T>(&self, what: impl FnOnce(&Machine<'_>) -> T) -> T {
        with_machine(&self.user, what)
    }

    /// A plan for programs. `done`: it was carried out.
    pub(crate) fn told(&self, plan: &Plan, done: bool) -> Value {
        let mut object = text::json(plan, done);
        object["repaired"] = self.repaired.clone().into();
        object
    }

    /// ms since the Unix epoch.
    pub(crate) fn now(&self) -> u64 {
        time::now_ms()
    }

    /// Carries an operation out.
    pub(crate) fn commit(&self, operation: &Operation) -> Result<(), CommitError> {
        commit(&self.home.dir, operation, &ByEntries(&self.modules))
    }
}

/// This machine, as the host modules see it, with the home directory of a person.
pub(crate) fn with_machine<T>(user: &Path, what: impl FnOnce(&Machine<'_>) -> T) -> T {
    let system = if cfg!(windows) {
        System::Windows
    } else if cfg!(target_os = "macos") {
        System::MacOs
    } else {
        System::Linux
    };
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    what(&Machine { home: user.to_path_buf(), system, variable: &variable })
}

/// Mends what a crash had left, and says what that was. Where there is no state directory, none is made.
pub(crate) fn mended(state_dir: &Path) -> Result<Option<String>, CommitError> {
    if !state_dir.is_dir() {
        return Ok(None);
    }
    let modules = Modules::all();
    let mender = ByEntries(&modules);
    // First, since what Codex wrote stands in the ledger that comes out of it.
    let files = repair(state_dir, &mender)?;
    let trust = codex_trust::repair(state_dir, time::now_ms(), &mender)?;
    let both: Vec<String> = files.into_iter().chain(trust).collect();
    Ok((!both.is_empty()).then(|| both.join("; ")))
}

/// A failure for a person.
pub(crate) fn failed(e: CommitError) -> CommandError {
    CommandError::failed(match e {
        e @ CommitError::Write { .. } => format!("{e}; nothing was changed"),
        e => e.to_string(),
    })
}
