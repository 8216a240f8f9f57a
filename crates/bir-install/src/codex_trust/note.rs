//! `trust.json`: what Codex is about to be told, written before it is. It stands in the state directory until the ledger has what Codex
//! wrote, so that a crash in between leaves nothing that no uninstall knows.

use super::{BUDGET, Wanted, layer_of, members_made, undone_text};
use crate::delta::Delta;
use crate::ledger::{Hash, Ledger, SetRecord, store};
use crate::operation::disk::Disk;
use crate::operation::{CommitError, Kind, Mender, Operation, commit, read_ledger};
use crate::plan::layers::{both, push};
use crate::plan::secrets::Secrets;
use crate::plan::value_of;
use bir_hosts::Host;
use bir_model::{Format, Place};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the file; a newer one is not touched.
const VERSION: u32 = 1;
/// So often it is begun with anew, where another `bir` was faster.
const TRIES: usize = 5;

/// The note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    /// [`VERSION`].
    version: u32,
    /// When, ms since the Unix epoch.
    at: u64,
    /// For whom.
    pub(super) wanted: Wanted,
    /// Codex's configuration before; none: there was no file.
    before: Option<Hash>,
    /// What it is to write.
    set: Vec<SetRecord>,
    /// The tables that it makes for that, outermost first.
    made: Vec<Place>,
}

impl Note {
    pub(super) fn new(wanted: &Wanted, before: Option<&[u8]>, set: Vec<SetRecord>, at: u64) -> Self {
        let old = before.map(|text| value_of(text, Format::Toml)).unwrap_or_default();
        Self {
            version: VERSION,
            at,
            wanted: wanted.clone(),
            before: before.map(Hash::of),
            set,
            made: members_made(&old),
        }
    }

    fn path(state_dir: &Path) -> PathBuf {
        state_dir.join("trust.json")
    }

    pub(super) fn read(state_dir: &Path) -> Result<Option<Self>, CommitError> {
        let advice = "it names what Codex was told to trust: look at `hooks.state` in Codex's config.toml, then remove it";
        store::read_versioned(&Self::path(state_dir), VERSION, advice)
    }

    /// Writes it. One that another command has left goes into it: what that one asked for may come yet.
    pub(super) fn write(mut self, state_dir: &Path) -> io::Result<()> {
        if let Ok(Some(older)) = Self::read(state_dir)
            && older.wanted.config == self.wanted.config
        {
            let more = older.set.into_iter().filter(|set| !self.set.iter().any(|new| new.at == set.at));
            let more: Vec<_> = more.collect();
            self.set.extend(more);
            (self.before, self.made) = (older.before, older.made);
        }
        bir_home::replace(&Self::path(state_dir), &serde_json::to_vec(&self)?)
    }

    pub(super) fn remove(state_dir: &Path) -> Result<(), CommitError> {
        let path = Self::path(state_dir);
        Disk::default().remove(&path).map_err(|source| CommitError::Write { path, source })
    }
}

/// Whether a ledger knows all of what was set in a file.
pub(super) fn is_known(ledger: &Ledger, config: &Path, set: &[SetRecord]) -> bool {
    let records = ledger.files.iter().filter(|record| record.path == config);
    let known: Vec<&SetRecord> =
        records.flat_map(|record| &record.layers).flat_map(|layer| &layer.set).collect();
    set.iter().all(|set| known.contains(&set))
}

/// Notes in the ledger what Codex wrote for a command that did not come to its end, in words. None: nothing was left, or Codex has not
/// written it, and may do so for a while. `now`: ms since the Unix epoch.
///
/// # Errors
///
/// [`CommitError`]; the note stays then.
pub fn repair(state_dir: &Path, now: u64, mender: &dyn Mender) -> Result<Option<String>, CommitError> {
    for turn in 1..=TRIES {
        let Some(note) = Note::read(state_dir)? else { return Ok(None) };
        match settle(state_dir, &note, now, mender) {
            Err(CommitError::Changed(_)) if turn < TRIES => {}
            done => return done,
        }
    }
    Ok(None)
}

fn settle(
    state_dir: &Path,
    note: &Note,
    now: u64,
    mender: &dyn Mender,
) -> Result<Option<String>, CommitError> {
    let mut ledger = read_ledger(state_dir)?;
    let text = std::fs::read(&note.wanted.config).unwrap_or_default();
    let value = value_of(&text, Format::Toml);
    let stands = |set: &&SetRecord| set.at.of(&value) == Some(&set.value);
    let set: Vec<SetRecord> = note.set.iter().filter(stands).cloned().collect();
    if set.is_empty() && u128::from(now.abs_diff(note.at)) < BUDGET.as_millis() {
        return Ok(None);
    }
    if is_known(&ledger, &note.wanted.config, &set) {
        Note::remove(state_dir)?;
        return Ok(None);
    }
    let made: Vec<Place> = note.made.iter().filter(|place| place.of(&value).is_some()).cloned().collect();
    // The text before is not kept. Where ours taken out of it is that text, there is a way back all the same.
    let old = undone_text(&text, &set, &made).filter(|old| Some(Hash::of(old)) == note.before);
    let back = old.and_then(|old| {
        let before = value_of(&old, Format::Toml);
        Delta::between(&text, &old, &both(&Secrets::default(), &before, &value))
    });
    let (file, mut layer) = layer_of(&note.wanted, now, set, made, &text);
    (layer.before, layer.back) = (note.before.clone(), back);
    push(&mut ledger, Host::Codex.as_str(), &file, Vec::new(), layer);
    let operation = Operation { kind: Kind::Install, changes: Vec::new(), ledger, empty_dirs: Vec::new() };
    commit(state_dir, &operation, mender)?;
    Note::remove(state_dir)?;
    Ok(Some("a command was interrupted while Codex was told to trust our hooks; what it wrote is noted now, for `bir uninstall`".into()))
}
