//! What the user has said of the servers of `.mcp.json`, and which servers they have switched off.
//!
//! Claude Code asks about each server of `.mcp.json` and keeps the answers in settings, formerly in `~/.claude.json`. A committed
//! `.claude/settings.json` may approve as well; that is somebody else's word, and counts once the user has trusted the folder. With `-p`
//! Claude Code starts all that were not rejected; we go on waiting for the answer, since a copy would be started without one for ever.

use super::super::{Found, Machine, State};
use super::{key, paths};
use serde_json::Value;

/// The answers.
#[derive(Debug, Default)]
pub(super) struct Approvals<'f> {
    all: bool,
    approved: Vec<&'f str>,
    rejected: Vec<&'f str>,
    disabled: Vec<&'f str>,
}

impl<'f> Approvals<'f> {
    pub(super) fn read(machine: &Machine<'_>, found: &'f Found) -> Self {
        let mut read = Self::default();
        let of = |path: &std::path::Path| found.at(path).map(|file| &file.value);
        let main = of(&paths::main(machine));
        let trusted = main.is_some_and(|document| key::is_trusted(document, &found.project, machine.system));
        let project = main.and_then(|document| key::of_project(document, &found.project, machine.system));
        if let Some((_, entry)) = project {
            read.add(entry, true);
            read.disabled.extend(names(entry, "disabledMcpServers"));
        }
        let committed = paths::project_settings(&found.project).path;
        let managed = paths::managed_settings(machine);
        let settings = paths::settings(machine, &found.project).into_iter().map(|file| file.path);
        for path in settings.chain(managed) {
            if let Some(settings) = of(&path) {
                read.add(settings, path != committed || trusted);
            }
        }
        read
    }

    /// `counts`: what is approved here is approved.
    fn add(&mut self, answers: &'f Value, counts: bool) {
        self.rejected.extend(names(answers, "disabledMcpjsonServers"));
        if counts {
            self.approved.extend(names(answers, "enabledMcpjsonServers"));
            self.all |= answers.get("enableAllProjectMcpServers") == Some(&Value::Bool(true));
        }
    }

    /// The state of a server of `.mcp.json`.
    pub(super) fn of_project(&self, name: &str) -> State {
        if self.rejected.contains(&name) {
            State::Rejected
        } else if self.is_disabled(name) {
            State::Disabled
        } else if self.all || self.approved.contains(&name) {
            State::Active
        } else {
            State::Pending
        }
    }

    /// Whether a server was switched off in this project.
    pub(super) fn is_disabled(&self, name: &str) -> bool {
        self.disabled.contains(&name)
    }
}

fn names<'f>(value: &'f Value, member: &str) -> impl Iterator<Item = &'f str> {
    value.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::super::check::on;
    use super::super::super::{FoundFile, System};
    use super::super::ClaudeCode;
    use super::*;
    use crate::config::Config as _;
    use serde_json::json;
    use std::path::PathBuf;

    fn state(files: &[(&str, Value)], name: &str) -> State {
        on(System::Linux, &[], |machine| {
            let project = PathBuf::from("/p");
            let all = ClaudeCode.files(machine, &project);
            let files = files.iter().map(|(path, value)| {
                let file = all.iter().find(|file| file.path == PathBuf::from(path)).unwrap().clone();
                FoundFile { file, value: value.clone() }
            });
            let found = Found { files: files.collect(), project };
            Approvals::read(machine, &found).of_project(name)
        })
    }

    #[test]
    fn an_approval_counts_where_it_is_the_users_own() {
        let names = json!({"enabledMcpjsonServers": ["x"]});
        let all = json!({"enableAllProjectMcpServers": true});
        let trusted = json!({"projects": {"/": {"hasTrustDialogAccepted": true}}});
        let (main, local, own, committed, managed) = (
            "/h/.claude.json",
            "/p/.claude/settings.local.json",
            "/h/.claude/settings.json",
            "/p/.claude/settings.json",
            "/etc/claude-code/managed-settings.json",
        );
        for (files, expected) in [
            (vec![], State::Pending),
            (vec![(local, names.clone())], State::Active),
            (vec![(own, all.clone())], State::Active),
            (vec![(managed, all.clone())], State::Active),
            (vec![(main, json!({"projects": {"/p": names.clone()}}))], State::Active),
            (vec![(main, json!({"projects": {"/q": names.clone()}}))], State::Pending),
            (vec![(local, json!({"enabledMcpjsonServers": ["y"]}))], State::Pending),
            (vec![(local, json!({"enableAllProjectMcpServers": "true"}))], State::Pending),
            (vec![(committed, all.clone())], State::Pending),
            (vec![(committed, all.clone()), (main, trusted.clone())], State::Active),
            (vec![(main, trusted)], State::Pending),
            (
                vec![(local, all.clone()), (committed, json!({"disabledMcpjsonServers": ["x"]}))],
                State::Rejected,
            ),
            (
                vec![(local, all), (main, json!({"projects": {"/p": {"disabledMcpServers": ["x"]}}}))],
                State::Disabled,
            ),
        ] {
            assert_eq!(state(&files, "x"), expected, "{files:?}");
        }
    }
}
