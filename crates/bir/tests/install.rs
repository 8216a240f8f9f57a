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
    assert!(
        dry.out.contains("bytes: hooks for SessionStart, ") && !dry.out.contains("hooks.SessionStart"),
        "{dry:?}"
    );
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

#[test]
fn what_was_named_and_is_not_done_fails_with_its_reason_last() {
    let world = World::new();
    let last = |said: &common::Said| said.err.lines().last().unwrap_or_default().to_owned();
    for (args, why) in [
        (&["install", "--yes", "--host", "zed"][..], "zed"),
        (
            &["install", "--yes", "--host", "cursor", "--server", "nonexist"],
            "no host has a server named `nonexist`",
        ),
        (&["uninstall", "/nonexist"], "there is no directory /nonexist"),
    ] {
        let said = world.bir(args);
        assert_eq!(said.status, Some(1), "{said:?}");
        assert!(last(&said).contains(why) && !said.err.contains("nothing to do"), "{said:?}");
    }
    // A name that no host has changes nothing, no hooks either, beside one that is there as well, and a plan says so, too.
    for how in [&["--yes"][..], &["--dry-run"], &["--dry-run", "--json"]] {
        let said =
            world.bir(&[&["install", "--everywhere", "--server", "files", "--server", "fils"], how].concat());
        assert_eq!(said.status, Some(1), "{said:?}");
        for part in ["no host has a server named `fils`", "nothing was changed"] {
            assert!(last(&said).contains(part), "{said:?}");
        }
        assert!(world.is_as_before() && !world.path(".claude/settings.json").exists(), "{how:?}");
    }
    std::fs::write(world.path(".cursor/mcp.json"), "{\"mcpServers\": {").unwrap();
    let broken = world.bir(&["install", "--yes", "--host", "cursor"]);
    assert_eq!(broken.status, Some(1), "{broken:?}");
    assert!(last(&broken).contains(".cursor/mcp.json") && !broken.out.contains("switch"), "{broken:?}");
    let dry = world.bir(&["install", "--dry-run", "--host", "cursor"]);
    assert_eq!(dry.status, Some(0), "a plan alone was asked for: {dry:?}");
}

#[test]
fn a_home_is_no_project_unless_it_is_named() {
    let world = World::new();
    let at_home = |args: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
        let mut command = world.home.command(args);
        common::Said::from(command.env("PATH", path).output().unwrap())
    };
    for name in ["install", "setup"] {
        let said = at_home(&[name, "--yes"]);
        assert_eq!(said.status, Some(1), "{said:?}");
        assert!(said.err.contains(&format!("`bir {name} --everywhere`")), "{said:?}");
    }
    assert!(world.is_as_before() && !world.home.state().exists());
    assert_eq!(at_home(&["install", "--dry-run", "."]).status, Some(0));
    assert_eq!(at_home(&["install", "--dry-run", "--everywhere"]).status, Some(0));
}

#[test]
fn purge_says_before_it_does_that_everything_goes() {
    let world = World::new();
    world.bir(&["install", "--yes"]);
    let dry = world.bir(&["uninstall", "--purge", "--dry-run"]);
    assert!(dry.out.contains("would be deleted with everything that was recorded"), "{dry:?}");
    assert!(
        !dry.out.contains("what was recorded stays") && dry.err.contains("nothing was changed"),
        "{dry:?}"
    );
    let all = world.bir(&["uninstall", "--all", "--yes"]);
    assert!(all.out.contains("what was recorded stays"), "{all:?}");
    assert!(all.err.contains("restart claude-code, cursor") && all.err.contains("`bir down`"), "{all:?}");
    let left = world.bir(&["uninstall", "--purge", "--dry-run"]);
    assert!(
        left.out.contains("would be deleted with everything") && !left.err.contains("nothing to do"),
        "{left:?}"
    );
}

