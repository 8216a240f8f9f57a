//! What is to change, what is not, and why.
//!
//! ```text
//!  Survey ── desk (files in memory) ──┬─ decide (servers) ─┐
//!                                     └─ hooks ────────────┴─▶ layers ──▶ Operation (files, ledger)
//!                                                                 └─▶ diff (without secrets)
//! ```
//!
//! A function of what was read: nothing is written here.

pub mod adopt;
mod decide;
mod diff;
pub(crate) mod held;
pub(crate) mod hooks;
pub(crate) mod layers;
mod missed;
pub mod secrets;
pub(crate) mod shaped;
pub(crate) mod sheet;
#[cfg(test)]
pub(crate) mod tests;
mod veil;

use crate::codex_trust::Wanted;
use crate::ledger::Ledger;
use crate::operation::{FileChange, Kind, Operation};
use crate::survey::{HostSurvey, Module, Modules, Survey, name_of};
use bir_hosts::Host;
use bir_hosts::config::{Machine, Refusal, Scope, Wrapping};
use layers::{Line, Owner, carry_out};
use secrets::Secrets;
use sheet::Desk;
use std::path::{Path, PathBuf};

pub use diff::FileDiff;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The project: absolute, resolved.
    pub project: PathBuf,
    /// Only these hosts; empty: all that are there.
    pub hosts: Vec<Host>,
    /// Only these servers; empty: all that may be wrapped.
    pub servers: Vec<String>,
    /// Files that no host module knows (`--config`).
    pub config_files: Vec<PathBuf>,
    /// With hooks.
    pub hooks: bool,
    /// Hooks for every project of the user (`--user`).
    pub user: bool,
    /// Replay is asked for (`--replay`).
    pub replay: bool,
    /// With what entries are wrapped; `named` is set for each server by itself.
    pub wrapping: Wrapping,
    /// The absolute path of `bir-hooks`.
    pub hooks_program: String,
    /// The project that stands for everything, where that is asked for (`--everywhere`).
    pub everywhere: Option<PathBuf>,
    /// Projects that are set up for bound recording already.
    pub set_up: Vec<PathBuf>,
}

/// What becomes of one server.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is wrapped now.
    Wrapped,
    /// It was wrapped, and stays so.
    Already,
    /// A person has wrapped it by hand, with options of their own: it is left as it is.
    ByHand,
    /// It was wrapped with another path or other options, and is wrapped anew.
    Renewed,
    /// It is as it was before it was wrapped.
    Restored,
    /// A copy of ours goes, since what it copied has gone.
    Removed,
    /// Nothing is done, and why.
    Left(Refusal),
}

impl Outcome {
    /// A word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Wrapped => "wrapped",
            Self::Already => "already",
            Self::ByHand => "by-hand",
            Self::Renewed => "renewed",
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Left(_) => "left",
        }
    }

    /// Whether something of ours stands there afterwards.
    #[must_use]
    pub fn stands(&self) -> bool {
        matches!(self, Self::Wrapped | Self::Already | Self::ByHand | Self::Renewed)
    }

    /// Whether an uninstall has left something of ours, or does not know whether it has: the ledger keeps it, and the command failed.
    #[must_use]
    pub fn remains(&self) -> bool {
        matches!(self, Self::Left(refusal) if ["gone", "stays", "file"].contains(&refusal.code))
    }

    /// Whether a file changes for it.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Already | Self::ByHand | Self::Left(_))
    }
}

/// A server in a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLine {
    /// The host's name, or `file`.
    pub host: String,
    /// Its key.
    pub server: String,
    /// For whom its entry counts.
    pub scope: Scope,
    /// The file that changes, or that its entry stands in.
    pub file: PathBuf,
    /// What becomes of it.
    pub outcome: Outcome,
    /// What is wrapped is a copy: of what.
    pub copied: Option<Copied>,
}

/// The original of a wrapped copy.
#[derive(Debug, Clone, PartialEq)]
pub struct Copied {
    /// For whom it counts.
    pub scope: Scope,
    /// The file that it stands in.
    pub file: PathBuf,
    /// Its members that may hold credentials, and are copied as well: `env`, `headers`.
    pub members: Vec<String>,
}

/// Hooks in a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct HookLine {
    /// The host's name.
    pub host: String,
    /// The file.
    pub file: PathBuf,
    /// What becomes of them.
    pub outcome: Outcome,
}

