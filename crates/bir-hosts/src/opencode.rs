//! opencode, facts/other-hosts.md §§0.1, 4. What it tells comes through a plugin of ours (`assets/opencode-plugin.js`), in Claude Code's
//! words. Its requests carry no id of a call, so calls over MCP are joined by what they are.

use crate::shape::{self, Context, RawEvent, RawPayload};
use crate::{Host, Payload, claude_code, codex, refusal};
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
    let what = refused(what);
    let event = shape::event(Host::OpenCode, Join::Fingerprint, payload, context, what)?;
    Some(RawEvent {
        // It may tell one event twice, when opencode ends.
        id: payload.text(&["event_id"]).unwrap_or(event.id),
        // It starts one process after the other, so that ours may be late.
        at: payload.number(&["at"]).unwrap_or(event.at),
        ..event
    })
}

/// A call that was refused is told as one that failed, with a sentence of the host's.
fn refused(what: HookWhat<RawPayload<'_>>) -> HookWhat<RawPayload<'_>> {
    let HookWhat::Post { call, outcome, output, error: Some(error), duration_ms } = what else { return what };
    match shape::shown_text(error.as_str()).as_deref().and_then(refusal::of_opencode) {
        Some(Outcome::Denied) => HookWhat::PermissionDenied { call, reason: Some(error) },
        said => {
            let outcome = said.unwrap_or(outcome);
            HookWhat::Post { call, outcome, output, error: Some(error), duration_ms }
        }
    }
}

/// A command's status.
fn status<'a>(payload: &Payload<'a>) -> Option<&'a str> {
    payload.object(&["tool_response"])?.object(&["metadata"])?.raw(&["exit"])
}
