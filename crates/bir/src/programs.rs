//! Where the other programs are: beside this one, else on PATH. Hosts start servers with a PATH of their own, so an entry needs
//! the absolute path.
//!
//! A fresh checkout has none of them yet: `cargo run --bin bir` builds `bir` alone. [`ensure`] builds the others then.

use crate::error::CommandError;
use crate::say;
use std::env::{consts::EXE_SUFFIX, split_paths};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// The relay.
pub(crate) const PROXY: &str = "bir-proxy";
/// The hub.
pub(crate) const HUB: &str = "bir-hub";
/// What hosts start for their hooks; the control server.
pub(crate) const HOOKS: &str = "bir-hooks";

/// Why a program was not found.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum LocateError {
    #[error(
        "found no {name}, neither in {beside} nor on PATH; {}", way_out(Path::new(.beside), .name)
    )]
    Missing { name: String, beside: String },
    #[error(
        "the path of {0:?} is not valid UTF-8, and a configuration file cannot hold it; move it elsewhere"
    )]
    NotUtf8(PathBuf),
}

/// The absolute path of a program.
///
/// # Errors
///
/// It is not there.
pub(crate) fn program(name: &str) -> Result<PathBuf, LocateError> {
    find(name, &beside(), std::env::var_os("PATH").as_deref())
}

/// The absolute path of a program for a configuration, which is to survive an upgrade: where the program lies in a directory of its
/// version, and a link leads to it, the link.
///
/// # Errors
///
/// It is not there.
pub(crate) fn lasting(name: &str) -> Result<PathBuf, LocateError> {
    let found = program(name)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut usual: Vec<PathBuf> = split_paths(&path).filter(|dir| dir.is_absolute()).collect();
    if let Some(user) = std::env::home_dir().filter(|user| user.is_absolute()) {
        usual.extend([".local/bin", ".cargo/bin", "bin"].map(|dir| user.join(dir)));
    }
    usual.extend(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
    Ok(stable(found, usual))
}

/// The first of some directories in which a program of the same file is, else where it was found.
fn stable(found: PathBuf, usual: Vec<PathBuf>) -> PathBuf {
    let (Ok(real), Some(name)) = (found.canonicalize(), found.file_name()) else { return found };
    let same = |path: &PathBuf| is_program(path) && path.canonicalize().is_ok_and(|other| other == real);
    // A path that a configuration cannot hold is no better one.
    let better =
        usual.into_iter().map(|dir| dir.join(name)).filter(|path| path.to_str().is_some()).find(same);
    better.unwrap_or(found)
}

/// How a missing program comes back. Only who has the sources can build it.
pub(crate) fn way_out(beside: &Path, name: &str) -> String {
    match checkout(beside) {
        Some(_) => format!("build it with `cargo build -p {name}`, in the profile of this bir"),
        None => format!("install bir again: {name} belongs beside it"),
    }
}

/// This program. Where the system does not tell (a root without `/proc`), as it was called.
///
/// # Errors
///
/// Neither says it.
pub(crate) fn this() -> Result<PathBuf, CommandError> {
    let called = || as_called(&std::env::args_os().next()?, std::env::var_os("PATH").as_deref());
    std::env::current_exe().ok().or_else(called).ok_or_else(|| {
        CommandError::failed(
            "it is not known where bir itself is; call it by its absolute path, or mount /proc",
        )
    })
}

/// A program by the first word of its command line: a path, else a name that PATH finds.
fn as_called(word: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let word = Path::new(word);
    if word.components().count() > 1 {
        return std::path::absolute(word).ok().filter(|p| is_program(p));
    }
    find(word.to_str()?, Path::new(""), path).ok()
}

/// The directory of this program.
pub(crate) fn beside() -> PathBuf {
    let exe = this().unwrap_or_default();
    exe.parent().unwrap_or(Path::new("")).to_path_buf()
}

fn find(name: &str, beside: &Path, path: Option<&OsStr>) -> Result<PathBuf, LocateError> {
    let file = format!("{name}{EXE_SUFFIX}");
    // A relative PATH element means another place in every directory: an entry cannot use it.
    let on_path =
        path.map(|p| split_paths(p).filter(|d| d.is_absolute()).collect::<Vec<_>>()).unwrap_or_default();
    // A relative one as well, or none: where the program itself is could not be told.
    let beside_it = Some(beside.to_path_buf()).filter(|d| d.is_absolute());
    let found = beside_it.into_iter().chain(on_path).map(|d| d.join(&file)).find(|p| is_program(p));
    match found {
        Some(p) if p.to_str().is_none() => Err(LocateError::NotUtf8(p)),
        Some(p) => Ok(p),
        None => Err(LocateError::Missing { name: name.into(), beside: beside.display().to_string() }),
    }
}

/// A program that is on PATH, whatever is beside this one.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    find(name, Path::new(""), std::env::var_os("PATH").as_deref()).ok()
}

/// A checkout in whose target directory this program stands.
#[derive(Debug, PartialEq, Eq)]
struct Checkout {
    root: PathBuf,
    target: PathBuf,
    profile: String,
}