/// A plan: what a person is shown, and what is then carried out.
#[derive(Debug)]
pub struct Plan {
    /// Every server that was found.
    pub servers: Vec<ServerLine>,
    /// Every host's hooks.
    pub hooks: Vec<HookLine>,
    /// Files that are left alone, and why: one sentence each.
    pub untouched: Vec<(PathBuf, String)>,
    /// What else a person should know: restart hints, trust that is to be given.
    pub notes: Vec<String>,
    /// What was asked for by name and is not done, and why: a sentence each.
    pub missed: Vec<String>,
    /// A server that was named is one that no host has, so that nothing is to be carried out.
    pub unknown: bool,
    /// What nobody asked for by name and is not done since a file is broken or locked, beside what is: a sentence each.
    pub partly: Vec<String>,
    /// Each file that changes, as far as it does, without secrets.
    pub diffs: Vec<FileDiff>,
    /// Projects that are to be set up for bound recording.
    pub set_up: Vec<PathBuf>,
    /// Projects that are to be taken out of bound recording, since `bir install` had set them up.
    pub take_out: Vec<PathBuf>,
    /// The trust of Codex in our hooks, which is to be given.
    pub trust: Option<Wanted>,
    /// The ledger changes, whatever the files do.
    pub ledger_changes: bool,
    /// What is carried out; without a change nothing is to be done.
    pub operation: Operation,
}

impl Plan {
    /// Whether anything is to be done.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.ledger_changes
            || !self.operation.changes.is_empty()
            || !self.set_up.is_empty()
            || !self.take_out.is_empty()
            || self.trust.is_some()
    }
}

/// Plans an install. `now`: ms since the Unix epoch.
#[must_use]
pub fn plan(
    modules: &Modules<'_>,
    machine: &Machine<'_>,
    survey: &Survey,
    wish: &Wish,
    ledger: &Ledger,
    now: u64,
) -> Plan {
    let secrets = Secrets::default();
    let mut desk = Desk::default();
    survey.hosts.iter().flat_map(|host| &host.files).for_each(|read| desk.lay(read));
    let adopted = adopt::adopt(survey, ledger, &wish.wrapping.proxy, &wish.hooks_program);
    let mut plan = Plan::new(Kind::Install, adopted);
    let mut trust = None;
    for host in &survey.hosts {
        let Some(config) = modules.of(host.host) else { continue };
        let first = plan.operation.ledger.clone();
        plan.host(config, machine, host, &mut desk, wish, (&first, now), &secrets);
        if host.host == Some(Host::Codex) && wish.hooks {
            trust = crate::codex_trust::wanted(config, machine, wish, &desk, &plan.hooks);
        }
    }
    plan.trust = trust;
    plan.projects(wish);
    plan.close(&desk, ledger, &secrets);
    plan.missed = missed::of(&plan, survey, wish);
    plan.unknown = missed::is_unknown(&plan, wish);
    plan.partly = missed::partly(&plan, survey);
    plan.veil();
    plan
}

