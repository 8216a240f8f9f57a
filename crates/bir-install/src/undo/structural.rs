//! What is ours, found by itself in a file that another program has written since, and taken out of it.

use super::file::changed_by_others;
use super::told;
use crate::ledger::{EntryRecord, FileRecord, Layer};
use crate::plan::Outcome;
use crate::plan::held::{is_wrapped, locate, same_place};
use crate::plan::sheet::Sheet;
use crate::survey::Modules;
use bir_hosts::Host;
use bir_hosts::config::Refusal;
use bir_model::{Edit, Place, Step};
use serde_json::Value;

/// What became of a layer.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) entries: Vec<(String, Outcome)>,
    /// None: there were none in it.
    pub(super) hooks: Option<Outcome>,
}

impl Done {
    fn each(layer: &Layer, outcome: &Outcome) -> Self {
        let hooked = !layer.hooks.is_empty() || (layer.entries.is_empty() && layer.set.is_empty());
        Self {
            entries: layer.entries.iter().map(|entry| (entry.server.clone(), outcome.clone())).collect(),
            hooks: hooked.then(|| outcome.clone()),
        }
    }

    /// All of it.
    pub(super) fn whole(layer: &Layer) -> Self {
        Self::each(layer, &Outcome::Restored)
    }

    /// The file is not there any more.
    pub(super) fn gone(layer: &Layer) -> Self {
        let why = "its file is not there, or nothing is in it; it is taken out once it is there again, and `bir uninstall` is run; where its \
                   project does not come back, `bir uninstall DIR` with its directory forgets it"
            .into();
        Self::each(layer, &Outcome::Left(Refusal { code: "gone", why }))
    }

    /// The file is not there any more, and nobody waits for it.
    pub(super) fn forgotten(layer: &Layer) -> Self {
        let why = "the directory of its project is not there; it is forgotten since that was named, and stays in it where it comes back";
        Self::each(layer, &Outcome::Left(Refusal { code: "forgotten", why: why.into() }))
    }

    pub(super) fn failed(layer: &Layer, refusal: &Refusal) -> Self {
        Self::each(layer, &Outcome::Left(refusal.clone()))
    }
}

/// What newer layers had, which have been taken off: an older layer's is not missed then.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// With their hosts.
    entries: Vec<(String, EntryRecord)>,
    /// The lists of hooks, with their hosts.
    hooks: Vec<(String, Place)>,
}

impl Taken {
    pub(super) fn add(&mut self, record: &FileRecord, layer: &Layer) {
        let host = || record.host.clone();
        self.entries.extend(layer.entries.iter().map(|entry| (host(), entry.clone())));
        self.hooks.extend(layer.hooks.iter().map(|hook| (host(), hook.to.clone())));
    }

    /// A layer was taken off byte for byte: what stood in its places before it stands there now.
    pub(super) fn returned(&mut self, record: &FileRecord, layer: &Layer) {
        let is_of = |host: &str| host == record.host;
        self.entries
            .retain(|(host, one)| !(is_of(host) && layer.entries.iter().any(|other| same_place(one, other))));
        self.hooks.retain(|(host, to)| !(is_of(host) && layer.hooks.iter().any(|hook| hook.to == *to)));
    }

    fn entry(&self, host: &str, entry: &EntryRecord) -> bool {
        self.entries.iter().any(|(of, other)| of == host && same_place(other, entry))
    }

    fn hook(&self, host: &str, to: &Place) -> bool {
        self.hooks.iter().any(|(of, other)| of == host && other == to)
    }
}

/// Takes what a layer holds out of a file.
pub(super) fn take_out(
    modules: &Modules<'_>,
    sheet: &mut Sheet,
    record: &FileRecord,
    layer: &Layer,
    taken: &Taken,
) -> Result<Done, String> {
    let mut done = Done::default();
    // Entries under keys do not move each other, so they are taken out at once: each look at a large file costs.
    let mut at_once = Vec::new();
    for entry in layer.entries.iter().filter(|entry| !taken.entry(&record.host, entry)) {
        let outcome = match back(modules, sheet.value(), record, entry) {
            Some(edits) if entry.place.0.iter().all(|step| matches!(step, Step::Key(_))) => {
                at_once.extend(edits);
                Outcome::Restored
            }
            Some(edits) => {
                sheet.edit(&edits)?;
                Outcome::Restored
            }
            None => changed_by_others(),
        };
        done.entries.push((entry.server.clone(), outcome));
    }
    sheet.edit(&at_once)?;
    let mut missing = false;
    for hook in layer.hooks.iter().rev() {
        match position(sheet.value(), &hook.to, &hook.value) {
            Some(at) => drop(sheet.edit(&[Edit::Remove { at: hook.to.index(at) }])?),
            None => missing |= !taken.hook(&record.host, &hook.to),
        }
    }
    if !layer.hooks.is_empty() {
        done.hooks = Some(if missing { changed_by_others() } else { Outcome::Restored });
    }
    for set in &layer.set {
        if set.at.of(sheet.value()) == Some(&set.value) {
            sheet.edit(&[Edit::Remove { at: set.at.clone() }])?;
        }
    }
    empty(sheet, layer)?;
    Ok(done)
}

/// What was made for a layer goes where nothing is in it any more.
pub(super) fn empty(sheet: &mut Sheet, layer: &Layer) -> Result<(), String> {
    let mut made: Vec<&Place> = layer.made.iter().collect();
    made.sort_by_key(|place| std::cmp::Reverse(place.0.len()));
    for place in made {
        if place.of(sheet.value()).is_some_and(is_empty) {
            sheet.edit(&[Edit::Remove { at: place.clone() }])?;
        }
    }
    Ok(())
}

/// The edits that bring an entry back. None: it is not ours any more.
fn back(
    modules: &Modules<'_>,
    document: &Value,
    record: &FileRecord,
    entry: &EntryRecord,
) -> Option<Vec<Edit>> {
    let place = locate(document, entry)?;
    let stands = place.of(document)?;
    match &entry.memo {
        None => is_wrapped(stands).then(|| vec![Edit::Remove { at: place.clone() }]),
        Some(memo) => {
            let config = modules.of(Host::named(&record.host))?;
            let memos = [Some(told::fitted(&record.host, memo, stands)), told::memo(&record.host, stands)];
            memos.into_iter().flatten().find_map(|memo| config.unwrap(stands, &place, &memo).ok())
        }
    }
}

/// The last element of that value: ours were appended.
fn position(document: &Value, list: &Place, value: &Value) -> Option<usize> {
    list.of(document)?.as_array()?.iter().rposition(|item| item == value)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether a file says nothing any more.
pub(super) fn says_nothing(sheet: &Sheet) -> bool {
    sheet.refused().is_none() && sheet.now.is_some() && (is_empty(sheet.value()) || sheet.value().is_null())
}