/// `ROOT/target/PROFILE` of a checkout of this workspace.
fn checkout(beside: &Path) -> Option<Checkout> {
    let target = beside.parent()?;
    let profile = beside.file_name()?.to_str()?;
    let root =
        target.parent().filter(|root| target.ends_with("target") && root.join("Cargo.toml").is_file())?;
    let ours = [PROXY, HUB].iter().all(|name| root.join("crates").join(name).join("Cargo.toml").is_file());
    ours.then(|| Checkout { root: root.into(), target: target.into(), profile: profile.into() })
}

/// The arguments of the cargo that builds what is missing.
fn build_arguments(checkout: &Checkout) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["build", "-p", PROXY, "-p", HUB].map(Into::into).into();
    match checkout.profile.as_str() {
        "debug" => {}
        "release" => arguments.push("--release".into()),
        other => arguments.extend(["--profile".into(), other.into()]),
    }
    arguments.extend(["--target-dir".into(), checkout.target.clone().into()]);
    arguments
}

/// The path of each program; in a checkout those that are missing are built first, on stderr.
///
/// # Errors
///
/// One is missing and cannot be built.
pub(crate) fn ensure(names: &[&str]) -> Result<Vec<PathBuf>, CommandError> {
    let all = || names.iter().map(|name| program(name)).collect::<Result<Vec<_>, _>>();
    let missing = match all() {
        Ok(found) => return Ok(found),
        Err(e) => CommandError::failed(e.to_string()),
    };
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).or_else(|| on_path("cargo"));
    let (Some(checkout), Some(cargo)) = (checkout(&beside()), cargo) else { return Err(missing) };
    say(format_args!("building {PROXY} and {HUB}, which are not there yet (once, this takes some minutes)"));
    let mut command = Command::new(cargo);
    command.args(build_arguments(&checkout)).current_dir(&checkout.root).stdin(Stdio::null());
    // Cargo reports on stderr; nothing of it belongs on stdout.
    command.stdout(Stdio::null());
    let built = command.status().map_err(|e| CommandError::failed(format!("cannot run cargo: {e}")))?;
    if !built.success() {
        return Err(CommandError::failed(format!(
            "cargo did not build {PROXY} and {HUB}; see above, or run `cargo build -p {PROXY} -p {HUB}` in {}",
            checkout.root.display()
        )));
    }
    all().map_err(|e| CommandError::failed(e.to_string()))
}

/// Whether it can be started.
#[cfg(unix)]
pub(crate) fn is_program(p: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Whether it can be started.
#[cfg(not(unix))]
pub(crate) fn is_program(p: &Path) -> bool {
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
        let find = || find(PROXY, &a, Some(&path));
        assert!(
            matches!(find(), Err(LocateError::Missing { beside, .. }) if beside == a.display().to_string())
        );
        let last = program(&c, 0o755);
        program(&b, 0o644);
        assert_eq!(find(), Ok(last));
        let near = program(&a, 0o755);
        assert_eq!(find(), Ok(near));
    }

    #[test]
    fn a_link_survives_an_upgrade_and_is_preferred() {
        let t = tempfile::tempdir().unwrap();
        let versioned = program(&t.path().join("bir-0.1"), 0o755);
        let (bin, other) = (t.path().join("bin"), t.path().join("other"));
        program(&other, 0o755);
        std::fs::create_dir(&bin).unwrap();
        assert_eq!(stable(versioned.clone(), vec![other.clone(), bin.clone()]), versioned);
        std::os::unix::fs::symlink(&versioned, bin.join("bir-proxy")).unwrap();
        assert_eq!(stable(versioned, vec![other, bin.clone()]), bin.join("bir-proxy"));
    }

    #[test]
    fn without_proc_a_program_is_where_it_was_called_from() {
        let t = tempfile::tempdir().unwrap();
        let there = program(&t.path().join("a"), 0o755);
        let path = std::env::join_paths([t.path().join("a")]).unwrap();
        assert_eq!(as_called(there.as_os_str(), None), Some(there.clone()));
        assert_eq!(as_called(OsStr::new("bir-proxy"), Some(&path)), Some(there));
        assert_eq!(as_called(OsStr::new("bir-proxy"), None), None);
        assert_eq!(as_called(t.path().join("b").as_os_str(), Some(&path)), None);
    }

    #[test]
    fn a_checkout_is_known_by_its_target_directory() {
        let t = tempfile::tempdir().unwrap();
        let root = t.path().join("x");
        let release = root.join("target/release");
        std::fs::create_dir_all(&release).unwrap();
        assert_eq!(checkout(&release), None);
        std::fs::write(root.join("Cargo.toml"), "").unwrap();
        for name in [PROXY, HUB] {
            std::fs::create_dir_all(root.join("crates").join(name)).unwrap();
            std::fs::write(root.join("crates").join(name).join("Cargo.toml"), "").unwrap();
        }
        let found = checkout(&release).unwrap();
        assert_eq!(found.root, root);
        let arguments = build_arguments(&found);
        assert_eq!(arguments[..6], ["build", "-p", PROXY, "-p", HUB, "--release"]);
        let debug = Checkout { profile: "debug".into(), ..found };
        assert!(!build_arguments(&debug).iter().any(|a| a == "--release"));
        assert_eq!(checkout(Path::new("/usr/local/bin")), None);
    }
}
