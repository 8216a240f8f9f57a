//! Codex: command line, IDE and app (facts/other-hosts.md §1).
//!
//! Its servers are the user's; a project may have more in `.codex/config.toml`, which count once the user trusts the project. A server gets
//! no variables of the environment but those that its entry names, so that credentials that are taken from there are named for the proxy.

use super::{
    ByName, Config, ConfigFile, Found, HookChange, Machine, Memo, Off, Refusal, Role, Scope, Server, Shape,
    System, Wrap, Wrapping, committed, merged, unwrap, wrap,
};
use crate::{Host, hook_elements};
use bir_model::{Edit, Format, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How it writes a server down.
pub(super) const SHAPE: Shape = Shape {
    roots: &[&["mcp_servers"]],
    kinds: None,
    urls: &[("url", Some("http"))],
    headers: "http_headers",
    by_name: ByName {
        bearer: Some("bearer_token_env_var"),
        headers: Some("env_http_headers"),
        pass_on: Some("env_vars"),
    },
    off: &[Off::Unless("enabled")],
    signs_in: &[],
    unproxied: &[
        ("http_headers_helper", "makes headers by a command of its own, which a proxy cannot ask"),
        ("environment_id", "starts it elsewhere, where there is no proxy"),
    ],
    ..Shape::COMMON
};

/// Members by which it signs in. It takes none of them in the entry of a command, so that naming the server does not help.
const SIGNS_IN: [&str; 4] = ["oauth", "auth", "oauth_resource", "scopes"];

/// Codex.
pub(super) struct Codex;

fn folder(machine: &Machine<'_>) -> PathBuf {
    machine.dir("CODEX_HOME").unwrap_or_else(|| machine.home.join(".codex"))
}

/// The directory of the machine's operator.
fn managed(machine: &Machine<'_>) -> PathBuf {
    match machine.system {
        System::Linux | System::MacOs => "/etc/codex".into(),
        System::Windows => machine
            .dir("ProgramData")
            .unwrap_or_else(|| r"C:\ProgramData".into())
            .join("OpenAI")
            .join("Codex"),
    }
}

fn requirements(machine: &Machine<'_>) -> PathBuf {
    managed(machine).join("requirements.toml")
}

fn user_file(machine: &Machine<'_>) -> PathBuf {
    folder(machine).join("config.toml")
}

/// What may be switched in the user's file and the operator's, below `features`.
fn is_off(document: &Value, feature: &str) -> bool {
    Place::keys(["features", feature]).of(document) == Some(&Value::Bool(false))
}

/// Whether the user trusts a project, or one above it.
fn is_trusted(machine: &Machine<'_>, found: &Found) -> bool {
    let Some(file) = found.at(&user_file(machine)) else { return false };
    found.project.ancestors().any(|dir| {
        let level = dir.to_str().map(|dir| Place::keys(["projects", dir, "trust_level"]));
        level.is_some_and(|level| level.of(&file.value).and_then(Value::as_str) == Some("trusted"))
    })
}

impl Config for Codex {
    fn host(&self) -> Host {
        Host::Codex
    }

    fn is_there(&self, machine: &Machine<'_>, project: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
        exists(&folder(machine)) || exists(&project.join(".codex/config.toml"))
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        let file = |path, scope, format, role| ConfigFile { path, scope, format, role };
        let operators =
            |name: &str| file(managed(machine).join(name), Scope::Managed, Format::Toml, Role::Read);
        committed::without_doubles(vec![
            operators("requirements.toml"),
            operators("managed_config.toml"),
            ConfigFile::servers(project.join(".codex/config.toml"), Scope::Project, Format::Toml),
            ConfigFile::servers(user_file(machine), Scope::User, Format::Toml),
            operators("config.toml"),
            file(folder(machine).join("hooks.json"), Scope::User, Format::Json, Role::Hooks),
        ])
    }

    fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server> {
        let with_servers = with_servers(machine, found);
        if is_trusted(machine, found) {
            return merged::servers(&SHAPE, &with_servers);
        }
        let mut servers = merged::servers(&SHAPE, &committed::untrusted(&with_servers));
        committed::wait(&mut servers);
        servers
    }

    fn wrap(
        &self,
        machine: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        let requirements = requirements(machine);
        if found.at(&requirements).is_some_and(|file| file.value.get("mcp_servers").is_some())
            && !server.ours
            && server.wrapped.is_none()
        {
            let why = format!(
                "{} tells servers apart by their command or address, which would be another behind the proxy; ask the machine's operator",
                requirements.display()
            );
            return Err(Refusal::new("policy", why));
        }
        let has = |member: &&&str| server.entry.get(**member).is_some_and(|value| !value.is_null());
        if let Some(member) = SIGNS_IN.iter().find(has) {
            let why = format!("Codex signs in to it (`{member}`), and a proxy cannot");
            return Err(Refusal::new("oauth", why));
        }
        let file = super::table::file_of(found, server)?;
        let made = wrap(&SHAPE, file, server, server.scope, with)?;
        let mut counts = with_servers(machine, found);
        if !is_trusted(machine, found) {
            counts.files.retain(|file| file.file.scope != Scope::Project);
        }
        merged::is_whole(&SHAPE, &counts, server)?;
        committed::asked(server, with)?;
        Ok(made)
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&SHAPE, entry, place, memo)
    }

    /// The user's, for every project: hooks of a project want a trust of their own.
    fn hooks(&self, machine: &Machine<'_>, _: &Path, _: bool, program: &str) -> Option<HookChange> {
        let path = folder(machine).join("hooks.json");
        let file = ConfigFile { path, scope: Scope::User, format: Format::Json, role: Role::Hooks };
        let under = Place::keys(["hooks"]);
        let elements = hook_elements(self.host(), program)?.into_iter();
        let elements = elements.map(|(event, element)| (under.key(event), element)).collect();
        Some(HookChange::Appended { file, elements })
    }

    fn hooks_refused(&self, machine: &Machine<'_>, found: &Found) -> Option<Refusal> {
        let requirements = requirements(machine);
        if found
            .at(&requirements)
            .is_some_and(|file| file.value.get("allow_managed_hooks_only") == Some(&Value::Bool(true)))
        {
            let why = format!(
                "{} allows the operator's own hooks alone (`allow_managed_hooks_only`); servers are recorded one by one",
                requirements.display()
            );
            return Some(Refusal::new("policy", why));
        }
        let off = found
            .files
            .iter()
            .find(|file| is_off(&file.value, "hooks") || is_off(&file.value, "codex_hooks"))?;
        let why = format!(
            "{} switches all hooks off (`features.hooks`); take that out first",
            off.file.path.display()
        );
        Some(Refusal::new("disabled", why))
    }

    fn restart_hint(&self) -> &'static str {
        "start a new session of Codex"
    }
}

