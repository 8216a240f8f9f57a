//! Which file is meant, and whether it may be written.
//!
//! A rename asks only the directory, so a file that its user has marked read-only would be replaced all the same. That mark is obeyed,
//! and so is one on the directory. A file with several names is refused: a rename would leave the other names with the old
//! text, and a write in place is half a file for whoever reads it or crashes meanwhile.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The file behind all symbolic links; for one that is not there, where it would be made.
pub(super) fn real(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(found) => fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound if found.is_symlink() => refuse(
                ErrorKind::NotFound,
                "it is a symbolic link to a file that is not there; make that file or remove the link",
            ),
            _ => error,
        }),
        Err(error) if absent(&error) => match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => Ok(real(parent)?.join(name)),
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Nothing is there: not even what it would be in, perhaps.
fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The content; none: there is no file.
pub(super) fn read(real: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(real) {
        Ok(content) => Ok(Some(content)),
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The directories above a file that are not there, outermost first.
pub(super) fn missing_dirs(real: &Path) -> Vec<PathBuf> {
    let missing =
        |dir: &&Path| fs::symlink_metadata(dir).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let mut dirs: Vec<_> = real.ancestors().skip(1).take_while(missing).map(Path::to_owned).collect();
    dirs.reverse();
    dirs
}

/// An error that says why a file is not written.
pub(super) fn may_write(real: &Path) -> io::Result<()> {
    match fs::metadata(real) {
        Ok(found) if !found.is_file() => {
            return Err(refuse(ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok(found) => {
            let read_only =
                "it is marked read-only, and stays so; make it writable for yourself and run this again";
            if found.permissions().readonly() || !system::allows(real, false) {
                return Err(refuse(ErrorKind::PermissionDenied, read_only));
            }
            if system::names(&found) > 1 {
                let why = "it has several names (hard links), which replacing it would separate; put a copy in its place and run this again";
                return Err(refuse(ErrorKind::InvalidInput, why));
            }
            if let Some(why) = crate::survey::owner::lost(&found) {
                return Err(refuse(ErrorKind::PermissionDenied, &why));
            }
        }
        Err(error) if absent(&error) => {}
        Err(error) => return Err(error),
    }
    let dir = real.ancestors().skip(1).find(|dir| fs::symlink_metadata(dir).is_ok());
    let dir = dir.ok_or(ErrorKind::NotFound)?;
    let found = fs::metadata(dir)?;
    if !found.is_dir() {
        return Err(refuse(ErrorKind::NotADirectory, "something above it is no directory"));
    }
    // On Windows a directory's mark means something else.
    if (cfg!(unix) && found.permissions().readonly()) || !system::allows(dir, true) {
        let why = format!(
            "its directory {} is read-only, and stays so; make it writable for yourself and run this again",
            dir.display()
        );
        return Err(refuse(ErrorKind::PermissionDenied, &why));
    }
    Ok(())
}

pub(super) fn refuse(kind: ErrorKind, why: &str) -> io::Error {
    io::Error::new(kind, why)
}

#[cfg(unix)]
mod system {
    use super::Metadata;
    use rustix::fs::{Access, access};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub(super) fn allows(path: &Path, dir: bool) -> bool {
        let wanted = if dir { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
        access(path, wanted).is_ok()
    }

    pub(super) fn names(found: &Metadata) -> u64 {
        found.nlink()
    }
}

#[cfg(not(unix))]
mod system {
    use super::Metadata;
    use std::path::Path;

    pub(super) fn allows(_: &Path, _: bool) -> bool {
        true
    }

    pub(super) fn names(_: &Metadata) -> u64 {
        1
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn links_lead_to_one_file_or_to_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("dots")).unwrap();
        fs::write(root.join("dots/a.json"), "").unwrap();
        symlink("dots/a.json", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        symlink("dots", root.join("dir")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("round", root.join("round")).unwrap();
        for path in ["dots/a.json", "one", "two", "dir/a.json"] {
            assert_eq!(real(&root.join(path)).unwrap(), root.join("dots/a.json"), "{path}");
        }
        assert_eq!(real(&root.join("dir/new/b.json")).unwrap(), root.join("dots/new/b.json"));
        assert_eq!(
            missing_dirs(&root.join("dots/new/er/b")),
            [root.join("dots/new"), root.join("dots/new/er")]
        );
        for path in ["dangling", "dangling/b.json"] {
            let error = real(&root.join(path)).unwrap_err().to_string();
            assert!(error.contains("a symbolic link to a file that is not there"), "{error}");
        }
        assert!(real(&root.join("round")).is_err());
    }

    #[test]
    fn marks_are_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, inner) = (dir.path().join("a"), dir.path().join("d/b"));
        fs::write(&file, "").unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(&inner, "").unwrap();
        let says = |path: &Path, what: &str| {
            let error = may_write(path).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        may_write(&file).unwrap();
        may_write(&dir.path().join("x/y")).unwrap();
        mode(&file, 0o444);
        says(&file, "marked read-only");
        mode(&dir.path().join("d"), 0o555);
        says(&inner, "its directory");
        says(&dir.path().join("d/x/y"), "its directory");
        mode(&dir.path().join("d"), 0o755);
        fs::hard_link(&inner, dir.path().join("c")).unwrap();
        says(&inner, "several names");
        says(dir.path(), "no regular file");
        says(&file.join("below"), "no directory");
    }
}
