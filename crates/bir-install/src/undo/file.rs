//! The layers of one file, newest first.
//!
//! ```text
//!  layer ── is the file as we left it? ── yes ─▶ its delta: byte for byte, checked by the hash
//!                                     └── no ──▶ each entry unwrapped, each hook found by its value; what is not ours any more stays
//!  what starts a proxy of ours anywhere else ──▶ unwrapped as well
//! ```

use super::anew::{before_of, heirs, in_order, told_anew};
use super::structural::{Done, Taken, take_out};
use super::{hooks, own, seen, stray, structural, told};
use crate::ledger::{FileRecord, Layer};
use crate::plan::held::locate;
use crate::plan::secrets::Secrets;
use crate::plan::sheet::{Desk, Sheet};
use crate::plan::{HookLine, Outcome, Plan, ServerLine};
use crate::survey::Modules;
use bir_hosts::config::{ConfigFile, Refusal, Role, Scope};

/// A layer with the record that holds it.
pub(super) struct Stacked<'l> {
    pub(super) record: &'l FileRecord,
    pub(super) layer: Layer,
    pub(super) goes: bool,
    /// Where its file is not there, nothing is to be known of it any more.
    pub(super) forgotten: bool,
}

impl Stacked<'_> {
    /// Whether the directory of its project is not there: what stood in it may come back with it.
    pub(super) fn is_away(&self) -> bool {
        self.layer.project.as_deref().is_some_and(|project| !project.is_dir())
    }

    /// What is told of it where its file is not there.
    pub(super) fn gone(&self) -> Done {
        match (self.is_away(), self.forgotten) {
            (true, true) => Done::forgotten(&self.layer),
            _ => Done::gone(&self.layer),
        }
    }
}

/// Takes the layers off a file that go; the records that stay.
pub(super) fn take_off(
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
    if file.role == Role::Own {
        return own::take_off(sheet, stack, plan);
    }
    if is_empty_now(sheet, &stack) {
        // It may come back, from another machine, out of a copy, or with the disk that its project lies on.
        for stacked in stack.iter().filter(|stacked| stacked.goes) {
            tell(plan, stacked, &stacked.gone());
        }
        stack.retain(|stacked| !(stacked.goes && is_forgotten(stacked)));
        return records(stack);
    }
    in_order(&mut stack);
    let anew = told_anew(modules, sheet, &stack, secrets);
    let value = sheet.value().clone();
    let mut taken = Taken::default();
    let mut failed = None;
    let mut done_for: Vec<(usize, Done)> = Vec::new();
    let is_as_left = sheet.hash() == stack.last().map(|stacked| stacked.layer.after.clone());
    let mut by_entries = false;
    for (at, stacked) in stack.iter().enumerate().rev().filter(|(_, stacked)| stacked.goes) {
        if exactly(sheet, &stacked.layer) {
            // What an older layer had put there stands there again, so nothing counts as taken.
            taken.returned(stacked.record, &stacked.layer);
            done_for.push((at, Done::whole(&stacked.layer)));
            continue;
        }
        by_entries = true;
        let done = match take_out(modules, sheet, stacked.record, &stacked.layer, &taken) {
            Ok(done) => done,
            Err(why) => {
                failed = Some(why);
                break;
            }
        };
        taken.add(stacked.record, &stacked.layer);
        done_for.push((at, done));
    }
    let swept = match hooks::sweep(sheet, &stack) {
        _ if failed.is_some() => 0,
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
    // Also where every layer was as we left it: what stood below them may hold a proxy of ours at a place that no layer names.
    let strays = stray::unwrap_all(modules, sheet, &stack, &proxies_of(proxies, &stack, &value));
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
    if whose && stack.iter().all(|stacked| stacked.goes) && structural::says_nothing(sheet) {
        sheet.replace(None);
    }
    let is_back = stack.iter().all(|stacked| stacked.goes)
        && sheet.hash() == stack.first().and_then(|stacked| stacked.layer.before.clone());
    if by_entries && is_as_left && sheet.changes() && !is_back {
        plan.notes.push(format!(
            "{}: taken back entry by entry, since the way back byte for byte is not known; what it says is as it was, and how that is written (spacing, quotes, escapes, order) may not be",
            file.path.display()
        ));
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
    let mut ours = stack.iter().filter(|stacked| stacked.goes);
    let held = ours.clone().any(|one| !one.layer.entries.is_empty() || !one.layer.hooks.is_empty());
    let is_as_left = ours.any(|one| sheet.hash().is_some_and(|hash| hash == one.layer.after));
    sheet.now.is_none() || (held && !is_as_left && structural::says_nothing(sheet))
}

/// Whether a layer of a file that is not there is of no use any more.
fn is_forgotten(stacked: &Stacked<'_>) -> bool {
    let holds = !stacked.layer.entries.is_empty() || !stacked.layer.hooks.is_empty();
    (!holds && !stacked.is_away()) || (stacked.forgotten && stacked.is_away())
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
fn exactly(sheet: &mut Sheet, layer: &Layer) -> bool {
    let before = before_of(sheet.now.as_deref(), layer);
    let is_exact = before.is_some();
    if let Some(before) = before {
        sheet.replace(before);
    }
    is_exact
}

/// Records of layers, each as it was but for its layers.
pub(super) fn records(stack: Vec<Stacked<'_>>) -> Vec<FileRecord> {
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
pub(super) fn tell(plan: &mut Plan, stacked: &Stacked<'_>, done: &Done) {
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

/// An outcome for what is still ours, since what it was cannot be told.
pub(super) fn stays() -> Outcome {
    let why = "the proxy still stands in it, and what it was cannot be told from it; take it out by hand, then uninstall again";
    Outcome::Left(Refusal { code: "stays", why: why.into() })
}

/// An outcome for what is not ours any more.
pub(super) fn changed_by_others() -> Outcome {
    let why = "another program has changed or removed it since; it stays as it is".into();
    Outcome::Left(Refusal { code: "changed", why })
}
