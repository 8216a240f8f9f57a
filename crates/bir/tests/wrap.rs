//! `bir wrap` as a person runs it: what stands on stdout and stderr, the exit status, and the test through the real
//! bir-proxy against scripted servers.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bir_testkit::{Eras, On, Script, Step, TestUpstream, bins, procs};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn bir(args: &[&str]) -> Output {
    bins::bin("bir-proxy", "bir-proxy").unwrap();
    Command::new(env!("CARGO_BIN_EXE_bir")).args(args).output().unwrap()
}

fn text(b: &[u8]) -> String {
    String::from_utf8_lossy(b).into_owned()
}

/// The argv of a scripted server on stdio.
fn command(up: &TestUpstream) -> Vec<String> {
    let s = |p: &Path| p.to_str().unwrap().to_string();
    let (script, log) = (s(&up.dir().join("script.json")), s(&up.log_path()));
    vec![s(&bins::test_upstream().unwrap()), "--script".into(), script, "--log".into(), log, "--stdio".into()]
}

/// Runs `bir wrap --test OPTIONS -- SERVER`.
fn try_out(up: &TestUpstream, options: &[&str]) -> Output {
    let command = command(up);
    let mut args = vec!["wrap", "--test"];
    args.extend(options);
    args.push("--");
    args.extend(command.iter().map(String::as_str));
    bir(&args)
}

/// A server with this many tools on one page.
fn with_tools(era: Eras, n: usize) -> Script {
    Script::era(era).server(|s| {
        s.hide_default_tools = true;
        s.tools = (0..n).map(|i| tool(i).as_str().into()).collect();
    })
}

