//! Copilot CLI, facts/other-hosts.md §§0.1, 3. Hooks under Claude Code's names get Claude Code's words, without ids of calls.
//!
//! A call over MCP is told twice: by `PreToolUse` without an id, as `<server>-<tool>`, and by `preMcpToolCall` with id, server and
//! tool, at the moment when it is sent. **One of them is told on, and it is the second**: it alone has the id that we put into the
//! request. So a plain `PreToolUse` of a tool with a hyphen in its name is dropped where our own file holds the hook, since that file
//! holds both; the host's own tools have none in theirs (`bash` is `Bash`, `str_replace_editor` is `Edit`). The price: a call over
//! MCP that the user refuses is not told of, and an own tool with a hyphen would be told of by its end alone.
//! `PostToolUse` has no id; the book pairs it by tool and arguments, which are the same in both.

use crate::shape::{self, Context, RawEvent, RawPayload};
use crate::{Host, Payload, claude_code};
use bir_model::Outcome;
use bir_model::control::{HookCall, HookWhat, Join};

/// The hook before a call over MCP is sent.
pub(crate) const BEFORE_MCP: &str = "preMcpToolCall";

/// An event of Copilot CLI.
#[must_use]
pub fn event<'a>(named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    let ours = context.via == Host::CopilotCli;
    let what = what(named, payload)?;
    if let HookWhat::Pre { call } = &what
        && ours
        && named != BEFORE_MCP
        && call.tool_name.contains('-')
    {
        return None;
    }
    // Another host's file has no hook that could put an id into the request.
    let join = if ours { Join::Injected } else { Join::Fingerprint };
    shape::event(Host::CopilotCli, join, payload, context, what)
}

fn what<'a>(named: &str, payload: &Payload<'a>) -> Option<HookWhat<RawPayload<'a>>> {
    Some(match named {
        BEFORE_MCP => HookWhat::Pre { call: mcp_call(payload)? },
        "postToolUse" | "PostToolUse" => post(payload)?,
        "sessionStart" => claude_code::what("SessionStart", payload)?,
        "userPromptSubmitted" => claude_code::what("UserPromptSubmit", payload)?,
        "preToolUse" => claude_code::what("PreToolUse", payload)?,
        "postToolUseFailure" => claude_code::what("PostToolUseFailure", payload)?,
        "permissionRequest" => claude_code::what("PermissionRequest", payload)?,
        "agentStop" => claude_code::what("Stop", payload)?,
        "subagentStart" => claude_code::what("SubagentStart", payload)?,
        "subagentStop" => claude_code::what("SubagentStop", payload)?,
        "sessionEnd" => claude_code::what("SessionEnd", payload)?,
        _ => claude_code::what(named, payload)?,
    })
}

fn mcp_call<'a>(payload: &Payload<'a>) -> Option<HookCall<RawPayload<'a>>> {
    let server = payload.text(&["serverName", "server_name"])?;
    let tool = payload.text(&["toolName", "tool_name"])?;
    Some(HookCall {
        call_id: payload.text(&["toolCallId", "tool_call_id"]),
        tool_name: format!("{server}-{tool}"),
        server: Some(server),
        tool: Some(tool),
        input: shape::json(payload, &["arguments", "toolArgs"]),
        fingerprint: None,
    })
}

fn post<'a>(payload: &Payload<'a>) -> Option<HookWhat<RawPayload<'a>>> {
    let names = ["tool_result", "toolResult", "tool_response"];
    let (call, output) = (shape::call(payload)?, shape::json(payload, &names));
    let result = payload.object(&names);
    let told = |names: &[&str]| result.as_ref().and_then(|result| result.text(names));
    let failed = || {
        let text = told(&["text_result_for_llm", "textResultForLlm"]);
        call.tool_name.eq_ignore_ascii_case("bash") && text.is_some_and(|text| says_failure(&text))
    };
    let outcome = match told(&["result_type", "resultType"]).as_deref() {
        None | Some("success") if failed() => Outcome::ToolError,
        None | Some("success") => Outcome::Ok,
        Some("denied" | "rejected") => return Some(HookWhat::PermissionDenied { call, reason: output }),
        Some("timeout") => Outcome::Timeout,
        Some(_) => Outcome::ToolError,
    };
    Some(HookWhat::Post { call, outcome, output, error: None, duration_ms: payload.number(&["duration_ms"]) })
}

/// Whether a command's status is another than 0. The host calls it a success in any case, and ends what was printed with
/// `<shellId: 1 completed with exit code 3>`.
fn says_failure(text: &str) -> bool {
    let last = text.rsplit_once("<shellId: ").and_then(|(_, last)| last.strip_suffix('>'));
    last.and_then(|last| last.split_once(" completed with exit code "))
        .is_some_and(|(_, status)| status != "0")
}
