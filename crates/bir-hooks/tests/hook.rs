//! One event, one process: what is told, what is kept, and that no host ever notices anything but an answer.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_control_client::stopped_file;
use bir_model::control::{HookWhat, Join};
use bir_record::opened::Opened;
use common::*;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A call with a secret in its arguments.
const PRE: &str = r#""hook_event_name":"PreToolUse","tool_name":"mcp__s1__echo","tool_use_id":"toolu_1","mcp_server":{"name":"s1"},
    "tool_input":{ "b":1.50, "password":"hunter2secret", "text":"ghp_0123456789abcdefghijklmnopqrstuvwxyz" }"#;
/// Its arguments as they stand there.
const INPUT: &str =
    r#"{ "b":1.50, "password":"hunter2secret", "text":"ghp_0123456789abcdefghijklmnopqrstuvwxyz" }"#;

fn is_clean(text: &str) -> bool {
    !text.contains("hunter2secret") && !text.contains(SECRET)
}

#[test]
fn a_call_is_told_without_its_secrets_and_the_host_is_told_nothing() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    assert_eq!(lab.hook(&lab.payload(PRE)), "");
    let asked = control.asked();
    assert_eq!((asked[0].line.as_str(), asked.len()), ("POST /tool/pre HTTP/1.1", 1));
    assert_eq!(asked[0].bearer, format!("Bearer {TOKEN}"));
    assert!(is_clean(&asked[0].body), "{}", asked[0].body);
    let event = control.event();
    assert_eq!(
        (event.host.app.as_str(), event.via.as_str(), event.join),
        ("claude-code", "claude-code", Join::CallId)
    );
    assert_eq!(
        (event.session_id.as_str(), event.turn_id.as_deref(), &event.cwd),
        ("s1", Some("p1"), &lab.project)
    );
    assert_eq!(event.host_pids.first(), Some(&std::process::id()));
    let HookWhat::Pre { call } = event.what else { panic!("{:?}", event.what) };
    let input = call.input.unwrap();
    assert!(input.text.starts_with(r#"{ "b":1.50, "password":"#), "{}", input.text);
    assert_eq!(input.original_bytes, INPUT.len() as u64);
    let opened = Opened::open(&lab.state).unwrap();
    assert_eq!(call.fingerprint, opened.redactor.compared(INPUT.as_bytes()));
    assert!(lab.inbox().is_empty() && !lab.was_revived());
}

#[test]
fn an_id_is_put_into_the_arguments_where_the_control_server_asks_for_it() {
    let control = Control::saying(200, r#"{"inject":{"callId":"c-1","decision":"allow"}}"#);
    let lab = Lab::set_up(Some(&control.url));
    let answer = lab.hook(&lab.payload(PRE));
    let input = INPUT.trim_end_matches('}');
    assert_eq!(
        answer,
        format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{input},"__bir_call_id__":"c-1"}}}}}}"#
        )
    );
    let post = PRE.replace("PreToolUse", "PostToolUse").replace(r#""b":1.50"#, r#""__bir_call_id__":"c-1""#);
    assert_eq!(lab.hook(&lab.payload(&post)), "", "nothing is put anywhere after the call");
    assert!(!control.asked()[1].body.contains("__bir_call_id__"));
}

#[test]
fn where_nothing_is_set_up_nothing_is_told_and_nothing_made() {
    let lab = Lab::new();
    assert_eq!(lab.hook(&lab.payload(PRE)), "");
    assert!(!lab.state.exists());
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    let elsewhere = lab.home.path().canonicalize().unwrap();
    let payload = lab.payload(PRE).replace(&*lab.project.to_string_lossy(), &elsewhere.to_string_lossy());
    run(lab.command(&["hook", "PreToolUse"]).current_dir(&elsewhere), payload.as_bytes());
    assert!(control.asked().is_empty());
    // The session began in a project that is set up.
    run(
        lab.command(&["hook", "PreToolUse"]).current_dir(&elsewhere).env("CLAUDE_PROJECT_DIR", &lab.project),
        payload.as_bytes(),
    );
    assert_eq!(control.event().cwd, elsewhere);
}

