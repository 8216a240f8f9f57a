//! The plugin for opencode, driven by a stand-in for opencode where there is a Node to run it: what it tells, in which order, and
//! that it never throws. The real host is run elsewhere.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bir_hosts::{Context, Host, Payload, hooks};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// What opencode does in a session with a built-in tool, a tool that fails and a sub-agent, and then in one that goes on.
const SESSION: &str = r#"
const plugin = await Bir({ directory: process.argv[2] })
const event = (type, properties) => plugin.event({ event: { type, properties } })
await event("session.created", { info: { id: "ses_1" } })
await plugin["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts: [{ type: "text", text: "Do" }, { type: "text", text: "it" }, { type: "file" }] })
await event("message.updated", { info: { id: "msg_1", sessionID: "ses_1", role: "user" } })
await event("message.part.updated", { part: { type: "text", sessionID: "ses_1", messageID: "msg_1", text: "Do it" } })
await plugin["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "call_1" }, { args: { command: "ls" } })
await plugin["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "call_1", args: { command: "ls" } }, { title: "t", output: "o", metadata: {} })
await plugin["tool.execute.before"]({ tool: "read", sessionID: "ses_1", callID: "call_2" }, { args: { filePath: "/x" } })
const failed = { part: { type: "tool", sessionID: "ses_1", messageID: "msg_2", callID: "call_2", tool: "read", state: { status: "error", error: "no such file" } } }
await event("message.part.updated", failed)
await event("message.part.updated", failed)
await event("session.created", { info: { id: "ses_2", parentID: "ses_1" } })
await plugin["chat.message"]({ sessionID: "ses_2" }, { message: { id: "msg_9" }, parts: [{ type: "text", text: "sub" }] })
await plugin["tool.execute.before"]({ tool: "bash", sessionID: "ses_2", callID: "call_3" }, { args: { command: "pwd" } })
await event("session.idle", { sessionID: "ses_2" })
const circle = {}
circle.self = circle
await plugin["tool.execute.before"]({ tool: "odd", sessionID: "ses_1", callID: "call_4" }, { args: circle })
await plugin["tool.execute.after"](undefined, undefined)
await event("session.updated", undefined)
await event("session.created", undefined)
await event("message.updated", { info: { id: "msg_3", sessionID: "ses_1", role: "assistant" } })
await event("message.part.updated", { part: { type: "text", sessionID: "ses_1", messageID: "msg_3", text: "Done." } })
await event("session.idle", { sessionID: "ses_1" })
for (const id of ["msg_4", "msg_5"]) await plugin["chat.message"]({ sessionID: "ses_0" }, { message: { id }, parts: [{ type: "text", text: "Go on" }] })
if (process.argv[3] === "exit") process.exit(0)
// Otherwise opencode goes on until all is told.
const { readFileSync } = await import("node:fs")
const lines = () => { try { return readFileSync(process.argv[4], "utf8").split("\n").length } catch { return 0 } }
for (let n = 0; n < 1000 && lines() < Number(process.argv[5]); n++) await new Promise((done) => setTimeout(done, 10))
"#;

fn node() -> bool {
    Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs the session with a program that notes what it is told; how it ended, and the events.
fn told(program: Option<&str>, how: &str, lines: &str) -> (bool, String, Vec<serde_json::Value>) {
    let home = tempfile::tempdir().unwrap();
    let (noter, log) = (home.path().join("it's a program"), home.path().join("log"));
    std::fs::write(
        &noter,
        format!("#!/bin/sh\ntext=$(cat)\nprintf '%s\\n%s\\n' \"$text\" \"$*\" >>'{}'\n", log.display()),
    )
    .unwrap();
    std::fs::set_permissions(&noter, std::fs::Permissions::from_mode(0o700)).unwrap();
    let text = hooks(Host::OpenCode, program.unwrap_or(noter.to_str().unwrap())).unwrap().text;
    let script = home.path().join("session.mjs");
    std::fs::write(&script, text + SESSION).unwrap();
    let run = Command::new("node")
        .arg(&script)
        .arg(home.path())
        .args([how, log.to_str().unwrap(), lines])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    (run.status.success(), said, events(&log, how == "exit"))
}

fn events(log: &Path, at_once: bool) -> Vec<serde_json::Value> {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let event = |pair: &[&str]| {
        let payload = Payload::read(pair[0]).unwrap();
        let named = bir_hosts::event_name("", &payload);
        assert_eq!(pair[1], format!("hook {named} --host opencode"));
        let context =
            Context { id: String::new(), via: Host::OpenCode, cwd: "/".into(), host_pids: vec![], at: 0 };
        let event = bir_hosts::event(Host::OpenCode, &named, &payload, &context).unwrap();
        assert!(event.at > 1_700_000_000_000);
        serde_json::to_value(event.map(&mut |_, raw| raw.as_str().to_owned())).unwrap()
    };
    // What was being told at the end is told again. The process that was begun for it may have got nothing, or be late.
    let mut events: Vec<_> = lines.chunks(2).filter(|pair| !pair[0].is_empty()).map(event).collect();
    let id = |event: &serde_json::Value| event["id"].as_str().unwrap().to_owned();
    if at_once {
        events.sort_by_key(id);
    }
    events.dedup_by_key(|event| id(event));
    assert!(events.is_sorted_by_key(id), "in their order");
    events
}

#[test]
fn a_session_is_told_in_its_order() {
    if !node() {
        return;
    }
    // At the end of the process what still waits is told at once.
    for how in ["", "exit"] {
        let (well, said, events) = told(None, how, "27");
        assert!(well && said.is_empty(), "{said}");
        let short: Vec<String> = events
            .iter()
            .map(|event| {
                let word = |path: &str| event.pointer(path).and_then(|value| value.as_str()).unwrap_or("-");
                [
                    word("/event"),
                    word("/sessionId"),
                    word("/agentId"),
                    word("/turnId"),
                    word("/call/callId"),
                    word("/outcome"),
                ]
                .join(" ")
            })
            .collect();
        assert_eq!(
            short,
            [
                "session_start ses_1 - - - -",
                "prompt ses_1 - msg_1 - -",
                "pre ses_1 - msg_1 call_1 -",
                "post ses_1 - msg_1 call_1 ok",
                "pre ses_1 - msg_1 call_2 -",
                "post ses_1 - msg_1 call_2 tool_error",
                "agent_start ses_1 ses_2 msg_1 - -",
                "pre ses_1 ses_2 msg_1 call_3 -",
                "agent_stop ses_1 ses_2 msg_1 - -",
                "stop ses_1 - msg_1 - -",
                "session_start ses_0 - - - -",
                "prompt ses_0 - msg_4 - -",
                "prompt ses_0 - msg_5 - -",
            ]
        );
        assert_eq!((&events[1]["prompt"], &events[9]["answer"]), (&"Do\nit".into(), &"Done.".into()));
        assert_eq!(events[5]["error"], "\"no such file\"");
    }
}

#[test]
fn a_program_that_is_not_there_is_no_error() {
    if node() {
        assert_eq!(told(Some("/no/such/program"), "", "0"), (true, String::new(), Vec::new()));
    }
}
