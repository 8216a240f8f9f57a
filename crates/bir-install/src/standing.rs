//! What of ours stands where, as the ledger has it and as the files are: for `bir status`.

use crate::ledger::{FileRecord, Layer, Ledger};
use crate::plan::adopt::is_known;
use crate::plan::held::{is_of_user, is_wrapped, locate, proxy_of, same_place};
use crate::survey::{HostSurvey, Survey, name_of, read_file};
use crate::undo::told::is_by_hand;
use bir_edit::Document;
use bir_hosts::config::{ConfigFile, Role, Scope, Server};
use std::path::{Path, PathBuf};

/// A server that was wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The host's name, or `file`.
    pub host: String,
    /// Its key.
    pub server: String,
    /// For which project; none: for all of the user's.
    pub project: Option<PathBuf>,
    /// The file of its entry.
    pub file: PathBuf,
    /// How it is now.
    pub state: State,
    /// A person has wrapped it, and the ledger does not know it.
    pub by_hand: bool,
}

/// Servers that a person has wrapped by hand, of the hosts that were read.
#[must_use]
pub fn by_hand(survey: &Survey, ledger: &Ledger) -> Vec<Standing> {
    let of_host = |host: &HostSurvey| {
        let name = name_of(host.host);
        let wrapped = host.servers.iter().filter(|server| {
            server.wrapped.is_some()
                && !server.ours
                && is_by_hand(&server.entry)
                && !is_known(ledger, name, server)
        });
        let one = |server: &Server| Standing {
            host: name.into(),
            server: server.name.clone(),
            project: (!is_of_user(server.scope)).then(|| survey.project.clone()),
            file: server.file.clone(),
            state: started(server.wrapped.as_deref()),
            by_hand: true,
        };
        wrapped.map(one).collect::<Vec<_>>()
    };
    survey.hosts.iter().flat_map(of_host).collect()
}

/// Of an entry that starts this proxy.
fn started(proxy: Option<&str>) -> State {
    match proxy.map(Path::new) {
        Some(proxy) if proxy.is_absolute() && !proxy.exists() => State::Dead(proxy.to_path_buf()),
        _ => State::Wrapped,
    }
}

/// How a wrapped server is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Wrapped.
    Wrapped,
    /// Wrapped with a program that is not there any more.
    Dead(PathBuf),
    /// Its entry is there, and not wrapped any more.
    Unwrapped,
    /// Its entry, or its file, has gone.
    Gone,
    /// Its file cannot be read, and why.
    Unreadable(String),
}

impl State {
    /// A word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Wrapped => "wrapped",
            Self::Dead(_) => "dead",
            Self::Unwrapped => "unwrapped",
            Self::Gone => "gone",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// Every server that the ledger knows.
#[must_use]
pub fn standing(ledger: &Ledger) -> Vec<Standing> {
    let mut all: Vec<Standing> = Vec::new();
    for record in ledger.files.iter().filter(|record| record.role != Role::Own) {
        if record.layers.iter().any(|layer| !layer.entries.is_empty()) {
            of_file(record, &mut all);
        }
    }
    all.sort_by(|a, b| (&a.host, &a.project, &a.server).cmp(&(&b.host, &b.project, &b.server)));
    all
}

fn of_file(record: &FileRecord, all: &mut Vec<Standing>) {
    let file =
        ConfigFile { path: record.path.clone(), scope: Scope::User, format: record.format, role: Role::Read };
    let read = read_file(file);
    let document = read.document.map(|document| read.bytes.is_some().then_some(document));
    let entries = |layer: &Layer| -> Vec<_> {
        layer.entries.iter().map(|entry| (layer.project.clone(), entry.clone())).collect()
    };
    let newest = record.layers.iter().rev().flat_map(entries);
    let mut known: Vec<crate::ledger::EntryRecord> = Vec::new();
    for (project, entry) in newest {
        if known.iter().any(|other| same_place(other, &entry)) {
            continue;
        }
        let state = match &document {
            Err(why) => State::Unreadable(why.clone()),
            Ok(document) => state(document.as_ref(), &entry),
        };
        all.push(Standing {
            host: record.host.clone(),
            server: crate::plan::shaped::key(&entry.server),
            project,
            file: record.path.clone(),
            state,
            by_hand: false,
        });
        known.push(entry);
    }
}

fn state(document: Option<&Document>, entry: &crate::ledger::EntryRecord) -> State {
    let Some(document) = document.map(Document::value) else { return State::Gone };
    let Some(stands) = locate(document, entry).and_then(|place| place.of(document).cloned()) else {
        return State::Gone;
    };
    if !is_wrapped(&stands) {
        return State::Unwrapped;
    }
    started(proxy_of(&stands))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{EntryRecord, Hash};
    use bir_model::{Format, Place};

    #[test]
    fn each_server_is_told_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let proxy = dir.path().join("bir-proxy");
        std::fs::write(&proxy, "").unwrap();
        let text = serde_json::json!({"mcpServers": {
            "ok": {"command": proxy}, "dead": {"command": "/none/bir-proxy"}, "other": {"command": "npx"}}});
        let path = dir.path().join("x.json");
        std::fs::write(&path, text.to_string()).unwrap();
        let entry = |server: &str| EntryRecord {
            server: server.into(),
            place: Place::keys(["mcpServers", server]),
            memo: None,
        };
        let layer = Layer {
            project: None,
            at: 0,
            before: None,
            after: Hash(String::new()),
            back: None,
            entries: ["ok", "dead", "other", "none", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"]
                .map(entry)
                .into(),
            hooks: vec![],
            set: vec![],
            made: vec![],
        };
        let record = FileRecord {
            path,
            host: "cursor".into(),
            scope: Scope::User,
            format: Format::Json,
            role: Role::Servers,
            made_dirs: vec![],
            layers: vec![layer.clone(), layer],
        };
        let ledger = Ledger { files: vec![record], ..Ledger::default() };
        let told: Vec<_> = standing(&ledger)
            .into_iter()
            .map(|one| format!("{}: {}", one.server, one.state.code()))
            .collect();
        assert_eq!(told, ["[hidden]: gone", "dead: dead", "none: gone", "ok: wrapped", "other: unwrapped"]);
    }
}