#[test]
fn a_copy_says_whose_it_is_and_what_it_takes_with_it() {
    let world = World::new();
    let said = world.bir(&["install", "--dry-run"]);
    assert!(said.out.contains("user, copied to local"), "{said:?}");
    let project = "{\"mcpServers\":{\"stock\":{\"command\":\"s\",\"env\":{\"K\":\"canary-env\"}}}}";
    std::fs::write(world.path("p/.mcp.json"), project).unwrap();
    std::fs::set_permissions(world.path(".claude.json"), PermissionsExt::from_mode(0o644)).unwrap();
    let open = world.bir(&["install", "--dry-run", "--server", "stock"]);
    assert!(
        open.out.contains("copies the env of `stock`") && open.out.contains("chmod 600 ~/.claude.json"),
        "{open:?}"
    );
    std::fs::set_permissions(world.path(".claude.json"), PermissionsExt::from_mode(0o600)).unwrap();
    let own = world.bir(&["install", "--dry-run", "--server", "stock"]);
    assert!(own.out.contains("copies the env of `stock`") && !own.out.contains("chmod"), "{own:?}");
}

#[test]
fn hooks_of_codex_that_nobody_can_trust_are_no_change() {
    let world = World::new();
    std::fs::create_dir(world.path(".codex")).unwrap();
    std::fs::write(world.path(".codex/config.toml"), "").unwrap();
    let first = world.bir(&["install", "--yes"]);
    assert!(first.out.contains("no `codex` is on PATH"), "{first:?}");
    let again = world.bir(&["install"]);
    assert_eq!(again.status, Some(0), "{again:?}");
    assert!(again.err.contains("nothing to do"), "{again:?}");
}

#[test]
fn hooks_of_one_project_are_not_doubled_by_those_of_all() {
    let world = World::new();
    world.bir(&["install", "--yes"]);
    let user = world.bir(&["install", "--user", "--yes", "--host", "claude-code"]);
    assert_eq!(user.status, Some(1), "{user:?}");
    assert!(
        user.out.contains("--host claude-code`, then `bir install --user --host claude-code`"),
        "{user:?}"
    );
    assert!(!world.path(".claude/settings.json").exists(), "{user:?}");
    world.bir(&["uninstall", "--yes", "--host", "claude-code"]);
    world.bir(&["install", "--user", "--yes", "--host", "claude-code"]);
    assert!(world.text(".claude/settings.json").contains("bir-hooks"));
}

#[test]
fn the_line_for_git_is_the_doctors_and_uninstall_names_it() {
    let world = World::new();
    std::fs::create_dir_all(world.path("p/.git/info")).unwrap();
    let exclude = world.path("p/.git/info/exclude");
    std::fs::write(&exclude, "**/settings.local.json\n").unwrap();
    assert_eq!(world.bir(&["install", "--yes"]).status, Some(0));
    let back = world.bir(&["uninstall", "--dry-run"]);
    assert!(back.out.contains("`**/settings.local.json` in .git/info/exclude is of no use"), "{back:?}");
    std::fs::write(&exclude, "").unwrap();
    let other = world.bir(&["uninstall", "--dry-run"]);
    assert!(!other.out.contains("info/exclude"), "{other:?}");
}

#[test]
fn where_no_host_was_found_it_is_said_where_it_was_looked() {
    let world = World::new();
    std::fs::remove_file(world.path(".claude.json")).unwrap();
    std::fs::remove_dir_all(world.path(".cursor")).unwrap();
    let none = world.bir(&["install", "--yes"]);
    assert!(none.err.contains("~/.claude.json") && none.err.contains("start yours once"), "{none:?}");
    let claude = world.path("bin/claude");
    std::fs::write(&claude, "").unwrap();
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755)).unwrap();
    let never_ran = world.bir(&["install", "--yes"]);
    assert!(never_ran.err.contains("`claude` is on PATH"), "{never_ran:?}");
}

