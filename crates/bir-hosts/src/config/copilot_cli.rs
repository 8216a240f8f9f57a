//! GitHub Copilot CLI (facts/other-hosts.md §3).
//!
//! Its servers are the user's; a repository may have more in `.mcp.json` and `.github/mcp.json`, which count before them once its folder is
//! trusted. Its hooks are a file of ours alone.

use super::{
    Config, ConfigFile, Filled, Found, HookChange, Kinds, Machine, Memo, Refusal, Role, Scope, Server, Shape,
    State, Syntax, Wrap, Wrapping, committed, servers, unwrap, wrap,
};
use crate::{Host, hooks};
use bir_model::{Edit, Format, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How it writes a server down. `tools` stays; `disabled` was seen to mean nothing to it.
pub(super) const SHAPE: Shape = Shape {
    kinds: Some(Kinds { local: Some("local"), needed: true, ..Kinds::COMMON }),
    off: &[],
    filled: Filled {
        env: &[Syntax::DollarBraces, Syntax::Dollar],
        remote: &[Syntax::DollarBraces, Syntax::Dollar],
    },
    ..Shape::COMMON
};

/// Copilot CLI.
pub(super) struct CopilotCli;

fn folder(machine: &Machine<'_>) -> PathBuf {
    machine.dir("COPILOT_HOME").unwrap_or_else(|| machine.home.join(".copilot"))
}

/// What the user has set.
fn settings(machine: &Machine<'_>) -> PathBuf {
    folder(machine).join("settings.json")
}

/// What it keeps for itself; folders that are trusted, among other things.
fn state(machine: &Machine<'_>) -> PathBuf {
    folder(machine).join("config.json")
}

fn own_file(machine: &Machine<'_>) -> ConfigFile {
    let path = folder(machine).join("hooks").join("bir.json");
    ConfigFile { path, scope: Scope::User, format: Format::Json, role: Role::Own }
}

/// The texts of a list in a file.
fn list<'f>(found: &'f Found, path: &Path, member: &str) -> impl Iterator<Item = &'f str> + use<'f> {
    let list = found.at(path).and_then(|file| file.value.get(member)?.as_array());
    list.into_iter().flatten().filter_map(Value::as_str)
}

impl Config for CopilotCli {
    fn host(&self) -> Host {
        Host::CopilotCli
    }

    /// A `.mcp.json` may be there for others.
    fn is_there(&self, machine: &Machine<'_>, _: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
        exists(&folder(machine))
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        let of_project = |name, role| {
            let path = project.join(name);
            ConfigFile { path, scope: Scope::Project, format: Format::Json, role }
        };
        let mut files = vec![
            // Claude Code's as well, whose module writes it.
            of_project(".mcp.json", Role::Read),
            of_project(".github/mcp.json", Role::Servers),
            ConfigFile::servers(folder(machine).join("mcp-config.json"), Scope::User, Format::Json),
        ];
        let read = |path| ConfigFile { path, scope: Scope::User, format: Format::Jsonc, role: Role::Read };
        files.extend([settings(machine), state(machine)].map(read));
        files.push(own_file(machine));
        committed::without_doubles(files)
    }

    fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server> {
        let trusted = ["trustedFolders", "trusted_folders"]
            .into_iter()
            .flat_map(|member| list(found, &state(machine), member))
            .any(|folder| found.project.starts_with(folder));
        let mut all =
            if trusted { servers(&SHAPE, found) } else { servers(&SHAPE, &committed::untrusted(found)) };
        for server in all.iter_mut().filter(|server| server.state == State::Active) {
            if list(found, &settings(machine), "disabledMcpServers").any(|name| name == server.name) {
                server.state = State::Disabled;
            }
        }
        if !trusted {
            committed::wait(&mut all);
        }
        all
    }

