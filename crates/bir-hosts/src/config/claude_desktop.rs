//! Claude Desktop, facts/other-hosts.md §6. It was not run here: paths and shapes are as its documentation has them.
//!
//! A comment or a trailing comma in its file makes it lose every server without a word, so strict JSON is all that is read and
//! written. It works in no project: what is wrapped there records always, so it is asked for by name. Remote servers
//! stand in its account, and extensions in files of their own: neither is seen here.

use super::table::Table;
use super::{ConfigFile, Scope, Shape};
use crate::Host;
use bir_model::Format;

pub(super) const CLAUDE_DESKTOP: Table = Table {
    host: Host::ClaudeDesktop,
    shape: Shape { urls: &[], ..Shape::COMMON },
    files: |machine, _| {
        let path = machine.app_data().join("Claude/claude_desktop_config.json");
        vec![ConfigFile::servers(path, Scope::User, Format::Json)]
    },
    shadows: true,
    without_project: true,
    restart_hint: "quit Claude Desktop and start it again; closing its window is not enough",
};

#[cfg(test)]
mod tests {
    use super::super::check::{becomes, files, named, plain};
    use super::super::{Config, System, Wrapping};
    use super::*;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn its_file_is_strict() {
        for (system, file) in [
            (System::Linux, "/h/.config/Claude/claude_desktop_config.json"),
            (System::MacOs, "/h/Library/Application Support/Claude/claude_desktop_config.json"),
            (System::Windows, "/a/Claude/claude_desktop_config.json"),
        ] {
            assert_eq!(
                files(&CLAUDE_DESKTOP, system, &[("APPDATA", "/a")]),
                [format!("user servers {file}")]
            );
        }
        let all = super::super::check::on(System::Linux, &[], |machine| {
            CLAUDE_DESKTOP.files(machine, Path::new("/p"))
        });
        assert_eq!(all[0].format, Format::Json);
    }

    #[test]
    fn it_is_wrapped_only_when_it_is_asked_for() {
        let document = json!({ "mcpServers": {
            "files": { "command": "files", "args": ["/h"] },
            "web": { "url": "http://localhost/" },
        }});
        for with in [plain(), named()] {
            assert_eq!(becomes(&CLAUDE_DESKTOP, &document, &with), ["files: ! project", "web: ! project"]);
        }
        for with in [Wrapping { everywhere: true, ..plain() }, Wrapping { host_named: true, ..plain() }] {
            assert_eq!(
                becomes(&CLAUDE_DESKTOP, &document, &with),
                [
                    r#"files: {"command":"/opt/bir/bir-proxy","args":["--server-name","files","--scope","local","--","files","/h"]}"#,
                    "web: ! shape",
                ]
            );
        }
    }
}
