//! Cursor, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.

use super::table::Table;
use super::{ConfigFile, Filled, Scope, Shape, Syntax};
use crate::Host;
use bir_model::Format;

pub(super) const CURSOR: Table = Table {
    host: Host::Cursor,
    // `envFile` stays: a command behind the proxy gets what the proxy got.
    shape: Shape {
        filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
        ..Shape::COMMON
    },
    files: |machine, project| {
        // Comments are met in its files, though it says JSON.
        vec![
            ConfigFile::servers(project.join(".cursor/mcp.json"), Scope::Project, Format::Jsonc),
            ConfigFile::servers(machine.home.join(".cursor/mcp.json"), Scope::User, Format::Jsonc),
        ]
    },
    shadows: true,
    without_project: false,
    restart_hint: "in Cursor, switch the server off and on again in Settings, MCP, or restart Cursor",
};

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, in_place, on, plain};
    use super::super::{Config, Machine, System, Wrapping};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let expected = ["project servers /p/.cursor/mcp.json", "user servers /h/.cursor/mcp.json"];
        for system in [System::Linux, System::MacOs, System::Windows] {
            assert_eq!(files(&CURSOR, system, &[]), expected);
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcpServers": {
            "files": { "type": "stdio", "command": "npx", "args": ["-y", "files", "${workspaceFolder}"], "env": { "K": "${env:K}" }, "envFile": ".env" },
            "bare": { "command": "files" },
            "web": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${env:T}", "X-Team": "a" } },
            "local": { "url": "http://localhost:3000/sse" },
            "sign-in": { "url": "https://example.com/mcp" },
            "off": { "command": "x", "disabled": true },
            "odd": { "note": "x" },
            "bir": { "command": "/opt/bir/bir", "args": ["mcp", "serve"] },
        }});
        let lines = becomes(&CURSOR, &document, &in_place());
        assert_eq!(
            lines,
            [
                r#"files: {"type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","project","--","npx","-y","files","${workspaceFolder}"],"env":{"K":"${env:K}"},"envFile":".env"}"#,
                r#"bare: {"command":"/opt/bir/bir-proxy","args":["--server-name","bare","--scope","project","--","files"]}"#,
                r#"web: {"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","project","--url","https://example.com/mcp","--header-env","Authorization: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"Bearer ${env:T}","BIR_UPSTREAM_HEADERS":"{\"X-Team\":\"a\"}"}}"#,
                r#"local: {"command":"/opt/bir/bir-proxy","args":["--server-name","local","--scope","project","--url","http://localhost:3000/sse"]}"#,
                "sign-in: ! oauth",
                "off: ! disabled",
                "odd: ! shape",
                "bir: ! ours",
            ]
        );
        let named = Wrapping { named: true, ..in_place() };
        assert!(becomes(&CURSOR, &document, &named)[4].starts_with("sign-in: {"));
    }

    #[test]
    fn a_file_of_the_project_is_left_as_it_is_unless_it_is_asked_for() {
        let document = json!({ "mcpServers": { "a": { "command": "x" }, "ours": { "command": "bir" } } });
        assert_eq!(becomes(&CURSOR, &document, &plain()), ["a: ! committed", "ours: ! ours"]);
        // Where the home directory is the project, its file is the user's.
        on(System::Linux, &[], |machine| {
            let machine = Machine { home: "/p".into(), ..*machine };
            let scopes: Vec<_> =
                CURSOR.files(&machine, "/p".as_ref()).iter().map(|file| file.scope).collect();
            assert_eq!(scopes, [Scope::User]);
        });
    }
}
