//! Out again: what the ledger knows, newest first.
//!
//! ```text
//!  layer ── is the file as we left it? ── yes ─▶ its delta: byte for byte, checked by the hash
//!                                     └── no ──▶ each entry unwrapped, each hook found by its value; what is not ours any more stays
//!  layers that stay (of another project) ── told anew, as if the others had never been
//! ```

pub(crate) mod hooks;
mod mender;
#[cfg(test)]
mod orders;
mod seen;
pub(crate) mod stray;
mod structural;
#[cfg(test)]
mod tests;
pub(crate) mod told;

use crate::delta::Delta;
use crate::ledger::{FileRecord, Hash, Layer, Ledger};
use crate::operation::Kind;
use crate::plan::held::locate;
use crate::plan::layers::{Text, both};
use crate::plan::secrets::Secrets;
use crate::plan::sheet::{Desk, Sheet};
use crate::plan::{HookLine, Outcome, Plan, ServerLine, value_of};
use crate::survey::Modules;
use bir_hosts::Host;
use bir_hosts::config::{ConfigFile, Refusal, Role, Scope};
pub use mender::ByEntries;
use std::path::{Path, PathBuf};
use structural::{Done, Taken, take_out};

/// What is to be taken out.
#[derive(Debug, Clone)]
pub struct Out {
    /// The project: absolute, resolved.
    pub project: PathBuf,
    /// Every project, and what counts in all of them.
    pub all: bool,
    /// Only these hosts; empty: all.
    pub hosts: Vec<Host>,
}

impl Out {
    fn means_host(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|one| one.as_str() == host)
    }

    /// Whether a layer goes. What counts for all of the user's projects stays until the last of them goes.
    fn means(&self, record: &FileRecord, layer: &Layer, last: bool) -> bool {
        self.means_host(&record.host)
            && match &layer.project {
                _ if self.all => true,
                Some(project) => *project == self.project,
                None => last || !self.hosts.is_empty(),
            }
    }
}

/// Plans an uninstall.
#[must_use]
pub fn undo(modules: &Modules<'_>, ledger: &Ledger, out: &Out) -> Plan {
    let secrets = Secrets::default();
    let mut plan = Plan::new(Kind::Uninstall, ledger.clone());
    let mut desk = Desk::default();
    let last = !ledger.projects.keys().any(|project| *project != out.project);
    let mut paths: Vec<&Path> = Vec::new();
    for record in &ledger.files {
        if !paths.contains(&record.path.as_path()) {
            paths.push(&record.path);
        }
    }
    let mut files = Vec::new();
    for path in paths {
        let records = ledger.files.iter().filter(|record| record.path == path);
        let mut stack: Vec<Stacked<'_>> = records
            .flat_map(|record| {
                let layers = record.layers.iter();
                layers.map(move |layer| Stacked {
                    record,
                    layer: layer.clone(),
                    goes: out.means(record, layer, last),
                })
            })
            .collect();
        stack.sort_by_key(|stacked| stacked.layer.at);
        if stack.iter().any(|stacked| stacked.goes) {
            let left = take_off(modules, &mut desk, stack, &secrets, &mut plan, &ledger.proxies);
            files.extend(left);
        } else {
            files.extend(ledger.files.iter().filter(|record| record.path == path).cloned());
        }
    }
    plan.servers.sort_by(|a, b| (&a.host, &a.server).cmp(&(&b.host, &b.server)));
    plan.operation.ledger.files = files;
    plan.operation.empty_dirs = emptied(ledger, &plan);
    projects(&mut plan, out);
    if plan.operation.ledger.is_empty() {
        plan.operation.ledger.proxies.clear();
    }
    plan.close(&desk, ledger, &secrets);
    plan
}

/// A layer with the record that holds it.
struct Stacked<'l> {
    record: &'l FileRecord,
    layer: Layer,
    goes: bool,
}