    fn wrap(
        &self,
        _: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        let file = super::table::file_of(found, server)?;
        let made = wrap(&SHAPE, file, server, server.scope, with)?;
        if file.role == Role::Read {
            let why = "it stands in `.mcp.json`, which Copilot CLI shares with Claude Code; `bir install --host claude-code --mcp-json` wraps it there";
            return Err(Refusal::new("shared", why));
        }
        committed::asked(server, with)?;
        Ok(made)
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&SHAPE, entry, place, memo)
    }

    /// The user's, for every project: it has no file of ours alone in a project.
    fn hooks(&self, machine: &Machine<'_>, _: &Path, _: bool, program: &str) -> Option<HookChange> {
        Some(HookChange::Own { file: own_file(machine), text: hooks(self.host(), program)?.text })
    }

    fn hooks_refused(&self, machine: &Machine<'_>, found: &Found) -> Option<Refusal> {
        let off = settings(machine);
        found.at(&off).filter(|file| file.value.get("disableAllHooks") == Some(&Value::Bool(true)))?;
        let why =
            format!("{} switches all hooks off (`disableAllHooks`); take that out first", off.display());
        Some(Refusal::new("disabled", why))
    }

    fn restart_hint(&self) -> &'static str {
        "start a new session of Copilot CLI"
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, named, on, plain};
    use super::super::{FoundFile, System};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let expected = [
            "project read /p/.mcp.json",
            "project servers /p/.github/mcp.json",
            "user servers /h/.copilot/mcp-config.json",
            "user read /h/.copilot/settings.json",
            "user read /h/.copilot/config.json",
            "user own /h/.copilot/hooks/bir.json",
        ];
        assert_eq!(files(&CopilotCli, System::Linux, &[]), expected);
        assert_eq!(
            files(&CopilotCli, System::Windows, &[("COPILOT_HOME", "/c")])[2],
            "user servers /c/mcp-config.json"
        );
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcpServers": {
            "x": { "type": "local", "command": "npx", "args": ["x", "--host=$HOST"], "tools": ["*"], "env": { "K": "$KEY" } },
            "web": { "type": "http", "url": "https://e.com/mcp", "headers": { "Authorization": "Bearer $T", "X-R": "eu" }, "tools": ["a"] },
            "events": { "type": "sse", "url": "https://e.com/sse", "headers": { "X-R": "eu" }, "tools": [] },
            "off": { "command": "x", "disabled": true },
            "bare": { "type": "http", "url": "https://e.com/mcp" },
        }});
        let with = Wrapping { mcp_json: true, ..named() };
        assert_eq!(
            becomes(&CopilotCli, &document, &with),
            [
                r#"x: {"type":"local","command":"/opt/bir/bir-proxy","args":["--server-name","x","--scope","project","--","npx","x","--host=$HOST"],"tools":["*"],"env":{"K":"$KEY"}}"#,
                r#"web: {"type":"local","tools":["a"],"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","project","--url","https://e.com/mcp","--header-env","Authorization: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"Bearer $T","BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                r#"events: {"type":"local","tools":[],"command":"/opt/bir/bir-proxy","args":["--server-name","events","--scope","project","--url","https://e.com/sse","--transport","sse"],"env":{"BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                r#"off: {"command":"/opt/bir/bir-proxy","disabled":true,"args":["--server-name","off","--scope","project","--","x"]}"#,
                r#"bare: {"type":"local","command":"/opt/bir/bir-proxy","args":["--server-name","bare","--scope","project","--url","https://e.com/mcp"]}"#,
            ]
        );
        assert_eq!(becomes(&CopilotCli, &document, &plain())[0], "x: ! pending");
        assert_eq!(becomes(&CopilotCli, &document, &named())[0], "x: ! committed");
    }

    #[test]
    fn what_the_user_has_set_counts() {
        on(System::Linux, &[], |machine| {
            let all = CopilotCli.files(machine, Path::new("/p"));
            let (x, y) = (json!({ "command": "x" }), json!({ "command": "y" }));
            let state = |trust: Value, settings: Value| {
                let said = [
                    (1, json!({ "mcpServers": { "x": x } })),
                    (2, json!({ "mcpServers": { "x": x, "y": y } })),
                    (3, settings),
                    (4, trust),
                ];
                let files = said.map(|(n, value)| FoundFile { file: all[n].clone(), value });
                let found = Found { files: files.into(), project: "/p".into() };
                let state =
                    |server: &Server| format!("{} {:?} {:?}", server.name, server.scope, server.state);
                let mut lines: Vec<String> = CopilotCli.servers(machine, &found).iter().map(state).collect();
                lines.sort();
                lines.extend(CopilotCli.hooks_refused(machine, &found).map(|refusal| refusal.code.into()));
                lines
            };
            let untrusted = ["x Project Pending", "x User Active", "y User Active"];
            assert_eq!(state(json!({}), json!({ "trustedFolders": ["/p"] })), untrusted);
            assert_eq!(state(json!({ "trustedFolders": ["/q"] }), json!({})), untrusted);
            let shadowed = r#"x User Shadowed("/p/.github/mcp.json")"#;
            for member in ["trustedFolders", "trusted_folders"] {
                let set = json!({ "disabledMcpServers": ["y"], "disableAllHooks": true });
                let lines = state(json!({ member: ["/p"] }), set);
                assert_eq!(lines, ["x Project Active", shadowed, "y User Disabled", "disabled"]);
            }
            // What it shares with Claude Code is not its to change.
            let files = vec![FoundFile { file: all[0].clone(), value: json!({ "mcpServers": { "x": x } }) }];
            let found = Found { files, project: "/p".into() };
            let with = Wrapping { mcp_json: true, ..named() };
            let shared = CopilotCli.servers(machine, &found).remove(0);
            assert_eq!(CopilotCli.wrap(machine, &found, &shared, &with).unwrap_err().code, "shared");
        });
    }

    #[test]
    fn its_hooks_are_a_file_of_ours() {
        on(System::Linux, &[("COPILOT_HOME", "/c")], |machine| {
            let change = CopilotCli.hooks(machine, Path::new("/p"), false, "/opt/bir/bir-hooks").unwrap();
            let HookChange::Own { file, text } = change else { unreachable!("the file is ours") };
            assert_eq!((file.path.to_str(), file.role), (Some("/c/hooks/bir.json"), Role::Own));
            assert_eq!(crate::our_file(Host::CopilotCli, &text).as_deref(), Some("/opt/bir/bir-hooks"));
        });
    }
}
