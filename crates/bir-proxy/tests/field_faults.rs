//! What users of such programs ran into, as far as a bridge on stdio is concerned. The number of each report is in the
//! test's name; those that another file covers have theirs there (`t1`, `t2`, `t8`, `t11`, `t14`, `t16`, `t17`, `t19`, `t37`,
//! `t40`, `t41`, `t79`, `t80`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;

use bir_testkit::{Eras, HostCommand, On, Script, Step};
use common::*;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn t5_only_the_exact_key_is_a_method() {
    // What no server would run is not answered for either: `Method` is nobody's method.
    let script = Script::new().on(On::method("x/hold"), []).on(On::tool("hold"), []);
    let mut front = front(script).start().open();
    front.send(r#"{"jsonrpc":"2.0","id":1,"Method":"tools/call","PARAMS":{"name":"echo"}}"#).unwrap();
    // Of two methods the last counts, as for every common parser; the bytes pass either way.
    front
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"x/hold","method":"tools/call","params":{"name":"hold"}}"#)
        .unwrap();
    front.send(call("3", "crash", "{}")).unwrap();
    assert_eq!(front.status(), 3);
    let stdout = text(front.stdout());
    let mut lines: Vec<&str> = stdout.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(lines, [lost_call("2"), lost_call("3")]);
    assert!(front.received().iter().any(|l| l.contains("\"Method\":\"tools/call\",\"PARAMS\"")));
    assert!(front.received().iter().any(|l| l.contains("\"method\":\"x/hold\",\"method\":\"tools/call\"")));
}

#[test]
fn t20_a_server_that_asks_inside_a_call_is_answered_and_the_call_ends() {
    for (method, reply) in [
        ("elicitation/create", r#"{"action":"accept","content":{"n":1.0}}"#),
        (
            "sampling/createMessage",
            r#"{"role":"assistant","content":{"type":"text","text":"\ud83d\ude00"},"model":"m"}"#,
        ),
        ("roots/list", r#"{"roots":[ ]}"#),
    ] {
        let mut front = front(Script::new()).start().open();
        let asked =
            front.ask(call("1", "reverse", &format!("{{\"method\":\"{method}\",\"params\":{{\"x\":1.0}}}}")));
        assert_eq!(
            asked,
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"method\":\"{method}\",\"params\":{{\"x\":1.0}}}}"
            )
        );
        let reply = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{reply}}}");
        let ended = front.ask(&reply);
        let quoted = serde_json::to_string(&reply).unwrap();
        assert!(ended.contains("\"id\":1,\"result\"") && ended.contains(&quoted), "{ended}");
        assert_eq!(front.finish(), 0);
    }
}

#[test]
fn t20b_the_server_sees_the_capabilities_that_the_host_sent() {
    let capabilities = r#"{"sampling":{"tools":{ }},"elicitation":{"url":{},"form":{}},"roots":{"listChanged" : true},"x":1.0,"x":2}"#;
    for (method, place) in [
        ("initialize", format!("{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{capabilities}}}")),
        (
            "server/discover",
            format!(
                "{{\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{capabilities}}}}}"
            ),
        ),
    ] {
        let script =
            Script::era(Eras::Dual).on(On::method(method), [Step::result("{\"seen\":${line_text}}")]);
        let mut front = front(script).start();
        let line = request("1", method, &place);
        let quoted = serde_json::to_string(&line).unwrap();
        assert!(front.ask(&line).contains(&quoted), "{method}");
    }
}

#[test]
fn t22_a_changed_list_is_told_and_the_next_list_shows_it() {
    let mut front = front(Script::new()).start().open();
    assert!(!front.ask(request("1", "tools/list", "{}")).contains("\"fresh\""));
    assert!(
        front.ask(call("2", "add_tool", "{\"name\":\"fresh\"}")).contains("notifications/tools/list_changed")
    );
    assert!(front.next().contains("\"id\":2"));
    assert!(front.ask(request("3", "tools/list", "{}")).contains("\"fresh\""));
}

