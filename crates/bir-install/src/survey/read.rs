//! Reading a file that may be anything: bounded, and never waiting for a writer that does not come.

use bir_edit::LONGEST;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The content of a regular file. None: there is nothing.
///
/// # Errors
///
/// There is something that is not read, and why: one sentence.
pub(crate) fn bytes(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match path.metadata() {
        Ok(meta) => regular(&meta)?,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return match path.symlink_metadata() {
                Ok(_) => Err("it is a symbolic link that leads nowhere".into()),
                Err(_) => Ok(None),
            };
        }
        Err(e) => return Err(unreadable(&e)),
    }
    let file = open(path).map_err(|e| unreadable(&e))?;
    // Looked at once more: it may be another file by now.
    regular(&file.metadata().map_err(|e| unreadable(&e))?)?;
    let mut bytes = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    if bytes.len() > LONGEST {
        return Err(too_long());
    }
    Ok(Some(bytes))
}

/// Why a file cannot be written, or made where it is absent: one sentence. The directories that would have to be made are made
/// below the nearest one that is there.
pub(crate) fn locked(path: &Path) -> Option<String> {
    match path.metadata() {
        Ok(meta) if meta.permissions().readonly() => {
            return Some("it is read-only; make it writable first".into());
        }
        Ok(meta) if names(&meta) > 1 => {
            let why = "it has several names (hard links), which replacing it would separate; put a copy in its place and run this again";
            return Some(why.into());
        }
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    // A symbolic link stays; what is exchanged stands in the directory of its target.
    let target = path.canonicalize();
    let directory = target.as_deref().unwrap_or(path).ancestors().skip(1).find(|dir| dir.exists())?;
    if may_write(directory) {
        return super::owner::lost(&path.metadata().ok()?);
    }
    Some(format!("nothing can be written in {}; make that directory writable first", directory.display()))
}

/// How many names a file has.
#[cfg(unix)]
fn names(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(meta)
}

#[cfg(not(unix))]
fn names(_: &Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn may_write(directory: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, access, accessat};
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    // As whom it would be written, which is not who started the program where the two differ.
    let may = match accessat(CWD, directory, wanted, AtFlags::EACCESS) {
        Err(rustix::io::Errno::NOSYS) => access(directory, wanted),
        other => other,
    };
    directory.is_dir() && may.is_ok()
}

#[cfg(not(unix))]
fn may_write(directory: &Path) -> bool {
    directory.metadata().is_ok_and(|meta| meta.is_dir() && !meta.permissions().readonly())
}

fn regular(meta: &Metadata) -> Result<(), String> {
    if meta.is_dir() {
        return Err("it is a directory".into());
    }
    if !meta.is_file() {
        return Err("it is no regular file".into());
    }
    if meta.len() > LONGEST as u64 {
        return Err(too_long());
    }
    Ok(())
}

fn too_long() -> String {
    format!("it is longer than {} MiB", LONGEST >> 20)
}

fn unreadable(e: &std::io::Error) -> String {
    format!("it cannot be read: {e}")
}

/// Opens it without waiting: what was a file may be a pipe by now.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_regular_file_is_read_and_what_is_something_else_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("none"), at("broken")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        std::fs::create_dir(at("dir")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        File::create(at("long")).unwrap().set_len(LONGEST as u64 + 1).unwrap();
        assert_eq!(bytes(&at("file")), Ok(Some(b"x".to_vec())));
        assert_eq!(bytes(&at("link")), Ok(Some(b"x".to_vec())));
        assert_eq!(bytes(&at("none")), Ok(None));
        for (name, why) in [
            ("broken", "leads nowhere"),
            ("loop", "cannot be read"),
            ("dir", "a directory"),
            ("fifo", "no regular file"),
            ("long", "longer than"),
            ("file/x", "cannot be read"),
        ] {
            let said = bytes(&at(name)).unwrap_err();
            assert!(said.contains(why), "{name}: {said}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(locked(&file), None);
        assert_eq!(locked(&dir.path().join("a/b/c")), None, "its directories can be made");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
        assert!(locked(&file).unwrap().contains("read-only"));
        // A directory in the way cannot be made.
        assert!(locked(&file.join("b")).is_none_or(|why| why.contains("writable")));
    }
}