#[test]
fn what_nobody_takes_waits_in_the_inbox_and_somebody_is_started() {
    let silent = Control::answering(Box::new(|| None));
    let (unauthorised, broken, odd) =
        (Control::saying(401, ""), Control::saying(500, "{}"), Control::saying(200, "what"));
    // Somebody else has the port of a control server that died.
    let stranger = Control::saying(404, "<html>");
    for url in
        [NOBODY.to_owned(), silent.url, unauthorised.url, broken.url, odd.url, stranger.url, String::new()]
    {
        let lab = Lab::set_up(Some(&url).filter(|url| !url.is_empty()).map(String::as_str));
        let begun = Instant::now();
        assert_eq!(lab.hook(&lab.payload(PRE)), "");
        assert!(begun.elapsed() < Duration::from_secs(5));
        let waiting = lab.inbox();
        assert_eq!(waiting.len(), 1, "{url}");
        assert!(
            matches!(&waiting[0].what, HookWhat::Pre { call } if call.call_id.as_deref() == Some("toolu_1"))
        );
        assert_eq!(lab.revived(), "serve --detached\n");
        assert_eq!((lab.holding("hunter2secret"), lab.holding(SECRET)), (vec![], vec![]));
    }
}

#[test]
fn a_discovery_file_that_says_nothing_is_a_project_that_sleeps() {
    let lab = Lab::set_up(None);
    std::fs::write(bir_control_client::projects::file_of(&lab.state, &lab.project), "{").unwrap();
    lab.hook(&lab.payload(PRE));
    assert_eq!(lab.inbox().len(), 1);
}

#[test]
fn where_it_was_stopped_nobody_is_started_and_nothing_is_kept_but_a_count() {
    let lab = Lab::set_up(None);
    std::fs::write(stopped_file(&lab.state), "").unwrap();
    lab.hook(&lab.payload(PRE));
    assert_eq!((lab.inbox().len(), lab.was_revived()), (0, false));
    assert_eq!(bir_control_client::Inbox::new(&lab.state).take_dropped(), 1);
}

#[test]
fn what_is_refused_is_dropped() {
    for status in [403, 409, 413, 422] {
        let control = Control::saying(status, "{}");
        let lab = Lab::set_up(Some(&control.url));
        assert_eq!(lab.hook(&lab.payload(PRE)), "");
        assert_eq!((control.asked().len(), lab.inbox().len(), lab.was_revived()), (1, 0, false), "{status}");
    }
}

#[test]
fn a_control_server_that_has_just_moved_is_found_again() {
    let second = Control::taking();
    let lab = Lab::set_up(None);
    let first = Control::answering(moves_to(&lab, &second.url));
    lab.serve_at(&first.url);
    assert_eq!(lab.hook(&lab.payload(PRE)), "");
    assert_eq!(second.event(), first.event(), "the same event, by its id too");
    assert!(lab.inbox().is_empty());
}

