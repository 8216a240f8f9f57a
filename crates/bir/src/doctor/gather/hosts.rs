//! The hosts' files: servers, hooks, and whether they can be read at all.

use super::programs::Programs;
use super::user_home;
use crate::programs::{self, HOOKS, PROXY};
use bir_hosts::Host;
use bir_hosts::config::{ConfigFile, FoundFile, HookChange, Machine, Role, Scope, System};
use bir_install::codex_trust::{self, Wanted};
use bir_install::doctor::Finding;
use bir_install::doctor::entries::{self, Entry};
use bir_install::doctor::hooks::{self, Hook, Trusted};
use bir_install::doctor::ledger::{Now, broken};
use bir_install::doctor::program::Use;
use bir_install::ledger::{FileRecord, Ledger};
use bir_install::survey::{HostSurvey, Modules, Survey, name_of, read_file, survey};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Default)]
pub(super) struct Hosts {
    pub(super) entries: Vec<Entry>,
    pub(super) uses: Vec<Use>,
    pub(super) hooks: Vec<Hook>,
    pub(super) trusted: Vec<Trusted>,
    /// Hosts that are told to run no hooks, and by what.
    pub(super) hooks_off: Vec<(String, String)>,
    /// Files that cannot be read as what they are, and do not stand in the ledger, which tells of its own.
    pub(super) broken: Vec<Finding>,
}

pub(super) fn look(project: &Path, ledger: &Ledger) -> Hosts {
    let Some(home) = user_home() else { return Hosts::default() };
    let Read { survey: surveyed, off: hooks_off, misshapen } = read(home, project, ledger);
    let mut known_programs = Programs::default();
    let entries = entries::of(&surveyed, ledger);
    let mut uses: Vec<Use> = entries
        .iter()
        .filter_map(|entry| {
            let path = entry.proxy.clone()?;
            let program = known_programs.of(&path, PROXY);
            let (file, host) = (entry.file.clone(), entry.host.clone());
            Some(Use {
                path,
                program,
                file,
                host,
                server: Some(entry.server.clone()),
                by_hand: entry.by_hand,
            })
        })
        .collect();
    let hooks: Vec<Hook> = surveyed.hosts.iter().flat_map(hooks_of).collect();
    for hook in hooks.iter().filter(|hook| hook.is_ours()) {
        let (path, host, file) = (hook.program.clone(), hook.host.clone(), hook.file.clone());
        uses.push(Use {
            program: known_programs.of(&path, HOOKS),
            path,
            file,
            host,
            server: None,
            by_hand: false,
        });
    }
    let known: BTreeSet<&PathBuf> = ledger.files.iter().map(|file| &file.path).collect();
    let broken = surveyed.hosts.iter().flat_map(|host| {
        let unread =
            host.files.iter().filter(|read| read.file.role != Role::Own && !known.contains(&read.file.path));
        unread.filter_map(|read| {
            Some(broken(name_of(host.host), &read.file.path, read.document.as_ref().err()?))
        })
    });
    let broken = broken.chain(misshapen).collect();
    let codex = surveyed.hosts.iter().filter(|host| host.host == Some(Host::Codex));
    let trusted = codex.flat_map(|host| trusted_of(host, project)).collect();
    Hosts { entries, uses, hooks, trusted, hooks_off, broken }
}

/// What the files say.
struct Read {
    survey: Survey,
    /// Hosts that are told to run no hooks, and by what.
    off: Vec<(String, String)>,
    misshapen: Vec<Finding>,
}

