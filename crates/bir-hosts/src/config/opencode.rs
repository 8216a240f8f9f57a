//! opencode 1.x and 2.x (facts/other-hosts.md §4).
//!
//! 1.x has `mcp.NAME` with `enabled`, 2.x `mcp.servers.NAME` with `disabled`; both stand in `opencode.json` or `opencode.jsonc`, and all files
//! are put together. Its hooks are a plugin, a file of ours alone.

use super::{
    CommandAs, Config, ConfigFile, Filled, Found, HookChange, Kind, Kinds, Machine, Memo, Off, Refusal, Role,
    Scope, Server, Shape, Syntax, System, Was, Wrap, Wrapping, committed, merged, unwrap, wrap,
};
use crate::{Host, hooks};
use bir_model::{Edit, Format, Place};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How it writes a server down.
pub(super) const SHAPE: Shape = Shape {
    roots: &[&["mcp"], &["mcp", "servers"]],
    command: CommandAs::Vector("command"),
    env: "environment",
    kinds: Some(Kinds {
        member: "type",
        local: Some("local"),
        needed: true,
        all: &[("local", Kind::Command), ("remote", Kind::Remote(None))],
    }),
    off: &[Off::Unless("enabled"), Off::If("disabled")],
    signs_in: &[],
    filled: Filled { env: &[Syntax::Braces], remote: &[Syntax::Braces] },
    ..Shape::COMMON
};

/// How it signs in, or that it does not. The entry of a command must not have it.
const OAUTH: &str = "oauth";

/// opencode.
pub(super) struct OpenCode;

fn folder(machine: &Machine<'_>) -> PathBuf {
    machine.xdg_config().join("opencode")
}

fn managed(machine: &Machine<'_>) -> PathBuf {
    match machine.system {
        System::Linux => "/etc/opencode".into(),
        System::MacOs => "/Library/Application Support/opencode".into(),
        System::Windows => {
            machine.dir("ProgramData").unwrap_or_else(|| r"C:\ProgramData".into()).join("opencode")
        }
    }
}

/// The user's own folder, for every project: in one within a project it would install packages of its own.
fn own_file(machine: &Machine<'_>) -> ConfigFile {
    let path = folder(machine).join("plugins").join("bir.js");
    ConfigFile { path, scope: Scope::User, format: Format::Jsonc, role: Role::Own }
}

impl Config for OpenCode {
    fn host(&self) -> Host {
        Host::OpenCode
    }

    fn is_there(&self, machine: &Machine<'_>, project: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
        exists(&folder(machine))
            || self
                .files(machine, project)
                .iter()
                .any(|file| file.scope == Scope::Project && exists(&file.path))
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        let mut files = Vec::new();
        let mut add = |dir: &Path, names: &[&str], scope, role| {
            for name in names {
                files.push(ConfigFile { path: dir.join(name), scope, format: Format::Jsonc, role });
            }
        };
        const BOTH: [&str; 2] = ["opencode.jsonc", "opencode.json"];
        add(&managed(machine), &BOTH, Scope::Managed, Role::Read);
        if let Some(dir) = machine.dir("OPENCODE_CONFIG_DIR") {
            add(&dir, &BOTH, Scope::User, Role::Servers);
        }
        add(&project.join(".opencode"), &BOTH, Scope::Project, Role::Servers);
        add(project, &BOTH, Scope::Project, Role::Servers);
        if let Some(file) = machine.dir("OPENCODE_CONFIG") {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            add(file.parent().unwrap_or(&file), &[name], Scope::User, Role::Servers);
        }
        add(
            &folder(machine),
            &["opencode.jsonc", "opencode.json", "config.json"],
            Scope::User,
            Role::Servers,
        );
        files.push(own_file(machine));
        committed::without_doubles(files)
    }

    fn servers(&self, _: &Machine<'_>, found: &Found) -> Vec<Server> {
        merged::servers(&SHAPE, found)
    }

    fn wrap(
        &self,
        _: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        if server.entry.get(OAUTH).is_some_and(|value| !value.is_null() && *value != false) {
            let why = "opencode signs in to it (`oauth`), and a proxy cannot";
            return Err(Refusal::new("oauth", why));
        }
        // It says itself that nobody signs in.
        let with =
            &Wrapping { named: with.named || server.entry.get(OAUTH) == Some(&false.into()), ..with.clone() };
        let file = super::table::file_of(found, server)?;
        let mut made = wrap(&SHAPE, file, server, server.scope, with)?;
        merged::is_whole(&SHAPE, found, server)?;
        committed::asked(server, with)?;
        without_oauth(server, &mut made);
        Ok(made)
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&SHAPE, entry, place, memo)
    }

    fn hooks(&self, machine: &Machine<'_>, _: &Path, _: bool, program: &str) -> Option<HookChange> {
        Some(HookChange::Own { file: own_file(machine), text: hooks(self.host(), program)?.text })
    }

    fn restart_hint(&self) -> &'static str {
        "start opencode again"
    }
}

/// Takes out of the wrapped entry that nobody signs in.
fn without_oauth(server: &Server, made: &mut Wrap) {
    let (Some(members), Some(memo)) = (server.entry.as_object(), &mut made.memo) else { return };
    let Some(was) = members.get(OAUTH) else { return };
    made.edits.push(Edit::Remove { at: made.place.key(OAUTH) });
    memo.was.push((OAUTH.into(), Was::Value(was.clone())));
    let order = |key: &str| members.keys().position(|known| known == key);
    memo.was.sort_by_key(|(key, _)| order(key));
}

