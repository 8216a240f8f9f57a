//! Out again: which layers of the ledger go, and what becomes of the projects. How they are taken off a file is in `file`; of one that is
//! ours alone, in `own`.

mod anew;
mod file;
pub(crate) mod hooks;
mod mender;
#[cfg(test)]
mod orders;
mod own;
mod seen;
pub(crate) mod stray;
mod structural;
#[cfg(test)]
mod tests;
pub(crate) mod told;

use crate::ledger::{FileRecord, Layer, Ledger};
use crate::operation::Kind;
use crate::plan::Plan;
use crate::plan::held::same_place;
use crate::plan::secrets::Secrets;
use crate::plan::sheet::{Desk, real};
use crate::survey::Modules;
use bir_hosts::Host;
use file::{Stacked, take_off};
pub use mender::ByEntries;
use std::path::{Path, PathBuf};

/// What is to be taken out.
#[derive(Debug, Clone)]
pub struct Out {
    /// The project: absolute, resolved.
    pub project: PathBuf,
    /// Every project, and what counts in all of them.
    pub all: bool,
    /// Only these hosts; empty: all.
    pub hosts: Vec<Host>,
    /// The project was named, and its directory is not there: what stood in it is forgotten. Otherwise it is kept until it is there again,
    /// since a directory may have been moved, or its disk not be mounted.
    pub forget: bool,
}

impl Out {
    fn means_host(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|one| one.as_str() == host)
    }

    /// Whether a layer of a file that is not there is forgotten.
    fn forgets(&self, layer: &Layer) -> bool {
        self.forget && layer.project.as_ref() == Some(&self.project) && !self.project.is_dir()
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
    // By what the paths lead to: one file may have been named by a host and by a link to it.
    let mut grouped: Vec<(PathBuf, Vec<&FileRecord>)> = Vec::new();
    for record in &ledger.files {
        let path = real(&record.path);
        match grouped.iter_mut().find(|(known, _)| *known == path) {
            Some((_, records)) => records.push(record),
            None => grouped.push((path, vec![record])),
        }
    }
    let mut files = Vec::new();
    for (_, group) in grouped {
        let records = group.iter().copied();
        let mut stack: Vec<Stacked<'_>> = records
            .flat_map(|record| {
                let layers = record.layers.iter();
                layers.map(move |layer| Stacked {
                    record,
                    layer: layer.clone(),
                    goes: out.means(record, layer, last),
                    forgotten: out.forgets(layer),
                })
            })
            .collect();
        stack.sort_by_key(|stacked| stacked.layer.at);
        without_doubles(&mut stack);
        if stack.iter().any(|stacked| stacked.goes) {
            let left = take_off(modules, &mut desk, stack, &secrets, &mut plan, &ledger.proxies);
            files.extend(left);
        } else {
            files.extend(group.into_iter().cloned());
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
    plan.veil();
    plan
}

/// What was taken into the ledger since it stood in the file, and what another layer that goes has put there, is that one's alone: an entry
/// that was wrapped with `--config` in a file of a host is seen by that host as well.
fn without_doubles(stack: &mut Vec<Stacked<'_>>) {
    let is_found = |stacked: &Stacked<'_>| {
        stacked.layer.back.is_none() && stacked.layer.before.as_ref() == Some(&stacked.layer.after)
    };
    for at in (0..stack.len()).rev().filter(|at| is_found(&stack[*at])).collect::<Vec<_>>() {
        let is_other = |(n, other): &(usize, &Stacked<'_>)| {
            let of_same = std::ptr::eq(other.record, stack[at].record);
            !of_same && other.goes && (*n < at || !is_found(other))
        };
        let others = stack.iter().enumerate().filter(is_other);
        let theirs: Vec<_> = others.flat_map(|(_, other)| other.layer.entries.clone()).collect();
        let layer = &mut stack[at].layer;
        let before = layer.entries.len();
        layer.entries.retain(|entry| !theirs.iter().any(|other| same_place(entry, other)));
        if layer.entries.len() < before && layer.entries.is_empty() && layer.hooks.is_empty() {
            stack.remove(at);
        }
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
