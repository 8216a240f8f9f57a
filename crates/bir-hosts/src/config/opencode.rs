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
        local: "local",
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
            add(&file, &[""], Scope::User, Role::Servers);
        }
        add(
            &folder(machine),
            &["opencode.jsonc", "opencode.json", "config.json"],
            Scope::User,
            Role::Servers,
        );
        files.push(own_file(machine));
        files
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
