//! `bir uninstall --purge`: the state directory, once nothing of ours stands anywhere else.

use super::args::UninstallArgs;
use super::ground::Ground;
use crate::error::CommandError;
use crate::{ask, hub, say};
use bir_install::ledger::FileRecord;
use bir_install::plan::Plan;
use std::path::Path;

/// What becomes of the directory, in a plan.
pub(super) fn note(ground: &Ground, plan: &Plan, dry_run: bool) -> String {
    let dir = ground.home.dir.display();
    if let Some(why) = hindrance(ground, plan) {
        let verb = if dry_run { "would not be" } else { "is not" };
        return format!("{dir} {verb} deleted: {why}");
    }
    let (stopped, deleted) = if dry_run { ("would be", "would be") } else { ("are", "is") };
    format!(
        "hub and control server {stopped} stopped, and {dir} {deleted} deleted with everything that was recorded on this machine"
    )
}

/// Why it stays, as far as it can be known before anything has changed.
fn hindrance(ground: &Ground, plan: &Plan) -> Option<String> {
    let is_there = |record: &FileRecord| record.path.symlink_metadata().is_ok();
    if !plan.missed.is_empty() || plan.operation.ledger.files.iter().any(is_there) {
        return Some("some files cannot be brought back, and it knows how they were; mend what stands above, then run this again".into());
    }
    refusal(&ground.home.dir, &ground.user)
}

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
    if let Some(why) = refusal(dir, &ground.user) {
        return Err(CommandError::failed(format!("{} is not deleted: {why}", dir.display())));
    }
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

/// Why a directory may not be deleted whole: one that `BIR_HOME` names may be any.
fn refusal(dir: &Path, user: &Path) -> Option<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let refused = |why: &str| Some(why.to_owned());
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
                None => locked(dir),
            }
        }
        Err(e) => refused(&format!("it cannot be read: {e}")),
    }
}

/// Why nothing in a directory can be deleted.
#[cfg(unix)]
fn locked(dir: &Path) -> Option<String> {
    use rustix::fs::{Access, access};
    let above = dir.parent()?;
    [dir, above]
        .into_iter()
        .find(|dir| access(*dir, Access::WRITE_OK | Access::EXEC_OK).is_err())
        .map(|dir| format!("nothing can be deleted in {}; make that directory writable first", dir.display()))
}

#[cfg(not(unix))]
fn locked(_: &Path) -> Option<String> {
    None
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
        assert_eq!(refusal(&dir, home.path()), None);
        assert!(refusal(home.path(), home.path()).is_some());
        std::fs::write(dir.join("thesis.tex"), "").unwrap();
        assert!(refusal(&dir, home.path()).is_some_and(|why| why.contains("thesis.tex")));
    }
}