impl Plan {
    pub(crate) fn new(kind: Kind, ledger: Ledger) -> Self {
        Self {
            servers: Vec::new(),
            hooks: Vec::new(),
            untouched: Vec::new(),
            notes: Vec::new(),
            missed: Vec::new(),
            unknown: false,
            partly: Vec::new(),
            diffs: Vec::new(),
            set_up: Vec::new(),
            take_out: Vec::new(),
            trust: None,
            ledger_changes: false,
            operation: Operation { kind, changes: Vec::new(), ledger, empty_dirs: Vec::new() },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one plan, each of another kind")]
    fn host(
        &mut self,
        config: Module<'_>,
        machine: &Machine<'_>,
        survey: &HostSurvey,
        desk: &mut Desk,
        wish: &Wish,
        (ledger, now): (&Ledger, u64),
        secrets: &Secrets,
    ) {
        let host = name_of(survey.host);
        for read in &survey.files {
            let why = read.document.as_ref().err().or(read.locked.as_ref());
            // What is absent and cannot be made matters only where it is to be made.
            if let Some(why) = why.filter(|_| read.is_there()) {
                self.leave(&read.file.path, why);
            }
        }
        let first = self.servers.len();
        let decided = decide::decide(config, machine, survey, desk, wish, ledger);
        self.servers.extend(decided.lines);
        let (mut actions, gone) = (decided.actions, decided.gone);
        for action in &mut actions {
            if let Line::Server(line) = &mut action.line {
                *line += first;
            }
        }
        if wish.hooks
            && let Some((line, action)) = hooks::decide(config, machine, survey, desk, wish, ledger)
        {
            self.hooks.push(line);
            let line = Line::Hooks(self.hooks.len() - 1);
            actions.extend(action.map(|action| layers::Action { line, ..action }));
        }
        let count = actions.len();
        let owner = Owner { host, project: &wish.project, now };
        let failed = carry_out(desk, &mut self.operation.ledger, owner, actions, secrets);
        let changes = failed.len() < count;
        for (line, path, entry) in gone {
            let is_it = |other: &Line| match (other, line) {
                (Line::Server(other), Line::Server(at)) => *other == at + first,
                _ => false,
            };
            if !failed.iter().any(|(other, _)| is_it(other)) {
                layers::forget(&mut self.operation.ledger, host, &path, &entry);
            }
        }
        for (line, refusal) in failed {
            match line {
                Line::Server(at) => self.servers[at].outcome = Outcome::Left(refusal),
                Line::Hooks(at) => self.hooks[at].outcome = Outcome::Left(refusal),
            }
        }
        if changes && survey.host.is_some() {
            self.notes.push(format!("{host}: {}", config.restart_hint()));
        }
    }

    pub(crate) fn leave(&mut self, path: &Path, why: &str) {
        if !self.untouched.iter().any(|(known, _)| known == path) {
            self.untouched.push((path.to_path_buf(), why.to_owned()));
        }
    }

    /// The projects in which what is installed counts.
    fn projects(&mut self, wish: &Wish) {
        let stands =
            self.servers.iter().map(|line| &line.outcome).chain(self.hooks.iter().map(|line| &line.outcome));
        if !stands.into_iter().any(Outcome::stands) {
            return;
        }
        let ledger = &mut self.operation.ledger;
        for project in std::iter::once(&wish.project).chain(&wish.everywhere) {
            let is_set_up = wish.set_up.contains(project);
            let record = ledger.projects.entry(project.clone()).or_default();
            record.replay |= wish.replay && *project == wish.project;
            if !is_set_up {
                record.set_up_by_us = true;
                self.set_up.push(project.clone());
            }
        }
    }

    /// The files and the ledger as they are to be.
    pub(crate) fn close(&mut self, desk: &Desk, ledger: &Ledger, secrets: &Secrets) {
        self.diffs = diff::diffs(desk, self.own(ledger), secrets);
        for sheet in desk.changed() {
            let before = sheet
                .before
                .as_deref()
                .map_or(serde_json::Value::Null, |bytes| value_of(bytes, sheet.format));
            self.operation.changes.push(FileChange {
                path: sheet.path.clone(),
                before: sheet.before.clone(),
                after: sheet.now.clone(),
                secrets: layers::both(secrets, &before, sheet.value()),
            });
        }
        self.ledger_changes = self.operation.ledger != *ledger;
        if self.ledger_changes {
            self.operation.ledger.version = crate::ledger::VERSION;
            self.operation.ledger.program = env!("CARGO_PKG_VERSION").into();
        }
    }
}

impl Plan {
    /// Takes keys out that look like credentials, once nothing is looked for by name any more.
    pub(crate) fn veil(&mut self) {
        let outcomes = self.hooks.iter_mut().map(|line| &mut line.outcome);
        for outcome in self.servers.iter_mut().map(|line| &mut line.outcome).chain(outcomes) {
            if let Outcome::Left(refusal) = outcome {
                refusal.why = shaped::sentence(&refusal.why);
            }
        }
        for line in &mut self.servers {
            line.server = shaped::key(&line.server);
        }
        let sentences = self.notes.iter_mut().chain(&mut self.missed).chain(&mut self.partly);
        for sentence in sentences.chain(self.untouched.iter_mut().map(|(_, why)| why)) {
            *sentence = shaped::sentence(sentence);
        }
    }

    /// What is our own in the files, before and afterwards, and what the plan names.
    fn own(&self, before: &Ledger) -> veil::Own {
        let layers = |ledger: &Ledger| {
            let hooks = ledger.files.iter().flat_map(|record| &record.layers).flat_map(|layer| &layer.hooks);
            hooks.map(|hook| hook.value.clone()).collect::<Vec<_>>()
        };
        let mut hooks = layers(before);
        hooks.extend(layers(&self.operation.ledger));
        let names = self.servers.iter().map(|line| &line.server);
        let names = names.filter(|name| !shaped::is_shaped(name)).cloned().collect();
        let proxies = before.proxies.iter().chain(&self.operation.ledger.proxies).cloned().collect();
        veil::Own { hooks, names, proxies, known: Vec::new() }
    }
}

/// What a text says; null where it is not understood.
pub(crate) fn value_of(bytes: &[u8], format: bir_model::Format) -> serde_json::Value {
    bir_edit::Document::parse(bytes, format)
        .map_or(serde_json::Value::Null, |document| document.value().clone())
}