#[test]
fn hooks_that_would_not_run_are_not_installed_and_an_empty_file_is_not_forgotten() {
    let world = World::new();
    std::fs::create_dir(world.path(".claude")).unwrap();
    std::fs::write(world.path(".claude/settings.json"), "{\"disableAllHooks\": true}").unwrap();
    let said = world.bir(&["install", "--yes", "--host", "claude-code"]);
    assert!(said.out.contains("disableAllHooks"), "{said:?}");
    assert!(!world.path("p/.claude").exists() && world.text(".claude.json").contains("bir-proxy"));

    // A program that truncates and writes has its file empty for a moment.
    let wrapped = world.text(".claude.json");
    std::fs::write(world.path(".claude.json"), "").unwrap();
    let early = world.bir(&["uninstall", "--yes"]);
    assert_eq!(early.status, Some(1), "{early:?}");
    std::fs::write(world.path(".claude.json"), &wrapped).unwrap();
    let late = world.bir(&["uninstall", "--yes"]);
    assert_eq!((late.status, world.text(".claude.json").as_str()), (Some(0), USER), "{late:?}");
}

#[test]
fn nothing_of_a_persons_is_shown_that_no_rule_knows() {
    let world = World::new();
    let args = r#"["-y", "pkg", "-p", "canary-a", "-uUSER:canary-b", "canary-c", "--pat", "canary-d", "--license=canary-e", "https://h/s/canary-f/x"]"#;
    let entry = format!(
        r#"{{"command": "npx", "args": {args}, "env": {{"K": "canary-g"}}, "cwd": "/canary-h", "more": ["canary-i"]}}"#
    );
    let web = r#"{"url": "https://example.com/s/canary-j/mcp", "headers": {"X-Any": "canary-k"}}"#;
    let text = format!("{{\"top\": \"canary-l\", \"mcpServers\": {{\"s\": {entry}, \"w\": {web}}}}}");
    std::fs::write(world.path(".cursor/mcp.json"), &text).unwrap();
    let clean = |said: &common::Said| {
        assert!(!said.out.contains("canary") && !said.err.contains("canary"), "{said:?}");
    };
    for line in [
        &["install", "--host", "cursor", "--dry-run"][..],
        &["install", "--host", "cursor", "--dry-run", "--json"],
        &["install", "--host", "cursor"],
        &["install", "--host", "cursor", "--yes"],
        &["install", "--host", "cursor", "--no-correlation", "--dry-run"],
        &["doctor"],
        &["status"],
        &["uninstall", "--all", "--dry-run"],
        &["uninstall", "--all", "--dry-run", "--json"],
    ] {
        clean(&world.bir(line));
    }
    let wrapped: serde_json::Value = serde_json::from_str(&world.text(".cursor/mcp.json")).unwrap();
    let argv = wrapped["mcpServers"]["w"]["args"].to_string();
    assert!(argv.contains("--url-env") && !argv.contains("canary"), "{argv}");
    for entry in std::fs::read_dir(world.home.state()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let kept = std::fs::read(&path).unwrap();
            assert!(!String::from_utf8_lossy(&kept).contains("canary"), "{}", path.display());
        }
    }
    assert_eq!(world.bir(&["uninstall", "--all", "--yes"]).status, Some(0));
    assert_eq!(world.text(".cursor/mcp.json"), text);
}

#[test]
fn a_broken_file_beside_good_ones_is_told_by_the_status() {
    let world = World::new();
    std::fs::write(world.path(".claude.json"), "{ broken").unwrap();
    let said = world.bir(&["install", "--yes"]);
    assert_eq!(said.status, Some(3), "{said:?}");
    assert!(
        said.err.contains("not all of it could be done") && said.err.contains(".claude.json"),
        "{said:?}"
    );
    assert!(world.text(".cursor/mcp.json").contains("bir-proxy"), "the good ones are done");
    assert_eq!(world.bir(&["install", "--yes"]).status, Some(3), "and so it stays");
    let file = world.bir(&["install", "--yes", "--config", "/dev/null"]);
    assert!(file.status == Some(1) && file.err.contains("/dev/null is no regular file"), "{file:?}");
}

#[test]
fn the_doctor_sees_hooks_that_were_switched_off_since() {
    let world = World::new();
    world.bir(&["install", "--yes", "--host", "claude-code"]);
    let before = world.bir(&["doctor", "--json"]);
    assert!(!before.out.contains("hooks-off"), "{before:?}");
    std::fs::create_dir_all(world.path(".claude")).unwrap();
    std::fs::write(world.path(".claude/settings.json"), "{\"disableAllHooks\": true}").unwrap();
    let after = world.bir(&["doctor", "--json"]);
    assert!(after.out.contains("\"hooks-off\"") && after.status == Some(1), "{after:?}");
}

