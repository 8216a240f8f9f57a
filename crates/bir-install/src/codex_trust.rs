//! The trust of Codex in our hooks: it skips a hook that its user has not trusted, without a word.
//!
//! ```text
//!  codex app-server ◀── initialize, initialized
//!                   ◀── hooks/list ──▶ each hook with a key, a command, the hash of its text, its trust
//!                   ◀── config/batchWrite: hooks.state.KEY.trusted_hash, for ours alone
//!                   ◀── hooks/list ──▶ ours are trusted
//! ```
//!
//! That is Codex's own interface, and it is used once the person has accepted a plan that says so. What it writes into `config.toml` becomes
//! a layer of the ledger, so that it goes as it came.

mod server;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
mod wanted;

pub use server::{BUDGET, TrustError};
pub(crate) use wanted::wanted;

use crate::delta::Delta;
use crate::ledger::{Hash, Layer, SetRecord};
use crate::operation::{CommitError, Kind, Mender, Operation, commit, read_ledger};
use crate::plan::layers::{both, project_of, push};
use crate::plan::secrets::Secrets;
use crate::plan::value_of;
use bir_hosts::Host;
use bir_hosts::config::{ConfigFile, Role, Scope, carry_out};
use bir_model::{Edit, Format, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Trust that is to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Has Codex trust our hooks. Blocks for at most [`BUDGET`]; the program has ended afterwards.
///
/// # Errors
///
/// [`TrustError`]: our hooks are not all trusted.
pub fn give(program: &Path, wanted: &Wanted) -> Result<Given, TrustError> {
    let before = std::fs::read(&wanted.config).ok();
    let trusted = server::trust(program, wanted, BUDGET)?;
    let after = std::fs::read(&wanted.config).ok();
    let member = |(key, hash): (String, String)| SetRecord {
        at: Place::keys(["hooks", "state"]).key(key),
        value: serde_json::json!({ "trusted_hash": hash }),
    };
    Ok(Given { before, after, set: trusted.into_iter().map(member).collect() })
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
    let Some(layer) = layer(wanted, given, now) else { return Ok(()) };
    let mut ledger = read_ledger(state_dir)?;
    let file = ConfigFile {
        path: wanted.config.clone(),
        scope: wanted.scope,
        format: Format::Toml,
        role: Role::Servers,
    };
    push(&mut ledger, Host::Codex.as_str(), &file, Vec::new(), layer);
    commit(
        state_dir,
        &Operation { kind: Kind::Install, changes: Vec::new(), ledger, empty_dirs: Vec::new() },
        mender,
    )
}

/// The layer of what Codex wrote. None: it wrote nothing.
fn layer(wanted: &Wanted, given: Given, now: u64) -> Option<Layer> {
    let after = given.after.filter(|after| given.before.as_ref() != Some(after))?;
    let value = |bytes: &[u8]| value_of(bytes, Format::Toml);
    let (old, new) = (given.before.as_deref().map(value).unwrap_or_default(), value(&after));
    let set: Vec<SetRecord> =
        given.set.into_iter().filter(|set| set.at.of(&new) == Some(&set.value)).collect();
    let made: Vec<Place> = [Place::keys(["hooks"]), Place::keys(["hooks", "state"])]
        .into_iter()
        .filter(|place| place.of(&old).is_none() && place.of(&new).is_some())
        .collect();
    // Somebody else may have written in the same moment: then ours is taken out by itself.
    let alone = undone(&new, &set, &made) == old;
    let back = given
        .before
        .as_deref()
        .filter(|_| alone)
        .and_then(|before| Delta::between(&after, before, &both(&Secrets::default(), &old, &new)));
    Some(Layer {
        project: project_of(wanted.scope, &wanted.project),
        at: now,
        before: given.before.as_deref().map(Hash::of),
        after: Hash::of(&after),
        back,
        entries: Vec::new(),
        hooks: Vec::new(),
        set,
        made,
    })
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
