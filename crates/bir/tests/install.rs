//! `bir install` and `bir uninstall` as a person runs them: what is shown, what changes, what comes back.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::Home;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const USER: &str = "{\n  \"numStartups\": 3,\n  \"oauthAccount\": {\"accessToken\": \"canary-account-123456\"},\n  \"mcpServers\": {\n    \"files\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"-y\", \"files\"], \"env\": {\"K\": \"canary-env\"}},\n    \"web\": {\"type\": \"http\", \"url\": \"https://example.com/mcp?key=canary-query\", \"headers\": {\"Authorization\": \"Bearer canary-header\"}}\n  }\n}\n";
const CURSOR: &str = "{\"mcpServers\":{\"c\":{\"command\":\"c\"}}}";

/// A home with two hosts and a project, and programs to be named on PATH.
struct World {
    home: Home,
}

impl World {
    fn new() -> Self {
        let home = Home::new();
        let world = Self { home };
        for dir in ["p", "bin", ".cursor"] {
            std::fs::create_dir(world.path(dir)).unwrap();
        }
        for program in ["bir-proxy", "bir-hooks"] {
            let path = world.path("bin").join(program);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::write(world.path(".claude.json"), USER).unwrap();
        std::fs::write(world.path(".cursor/mcp.json"), CURSOR).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn bir(&self, args: &[&str]) -> common::Said {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = self.home.command(args);
        command.env("PATH", path).current_dir(self.path("p"));
        common::Said::from(command.output().unwrap())
    }

    fn is_as_before(&self) -> bool {
        self.text(".claude.json") == USER
            && self.text(".cursor/mcp.json") == CURSOR
            && std::fs::read_dir(self.path("p")).unwrap().next().is_none()
    }
}

#[test]
fn what_is_installed_comes_back_byte_for_byte() {
    let world = World::new();
    let said = world.bir(&["install", "--yes"]);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(said.err.contains("done: 3 servers wrapped, 1 host with hooks"), "{said:?}");
    assert!(world.text(".cursor/mcp.json").contains("bir-proxy"));
    let again = world.bir(&["install"]);
    assert_eq!(again.status, Some(0), "nothing is to be done, so nobody is asked: {again:?}");
    let status = world.bir(&["status"]);
    assert!(status.out.contains("cursor: c"), "{status:?}");
    let back = world.bir(&["uninstall", "--yes"]);
    assert_eq!(back.status, Some(0), "{back:?}");
    assert!(world.is_as_before());
}

#[test]
fn nothing_changes_before_it_was_accepted_and_no_secret_is_shown() {
    let world = World::new();
    let plain = world.bir(&["install"]);
    assert_eq!(plain.status, Some(1));
    assert!(plain.out.contains("files") && plain.err.contains("`--yes` carries this out"), "{plain:?}");
    let dry = world.bir(&["install", "--dry-run"]);
    assert_eq!(dry.status, Some(0));
    assert!(dry.out.contains("[hidden]") && dry.out.contains("@@ "), "{dry:?}");
    let json = world.bir(&["install", "--dry-run", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&object["done"], &object["changes"]), (&false.into(), &true.into()));
    assert!(world.is_as_before() && !world.home.state().exists(), "not even the state directory is made");
    world.bir(&["install", "--yes"]);
    let ledger = std::fs::read_to_string(world.home.state().join("installed.json")).unwrap();
    let back = world.bir(&["uninstall", "--dry-run"]);
    for text in [&plain.out, &dry.out, &json.out, &ledger, &back.out] {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[test]
fn everything_goes_with_purge_and_only_what_is_ours() {
    let world = World::new();
    world.bir(&["install", "--yes"]);
    let strange = world.home.state().join("thesis.tex");
    std::fs::write(&strange, "").unwrap();
    let refused = world.bir(&["uninstall", "--purge", "--yes"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.err.contains("thesis.tex") && strange.exists() && world.is_as_before(), "{refused:?}");
    std::fs::remove_file(strange).unwrap();
    let done = world.bir(&["uninstall", "--purge", "--yes"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(!world.home.state().exists());
}

#[test]
fn replay_is_noted_and_taken_out_again() {
    let world = World::new();
    let said = world.bir(&["install", "--yes", "--replay"]);
    assert!(said.out.contains("does not replay yet"), "{said:?}");
    let ledger = || std::fs::read_to_string(world.home.state().join("installed.json")).unwrap();
    assert!(ledger().replace(' ', "").contains("\"replay\":true"));
    assert_eq!(world.bir(&["uninstall", "--replay", "--yes"]).status, Some(0));
    assert!(!ledger().replace(' ', "").contains("\"replay\":true"));
    assert!(world.text(".cursor/mcp.json").contains("bir-proxy"), "the rest stays");
}
