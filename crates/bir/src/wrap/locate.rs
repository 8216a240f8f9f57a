//! Where `bir-proxy` is: beside this program, else on PATH. Hosts start servers with a PATH of their own, so the entry
//! needs the absolute path.

use std::env::{consts::EXE_SUFFIX, split_paths};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the proxy was not found.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum LocateError {
    #[error(
        "found no bir-proxy, neither in {beside} nor on PATH; put it beside bir (`cargo build --release` makes both)"
    )]
    Missing { beside: String },
    #[error(
        "the path of {0:?} is not valid UTF-8, and a configuration file cannot hold it; move bir-proxy elsewhere"
    )]
    NotUtf8(PathBuf),
}

/// The absolute path of the proxy.
pub(crate) fn proxy() -> Result<PathBuf, LocateError> {
    let exe = std::env::current_exe().unwrap_or_default();
    find(exe.parent().unwrap_or(Path::new("")), std::env::var_os("PATH").as_deref())
}

fn find(beside: &Path, path: Option<&OsStr>) -> Result<PathBuf, LocateError> {
    let file = format!("bir-proxy{EXE_SUFFIX}");
    // A relative PATH element means another place in every directory: an entry cannot use it.
    let on_path =
        path.map(|p| split_paths(p).filter(|d| d.is_absolute()).collect::<Vec<_>>()).unwrap_or_default();
    let all = [beside.to_path_buf()].into_iter().chain(on_path).map(|d| d.join(&file));
    let found = all.into_iter().find(|p| is_program(p));
    match found {
        Some(p) if p.to_str().is_none() => Err(LocateError::NotUtf8(p)),
        Some(p) => Ok(p),
        None => Err(LocateError::Missing { beside: beside.display().to_string() }),
    }
}

#[cfg(unix)]
fn is_program(p: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(p: &Path) -> bool {
    p.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::OpenOptionsExt;

    fn program(dir: &Path, mode: u32) -> PathBuf {
        std::fs::create_dir_all(dir).unwrap();
        let p = dir.join("bir-proxy");
        std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(mode).open(&p).unwrap();
        p
    }

    #[test]
    fn beside_comes_before_path_and_only_programs_count() {
        let t = tempfile::tempdir().unwrap();
        let (a, b, c) = (t.path().join("a"), t.path().join("b"), t.path().join("c"));
        let path = std::env::join_paths([Path::new("."), &b, &c]).unwrap();
        let find = || find(&a, Some(&path));
        assert!(matches!(find(), Err(LocateError::Missing { beside }) if beside == a.display().to_string()));
        let last = program(&c, 0o755);
        program(&b, 0o644);
        assert_eq!(find(), Ok(last));
        let near = program(&a, 0o755);
        assert_eq!(find(), Ok(near));
    }
}