/// Takes the layers off a file that go; the records that stay.
fn take_off(
    modules: &Modules<'_>,
    desk: &mut Desk,
    mut stack: Vec<Stacked<'_>>,
    secrets: &Secrets,
    plan: &mut Plan,
    proxies: &[String],
) -> Vec<FileRecord> {
    let Some(first) = stack.first().map(|stacked| stacked.record) else { return Vec::new() };
    let file =
        ConfigFile { path: first.path.clone(), scope: first.scope, format: first.format, role: first.role };
    let sheet = desk.sheet(&file);
    if let Some(why) = sheet.refused().map(ToOwned::to_owned) {
        return fail(plan, &file, stack, &why);
    }
    if is_empty_now(sheet, &stack) {
        // It may come back, from another machine or out of a copy; only that of a project which is no more does not.
        for stacked in stack.iter().filter(|stacked| stacked.goes) {
            tell(plan, stacked, &Done::gone(&stacked.layer));
        }
        stack.retain(|stacked| !(stacked.goes && is_forgotten(stacked)));
        return records(stack);
    }
    in_order(&mut stack);
    let anew = told_anew(modules, sheet, &stack, secrets);
    let value = sheet.value().clone();
    let mut by_entries = false;
    let mut taken = Taken::default();
    let mut failed = None;
    let mut done_for: Vec<(usize, Done)> = Vec::new();
    for (at, stacked) in stack.iter().enumerate().rev().filter(|(_, stacked)| stacked.goes) {
        if exactly(sheet, &stacked.layer, file.role == Role::Own) {
            // What an older layer had put there stands there again, so nothing counts as taken.
            taken.returned(stacked.record, &stacked.layer);
            done_for.push((at, Done::whole(&stacked.layer)));
            continue;
        }
        by_entries = true;
        let done = match stacked.record.role {
            Role::Own => Done::foreign(&stacked.layer),
            _ => match take_out(modules, sheet, stacked.record, &stacked.layer, &taken) {
                Ok(done) => done,
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            },
        };
        taken.add(stacked.record, &stacked.layer);
        done_for.push((at, done));
    }
    let swept = match hooks::sweep(sheet, &stack) {
        _ if failed.is_some() || file.role == Role::Own => 0,
        Ok(swept) => swept,
        Err(why) => {
            failed = Some(why);
            0
        }
    };
    if swept > 0 {
        // What was made for them may be empty now.
        for stacked in stack.iter().filter(|stacked| stacked.goes) {
            if let Err(why) = structural::empty(sheet, &stacked.layer) {
                failed = Some(why);
            }
        }
    }
    // Where the text below holds ours as well: what was there before the ledger knew of it.
    for (stacked, layer) in stack.iter().zip(seen::kept(sheet.value(), &stack, &[])) {
        if let Some(layer) = layer.filter(|_| failed.is_none())
            && let Err(why) = take_out(modules, sheet, stacked.record, &layer, &Taken::default())
        {
            failed = Some(why);
        }
    }
    if let Some(why) = failed {
        let before = sheet.before.clone();
        sheet.replace(before);
        return fail(plan, &file, stack, &why);
    }
    // As long as every layer was as we left it, nobody has put anything of ours elsewhere.
    let strays = match by_entries {
        true => stray::unwrap_all(modules, sheet, &stack, &proxies_of(proxies, &stack, &value)),
        false => Vec::new(),
    };
    let kept = seen::kept(sheet.value(), &stack, &strays);
    for stray in strays {
        told_stray(plan, &file, stray);
    }
    for (at, done) in &mut done_for {
        seen::correct(done, &kept, &stack[*at]);
        if swept > 0 && done.hooks.is_some() {
            done.hooks = Some(Outcome::Restored);
        }
        tell(plan, &stack[*at], done);
    }
    let whose = stack.iter().any(|stacked| stacked.goes && stacked.layer.before.is_none());
    if whose
        && stack.iter().all(|stacked| stacked.goes)
        && file.role != Role::Own
        && structural::says_nothing(sheet)
    {
        sheet.replace(None);
    }
    let anew = heirs(sheet.value(), &stack, anew);
    let stays = stack.into_iter().zip(anew).zip(kept).filter_map(|((stacked, anew), kept)| {
        let layer = if stacked.goes { kept? } else { anew.unwrap_or(stacked.layer) };
        Some(Stacked { layer, ..stacked })
    });
    records(stays.collect())
}

