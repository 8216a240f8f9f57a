//! Bringing a dead control server back, from whoever notices that it is gone.

use crate::projects::folder;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A start is tried this often at most, by all processes of a user together.
const EVERY: Duration = Duration::from_secs(1);

/// What the daemon needs of an environment. A hook's holds keys of the host's, which are nobody's business.
const HANDED_ON: [&str; 16] = [
    "HOME",
    "USERPROFILE",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
    "BIR_HOME",
    "BIR_LOG",
    "BIR_CONTROL_IDLE_S",
    "BIR_CORRELATION_DECISION",
    "BIR_NO_CORRELATION",
    "BIR_REPLAY",
];

/// Those that this process has started.
static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Why none is started.
#[derive(Debug, thiserror::Error)]
pub enum ReviveError {
    /// `bir down` stopped it, and it stays so until `bir up`.
    #[error("the control server was stopped with `bir down`")]
    Stopped,
    /// Somebody has just tried.
    #[error("a start was tried less than {} s ago", EVERY.as_secs())]
    TooSoon,
    /// There is no program to start.
    #[error("bir-hooks is not beside {0}")]
    NoProgram(PathBuf),
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The file that `bir down` leaves and `bir up` takes away.
#[must_use]
pub fn stopped_file(state_dir: &Path) -> PathBuf {
    folder(state_dir).join("stopped")
}

/// Starts a control server in the background and does not wait for it. Where one runs already, the new one ends by itself.
///
/// # Errors
///
/// None was started, and why.
pub fn revive(state_dir: &Path) -> Result<(), ReviveError> {
    if stopped_file(state_dir).exists() {
        return Err(ReviveError::Stopped);
    }
    if !is_first(state_dir)? {
        return Err(ReviveError::TooSoon);
    }
    let here = std::env::current_exe()?;
    let program = here.with_file_name(if cfg!(windows) { "bir-hooks.exe" } else { "bir-hooks" });
    if !program.is_file() {
        return Err(ReviveError::NoProgram(here));
    }
    let kept = HANDED_ON.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
    let mut command = Command::new(program);
    command.args(["serve", "--detached"]).env_clear().envs(kept).current_dir(root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    // Whoever was started before and has ended is waited for here, so that a long session collects none of them.
    started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    started.push(command.spawn()?);
    Ok(())
}

/// A daemon keeps no directory of a project busy.
fn root() -> &'static Path {
    Path::new(if cfg!(windows) { "C:\\" } else { "/" })
}

/// Whether nobody has tried within [`EVERY`]; from now on somebody has.
fn is_first(state_dir: &Path) -> io::Result<bool> {
    bir_home::ensure(&folder(state_dir))?;
    let file = bir_home::private()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder(state_dir).join("revive.lock"))?;
    // Where somebody holds it, somebody is just starting one.
    if file.try_lock().is_err() {
        return Ok(false);
    }
    let found = file.metadata()?;
    let tried = found.len() > 0 && found.modified()?.elapsed().is_ok_and(|since| since < EVERY);
    if !tried {
        file.set_len(0)?;
        io::Write::write_all(&mut &file, b"1")?;
    }
    Ok(!tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_tries_and_nobody_where_it_was_stopped() {
        let home = tempfile::tempdir().unwrap();
        let first = (0..20).filter(|_| is_first(home.path()).unwrap()).count();
        assert_eq!(first, 1);
        std::fs::write(stopped_file(home.path()), "").unwrap();
        assert!(matches!(revive(home.path()), Err(ReviveError::Stopped)));
    }
}
