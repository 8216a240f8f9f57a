//! `logs/hub.log`: what the embedded hub says on stderr. It is put aside when it has grown, and one older one is kept.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes from which on the log is put aside at the next start: 4 MiB.
const LONGEST: u64 = 4 * 1024 * 1024;
/// Bytes of the end that are looked at for the last lines.
const TAIL: u64 = 16 * 1024;

/// Where it is.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("logs").join("hub.log")
}

/// Opens it for a new hub. Also says where the new hub's part begins.
///
/// # Errors
///
/// What the system says.
pub(crate) fn open(dir: &Path) -> io::Result<(File, u64)> {
    let path = path(dir);
    bir_home::ensure(&dir.join("logs"))?;
    if fs::metadata(&path).is_ok_and(|meta| meta.len() > LONGEST) {
        fs::rename(&path, path.with_extension("log.1"))?;
    }
    let file = bir_home::private().append(true).create(true).open(&path)?;
    let begin = file.metadata()?.len();
    Ok((file, begin))
}

/// The last lines since a place.
pub(crate) fn last_lines(dir: &Path, begin: u64, lines: usize) -> Vec<String> {
    let read = || {
        let mut file = File::open(path(dir))?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(begin.max(end.saturating_sub(TAIL))))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_log_is_private_put_aside_when_long_and_read_from_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let (mut file, begin) = open(dir.path()).unwrap();
        assert_eq!(begin, 0);
        file.write_all(b"one\ntwo\n\nthree\n").unwrap();
        let (mut file, begin) = open(dir.path()).unwrap();
        assert_eq!(begin, 15);
        file.write_all(b"four\nfive\n").unwrap();
        assert_eq!(last_lines(dir.path(), begin, 5), ["four", "five"]);
        assert_eq!(last_lines(dir.path(), 0, 3), ["three", "four", "five"]);
        file.set_len(LONGEST + 1).unwrap();
        let (_, begin) = open(dir.path()).unwrap();
        assert_eq!((begin, dir.path().join("logs/hub.log.1").exists()), (0, true));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(path(dir.path())).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