/// Whether there is no file, or nothing in it, though something of the layers stood there.
fn is_empty_now(sheet: &Sheet, stack: &[Stacked<'_>]) -> bool {
    let ours = stack.iter().filter(|stacked| stacked.goes);
    let held = ours.clone().any(|one| !one.layer.entries.is_empty() || !one.layer.hooks.is_empty());
    let is_as_left = ours.clone().any(|one| sheet.hash().is_some_and(|hash| hash == one.layer.after));
    sheet.now.is_none()
        || (held
            && !is_as_left
            && ours.clone().all(|one| one.record.role != Role::Own)
            && structural::says_nothing(sheet))
}

/// Whether a layer of a file that is not there is of no use any more.
fn is_forgotten(stacked: &Stacked<'_>) -> bool {
    let holds = !stacked.layer.entries.is_empty() || !stacked.layer.hooks.is_empty();
    let project = stacked.layer.project.as_deref();
    stacked.record.role == Role::Own || !holds || project.is_some_and(|project| !project.is_dir())
}

/// The proxies that the ledger knows, and those that its entries start.
fn proxies_of(known: &[String], stack: &[Stacked<'_>], document: &serde_json::Value) -> Vec<String> {
    let entries = stack.iter().flat_map(|stacked| &stacked.layer.entries);
    let started = entries.filter_map(|entry| {
        let place = locate(document, entry)?;
        told::starts(place.of(document)?).map(ToOwned::to_owned)
    });
    known.iter().cloned().chain(started).collect()
}

fn told_stray(plan: &mut Plan, file: &ConfigFile, stray: stray::Stray) {
    plan.servers.push(ServerLine {
        host: stray.host,
        server: stray.server,
        scope: file.scope,
        file: file.path.clone(),
        outcome: stray.outcome,
        copied: None,
    });
}

/// Nothing of a file changes, and the ledger goes on knowing it.
fn fail(plan: &mut Plan, file: &ConfigFile, stack: Vec<Stacked<'_>>, why: &str) -> Vec<FileRecord> {
    plan.leave(&file.path, why);
    for stacked in stack.iter().filter(|stacked| stacked.goes) {
        let refusal = Refusal { code: "file", why: why.to_owned() };
        tell(plan, stacked, &Done::failed(&stacked.layer, &refusal));
    }
    records(stack)
}

/// The file is as the layer left it: it is taken off byte for byte. False: it is not, or there is no way back.
fn exactly(sheet: &mut Sheet, layer: &Layer, is_own: bool) -> bool {
    match before_of(sheet.now.as_deref(), layer) {
        Some(before) => {
            if is_own {
                sheet.replace_own(before);
            } else {
                sheet.replace(before);
            }
            true
        }
        None => false,
    }
}

/// The text below a layer. None: the text is not the layer's, or there is no way back; the inner none: there was no file.
#[expect(clippy::option_option, reason = "no file is a text like another")]
fn before_of(now: Option<&[u8]>, layer: &Layer) -> Option<Option<Vec<u8>>> {
    let now = now.filter(|now| Hash::of(now) == layer.after)?;
    let Some(before) = &layer.before else { return Some(None) };
    let old = layer.back.as_ref()?.apply(now)?;
    (Hash::of(&old) == *before).then_some(Some(old))
}

/// Layers of one moment are put into the order of their hashes.
fn in_order(stack: &mut [Stacked<'_>]) {
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
fn told_anew(
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
fn heirs(
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

/// Records of layers, each as it was but for its layers.
fn records(stack: Vec<Stacked<'_>>) -> Vec<FileRecord> {
    let mut records: Vec<FileRecord> = Vec::new();
    for stacked in stack {
        let same = |record: &&mut FileRecord| {
            record.path == stacked.record.path && record.host == stacked.record.host
        };
        match records.iter_mut().find(same) {
            Some(record) => record.layers.push(stacked.layer),
            None => records.push(FileRecord { layers: vec![stacked.layer], ..stacked.record.clone() }),
        }
    }
    records
}

/// The lines of a layer.
fn tell(plan: &mut Plan, stacked: &Stacked<'_>, done: &Done) {
    let record = stacked.record;
    for (server, outcome) in &done.entries {
        let line = ServerLine {
            host: record.host.clone(),
            server: server.clone(),
            scope: scope_of(record, &stacked.layer),
            file: record.path.clone(),
            outcome: outcome.clone(),
            copied: None,
        };
        let known = |other: &ServerLine| {
            other.host == line.host && other.server == line.server && other.file == line.file
        };
        // An entry that was wrapped anew stands in two layers.
        if !plan.servers.iter().any(known) {
            plan.servers.push(line);
        }
    }
    if let Some(outcome) = &done.hooks
        && !plan.hooks.iter().any(|other| other.host == record.host && other.file == record.path)
    {
        plan.hooks.push(HookLine {
            host: record.host.clone(),
            file: record.path.clone(),
            outcome: outcome.clone(),
        });
    }
}

/// For whom a layer counts: one file may hold what is the user's and what is a project's.
fn scope_of(record: &FileRecord, layer: &Layer) -> Scope {
    match (&layer.project, record.scope) {
        (None, _) => Scope::User,
        (Some(_), Scope::User | Scope::Managed) => Scope::Local,
        (Some(_), scope) => scope,
    }
}

/// Directories that were made for files that have no layer any more, innermost first.
fn emptied(ledger: &Ledger, plan: &Plan) -> Vec<PathBuf> {
    let stays = |record: &FileRecord| plan.operation.ledger.files.iter().any(|left| left.path == record.path);
    let gone = ledger.files.iter().filter(|record| !stays(record));
    let mut dirs: Vec<PathBuf> = gone.flat_map(|record| record.made_dirs.iter().cloned()).collect();
    dirs.sort_by_key(|dir| std::cmp::Reverse(dir.components().count()));
    dirs.dedup();
    dirs
}

/// The projects that are none any more.
fn projects(plan: &mut Plan, out: &Out) {
    let ledger = &mut plan.operation.ledger;
    let nothing_left = ledger.files.is_empty();
    let holds = |ledger: &Ledger, project: &Path| {
        ledger
            .files
            .iter()
            .flat_map(|record| &record.layers)
            .any(|layer| layer.project.as_deref() == Some(project))
    };
    let mut gone = Vec::new();
    for (project, record) in &ledger.projects {
        let meant = out.all || *project == out.project;
        // A host alone leaves the project to the others, unless none is left.
        let goes = if out.hosts.is_empty() { meant && !holds(ledger, project) } else { nothing_left };
        if goes {
            gone.push((project.clone(), record.set_up_by_us));
        }
    }
    for (project, set_up_by_us) in gone {
        ledger.projects.remove(&project);
        if set_up_by_us {
            plan.take_out.push(project);
        }
    }
}

/// What `bir uninstall --replay` does: the switch alone.
#[must_use]
pub fn without_replay(ledger: &Ledger, project: &Path) -> Plan {
    let mut plan = Plan::new(Kind::Uninstall, ledger.clone());
    if let Some(record) = plan.operation.ledger.projects.get_mut(project) {
        record.replay = false;
    }
    plan.ledger_changes = plan.operation.ledger != *ledger;
    plan
}

/// An outcome for what is still ours, since what it was cannot be told.
fn stays() -> Outcome {
    let why = "the proxy still stands in it, and what it was cannot be told from it; take it out by hand, then uninstall again";
    Outcome::Left(Refusal { code: "stays", why: why.into() })
}

/// An outcome for what is not ours any more.
pub(crate) fn changed_by_others() -> Outcome {
    let why = "another program has changed or removed it since; it stays as it is".into();
    Outcome::Left(Refusal { code: "changed", why })
}