#[test]
fn a_lost_ledger_is_no_lost_way_back() {
    let world = World::new();
    world.bir(&["install", "--yes", "--no-hooks", "--host", "cursor"]);
    std::fs::remove_dir_all(world.home.state()).unwrap();
    let back = world.bir(&["uninstall", "--all", "--yes"]);
    assert_eq!(back.status, Some(0), "{back:?}");
    let now: serde_json::Value = serde_json::from_str(&world.text(".cursor/mcp.json")).unwrap();
    let before: serde_json::Value = serde_json::from_str(CURSOR).unwrap();
    assert_eq!(now, before, "{back:?}");
}

/// A project that is away, as one on a disk that is not mounted: nothing of it is forgotten before it is there again.
#[test]
fn what_stands_in_a_project_that_is_away_goes_once_it_is_there_again() {
    let world = World::new();
    assert_eq!(world.bir(&["install", "--yes"]).status, Some(0));
    let hooks = world.path("p/.claude/settings.local.json");
    assert!(hooks.exists());
    std::fs::rename(world.path("p"), world.path("away")).unwrap();
    std::fs::create_dir(world.path("q")).unwrap();
    let all = |args: &[&str]| {
        let mut command = world.home.command(args);
        common::Said::from(command.current_dir(world.path("q")).output().unwrap())
    };
    let first = all(&["uninstall", "--all", "--yes"]);
    assert!(first.status == Some(1) && first.out.contains("once it is there again"), "{first:?}");
    let ledger = std::fs::read_to_string(world.home.state().join("installed.json")).unwrap();
    assert!(ledger.contains("settings.local.json") && ledger.contains("madeDirs"), "{ledger}");
    let doctor = all(&["doctor", "--json"]);
    assert!(doctor.out.contains("\"file-gone\"") && doctor.out.contains("is there again"), "{doctor:?}");
    let purge = all(&["uninstall", "--purge", "--dry-run"]);
    assert!(
        purge.out.contains("settings.local.json is not there") && purge.out.contains("is forgotten"),
        "{purge:?}"
    );
    std::fs::rename(world.path("away"), world.path("p")).unwrap();
    let second = all(&["uninstall", "--all", "--yes"]);
    assert_eq!(second.status, Some(0), "{second:?}");
    assert!(world.is_as_before() && !hooks.exists());
    // Where it does not come back, it is forgotten by its name.
    assert_eq!(world.bir(&["install", "--yes"]).status, Some(0));
    std::fs::remove_dir_all(world.path("p")).unwrap();
    let named = all(&["uninstall", "--yes", world.path("p").to_str().unwrap()]);
    assert!(
        named.status == Some(0) && named.out.contains("it is forgotten since that was named"),
        "{named:?}"
    );
}

