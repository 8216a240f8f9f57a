//! What surrounds the bytes: environment, arguments, stderr, the log, the off switch, the operator's limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{On, Script, Step};
use common::*;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

#[test]
fn the_upstream_has_the_environment_directory_arguments_and_group_that_it_would_have() {
    let odd = ["", " two  words ", "\"quoted\" 'twice'", "$HOME `id` \\", "é😀", "&|%^;<>", "--server-name"];
    let setup = front(Script::new())
        .env("BIR_LOG", "debug")
        .env("BIR_UPSTREAM_HEADERS", "{\"Authorization\":\"secret\"}")
        .env("BIRD", "kept")
        .env("ODD", "a=b\n é");
    let dir = setup.home();
    std::fs::create_dir_all(&dir).unwrap();
    let inner = setup.up_command().arg("--").args(odd);
    let mut front = setup.dir(&dir).start_as(&inner).open();
    let seen = front.wait_start(1);
    let env: std::collections::BTreeMap<String, String> =
        serde_json::from_value(seen.0["env"].clone()).unwrap();
    let mut expected: std::collections::BTreeMap<String, String> =
        std::env::vars().filter(|(name, _)| !name.starts_with("BIR_")).collect();
    expected.insert("BIRD".into(), "kept".into());
    expected.insert("ODD".into(), "a=b\n é".into());
    expected.insert("PROXY_TEST_TREE".into(), env["PROXY_TEST_TREE"].clone());
    assert_eq!(env, expected);
    let argv: Vec<String> = serde_json::from_value(seen.0["argv"].clone()).unwrap();
    assert_eq!(argv[argv.len() - odd.len()..], odd);
    assert_eq!(seen.str("cwd"), dir.canonicalize().unwrap().to_string_lossy());
    assert_eq!(seen.0["pgid"], seen.0["pid"]);
    assert_eq!(seen.0["ppid"], front.pid());
    assert_eq!(front.finish(), 0);
}

#[test]
fn stderr_of_the_upstream_is_passed_on_line_by_line_under_its_name() {
    let script = Script::new()
        .on(On::tool("talk"), [Step::stderr("one\ntwo\r\n\n"), Step::stderr("three"), Step::result("{}")]);
    let mut front = front(script).start().open();
    front.ask(call("1", "talk", "{}"));
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stderr_text(), "[x] one\n[x] two\n[x] three\n");
}

#[test]
fn t14_a_host_that_never_reads_stderr_loses_lines_and_not_the_session() {
    let script = Script::new().on(
        On::method("tools/list"),
        [
            Step::StderrFill { bytes: 1 << 20, line: 80 },
            Step::Chunk(bir_testkit::Chunking::default()),
            Step::Size(5 << 20),
        ],
    );
    let up = bir_testkit::TestUpstream::new(script).unwrap();
    let tree = unique();
    let mut child = plain(&up, &[], &tree)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", request("1", "tools/list", "{}")).unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.len() > 5 << 20);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.lines().all(|l| l.starts_with("[x] ") || l.starts_with("bir-proxy[x]: ")));
}

#[test]
fn the_log_level_decides_what_we_say_and_the_upstream_is_always_heard() {
    for (level, warns, debugs) in
        [("off", false, false), ("error", false, false), ("warn", true, false), ("debug", true, true)]
    {
        let script = Script::new().on(On::start(), [Step::bytes("a banner\n"), Step::stderr("heard\n")]);
        let mut front = front(script).env("BIR_LOG", level).start().open();
        front.ask(call("1", "echo", "{}"));
        front.signal(rustix::process::Signal::TERM).unwrap();
        front.status();
        let stderr = front.stderr_text();
        assert!(stderr.contains("[x] heard\n"), "{level}: {stderr}");
        assert_eq!(stderr.contains("no messages"), warns, "{level}: {stderr}");
        assert_eq!(stderr.contains("is passed on"), debugs, "{level}: {stderr}");
        assert_eq!(text(front.stdout()).lines().count(), 2, "{level}");
    }
}