/// The files that hold servers. The requirements name some as well, and mean something else by it.
fn with_servers(machine: &Machine<'_>, found: &Found) -> Found {
    let requirements = requirements(machine);
    let files =
        found.files.iter().filter(|file| file.file.path != requirements && file.file.format == Format::Toml);
    Found { files: files.cloned().collect(), project: found.project.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::FoundFile;
    use super::super::check::{becomes, files, found, named, on, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let expected = [
            "managed read /etc/codex/requirements.toml",
            "managed read /etc/codex/managed_config.toml",
            "project servers /p/.codex/config.toml",
            "user servers /h/.codex/config.toml",
            "managed read /etc/codex/config.toml",
            "user hooks /h/.codex/hooks.json",
        ];
        assert_eq!(files(&Codex, System::Linux, &[]), expected);
        assert_eq!(files(&Codex, System::Linux, &[("CODEX_HOME", "/c")])[5], "user hooks /c/hooks.json");
        let in_home = on(System::Linux, &[], |machine| Codex.files(machine, Path::new("/h")));
        let same: Vec<_> = in_home.iter().filter(|file| file.path.ends_with(".codex/config.toml")).collect();
        assert!(matches!(same[..], [ConfigFile { scope: Scope::User, .. }]), "{same:?}");
    }

    #[test]
    fn its_servers() {
        // The document stands in the project's file.
        let document = json!({ "mcp_servers": {
            "x": { "command": "npx", "args": ["x"], "env": { "K": "v" }, "env_vars": ["A"], "required": true, "startup_timeout_sec": 3.5, "enabled_tools": ["t"] },
            "bearer": { "url": "https://e.com/mcp", "bearer_token_env_var": "TOKEN", "http_headers": { "X-R": "eu" }, "tool_timeout_sec": 9 },
            "by-name": { "url": "https://e.com/mcp", "env_http_headers": { "X-Key": "KEY" } },
            "off": { "command": "x", "enabled": false },
            "helper": { "url": "https://e.com/mcp", "http_headers_helper": "/x/h" },
            "signs-in": { "url": "https://e.com/mcp", "scopes": ["a"] },
            "bare": { "url": "https://e.com/mcp" },
            "token": { "url": "https://e.com/mcp", "bearer_token_env_var": "ghp_s3cr3t-x" },
        }});
        let with = Wrapping { mcp_json: true, ..named() };
        assert_eq!(
            becomes(&Codex, &document, &with),
            [
                r#"x: {"command":"/opt/bir/bir-proxy","args":["--server-name","x","--scope","project","--","npx","x"],"env":{"K":"v"},"env_vars":["A"],"required":true,"startup_timeout_sec":3.5,"enabled_tools":["t"]}"#,
                r#"bearer: {"tool_timeout_sec":9,"env_vars":["TOKEN"],"command":"/opt/bir/bir-proxy","args":["--server-name","bearer","--scope","project","--url","https://e.com/mcp","--transport","http","--bearer-env","TOKEN"],"env":{"BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                r#"by-name: {"env_vars":["KEY"],"command":"/opt/bir/bir-proxy","args":["--server-name","by-name","--scope","project","--url","https://e.com/mcp","--transport","http","--header-env","X-Key: KEY"]}"#,
                "off: ! disabled",
                "helper: ! shape",
                "signs-in: ! oauth",
                r#"bare: {"command":"/opt/bir/bir-proxy","args":["--server-name","bare","--scope","project","--url","https://e.com/mcp","--transport","http"]}"#,
                "token: ! shape",
            ]
        );
        // Nobody trusts the project, and nobody has asked for its files.
        assert_eq!(becomes(&Codex, &document, &plain())[0], "x: ! pending");
        assert_eq!(becomes(&Codex, &document, &named())[0], "x: ! committed");
    }

    /// The codes for a server of the project and one of the user, where the files say this as well.
    fn codes(managed: Value, user: Value) -> Vec<String> {
        on(System::Linux, &[], |machine| {
            let servers = json!({ "mcp_servers": { "of-project": { "command": "x" } } });
            let mut found = found(&Codex, machine, &Value::Null);
            let mut user = user;
            user["mcp_servers"] = json!({ "of-user": { "command": "x" } });
            let all = Codex.files(machine, Path::new("/p"));
            found.files = [(0, managed), (2, servers), (3, user)]
                .map(|(n, value)| FoundFile { file: all[n].clone(), value })
                .into();
            let servers = Codex.servers(machine, &found);
            let with = Wrapping { mcp_json: true, ..plain() };
            let code = |server: &Server| {
                Codex
                    .wrap(machine, &found, server, &with)
                    .map_or_else(|refusal| refusal.code, |_| "wrapped")
                    .into()
            };
            let mut codes: Vec<String> = servers.iter().map(code).collect();
            codes.extend(
                Codex.hooks_refused(machine, &found).map(|refusal| format!("hooks {}", refusal.code)),
            );
            codes
        })
    }

    #[test]
    fn trust_and_requirements_count() {
        let nothing = json!({});
        let trusted = json!({ "projects": { "/p": { "trust_level": "trusted" } } });
        assert_eq!(codes(nothing.clone(), nothing.clone()), ["wrapped", "pending"]);
        assert_eq!(codes(nothing.clone(), trusted.clone()), ["wrapped", "wrapped"]);
        assert_eq!(
            codes(nothing.clone(), json!({ "projects": { "/p": { "trust_level": "untrusted" } } })),
            ["wrapped", "pending"]
        );
        let listed = json!({ "mcp_servers": { "of-user": { "identity": { "command": "x" } } } });
        assert_eq!(codes(listed, trusted.clone()), ["policy", "policy"]);
        assert_eq!(
            codes(json!({ "allow_managed_hooks_only": true }), trusted),
            ["wrapped", "wrapped", "hooks policy"]
        );
        assert_eq!(
            codes(nothing, json!({ "features": { "hooks": false } })),
            ["wrapped", "pending", "hooks disabled"]
        );
    }

    #[test]
    fn a_project_has_a_say_once_it_is_trusted() {
        on(System::Linux, &[], |machine| {
            let all = Codex.files(machine, Path::new("/p"));
            let codes = |overlay: Value, trust: &str| -> Vec<&str> {
                let user = json!({
                    "mcp_servers": { "x": { "command": "x", "args": ["1"] } },
                    "projects": { "/p": { "trust_level": trust } },
                });
                let files = [(2, json!({ "mcp_servers": { "x": overlay } })), (3, user)]
                    .map(|(n, value)| FoundFile { file: all[n].clone(), value });
                let found = Found { files: files.into(), project: "/p".into() };
                let with = Wrapping { mcp_json: true, ..plain() };
                let code = |server: &Server| {
                    Codex
                        .wrap(machine, &found, server, &with)
                        .map_or_else(|refusal| refusal.code, |_| "wrapped")
                };
                Codex.servers(machine, &found).iter().map(code).collect()
            };
            let (off, other) = (json!({ "enabled": false }), json!({ "command": "y" }));
            assert_eq!(codes(off.clone(), "trusted"), ["disabled"]);
            assert_eq!(codes(off, "untrusted"), ["wrapped", "pending"]);
            assert_eq!(codes(other.clone(), "trusted"), ["merged", "shadowed"]);
            assert_eq!(codes(other, "untrusted"), ["wrapped", "pending"]);
        });
    }

    #[test]
    fn its_hooks_are_the_users() {
        on(System::Linux, &[], |machine| {
            for user in [false, true] {
                let change = Codex.hooks(machine, Path::new("/p"), user, "/opt/bir/bir-hooks").unwrap();
                let HookChange::Appended { file, elements } = change else {
                    unreachable!("the file is shared")
                };
                assert_eq!(file.path, Path::new("/h/.codex/hooks.json"));
                assert_eq!(elements[0].0, Place::keys(["hooks", "SessionStart"]));
                assert!(elements.iter().all(|(_, element)| crate::our_hook(Host::Codex, element).is_some()));
            }
        });
    }
}
