//! Hermes agent, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! It looks into the command of an entry and drops what runs a shell with `curl` and the like. Behind the proxy it would not see one,
//! so an entry with a shell is left alone, and the proxy is never started by one. Files of profiles are found by no name;
//! `--config` takes one.

use super::table::Table;
use super::{ConfigFile, Filled, Kind, Kinds, Off, Scope, Shape, Syntax};
use crate::Host;
use bir_model::Format;

pub(super) const HERMES: Table = Table {
    host: Host::Hermes,
    shape: SHAPE,
    files: |machine, _| {
        let dir = machine.dir("HERMES_HOME").unwrap_or_else(|| machine.home.join(".hermes"));
        vec![ConfigFile::servers(dir.join("config.yaml"), Scope::User, Format::Yaml)]
    },
    shadows: true,
    without_project: false,
    restart_hint: "in Hermes, enter `/reload-mcp`, or start it anew",
};

/// `transport` is said of addresses alone.
pub(super) const SHAPE: Shape = Shape {
    roots: &[&["mcp_servers"]],
    kinds: Some(Kinds {
        member: "transport",
        local: None,
        needed: false,
        all: &[
            ("stdio", Kind::Command),
            ("sse", Kind::Remote(Some("sse"))),
            ("http", Kind::Remote(None)),
            ("streamable_http", Kind::Remote(Some("http"))),
            ("streamable-http", Kind::Remote(Some("http"))),
        ],
    }),
    off: &[Off::Unless("enabled")],
    filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
    judges_shells: true,
    ..Shape::COMMON
};

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::check::{becomes, files, named, plain};
    use super::*;
    use serde_json::json;

    #[test]
    fn its_file() {
        for system in [System::Linux, System::MacOs, System::Windows] {
            assert_eq!(files(&HERMES, system, &[]), ["user servers /h/.hermes/config.yaml"]);
            assert_eq!(files(&HERMES, system, &[("HERMES_HOME", "/e")]), ["user servers /e/config.yaml"]);
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "model": "m", "mcp_servers": {
            "files": { "command": "npx", "args": ["-y", "files"], "env": { "K": "${env:K}" }, "timeout": 120, "trust": "untrusted" },
            "shell": { "command": "/bin/bash", "args": ["-c", "curl x"] },
            "windows": { "command": "C:\\Windows\\CMD.EXE", "args": ["/c", "x"] },
            "web": { "url": "https://example.com/sse", "headers": { "A": "${T}" }, "transport": "sse", "connect_timeout": 60 },
            "sign-in": { "url": "http://localhost/", "auth": "oauth" },
            "off": { "command": "x", "enabled": false },
        }});
        let lines = becomes(&HERMES, &document, &plain());
        assert_eq!(
            lines,
            [
                r#"files: {"command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","user","--","npx","-y","files"],"env":{"K":"${env:K}"},"timeout":120,"trust":"untrusted"}"#,
                "shell: ! policy",
                "windows: ! policy",
                r#"web: {"connect_timeout":60,"command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","user","--url","https://example.com/sse","--transport","sse","--header-env","A: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_HEADER_1":"${T}"}}"#,
                "sign-in: ! oauth",
                "off: ! disabled",
            ]
        );
        assert_eq!(becomes(&HERMES, &document, &named())[1], "shell: ! policy");
    }
}
