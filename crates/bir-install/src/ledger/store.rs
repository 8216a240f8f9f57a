//! The ledger on the disk. What cannot be read is refused and left as it is: it is the only way back.

use super::{Ledger, VERSION};
use crate::operation::CommitError;
use crate::operation::disk::Disk;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The ledger's path.
pub(crate) fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("installed.json")
}

/// An empty one where there is none.
pub(crate) fn read(state_dir: &Path) -> Result<Ledger, CommitError> {
    let path = path(state_dir);
    let advice = "nothing was changed: put a copy of it back, or move it away, which suffices: `bir install` and `bir uninstall`, run in each \
                  project, find what stands in the files by itself";
    Ok(read_versioned(&path, VERSION, advice)?.unwrap_or_default())
}

/// Writes it in one step.
pub(crate) fn write(disk: &Disk, state_dir: &Path, ledger: &Ledger) -> Result<(), CommitError> {
    let path = path(state_dir);
    let text = serde_json::to_vec_pretty(ledger).map_err(io::Error::from);
    text.and_then(|text| disk.replace(&path, &text)).map_err(|source| CommitError::Write { path, source })
}

/// A file of ours with a version in it. None: it is not there. `advice`: what to do when it is broken.
pub(crate) fn read_versioned<T: DeserializeOwned>(
    path: &Path,
    version: u32,
    advice: &str,
) -> Result<Option<T>, CommitError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CommitError::Ledger(format!("cannot read {}: {error}", path.display()))),
    };
    let broken = |what: &str| CommitError::Ledger(format!("{} is broken ({what}); {advice}", path.display()));
    let at = |error: &serde_json::Error| format!("line {}, column {}", error.line(), error.column());
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| broken(&at(&error)))?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(written) if written == u64::from(version) => {
            // From the text, so that a mistake has a line.
            serde_json::from_slice(&text).map(Some).map_err(|error| broken(&at(&error)))
        }
        Some(written) if written > u64::from(version) => Err(CommitError::Ledger(format!(
            "{} was written by a newer version of bir (format {written}, this one knows {version}); nothing was changed: update bir",
            path.display()
        ))),
        _ => Err(broken("it has no version")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), Ledger::default());
        let ledger =
            Ledger { version: VERSION, program: "1".into(), revision: "r".into(), ..Ledger::default() };
        write(&Disk::default(), dir.path(), &ledger).unwrap();
        assert_eq!(read(dir.path()).unwrap(), ledger);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_stays() {
        let cases = [
            ("", "is broken (line 1, column 0)"),
            ("{\n \"version\": 1,", "is broken (line 2, column"),
            ("{}", "it has no version"),
            ("[]", "it has no version"),
            (r#"{"version": 0}"#, "it has no version"),
            (r#"{"version": 1, "files": 7}"#, "is broken (line 1, column"),
            (
                r#"{"version": 2, "files": "another shape"}"#,
                "newer version of bir (format 2, this one knows 1)",
            ),
        ];
        let dir = tempfile::tempdir().unwrap();
        for (text, says) in cases {
            fs::write(path(dir.path()), text).unwrap();
            let error = read(dir.path()).unwrap_err();
            assert!(matches!(error, CommitError::Ledger(_)), "{error:?}");
            assert!(error.to_string().contains(says) && !error.to_string().contains('\n'), "{error}");
            assert_eq!(fs::read_to_string(path(dir.path())).unwrap(), text);
        }
        fs::write(path(dir.path()), r#"{"version": 1, "added by a later minor": true}"#).unwrap();
        assert_eq!(read(dir.path()).unwrap().version, 1);
    }

    #[test]
    fn a_hash_is_sha_256_in_hexadecimal() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(super::super::Hash::of(b"").0, empty);
    }
}
