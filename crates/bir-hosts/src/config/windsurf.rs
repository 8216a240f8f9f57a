//! Windsurf, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.

use super::table::Table;
use super::{ConfigFile, Filled, Scope, Shape, Syntax};
use crate::Host;
use bir_model::Format;

pub(super) const WINDSURF: Table = Table {
    host: Host::Windsurf,
    shape: Shape {
        // It does not connect to a `url`.
        urls: &[("serverUrl", None)],
        filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
        ..Shape::COMMON
    },
    files: |machine, _| {
        let path = machine.home.join(".codeium/windsurf/mcp_config.json");
        vec![ConfigFile::servers(path, Scope::User, Format::Jsonc)]
    },
    shadows: true,
    without_project: false,
    restart_hint: "in Windsurf, press Refresh in the MCP panel, or restart it",
};

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::check::{becomes, files, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_file() {
        for system in [System::Linux, System::MacOs, System::Windows] {
            assert_eq!(files(&WINDSURF, system, &[]), ["user servers /h/.codeium/windsurf/mcp_config.json"]);
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcpServers": {
            "files": { "command": "npx", "args": ["files"], "env": { "K": "${file:~/.k}" }, "disabledTools": ["rm"] },
            "web": { "serverUrl": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${file:~/.t}" } },
            "unread": { "url": "https://example.com/mcp", "headers": { "A": "b" } },
            "off": { "serverUrl": "http://localhost/", "disabled": true },
        }});
        assert_eq!(
            becomes(&WINDSURF, &document, &plain()),
            [
                r#"files: {"command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","user","--","npx","files"],"env":{"K":"${file:~/.k}"},"disabledTools":["rm"]}"#,
                r#"web: {"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","user","--url","https://example.com/mcp","--header-env","Authorization: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"Bearer ${file:~/.t}"}}"#,
                "unread: ! shape",
                "off: ! disabled",
            ]
        );
    }
}