#[test]
fn t23_what_the_server_did_not_advertise_is_its_own_affair_and_passes() {
    let script = Script::new().server(|s| s.capabilities = Some("{}".into()));
    let seen = same(&script, |host| {
        host.send(INIT).unwrap();
        host.send(call("1", "change", "{\"what\":\"prompts\"}")).unwrap();
        (0..3).for_each(|_| drop(host.line(BUDGET).unwrap()));
    });
    assert!(
        text(&seen.host).contains("\"capabilities\":{}") && text(&seen.host).contains("prompts/list_changed")
    );
}

#[test]
fn t26_a_tool_list_keeps_every_field_of_every_revision() {
    let tool = r#"{"name":"t","title" : "T","annotations":{"readOnlyHint":true,"x":1.0},"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{}},"_meta":{"a/b":[1e2]},"icons":[{"src":"data:,"}],"execution":{"taskSupport":"optional"},"fromTheFuture":{"n":9007199254740993}}"#;
    for era in [Eras::Legacy, Eras::Modern] {
        let script = Script::era(era).server(|s| {
            s.hide_default_tools = true;
            s.tools = vec![tool.into()];
        });
        let seen = same(&script, |host| {
            host.send(modern("1", "tools/list", "")).unwrap();
            host.line(BUDGET).unwrap();
        });
        assert!(text(&seen.host).contains(&format!("\"tools\":[{tool}]")));
    }
}

#[test]
fn t28_a_result_that_does_not_fit_its_schema_passes() {
    let result = r#"{"content":[{"type":"text","text":"good"}],"structuredContent":{"n":"not a number"},"isError":"no","extra":{}}"#;
    let script = Script::new().on(On::tool("structured"), [Step::result(result)]);
    let mut front = front(script).start().open();
    assert_eq!(
        front.ask(call("1", "structured", "{}")),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}")
    );
    assert_eq!(front.finish(), 0);
    assert_eq!(front.stderr_text(), "");
}

#[test]
fn t38_a_server_that_the_system_will_not_start_is_one_clear_error() {
    // As a user of our own who may have no further process: the proxy runs, its server cannot be started.
    // The limit counts the processes of a user, and does not bind root.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("bir-proxy");
    std::fs::copy(PROXY, &program).unwrap();
    let inner = HostCommand::new(&program).args(["--server-name", "x", "--", "/bin/cat"]);
    let limit = HostCommand::new("prlimit").args(["--nproc=1", "--"]).wrap(&inner);
    let limit = if rustix::process::geteuid().is_root() {
        HostCommand::new("setpriv").args(["--reuid=61234", "--regid=61234", "--clear-groups"]).wrap(&limit)
    } else {
        limit
    };
    let tree = unique();
    let mut host = limit.env("BIR_HOME", "/nonexistent").env("PROXY_TEST_TREE", &tree).start().unwrap();
    let status = host.finish(BUDGET).unwrap();
    assert_eq!((status, host.stdout().len()), (1, 0), "{}", host.stderr_text());
    let stderr = host.stderr_text();
    assert!(stderr.contains("cannot start `/bin/cat`: "), "{stderr}");
    assert!(stderr.lines().all(|l| l.starts_with("bir-proxy")), "{stderr}");
    assert_eq!(left(&tree, BUDGET), []);
}

#[test]
fn t43_arguments_arrive_as_they_are() {
    let setup = front(Script::new());
    let odd = ["\"&|%^", "a b", "\\\"", "%PATH%", "$(id)", "*", "\n", "--", "-"];
    let dir = setup.home().join("a dir with spaces & more");
    std::fs::create_dir_all(&dir).unwrap();
    let program = dir.join("the server");
    std::os::unix::fs::symlink(setup.up_command().argv().remove(0), &program).unwrap();
    let inner = HostCommand::new(&program).args(&setup.up_command().argv()[1..]).arg("--").args(odd);
    let mut front = setup.start_as(&inner).open();
    let argv: Vec<String> = serde_json::from_value(front.wait_start(1).0["argv"].clone()).unwrap();
    assert_eq!(argv[argv.len() - odd.len()..], odd);
    assert_eq!(front.finish(), 0);
}

