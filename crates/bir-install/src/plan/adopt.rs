//! What of ours stands in the files and in no ledger, since that was lost: taken into it with what the entries and hooks tell of themselves.
//! An entry that a person has wrapped by hand is not ours: nobody would know its options any more once it was taken out.

use super::layers::{project_of, push};
use crate::ledger::{EntryRecord, Hash, HookRecord, Layer, Ledger};
use crate::survey::{HostSurvey, ReadFile, Survey, name_of};
use crate::undo::hooks::within;
use crate::undo::stray::is_ours;
use crate::undo::told;
use bir_hosts::config::{Role, Scope, Server, is_copy_of};
use bir_hosts::{Host, our_file};
use bir_model::Place;
use serde_json::Value;
use std::path::PathBuf;

/// The ledger, and what of ours it did not know. `proxy`, `hooks`: the programs of this installation; one at a path where there is none any
/// more is ours as well.
#[must_use]
pub fn adopt(survey: &Survey, ledger: &Ledger, proxy: &str, hooks: &str) -> Ledger {
    let mut adopted = ledger.clone();
    let mut proxies = ledger.proxies.clone();
    proxies.push(proxy.to_owned());
    for host in &survey.hosts {
        for read in host.files.iter().filter(|read| read.bytes.is_some()) {
            if read.file.role == Role::Own {
                own(host, read, ledger, hooks, &mut adopted);
                continue;
            }
            for scope in [Scope::User, Scope::Project, Scope::Local] {
                let entries = entries(host, read, scope, ledger, &proxies);
                let hooks = if read.file.scope == scope {
                    hooks_in(host, read, ledger, &[hooks.to_owned()])
                } else {
                    Vec::new()
                };
                let file = bir_hosts::config::ConfigFile { scope, ..read.file.clone() };
                let Some(text) = read.bytes.as_deref() else { continue };
                if entries.is_empty() && hooks.is_empty() {
                    continue;
                }
                let layer = Layer { entries, hooks, ..found(text, project_of(scope, &survey.project)) };
                push(&mut adopted, name_of(host.host), &file, Vec::new(), layer);
            }
        }
    }
    adopted
}

/// A layer without a way back, since what was before it is not known.
fn found(text: &[u8], project: Option<PathBuf>) -> Layer {
    Layer {
        project,
        at: 0,
        before: Some(Hash::of(text)),
        after: Hash::of(text),
        back: None,
        entries: Vec::new(),
        hooks: Vec::new(),
        set: Vec::new(),
        made: Vec::new(),
    }
}

/// A file that is ours alone and starts the program of this installation.
fn own(host: &HostSurvey, read: &ReadFile, ledger: &Ledger, program: &str, adopted: &mut Ledger) {
    let (Some(kind), Some(text)) = (host.host, read.bytes.as_deref()) else { return };
    let starts = std::str::from_utf8(text).ok().and_then(|text| our_file(kind, text));
    if ledger.file(&read.file.path).is_none()
        && starts.is_some_and(|starts| is_ours(&[program.to_owned()], &starts))
    {
        push(adopted, name_of(host.host), &read.file, Vec::new(), found(text, None));
    }
}

fn entries(
    host: &HostSurvey,
    read: &ReadFile,
    scope: Scope,
    ledger: &Ledger,
    proxies: &[String],
) -> Vec<EntryRecord> {
    let name = name_of(host.host);
    let is_meant = |server: &&Server| {
        let proxy = server.wrapped.as_deref();
        server.file == read.file.path
            && server.scope == scope
            && !server.ours
            && !told::is_by_hand(&server.entry)
            && proxy.is_some_and(|proxy| is_ours(proxies, proxy))
            && !is_known(ledger, name, server)
    };
    let record = |server: &Server| {
        let is_copy = scope == Scope::Local
            && host.servers.iter().any(|other| other.name == server.name && is_copy_of(server, other));
        let memo = if is_copy { None } else { Some(told::memo(name, &server.entry)?) };
        Some(EntryRecord { server: server.name.clone(), place: server.place.clone(), memo })
    };
    let may_change = read.file.role != Role::Read;
    host.servers.iter().filter(|_| may_change).filter(is_meant).filter_map(record).collect()
}

/// Whether the ledger has an entry.
pub(crate) fn is_known(ledger: &Ledger, host: &str, server: &Server) -> bool {
    let here = EntryRecord { server: server.name.clone(), place: server.place.clone(), memo: None };
    let records = ledger.files.iter().filter(|record| record.host == host && record.path == server.file);
    let mut entries = records.flat_map(|record| &record.layers).flat_map(|layer| &layer.entries);
    entries.any(|known| super::held::same_place(known, &here))
}

fn hooks_in(host: &HostSurvey, read: &ReadFile, ledger: &Ledger, programs: &[String]) -> Vec<HookRecord> {
    let Some(kind) = host.host.filter(|_| matches!(read.file.role, Role::Hooks | Role::Both)) else {
        return Vec::new();
    };
    let under = Place::keys(["hooks"]);
    let events = read.document.as_ref().ok().and_then(|document| under.of(document.value())?.as_object());
    let records = ledger.files.iter().filter(|record| record.path == read.file.path);
    // What the ledger knows is found by its program, wherever somebody has moved it.
    if records.flat_map(|record| &record.layers).any(|layer| !layer.hooks.is_empty()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (event, groups) in events.into_iter().flatten() {
        let to = under.key(event);
        let groups = groups.as_array().map(Vec::as_slice).unwrap_or_default();
        let ours = |group: &&Value| is_group_of_ours(kind, group, programs);
        found.extend(
            groups.iter().filter(ours).map(|group| HookRecord { to: to.clone(), value: group.clone() }),
        );
    }
    found
}

/// Nothing else is in it: what stands beside hooks of others is found by its program.
fn is_group_of_ours(host: Host, group: &Value, programs: &[String]) -> bool {
    let ours = within(host, group);
    let all = group.get("hooks").and_then(Value::as_array).map_or(0, Vec::len);
    !ours.is_empty() && ours.len() == all && ours.iter().all(|(_, hook)| is_ours(programs, &hook.program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::{Modules, survey};
    use crate::undo::{Out, undo};
    use bir_hosts::config::{Machine, System};

    /// A file of ours alone is found without a ledger, where it starts a program of this installation.
    #[test]
    fn a_file_of_our_own_that_no_ledger_knows_goes_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("bir-hooks");
        std::fs::write(&other, "").unwrap();
        let file = dir.path().join(".copilot/hooks/bir.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let machine = Machine { home: dir.path().into(), system: System::Linux, variable: &|_| None };
        let modules = Modules::all();
        for (program, goes) in
            [("/mine/bir-hooks", true), ("/none/bir-hooks", true), (other.to_str().unwrap(), false)]
        {
            std::fs::write(&file, bir_hosts::hooks(Host::CopilotCli, program).unwrap().text).unwrap();
            let survey = survey(&modules, &machine, dir.path(), &[], &[]);
            let ledger = adopt(&survey, &Ledger::default(), "/mine/bir-proxy", "/mine/bir-hooks");
            let plan = undo(
                &modules,
                &ledger,
                &Out { project: dir.path().into(), all: true, hosts: vec![], forget: false },
            );
            let gone =
                plan.operation.changes.iter().any(|change| change.path == file && change.after.is_none());
            assert_eq!((gone, plan.hooks.len()), (goes, usize::from(goes)), "{program}");
            assert!(plan.operation.ledger.is_empty());
        }
    }
}
