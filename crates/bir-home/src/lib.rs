//! The state directory: everything that `bir` keeps on this machine, readable by its user alone; and [`off`], the switch in it.

#![forbid(unsafe_code)]

pub mod off;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The state directory: `BIR_HOME`, else `~/.baseinstrunner`. Found from HOME, since hosts drop other variables. None: the
/// environment names neither.
#[must_use]
pub fn state_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("BIR_HOME").or_else(|| {
        set(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(|h| h.join(".baseinstrunner"))
    })
}

/// Makes a directory, and those above it, for this user alone; where root acts, for whom the directory above them belongs to. One that is
/// there stays as it is.
///
/// # Errors
///
/// What the system says.
pub fn ensure(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let missing = |dir: &&Path| !dir.as_os_str().is_empty() && dir.symlink_metadata().is_err();
    let mut made: Vec<&Path> = dir.ancestors().take_while(missing).collect();
    made.reverse();
    make_all(dir)?;
    made.into_iter().for_each(hand_over_dir);
    Ok(())
}

/// Gives a file that root has made to whom its directory belongs, so that no user's home holds what the user cannot change. For every other
/// user nothing happens, nor where the system refuses.
pub fn hand_over(file: &File, path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let above = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (Ok(made), Ok(dir)) = (file.metadata(), above.metadata()) else { return };
        if made.uid() == 0 && dir.uid() != 0 {
            let _ = fchown(file, Some(dir.uid()), Some(dir.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
}

/// The same with a directory.
pub fn hand_over_dir(dir: &Path) {
    // What somebody has put in its place since is not given away.
    if cfg!(unix)
        && dir.symlink_metadata().is_ok_and(|found| found.is_dir())
        && let Ok(file) = File::open(dir)
    {
        hand_over(&file, dir);
    }
}

fn make_all(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Options for a file that only this user may read.
#[must_use]
pub fn private() -> fs::OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode"))]
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file in one step, readable by this user alone: others see the old content or the new one.
///
/// # Errors
///
/// What the system says. The old file is whole then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(format!(".{}.tmp", uuid::Uuid::now_v7().simple()));
    let temporary = path.with_file_name(name);
    let written = private().write(true).create_new(true).open(&temporary).and_then(|mut file| {
        hand_over(&file, &temporary);
        file.write_all(content)?;
        file.sync_data()
    });
    let replaced = written.and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("a/b");
        ensure(&home).unwrap();
        ensure(&home).unwrap();
        let file = home.join("x.json");
        replace(&file, b"1").unwrap();
        replace(&file, b"22").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"22");
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(&home), mode(&dir.path().join("a"))), (0o600, 0o700, 0o700));
        }
    }
}
