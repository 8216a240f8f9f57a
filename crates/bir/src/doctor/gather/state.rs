//! The state directory, the off switch, and where home is.

use crate::home::Home;
use bir_control_client::Inbox;
use bir_home::off::{self, Reach};
use bir_install::doctor::state::{Observed, Off, Unusual};
use std::path::{Path, PathBuf};

pub(super) fn look(home: &Home) -> Observed {
    let stats = home.spool().stats();
    Observed {
        dir: home.dir.clone(),
        loose: loose(&home.dir),
        spool: (stats.bytes, home.config.record.spool_limit),
        free: free(&home.dir),
        dropped: Inbox::new(&home.dir).dropped(),
        unclear: home.unclear.clone(),
        off: switch(&home.dir),
        unusual: unusual(),
    }
}

fn switch(state_dir: &Path) -> Off {
    if off::switch("BIR_OFF") {
        return Off::Variable;
    }
    match off::reach(state_dir) {
        Reach::Everywhere => Off::Everywhere,
        Reach::In(_) if off::is_off() => Off::Here,
        Reach::Nowhere | Reach::In(_) => Off::No,
    }
}

/// The directory, where others may enter it: nobody gets at what is in it otherwise.
#[cfg(unix)]
fn loose(dir: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| path.metadata().map(|meta| meta.permissions().mode());
    let is_loose = |path: &Path| mode(path).is_ok_and(|mode| mode & 0o077 != 0);
    if !is_loose(dir) {
        return Vec::new();
    }
    let within = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut within: Vec<PathBuf> = within.filter(|path| is_loose(path)).collect();
    within.sort();
    within.insert(0, dir.to_path_buf());
    within
}

#[cfg(not(unix))]
fn loose(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Bytes that this user may still write on the disk of a directory, or of the nearest one above that is there.
#[cfg(unix)]
fn free(dir: &Path) -> Option<u64> {
    let there = dir.ancestors().find(|dir| dir.is_dir())?;
    let found = rustix::fs::statvfs(there).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

fn unusual() -> Vec<Unusual> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut found: Vec<Unusual> = set("BIR_HOME").map(Unusual::Moved).into_iter().collect();
    if cfg!(windows) {
        return found;
    }
    found.extend(match set("HOME") {
        None => Some(Unusual::Unset),
        Some(home) if !home.is_absolute() => Some(Unusual::Relative(home)),
        Some(home) if !home.is_dir() => Some(Unusual::NoDirectory(home)),
        Some(home) if !is_ours(&home) => Some(Unusual::NotYours(home)),
        Some(_) => None,
    });
    found
}

#[cfg(unix)]
fn is_ours(home: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    home.metadata().is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn is_ours(_: &Path) -> bool {
    true
}