/// Options that a person gave are no install's to take away.
#[test]
fn what_is_wrapped_by_hand_stays_as_it_is_and_counts_as_wrapped() {
    for (proxy, args) in [
        ("bin/bir-proxy", &["--server-name", "c", "--lazy", "--restart", "--", "c"][..]),
        ("bin/bir-proxy", &["--server-name", "c", "--", "c"]),
        ("bin/bir-proxy", &["--server-name=c", "--url-env", "WHERE", "--standalone"]),
        ("bin/bir-proxy", &["--scope", "user", "--lazy", "--", "c"]),
        ("other/bir-proxy", &["--server-name", "c", "--", "c"]),
    ] {
        let world = World::new();
        std::fs::create_dir(world.path("other")).unwrap();
        std::fs::copy(world.path("bin/bir-proxy"), world.path("other/bir-proxy")).unwrap();
        let entry = serde_json::json!({"mcpServers": {"c": {"command": world.path(proxy), "args": args}}});
        let by_hand = entry.to_string();
        std::fs::write(world.path(".cursor/mcp.json"), &by_hand).unwrap();
        let said = world.bir(&["install", "--yes"]);
        assert!(said.status == Some(0) && said.out.contains("wrapped by hand"), "{said:?}");
        assert_eq!(world.text(".cursor/mcp.json"), by_hand);
        let named = world.bir(&["install", "--yes", "--host", "cursor", "--server", "c"]);
        assert_eq!(named.status, Some(0), "{named:?}");
        let status = world.bir(&["status"]);
        assert!(status.out.contains("c of cursor: wrapped by hand"), "{status:?}");
        let doctor: serde_json::Value = serde_json::from_str(&world.bir(&["doctor", "--json"]).out).unwrap();
        let wrapped = doctor["wrapped"].as_array().unwrap();
        assert!(wrapped.iter().any(|one| one["server"] == "c" && one["host"] == "cursor"), "{doctor}");
        assert_eq!(world.bir(&["uninstall", "--all", "--yes"]).status, Some(0));
        assert_eq!(world.text(".cursor/mcp.json"), by_hand);
        assert_eq!(world.text(".claude.json"), USER);
    }
}

#[test]
fn what_is_wrapped_by_hand_with_a_program_that_is_gone_is_found() {
    let world = World::new();
    let entry = serde_json::json!({"mcpServers": {"c": {"command": "/none/bir-proxy", "args": ["--lazy", "--", "c"]}}});
    let by_hand = entry.to_string();
    std::fs::write(world.path(".cursor/mcp.json"), &by_hand).unwrap();
    let said = world.bir(&["install", "--yes"]);
    assert!(said.out.contains("wrapped by hand, and /none/bir-proxy is not there"), "{said:?}");
    let status = world.bir(&["status"]);
    assert!(status.out.contains("wrapped by hand, and /none/bir-proxy is not there"), "{status:?}");
    let doctor: serde_json::Value =
        serde_json::from_str(&world.bir(&["doctor", "--fix", "--json"]).out).unwrap();
    let findings = doctor["findings"].as_array().unwrap();
    let dead = findings.iter().find(|one| one["code"] == "dead-path" && one["server"] == "c").unwrap();
    assert!(dead["safe"] == false && dead["mend"].as_str().unwrap().contains("by hand"), "{dead}");
    assert_eq!(world.text(".cursor/mcp.json"), by_hand);
}

type Break = fn(&World);

#[test]
fn purge_says_that_it_does_not_where_it_does_not() {
    let breaks: [(&str, Break); 3] = [
        ("some files cannot be brought back", |world| {
            std::fs::write(world.path(".cursor/mcp.json"), "{").unwrap()
        }),
        ("some files cannot be brought back", |world| {
            std::fs::set_permissions(world.path(".cursor/mcp.json"), PermissionsExt::from_mode(0o444))
                .unwrap();
        }),
        ("thesis.tex", |world| std::fs::write(world.home.state().join("thesis.tex"), "").unwrap()),
    ];
    for (why, break_it) in breaks {
        let world = World::new();
        world.bir(&["install", "--yes"]);
        break_it(&world);
        let dry = world.bir(&["uninstall", "--purge", "--dry-run"]);
        assert!(dry.out.contains("would not be deleted") && dry.out.contains(why), "{dry:?}");
        let said = world.bir(&["uninstall", "--purge", "--yes"]);
        assert!(said.status == Some(1) && world.home.state().exists(), "{said:?}");
        assert!(said.out.contains("is not deleted") && said.out.contains(why), "{said:?}");
        assert!(!said.out.contains("are stopped") && !said.out.contains("is deleted"), "{said:?}");
    }
}

