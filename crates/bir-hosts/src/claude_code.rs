//! Claude Code, facts/claude-code.md §3; and Cursor, which runs the hooks of Claude Code's files.
//!
//! Which events a call gets, and so what each of them may say of it:
//!
//! | case | events |
//! |---|---|
//! | it was made | Pre, Post, Batch |
//! | it failed | Pre, Post (`PostToolUseFailure`), Batch |
//! | a hook or the user refused it | Pre, Batch: what the model is shown says so |
//! | no such tool | Batch |
//! | interrupt | Pre |

use crate::shape::{self, Context, RawEvent, RawPayload};
use crate::{Host, Payload, refusal};
use bir_model::Outcome;
use bir_model::control::{BatchCall, HookWhat, Join};
use std::path::PathBuf;

/// How a prompt begins that a background task wrote.
const NOTIFICATION: &str = "<task-notification>";

/// An event of Claude Code, or of a host with its words.
#[must_use]
pub fn event<'a>(host: Host, named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    let join = if host == Host::ClaudeCode { Join::CallId } else { Join::Fingerprint };
    shape::event(host, join, payload, context, what(named, payload)?)
}

/// What happened, in Claude Code's words. None: a call of no tool.
pub(crate) fn what<'a>(named: &str, payload: &Payload<'a>) -> Option<HookWhat<RawPayload<'a>>> {
    let call = || shape::call(payload);
    Some(match named {
        "SessionStart" => HookWhat::SessionStart { source: shape::word(payload, &["source"]) },
        "UserPromptSubmit" => {
            let prompt = payload.any_text(&["prompt", "user_prompt"]).unwrap_or_default();
            let notification = prompt.starts_with(NOTIFICATION);
            HookWhat::Prompt { prompt: shape::text_payload(prompt), notification }
        }
        "PreToolUse" => HookWhat::Pre { call: call()? },
        "PostToolUse" => HookWhat::Post {
            call: call()?,
            outcome: Outcome::Ok,
            output: shape::json(payload, &["tool_response"]),
            error: None,
            duration_ms: payload.number(&["duration_ms"]),
        },
        "PostToolUseFailure" => {
            let call = call()?;
            HookWhat::Post {
                outcome: failure(payload, call.server.is_some()),
                call,
                output: None,
                error: shape::json(payload, &["error"]),
                duration_ms: payload.number(&["duration_ms"]),
            }
        }
        "PostToolBatch" => HookWhat::Batch {
            calls: payload.list(&["tool_calls"]).into_iter().filter_map(batch_call).collect(),
        },
        "PermissionRequest" => HookWhat::PermissionRequest { call: call()? },
        "PermissionDenied" => HookWhat::PermissionDenied {
            call: call()?,
            reason: shape::json(payload, &["reason", "message", "error"]),
        },
        "SubagentStart" => HookWhat::AgentStart,
        "SubagentStop" => HookWhat::AgentStop {
            transcript: payload.text(&["agent_transcript_path", "agentTranscriptPath"]).map(PathBuf::from),
        },
        "Stop" => HookWhat::Stop {
            answer: shape::text(payload, &["last_assistant_message"]),
            error: None,
            background: u32::try_from(payload.list(&["background_tasks"]).len()).unwrap_or(u32::MAX),
        },
        // Its last message is the text of the error and no answer.
        "StopFailure" => HookWhat::Stop {
            answer: None,
            error: Some(shape::word(payload, &["error"])),
            background: u32::try_from(payload.list(&["background_tasks"]).len()).unwrap_or(u32::MAX),
        },
        "SessionEnd" => HookWhat::SessionEnd { reason: shape::word(payload, &["reason"]) },
        name => HookWhat::Note { name: name.into() },
    })
}

/// How a call failed.
fn failure(payload: &Payload<'_>, over_mcp: bool) -> Outcome {
    let timed_out =
        |error: String| (over_mcp || error.starts_with("MCP server ")) && error.contains(" timed out after ");
    if payload.flag("is_interrupt") {
        Outcome::Cancelled
    } else if payload.text(&["error"]).is_some_and(timed_out) {
        Outcome::Timeout
    } else {
        Outcome::ToolError
    }
}

fn batch_call(json: &str) -> Option<BatchCall<RawPayload<'_>>> {
    let payload = Payload::read(json)?;
    let call = shape::call(&payload)?;
    let shown = payload.raw(&["tool_response"]);
    let verdict = shown.and_then(shape::shown_text).and_then(|text| refusal::verdict(&call.tool_name, &text));
    Some(BatchCall { call, shown: shape::json(&payload, &["tool_response"]), verdict, context: None })
}