#[test]
fn switched_off_the_server_itself_runs_in_our_place() {
    let cases: [(&str, Option<&str>, bool); 5] = [
        ("1", None, true),
        ("0", None, false),
        ("", Some(""), true),
        ("", Some("# here\nHERE\n"), true),
        ("", Some("/nowhere/else\n"), false),
    ];
    for (variable, file, off) in cases {
        let setup = front(Script::new()).env("BIR_OFF", variable);
        let home = setup.home();
        std::fs::create_dir_all(&home).unwrap();
        let here = home.canonicalize().unwrap();
        if let Some(list) = file {
            std::fs::write(home.join("off"), list.replace("HERE", &here.to_string_lossy())).unwrap();
        }
        let mut front = setup.dir(&here).start().open();
        let start = front.wait_start(1);
        assert_eq!(start.0["pid"] == front.pid(), off, "BIR_OFF={variable} off={file:?}");
        assert_eq!(start.0["ppid"] == std::process::id(), off);
        assert!(start.0["env"].as_object().unwrap().keys().all(|name| !name.starts_with("BIR_")));
        assert!(front.ask(call("1", "log", "{}")).contains("a log line"));
        front.next();
        front.wait_stderr(if off { "a stderr line\n" } else { "[x] a stderr line\n" }, BUDGET).unwrap();
        assert_eq!(front.ask(call("2", "emit", "{\"line\":\"no frame\"}")) == "no frame", off);
        if off {
            front.next();
        }
        front.send(call("3", "crash", "{\"code\":5}")).unwrap();
        assert_eq!(front.status(), 5);
    }
}

#[test]
fn a_message_beyond_the_operators_limit_ends_its_call_and_nothing_else() {
    let fits = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"";
    let exact = format!("{fits}{}\"}}", "f".repeat(1_000 - fits.len() - 2));
    let request_line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\",\"params\":\"{}\"}}",
        "p".repeat(2_000)
    );
    let script = Script::new()
        .on(On::tool("exact"), [Step::answer(exact.as_str())])
        .on(On::tool("over"), [Step::answer(format!("{exact} "))])
        .on(On::method("x/big"), [Step::Size(3_000_000)])
        .on(
            On::tool("ask"),
            [
                Step::message(request_line),
                Step::notify("x/big", &format!("\"{}\"", "n".repeat(2_000))),
                Step::result("{}"),
            ],
        );
    let mut front = front(script).env("BIR_UPSTREAM_MAX_MESSAGE_BYTES", "1000").start().open();
    assert_eq!(front.ask(call("1", "exact", "{}")), exact);
    let over = front.ask(call("1", "over", "{}"));
    let refused = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"The result was too large to deliver (";
    assert!(over.starts_with(refused) && over.ends_with(" bytes)\"}],\"isError\":true}}"), "{over}");
    let big = front.ask(request("2", "x/big", "{}"));
    assert!(
        big.starts_with(
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":\"The result was too large"
        ),
        "{big}"
    );
    assert!(front.ask(call("3", "ask", "{}")).starts_with("{\"jsonrpc\":\"2.0\",\"id\":3"));
    assert!(front.ask(call("4", "echo", "{}")).contains("\"id\":4"));
    let refused = "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32600,\"message\":\"The request was too large to deliver\"}}";
    assert!(front.received().iter().any(|l| l == refused), "{:?}", front.received());
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_refusal_of_our_own_does_not_land_inside_a_long_line_of_the_host() {
    let request_line =
        format!("{{\"id\":\"q\",\"method\":\"roots/list\",\"params\":\"{}\"}}", "p".repeat(2_000));
    let script = Script::new()
        .on(On::tool("ask"), [Step::sleep(300), Step::message(request_line), Step::result("{}")]);
    let mut front = front(script).env("BIR_UPSTREAM_MAX_MESSAGE_BYTES", "1000").start().open();
    front.send(call("1", "ask", "{}")).unwrap();
    // The host is in the middle of a line when the refusal is made.
    let long = request("2", "ping", &format!("\"{}\"", "y".repeat(300_000)));
    front.write(&long.as_bytes()[..200_000]).unwrap();
    front.wait_stderr("was refused", BUDGET).unwrap();
    assert!(front.next().contains("\"id\":1"));
    front.write(&long.as_bytes()[200_000..]).unwrap();
    front.write("\n").unwrap();
    assert!(front.next().contains("\"id\":2"));
    let refusal = "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32600,\"message\":\"The request was too large to deliver\"}}";
    assert_eq!(front.finish(), 0);
    assert_eq!(front.received()[3..], [long, refusal.to_owned()]);
}