fn tool(i: usize) -> String {
    format!(r#"{{"name":"t{i}","inputSchema":{{"type":"object"}}}}"#)
}

/// The line of the report that begins with this word.
fn field(out: &Output, key: &str) -> String {
    let err = text(&out.stderr);
    let line = err.lines().find_map(|l| l.trim().strip_prefix(key)).map(str::trim);
    line.unwrap_or_else(|| panic!("no {key} in: {err}")).to_string()
}

fn passes(script: Script, era: &str, tools: &str) {
    let up = TestUpstream::new(script).unwrap();
    let out = try_out(&up, &[]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!((field(&out, "era").as_str(), field(&out, "tools").as_str()), (era, tools));
    assert!(!field(&out, "server").is_empty() && field(&out, "answered").ends_with("ms"));
    assert!(serde_json::from_slice::<Value>(&out.stdout).is_ok(), "stdout holds the entry alone");
}

#[test]
fn servers_of_every_era_are_recognised() {
    passes(with_tools(Eras::Legacy, 2), "legacy", "2");
    passes(with_tools(Eras::Modern, 3), "modern", "3");
    passes(with_tools(Eras::Dual, 1), "modern", "1");
}

#[test]
fn tools_are_counted_over_all_pages() {
    let page = |i: usize, next: &str| {
        let (a, b) = (tool(i), tool(i + 1));
        Step::Result(format!(r#"{{"tools":[{a},{b}]{next}}}"#).into())
    };
    let script = Script::era(Eras::Legacy)
        .on(On::method("tools/list").nth(1), [page(0, r#","nextCursor":"b""#)])
        .on(On::method("tools/list").nth(2), [page(2, r#","nextCursor":"c""#)])
        .on(On::method("tools/list").nth(3), [page(4, "")]);
    passes(script, "legacy", "6");
}

#[test]
fn a_list_without_end_fails() {
    let again = Step::Result(r#"{"tools":[],"nextCursor":"same"}"#.into());
    let up = TestUpstream::new(Script::era(Eras::Legacy).on(On::method("tools/list"), [again])).unwrap();
    let out = try_out(&up, &[]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("cursor came twice"), "{}", text(&out.stderr));
}

#[test]
fn a_server_that_dies_of_the_probe_is_started_again() {
    passes(with_tools(Eras::Legacy, 1).on(On::method("server/discover"), [Step::Exit(7)]), "legacy", "1");
}

#[test]
fn a_server_that_is_silent_on_the_probe_gets_initialize() {
    passes(with_tools(Eras::Legacy, 1).on(On::method("server/discover"), []), "legacy", "1");
}

#[test]
fn a_server_that_asks_the_host_is_answered() {
    let ask = Step::Ask { method: "ping".into(), params: None, id: None, timeout_ms: 5000 };
    passes(with_tools(Eras::Legacy, 1).on(On::method("tools/list"), [ask, Step::Default]), "legacy", "1");
}

#[test]
fn a_server_that_ends_fails_with_its_last_words() {
    let script =
        Script::era(Eras::Legacy).on(On::start(), [Step::Stderr("no API key\n".into()), Step::Exit(3)]);
    let out = try_out(&TestUpstream::new(script).unwrap(), &[]);
    assert_eq!(out.status.code(), Some(1));
    let err = text(&out.stderr);
    assert!(err.contains("test failed: the server ended") && err.contains("no API key"), "{err}");
    assert!(serde_json::from_slice::<Value>(&out.stdout).is_ok(), "the entry is printed all the same");
}

#[test]
fn a_server_that_never_answers_fails_in_time() {
    let script = Script::era(Eras::Legacy).on(On::method("*"), []);
    let t0 = Instant::now();
    let out = try_out(&TestUpstream::new(script).unwrap(), &["--timeout", "1"]);
    assert_eq!(out.status.code(), Some(1));
    let err = text(&out.stderr);
    assert!(err.contains("within 1 s") && err.contains("--timeout"), "{err}");
    assert!(t0.elapsed() < Duration::from_secs(20));
}

/// The message of a test of this command that must fail, without the entry on stdout.
fn failure(options: &[&str]) -> String {
    let out = bir(&[&["wrap", "--test"], options].concat());
    assert_eq!(out.status.code(), Some(1), "{options:?}: {}", text(&out.stderr));
    text(&out.stderr)
}

#[test]
fn a_server_that_ends_at_once_is_told_with_its_status() {
    for (command, what) in [
        (&["echo", "hello"][..], "the server ended before it answered (exit status: 0)"),
        (&["sh", "-c", "exit 3"], "the server ended before it answered (exit status: 3)"),
    ] {
        let err = failure(&[&["--"], command].concat());
        assert!(err.contains(&format!("test failed: {what}")), "{err}");
    }
}

#[test]
fn a_server_that_dies_of_a_later_request_has_ended_and_is_not_started_again() {
    let script = with_tools(Eras::Legacy, 1).on(On::method("tools/list"), [Step::Exit(9)]);
    let up = TestUpstream::new(script).unwrap();
    let out = try_out(&up, &[]);
    let err = text(&out.stderr);
    assert!(err.contains("test failed: the server ended before it answered (exit status: 9)"), "{err}");
    assert_eq!(up.events().unwrap().iter().filter(|e| e.name() == "start").count(), 1);
}

#[test]
fn a_command_that_cannot_be_run_is_tried_once() {
    let dir = tempfile::tempdir().unwrap();
    let (count, plain) = (dir.path().join("count"), dir.path().join("plain"));
    std::fs::write(&plain, "text").unwrap();
    for (command, what) in
        [("bir-no-such-command", "was not found"), (plain.to_str().unwrap(), "cannot be run")]
    {
        let err = failure(&["--", command]);
        assert!(err.contains(&format!("test failed: the server's command {what}")), "{err}");
        assert_eq!(err.matches("cannot start").count(), 1, "{err}");
    }
    // A launcher that does not find what it is to start says so with the same status.
    for status in [126, 127] {
        let _ = std::fs::remove_file(&count);
        failure(&["--", "sh", "-c", &format!("echo >> '{}'; exit {status}", count.display())]);
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "\n", "{status}");
    }
}

#[test]
fn a_command_that_echoes_is_recognised() {
    let err = failure(&["--", "cat"]);
    assert!(err.contains("sends back what it is sent") && !err.contains("refused"), "{err}");
}

#[test]
fn a_remote_server_that_is_not_there_could_not_be_reached() {
    // Bound and closed again: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    for transport in ["auto", "http", "sse"] {
        let err = failure(&["--transport", transport, "--url", &url]);
        assert!(err.contains("test failed: the server could not be reached: connection refused"), "{err}");
        assert_eq!(err.matches("connection refused").count(), 1, "{err}");
    }
}

#[test]
fn the_proxys_word_on_the_same_waiting_is_left_out() {
    let err = failure(&["--timeout", "6", "--", "sleep", "60"]);
    assert!(err.contains("no answer to initialize within 6 s") && !err.contains("for 5 s"), "{err}");
}

#[test]
fn yaml_comes_with_what_other_hosts_need() {
    let out = bir(&["wrap", "--format", "yaml", "--", "x"]);
    let err = text(&out.stderr);
    for word in ["Continue", "- name: NAME", "Goose", "extensions", "cmd", "envs", "type: stdio"] {
        assert!(err.contains(word), "{word}: {err}");
    }
}

#[test]
fn remote_servers_are_tested_over_their_transport() {
    let up = TestUpstream::new(with_tools(Eras::Legacy, 2)).unwrap();
    let (http, sse) = (up.http().unwrap(), up.sse().unwrap());
    for (url, options) in
        [(http.url(), &[][..]), (http.url(), &["--transport", "auto"]), (sse.url(), &["--transport", "sse"])]
    {
        let out = bir(&[&["wrap", "--test", "--url", &url], options].concat());
        assert_eq!(out.status.code(), Some(0), "{url}: {}", text(&out.stderr));
        assert_eq!((field(&out, "era").as_str(), field(&out, "tools").as_str()), ("legacy", "2"), "{url}");
    }
}

#[test]
fn nothing_is_left_of_a_stubborn_tree() {
    let all = || Step::Ignore(["eof", "SIGTERM", "SIGINT", "SIGHUP"].map(String::from).to_vec());
    let grandchild = Step::Grandchild { seconds: 120, stubborn: true, own_group: true };
    let script = with_tools(Eras::Legacy, 1).on(On::start(), [all(), grandchild]);
    let up = TestUpstream::new(script).unwrap();
    let mark = format!("BIR_WRAP_TEST={}", std::process::id());
    let out = try_out(&up, &["--env", &mark]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let started = up.events().unwrap().iter().filter(|e| e.name() == "start").count();
    assert_eq!(started, 1);
    let left: Vec<_> = procs::with_env(&mark).into_iter().filter(|p| !p.is_zombie()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn entries_hold_what_the_proxy_needs() {
    let out = bir(&["wrap", "--env", "A=b", "--lazy", "--restart", "--", "npx", "-y", "@s/weather@1"]);
    assert_eq!(out.status.code(), Some(0));
    let v: Value = serde_json::from_slice(&out.stdout).unwrap();
    let e = &v["mcpServers"]["weather"];
    let proxy = Path::new(e["command"].as_str().unwrap());
    assert!(proxy.is_absolute() && proxy.ends_with("bir-proxy"));
    let args: Vec<&str> = e["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(args, ["--server-name", "weather", "--lazy", "--restart", "--", "npx", "-y", "@s/weather@1"]);
    assert_eq!(e["env"], serde_json::json!({ "A": "b" }));
    let err = text(&out.stderr);
    assert!(err.starts_with("warning: bir-proxy lies in ") && err.contains("restart the client"), "{err}");
}

#[test]
fn headers_go_into_the_environment_and_a_note_says_so() {
    for format in ["json", "toml", "yaml"] {
        let url = "https://mcp.example.com/mcp";
        let out = bir(&[
            "wrap",
            "--format",
            format,
            "--url",
            url,
            "--transport",
            "sse",
            "--header",
            "Authorization: Bearer hunter2",
        ]);
        assert_eq!(out.status.code(), Some(0));
        let entry = text(&out.stdout);
        assert_eq!(entry.matches("hunter2").count(), 1, "{entry}");
        assert!(entry.contains("BIR_UPSTREAM_HEADERS") && entry.contains("example"), "{entry}");
        let err = text(&out.stderr);
        assert!(err.contains("keep the file") && !err.contains("hunter2"), "{err}");
    }
    let out = bir(&["wrap", "--url", "https://h.example.com/", "--header", "Authorization: Bearer hunter2"]);
    let v: Value = serde_json::from_slice(&out.stdout).unwrap();
    let e = &v["mcpServers"]["h"];
    assert!(!e["args"].to_string().contains("hunter2"));
    assert_eq!(e["env"]["BIR_UPSTREAM_HEADERS"], r#"{"Authorization":"Bearer hunter2"}"#);
}

#[test]
fn mistakes_are_one_line_and_status_2() {
    for (args, what) in [
        (&[][..], "no command"),
        (&["wrap"], "no server to wrap"),
        (&["wrap", "--frob", "--", "x"], "unknown option `--frob`"),
        (&["wrap", "npx", "x"], "unexpected argument `npx`"),
        (&["wrap", "--url", "http://h/", "--", "x"], "both a command and `--url`"),
        (&["wrap", "--url", "nonsense"], "is no URL"),
        (&["wrap", "--url", "http://u:hunter2@h/"], "user name or password"),
        (&["wrap", "--env", "hunter2", "--", "x"], "NAME=VALUE"),
        (&["wrap", "--name", "a\nb", "--", "x"], "control characters"),
        (&["wrap", "--header", "hunter2", "--url", "http://h/"], "no colon"),
        (&["wrap", "--header", "Host: hunter2", "--url", "http://h/"], "set by the proxy itself"),
        (&["wrap", "--transport", "xml", "--url", "http://h/"], "`--transport` cannot be `xml`"),
        (&["wrap", "--format", "xml", "--", "x"], "json, toml, yaml"),
    ] {
        let out = bir(args);
        let err = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {err}");
        assert!(out.stdout.is_empty(), "{args:?}");
        assert!(
            err.contains(what) && err.trim_end().lines().count() == 1 && !err.contains("hunter2"),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn without_a_proxy_the_way_out_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let alone = dir.path().join("bir");
    std::fs::copy(env!("CARGO_BIN_EXE_bir"), &alone).unwrap();
    let out = Command::new(&alone).args(["wrap", "--", "x"]).env("PATH", "").output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    let err = text(&out.stderr);
    assert!(err.contains("found no bir-proxy") && err.contains("install bir again"), "{err}");
    assert!(!err.contains("cargo"), "there are no sources here: {err}");
    assert!(out.stdout.is_empty());
}

#[test]
fn the_version_is_printed() {
    let out = bir(&["--version"]);
    assert_eq!(
        (out.status.code(), text(&out.stdout)),
        (Some(0), format!("bir {}\n", env!("CARGO_PKG_VERSION")))
    );
}
