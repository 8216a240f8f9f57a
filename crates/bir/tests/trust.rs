//! `bir install` is killed while Codex is told to trust our hooks. Codex writes by itself, and what it wrote goes with the next uninstall.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Home, Said};
use std::os::unix::fs::PermissionsExt;

const TOML: &str = "# mine\nmodel = \"m\"\n";

/// A home with Codex, which answers `hooks/list` with the first of our hooks, writes trust into its configuration when it is told, and
/// carries `before` and `after` out around that.
fn home(before: &str, after: &str) -> Home {
    let home = Home::new();
    for dir in ["p/.git", "bin", ".codex"] {
        std::fs::create_dir_all(home.path().join(dir)).unwrap();
    }
    std::fs::write(home.path().join(".codex/config.toml"), TOML).unwrap();
    let script = format!(
        r#"#!/bin/sh
codex="$HOME/.codex"
command=$(grep -o '"command": *"[^"]*"' "$codex/hooks.json" | head -n 1)
list() {{ echo "{{\"id\":$1,\"result\":{{\"data\":[{{\"hooks\":[{{\"key\":\"ours\",$command,\"currentHash\":\"sha256:ours\",\"trustStatus\":\"$2\"}}]}}]}}}}"; }}
status=untrusted
grep -q sha256:ours "$codex/config.toml" && status=trusted
read a; echo '{{"id":1,"result":{{}}}}'; read b; read c; list 2 $status; read d || exit 0
{before}
printf '\n[hooks.state.ours]\ntrusted_hash = "sha256:ours"\n' >> "$codex/config.toml"
{after}
echo '{{"id":3,"result":{{}}}}'; read e; list 4 trusted; read f
"#
    );
    for (program, text) in [("bir-proxy", ""), ("bir-hooks", ""), ("codex", &script)] {
        let path = home.path().join("bin").join(program);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    home
}

fn bir(home: &Home, args: &[&str]) -> Said {
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let mut command = home.command(args);
    Said::from(command.env("PATH", path).current_dir(home.path().join("p")).output().unwrap())
}

fn config(home: &Home) -> String {
    std::fs::read_to_string(home.path().join(".codex/config.toml")).unwrap()
}

#[test]
fn what_codex_wrote_goes_whenever_the_install_was_killed() {
    for (before, after) in [("", ""), ("kill -9 $PPID; sleep 0.2", ""), ("", "kill -9 $PPID")] {
        for between in [&[][..], &["status"], &["install", "--yes"]] {
            let home = home(before, after);
            let said = bir(&home, &["install", "--yes"]);
            let killed = !before.is_empty() || !after.is_empty();
            assert_eq!(said.status, if killed { None } else { Some(0) }, "{said:?}");
            // Codex goes on by itself.
            let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
            while !config(&home).contains("sha256:ours") {
                assert!(std::time::Instant::now() < until);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert_eq!(home.state().join("trust.json").exists(), killed);
            if !between.is_empty() {
                let said = bir(&home, between);
                let note = said.err.contains("while Codex was told to trust our hooks");
                assert!(said.status == Some(0) && (note == killed || between == ["status"]), "{said:?}");
                assert!(!home.state().join("trust.json").exists());
            }
            let said = bir(&home, &["uninstall", "--yes"]);
            assert_eq!(said.status, Some(0), "{said:?}");
            assert_eq!(config(&home), TOML, "{before:?} {after:?} {between:?}");
            assert!(!home.path().join(".codex/hooks.json").exists());
            assert!(!home.state().join("trust.json").exists());
        }
    }
}
