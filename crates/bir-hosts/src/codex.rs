//! Codex, facts/other-hosts.md §1: Claude Code's words, with `turn_id`, and no server beside the rendered name of a tool
//! (`mcp__server__tool`). The proxy of the call supplies that, since both carry the call's id.

use crate::shape::{self, Context, RawEvent, RawPayload};
use crate::{Host, Payload, claude_code};
use bir_model::control::{HookWhat, Join};

/// An event of Codex.
#[must_use]
pub fn event<'a>(named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    shape::event(Host::Codex, Join::CallId, payload, context, what(named, payload)?)
}

fn what<'a>(named: &str, payload: &Payload<'a>) -> Option<HookWhat<RawPayload<'a>>> {
    Some(match named {
        // The user broke the turn off; no Stop follows.
        "Interrupt" => HookWhat::Stop { answer: None, error: Some("interrupted".into()), background: 0 },
        _ => with_result(claude_code::what(named, payload)?),
    })
}

/// Results over MCP are told whole, so that they say themselves whether they are errors.
pub(crate) fn with_result(what: HookWhat<RawPayload<'_>>) -> HookWhat<RawPayload<'_>> {
    match what {
        HookWhat::Post { call, output: Some(output), error: None, duration_ms, .. } => HookWhat::Post {
            call,
            outcome: shape::outcome_of_result(Some(output.as_str())),
            output: Some(output),
            error: None,
            duration_ms,
        },
        other => other,
    }
}
