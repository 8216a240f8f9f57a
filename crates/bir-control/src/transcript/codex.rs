//! Rows of Codex: `{timestamp, type, payload}`, of which each has the turn that it belongs to (observed with 0.171.0).
//!
//! ```text
//!   turn_context{turn_id, model}                      before the turn's first request
//!   response_item reasoning | message | function_call what the model said, then
//!   token_usage_record{turn_id, response_id, usage}   once for each response
//!   event_msg item_completed{item}                    how a call ended
//!   response_item function_call_output                what the model is shown of it
//!   event_msg task_complete{last_agent_message}
//! ```

use super::facts::Turn;
use super::tail::{Memory, Said};
use super::usage::Tokens;
use bir_model::Outcome;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "type")]
    kind: String,
    payload: Payload,
}

/// Everything is optional: which members there are depends on the kind.
#[derive(Debug, Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: Option<String>,
    turn_id: Option<String>,
    root_turn_id: Option<String>,
    model: Option<String>,
    role: Option<String>,
    content: Option<Value>,
    summary: Option<Value>,
    call_id: Option<String>,
    output: Option<Value>,
    item: Option<Item>,
    last_agent_message: Option<String>,
    response_id: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    status: Option<String>,
    result: Option<Value>,
    error: Option<Value>,
}

/// Input includes what came from the cache and what went into it.
#[derive(Debug, Default, Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    cache_write_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl Row {
    fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The kind of the row and that of what it holds.
    fn kinds(&self) -> (&str, &str) {
        (&self.kind, self.payload.kind.as_deref().unwrap_or_default())
    }

    /// The call that this row shows to be over.
    fn ended(&self) -> Option<(&str, Outcome)> {
        match self.kinds() {
            ("event_msg", "item_completed") => {
                let item = self.payload.item.as_ref()?;
                Some((item.id.as_deref()?, item.outcome()?))
            }
            ("response_item", "function_call_output" | "custom_tool_call_output") => {
                let text = self.payload.output.as_ref()?.as_str().unwrap_or_default();
                let outcome =
                    if text.starts_with("unsupported call: ") { Outcome::ToolError } else { Outcome::Ok };
                Some((self.payload.call_id.as_deref()?, outcome))
            }
            _ => None,
        }
    }

    /// What a call's own item says counts more than that the model was shown something.
    fn is_certain(&self) -> bool {
        self.kind == "event_msg"
    }
}

impl Item {
    fn outcome(&self) -> Option<Outcome> {
        if !matches!(self.kind.as_deref(), Some("McpToolCall" | "CommandExecution" | "FileChange")) {
            return None;
        }
        let error = self.error.as_ref().and_then(|error| error.get("message")?.as_str());
        let is_error = self.result.as_ref().and_then(|result| result.get("isError")?.as_bool());
        Some(match self.status.as_deref()? {
            "completed" if is_error == Some(true) => Outcome::ToolError,
            "completed" => Outcome::Ok,
            "declined" => Outcome::Denied,
            "failed" => match error {
                Some(text) if text.contains("Mcp error: ") => Outcome::RpcError,
                Some(text) if text.contains("timed out") => Outcome::Timeout,
                _ => Outcome::ToolError,
            },
            _ => return None,
        })
    }
}

/// For a tail: what was said before a call, and how calls ended.
pub(super) fn follow(line: &[u8], said: &mut Said, memory: &mut Memory) {
    let Some(row) = Row::parse(line) else { return };
    if let Some((call, outcome)) = row.ended()
        && (row.is_certain() || !memory.has_ended(call))
    {
        memory.ended(call, outcome);
    }
    match row.kinds() {
        ("response_item", "reasoning") => {
            for texts in [&row.payload.summary, &row.payload.content] {
                each_text(texts.as_ref(), &mut |text| said.say(text));
            }
        }
        ("response_item", "message") if row.payload.role.as_deref() == Some("assistant") => {
            each_text(row.payload.content.as_ref(), &mut |text| said.say(text));
        }
        ("response_item", "function_call" | "custom_tool_call" | "local_shell_call") => {
            if let Some(id) = &row.payload.call_id {
                memory.call(id, said);
            }
        }
        // A response is over.
        ("token_usage_record", _) | ("response_item", "function_call_output" | "message") => said.of(None),
        _ => {}
    }
}

/// For the facts of a turn.
pub(super) fn count(line: &[u8], turn: &mut Turn<'_>, model: &mut Option<String>) {
    let Some(row) = Row::parse(line) else { return };
    if let Some((call, outcome)) = row.ended() {
        turn.ended(call, outcome, row.is_certain());
    }
    let payload = row.payload;
    let ours = [&payload.turn_id, &payload.root_turn_id].into_iter().flatten().any(|id| turn.is_ours(id));
    match (row.kind.as_str(), payload.kind.as_deref().unwrap_or_default()) {
        ("turn_context", _) if payload.model.is_some() => *model = payload.model,
        ("token_usage_record", _) if ours => {
            let (Some(id), Some(usage)) = (payload.response_id, payload.usage) else { return };
            let cached = usage.cached_input_tokens.saturating_add(usage.cache_write_input_tokens);
            let tokens = Tokens {
                input: usage.input_tokens.saturating_sub(cached),
                output: usage.output_tokens,
                cache_read: usage.cached_input_tokens,
                cache_creation: usage.cache_write_input_tokens,
            };
            turn.responses.count(id, model.clone().unwrap_or_else(|| "unknown".into()), tokens);
        }
        ("event_msg", "task_complete") if ours => turn.answer(payload.last_agent_message),
        _ => {}
    }
}

fn each_text(texts: Option<&Value>, say: &mut dyn FnMut(&str)) {
    let texts = texts.and_then(Value::as_array).into_iter().flatten();
    for text in texts.filter_map(|one| one.get("text")?.as_str()) {
        say(text);
    }
}
