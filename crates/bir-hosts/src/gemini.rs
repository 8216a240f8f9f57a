//! Gemini CLI, facts/other-hosts.md §2. No id of a call is in its hooks nor in its requests, so calls are joined by server, tool and
//! arguments; server and tool are told as they are.

use crate::shape::{self, Context, RawEvent, RawPayload};
use crate::{Host, Payload, claude_code};
use bir_model::Outcome;
use bir_model::control::{HookCall, HookWhat, Join};

/// The tool that runs commands.
const SHELL: &str = "run_shell_command";

/// An event of Gemini CLI.
#[must_use]
pub fn event<'a>(named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    shape::event(Host::GeminiCli, Join::Fingerprint, payload, context, what(named, payload)?)
}

fn what<'a>(named: &str, payload: &Payload<'a>) -> Option<HookWhat<RawPayload<'a>>> {
    Some(match named {
        "BeforeAgent" => claude_code::what("UserPromptSubmit", payload)?,
        "BeforeTool" => HookWhat::Pre { call: call(payload)? },
        "AfterTool" => {
            let (call, result) = (call(payload)?, payload.object(&["tool_response"]));
            let failed = result.is_some_and(|result| {
                let text = || result.text(&["llmContent"]).filter(|_| call.tool_name == SHELL);
                result.raw(&["error"]).is_some() || text().is_some_and(|text| says_failure(&text))
            });
            HookWhat::Post {
                call,
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

/// Whether a command failed: the host says so in lines of its own behind what was printed, and nowhere else.
fn says_failure(text: &str) -> bool {
    let text = text.trim_end().strip_suffix("</untrusted_context>").unwrap_or(text);
    let ends = |line: &str, with: &[&str]| with.iter().any(|start| line.starts_with(start));
    let own = |line: &&str| {
        ends(line, &["Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "])
    };
    let lines = text.trim_end().lines().rev().take_while(own);
    lines.into_iter().any(|line| ends(line, &["Error: ", "Exit Code: ", "Signal: "]))
}
