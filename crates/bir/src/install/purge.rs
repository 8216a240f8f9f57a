//! `bir uninstall --purge`: the state directory, once nothing of ours stands anywhere else.

use super::args::UninstallArgs;
use super::ground::Ground;
use crate::error::CommandError;
use crate::{ask, hub, say};
use std::path::Path;

/// Stops what runs, and deletes the directory with everything that was recorded. `accepted`: a person need not be asked any more.
pub(super) fn run(ground: &Ground, args: &UninstallArgs, accepted: bool) -> Result<(), CommandError> {
    let dir = &ground.home.dir;
    if !dir.is_dir() {
        say("there is no state directory; nothing is left of bir but its programs");
        return Ok(());
    }
    if ground.ledger()?.files.iter().any(|record| record.path.symlink_metadata().is_ok()) {
        return Err(CommandError::failed(
            "some files could not be brought back, so the state directory stays, which knows how they were; mend what stands above, then run this again",
        ));
    }
    may_go(dir, &ground.user)?;
    if !accepted {
        if args.json || !ask::can() {
            say(format_args!("{} was not deleted; `--yes` does it", dir.display()));
            return Err(CommandError::Nothing);
        }
        let question = format!("Delete {} with everything that was recorded on this machine?", dir.display());
        if !ask::yes(&question)? {
            say("it stays");
            return Err(CommandError::Nothing);
        }
    }
    hub::stop(&ground.home)?;
    // Where the directory is a link, what was recorded lies behind it, and goes first.
    if dir.is_symlink() {
        let deleted = dir.canonicalize().and_then(std::fs::remove_dir_all);
        deleted.map_err(|e| {
            CommandError::failed(format!("cannot delete what {} leads to: {e}", dir.display()))
        })?;
    }
    let deleted = if dir.is_symlink() { std::fs::remove_file(dir) } else { std::fs::remove_dir_all(dir) };
    deleted.map_err(|e| CommandError::failed(format!("cannot delete {}: {e}", dir.display())))?;
    say(format_args!(
        "{} is deleted; a host that is still open may make it anew until it ends",
        dir.display()
    ));
    Ok(())
}

/// Whether a directory may be deleted whole: one that `BIR_HOME` names may be any.
fn may_go(dir: &Path, user: &Path) -> Result<(), CommandError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let refused = |why: &str| Err(CommandError::failed(format!("{} is not deleted: {why}", dir.display())));
    if real(user).starts_with(real(dir)) {
        return refused("your home directory lies in it; delete in it by hand what is of bir");
    }
    if dir.join(".git").exists() {
        return refused("it is a project; delete in it by hand what is of bir");
    }
    match std::fs::read_dir(dir) {
        Ok(entries) => {
            let strange = entries
                .flatten()
                .map(|entry| entry.file_name())
                .find(|name| !is_ours(&name.to_string_lossy()));
            match strange {
                Some(name) => refused(&format!(
                    "`{}` in it is not of bir; move it away, and run this again",
                    name.to_string_lossy()
                )),
                None => Ok(()),
            }
        }
        Err(e) => refused(&format!("it cannot be read: {e}")),
    }
}

/// Whether something in the state directory is what our programs make there, by its name.
fn is_ours(name: &str) -> bool {
    const NAMES: [&str; 23] = [
        "bound.lock",
        "config.toml",
        "control",
        "control.journal",
        "credentials.json",
        "credentials.lock",
        "handshakes",
        "hub.db",
        "hub.json",
        "hub.lock",
        "hub.toml",
        "inbox",
        "installed.json",
        "installed.lock",
        "journal",
        "keys",
        "logs",
        "off",
        "pending.json",
        "seen.json",
        "sessions",
        "spool",
        "trust.json",
    ];
    NAMES.contains(&name)
        || name.starts_with("hub.")
        || name.starts_with("installed.")
        || name.starts_with("pending.")
        || name.ends_with(".tmp")
        || name.ends_with(".lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_ours_goes() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("state");
        std::fs::create_dir_all(dir.join("spool")).unwrap();
        std::fs::write(dir.join("hub.db-wal"), "").unwrap();
        assert!(may_go(&dir, home.path()).is_ok());
        assert!(may_go(home.path(), home.path()).is_err());
        std::fs::write(dir.join("thesis.tex"), "").unwrap();
        assert!(may_go(&dir, home.path()).unwrap_err().to_string().contains("thesis.tex"));
    }
}
