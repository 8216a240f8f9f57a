//! How each host is told to call us: the file, and the text to put there with the absolute path of our program.
//!
//! Where the host has it, the exec form is used, in which no shell reads the path; Codex and Gemini CLI run a line in a shell,
//! for which the path is quoted. Nothing is asynchronous: a call's beginning has to be told before its end.

use crate::{Host, copilot};
use serde_json::{Map, Value, json};

/// A prompt may wait so long for us, in seconds: a control server may have to be started first.
const PROMPT_TIMEOUT: u64 = 10;
/// A call's beginning, in seconds.
const PRE_TIMEOUT: u64 = 15;
/// Everything else, in seconds. Claude Code gives the end of a session 1.5 s where nothing is said.
const TIMEOUT: u64 = 5;
/// The ends of a turn and of a session in Codex, in seconds: it allows no more, and warns at each start where more is asked for.
const CODEX_END_TIMEOUT: u64 = 3;

/// What holds the place of the program's path in the plugin.
const PROGRAM: &str = "\"@BIR_HOOKS@\"";

/// Events of Claude Code that say something of a run, or that the session lives. Others are not asked for: some change what the
/// host does where a hook is there at all (`WorktreeCreate`).
const CLAUDE_CODE: [&str; 19] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "PermissionDenied",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
    "Elicitation",
    "ElicitationResult",
    "Notification",
    "CwdChanged",
];

const CODEX: [&str; 10] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PermissionRequest",
    "SubagentStart",
    "SubagentStop",
    "Interrupt",
    "Stop",
    "SessionEnd",
];

const COPILOT: [&str; 10] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    copilot::BEFORE_MCP,
    "PostToolUse",
    "PostToolUseFailure",
    "subagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];

const GEMINI: [&str; 6] =
    ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"];

/// Where a host's hooks are set up, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The file that holds for every project, relative to the home directory.
    pub in_home: &'static str,
    /// The file that holds for one project, relative to it. Absent where the host has none, or none of ours could stand there.
    pub in_project: Option<&'static str>,
    /// The file is ours alone: it is written whole, and removed whole. Otherwise the text is to be merged into what is there.
    pub whole_file: bool,
    /// What goes there.
    pub text: String,
    /// What a person has to do besides, if anything.
    pub note: Option<&'static str>,
}

/// How a host is told to call `program`, an absolute path.
#[must_use]
pub fn hooks(host: Host, program: &str) -> Option<Hooks> {
    let text = text(host, program)?;
    Some(match host {
        Host::ClaudeCode => Hooks {
            in_home: ".claude/settings.json",
            in_project: Some(".claude/settings.local.json"),
            whole_file: false,
            text,
            note: None,
        },
        Host::Codex => Hooks {
            in_home: ".codex/hooks.json",
            in_project: Some(".codex/hooks.json"),
            whole_file: false,
            text,
            note: Some(
                "put ours behind those that are there, else those lose the trust of Codex. It skips untrusted hooks silently, and a hook \
                 that has changed is untrusted again. `codex exec --dangerously-bypass-hook-trust` runs them untrusted, once; for good, \
                 `codex app-server` lists them (`hooks/list`) and takes the trust in each (`config/batchWrite` of `hooks.state`)",
            ),
        },
        Host::CopilotCli => {
            Hooks { in_home: ".copilot/hooks/bir.json", in_project: None, whole_file: true, text, note: None }
        }
        Host::GeminiCli => Hooks {
            in_home: ".gemini/settings.json",
            in_project: Some(".gemini/settings.json"),
            whole_file: false,
            text,
            note: None,
        },
        Host::OpenCode => Hooks {
            in_home: ".config/opencode/plugins/bir.js",
            in_project: Some(".opencode/plugins/bir.js"),
            whole_file: true,
            text,
            note: None,
        },
        _ => return None,
    })
}

/// A whole file of hooks, for a host that has none yet.
fn text(host: Host, program: &str) -> Option<String> {
    if host == Host::OpenCode {
        let plugin = include_str!("../assets/opencode-plugin.js");
        return Some(plugin.replace(PROGRAM, &Value::from(program).to_string()));
    }
    let arrays = hook_elements(host, program)?.into_iter();
    let arrays: Map<_, _> = arrays.map(|(event, element)| (event.to_owned(), json!([element]))).collect();
    let file = match host {
        Host::CopilotCli => json!({ "version": 1, "hooks": arrays }),
        _ => json!({ "hooks": arrays }),
    };
    Some(format!("{file:#}\n"))
}

