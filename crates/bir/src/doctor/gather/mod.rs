//! Looking: everything that a finding may come from, as it is now. Nothing is changed here, and each look has a budget.

mod control;
mod hosts;
mod hub;
mod programs;
mod projects;
mod state;

use super::{Report, VERSION};
use crate::error::CommandError;
use crate::home::{Home, block_on};
use crate::programs as ours;
use crate::project::here;
use bir_control_client::{Seen, project_of};
use bir_install::doctor::entries::{self, Entry};
use bir_install::doctor::program::{Lacking, Program, Use};
use bir_install::doctor::registered::Registered;
use bir_install::doctor::{self as find, sorted};
use bir_install::ledger::Ledger;
use bir_install::operation::read_ledger;
use programs::Programs;
use serde::Serialize;
use std::path::PathBuf;

/// The files of what is under way: of an operation, and of the trust that Codex is told of.
const PENDING: [&str; 2] = ["pending.json", "trust.json"];

/// A wrapped server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wrapped {
    #[serde(flatten)]
    pub(super) entry: Entry,
    /// The proxy that it starts is not there, or cannot be started.
    pub(super) dead: bool,
    /// When a proxy of it came last, ms since the Unix epoch.
    pub(super) registered_at: Option<u64>,
}

/// Looks at everything.
pub(super) fn look(home: &Home) -> Result<Report, CommandError> {
    let here = here()?;
    let here = here.canonicalize().unwrap_or(here);
    let project = project_of(&here);
    let state_dir = &home.dir;
    let (ledger, unreadable) = match read_ledger(state_dir) {
        Ok(ledger) => (ledger, None),
        Err(e) => (Ledger::default(), Some(e.to_string())),
    };
    let pending =
        PENDING.map(|name| state_dir.join(name)).into_iter().find(|file| file.symlink_metadata().is_ok());
    let hosts = hosts::look(&project, &ledger);
    let (control, hub) = block_on(async { Ok(tokio::join!(control::look(state_dir), hub::look(home))) })?;
    let set_up = projects::covering(state_dir, &here);
    let seen = Seen::read(state_dir);

    let mut findings = find::ledger::whole(pending.as_deref(), unreadable.as_deref());
    findings.extend(find::state::findings(&state::look(home)));
    findings.extend(hosts.broken);
    findings.extend(find::ledger::findings(&ledger, &hosts::now));
    findings.extend(find::program::findings(&hosts.uses, VERSION, lacking()));
    findings.extend(entries::findings(&hosts.entries));
    if let Some(project) = &set_up {
        let none = std::collections::BTreeMap::new();
        findings.extend(find::registered::findings(
            &hosts.entries,
            &Registered {
                project,
                seen: &seen,
                bypassed: control.bypassed.get(project).unwrap_or(&none),
                wrapped_at: &|entry| wrapped_at(&ledger, entry),
            },
        ));
    }
    findings.extend(find::names::findings(&hosts.entries, &hub.tools));
    findings.extend(find::hooks::findings(&hosts.hooks, &hosts.entries, set_up.is_some()));
    find::hooks::switched_off(&hosts.hooks_off, &hosts.hooks, &hosts.entries, &mut findings);
    findings.extend(find::hooks::untrusted(&hosts.trusted, ours::on_path("codex").is_some()));
    findings.extend(find::projects::findings(&projects::look(state_dir, &here, &ledger, &hosts.hooks)));
    findings.extend(find::control::findings(&control.observed, VERSION));
    findings.extend(find::hub::findings(&hub.hub));

    let registered =
        |entry: &Entry| seen.registration(set_up.as_deref()?, &entry.server).map(|proxy| proxy.at);
    let wrapped = hosts.entries.iter().filter(|entry| entry.proxy.is_some());
    let is_dead = |entry: &Entry| hosts.uses.iter().any(|used| used.is_dead() && is_of(used, entry));
    let wrapped = wrapped.map(|entry| Wrapped {
        entry: entry.clone(),
        dead: is_dead(entry),
        registered_at: registered(entry),
    });
    let wrapped = wrapped.collect();
    let derivation = hub.derivation;
    Ok(Report {
        project,
        findings: sorted(findings),
        wrapped,
        hooks: hosts.hooks,
        uses: hosts.uses,
        derivation,
    })
}

/// What is missing of this installation.
fn lacking() -> Lacking {
    // One that cannot be started is as good as none.
    let works = |path: PathBuf, name| {
        path.to_str().is_some_and(|path| {
            !matches!(Programs::default().of(path, name), Program::Missing | Program::NotExecutable)
        })
    };
    let lacks = |name| !ours::program(name).is_ok_and(|path| works(path, name));
    Lacking { proxy: lacks(ours::PROXY), hooks: lacks(ours::HOOKS) }
}

/// Whether it is the program of an entry.
fn is_of(used: &Use, entry: &Entry) -> bool {
    (used.server.as_ref(), &used.host, &used.file, Some(&used.path))
        == (Some(&entry.server), &entry.host, &entry.file, entry.proxy.as_ref())
}

/// When we wrapped an entry.
fn wrapped_at(ledger: &Ledger, entry: &Entry) -> Option<u64> {
    let files = ledger.files.iter().filter(|file| file.path == entry.file && file.host == entry.host);
    let layers = files.flat_map(|file| &file.layers);
    let ours = layers.filter(|layer| layer.entries.iter().any(|one| one.server == entry.server));
    ours.map(|layer| layer.at).max()
}

/// The home directory of the user, as hosts look for it.
fn user_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}
