//! Gemini CLI, facts/other-hosts.md §2. No id of a call is in its hooks nor in its requests, so calls are joined by server, tool and
//! arguments; server and tool are told as they are.

use crate::shape::{self, Context, RawEvent, RawPayload};
use crate::{Host, Payload, claude_code};
use bir_model::Outcome;
use bir_model::control::{HookCall, HookWhat, Join};

/// An event of Gemini CLI.
#[must_use]
pub fn event<'a>(named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    shape::event(Host::Gemini, Join::Fingerprint, payload, context, what(named, payload)?)
}

fn what<'a>(named: &str, payload: &Payload<'a>) -> Option<HookWhat<RawPayload<'a>>> {
    Some(match named {
        "BeforeAgent" => claude_code::what("UserPromptSubmit", payload)?,
        "BeforeTool" => HookWhat::Pre { call: call(payload)? },
        "AfterTool" => {
            let failed = payload.object(&["tool_response"]).is_some_and(|r| r.raw(&["error"]).is_some());
            HookWhat::Post {
                call: call(payload)?,
                outcome: if failed { Outcome::ToolError } else { Outcome::Ok },
                output: shape::json(payload, &["tool_response"]),
                error: None,
                duration_ms: None,
            }
        }
        "AfterAgent" => {
            HookWhat::Stop { answer: shape::text(payload, &["prompt_response"]), error: None, background: 0 }
        }
        "SessionStart" | "SessionEnd" => claude_code::what(named, payload)?,
        name => HookWhat::Note { name: name.into() },
    })
}

fn call<'a>(payload: &Payload<'a>) -> Option<HookCall<RawPayload<'a>>> {
    let mcp = payload.object(&["mcp_context"]);
    let told = |name| mcp.as_ref().and_then(|mcp| mcp.text(&[name]));
    let call = shape::call(payload)?;
    Some(HookCall { server: told("server_name"), tool: told("tool_name"), ..call })
}
