//! Zed, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! Agents of others that run in Zed get its servers from it, and so the wrapped ones.

use super::table::Table;
use super::{ConfigFile, Off, Scope, Shape, System};
use crate::Host;
use bir_model::Format;

pub(super) const ZED: Table = Table {
    host: Host::Zed,
    shape: SHAPE,
    files: |machine, project| {
        let dir = match machine.system {
            System::Linux => machine.xdg_config().join("zed"),
            System::MacOs => machine.home.join(".config/zed"),
            System::Windows => machine.app_data().join("Zed"),
        };
        vec![
            ConfigFile::servers(project.join(".zed/settings.json"), Scope::Project, Format::Jsonc),
            ConfigFile::servers(dir.join("settings.json"), Scope::User, Format::Jsonc),
        ]
    },
    shadows: true,
    without_project: false,
    restart_hint: "Zed reads its settings by itself; if a server does not come back, restart it in the settings of the agent panel",
};

/// `source` (`custom`, `extension`) says where an entry comes from, and stays; an extension's has no command.
pub(super) const SHAPE: Shape =
    Shape { roots: &[&["context_servers"]], kinds: None, off: &[Off::Unless("enabled")], ..Shape::COMMON };

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, in_place};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        for (system, user) in [
            (System::Linux, "/x/zed/settings.json"),
            (System::MacOs, "/h/.config/zed/settings.json"),
            (System::Windows, "/a/Zed/settings.json"),
        ] {
            let found = files(&ZED, system, &[("XDG_CONFIG_HOME", "/x"), ("APPDATA", "/a")]);
            assert_eq!(
                found,
                ["project servers /p/.zed/settings.json".to_owned(), format!("user servers {user}")]
            );
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "theme": "One Dark", "context_servers": {
            "files": { "source": "custom", "command": "files", "args": [], "env": null },
            "nested": { "source": "custom", "command": { "path": "files", "args": [] } },
            "extension": { "source": "extension", "settings": {} },
            "web": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer t" } },
            "filled": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${T}" } },
            "off": { "command": "x", "enabled": false },
        }});
        assert_eq!(
            becomes(&ZED, &document, &in_place()),
            [
                r#"files: {"source":"custom","command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","project","--","files"],"env":null}"#,
                "nested: ! shape",
                "extension: ! shape",
                r#"web: {"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","project","--url","https://example.com/mcp"],"env":{"BIR_UPSTREAM_HEADERS":"{\"Authorization\":\"Bearer t\"}"}}"#,
                "filled: ! variable",
                "off: ! disabled",
            ]
        );
    }
}
