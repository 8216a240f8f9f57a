//! The last look before anything is forgotten: what layers that go name, and what stands there in the text that comes out.
//!
//! A delta leads to what was there before, and that may have been wrapped as well; an edit may not have been possible. So a layer goes
//! once none of its places is ours any more, and until then as much of it stays in the ledger.

use super::file::Stacked;
use super::stray::{Stray, is_of};
use super::structural::Done;
use crate::ledger::{EntryRecord, Layer};
use crate::plan::held::{is_wrapped, locate, same_place};
use serde_json::Value;

/// What the ledger goes on knowing of each layer that goes; none: nothing of it stands there.
pub(super) fn kept(document: &Value, stack: &[Stacked<'_>], strays: &[Stray]) -> Vec<Option<Layer>> {
    let left: Vec<&Stray> = strays.iter().filter(|stray| !stray.outcome.changes()).collect();
    // One that nobody's record names is remembered by the first that goes.
    let is_named = |stray: &Stray| {
        let layers = stack.iter().filter(|stacked| stacked.goes).map(|stacked| &stacked.layer);
        layers.flat_map(|layer| &layer.entries).any(|entry| is_of(stray, entry))
    };
    let unnamed = left.iter().any(|stray| !is_named(stray));
    let first = stack.iter().position(|stacked| stacked.goes && !stacked.layer.entries.is_empty());
    let keeps = |at: usize, entry: &EntryRecord| {
        left.iter().any(|stray| is_of(stray, entry)) || (unnamed && Some(at) == first)
    };
    let each = stack.iter().enumerate();
    each.map(|(at, stacked)| kept_of(document, stack, stacked, &|entry| keeps(at, entry))).collect()
}

fn kept_of(
    document: &Value,
    stack: &[Stacked<'_>],
    stacked: &Stacked<'_>,
    keeps: &dyn Fn(&EntryRecord) -> bool,
) -> Option<Layer> {
    if !stacked.goes {
        return None;
    }
    let stands = |entry: &&EntryRecord| {
        let now = locate(document, entry).and_then(|place| place.of(document).cloned());
        keeps(entry) || (now.is_some_and(|now| is_wrapped(&now)) && !stays(stack, stacked, entry))
    };
    let entries: Vec<EntryRecord> = stacked.layer.entries.iter().filter(stands).cloned().collect();
    // Its way back leads to a text of layers that may have gone.
    (!entries.is_empty()).then(|| Layer {
        entries,
        hooks: Vec::new(),
        set: Vec::new(),
        back: None,
        ..stacked.layer.clone()
    })
}

/// Whether a layer that stays has the same entry: it is that one's affair.
fn stays(stack: &[Stacked<'_>], of: &Stacked<'_>, entry: &EntryRecord) -> bool {
    let others = stack.iter().filter(|other| !other.goes && other.record.host == of.record.host);
    others.flat_map(|other| &other.layer.entries).any(|other| same_place(other, entry))
}

/// What is kept is not told as restored.
pub(super) fn correct(done: &mut Done, kept: &[Option<Layer>], stacked: &Stacked<'_>) {
    for (server, outcome) in &mut done.entries {
        let mut entries = kept.iter().flatten().flat_map(|layer| &layer.entries);
        let of_this = stacked.layer.entries.iter().filter(|entry| entry.server == *server);
        let of_this: Vec<_> = of_this.collect();
        if entries.any(|entry| of_this.iter().any(|other| same_place(other, entry))) {
            *outcome = super::file::stays();
        }
    }
}
