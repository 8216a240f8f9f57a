//! What a person can get wrong: one clear line on stderr, the status that a wrapper should have, nothing on stdout.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::HostCommand;
use common::{BUDGET, PROXY, text};
use std::os::unix::fs::PermissionsExt as _;

struct Refused {
    status: i32,
    stdout: Vec<u8>,
    stderr: String,
}

fn run(args: &[&str]) -> Refused {
    run_with(args, &[])
}

fn run_with(args: &[&str], env: &[(&str, &str)]) -> Refused {
    let dir = tempfile::tempdir().unwrap();
    let mut command = HostCommand::new(PROXY).args(args).env("BIR_HOME", dir.path());
    for (name, value) in env {
        command = command.env(name, value);
    }
    let mut host = command.start().unwrap();
    let status = host.finish(BUDGET).unwrap();
    Refused { status, stdout: host.stdout(), stderr: host.stderr_text() }
}

fn check(args: &[&str], status: i32, parts: &[&str]) {
    let refused = run(args);
    assert_eq!(refused.status, status, "{args:?}: {}", refused.stderr);
    assert_eq!(refused.stdout, b"", "{args:?}");
    assert_eq!(refused.stderr.lines().count(), 1, "{args:?}: {}", refused.stderr);
    assert!(refused.stderr.starts_with("bir-proxy") && refused.stderr.ends_with('\n'), "{}", refused.stderr);
    for part in parts {
        assert!(refused.stderr.contains(part), "{args:?}: {part} in {}", refused.stderr);
    }
}

#[test]
fn a_wrong_command_line_is_refused_with_what_to_do() {
    let name = ["--server-name", "x"];
    let with = |rest: &[&'static str]| [&name[..], rest].concat();
    check(&with(&["--no-such", "--", "cat"]), 2, &["`--no-such`", "after `--`", "--help"]);
    check(&with(&[]), 2, &["`-- COMMAND", "`--url URL`"]);
    check(&with(&["--"]), 2, &["no command after `--`"]);
    check(&with(&["--", ""]), 2, &["no command after `--`"]);
    check(&["--", "cat"], 2, &["no server name", "`--server-name NAME`"]);
    check(&["--server-name"], 2, &["`--server-name` needs a value"]);
    check(&["--server-name", "", "--", "cat"], 2, &["--server-name"]);
    check(&with(&["--url", "http://127.0.0.1:1/", "--", "cat"]), 2, &["both `--url` and a command"]);
    check(&with(&["cat"]), 2, &["unexpected argument `cat`", "after `--`"]);
    check(&with(&["--header", "A: b", "--", "cat"]), 2, &["`--header` belongs to `--url`"]);
    check(&[], 2, &["--help"]);
}

#[test]
fn a_command_that_cannot_be_run_is_named_with_the_status_of_a_shell() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    for (name, content, mode) in
        [("plain", "text", 0o644), ("no-interpreter", "#!/nonexistent/interpreter\n", 0o755)]
    {
        std::fs::write(path(name), content).unwrap();
        std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let start =
        |command: &str, status, parts: &[&str]| check(&["--server-name", "x", "--", command], status, parts);
    start("no-such-command-anywhere", 127, &["`no-such-command-anywhere`", "no such command", "PATH is `"]);
    start("/nonexistent/server", 127, &["`/nonexistent/server`", "no such command"]);
    start(&path("plain"), 126, &["plain`", "not executable"]);
    start(&path(""), 126, &["not executable"]);
    start(&path("no-interpreter"), 127, &["no-interpreter`"]);
}

#[test]
fn a_command_that_cannot_be_run_is_named_as_well_when_switched_off() {
    for (command, status) in [("/nonexistent/server", 127), ("/etc/passwd", 126), ("/etc", 126)] {
        let refused = run_with(&["--server-name", "x", "--", command], &[("BIR_OFF", "1")]);
        assert_eq!((refused.status, refused.stdout.len()), (status, 0), "{}", refused.stderr);
        assert!(
            refused.stderr.lines().count() == 1 && refused.stderr.contains(command),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_limit_that_is_no_number_is_refused() {
    for value in ["0", "-1", "10k", "1.5", "99999999999999999999999"] {
        let refused =
            run_with(&["--server-name", "x", "--", "cat"], &[("BIR_UPSTREAM_MAX_MESSAGE_BYTES", value)]);
        assert_eq!((refused.status, refused.stdout.len()), (2, 0), "{value}");
        assert!(
            refused.stderr.contains(&format!("BIR_UPSTREAM_MAX_MESSAGE_BYTES is `{value}`")),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn what_is_asked_for_goes_to_stdout() {
    let help = run(&["--help"]);
    assert_eq!((help.status, help.stderr.as_str()), (0, ""));
    for word in ["--server-name", "--url", "--restart", "--lazy", "BIR_OFF", "127"] {
        assert!(text(&help.stdout).contains(word), "{word}");
    }
    let version = run(&["--version"]);
    assert_eq!(text(&version.stdout), concat!("bir-proxy ", env!("CARGO_PKG_VERSION"), "\n"));
}
