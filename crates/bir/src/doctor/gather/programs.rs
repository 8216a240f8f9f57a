//! The programs that entries and hooks start.

use crate::programs;
use bir_install::doctor::program::Program;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to say its version.
const BUDGET: Duration = Duration::from_secs(5);
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
    // What is no program may be given to a shell, line by line, so its first bytes are looked at before it is started.
    if !begins_as_program(&place) {
        return Program::NotExecutable;
    }
    let said = if is_trusted(&place) { version(&place, name) } else { Said::Unknown };
    match said {
        Said::NoProgram => Program::NotExecutable,
        Said::Nothing => Program::Silent,
        Said::Version(version) if version != super::VERSION => Program::Version(version),
        _ if is_ours(&place, name) => Program::Ours,
        _ => Program::Other,
    }
}

/// Whether a file begins as what a system starts: ELF, Mach-O, PE, or a script that says its interpreter.
fn begins_as_program(place: &Path) -> bool {
    const MAGIC: [&[u8]; 8] = [
        b"\x7fELF",
        b"#!",
        b"MZ",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xce\xfa\xed\xfe",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
    ];
    let mut start = Vec::new();
    match std::fs::File::open(place).and_then(|file| file.take(4).read_to_end(&mut start)) {
        Ok(_) => MAGIC.iter().any(|magic| start.starts_with(magic)),
        // One may start what one may not read.
        Err(_) => true,
    }
}

/// Whether a program may be started to be asked: it and its directory are this user's, root's, or belong to whom this program belongs, and
/// nobody else may write there.
#[cfg(unix)]
fn is_trusted(place: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| path.metadata().ok().map(|meta| meta.uid());
    let ours = programs::this().ok().and_then(|this| owner(&this));
    let fits = |path: &Path| {
        path.metadata().is_ok_and(|meta| {
            let is_known = meta.uid() == 0
                || meta.uid() == rustix::process::geteuid().as_raw()
                || Some(meta.uid()) == ours;
            // The group that has its user's number is its user's alone.
            let foreign = if meta.gid() == meta.uid() { 0o002 } else { 0o022 };
            is_known && meta.mode() & foreign == 0
        })
    };
    let Ok(real) = place.canonicalize() else { return false };
    fits(&real) && real.parent().is_some_and(fits)
}

#[cfg(not(unix))]
fn is_trusted(_: &Path) -> bool {
    true
}

fn is_ours(place: &Path, name: &str) -> bool {
    let ours = programs::program(name).ok().and_then(|ours| ours.canonicalize().ok());
    ours.is_some() && ours == place.canonicalize().ok()
}

/// What a program says of itself.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// `bir-proxy 0.1.0`.
    Version(String),
    /// It cannot be started, or is another program than its name says.
    NoProgram,
    /// It did not answer in time.
    Nothing,
    /// It was not asked, or cannot be started now.
    Unknown,
}

/// Asks a program for its version.
fn version(place: &Path, name: &str) -> Said {
    let mut command = Command::new(place);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return if is_passing(&e) { Said::Unknown } else { Said::NoProgram },
    };
    let until = Instant::now() + BUDGET;
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(POLL),
            _ => break None,
        }
    };
    let Some(status) = ended else {
        let _ = child.kill();
        let _ = child.wait();
        return Said::Nothing;
    };
    let Some(out) = child.stdout.take() else { return Said::Unknown };
    let (to, from) = std::sync::mpsc::channel();
    // Another program that it has left behind may keep the pipe open for long.
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let read = out.take(LONGEST).read_to_end(&mut said).map(|_| said);
        let _ = to.send(read);
    });
    let said = match from.recv_timeout(until.saturating_duration_since(Instant::now()).max(POLL * 20)) {
        Ok(Ok(said)) => said,
        Ok(Err(_)) => return Said::Unknown,
        Err(_) => return Said::Nothing,
    };
    let said = String::from_utf8_lossy(&said);
    let mut words = said.split_whitespace();
    let is_it = words.next() == Some(name);
    match words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        Some(version) if is_it && status.success() => Said::Version(version.to_owned()),
        _ => Said::NoProgram,
    }
}

/// Whether it may start another time: it is being written, or the machine has no room now.
fn is_passing(e: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ExecutableFileBusy, Interrupted, OutOfMemory, WouldBlock};
    matches!(e.kind(), ExecutableFileBusy | Interrupted | OutOfMemory | WouldBlock)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::programs::PROXY;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_cannot_be_started_or_is_another_program_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(PROXY);
        let path = place.to_str().unwrap();
        let trace = dir.path().join("ran");
        let script = |text: &str| format!("#!/bin/sh\n: > '{}'\n{text}\n", trace.display());
        let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0".to_vec();
        elf.resize(4096, 0);
        for (content, mode, found, runs) in [
            (Vec::new(), 0o755, Program::NotExecutable, false),
            (script("").replace("#!/bin/sh", "").into_bytes(), 0o755, Program::NotExecutable, false),
            (elf, 0o755, Program::NotExecutable, false),
            (b"#!/no/such/interpreter\n".to_vec(), 0o755, Program::NotExecutable, false),
            (script("exit 1").into_bytes(), 0o755, Program::NotExecutable, true),
            (script("echo other 0.1.0").into_bytes(), 0o755, Program::NotExecutable, true),
            (script("echo bir-proxy 0.0.1").into_bytes(), 0o755, Program::Version("0.0.1".into()), true),
            (script("echo bir-proxy 0.0.1").into_bytes(), 0o644, Program::NotExecutable, false),
            // What it leaves behind keeps the pipe open.
            (script("sleep 30 & exit 0").into_bytes(), 0o755, Program::Silent, true),
            (script("exec sleep 30").into_bytes(), 0o755, Program::Silent, true),
            // Anybody may have written that.
            (script("echo bir-proxy 0.0.1").into_bytes(), 0o757, Program::Other, false),
        ] {
            let _ = std::fs::remove_file(&trace);
            std::fs::write(&place, &content).unwrap();
            std::fs::set_permissions(&place, PermissionsExt::from_mode(mode)).unwrap();
            let said = String::from_utf8_lossy(&content).into_owned();
            assert_eq!(look(path, PROXY), found, "{mode:o} {said}");
            assert_eq!(trace.exists(), runs, "{mode:o} {said}");
        }
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        std::fs::write(&place, script("echo bir-proxy 0.0.1")).unwrap();
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(look(path, PROXY), Program::Other, "its directory is anybody's");
    }
}
