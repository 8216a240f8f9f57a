//! Finding the programs of this workspace from a test of another crate.
//!
//! Cargo names a test's binaries only to tests of the same package. A program of another package lies
//! beside the test executable (`target/<profile>/deps/../NAME`), if it has been built. Since `cargo test -p X`
//! does not build it, [`bin`] does: once per test process, with the cargo that runs the test, and into the
//! same target directory. `BIR_TESTKIT_NO_BUILD=1` turns that off; then what is there is used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::sync::lock;

/// Why a program could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BinError {
    /// The test executable does not lie in a cargo target directory.
    #[error("no target directory above {0}")]
    NoTarget(PathBuf),
    /// Cargo did not build it.
    #[error("failed to build {name} of package {package}: {why}")]
    Build {
        /// The program.
        name: String,
        /// Its package.
        package: String,
        /// Cargo's last words.
        why: String,
    },
    /// It is not there, and building was turned off.
    #[error("{path} does not exist; run: cargo build -p {package} --bin {name}")]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// The program.
        name: String,
        /// Its package.
        package: String,
    },
}

/// The directory of the running profile: the parent of the `deps` that holds the test executable.
fn profile_dir() -> Result<PathBuf, BinError> {
    let exe = std::env::current_exe().unwrap_or_default();
    let above = exe.ancestors().skip(1).find(|dir| dir.ends_with("deps") || dir.ends_with("examples"));
    match above.or(exe.parent()).map(|dir| if dir.ends_with("deps") { dir.parent() } else { Some(dir) }) {
        Some(Some(dir)) => Ok(dir.to_owned()),
        _ => Err(BinError::NoTarget(exe)),
    }
}

fn build(package: &str, name: &str, dir: &Path) -> Result<(), BinError> {
    let failed = |why: String| BinError::Build { name: name.into(), package: package.into(), why };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = match dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", package, "--bin", name, "--profile", profile])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if let Some(target) = dir.parent() {
        command.env("CARGO_TARGET_DIR", target);
    }
    let done = command.output().map_err(|error| failed(error.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&done.stderr);
    Err(failed(
        words.lines().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n"),
    ))
}

/// The path of a program of this workspace, freshly built.
///
/// # Errors
/// It is not there and cannot be built; the message says what to run.
pub fn bin(package: &str, name: &str) -> Result<PathBuf, BinError> {
    static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    // Held while cargo runs: other tests of this process wait for the one build.
    let mut built = lock(&BUILT);
    let built = built.get_or_insert_default();
    if let Some(path) = built.get(name) {
        return Ok(path.clone());
    }
    let dir = profile_dir()?;
    let path = dir.join(name);
    if std::env::var_os("BIR_TESTKIT_NO_BUILD").is_none() {
        build(package, name, &dir)?;
    }
    if !path.exists() {
        return Err(BinError::Missing { path, name: name.into(), package: package.into() });
    }
    built.insert(name.into(), path.clone());
    Ok(path)
}

/// The path of `bir-test-upstream`.
///
/// # Errors
/// As [`bin`].
pub fn test_upstream() -> Result<PathBuf, BinError> {
    bin("bir-testkit", "bir-test-upstream")
}

/// The path of `bir-test-pipe`.
///
/// # Errors
/// As [`bin`].
pub fn test_pipe() -> Result<PathBuf, BinError> {
    bin("bir-testkit", "bir-test-pipe")
}