#[test]
fn an_older_control_server_makes_way() {
    for (version, revived) in [("0.0.1", true), (env!("CARGO_PKG_VERSION"), false), ("99.0.0", false)] {
        let control = Control::saying(200, &format!(r#"{{"version":"{version}"}}"#));
        let lab = Lab::set_up(Some(&control.url));
        lab.hook(&lab.payload(PRE));
        assert_eq!((lab.was_revived(), lab.inbox().len()), (revived, 0), "{version}");
    }
}

#[test]
fn whatever_comes_in_nothing_goes_out() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    let deep = "[".repeat(100_000);
    let whole = lab.payload(r#""hook_event_name":"Stop""#);
    for input in [
        &b""[..],
        b"\n",
        b"null",
        b"[]",
        b"\"x\"",
        b"{",
        b"{}",
        b"\xff\xfe\x00",
        b"{\"session_id\":7,\"cwd\":[]}",
        b"{\"session_id\":\"s\",\"hook_event_name\":{}}",
        deep.as_bytes(),
        &whole.as_bytes()[..whole.len() - 1],
    ] {
        let said = run(&mut lab.command(&["hook", "PreToolUse"]), input);
        assert_eq!(said, "", "{:?}", String::from_utf8_lossy(input));
    }
    assert!(control.asked().is_empty());
    for args in
        [&["hook"][..], &["hook", "Made\u{7}Up"], &["hook", "Stop", "--host", "nobody"], &["hook", "--what"]]
    {
        run(&mut lab.command(args), lab.payload(r#""x":1"#).as_bytes());
    }
    let events: Vec<_> = control.asked().iter().map(|asked| asked.line.clone()).collect();
    assert_eq!(events, ["note", "note", "stop", "note"].map(|name| format!("POST /session/{name} HTTP/1.1")));
}

#[test]
fn what_is_too_long_is_read_to_its_end_and_what_is_deep_is_told() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    let long = lab.payload(&format!(r#""hook_event_name":"Stop","x":"{}""#, "x".repeat(65 * 1024 * 1024)));
    assert_eq!(lab.hook(&long), "");
    assert!(control.asked().is_empty());
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let deep = format!(r#""hook_event_name":"PreToolUse","tool_name":"x","tool_input":{open}{close}"#);
    lab.hook(&lab.payload(&deep));
    assert!(matches!(control.event().what, HookWhat::Pre { call } if call.fingerprint.is_none()));
}

#[test]
fn a_broken_world_is_nobodys_error() {
    let control = Control::saying(200, r#"{"inject":{"callId":"c-1","decision":"allow"}}"#);
    let lab = Lab::set_up(Some(&control.url));
    let payload = lab.payload(PRE);
    // Neither HOME nor BIR_HOME.
    let mut command = lab.command(&["hook", "PreToolUse"]);
    assert_eq!(run(command.env_remove("HOME").env_remove("BIR_HOME"), payload.as_bytes()), "");
    // The control server is known, and there is no key to redact with.
    let mut command = lab.command(&["hook", "PreToolUse"]);
    command
        .env_remove("HOME")
        .env_remove("BIR_HOME")
        .env("BIR_CONTROL_URL", &control.url)
        .env("BIR_CONTROL_TOKEN", TOKEN);
    assert_eq!(run(&mut command, payload.as_bytes()), "");
    assert!(control.asked().is_empty());
    // stdout that nobody reads.
    let mut command = lab.command(&["hook", "PreToolUse"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    // A directory where the key is.
    std::fs::remove_file(lab.state.join("keys/redaction.key")).unwrap();
    std::fs::create_dir(lab.state.join("keys/redaction.key")).unwrap();
    assert_eq!(lab.hook(&payload), "");
    assert_eq!(control.asked().len(), 1);
}

#[test]
fn a_stdin_that_never_ends_is_left() {
    let lab = Lab::set_up(None);
    let mut child = lab.command(&["hook", "PreToolUse"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, lab.payload(PRE).as_bytes()).unwrap();
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(20));
    drop(stdin);
    assert!(lab.inbox().is_empty());
}

#[test]
fn switched_off_tells_nothing() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    let payload = lab.payload(PRE);
    run(lab.command(&["hook", "PreToolUse"]).env("BIR_OFF", "1"), payload.as_bytes());
    std::fs::write(lab.state.join("off"), format!("{}\n", lab.project.display())).unwrap();
    assert_eq!(lab.hook(&payload), "");
    assert!(control.asked().is_empty() && lab.inbox().is_empty());
    std::fs::write(lab.state.join("off"), "/somewhere/else\n").unwrap();
    lab.hook(&payload);
    assert_eq!(control.asked().len(), 1);
}

#[test]
fn what_is_kept_out_is_not_told() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    let exclude = |entry: &str| {
        std::fs::write(lab.state.join("config.toml"), format!("[record]\nexclude = ['{entry}']\n")).unwrap();
    };
    let dir = format!("dir:{}", lab.project.display());
    for entry in ["server:s1", "tool:s1/ec*", "tool:*/mcp__s1__echo", "path:**secret", &dir, "not understood"]
    {
        exclude(entry);
        assert_eq!(lab.hook(&lab.payload(PRE)), "");
        assert!(control.asked().is_empty() && lab.inbox().is_empty(), "{entry}");
    }
    // The host names the directory by a link.
    exclude(&dir);
    std::os::unix::fs::symlink(&lab.project, lab.home.path().join("link")).unwrap();
    let link = lab.home.path().join("link");
    lab.hook(&lab.payload(PRE).replace(&format!("{:?}", lab.project), &format!("{link:?}")));
    assert!(control.asked().is_empty() && lab.inbox().is_empty());
    exclude("tool:s1/other");
    lab.hook(&lab.payload(PRE));
    assert_eq!(control.asked().len(), 1);
    // Of a batch the rest is told; there the server is not named.
    exclude("server:s1");
    let batch = r#""hook_event_name":"PostToolBatch","tool_calls":[
        {"tool_name":"mcp__s1__echo","tool_input":{},"tool_use_id":"t1","tool_response":"a"},
        {"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t2","tool_response":"b"}]"#;
    lab.hook(&lab.payload(batch));
    let HookWhat::Batch { calls } = control.asked()[1].event().what else { panic!() };
    assert_eq!(calls.iter().map(|one| one.call.tool_name.as_str()).collect::<Vec<_>>(), ["Bash"]);
    assert!(calls[0].call.fingerprint.is_some());
}

#[test]
fn another_host_that_runs_the_hook_is_known_for_what_it_is() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    let timed = r#""timestamp":"2026-11-29T10:00:00.000Z","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}"#;
    let copilot = |payload: &str| {
        run(
            lab.command(&["hook", "PreToolUse"])
                .env("COPILOT_CLI", "1")
                .env("CLAUDECODE", "1")
                .env("CLAUDE_PID", "7"),
            payload.as_bytes(),
        )
    };
    copilot(&lab.payload(timed));
    let event = control.event();
    assert_eq!((event.host.app.as_str(), event.via.as_str()), ("copilot-cli", "claude-code"));
    assert_ne!(event.host_pids, [7], "that is the process of the host that started this one");
    // It has a file of ours of its own, and tells us by that.
    let own = lab.home.path().join(".copilot/hooks");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("bir.json"), "{}").unwrap();
    copilot(&lab.payload(timed));
    assert_eq!(control.asked().len(), 1);
}

#[test]
fn copilot_gets_the_calls_id_into_its_request_whether_anybody_takes_the_event_or_not() {
    let control = Control::taking();
    for url in [control.url.as_str(), NOBODY] {
        let lab = Lab::set_up(Some(url));
        let payload = format!(
            r#"{{"sessionId":"k1","timestamp":1,"cwd":{:?},"toolCallId":"call_1","serverName":"a","toolName":"b","arguments":{{"n":1}}}}"#,
            lab.project
        );
        let mut command = lab.command(&["hook", "preMcpToolCall", "--host", "copilot"]);
        let said = run(command.env("COPILOT_CLI", "1"), payload.as_bytes());
        assert_eq!(said, r#"{"metaToUse":{"bir/callId":"call_1"}}"#);
    }
    let event = control.event();
    assert_eq!((event.host.app.as_str(), event.join), ("copilot-cli", Join::Injected));
}

#[test]
fn the_process_that_the_host_names_counts() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    run(
        lab.command(&["hook", "PreToolUse"]).env("CLAUDECODE", "1").env("CLAUDE_PID", "4242"),
        lab.payload(PRE).as_bytes(),
    );
    assert_eq!(control.event().host_pids, [4242]);
}

#[test]
fn prompts_and_answers_are_redacted_as_text() {
    let control = Control::taking();
    let lab = Lab::set_up(Some(&control.url));
    lab.hook(
        &lab.payload(&format!(r#""hook_event_name":"UserPromptSubmit","prompt":"use {SECRET} \"now\"""#)),
    );
    lab.hook(&lab.payload(&format!(r#""hook_event_name":"Stop","last_assistant_message":"used {SECRET}""#)));
    lab.hook(&lab.payload(&format!(r#""hook_event_name":"SessionEnd","reason":"{SECRET}""#)));
    let asked = control.asked();
    assert!(asked.iter().all(|asked| is_clean(&asked.body)), "{asked:?}");
    let HookWhat::Prompt { prompt, .. } = asked[0].event().what else { panic!() };
    assert!(prompt.text.starts_with("use ") && prompt.text.ends_with(" \"now\""), "{}", prompt.text);
}
