//! VS Code with GitHub Copilot, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! Files of other profiles than the first (`User/profiles/…/mcp.json`) are found by no name; `--config` takes one. A portable
//! `.mcp.json` is Claude Code's.

use super::table::Table;
use super::{ConfigFile, Filled, Scope, Shape, Syntax};
use crate::Host;
use bir_model::Format;

/// `servers`, and what it asks the user for (`${input:…}`) is filled in everywhere.
pub(super) const SHAPE: Shape = Shape {
    roots: &[&["servers"]],
    unproxied: &[("sandboxEnabled", "shuts the server in, and a proxy with it, which could record nothing")],
    filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
    ..Shape::COMMON
};

pub(super) const VS_CODE: Table = Table {
    host: Host::VsCode,
    shape: SHAPE,
    files: |machine, project| {
        vec![
            ConfigFile::servers(project.join(".vscode/mcp.json"), Scope::Project, Format::Jsonc),
            ConfigFile::servers(machine.app_data().join("Code/User/mcp.json"), Scope::User, Format::Jsonc),
        ]
    },
    // Whether one of two files' servers of the same name is hidden was not to be learnt; both are wrapped, which harms neither.
    shadows: false,
    without_project: false,
    restart_hint: "in VS Code, run `MCP: List Servers` and start the server anew; it asks for your trust again, since its entry has changed",
};

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, found, in_place, on};
    use super::super::{Config, Found, FoundFile, State, System};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        for (system, user) in [
            (System::Linux, "/x/Code/User/mcp.json"),
            (System::MacOs, "/h/Library/Application Support/Code/User/mcp.json"),
            (System::Windows, "/a/Code/User/mcp.json"),
        ] {
            let found = files(&VS_CODE, system, &[("XDG_CONFIG_HOME", "/x"), ("APPDATA", "/a")]);
            assert_eq!(
                found,
                ["project servers /p/.vscode/mcp.json".to_owned(), format!("user servers {user}")]
            );
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({
            "inputs": [{ "id": "key", "type": "promptString" }],
            "servers": {
                "files": { "type": "stdio", "command": "${workspaceFolder}/files", "args": ["${input:key}"], "dev": { "watch": "**" } },
                "web": { "type": "http", "url": "https://example.com/mcp", "headers": { "X-Key": "${input:key}" } },
                "old": { "type": "sse", "url": "http://127.0.0.1:3000/sse" },
                "asked": { "type": "http", "url": "https://example.com/${input:key}", "headers": { "A": "b" } },
                "socket": { "type": "http", "url": "unix:///tmp/s.sock#/mcp", "headers": { "A": "b" } },
                "app": { "type": "http", "url": "https://example.com/mcp", "headers": { "A": "b" }, "oauth": { "clientId": "x" } },
                "shut-in": { "command": "x", "sandboxEnabled": true },
                "free": { "command": "x", "sandboxEnabled": false },
            },
        });
        assert_eq!(
            becomes(&VS_CODE, &document, &in_place()),
            [
                r#"files: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","project","--","${workspaceFolder}/files","${input:key}"],"dev":{"watch":"**"}}"#,
                r#"web: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","project","--url","https://example.com/mcp","--header-env","X-Key: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"${input:key}"}}"#,
                r#"old: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","old","--scope","project","--url","http://127.0.0.1:3000/sse","--transport","sse"]}"#,
                r#"asked: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","asked","--scope","project","--url-env","BIR_UPSTREAM_URL"],"env":{"BIR_UPSTREAM_URL":"https://example.com/${input:key}","BIR_UPSTREAM_HEADERS":"{\"A\":\"b\"}"}}"#,
                "socket: ! shape",
                "app: ! oauth",
                "shut-in: ! shape",
                r#"free: {"command":"/opt/bir/bir-proxy","sandboxEnabled":false,"args":["--server-name","free","--scope","project","--","x"]}"#,
            ]
        );
    }

    #[test]
    fn both_files_count() {
        on(System::Linux, &[], |machine| {
            let one = found(&VS_CODE, machine, &json!({ "servers": { "a": { "command": "x" } } }));
            let file = ConfigFile { path: "/other".into(), ..one.files[0].file.clone() };
            let other = FoundFile { file, ..one.files[0].clone() };
            let both = Found { files: vec![one.files[0].clone(), other], ..one };
            let states: Vec<_> =
                VS_CODE.servers(machine, &both).into_iter().map(|server| server.state).collect();
            assert_eq!(states, [State::Active, State::Active]);
        });
    }
}
