//! The programs that entries and hooks start.

use crate::programs;
use bir_install::doctor::program::Program;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to say its version.
const BUDGET: Duration = Duration::from_secs(2);
/// Between two looks.
const POLL: Duration = Duration::from_millis(5);
/// Bytes that are read of what it says.
const LONGEST: u64 = 256;

/// What was found out of each program, asked once.
#[derive(Default)]
pub(super) struct Programs(HashMap<String, Program>);

impl Programs {
    /// What is known of the program of a path, which is one of ours by its name (`name`).
    pub(super) fn of(&mut self, path: &str, name: &str) -> Program {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let found = look(path, name);
        self.0.insert(path.to_owned(), found.clone());
        found
    }
}

fn look(path: &str, name: &str) -> Program {
    // What is no path is looked for as the host does, which may have another PATH.
    let place = if Path::new(path).components().count() > 1 {
        PathBuf::from(path)
    } else {
        match programs::on_path(path.strip_suffix(".exe").unwrap_or(path)) {
            Some(found) => found,
            None => return Program::Missing,
        }
    };
    if place.symlink_metadata().is_err() || place.canonicalize().is_err() {
        return Program::Missing;
    }
    if !programs::is_program(&place) {
        return Program::NotExecutable;
    }
    match version(&place) {
        Some(version) if version != super::VERSION => Program::Version(version),
        _ if is_ours(&place, name) => Program::Ours,
        _ => Program::Other,
    }
}

fn is_ours(place: &Path, name: &str) -> bool {
    let ours = programs::program(name).ok().and_then(|ours| ours.canonicalize().ok());
    ours.is_some() && ours == place.canonicalize().ok()
}

/// The version that a program tells: `bir-proxy 0.1.0`. None: it tells none.
fn version(place: &Path) -> Option<String> {
    let mut command = Command::new(place);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + BUDGET;
    let ended = loop {
        match child.try_wait() {
            Ok(Some(_)) => break true,
            Ok(None) if Instant::now() < until => std::thread::sleep(POLL),
            _ => break false,
        }
    };
    if !ended {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let mut said = String::new();
    child.stdout.take()?.take(LONGEST).read_to_string(&mut said).ok()?;
    let version = said.split_whitespace().nth(1)?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}
