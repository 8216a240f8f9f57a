//! What each host's hooks tell, payload by payload.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bir_hosts::{Context, Host, Payload};
use serde_json::Value;

/// What is the same in every event of a table, or made by the process.
const LEFT_OUT: [&str; 9] =
    ["id", "host", "via", "cwd", "hostPids", "sessionId", "transcript", "join", "permissionMode"];

fn context(via: Host) -> Context {
    Context { id: "e".into(), via, cwd: "/here".into(), host_pids: vec![7], at: 0 }
}

/// The event as JSON; nothing told is null.
fn told(host: Host, via: Host, named: &str, payload: &str) -> Value {
    let payload = Payload::read(payload).unwrap();
    let named = bir_hosts::event_name(named, &payload);
    let event = bir_hosts::event(host, &named, &payload, &context(via));
    let text = event.map(|event| event.map(&mut |_, raw| raw.as_str().to_owned()));
    serde_json::to_value(text).unwrap()
}

fn short(mut event: Value) -> String {
    let Some(members) = event.as_object_mut() else { return "?".into() };
    let is_dull = |name: &str, value: &Value| LEFT_OUT.contains(&name) || (name == "at" && *value == 0);
    members.retain(|name, value| !is_dull(name, value));
    event.to_string()
}

/// Every payload of a table makes the line behind it.
fn check(host: Host, table: &str) {
    let (mut named, mut payload, mut checked, mut wrong) = ("", None, 0, String::new());
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (mark, rest) = line.split_at(2);
        match mark {
            "= " => named = rest,
            "> " => assert_eq!(payload.replace(rest), None, "nothing is said of a payload"),
            "< " => {
                let given = payload.take().unwrap();
                let made = short(told(host, host, std::mem::take(&mut named), given));
                if made != rest {
                    wrong += &format!("> {given}\n< {made}\n! {rest}\n");
                }
                checked += 1;
            }
            _ => panic!("{line}"),
        }
    }
    assert!(payload.is_none() && checked > 5);
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn claude_code() {
    check(Host::ClaudeCode, include_str!("data/claude-code.txt"));
}

#[test]
fn codex() {
    check(Host::Codex, include_str!("data/codex.txt"));
}

#[test]
fn copilot() {
    check(Host::CopilotCli, include_str!("data/copilot.txt"));
}

#[test]
fn gemini() {
    check(Host::GeminiCli, include_str!("data/gemini.txt"));
}

#[test]
fn opencode() {
    check(Host::OpenCode, include_str!("data/opencode.txt"));
}

#[test]
fn every_event_says_whose_it_is() {
    let payload = r#"{"session_id":"s","transcript_path":"/t","cwd":"/w","prompt_id":"p","permission_mode":"plan","agent_id":"a",
        "hook_event_name":"SubagentStart"}"#;
    assert_eq!(
        told(Host::ClaudeCode, Host::ClaudeCode, "", payload),
        serde_json::json!({
            "id": "e", "host": { "app": "claude-code" }, "via": "claude-code", "sessionId": "s", "turnId": "p", "agentId": "a",
            "cwd": "/w", "transcript": "/t", "hostPids": [7], "join": "call_id", "permissionMode": "plan", "at": 0,
            "event": "agent_start"
        })
    );
    let bare = told(Host::Cursor, Host::ClaudeCode, "Stop", r#"{"session_id":"s","cwd":"relative"}"#);
    assert_eq!((&bare["cwd"], &bare["join"]), (&"/here".into(), &"fingerprint".into()));
    assert_eq!((&bare["host"]["app"], &bare["via"]), (&"cursor".into(), &"claude-code".into()));
}

#[test]
fn a_call_over_mcp_of_copilot_is_told_once_whichever_file_holds_the_hook() {
    let pre = r#"{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"t","cwd":"/w","tool_name":"a-b","tool_input":{}}"#;
    assert_eq!(told(Host::CopilotCli, Host::CopilotCli, "", pre), Value::Null);
    // Claude Code's file has no hook for the moment when the call is sent.
    let by_other = told(Host::CopilotCli, Host::ClaudeCode, "", pre);
    assert_eq!((&by_other["event"], &by_other["join"]), (&"pre".into(), &"fingerprint".into()));
    let sent =
        r#"{"sessionId":"s","cwd":"/w","toolCallId":"c","serverName":"a","toolName":"b","arguments":{}}"#;
    let sent = told(Host::CopilotCli, Host::CopilotCli, "preMcpToolCall", sent);
    assert_eq!((&sent["call"]["toolName"], &sent["join"]), (&"a-b".into(), &"injected".into()));
}
