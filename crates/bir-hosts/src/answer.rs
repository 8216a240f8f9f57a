//! What a host reads on our stdout. Nothing is a good answer for all of them; Gemini CLI takes JSON or nothing.

use crate::{CALL_ID_ARGUMENT, Host, Payload, copilot};
use bir_model::control::Inject;
use serde_json::Value;

/// The member of `_meta` in which Copilot CLI sends the id of a call for us.
pub const CALL_ID_META: &str = "bir/callId";

/// What is to be printed after an event, if anything. `inject` is what the control server asks for.
///
/// - Copilot CLI, before a call over MCP is sent: the request's `_meta` with the call's id in it. What the host would have sent
///   there stays, byte for byte.
/// - Claude Code, before a call, where an operator asked for it: the arguments as they came, with our id behind them, and
///   the permission decision that this costs.
///
/// Other hosts get no id: Codex sends its own, and of the rest none was seen to take one.
#[must_use]
pub fn answer(host: Host, named: &str, payload: &Payload<'_>, inject: Option<&Inject>) -> Option<String> {
    match host {
        Host::CopilotCli if named == copilot::BEFORE_MCP => {
            let id = payload.text(&["toolCallId", "tool_call_id"])?;
            let meta = with_member(payload.raw(&["_meta"]).unwrap_or("{}"), CALL_ID_META, &id)?;
            Some(format!(r#"{{"metaToUse":{meta}}}"#))
        }
        Host::ClaudeCode if named == "PreToolUse" => {
            let inject = inject?;
            let decision = match inject.decision.as_str() {
                known @ ("allow" | "ask") => known,
                _ => return None,
            };
            let input = with_member(payload.raw(&["tool_input"])?, CALL_ID_ARGUMENT, &inject.call_id)?;
            Some(format!(
                r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{decision}","updatedInput":{input}}}}}"#
            ))
        }
        _ => None,
    }
}

/// An object with one more string at its end, spliced into its bytes. None: it is no object.
fn with_member(object: &str, name: &str, value: &str) -> Option<String> {
    let members = Payload::read(object)?.members().count();
    let open = object.trim_end().strip_suffix('}')?;
    let comma = if members == 0 { "" } else { "," };
    Some(format!("{open}{comma}{}:{}}}", Value::from(name), Value::from(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_put_behind_what_came() {
        let inject = |decision: &str| Inject { call_id: "c\"1".into(), decision: decision.into() };
        let of = |payload: &str, decision: &str| {
            answer(Host::ClaudeCode, "PreToolUse", &Payload::read(payload).unwrap(), Some(&inject(decision)))
        };
        assert_eq!(
            of(r#"{"tool_input":{ "b":1.0, "a":"\u0041" } }"#, "ask").unwrap(),
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","updatedInput":{ "b":1.0, "a":"\u0041" ,"__bir_call_id__":"c\"1"}}}"#
        );
        assert!(
            of(r#"{"tool_input":{ } }"#, "allow").unwrap().contains(r#""updatedInput":{ "__bir_call_id__":"#)
        );
        for (payload, decision) in
            [("{}", "allow"), (r#"{"tool_input":[]}"#, "allow"), (r#"{"tool_input":{}}"#, "deny")]
        {
            assert_eq!(of(payload, decision), None, "{payload} {decision}");
        }
        let payload = Payload::read(r#"{"tool_input":{}}"#).unwrap();
        assert_eq!(answer(Host::ClaudeCode, "PreToolUse", &payload, None), None);
        assert_eq!(answer(Host::GeminiCli, "BeforeTool", &payload, Some(&inject("allow"))), None);
    }

    #[test]
    fn copilot_is_told_which_meta_to_send_and_keeps_its_own() {
        let of = |payload: &str| {
            answer(Host::CopilotCli, "preMcpToolCall", &Payload::read(payload).unwrap(), None)
        };
        assert_eq!(of(r#"{"toolCallId":"c1"}"#).unwrap(), r#"{"metaToUse":{"bir/callId":"c1"}}"#);
        assert_eq!(
            of(r#"{"toolCallId":"c1","_meta":{"progressToken": 1}}"#).unwrap(),
            r#"{"metaToUse":{"progressToken": 1,"bir/callId":"c1"}}"#
        );
        assert_eq!(of("{}"), None);
    }
}
