//! Entries that start a proxy of ours where no layer names them: renamed, copied, or under another root by somebody's hand.

use super::file::Stacked;
use super::told::{self, is_by_hand, starts, wrapped_as};
use crate::ledger::EntryRecord;
use crate::plan::Outcome;
use crate::plan::held::locate;
use crate::plan::sheet::Sheet;
use crate::survey::Modules;
use bir_hosts::Host;
use bir_hosts::config::carry_out;
use bir_model::{Edit, Place, Step};
use serde_json::Value;
use std::path::Path;

/// An entry, and what became of it.
#[derive(Debug)]
pub(super) struct Stray {
    /// Its key.
    pub(super) server: String,
    /// The name under which it was wrapped.
    pub(super) wrapped_as: Option<String>,
    pub(super) host: String,
    /// [`Outcome::Restored`], or why not.
    pub(super) outcome: Outcome,
}

/// Every entry of a document that starts a proxy, the last of a list first.
pub(crate) fn all(document: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    walk(document, &Place::default(), &mut found);
    found.reverse();
    found
}

fn walk(value: &Value, at: &Place, found: &mut Vec<Place>) {
    if starts(value).is_some() {
        return found.push(at.clone());
    }
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| walk(value, &at.key(key), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| walk(value, &at.index(n), found));
        }
        _ => {}
    }
}

/// Whether a proxy is of this installation: at a path that the ledger knows, or one where no program is any more.
pub(crate) fn is_ours(proxies: &[String], proxy: &str) -> bool {
    let path = Path::new(proxy);
    proxies.iter().any(|known| known == proxy) || (path.is_absolute() && !path.exists())
}

/// Unwraps them. Where layers stay in the file, only beside entries of those that go, where none of those that stay is.
pub(super) fn unwrap_all(
    modules: &Modules<'_>,
    sheet: &mut Sheet,
    stack: &[Stacked<'_>],
    proxies: &[String],
) -> Vec<Stray> {
    let entries = |goes: bool| {
        let layers = stack.iter().filter(move |stacked| stacked.goes == goes);
        layers.flat_map(|stacked| stacked.layer.entries.iter().map(move |entry| (stacked, entry)))
    };
    let all_go = stack.iter().all(|stacked| stacked.goes);
    let mut strays = Vec::new();
    for place in all(sheet.value()) {
        let Some(entry) = place.of(sheet.value()).cloned() else { continue };
        let is_known = |(_, known): (&Stacked<'_>, &EntryRecord)| {
            locate(sheet.value(), known).is_some_and(|known| known == place)
        };
        let beside = |(_, known): (&Stacked<'_>, &EntryRecord)| above(&known.place) == above(&place);
        let is_meant = all_go || (entries(true).any(beside) && !entries(false).any(beside));
        if !is_meant
            || entries(true).any(is_known)
            || entries(false).any(is_known)
            // Whoever has wrapped it by hand has asked for that.
            || is_by_hand(&entry)
            || !starts(&entry).is_some_and(|proxy| is_ours(proxies, proxy))
        {
            continue;
        }
        let name = wrapped_as(&entry).map(ToOwned::to_owned);
        let of_name = entries(true).find(|(_, known)| Some(&known.server) == name.as_ref());
        let host = of_name.map(|(stacked, _)| stacked).or_else(|| stack.first());
        let host = host.map_or_else(String::new, |stacked| stacked.record.host.clone());
        let memos = entries(true)
            .filter(|(_, known)| Some(&known.server) == name.as_ref())
            .filter_map(|(_, known)| known.memo.as_ref());
        let memos = memos.map(|memo| told::fitted(&host, memo, &entry)).chain(told::memo(&host, &entry));
        let edits = memos.into_iter().find_map(|memo| {
            let edits = modules.of(Host::named(&host))?.unwrap(&entry, &place, &memo).ok()?;
            leaves_none(sheet.value(), &place, &edits).then_some(edits)
        });
        let done = edits.is_some_and(|edits| sheet.edit(&edits).is_ok());
        strays.push(Stray {
            server: match place.0.last() {
                Some(Step::Key(key)) => key.clone(),
                _ => name.clone().unwrap_or_default(),
            },
            wrapped_as: name,
            host,
            outcome: if done { Outcome::Restored } else { super::file::stays() },
        });
    }
    strays
}

fn above(place: &Place) -> &[Step] {
    place.0.split_last().map_or(&[], |(_, above)| above)
}

/// Whether no proxy stands there after the edits.
fn leaves_none(document: &Value, place: &Place, edits: &[Edit]) -> bool {
    let mut document = document.clone();
    edits.iter().all(|edit| carry_out(&mut document, edit))
        && place.of(&document).is_some_and(|entry| starts(entry).is_none())
}

/// Whether a record names what a stray was.
pub(super) fn is_of(stray: &Stray, entry: &EntryRecord) -> bool {
    stray.wrapped_as.as_ref() == Some(&entry.server) || stray.server == entry.server
}
