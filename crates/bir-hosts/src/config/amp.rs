//! Amp, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! `amp.mcpServers` is one key with a dot in it. A project's servers have to be approved (`amp mcp approve`), in a place that is
//! not known; a changed entry may have to be approved anew.

use super::table::Table;
use super::{ConfigFile, Scope, Shape};
use crate::Host;
use bir_model::Format;

pub(super) const AMP: Table = Table {
    host: Host::Amp,
    shape: SHAPE,
    files: |machine, project| {
        let of = |dir: std::path::PathBuf, scope| {
            ["settings.json", "settings.jsonc"]
                .map(|name| ConfigFile::servers(dir.join(name), scope, Format::Jsonc))
        };
        let project = of(project.join(".amp"), Scope::Project);
        project.into_iter().chain(of(machine.home.join(".config/amp"), Scope::User)).collect()
    },
    shadows: true,
    without_project: false,
    restart_hint: "restart Amp; a server of the project may have to be approved again (`amp mcp approve`)",
};

/// The dotted key.
pub(super) const SHAPE: Shape = Shape { roots: &[&["amp.mcpServers"]], ..Shape::COMMON };

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::check::{becomes, files, in_place};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_files() {
        for system in [System::Linux, System::MacOs, System::Windows] {
            assert_eq!(
                files(&AMP, system, &[("XDG_CONFIG_HOME", "/x")]),
                [
                    "project servers /p/.amp/settings.json",
                    "project servers /p/.amp/settings.jsonc",
                    "user servers /h/.config/amp/settings.json",
                    "user servers /h/.config/amp/settings.jsonc",
                ]
            );
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({
            "amp": { "mcpServers": { "not here": { "command": "x" } } },
            "amp.mcpServers": {
                "files": { "command": "files", "env": { "A": "b" } },
                "web": { "url": "https://example.com/mcp", "headers": { "A": "b" } },
                "sign-in": { "url": "https://example.com/mcp" },
                "filled": { "url": "http://localhost/${P}" },
                "off": { "command": "x", "disabled": true },
            },
        });
        assert_eq!(
            becomes(&AMP, &document, &in_place()),
            [
                r#"files: {"command":"/opt/bir/bir-proxy","env":{"A":"b"},"args":["--server-name","files","--scope","project","--","files"]}"#,
                r#"web: {"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","project","--url","https://example.com/mcp"],"env":{"BIR_UPSTREAM_HEADERS":"{\"A\":\"b\"}"}}"#,
                "sign-in: ! oauth",
                "filled: ! variable",
                "off: ! disabled",
            ]
        );
    }
}
