//! Goose, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.

use super::table::Table;
use super::{CommandAs, ConfigFile, Filled, Kind, Kinds, Off, Scope, Shape, Syntax, System};
use crate::Host;
use bir_model::Format;

pub(super) const GOOSE: Table = Table {
    host: Host::Goose,
    shape: SHAPE,
    files: |machine, _| {
        let dir = match (machine.dir("GOOSE_PATH_ROOT"), machine.system) {
            (Some(root), _) => root.join("config"),
            (None, System::Windows) => machine.app_data().join("Block/goose/config"),
            (None, _) => machine.xdg_config().join("goose"),
        };
        vec![ConfigFile::servers(dir.join("config.yaml"), Scope::User, Format::Yaml)]
    },
    shadows: true,
    without_project: false,
    restart_hint: "start a new session of Goose",
};

/// Its words for nearly everything are its own; `env_keys` (variables from the keyring) stay, and reach the server through the proxy.
pub(super) const SHAPE: Shape = Shape {
    roots: &[&["extensions"]],
    command: CommandAs::Split { program: "cmd", args: "args" },
    env: "envs",
    kinds: Some(Kinds {
        member: "type",
        local: Some("stdio"),
        needed: true,
        // What runs inside of it (`builtin`, `platform`, `frontend`, `inline_python`) has no place for a proxy.
        all: &[
            ("stdio", Kind::Command),
            ("streamable_http", Kind::Remote(Some("http"))),
            ("sse", Kind::Remote(Some("sse"))),
        ],
    }),
    urls: &[("uri", None)],
    off: &[Off::Unless("enabled")],
    // Headers are filled in from `envs` and the keyring; of `envs` nothing is known.
    filled: Filled { env: &[], remote: &[Syntax::DollarBraces, Syntax::Dollar] },
    ..Shape::COMMON
};

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_file() {
        for (system, variables, file) in [
            (System::Linux, &[][..], "/h/.config/goose/config.yaml"),
            (System::MacOs, &[], "/h/.config/goose/config.yaml"),
            (System::Linux, &[("XDG_CONFIG_HOME", "/x")], "/x/goose/config.yaml"),
            (System::Windows, &[("APPDATA", "/a")], "/a/Block/goose/config/config.yaml"),
            (System::Linux, &[("GOOSE_PATH_ROOT", "/g"), ("XDG_CONFIG_HOME", "/x")], "/g/config/config.yaml"),
        ] {
            assert_eq!(files(&GOOSE, system, variables), [format!("user servers {file}")]);
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "GOOSE_MODEL": "m", "extensions": {
            "files": { "enabled": true, "type": "stdio", "name": "files", "cmd": "npx", "args": ["files"], "envs": {}, "env_keys": ["K"], "timeout": 300 },
            "web": { "enabled": true, "type": "streamable_http", "name": "web", "uri": "https://example.com/mcp", "headers": { "A": "b" }, "envs": { "X": "y" } },
            "filled": { "enabled": true, "type": "streamable_http", "uri": "https://example.com/mcp", "headers": { "A": "$KEY" } },
            "developer": { "enabled": true, "type": "builtin", "name": "developer" },
            "untyped": { "enabled": true, "name": "x" },
            "off": { "enabled": false, "type": "stdio", "cmd": "x", "args": [] },
        }});
        assert_eq!(
            becomes(&GOOSE, &document, &plain()),
            [
                r#"files: {"enabled":true,"type":"stdio","name":"files","cmd":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","user","--","npx","files"],"envs":{},"env_keys":["K"],"timeout":300}"#,
                r#"web: {"enabled":true,"type":"stdio","name":"web","envs":{"X":"y","BIR_UPSTREAM_HEADERS":"{\"A\":\"b\"}"},"cmd":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","user","--url","https://example.com/mcp","--transport","http"]}"#,
                "filled: ! variable",
                "developer: ! shape",
                "untyped: ! shape",
                "off: ! disabled",
            ]
        );
    }
}
