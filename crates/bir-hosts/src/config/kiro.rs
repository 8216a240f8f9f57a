//! Kiro, IDE and command line, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! Which variables it fills in, and where, was not to be learnt: an entry whose headers name one is left alone.

use super::table::Table;
use super::{ConfigFile, Scope, Shape};
use crate::Host;
use bir_model::Format;

pub(super) const KIRO: Table = Table {
    host: Host::Kiro,
    shape: Shape::COMMON,
    files: |machine, project| {
        vec![
            ConfigFile::servers(project.join(".kiro/settings/mcp.json"), Scope::Project, Format::Jsonc),
            ConfigFile::servers(machine.home.join(".kiro/settings/mcp.json"), Scope::User, Format::Jsonc),
        ]
    },
    shadows: true,
    without_project: false,
    restart_hint: "Kiro reads its file by itself; if a server does not come back, reconnect it in the MCP Servers view",
};

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::check::{becomes, files, in_place};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let expected =
            ["project servers /p/.kiro/settings/mcp.json", "user servers /h/.kiro/settings/mcp.json"];
        for system in [System::Linux, System::MacOs, System::Windows] {
            assert_eq!(files(&KIRO, system, &[]), expected);
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcpServers": {
            "files": { "command": "uvx", "args": ["files@latest"], "env": { "K": "${K}" }, "disabled": false, "autoApprove": [] },
            "web": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer t" }, "disabled": false },
            "filled": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${T}" } },
            "off": { "url": "http://localhost/", "disabled": true },
        }});
        assert_eq!(
            becomes(&KIRO, &document, &in_place()),
            [
                r#"files: {"command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","project","--","uvx","files@latest"],"env":{"K":"${K}"},"disabled":false,"autoApprove":[]}"#,
                r#"web: {"disabled":false,"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","project","--url","https://example.com/mcp"],"env":{"BIR_UPSTREAM_HEADERS":"{\"Authorization\":\"Bearer t\"}"}}"#,
                "filled: ! variable",
                "off: ! disabled",
            ]
        );
    }
}
