//! Claude Code (facts/claude-code.md §5, seed 01 phase 7).
//!
//! ```text
//!  ~/.claude.json ── projects[KEY].mcpServers   local     counts most; nobody is asked about it     ◀── wrapped copies go here
//!  .mcp.json (project, parents) ── mcpServers   project   started once it is approved                    │
//!  ~/.claude.json ── mcpServers                 user      counts least                                   ┘
//!  managed-mcp.json                             managed   the only servers where it is there
//! ```
//!
//! A server of the local scope is wrapped in place. One of the others is copied into the local scope, wrapped: the copy counts instead of
//! it in this project, and the file in which it stands, which may be committed, stays as it is. Only `--mcp-json` and `--everywhere` wrap
//! those in place.
//!
//! - `paths`: where the files are;  `key`: which member of `projects` is this one;
//! - `scopes`: the servers and what becomes of each;  `approval`: what the user has said of `.mcp.json`;  `policy`: what the operator has;
//! - `copies`: wrapped copies.

mod approval;
mod copies;
mod key;
mod paths;
mod policy;
mod scopes;

pub use copies::is_copy_of;

use super::{
    Config, ConfigFile, Filled, Found, HookChange, Machine, Memo, Refusal, Role, Scope, Server, Shape,
    Syntax, Wrap, Wrapping, unwrap, wrap,
};
use crate::{Host, hook_elements};
use bir_model::{Edit, Format, Place};
use policy::Policy;
use serde_json::Value;
use std::path::Path;

/// How it writes a server down. `disabled` means nothing to it.
pub(super) const SHAPE: Shape = Shape {
    off: &[],
    filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
    ..Shape::COMMON
};

/// Claude Code.
pub(super) struct ClaudeCode;

impl Config for ClaudeCode {
    fn host(&self) -> Host {
        Host::ClaudeCode
    }

    /// A `.mcp.json` may be there for others.
    fn is_there(&self, machine: &Machine<'_>, project: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
        exists(&paths::main(machine))
            || exists(&paths::folder(machine))
            || paths::settings(machine, project).iter().any(|file| exists(&file.path))
    }

    fn files(&self, machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
        paths::all(machine, project)
    }

    fn servers(&self, machine: &Machine<'_>, found: &Found) -> Vec<Server> {
        scopes::servers(machine, found)
    }

    fn wrap(
        &self,
        machine: &Machine<'_>,
        found: &Found,
        server: &Server,
        with: &Wrapping,
    ) -> Result<Wrap, Refusal> {
        if server.scope == Scope::Managed {
            return Err(Refusal::new(
                "policy",
                "the machine's operator set it up, and only they may change it",
            ));
        }
        if !server.ours && server.wrapped.is_none() {
            Policy::read(machine, found).allows_wrapping(server)?;
        }
        let in_place = match server.scope {
            Scope::Local => true,
            Scope::Project => with.mcp_json,
            Scope::User | Scope::Managed => with.everywhere,
        };
        if !in_place {
            return copies::copy(machine, found, server, with);
        }
        let format = Format::Json;
        let file = ConfigFile { path: server.file.clone(), scope: server.scope, format, role: Role::Servers };
        wrap(&SHAPE, &file, server, server.scope, with)
    }

    fn unwrap(&self, entry: &Value, place: &Place, memo: &Memo) -> Result<Vec<Edit>, Refusal> {
        unwrap(&SHAPE, entry, place, memo)
    }

    fn hooks(&self, machine: &Machine<'_>, project: &Path, user: bool, program: &str) -> Option<HookChange> {
        let file = if user { paths::user_settings(machine) } else { paths::local_settings(project) };
        let under = Place::keys(["hooks"]);
        let elements = hook_elements(self.host(), program)?.into_iter();
        let elements = elements.map(|(event, element)| (under.key(event), element)).collect();
        Some(HookChange::Appended { file, elements })
    }

    fn hooks_refused(&self, machine: &Machine<'_>, found: &Found) -> Option<Refusal> {
        policy::hooks_refused(machine, found)
    }

