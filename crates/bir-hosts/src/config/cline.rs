//! Cline, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.

use super::table::Table;
use super::{ConfigFile, Scope, Shape};
use crate::Host;
use bir_model::Format;

/// Its file, wherever it stands.
const FILE: &str = "settings/cline_mcp_settings.json";

pub(super) const CLINE: Table = Table {
    host: Host::Cline,
    shape: Shape {
        unproxied: &[(
            "transportType",
            "is a word of older versions, of which it is not known what they make of a change",
        )],
        ..Shape::COMMON
    },
    files: |machine, _| {
        let data = || {
            machine.dir("CLINE_DATA_DIR").unwrap_or_else(|| {
                machine.dir("CLINE_DIR").unwrap_or_else(|| machine.home.join(".cline")).join("data")
            })
        };
        let now = machine.dir("CLINE_MCP_SETTINGS_PATH").unwrap_or_else(|| data().join(FILE));
        // Earlier versions of the extension keep it in VS Code.
        let old = machine.app_data().join("Code/User/globalStorage/saoudrizwan.claude-dev").join(FILE);
        [now, old].map(|path| ConfigFile::servers(path, Scope::User, Format::Jsonc)).into()
    },
    // Each file is another version's.
    shadows: false,
    without_project: false,
    restart_hint: "Cline reads its file by itself; if a server does not come back, restart it in the MCP Servers view",
};

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::check::{becomes, files, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        let first = |variables: &[(&str, &str)]| files(&CLINE, System::Linux, variables).swap_remove(0);
        assert_eq!(first(&[]), "user servers /h/.cline/data/settings/cline_mcp_settings.json");
        assert_eq!(first(&[("CLINE_DIR", "/c")]), "user servers /c/data/settings/cline_mcp_settings.json");
        let both = [("CLINE_DIR", "/c"), ("CLINE_DATA_DIR", "/d")];
        assert_eq!(first(&both), "user servers /d/settings/cline_mcp_settings.json");
        assert_eq!(first(&[("CLINE_MCP_SETTINGS_PATH", "/m.json"), both[0]]), "user servers /m.json");
        for (system, old) in [
            (System::Linux, "/h/.config/Code"),
            (System::MacOs, "/h/Library/Application Support/Code"),
            (System::Windows, "/a/Code"),
        ] {
            let found = files(&CLINE, system, &[("APPDATA", "/a")]);
            let end = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
            assert_eq!(found[1], format!("user servers {old}/{end}"));
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "mcpServers": {
            "files": { "command": "files", "args": ["a"], "disabled": false, "autoApprove": ["read"], "timeout": 60 },
            "web": { "type": "streamableHttp", "url": "https://example.com/mcp", "headers": { "A": "b" }, "disabled": false, "timeout": 60 },
            "filled": { "type": "streamableHttp", "url": "https://example.com/mcp", "headers": { "A": "${env:B}" } },
            "old": { "transportType": "sse", "url": "http://localhost/sse" },
            "off": { "command": "x", "disabled": true },
        }});
        assert_eq!(
            becomes(&CLINE, &document, &plain()),
            [
                r#"files: {"command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","user","--","files","a"],"disabled":false,"autoApprove":["read"],"timeout":60}"#,
                r#"web: {"type":"stdio","disabled":false,"timeout":60,"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","user","--url","https://example.com/mcp","--transport","http"],"env":{"BIR_UPSTREAM_HEADERS":"{\"A\":\"b\"}"}}"#,
                "filled: ! variable",
                "old: ! shape",
                "off: ! disabled",
            ]
        );
    }
}
