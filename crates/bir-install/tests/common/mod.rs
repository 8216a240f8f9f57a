//! Three files of a host that reads lines: one that is made together with its directories, one behind a symbolic link, one in place. What
//! is ours is a line that begins with `bir:`.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test program uses a part")]

use bir_hosts::config::{Role, Scope};
use bir_install::ledger::{FileRecord, Hash, HookRecord, Layer, Ledger};
use bir_install::operation::{FileChange, Kind, Mended, Mender, Mending, Operation, read_ledger};
use bir_model::{Format, Place};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A credential in the files; it may be nowhere in the state directory.
pub const SECRET: &str = "s3cr3t-0f-th3-us3r";

pub fn state(root: &Path) -> PathBuf {
    root.join("home/.state")
}

pub fn files(root: &Path) -> [PathBuf; 3] {
    ["home/.new/deep/hooks", "home/linked", "home/plain"].map(|path| root.join(path))
}

/// The files as a user has them.
pub fn world(root: &Path) {
    fs::create_dir_all(root.join("home")).unwrap();
    fs::create_dir_all(root.join("dots")).unwrap();
    fs::write(root.join("dots/real"), format!("first\ntoken = {SECRET}\n# ü\nlast")).unwrap();
    symlink("../dots/real", root.join("home/linked")).unwrap();
    fs::write(root.join("home/plain"), format!("\u{feff}a\r\nb = \"{SECRET}\"\r\n")).unwrap();
    for (path, mode) in [("dots/real", 0o640), ("home/plain", 0o604), ("home", 0o750), ("dots", 0o711)] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// The lines that are not ours.
pub fn without_ours(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !line.starts_with(b"bir:")).collect::<Vec<_>>().concat()
}

/// The line of a command in a file.
pub fn line(name: &str) -> String {
    format!("bir:{name}\n")
}

pub fn read(path: &Path) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

/// Takes off the lines of the layers that are to go.
pub struct Lines;

impl Mender for Lines {
    fn mend(&self, mending: &Mending<'_>) -> Mended {
        let mut text = String::from_utf8(mending.text.to_vec()).unwrap();
        if text.contains("cannot be read") {
            return Mended::Unclear("it cannot be read".into());
        }
        for hook in mending.layers().flat_map(|layer| &layer.hooks) {
            text = text.replace(hook.value.as_str().unwrap(), "");
        }
        if text.is_empty() && mending.to.is_none() { Mended::Gone } else { Mended::Text(text.into_bytes()) }
    }
}

/// A line of ours at the top of each file.
pub fn install(root: &Path, name: &str, paths: &[PathBuf]) -> Operation {
    let mut ledger = read_ledger(&state(root)).unwrap();
    let mut changes = Vec::new();
    for path in paths {
        let before = read(path);
        let after = [line(name).as_bytes(), before.as_deref().unwrap_or_default()].concat();
        let layer = Layer {
            project: None,
            at: 0,
            before: before.as_deref().map(Hash::of),
            after: Hash::of(&after),
            back: None,
            entries: Vec::new(),
            hooks: vec![HookRecord { to: Place::default(), value: line(name).into() }],
            made: Vec::new(),
            set: Vec::new(),
        };
        match ledger.files.iter_mut().find(|record| record.path == *path) {
            Some(record) => record.layers.push(layer),
            None => ledger.files.push(FileRecord {
                path: path.clone(),
                host: "file".into(),
                scope: Scope::User,
                format: Format::Json,
                role: Role::Both,
                made_dirs: Vec::new(),
                layers: vec![layer],
            }),
        }
        changes.push(FileChange {
            path: path.clone(),
            before,
            after: Some(after),
            secrets: vec![SECRET.to_owned()],
        });
    }
    Operation { kind: Kind::Install, changes, ledger, empty_dirs: Vec::new() }
}

/// Everything of ours goes.
pub fn uninstall(root: &Path) -> Operation {
    let mut ledger = read_ledger(&state(root)).unwrap();
    let (mut changes, mut empty_dirs) = (Vec::new(), Vec::new());
    for record in std::mem::take(&mut ledger.files) {
        let before = read(&record.path);
        let made = record.layers.first().is_none_or(|layer| layer.before.is_none());
        let rest = before.as_deref().map(without_ours);
        let after = rest.filter(|rest| !(made && rest.is_empty()));
        changes.push(FileChange { path: record.path, before, after, secrets: vec![SECRET.to_owned()] });
        empty_dirs.extend(record.made_dirs.into_iter().rev());
    }
    Operation { kind: Kind::Uninstall, changes, ledger, empty_dirs }
}

/// Everything below a directory: kind, mode, and content; without the lock, and with the ledger as what it says.
pub fn snapshot(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let mode = found.permissions().mode() & 0o7777;
            let name = path.strip_prefix(root).unwrap().to_owned();
            let says = if found.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if found.is_dir() {
                dirs.push(path.clone());
                format!("directory {mode:o}")
            } else if path.ends_with("install.lock") {
                continue;
            } else if path.ends_with("installed.json") {
                let ledger = read_ledger(path.parent().unwrap()).unwrap();
                let Ledger { files, projects, .. } = &ledger;
                format!("ledger {mode:o} {files:?} {projects:?}").replace(root.to_str().unwrap(), "")
            } else {
                format!("file {mode:o} {:?}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            };
            all.insert(name, says);
        }
    }
    all
}

/// No byte of the credential in what we keep.
pub fn no_secret(root: &Path) {
    for entry in fs::read_dir(state(root)).into_iter().flatten() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(SECRET), "{}: {text}", path.display());
    }
}
