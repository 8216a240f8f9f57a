//! What of ours stands in the files and in no ledger, since that was lost: taken into it with what the entries and hooks tell of themselves.

use super::layers::{project_of, push};
use crate::ledger::{EntryRecord, Hash, HookRecord, Layer, Ledger};
use crate::survey::{HostSurvey, ReadFile, Survey, name_of};
use crate::undo::hooks::within;
use crate::undo::stray::is_ours;
use crate::undo::told;
use bir_hosts::Host;
use bir_hosts::config::{Role, Scope, Server, is_copy_of};
use bir_model::Place;
use serde_json::Value;

/// The ledger, and what of ours it did not know. `proxy`, `hooks`: the programs of this installation; one at a path where there is none any
/// more is ours as well.
#[must_use]
pub fn adopt(survey: &Survey, ledger: &Ledger, proxy: &str, hooks: &str) -> Ledger {
    let mut adopted = ledger.clone();
    let mut proxies = ledger.proxies.clone();
    proxies.push(proxy.to_owned());
    for host in &survey.hosts {
        for read in host.files.iter().filter(|read| read.bytes.is_some()) {
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
                let layer = Layer {
                    project: project_of(scope, &survey.project),
                    at: 0,
                    before: Some(Hash::of(text)),
                    after: Hash::of(text),
                    back: None,
                    entries,
                    hooks,
                    set: Vec::new(),
                    made: Vec::new(),
                };
                push(&mut adopted, name_of(host.host), &file, Vec::new(), layer);
            }
        }
    }
    adopted
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

fn is_known(ledger: &Ledger, host: &str, server: &Server) -> bool {
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
