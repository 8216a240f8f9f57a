//! What the payloads of several hosts have in common: most are shaped like Claude Code's.

use crate::payload::text_of;
use crate::{CALL_ID_ARGUMENT, Host, Payload};
use bir_model::Outcome;
use bir_model::control::{HookCall, HookEvent, HookWhat, Join};
use bir_model::record::HostInfo;
use std::borrow::Cow;
use std::path::PathBuf;

/// A payload as the host told it: JSON, or the text of a prompt or an answer. It is not redacted and prints nothing of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct RawPayload<'a>(Cow<'a, str>);

impl RawPayload<'_> {
    /// What the host told.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for RawPayload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawPayload({} bytes)", self.0.len())
    }
}

/// An event before redaction.
pub type RawEvent<'a> = HookEvent<RawPayload<'a>>;

/// What the hook's process knows, whatever the payload says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The event's id.
    pub id: String,
    /// The host for which the hook was installed.
    pub via: Host,
    /// Where the process works, for a payload that does not say where the session does.
    pub cwd: PathBuf,
    /// The host's process and those above it, nearest first.
    pub host_pids: Vec<u32>,
    /// When the hook began, ms since the Unix epoch.
    pub at: u64,
}

/// Where a payload says that the session works; absolute.
#[must_use]
pub fn cwd(payload: &Payload<'_>) -> Option<PathBuf> {
    payload.text(&["cwd", "workingDirectory"]).map(PathBuf::from).filter(|cwd| cwd.is_absolute())
}

/// An event of a session.
pub(crate) fn event<'a>(
    host: Host,
    join: Join,
    payload: &Payload<'_>,
    context: &Context,
    what: HookWhat<RawPayload<'a>>,
) -> Option<RawEvent<'a>> {
    let path = |names: &[&str]| payload.text(names).map(PathBuf::from);
    Some(HookEvent {
        id: context.id.clone(),
        host: HostInfo { app: host.as_str().into(), version: None },
        via: context.via.as_str().into(),
        session_id: payload.text(&["session_id", "sessionId"])?,
        turn_id: payload.text(&["prompt_id", "turn_id"]),
        agent_id: payload.text(&["agent_id", "agentId"]),
        cwd: cwd(payload).unwrap_or_else(|| context.cwd.clone()),
        transcript: path(&["transcript_path", "transcriptPath"]),
        host_pids: context.host_pids.clone(),
        join,
        permission_mode: payload.text(&["permission_mode"]),
        at: context.at,
        what,
    })
}

/// The JSON of a member.
pub(crate) fn json<'a>(payload: &Payload<'a>, names: &[&str]) -> Option<RawPayload<'a>> {
    payload.raw(names).map(|json| RawPayload(json.into()))
}

/// The text of a member.
pub(crate) fn text<'a>(payload: &Payload<'_>, names: &[&str]) -> Option<RawPayload<'a>> {
    payload.text(names).map(|text| RawPayload(text.into()))
}

/// A text that was read already.
pub(crate) fn text_payload<'a>(text: String) -> RawPayload<'a> {
    RawPayload(text.into())
}

/// A member that has to be there for the event to mean anything, but may be of any kind.
pub(crate) fn word(payload: &Payload<'_>, names: &[&str]) -> String {
    payload.text(names).unwrap_or_else(|| "unknown".into())
}

/// The call of a payload. None: it names no tool.
pub(crate) fn call<'a>(payload: &Payload<'a>) -> Option<HookCall<RawPayload<'a>>> {
    let server = payload.object(&["mcp_server"]).and_then(|server| server.text(&["name"]));
    Some(HookCall {
        call_id: payload.text(&["tool_use_id", "tool_call_id", "toolCallId"]),
        tool_name: payload.text(&["tool_name", "toolName"])?,
        server,
        tool: None,
        input: payload.raw(&["tool_input", "toolArgs"]).map(|json| RawPayload(without_our_id(json))),
        fingerprint: None,
    })
}

/// How a call ended whose result may be one of MCP.
pub(crate) fn outcome_of_result(result: Option<&str>) -> Outcome {
    let says_error = result.and_then(Payload::read).is_some_and(|result| result.flag("isError"));
    if says_error { Outcome::ToolError } else { Outcome::Ok }
}

/// The text that a JSON value shows: a string's own, else that of the first text in a list of content.
pub(crate) fn shown_text(json: &str) -> Option<String> {
    text_of(json).or_else(|| {
        let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(json).ok()?;
        items.first().and_then(|item| Payload::read(item.get())).and_then(|item| item.text(&["text"]))
    })
}

/// Arguments without the id that we put there; the rest of them as it came.
fn without_our_id(json: &str) -> Cow<'_, str> {
    if !json.contains(CALL_ID_ARGUMENT) {
        return json.into();
    }
    let Some(arguments) = Payload::read(json) else { return json.into() };
    let kept: Vec<_> = arguments
        .members()
        .filter(|(name, _)| *name != CALL_ID_ARGUMENT)
        .map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name)))
        .collect();
    format!("{{{}}}", kept.join(",")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_id_goes_and_the_rest_stays() {
        for (json, left) in [
            (r#"{"a": 1.0}"#, r#"{"a": 1.0}"#),
            (r#"{"a": 1.0, "__bir_call_id__":"c"}"#, r#"{"a":1.0}"#),
            (r#"{"__bir_call_id__":"c"}"#, "{}"),
            (r#"{"a":"__bir_call_id__"}"#, r#"{"a":"__bir_call_id__"}"#),
            (r#"["__bir_call_id__"]"#, r#"["__bir_call_id__"]"#),
        ] {
            assert_eq!(without_our_id(json), left);
        }
    }

    #[test]
    fn what_is_shown_is_read_in_both_shapes() {
        assert_eq!(shown_text(r#""a""#).as_deref(), Some("a"));
        assert_eq!(shown_text(r#"[{"type":"text","text":"b"}]"#).as_deref(), Some("b"));
        assert_eq!(shown_text("{}"), None);
    }
}
