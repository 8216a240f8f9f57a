//! Layers that stay in a file, of another project, while those below them go: told anew, as if these had never been.

use super::file::Stacked;
use super::structural::{Taken, take_out};
use crate::delta::Delta;
use crate::ledger::{Hash, Layer};
use crate::plan::layers::{Text, both};
use crate::plan::secrets::Secrets;
use crate::plan::sheet::Sheet;
use crate::plan::value_of;
use crate::survey::Modules;

/// The text below a layer. None: the text is not the layer's, or there is no way back; the inner none: there was no file.
#[expect(clippy::option_option, reason = "no file is a text like another")]
pub(super) fn before_of(now: Option<&[u8]>, layer: &Layer) -> Option<Option<Vec<u8>>> {
    let now = now.filter(|now| Hash::of(now) == layer.after)?;
    let Some(before) = &layer.before else { return Some(None) };
    let old = layer.back.as_ref()?.apply(now)?;
    (Hash::of(&old) == *before).then_some(Some(old))
}

/// Layers of one moment are put into the order of their hashes.
pub(super) fn in_order(stack: &mut [Stacked<'_>]) {
    let mut start = 0;
    while start < stack.len() {
        let at = stack[start].layer.at;
        let end = stack[start..]
            .iter()
            .position(|stacked| stacked.layer.at != at)
            .map_or(stack.len(), |n| start + n);
        let mut next = start;
        while next + 1 < end {
            // The lowest is that whose text no other of them has left.
            let is_lowest = |candidate: &usize| {
                let before = &stack[*candidate].layer.before;
                (next..end)
                    .all(|other| other == *candidate || Some(&stack[other].layer.after) != before.as_ref())
            };
            let lowest = (next..end).find(is_lowest).unwrap_or(next);
            stack[next..=lowest].rotate_right(1);
            next += 1;
        }
        start = end;
    }
}

/// The layers that stay, as they would be had those that go never been there. None for each: it stays as it is.
pub(super) fn told_anew(
    modules: &Modules<'_>,
    sheet: &Sheet,
    stack: &[Stacked<'_>],
    secrets: &Secrets,
) -> Vec<Option<Layer>> {
    let nothing = || stack.iter().map(|_| None).collect();
    let Some(lowest) = stack.iter().position(|stacked| stacked.goes) else { return nothing() };
    if stack[lowest..].iter().all(|stacked| stacked.goes) {
        return nothing();
    }
    // Every text, newest first: after each layer, and below the lowest that goes.
    let mut texts: Vec<Option<Vec<u8>>> = vec![sheet.now.clone()];
    for stacked in stack[lowest..].iter().rev() {
        let Some(before) = before_of(texts.last().and_then(|text| text.as_deref()), &stacked.layer) else {
            return nothing();
        };
        texts.push(before);
    }
    texts.reverse();
    let mut anew: Vec<Option<Layer>> = nothing();
    let mut below = texts[0].clone();
    for (at, stacked) in stack.iter().enumerate().skip(lowest).filter(|(_, stacked)| !stacked.goes) {
        let Some(text) = &texts[at - lowest + 1] else { return nothing() };
        let Some(above) = without(modules, text, &stack[lowest..at]) else { return nothing() };
        let value = |bytes: Option<&[u8]>| {
            bytes.map(|bytes| value_of(bytes, stacked.record.format)).unwrap_or_default()
        };
        let (old, new) = (value(below.as_deref()), value(Some(&above)));
        let before = Text { bytes: below.as_deref(), value: &old };
        let back =
            before.bytes.and_then(|old_text| Delta::between(&above, old_text, &both(secrets, &old, &new)));
        let mut layer = stacked.layer.clone();
        (layer.before, layer.after, layer.back) = (below.as_deref().map(Hash::of), Hash::of(&above), back);
        adopt(&mut layer, &stack[lowest..at], &new);
        anew[at] = Some(layer);
        below = Some(above);
    }
    anew
}

/// What was made for a layer that goes, and holds something of one that stays, is made for that one now.
fn adopt(layer: &mut Layer, below: &[Stacked<'_>], value: &serde_json::Value) {
    let made = below.iter().filter(|stacked| stacked.goes).flat_map(|stacked| &stacked.layer.made);
    let mut all: Vec<_> = made.filter(|place| place.of(value).is_some()).cloned().collect();
    all.retain(|place| !layer.made.contains(place));
    all.append(&mut layer.made);
    layer.made = all;
}

/// Where the layers could not be told anew: what was made for those that go is made for those that stay and have something in it.
pub(super) fn heirs(
    document: &serde_json::Value,
    stack: &[Stacked<'_>],
    mut anew: Vec<Option<Layer>>,
) -> Vec<Option<Layer>> {
    let made = stack.iter().filter(|stacked| stacked.goes).flat_map(|stacked| &stacked.layer.made);
    let known = |place: &bir_model::Place, anew: &[Option<Layer>]| {
        let stay = stack.iter().zip(anew).filter(|(stacked, _)| !stacked.goes);
        stay.map(|(stacked, anew)| anew.as_ref().unwrap_or(&stacked.layer))
            .any(|layer| layer.made.contains(place))
    };
    for place in made.filter(|place| place.of(document).is_some()) {
        let within = |layer: &Layer| {
            let entries = layer.entries.iter().map(|entry| &entry.place);
            let mut all = entries.chain(layer.hooks.iter().map(|hook| &hook.to));
            all.any(|other| other.0.starts_with(&place.0))
        };
        let heir = stack.iter().position(|stacked| !stacked.goes && within(&stacked.layer));
        if let Some(heir) = heir.filter(|_| !known(place, &anew)) {
            let layer = anew[heir].get_or_insert_with(|| stack[heir].layer.clone());
            layer.made.insert(0, place.clone());
        }
    }
    anew
}

/// A text without what the layers hold that go.
fn without(modules: &Modules<'_>, text: &[u8], layers: &[Stacked<'_>]) -> Option<Vec<u8>> {
    let first = layers.first()?.record;
    let mut sheet = Sheet::of_text(&first.path, first.format, text);
    let mut taken = Taken::default();
    for stacked in layers.iter().rev().filter(|stacked| stacked.goes) {
        take_out(modules, &mut sheet, stacked.record, &stacked.layer, &taken).ok()?;
        taken.add(stacked.record, &stacked.layer);
    }
    sheet.now
}