/// What is said of a ledger that is broken is so: without it everything comes back.
#[test]
fn a_broken_ledger_that_is_moved_away_is_no_lost_way_back() {
    let world = World::new();
    world.bir(&["install", "--yes"]);
    let ledger = world.home.state().join("installed.json");
    std::fs::write(&ledger, "{").unwrap();
    for command in ["install", "uninstall"] {
        let said = world.bir(&[command, "--yes"]);
        assert!(said.status == Some(1) && said.err.contains("move it away, which suffices"), "{said:?}");
    }
    std::fs::rename(&ledger, world.path("away.json")).unwrap();
    let back = world.bir(&["uninstall", "--all", "--yes"]);
    assert_eq!(back.status, Some(0), "{back:?}");
    let meant = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(meant(&world.text(".cursor/mcp.json")), meant(CURSOR));
    assert!(!world.text(".claude.json").contains("bir-proxy"), "{}", world.text(".claude.json"));
    let hooks = std::fs::read_to_string(world.path("p/.claude/settings.local.json")).unwrap_or_default();
    assert!(!hooks.contains("bir-hooks"), "{hooks}");
}

/// Each waits for the others; none takes them for a program that goes on writing.
#[test]
fn eight_installs_at_once_all_come_through() {
    let world = World::new();
    let projects: Vec<PathBuf> = (0..8).map(|at| world.path(&format!("p{at}"))).collect();
    let children: Vec<_> = projects
        .iter()
        .map(|project| {
            std::fs::create_dir(project).unwrap();
            let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
            let mut command = world.home.command(&["install", "--yes"]);
            command.env("PATH", path).current_dir(project);
            std::thread::spawn(move || common::Said::from(command.output().unwrap()))
        })
        .collect();
    for child in children {
        let said = child.join().unwrap();
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    let ledger = std::fs::read_to_string(world.home.state().join("installed.json")).unwrap();
    for project in &projects {
        assert!(
            ledger.contains(project.to_str().unwrap())
                && project.join(".claude/settings.local.json").exists()
        );
    }
    assert_eq!(world.bir(&["uninstall", "--all", "--yes"]).status, Some(0));
    assert!(world.is_as_before());
}

/// A file in which something else stands where hooks belong is one that cannot be changed, however far down that is.
#[test]
fn what_stands_where_hooks_belong_is_told_alike_by_status_and_doctor() {
    for text in ["{\"hooks\":[]}", "{\"hooks\":{\"Stop\":\"x\"}}", "{\"hooks\":{\"Stop\":{}}}", "[]"] {
        let world = World::new();
        std::fs::create_dir(world.path(".claude")).unwrap();
        std::fs::write(world.path(".claude/settings.json"), text).unwrap();
        let said = world.bir(&["install", "--yes", "--user"]);
        assert_eq!(said.status, Some(3), "{text}: {said:?}");
        assert!(said.err.contains("settings.json is left alone: what should hold"), "{text}: {said:?}");
        assert_eq!(world.text(".claude/settings.json"), text);
        let doctor: serde_json::Value = serde_json::from_str(&world.bir(&["doctor", "--json"]).out).unwrap();
        let findings = doctor["findings"].as_array().unwrap();
        let broken: Vec<_> = findings.iter().filter(|one| one["code"] == "file-broken").collect();
        assert!(
            broken.len() == 1 && broken[0]["what"].to_string().contains("what should hold"),
            "{text}: {doctor}"
        );
    }
}

/// A user name, a path or a query of the hub's address may be a credential.
#[test]
fn the_address_of_the_hub_is_shown_without_what_may_be_a_credential() {
    let world = World::new();
    for url in [
        "http://canary:canary@127.0.0.1:9/x?key=canary",
        "ftp://canary@x",
        "http://127.0.0.1:9/canary",
        "canary",
    ] {
        for args in [
            &["doctor"][..],
            &["doctor", "--json"],
            &["status"],
            &["status", "--json"],
            &["runs", "list"],
            &["up"],
        ] {
            let mut command = world.home.command(args);
            command.env("BIR_HUB_URL", url).current_dir(world.path("p"));
            let said = common::Said::from(command.output().unwrap());
            assert!(!said.out.contains("canary") && !said.err.contains("canary"), "{url}: {said:?}");
            assert!(!said.out.contains("UPSTREAM") && !said.err.contains("UPSTREAM"), "{url}: {said:?}");
            assert!(
                !url.contains("127.0.0.1") || format!("{said:?}").contains("http://127.0.0.1:9"),
                "{url}: {said:?}"
            );
        }
    }
}
