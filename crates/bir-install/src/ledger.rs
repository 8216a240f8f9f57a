//! `installed.json`: what of ours stands where, and how it was before. For its user alone; without a value of any credential.
//!
//! A file that was changed more than once has a layer for each time, the newest last. A layer whose `after` is the hash of the
//! file as it is now is taken off byte for byte (`back`); otherwise its entries and hooks are taken out one by one, and whatever else
//! another program has written stays.

pub(crate) mod store;

use crate::delta::Delta;
use bir_hosts::config::{Memo, Role, Scope};
use bir_model::{Format, Place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the file; a newer one is not touched.
pub const VERSION: u32 = 1;

/// SHA-256 of a file's content, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash(pub String);

impl Hash {
    /// The hash of a content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, content);
        Self(digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The ledger.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ledger {
    /// [`VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// Another one with each writing; whoever writes must have read the one that stands there.
    pub revision: String,
    /// Every file that holds something of ours.
    pub files: Vec<FileRecord>,
    /// What was asked for in each project.
    pub projects: BTreeMap<PathBuf, ProjectRecord>,
    /// The paths of every `bir-proxy` that was put into an entry: what starts one of them is ours, wherever it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<String>,
}

impl Ledger {
    /// The record of a file, by its path as the host names it.
    #[must_use]
    pub fn file(&self, path: &Path) -> Option<&FileRecord> {
        self.files.iter().find(|record| record.path == path)
    }

    /// Whether nothing of ours stands anywhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.projects.is_empty()
    }

    /// Puts a record in place of the one of the same path.
    pub(crate) fn put(&mut self, record: FileRecord) {
        match self.files.iter_mut().find(|other| other.path == record.path) {
            Some(other) => *other = record,
            None => self.files.push(record),
        }
    }
}

/// A project in which `bir install` ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectRecord {
    /// `bir install` set it up for bound recording; it was no project before.
    pub set_up_by_us: bool,
    /// Replay was asked for (`--replay`).
    pub replay: bool,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Where it is, as the host names it; a symbolic link stays one.
    pub path: PathBuf,
    /// The host, or `file` for one that `--config` named.
    pub host: String,
    /// For whom it counts.
    pub scope: Scope,
    /// How it is written.
    pub format: Format,
    /// What it is for.
    pub role: Role,
    /// Directories that were made for it, outermost first; they go with it where nothing else is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_dirs: Vec<PathBuf>,
    /// What was changed, oldest first.
    pub layers: Vec<Layer>,
}

/// What one command changed in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    /// For which project; none: for all of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// The file before; none: there was no file.
    pub before: Option<Hash>,
    /// The file afterwards.
    pub after: Hash,
    /// The way back, byte for byte; none where there is none without a secret, or where there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Delta>,
    /// Wrapped entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRecord>,
    /// Hooks of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRecord>,
    /// Members that the host set for us when it was asked to (the trust of Codex in our hooks).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SetRecord>,
    /// Objects and arrays that were made for them, outermost first; they go where nothing else is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Place>,
}

/// A wrapped entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryRecord {
    /// The server's key.
    pub server: String,
    /// Where it stands. In a list the key counts, not the index.
    pub place: Place,
    /// How to unwrap it; none: it is a copy of ours, which goes whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<Memo>,
}

/// A hook of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookRecord {
    /// The array that it was appended to.
    pub to: Place,
    /// The element; it is found again by its value, wherever it stands.
    pub value: Value,
}

/// A member that a host set for us. It holds no credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetRecord {
    /// Where.
    pub at: Place,
    /// What; it goes where it still stands there.
    pub value: Value,
}