#[test]
fn t44_a_command_is_found_in_path_alone_and_a_missing_one_is_named_with_the_path() {
    let setup = front(Script::new());
    let bin = setup.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(setup.up_command().argv().remove(0), bin.join("my-server")).unwrap();
    let rest: Vec<_> = setup.up_command().argv()[1..].to_vec();
    let inner = HostCommand::new("my-server").args(rest);
    let path = bin.to_string_lossy().into_owned();
    let mut front = setup.env("PATH", &path).start_as(&inner).open();
    assert_eq!(front.finish(), 0);

    let setup = common::front(Script::new()).env("PATH", "/usr/bin");
    let mut front = setup.start_as(&HostCommand::new("my-server"));
    front.close_stdin();
    assert_eq!(front.status(), 127);
    assert!(
        front.stderr_text().contains("`my-server`") && front.stderr_text().contains("PATH is `/usr/bin`")
    );
}

#[test]
fn t71_a_progress_token_passes_unchanged_and_none_is_invented() {
    for (meta, expected) in [("\"_meta\":{\"progressToken\":1.0}", 3), ("\"x\":1", 0)] {
        let seen = same(&Script::new(), |host| {
            let line = request(
                "1",
                "tools/call",
                &format!("{{\"name\":\"notify\",\"arguments\":{{\"n\":3}},{meta}}}"),
            );
            host.send(&line).unwrap();
            (0..=expected).for_each(|_| drop(host.line(BUDGET).unwrap()));
        });
        assert_eq!(text(&seen.host).matches("\"progressToken\":1.0").count(), expected);
        assert_eq!(text(&seen.host).lines().count(), expected + 1);
    }
}

#[test]
fn t73_a_server_that_never_answers_holds_nothing_but_its_own_request() {
    let mut front = front(Script::new().on(On::method("x/never"), [])).start().open();
    front.send(request("1", "x/never", "{}")).unwrap();
    assert!(front.ask(call("2", "echo", "{}")).contains("\"id\":2"));
    assert_eq!(front.finish(), 0);
    assert_eq!(text(front.stdout()).lines().count(), 2);
}

#[test]
fn t89_no_secret_is_in_our_log_at_any_level() {
    let secret = |n: u32| format!("s3cr3t-{n}");
    let script = Script::new()
        .on(On::tool("secret"), [Step::result(format!("{{\"content\":[],\"token\":\"{}\"}}", secret(1)))])
        .on(On::tool("rpc"), [Step::error(format!("{{\"code\":-1,\"message\":\"{}\"}}", secret(2)))]);
    let setup = front(script)
        .option("--restart")
        .option("--lazy")
        .env("BIR_LOG", "debug")
        .env("BIR_UPSTREAM_HEADERS", &format!("{{\"Authorization\":\"Bearer {}\"}}", secret(3)))
        .env("DIFY_KEY", &secret(4));
    let home = setup.home();
    let inner = setup.up_command().args(["--", &secret(5)]);
    let mut front = setup.start_as(&inner);
    let opening = INIT.replace("\"x-odd\":1.0", &format!("\"x-odd\":\"{}\"", secret(6)));
    assert!(front.ask(opening).contains("\"result\""));
    front.send(INITIALIZED).unwrap();
    assert!(
        front.ask(call("1", "secret", &format!("{{\"password\":\"{}\"}}", secret(7)))).contains(&secret(1))
    );
    assert!(front.ask(call("2", "rpc", "{}")).contains(&secret(2)));
    assert_eq!(front.ask(call("3", "crash", &format!("{{\"s\":\"{}\"}}", secret(8)))), lost_call("3"));
    assert!(front.ask(call("4", "echo", "{}")).contains("\"id\":4"));
    front.signal(rustix::process::Signal::TERM).unwrap();
    front.status();
    assert!(front.stderr_text().contains("is passed on"), "the level is debug: {}", front.stderr_text());
    assert!(!front.stderr_text().contains("s3cr3t"), "{}", front.stderr_text());
    // What lies in the state directory is the server's own handshake, and private.
    for entry in std::fs::read_dir(home.join("handshakes")).unwrap() {
        let path = entry.unwrap().path();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("s3cr3t"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
