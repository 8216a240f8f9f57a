//! The servers of all scopes, and which of them Claude Code starts: of the same name the first of local, project, user.

use super::super::{ConfigFile, Found, FoundFile, Machine, Role, Scope, Server, State, of_file};
use super::approval::Approvals;
use super::policy::Policy;
use super::{SHAPE, key, paths};
use bir_model::{Format, Place, Step};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// All servers, those first that count more.
pub(super) fn servers(machine: &Machine<'_>, found: &Found) -> Vec<Server> {
    let approvals = Approvals::read(machine, found);
    let policy = Policy::read(machine, found);
    let mut counts: HashMap<String, PathBuf> = HashMap::new();
    let mut all = every(machine, found);
    for server in &mut all {
        let managed = server.scope == Scope::Managed;
        let own = match server.scope {
            Scope::Managed => State::Active,
            Scope::Project => approvals.of_project(&server.name),
            Scope::Local | Scope::User if approvals.is_disabled(&server.name) => State::Disabled,
            Scope::Local | Scope::User => State::Active,
        };
        let forbidden = policy.forbids(&server.name, &server.reach, managed).map(State::Forbidden);
        server.state = match (forbidden, counts.get(&server.name)) {
            (Some(forbidden), _) => forbidden,
            (None, Some(by)) => State::Shadowed(by.clone()),
            (None, None) => own,
        };
        // One that was rejected is no server. One that waits is one with `-p`, and everywhere once it is approved: a copy of another
        // would keep it from ever counting.
        if !matches!(server.state, State::Rejected | State::Forbidden(_)) {
            counts.entry(server.name.clone()).or_insert_with(|| server.file.clone());
        }
    }
    all
}

/// Every entry, as of yet without a state.
fn every(machine: &Machine<'_>, found: &Found) -> Vec<Server> {
    let mut all = Vec::new();
    for path in paths::managed_servers(machine) {
        all.extend(in_file(found, &path, Scope::Managed));
    }
    let main = paths::main(machine);
    let document = found.at(&main).map(|file| &file.value);
    if let Some((name, entry)) =
        document.and_then(|document| key::of_project(document, &found.project, machine.system))
    {
        all.extend(below(&main, Scope::Local, entry, &Place::keys(["projects", name])));
    }
    for path in paths::project_servers(&found.project) {
        all.extend(in_file(found, &path, Scope::Project));
    }
    all.extend(in_file(found, &main, Scope::User));
    all
}

fn in_file(found: &Found, path: &Path, scope: Scope) -> Vec<Server> {
    let file = found.at(path);
    file.map(|file| below(path, scope, &file.value, &Place::default())).unwrap_or_default()
}

/// The servers of a part of a file.
fn below(path: &Path, scope: Scope, part: &Value, place: &Place) -> Vec<Server> {
    let file = ConfigFile { path: path.to_owned(), scope, format: Format::Json, role: Role::Servers };
    let mut servers = of_file(&SHAPE, &FoundFile { file, value: part.clone() });
    for server in &mut servers {
        let steps: Vec<Step> = place.0.iter().cloned().chain(std::mem::take(&mut server.place.0)).collect();
        server.place = Place(steps);
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::super::super::System;
    use super::super::super::check::on;
    use super::super::ClaudeCode;
    use super::*;
    use crate::config::Config as _;
    use serde_json::json;

    /// Each server as `name scope state`, for files that say this.
    fn states(files: &[(&str, Value)]) -> Vec<String> {
        on(System::Linux, &[], |machine| {
            let project = PathBuf::from("/w/p");
            let all = ClaudeCode.files(machine, &project);
            let files = files.iter().map(|(path, value)| {
                let file = all.iter().find(|file| file.path == Path::new(path)).unwrap().clone();
                FoundFile { file, value: value.clone() }
            });
            let found = Found { files: files.collect(), project };
            let servers = ClaudeCode.servers(machine, &found);
            for server in &servers {
                let document = &found.at(&server.file).unwrap().value;
                assert_eq!(server.place.of(document), Some(&server.entry), "{:?}", server.place);
            }
            let line = |server: &Server| format!("{} {:?} {:?}", server.name, server.scope, server.state);
            servers.iter().map(line).collect()
        })
    }

    fn named(names: &[&str]) -> Value {
        names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"command": "x"})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    #[test]
    fn of_the_same_name_the_nearest_counts() {
        let main = json!({
            "mcpServers": named(&["a", "b", "c", "u"]),
            "projects": { "/w/p": { "mcpServers": named(&["a", "l"]), "enabledMcpjsonServers": ["a", "b", "c"], "disabledMcpServers": ["u", "l"] } },
        });
        let lines = states(&[
            ("/h/.claude.json", main),
            ("/w/p/.mcp.json", json!({ "mcpServers": named(&["a", "b"]) })),
            ("/w/.mcp.json", json!({ "mcpServers": named(&["b", "c"]) })),
        ]);
        assert_eq!(
            lines,
            [
                "a Local Active",
                "l Local Disabled",
                r#"a Project Shadowed("/h/.claude.json")"#,
                "b Project Active",
                r#"b Project Shadowed("/w/p/.mcp.json")"#,
                "c Project Active",
                r#"a User Shadowed("/h/.claude.json")"#,
                r#"b User Shadowed("/w/p/.mcp.json")"#,
                r#"c User Shadowed("/w/.mcp.json")"#,
                "u User Disabled",
            ]
        );
    }

    #[test]
    fn a_rejected_server_hides_none_and_a_waiting_one_does() {
        let lines = states(&[
            ("/h/.claude.json", json!({ "mcpServers": named(&["no", "asked"]) })),
            ("/w/p/.mcp.json", json!({ "mcpServers": named(&["no", "asked"]) })),
            ("/w/p/.claude/settings.local.json", json!({ "disabledMcpjsonServers": ["no"] })),
        ]);
        assert_eq!(
            lines,
            [
                "no Project Rejected",
                "asked Project Pending",
                "no User Active",
                r#"asked User Shadowed("/w/p/.mcp.json")"#
            ]
        );
    }

    #[test]
    fn other_shapes_hold_no_servers() {
        for document in [
            json!({}),
            json!([]),
            json!({"projects": []}),
            json!({"projects": {"/w/p": 1}, "mcpServers": "x"}),
        ] {
            assert!(states(&[("/h/.claude.json", document)]).is_empty());
        }
        // Other projects are no affair of this one.
        assert!(
            states(&[("/h/.claude.json", json!({"projects": {"/w": {"mcpServers": named(&["x"])}}}))])
                .is_empty()
        );
    }
}