#[cfg(test)]
mod tests {
    use super::super::FoundFile;
    use super::super::check::{becomes, files, named, on, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let expected = [
            "managed read /etc/opencode/opencode.jsonc",
            "managed read /etc/opencode/opencode.json",
            "project servers /p/.opencode/opencode.jsonc",
            "project servers /p/.opencode/opencode.json",
            "project servers /p/opencode.jsonc",
            "project servers /p/opencode.json",
            "user servers /x/opencode/opencode.jsonc",
            "user servers /x/opencode/opencode.json",
            "user servers /x/opencode/config.json",
            "user own /x/opencode/plugins/bir.js",
        ];
        assert_eq!(files(&OpenCode, System::Linux, &[("XDG_CONFIG_HOME", "/x")]), expected);
        let moved = files(
            &OpenCode,
            System::Linux,
            &[("OPENCODE_CONFIG", "/o/c.json"), ("OPENCODE_CONFIG_DIR", "/d")],
        );
        assert_eq!(
            (moved[2].as_str(), moved[8].as_str()),
            ("user servers /d/opencode.jsonc", "user servers /o/c.json")
        );
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcp": {
            "x": { "type": "local", "command": ["npx", "x", "{file:~/k}"], "environment": { "K": "{env:K}" }, "enabled": true, "timeout": 5 },
            "web": { "type": "remote", "url": "https://e.com/mcp", "headers": { "Authorization": "Bearer {env:T}", "X-R": "eu" } },
            "no-sign-in": { "type": "remote", "url": "https://e.com/mcp", "oauth": false },
            "signs-in": { "type": "remote", "url": "https://e.com/mcp", "oauth": { "clientSecret": "s" } },
            "bare": { "type": "remote", "url": "https://e.com/mcp" },
            "off": { "type": "local", "command": ["x"], "enabled": false },
            "none": { "type": "local", "command": [] },
            "servers": {
                "second": { "type": "local", "command": ["y"] },
                "second-off": { "type": "local", "command": ["y"], "disabled": true },
            },
        }});
        let with = Wrapping { mcp_json: true, ..plain() };
        let lines = becomes(&OpenCode, &document, &with);
        assert_eq!(
            lines,
            [
                r#"x: {"type":"local","command":["/opt/bir/bir-proxy","--server-name","x","--scope","project","--","npx","x","{file:~/k}"],"environment":{"K":"{env:K}"},"enabled":true,"timeout":5}"#,
                r#"web: {"type":"local","command":["/opt/bir/bir-proxy","--server-name","web","--scope","project","--url","https://e.com/mcp","--header-env","Authorization: BIR_UPSTREAM_HEADER_1"],"environment":{"BIR_UPSTREAM_HEADER_1":"Bearer {env:T}","BIR_UPSTREAM_HEADERS":"{\"X-R\":\"eu\"}"}}"#,
                r#"no-sign-in: {"type":"local","command":["/opt/bir/bir-proxy","--server-name","no-sign-in","--scope","project","--url","https://e.com/mcp"]}"#,
                "signs-in: ! oauth",
                "bare: ! oauth",
                "off: ! disabled",
                "none: ! shape",
                r#"second: {"type":"local","command":["/opt/bir/bir-proxy","--server-name","second","--scope","project","--","y"]}"#,
                "second-off: ! disabled",
            ]
        );
        assert_eq!(becomes(&OpenCode, &document, &named())[0], "x: ! committed");
        assert!(
            becomes(&OpenCode, &document, &Wrapping { mcp_json: true, ..named() })[4].starts_with("bare: {")
        );
    }

    #[test]
    fn a_project_may_switch_a_server_of_the_users() {
        on(System::Linux, &[], |machine| {
            let all = OpenCode.files(machine, Path::new("/p"));
            let code = |overlay: Value| {
                let servers = json!({ "mcp": { "x": { "type": "local", "command": ["x"] } } });
                let files = [(5, json!({ "mcp": { "x": overlay } })), (7, servers)]
                    .map(|(n, value)| FoundFile { file: all[n].clone(), value });
                let found = Found { files: files.into(), project: "/p".into() };
                let servers = OpenCode.servers(machine, &found);
                let wrapped = OpenCode.wrap(machine, &found, servers.last().unwrap(), &plain());
                (servers.len(), wrapped.map_or_else(|refusal| refusal.code, |_| "wrapped"))
            };
            assert_eq!(code(json!({ "enabled": false })), (1, "disabled"));
            assert_eq!(code(json!({ "enabled": true })), (1, "wrapped"));
            assert_eq!(code(json!({ "command": ["y"], "type": "local" })), (2, "shadowed"));
        });
    }

    #[test]
    fn its_hooks_are_a_plugin_of_ours() {
        on(System::Linux, &[], |machine| {
            let change = OpenCode.hooks(machine, Path::new("/p"), false, "/opt/bir/bir-hooks").unwrap();
            let HookChange::Own { file, text } = change else { unreachable!("the file is ours") };
            assert_eq!(file.path, Path::new("/h/.config/opencode/plugins/bir.js"));
            assert_eq!(crate::our_file(Host::OpenCode, &text).as_deref(), Some("/opt/bir/bir-hooks"));
        });
    }
}
