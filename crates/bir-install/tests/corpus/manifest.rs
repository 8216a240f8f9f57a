//! `corpus.toml`: what must become of each file.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The folder.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// What has to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Then {
    /// It changes, and is as it was once it is uninstalled.
    Identical,
    /// Nothing of it is to be changed.
    Nothing,
    /// It cannot be changed faithfully: it stays as it is, and why is told.
    Refused,
}

/// One file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Below the folder; the first part is the host's name.
    pub(crate) path: String,
    /// Where it stands: `~/` is the user's home, `./` the project.
    pub(crate) at: String,
    pub(crate) then: Then,
    /// A piece of the reason.
    #[serde(default)]
    pub(crate) because: String,
    /// The servers that have to be wrapped, and no others.
    #[serde(default)]
    pub(crate) wrapped: Vec<String>,
    /// Servers that have to be left, with the word that says why.
    #[serde(default)]
    pub(crate) left: BTreeMap<String, String>,
    /// Files beside it, by their places.
    #[serde(default)]
    pub(crate) beside: BTreeMap<String, String>,
    /// No other parser reads it: it is compared by its bytes alone.
    #[serde(default)]
    pub(crate) unread: bool,
    /// `--server`.
    #[serde(default)]
    pub(crate) servers: Vec<String>,
    /// `--config`: it is named by its path, since it is in no place of a host.
    #[serde(default)]
    pub(crate) config: bool,
    /// `--mcp-json`.
    #[serde(default)]
    pub(crate) mcp_json: bool,
    /// `--everywhere`.
    #[serde(default)]
    pub(crate) everywhere: bool,
}

impl Row {
    pub(crate) fn host(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Manifest {
    file: Vec<Row>,
}

/// Every row.
pub(crate) fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("corpus.toml")).unwrap();
    toml::from_str::<Manifest>(&text).unwrap().file
}

/// The file of a path below the folder. Names of its place are filled in.
pub(crate) fn content(path: &str, names: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = std::fs::read(folder().join(path)).unwrap();
    for (name, value) in names {
        if let Ok(text) = std::str::from_utf8(&bytes) {
            bytes = text.replace(name, value).into_bytes();
        }
    }
    bytes
}
