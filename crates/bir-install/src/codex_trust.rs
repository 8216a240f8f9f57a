//! The trust of Codex in our hooks: it skips a hook that its user has not trusted, without a word.
//!
//! ```text
//!  codex app-server ◀── initialize, initialized
//!                   ◀── hooks/list ──▶ each hook with a key, a command, the hash of its text, its trust
//!  trust.json ◀── what it is about to be told
//!                   ◀── config/batchWrite: hooks.state.KEY.trusted_hash, for ours alone
//!                   ◀── hooks/list ──▶ ours are trusted
//! ```
//!
//! That is Codex's own interface, and it is used once the person has accepted a plan that says so. What it writes into `config.toml` becomes
//! a layer of the ledger, so that it goes as it came. A note says what that will be until it is one: Codex writes by itself, whatever
//! becomes of this process.

mod note;
mod server;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
mod wanted;

pub use note::repair;
use note::{Note, is_known};
pub use server::{BUDGET, TrustError};
pub(crate) use wanted::wanted;

use crate::delta::Delta;
use crate::ledger::{Hash, Layer, SetRecord};
use crate::operation::{CommitError, Kind, Mender, Operation, commit, read_ledger};
use crate::plan::layers::{both, project_of, push};
use crate::plan::secrets::Secrets;
use crate::plan::value_of;
use bir_edit::Document;
use bir_hosts::Host;
use bir_hosts::config::{ConfigFile, Role, Scope, carry_out};
use bir_model::{Edit, Format, Place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Trust that is to be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// The file of hooks.
    pub hooks_file: PathBuf,
    /// For whom it counts.
    pub scope: Scope,
    /// Codex's configuration, in which it keeps its trust.
    pub config: PathBuf,
    /// The project for which hooks are listed.
    pub project: PathBuf,
    /// The commands of our hooks.
    pub commands: Vec<String>,
}

/// What Codex wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    set: Vec<SetRecord>,
}

impl Given {
    /// How many hooks are trusted that were not.
    #[must_use]
    pub fn count(&self) -> usize {
        self.set.len()
    }
}

/// Has Codex trust our hooks, once a note says so. Blocks for at most [`BUDGET`]; the program has ended afterwards. `now`: ms since the Unix
/// epoch.
///
/// # Errors
///
/// [`TrustError`]: our hooks are not all trusted. What Codex has written all the same is noted by [`repair`].
pub fn give(state_dir: &Path, program: &Path, wanted: &Wanted, now: u64) -> Result<Given, TrustError> {
    let before = std::fs::read(&wanted.config).ok();
    let noted = |new: &[(String, String)]| {
        let set = new.iter().map(member).collect();
        Note::new(wanted, before.as_deref(), set, now).write(state_dir)
    };
    let trusted = server::trust(program, wanted, BUDGET, &noted)?;
    let after = std::fs::read(&wanted.config).ok();
    Ok(Given { before, after, set: trusted.iter().map(member).collect() })
}

/// What Codex keeps of a hook that it trusts.
fn member((key, hash): &(String, String)) -> SetRecord {
    SetRecord {
        at: Place::keys(["hooks", "state"]).key(key.as_str()),
        value: serde_json::json!({ "trusted_hash": hash }),
    }
}

/// The hash that each of our hooks would have to be trusted with, by its key. Blocks for at most [`BUDGET`]; nothing is changed.
///
/// # Errors
///
/// [`TrustError`].
pub fn hashes(program: &Path, wanted: &Wanted) -> Result<Vec<(String, String)>, TrustError> {
    server::hashes(program, wanted)
}

/// Puts what was given into the ledger. `now`: ms since the Unix epoch.
///
/// # Errors
///
/// [`CommitError`].
pub fn record(
    state_dir: &Path,
    wanted: &Wanted,
    given: Given,
    now: u64,
    mender: &dyn Mender,
) -> Result<(), CommitError> {
    if let Some((file, layer)) = layer(wanted, given, now) {
        let mut ledger = read_ledger(state_dir)?;
        // Another command may have found the note, and noted it.
        if !is_known(&ledger, &file.path, &layer.set) {
            push(&mut ledger, Host::Codex.as_str(), &file, Vec::new(), layer);
            let kind = Kind::Install;
            commit(
                state_dir,
                &Operation { kind, changes: Vec::new(), ledger, empty_dirs: Vec::new() },
                mender,
            )?;
        }
    }
    Note::remove(state_dir)
}

/// The layer of what Codex wrote. None: it wrote nothing.
fn layer(wanted: &Wanted, given: Given, now: u64) -> Option<(ConfigFile, Layer)> {
    let after = given.after.filter(|after| given.before.as_ref() != Some(after))?;
    let value = |bytes: &[u8]| value_of(bytes, Format::Toml);
    let (old, new) = (given.before.as_deref().map(value).unwrap_or_default(), value(&after));
    let set: Vec<SetRecord> =
        given.set.into_iter().filter(|set| set.at.of(&new) == Some(&set.value)).collect();
    let made: Vec<Place> = members_made(&old).into_iter().filter(|place| place.of(&new).is_some()).collect();
    // Somebody else may have written in the same moment: then ours is taken out by itself.
    let alone = undone(&new, &set, &made) == old;
    let back = given
        .before
        .as_deref()
        .filter(|_| alone)
        .and_then(|before| Delta::between(&after, before, &both(&Secrets::default(), &old, &new)));
    let (file, layer) = layer_of(wanted, now, set, made, &after);
    Some((file, Layer { before: given.before.as_deref().map(Hash::of), back, ..layer }))
}

/// A layer of members that were set, with the file that it belongs to; what was before it, and the way there, are still to be said.
fn layer_of(
    wanted: &Wanted,
    now: u64,
    set: Vec<SetRecord>,
    made: Vec<Place>,
    after: &[u8],
) -> (ConfigFile, Layer) {
    let file = ConfigFile {
        path: wanted.config.clone(),
        scope: wanted.scope,
        format: Format::Toml,
        role: Role::Servers,
    };
    let layer = Layer {
        project: project_of(wanted.scope, &wanted.project),
        at: now,
        before: None,
        after: Hash::of(after),
        back: None,
        entries: Vec::new(),
        hooks: Vec::new(),
        set,
        made,
    };
    (file, layer)
}

/// The tables that Codex makes for its trust where they are not there yet, outermost first.
fn members_made(old: &Value) -> Vec<Place> {
    let all = [Place::keys(["hooks"]), Place::keys(["hooks", "state"])];
    all.into_iter().filter(|place| place.of(old).is_none()).collect()
}

/// A text without what was set. None: it cannot be taken out of it.
fn undone_text(text: &[u8], set: &[SetRecord], made: &[Place]) -> Option<Vec<u8>> {
    let mut document = Document::parse(text, Format::Toml).ok()?;
    let removed = set.iter().map(|set| Edit::Remove { at: set.at.clone() });
    document.edit_all(&removed.collect::<Vec<_>>()).ok()?;
    for place in made.iter().rev() {
        if place.of(document.value()).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
            document.edit(&Edit::Remove { at: place.clone() }).ok()?;
        }
    }
    Some(document.bytes())
}

/// A document without what was set.
fn undone(document: &Value, set: &[SetRecord], made: &[Place]) -> Value {
    let mut document = document.clone();
    for set in set {
        carry_out(&mut document, &Edit::Remove { at: set.at.clone() });
    }
    for place in made.iter().rev() {
        if place.of(&document).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
            carry_out(&mut document, &Edit::Remove { at: place.clone() });
        }
    }
    document
}