/// The files of every host that is there.
fn read(home: PathBuf, project: &Path, ledger: &Ledger) -> Read {
    let system = if cfg!(windows) {
        System::Windows
    } else if cfg!(target_os = "macos") {
        System::MacOs
    } else {
        System::Linux
    };
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let machine = Machine { home, system, variable: &variable };
    let modules = Modules::all();
    let mut all = survey(&modules, &machine, project, &[], &[]);
    // Files that `--config` named once are known by the ledger alone.
    let named = ledger.files.iter().filter(|file| file.host == name_of(None));
    let named: Vec<PathBuf> = named.map(|file| file.path.clone()).collect();
    if !named.is_empty() {
        all.hosts.extend(survey(&modules, &machine, project, &[], &named).hosts);
    }
    let off = all.hosts.iter().filter_map(|host| {
        let refusal = modules.of(host.host)?.hooks_refused(&machine, &host.found)?;
        Some((name_of(host.host).to_owned(), refusal.why))
    });
    let off = off.collect();
    let misshapen = all.hosts.iter().flat_map(|host| misshapen(&modules, &machine, host, project)).collect();
    Read { survey: all, off, misshapen }
}

/// Files of a host in which something else stands where hooks belong.
fn misshapen(
    modules: &Modules<'_>,
    machine: &Machine<'_>,
    host: &HostSurvey,
    project: &Path,
) -> Vec<Finding> {
    let Some(module) = modules.of(host.host) else { return Vec::new() };
    let changes = [false, true].map(|user| module.hooks(machine, project, user, HOOKS));
    let mut found: Vec<Finding> = Vec::new();
    for change in changes.into_iter().flatten() {
        let HookChange::Appended { file, elements } = change else { continue };
        let read = host.files.iter().find(|read| read.file.path == file.path && read.bytes.is_some());
        let Some(Ok(document)) = read.map(|read| read.document.as_ref()) else { continue };
        let one = hooks::misshapen(name_of(host.host), &file.path, document.value(), &elements);
        found.extend(one.filter(|one| !found.contains(one)));
    }
    found
}

/// The recorders that a host's files of hooks start.
fn hooks_of(host: &HostSurvey) -> Vec<Hook> {
    let files = host.files.iter().filter(|read| read.file.role != Role::Servers);
    files
        .flat_map(|read| {
            let bytes = read.bytes.as_deref().unwrap_or_default();
            let text = String::from_utf8_lossy(bytes);
            let own = serde_json::from_slice(bytes).ok();
            let value = match read.file.role {
                Role::Own => own.as_ref(),
                _ => read.document.as_ref().ok().map(bir_edit::Document::value),
            };
            let programs = hooks::programs(value, &text).into_iter();
            programs
                .map(|program| Hook {
                    host: name_of(host.host).to_owned(),
                    file: read.file.path.clone(),
                    scope: read.file.scope,
                    program,
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Our hooks of Codex, with what its configuration says of them, and Codex itself where it is there.
fn trusted_of(host: &HostSurvey, project: &Path) -> Vec<Trusted> {
    let said =
        |name: &'static str| host.found.files.iter().filter(move |found| found.file.path.ends_with(name));
    // The user's configuration holds what the user trusts.
    let config = said("config.toml").find(|found| found.file.scope == Scope::User);
    let of_file = |found: &FoundFile| {
        let mut hooks = hooks::trusted(&found.file.path, &found.value, config.map(|found| &found.value));
        let program = programs::on_path("codex").filter(|_| !hooks.is_empty());
        if let (Some(program), Some(config)) = (program, config) {
            let wanted = Wanted {
                hooks_file: found.file.path.clone(),
                scope: found.file.scope,
                config: config.file.path.clone(),
                project: project.to_path_buf(),
                commands: hooks.iter().map(|hook| hook.command.clone()).collect(),
            };
            // One that does not answer says nothing against what stands there.
            if let Ok(said) = codex_trust::hashes(&program, &wanted) {
                hooks::compare(&mut hooks, &said);
            }
        }
        hooks
    };
    said("hooks.json").flat_map(of_file).collect()
}

/// A file of the ledger as it is now.
pub(super) fn now(file: &FileRecord) -> Now {
    let read = read_file(ConfigFile {
        path: file.path.clone(),
        scope: file.scope,
        format: file.format,
        role: file.role,
    });
    match read.document {
        Err(why) => Now::Broken(why),
        Ok(_) if read.bytes.is_none() => Now::Gone,
        Ok(document) => Now::Says(document.value().clone()),
    }
}
