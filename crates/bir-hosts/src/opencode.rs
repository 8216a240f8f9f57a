//! opencode, facts/other-hosts.md §§0.1, 4. What it tells comes through a plugin of ours (`assets/opencode-plugin.js`), in Claude Code's
//! words. Its requests carry no id of a call, so calls over MCP are joined by what they are.

use crate::shape::{self, Context, RawEvent};
use crate::{Host, Payload, claude_code, codex};
use bir_model::Outcome;
use bir_model::control::{HookWhat, Join};

/// An event of opencode.
#[must_use]
pub fn event<'a>(named: &str, payload: &Payload<'a>, context: &Context) -> Option<RawEvent<'a>> {
    let mut what = codex::with_result(claude_code::what(named, payload)?);
    if let HookWhat::Post { call, outcome: outcome @ Outcome::Ok, .. } = &mut what
        && call.tool_name == "bash"
        && status(payload).is_some_and(|status| status != "0")
    {
        *outcome = Outcome::ToolError;
    }
    let event = shape::event(Host::OpenCode, Join::Fingerprint, payload, context, what)?;
    Some(RawEvent {
        // It may tell one event twice, when opencode ends.
        id: payload.text(&["event_id"]).unwrap_or(event.id),
        // It starts one process after the other, so that ours may be late.
        at: payload.number(&["at"]).unwrap_or(event.at),
        ..event
    })
}

/// A command's status.
fn status<'a>(payload: &Payload<'a>) -> Option<&'a str> {
    payload.object(&["tool_response"])?.object(&["metadata"])?.raw(&["exit"])
}
