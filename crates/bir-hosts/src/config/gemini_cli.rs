//! Gemini CLI (facts/other-hosts.md §2).
//!
//! Everything stands in `settings.json`: the operator's counts before the project's, that before the user's, that before the operator's
//! defaults. Of the same name, a whole entry counts instead of the other. Servers are switched off in lists beside them.

use super::{
    Config, ConfigFile, Filled, Found, FoundFile, HookChange, Kinds, Machine, Memo, Refusal, Role, Scope,
    Server, Shape, State, Syntax, System, Wrap, Wrapping, committed, servers, unwrap, wrap,
};
use crate::{Host, hook_elements};
use bir_model::{Edit, Format, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How it writes a server down. It fills in every text of the file, and the variables and headers once more.
pub(super) const SHAPE: Shape = Shape {
    kinds: Some(Kinds::COMMON),
    urls: &[("httpUrl", Some("http")), ("url", None)],
    off: &[],
    filled: Filled {
        env: &[Syntax::DollarBraces, Syntax::Dollar, Syntax::Percent],
        remote: &[Syntax::DollarBraces, Syntax::Dollar, Syntax::Percent],
    },
    ..Shape::COMMON
};

/// Gemini CLI.
pub(super) struct GeminiCli;

fn folder(machine: &Machine<'_>) -> PathBuf {
    machine.dir("GEMINI_CLI_HOME").unwrap_or_else(|| machine.home.clone()).join(".gemini")
}

fn user_file(machine: &Machine<'_>) -> ConfigFile {
    let path = folder(machine).join("settings.json");
    ConfigFile { path, scope: Scope::User, format: Format::Jsonc, role: Role::Both }
}

/// The operator's settings, and the operator's defaults.
fn managed(machine: &Machine<'_>) -> [PathBuf; 2] {
    let system = match machine.system {
        System::Linux => "/etc/gemini-cli/settings.json",
        System::MacOs => "/Library/Application Support/GeminiCli/settings.json",
        System::Windows => r"C:\ProgramData\gemini-cli\settings.json",
    };
    let settings = machine.dir("GEMINI_CLI_SYSTEM_SETTINGS_PATH").unwrap_or_else(|| system.into());
    let defaults = machine
        .dir("GEMINI_CLI_SYSTEM_DEFAULTS_PATH")
        .unwrap_or_else(|| settings.with_file_name("system-defaults.json"));
    [settings, defaults]
}

/// Where `gemini mcp disable` writes.
fn switches(machine: &Machine<'_>) -> PathBuf {
    folder(machine).join("mcp-server-enablement.json")
}

/// The names of a list below `mcp`, as they are compared.
fn names(file: &FoundFile, list: &str) -> Option<Vec<String>> {
    let names = Place::keys(["mcp", list]).of(&file.value)?.as_array()?;
    Some(names.iter().filter_map(Value::as_str).map(compared).collect())
}

fn compared(name: &str) -> String {
    name.trim().to_lowercase()
}

/// The state of a server that counts.
fn state(machine: &Machine<'_>, found: &Found, name: &str) -> State {
    let name = compared(name);
    for file in &found.files {
        let allowed = names(file, "allowed").filter(|names| !names.is_empty());
        let said = match (allowed, names(file, "excluded")) {
            (_, Some(excluded)) if excluded.contains(&name) => "mcp.excluded",
            (Some(allowed), _) if !allowed.contains(&name) => "mcp.allowed",
            _ => continue,
        };
        return match file.file.scope {
            Scope::Managed => {
                State::Forbidden(format!("`{said}` in {} keeps it from starting", file.file.path.display()))
            }
            _ => State::Disabled,
        };
    }
    let switched = found.at(&switches(machine)).and_then(|file| file.value.as_object());
    let off = switched
        .into_iter()
        .flatten()
        .any(|(server, entry)| compared(server) == name && entry.get("enabled") == Some(&Value::Bool(false)));
    if off { State::Disabled } else { State::Active }
}

impl Config for GeminiCli {
    fn host(&self) -> Host {
        Host::GeminiCli
    }

    fn is_there(&self, machine: &Machine<'_>, project: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
        exists(&folder(machine)) || exists(&project.join(".gemini/settings.json"))
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        let read = |path, scope| ConfigFile { path, scope, format: Format::Jsonc, role: Role::Read };
        let [settings, defaults] = managed(machine);
        committed::without_doubles(vec![
            read(settings, Scope::Managed),
            ConfigFile::servers(project.join(".gemini/settings.json"), Scope::Project, Format::Jsonc),
            user_file(machine),
            read(defaults, Scope::Managed),
            read(switches(machine), Scope::User),
        ])
    }

    fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server> {
        let mut all = servers(&SHAPE, found);
        for server in all.iter_mut().filter(|server| server.state == State::Active) {
            server.state = state(machine, found, &server.name);
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
        if server.entry.get("authProviderType").is_some_and(|value| !value.is_null()) {
            // It wants an address beside it, so that naming the server does not help.
            let why = "Gemini CLI signs in to it (`authProviderType`), and a proxy cannot";
            return Err(Refusal::new("oauth", why));
        }
        let file = super::table::file_of(found, server)?;
        let made = wrap(&SHAPE, file, server, server.scope, with)?;
        committed::asked(server, with)?;
        Ok(made)
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&SHAPE, entry, place, memo)
    }

    /// The user's, for every project: those of a project are fingerprinted, and in a file that may be committed.
    fn hooks(&self, machine: &Machine<'_>, _: &Path, _: bool, program: &str) -> Option<HookChange> {
        let under = Place::keys(["hooks"]);
        let elements = hook_elements(self.host(), program)?.into_iter();
        let elements = elements.map(|(event, element)| (under.key(event), element)).collect();
        Some(HookChange::Appended { file: user_file(machine), elements })
    }

    fn hooks_refused(&self, _: &Machine<'_>, found: &Found) -> Option<Refusal> {
        let config = |file: &FoundFile, member| Place::keys(["hooksConfig", member]).of(&file.value).cloned();
        let off = found.files.iter().find(|file| {
            let ours =
                |names: Value| names.as_array().is_some_and(|names| names.iter().any(|name| name == "bir"));
            config(file, "enabled") == Some(Value::Bool(false)) || config(file, "disabled").is_some_and(ours)
        })?;
        let why = format!(
            "{} switches our hooks off (`hooksConfig`); take that out first",
            off.file.path.display()
        );
        Some(Refusal::new(if off.file.scope == Scope::Managed { "policy" } else { "disabled" }, why))
    }

    fn restart_hint(&self) -> &'static str {
        "start a new session of Gemini CLI"
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, named, on, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let expected = [
            "managed read /etc/gemini-cli/settings.json",
            "project servers /p/.gemini/settings.json",
            "user both /h/.gemini/settings.json",
            "managed read /etc/gemini-cli/system-defaults.json",
            "user read /h/.gemini/mcp-server-enablement.json",
        ];
        assert_eq!(files(&GeminiCli, System::Linux, &[]), expected);
        let moved = files(&GeminiCli, System::MacOs, &[("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/s/x.json")]);
        assert_eq!(
            (moved[0].as_str(), moved[3].as_str()),
            ("managed read /s/x.json", "managed read /s/system-defaults.json")
        );
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcpServers": {
            "with_line": { "command": "./run.sh", "cwd": "./t", "args": ["$A"], "timeout": 6, "trust": true, "includeTools": ["a"] },
            "http": { "httpUrl": "https://e.com/mcp", "headers": { "Authorization": "Bearer ${T}", "X-R": "eu" }, "timeout": 5 },
            "url": { "url": "https://e.com/sse", "type": "sse", "headers": { "X-R": "eu" } },
            "plain-url": { "url": "https://e.com/mcp", "headers": { "X-R": "eu" } },
            "oauth": { "httpUrl": "https://e.com/mcp", "oauth": { "enabled": true } },
            "google": { "httpUrl": "https://e.com/mcp", "authProviderType": "google_credentials" },
            "both": { "httpUrl": "https://e.com/mcp", "command": "x" },
        }});
        let with = Wrapping { mcp_json: true, ..plain() };
        assert_eq!(
            becomes(&GeminiCli, &document, &with),
            [
                r#"with_line: {"command":"/opt/bir/bir-proxy","cwd":"./t","args":["--server-name","with_line","--scope","project","--","./run.sh","$A"],"timeout":6,"trust":true,"includeTools":["a"]}"#,
                r#"http: {"timeout":5,"command":"/opt/bir/bir-proxy","args":["--server-name","http","--scope","project","--url","https://e.com/mcp","--transport","http","--header-env","Authorization: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"Bearer ${T}","BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                r#"url: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","url","--scope","project","--url","https://e.com/sse","--transport","sse"],"env":{"BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                r#"plain-url: {"command":"/opt/bir/bir-proxy","args":["--server-name","plain-url","--scope","project","--url","https://e.com/mcp"],"env":{"BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                "oauth: ! oauth",
                "google: ! oauth",
                "both: ! shape",
            ]
        );
        assert_eq!(becomes(&GeminiCli, &document, &plain())[0], "with_line: ! committed");
        assert_eq!(
            becomes(&GeminiCli, &document, &Wrapping { mcp_json: true, ..named() })[5],
            "google: ! oauth"
        );
    }

    #[test]
    fn servers_are_switched_off_beside_themselves() {
        on(System::Linux, &[], |machine| {
            let all = GeminiCli.files(machine, Path::new("/p"));
            let state = |n: usize, value: Value| {
                let servers = json!({ "mcpServers": { "Srv": { "command": "x" } } });
                let mut files = vec![FoundFile { file: all[2].clone(), value: servers }];
                files.push(FoundFile { file: all[n].clone(), value });
                let found = Found { files, project: "/p".into() };
                GeminiCli.servers(machine, &found)[0].state.clone()
            };
            for (value, off) in [
                (json!({}), false),
                (json!({ "mcp": { "allowed": ["srv "] } }), false),
                (json!({ "mcp": { "allowed": [] } }), false),
                (json!({ "mcp": { "allowed": ["other"] } }), true),
                (json!({ "mcp": { "excluded": ["SRV"] } }), true),
                (json!({ "mcp": { "allowed": ["srv"], "excluded": ["srv"] } }), true),
            ] {
                assert_eq!(state(1, value.clone()) == State::Disabled, off, "{value}");
                assert_eq!(matches!(state(0, value.clone()), State::Forbidden(_)), off, "{value}");
            }
            assert_eq!(state(4, json!({ "srv": { "enabled": false } })), State::Disabled);
            assert_eq!(state(4, json!({ "srv": { "enabled": true } })), State::Active);
            let hooks = |value: Value| {
                let files = vec![FoundFile { file: all[2].clone(), value }];
                GeminiCli
                    .hooks_refused(machine, &Found { files, project: "/p".into() })
                    .map(|refusal| refusal.code)
            };
            assert_eq!(hooks(json!({ "hooksConfig": { "enabled": false } })), Some("disabled"));
            assert_eq!(hooks(json!({ "hooksConfig": { "disabled": ["bir"] } })), Some("disabled"));
            assert_eq!(hooks(json!({ "hooksConfig": { "disabled": ["other"] } })), None);
        });
    }

    #[test]
    fn its_hooks_are_the_users() {
        on(System::Linux, &[], |machine| {
            let change = GeminiCli.hooks(machine, Path::new("/p"), false, "/opt/bir/bir-hooks").unwrap();
            let HookChange::Appended { file, elements } = change else { unreachable!("the file is shared") };
            assert_eq!((file.path.to_str(), file.role), (Some("/h/.gemini/settings.json"), Role::Both));
            assert!(elements.iter().all(|(_, element)| crate::our_hook(Host::GeminiCli, element).is_some()));
        });
    }
}
