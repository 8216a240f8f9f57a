//! Rows of Claude Code: what of them is looked at, and what a tool's result says of its call.

use bir_model::Outcome;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// One row. Everything is optional: a row that has other members is another kind of row.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// On rows of the user alone. **A fork's copies carry the id of the forked turn**, not that of their own.
    pub(super) prompt_id: Option<String>,
    pub(super) message: Option<Message>,
    pub(super) timestamp: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) is_meta: Option<bool>,
    pub(super) is_compact_summary: Option<bool>,
    origin: Option<Origin>,
    tool_denial_kind: Option<String>,
    permission_decision: Option<Decision>,
    tool_use_result: Option<ToolUseResult>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) content: Option<Content>,
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Debug, Deserialize)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<String>,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) tool_use_id: Option<String>,
    pub(super) content: Option<Value>,
    pub(super) is_error: Option<bool>,
}

/// The usage of a whole response: every row of it repeats the same.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Usage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Origin {
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Decision {
    decision: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ToolUseResult {
    Of { interrupted: Option<bool> },
    Other(IgnoredAny),
}

/// What the model is called in rows that the host made up: errors of the interface, interruptions.
const NO_MODEL: &str = "<synthetic>";

impl Row {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// A prompt of the user, which begins a turn. What the host says in the user's place (a reminder, a summary, the end of a
    /// task in the background) begins none. A prompt that came while the model worked is no such row at all: it is an attachment.
    pub(super) fn begins_turn(&self) -> bool {
        let Some(Content::Text(text)) = self.message.as_ref().and_then(|m| m.content.as_ref()) else {
            return false;
        };
        let notification = self.origin.as_ref().and_then(|o| o.kind.as_deref()) == Some("task-notification")
            || text.starts_with("<task-notification>");
        // `/compact` and what it printed; a command of the user's own, which is a prompt, has its message first.
        let command = text.starts_with("<command-name>") || text.starts_with("<local-command-");
        self.kind == "user"
            && !notification
            && !command
            && self.is_meta != Some(true)
            && self.is_compact_summary != Some(true)
    }

    /// The message of the model, where it is one.
    pub(super) fn of_model(&self) -> Option<&Message> {
        let message = self.message.as_ref().filter(|_| self.kind == "assistant")?;
        (message.model.as_deref() != Some(NO_MODEL)).then_some(message)
    }

    pub(super) fn blocks(&self) -> &[Block] {
        match self.message.as_ref().and_then(|m| m.content.as_ref()) {
            Some(Content::Blocks(blocks)) => blocks,
            _ => &[],
        }
    }

    /// The call whose result this row is, and how it ended.
    pub(super) fn result(&self) -> Option<(&str, Outcome)> {
        let block = self.blocks().iter().find(|block| block.kind == "tool_result")?;
        Some((block.tool_use_id.as_deref()?, self.outcome(block)))
    }

    /// Observed with 2.1.332: a refusal has `permissionDecision.decision` `reject`, whoever refused; an interrupted call has
    /// `toolDenialKind` `user-rejected` and no decision, whether it had begun or was waiting behind another one.
    fn outcome(&self, block: &Block) -> Outcome {
        let decision = self.permission_decision.as_ref().and_then(|d| d.decision.as_deref());
        if decision == Some("reject") {
            return Outcome::Denied;
        }
        if matches!(self.tool_use_result, Some(ToolUseResult::Of { interrupted: Some(true) })) {
            return Outcome::Cancelled;
        }
        if block.is_error != Some(true) {
            return Outcome::Ok;
        }
        let text = block.content.as_ref().map(text_of).unwrap_or_default();
        if text.contains("stopped while running, not refused") {
            Outcome::Cancelled
        } else if self.tool_denial_kind.is_some() {
            // With words of the user's own it was refused, and the turn goes on.
            if text.starts_with("The user doesn't want to proceed") && !text.contains("the user said") {
                Outcome::Cancelled
            } else {
                Outcome::Denied
            }
        } else if is_refusal(&text) {
            Outcome::Denied
        } else if is_timeout(&text) {
            Outcome::Timeout
        } else {
            Outcome::ToolError
        }
    }
}

/// The sentences of a refusal, for versions that say no more than that.
fn is_refusal(text: &str) -> bool {
    text.starts_with("The user doesn't want to proceed")
        || text.starts_with("Claude requested permissions to ")
        || (text.starts_with("Permission to use ") && text.contains("has been denied"))
        || (text.starts_with("PreToolUse:") && text.contains(" hook error: "))
}

/// A server that did not answer in time, or a command that was ended for its length.
fn is_timeout(text: &str) -> bool {
    (text.starts_with("MCP server ") && text.contains(" timed out after "))
        || text.lines().take(2).any(|line| line.starts_with("Command timed out after "))
}

/// The text of a result: a string, or the texts of a list of blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(more: &str, is_error: bool, text: &str) -> Option<Outcome> {
        let text = Value::from(text);
        let line = format!(
            r#"{{"type":"user"{more},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":{text}}}]}}}}"#
        );
        Row::parse(line.as_bytes()).and_then(|row| row.result().map(|(_, outcome)| outcome))
    }

    #[test]
    fn what_a_result_says_of_its_call() {
        let rejected = r#","toolDenialKind":"user-rejected","permissionDecision":{"decision":"reject","source":"config"}"#;
        let stopped = r#","toolDenialKind":"user-rejected""#;
        let wanted = "The user doesn't want to proceed with this tool use. The tool use was rejected";
        let running = format!(
            "{wanted}. Correction to the text above: this call was stopped while running, not refused before it ran."
        );
        let answered = format!("{wanted}. To tell you how to proceed, the user said:\nno");
        let table: [(&str, bool, &str, Outcome); 16] = [
            ("", false, "1", Outcome::Ok),
            (r#","toolUseResult":{"stdout":"","interrupted":false}"#, false, "1", Outcome::Ok),
            (r#","toolUseResult":{"stdout":"","interrupted":true}"#, false, "1", Outcome::Cancelled),
            (r#","toolUseResult":[{"type":"text"}]"#, false, "1", Outcome::Ok),
            ("", true, "Exit code 3", Outcome::ToolError),
            (
                "",
                true,
                "<tool_use_error>Error: No such tool available: X</tool_use_error>",
                Outcome::ToolError,
            ),
            ("", true, "MCP server \"s1\" tool \"slow\" timed out after 2s", Outcome::Timeout),
            ("", true, "Exit code 143\nCommand timed out after 1s", Outcome::Timeout),
            (rejected, true, "PreToolUse:Bash hook error: not here", Outcome::Denied),
            (rejected, true, wanted, Outcome::Denied),
            (stopped, true, &running, Outcome::Cancelled),
            (stopped, true, wanted, Outcome::Cancelled),
            (stopped, true, &answered, Outcome::Denied),
            ("", true, wanted, Outcome::Denied),
            (
                "",
                true,
                "Claude requested permissions to use mcp__s1__echo, but you haven't granted it yet.",
                Outcome::Denied,
            ),
            ("", true, "Permission to use Bash with command rm x has been denied.", Outcome::Denied),
        ];
        for (more, is_error, text, expected) in table {
            assert_eq!(outcome(more, is_error, text), Some(expected), "{more} {text}");
        }
        assert_eq!(
            outcome("", false, "a result may speak of: Command timed out after 1s"),
            Some(Outcome::Ok)
        );
    }

    #[test]
    fn who_begins_a_turn() {
        let row = |text: &str| Row::parse(text.as_bytes()).is_some_and(|row| row.begins_turn());
        assert!(row(r#"{"type":"user","message":{"content":"go"}}"#));
        for text in [
            r#"{"type":"user","isMeta":true,"message":{"content":"<system-reminder>"}}"#,
            r#"{"type":"user","isCompactSummary":true,"message":{"content":"This session"}}"#,
            r#"{"type":"user","origin":{"kind":"task-notification"},"message":{"content":"<task-notification>"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#,
            r#"{"type":"user","message":{"content":"<command-name>/compact</command-name>"}}"#,
            r#"{"type":"assistant","message":{"content":"go"}}"#,
            r#"{"type":"user","message":7}"#,
            "7",
            "",
        ] {
            assert!(!row(text), "{text}");
        }
    }
}
