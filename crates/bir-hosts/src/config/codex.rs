//! Codex: command line, IDE and app (facts/other-hosts.md §1).
//!
//! Its servers are the user's; a project may have more in `.codex/config.toml`, which count once the user trusts the project. A server gets
//! no variables of the environment but those that its entry names, so that credentials that are taken from there are named for the proxy.

use super::{
    ByName, Config, ConfigFile, Found, HookChange, Machine, Memo, Off, Refusal, Role, Scope, Server, Shape,
    State, System, Wrap, Wrapping, committed, merged, unwrap, wrap,
};
use crate::{Host, elements};
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
        vec![
            operators("requirements.toml"),
            operators("managed_config.toml"),
            ConfigFile::servers(project.join(".codex/config.toml"), Scope::Project, Format::Toml),
            ConfigFile::servers(user_file(machine), Scope::User, Format::Toml),
            operators("config.toml"),
            file(folder(machine).join("hooks.json"), Scope::User, Format::Json, Role::Hooks),
        ]
    }

    fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server> {
        let trusted = is_trusted(machine, found);
        let mut servers = merged::servers(&SHAPE, &with_servers(machine, found));
        for server in servers.iter_mut().filter(|server| server.scope == Scope::Project && !trusted) {
            if server.state == State::Active {
                server.state = State::Pending;
            }
        }
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
        merged::is_whole(&SHAPE, &with_servers(machine, found), server)?;
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
        let elements = elements(self.host(), program)?.into_iter();
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