/// The events of which a host is to tell, each with the element that its array below `hooks` gets. None: it has no such arrays.
#[must_use]
pub fn hook_elements(host: Host, program: &str) -> Option<Vec<(&'static str, Value)>> {
    let events: &[&'static str] = match host {
        Host::ClaudeCode => &CLAUDE_CODE,
        Host::Codex => &CODEX,
        Host::CopilotCli => &COPILOT,
        Host::GeminiCli => &GEMINI,
        _ => return None,
    };
    events.iter().map(|event| Some((*event, element(host, event, program)?))).collect()
}

fn element(host: Host, event: &str, program: &str) -> Option<Value> {
    Some(match host {
        Host::ClaudeCode => json!({ "hooks": [{
            "type": "command", "command": program, "args": ["hook", event], "timeout": timeout(host, event),
        }] }),
        Host::Codex => json!({ "hooks": [{
            "type": "command", "command": line(program, event, host), "timeout": timeout(host, event),
        }] }),
        Host::CopilotCli => json!({
            "type": "command", "exec": program, "args": ["hook", event, "--host", host.as_str()],
            "timeoutSec": timeout(host, event),
        }),
        Host::GeminiCli => json!({ "hooks": [{
            "name": "bir", "type": "command", "command": line(program, event, host),
            "timeout": timeout(host, event) * 1000,
        }] }),
        _ => return None,
    })
}

/// Seconds.
fn timeout(host: Host, event: &str) -> u64 {
    match (host, event) {
        (_, "UserPromptSubmit" | "BeforeAgent") => PROMPT_TIMEOUT,
        (_, "PreToolUse" | "BeforeTool" | copilot::BEFORE_MCP) => PRE_TIMEOUT,
        (Host::Codex, "SessionEnd" | "Interrupt") => CODEX_END_TIMEOUT,
        _ => TIMEOUT,
    }
}

/// A line for the host's shell.
fn line(program: &str, event: &str, host: Host) -> String {
    let program = if cfg!(windows) {
        format!("\"{program}\"")
    } else {
        format!("'{}'", program.replace('\'', r"'\''"))
    };
    format!("{program} hook {event} --host {}", host.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_what_the_host_reads_and_names_the_program() {
        let program = "/opt/a b/it's/bir-hooks";
        for host in Host::INSTALLED {
            let hooks = hooks(host, program).unwrap();
            assert!(!hooks.in_home.starts_with('/') && hooks.text.ends_with('\n'));
            if host == Host::OpenCode {
                assert!(
                    hooks.text.contains("\"/opt/a b/it's/bir-hooks\"") && !hooks.text.contains("@BIR_HOOKS@")
                );
                continue;
            }
            let text: Value = serde_json::from_str(&hooks.text).unwrap();
            let events = text["hooks"].as_object().unwrap();
            assert!(events.contains_key("SessionStart") && events.contains_key("SessionEnd"), "{host:?}");
            for entry in events.values() {
                let hook = if host == Host::CopilotCli { &entry[0] } else { &entry[0]["hooks"][0] };
                assert!(hook.get("async").is_none() && hook["type"] == "command");
                let named = match host {
                    Host::ClaudeCode => hook["command"] == program,
                    Host::CopilotCli => hook["exec"] == program,
                    _ => hook["command"].as_str().unwrap().starts_with(r"'/opt/a b/it'\''s/bir-hooks' hook "),
                };
                assert!(named, "{hook}");
            }
        }
        let without = Host::ALL.into_iter().filter(|host| !Host::INSTALLED.contains(host));
        assert!(without.into_iter().all(|host| hooks(host, program).is_none()));
    }

    #[test]
    fn timeouts_are_in_the_units_of_the_host() {
        let of = |host, path: &str| {
            let text: Value = serde_json::from_str(&hooks(host, "/x").unwrap().text).unwrap();
            text.pointer(path).unwrap().clone()
        };
        assert_eq!(of(Host::ClaudeCode, "/hooks/PreToolUse/0/hooks/0/timeout"), 15);
        assert_eq!(of(Host::ClaudeCode, "/hooks/SessionEnd/0/hooks/0/timeout"), 5);
        assert_eq!(
            of(Host::ClaudeCode, "/hooks/UserPromptSubmit/0/hooks/0/args"),
            json!(["hook", "UserPromptSubmit"])
        );
        for (event, seconds) in [("SessionEnd", 3), ("Interrupt", 3), ("Stop", 5), ("PreToolUse", 15)] {
            assert_eq!(of(Host::Codex, &format!("/hooks/{event}/0/hooks/0/timeout")), seconds, "{event}");
        }
        assert_eq!(of(Host::GeminiCli, "/hooks/BeforeAgent/0/hooks/0/timeout"), 10_000);
        assert_eq!(of(Host::CopilotCli, "/hooks/preMcpToolCall/0/timeoutSec"), 15);
    }
}
