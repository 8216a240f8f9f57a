//! Continue, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! Its servers are a list. Files of a project (`.continue/mcpServers/*.yaml`) are found by no name; `--config` takes one.

use super::table::Table;
use super::{ConfigFile, Filled, Scope, Shape, Syntax};
use crate::Host;
use bir_model::Format;

pub(super) const CONTINUE: Table = Table {
    host: Host::Continue,
    shape: SHAPE,
    files: |machine, _| {
        vec![ConfigFile::servers(machine.home.join(".continue/config.yaml"), Scope::User, Format::Yaml)]
    },
    shadows: true,
    without_project: false,
    restart_hint: "Continue reads its file by itself; if a server does not come back, reload the editor's window",
};

/// A list, each element with its name.
pub(super) const SHAPE: Shape = Shape {
    named_by: Some("name"),
    unproxied: &[
        ("requestOptions", "says how the host itself sends its requests"),
        ("apiKey", "is a key that the host itself sends"),
    ],
    filled: Filled { env: &[Syntax::DollarBraces], remote: &[Syntax::DollarBraces] },
    ..Shape::COMMON
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
            assert_eq!(files(&CONTINUE, system, &[]), ["user servers /h/.continue/config.yaml"]);
        }
    }

    #[test]
    fn its_servers() {
        let document = json!({ "name": "me", "version": "1", "mcpServers": [
            { "name": "my files", "command": "npx", "args": ["files"], "env": { "K": "${{ secrets.K }}" } },
            { "name": "web", "type": "streamable-http", "url": "https://example.com/mcp?k=1", "headers": { "A": "${{ secrets.A }}" } },
            { "name": "local", "type": "sse", "url": "http://localhost/sse" },
            { "name": "sent", "type": "sse", "url": "http://localhost/sse", "requestOptions": { "headers": { "A": "b" } } },
            { "uses": "somebody/something" },
            { "name": "", "command": "x" },
            "text",
        ]});
        assert_eq!(
            becomes(&CONTINUE, &document, &plain()),
            [
                r#"my files: {"name":"my files","command":"/opt/bir/bir-proxy","args":["--server-name","my files","--scope","user","--","npx","files"],"env":{"K":"${{ secrets.K }}"}}"#,
                r#"web: {"name":"web","type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","web","--scope","user","--url-env","BIR_UPSTREAM_URL","--transport","http","--header-env","A: BIR_UPSTREAM_HEADER_1"],"env":{"BIR_UPSTREAM_URL":"https://example.com/mcp?k=1","BIR_UPSTREAM_HEADER_1":"${{ secrets.A }}"}}"#,
                r#"local: {"name":"local","type":"stdio","command":"/opt/bir/bir-proxy","args":["--server-name","local","--scope","user","--url","http://localhost/sse","--transport","sse"]}"#,
                "sent: ! shape",
                ": ! name",
                ": ! name",
                ": ! name",
            ]
        );
    }
}