    fn restart_hint(&self) -> &'static str {
        "start a new session of Claude Code; one that runs keeps its servers and hooks"
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, named, on, plain};
    use super::super::{FoundFile, System};
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;

    #[test]
    fn its_servers() {
        let document = json!({
            "projects": { "/p": { "mcpServers": {
                "mine": { "type": "stdio", "command": "node", "args": ["mine.js", "${HOME}"], "env": { "K": "v" }, "timeout": 9, "alwaysLoad": true },
                "web": { "type": "sse", "url": "https://e.com/sse", "headers": { "Authorization": "Bearer ${T:-none}", "X-Team": "a" } },
            }, "disabledMcpServers": ["off"] } },
            "mcpServers": {
                "all": { "command": "uvx", "args": ["all"], "disabled": true },
                "remote": { "type": "http", "url": "${BASE}/mcp", "headers": { "A": "b" }, "timeout": 5 },
                "sign-in": { "type": "http", "url": "https://e.com/mcp", "oauth": { "clientId": "x" } },
                "helper": { "type": "http", "url": "https://e.com/mcp", "headersHelper": "/x/token.sh" },
                "off": { "command": "x" },
                "sdk": { "type": "sdk", "name": "x" },
                "bir": { "command": "/opt/bir/bir", "args": ["mcp", "serve"] },
            },
        });
        let lines = becomes(&ClaudeCode, &document, &plain());
        assert_eq!(
            lines,
            [
                r#"mine: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","mine","--scope","local","--","node","mine.js","${HOME}"],"env":{"K":"v"},"timeout":9,"alwaysLoad":true}"#,
                r#"web: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","local","--url","https://e.com/sse","--transport","sse","--header-env","Authorization: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"Bearer ${T:-none}","BIR_UPSTREAM_HEADERS":"{\"X-Team\":\"a\"}"}}"#,
                r#"all: {"command":"/opt/bir/bir-proxy","args":["--server-name","all","--scope","local","--","uvx","all"],"disabled":true}"#,
                r#"remote: {"type":"stdio","timeout":5,"command":"/opt/bir/bir-proxy","args":["--server-name","remote","--scope","local","--url-env","BIR_UPSTREAM_URL"],"env":{"BIR_UPSTREAM_URL":"${BASE}/mcp","BIR_UPSTREAM_HEADERS":"{\"A\":\"b\"}"}}"#,
                "sign-in: ! oauth",
                "helper: ! shape",
                "off: ! disabled",
                "sdk: ! shape",
                "bir: ! ours",
            ]
        );
        let of = |with: &Wrapping, n: usize| becomes(&ClaudeCode, &document, with)[n].clone();
        assert!(
            of(&named(), 4).starts_with(r#"sign-in: {"type":"stdio","oauth":{"clientId":"x"},"command""#)
        );
        let everywhere = of(&Wrapping { everywhere: true, ..plain() }, 2);
        assert!(everywhere.contains(r#""--server-name","all","--scope","user","--","uvx""#), "{everywhere}");
    }

    /// What of a server of `.mcp.json` becomes: the file that changes, the place, whether it is a copy; or the code of the refusal.
    fn of_mcp_json(settings: Value, with: &Wrapping) -> String {
        on(System::Linux, &[], |machine| {
            let project = PathBuf::from("/p");
            let said = [
                (
                    "/p/.mcp.json",
                    json!({ "mcpServers": { "x": { "command": "x-mcp", "env": { "K": "v" } } } }),
                ),
                ("/p/.claude/settings.local.json", settings),
                ("/h/.claude.json", json!({ "projects": { "/p/": { "mcpServers": {} } } })),
            ];
            let all = ClaudeCode.files(machine, &project);
            let file = |path: &str| all.iter().find(|file| file.path == Path::new(path)).unwrap().clone();
            let files = said.map(|(path, value)| FoundFile { file: file(path), value });
            let found = Found { files: files.into(), project };
            let servers = ClaudeCode.servers(machine, &found);
            match ClaudeCode.wrap(machine, &found, &servers[0], with) {
                Err(refusal) => refusal.code.into(),
                Ok(wrap) => {
                    let place = serde_json::to_string(&wrap.place).unwrap();
                    format!(
                        "{} {:?} {place} {}",
                        wrap.file.path.display(),
                        wrap.file.scope,
                        wrap.memo.is_none()
                    )
                }
            }
        })
    }

    #[test]
    fn a_server_of_mcp_json_is_copied_once_it_is_approved() {
        let approved = json!({ "enabledMcpjsonServers": ["x"] });
        let copied = r#"/h/.claude.json Local ["projects","/p/","mcpServers","x"] true"#;
        assert_eq!(of_mcp_json(json!({}), &plain()), "pending");
        assert_eq!(of_mcp_json(json!({}), &named()), copied);
        assert_eq!(of_mcp_json(approved.clone(), &plain()), copied);
        assert_eq!(of_mcp_json(json!({ "disabledMcpjsonServers": ["x"] }), &named()), "rejected");
        let in_place = of_mcp_json(approved, &Wrapping { mcp_json: true, ..plain() });
        assert_eq!(in_place, r#"/p/.mcp.json Project ["mcpServers","x"] false"#);
    }

    #[test]
    fn a_copy_is_known_until_its_original_changes() {
        let original = json!({ "command": "all-mcp", "args": ["a"], "env": { "K": "v" } });
        let document = |original: &Value, copy: Option<&Value>| {
            let local: serde_json::Map<_, _> =
                copy.map(|copy| ("all".to_owned(), copy.clone())).into_iter().collect();
            json!({ "projects": { "/p": { "mcpServers": local } }, "mcpServers": { "all": original } })
        };
        on(System::Linux, &[], |machine| {
            let file = ClaudeCode.files(machine, Path::new("/p")).remove(2);
            let found =
                |value| Found { files: vec![FoundFile { file: file.clone(), value }], project: "/p".into() };
            let bare = found(document(&original, None));
            let with = Wrapping { no_correlation: true, ..plain() };
            let server = ClaudeCode.servers(machine, &bare).remove(0);
            let wrap = ClaudeCode.wrap(machine, &bare, &server, &with).unwrap();
            let [Edit::Set { value: copy, .. }] = &wrap.edits[..] else { unreachable!("{wrap:?}") };
            let known = |original: &Value, copy: &Value| {
                let servers = ClaudeCode.servers(machine, &found(document(original, Some(copy))));
                assert!(matches!(servers[1].state, super::super::State::Shadowed(_)));
                is_copy_of(&servers[0], &servers[1])
            };
            assert!(known(&original, copy));
            for (member, value) in [("args", json!(["b"])), ("env", json!({"K": "w"})), ("timeout", json!(1))]
            {
                let mut changed = original.clone();
                changed[member] = value;
                assert!(!known(&changed, copy), "{member}");
            }
            assert!(!known(&original, &original), "it is not wrapped");
        });
    }

    #[test]
    fn it_is_there_where_it_has_written_something_itself() {
        on(System::Linux, &[], |machine| {
            let is_there =
                |path: &str| ClaudeCode.is_there(machine, Path::new("/p"), &|seen| seen == Path::new(path));
            assert!(
                is_there("/h/.claude.json")
                    && is_there("/h/.claude")
                    && is_there("/p/.claude/settings.local.json")
            );
            assert!(!is_there("/p/.mcp.json") && !is_there("/etc/claude-code/managed-settings.json"));
        });
    }

    #[test]
    fn its_hooks() {
        on(System::Linux, &[("CLAUDE_CONFIG_DIR", "/d")], |machine| {
            for (user, path) in [(false, "/p/.claude/settings.local.json"), (true, "/d/settings.json")] {
                let change = ClaudeCode.hooks(machine, Path::new("/p"), user, "/opt/bir/bir-hooks").unwrap();
                let HookChange::Appended { file, elements } = change else {
                    unreachable!("the file is shared")
                };
                assert_eq!(file.path, Path::new(path));
                let (place, element) = &elements[2];
                assert_eq!(place, &Place::keys(["hooks", "PreToolUse"]));
                assert_eq!(
                    element.to_string(),
                    r#"{"hooks":[{"type":"command","command":"/opt/bir/bir-hooks","args":["hook","PreToolUse"],"timeout":15}]}"#
                );
            }
        });
    }
}
