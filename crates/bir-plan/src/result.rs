//! What a call gave, from what was recorded of it: one rule for whoever calculates, replays, and lets a body of logic
//! read it.
//!
//! Structured content is a value. So is a single text that is a JSON object or list. Everything else is text. A value
//! is never a bare text.

use crate::trace::Output;
use serde_json::Value;

/// From the recorded result, JSON; `truncated`: something of it was cut off. A result that says of itself that it is an
/// error is
/// [`Output::Failed`].
#[must_use]
pub fn output(recorded: &str, truncated: bool) -> Output {
    match serde_json::from_str::<Value>(recorded) {
        Ok(value) => of_value(value, truncated),
        Err(_) => Output::Text { text: recorded.to_owned(), truncated },
    }
}

/// From a result that a call just gave.
#[must_use]
pub fn of_value(mut result: Value, truncated: bool) -> Output {
    match &mut result {
        Value::Object(members) => {
            if members.get("isError") == Some(&Value::Bool(true)) {
                return Output::Failed;
            }
            let Some(content) = members.get("content").and_then(Value::as_array).filter(|c| are_blocks(c))
            else {
                return Output::Value { value: result, truncated };
            };
            let texts = texts(content);
            match members.remove("structuredContent") {
                Some(value @ (Value::Object(_) | Value::Array(_))) => Output::Value { value, truncated },
                _ => of_texts(texts, truncated),
            }
        }
        Value::Array(content) if are_blocks(content) && !content.is_empty() => {
            of_texts(texts(content), truncated)
        }
        Value::Array(_) => Output::Value { value: result, truncated },
        Value::String(text) => of_texts(vec![(std::mem::take(text), false)], truncated),
        Value::Null => Output::Text { text: String::new(), truncated },
        scalar => Output::Text { text: scalar.to_string(), truncated },
    }
}

/// How a body of logic is given it: a text as a text.
#[must_use]
pub fn as_value(output: &Output) -> Option<Value> {
    match output {
        Output::Value { value, .. } => Some(value.clone()),
        Output::Text { text, .. } => Some(text.clone().into()),
        Output::Failed => None,
    }
}

/// Content of the Model Context Protocol: each has a type that the protocol knows.
fn are_blocks(content: &[Value]) -> bool {
    const TYPES: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];
    content.iter().all(|block| block.get("type").and_then(Value::as_str).is_some_and(|t| TYPES.contains(&t)))
}

/// The texts of content, and whether each was cut off.
fn texts(content: &[Value]) -> Vec<(String, bool)> {
    let text = |block: &Value| match block.get("text")? {
        Value::String(text) => Some((text.clone(), false)),
        mark => Some((head(mark).to_owned(), true)),
    };
    content.iter().filter_map(text).collect()
}

/// What a mark of truncation has kept; a value that was cut twice has two marks.
fn head(mut value: &Value) -> &str {
    for _ in 0..3 {
        match value {
            Value::String(text) => return text,
            other => match other.get("head") {
                Some(head) => value = head,
                None => break,
            },
        }
    }
    ""
}

fn of_texts(texts: Vec<(String, bool)>, truncated: bool) -> Output {
    let truncated = truncated || texts.iter().any(|(_, cut)| *cut);
    if let [(text, false)] = texts.as_slice()
        && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
    {
        return Output::Value { value, truncated };
    }
    let texts: Vec<String> = texts.into_iter().map(|(text, _)| text).collect();
    Output::Text { text: texts.join("\n"), truncated }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_is_a_value_or_text_or_a_failure() {
        let value = |value: Value| Output::Value { value, truncated: false };
        let text = |text: &str| Output::Text { text: text.into(), truncated: false };
        let block = |text: &str| json!({"type": "text", "text": text});
        for (recorded, expected) in [
            (json!({"content": [block("x")], "structuredContent": {"a": 1}}), value(json!({"a": 1}))),
            (json!({"content": [block("{\"a\": 1}")]}), value(json!({"a": 1}))),
            (json!([block("[1]")]), value(json!([1]))),
            (json!("[1]"), value(json!([1]))),
            (json!({"content": [block("42")]}), text("42")),
            (json!({"content": [block("{\"a\": 1}"), block("{}")]}), text("{\"a\": 1}\n{}")),
            (json!({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}), text("")),
            (json!({"content": [], "structuredContent": null}), text("")),
            (json!({"content": [block("x")], "isError": true}), Output::Failed),
            (json!({"content": "a page", "rows": 3}), value(json!({"content": "a page", "rows": 3}))),
            (json!({"stdout": "x"}), value(json!({"stdout": "x"}))),
            (json!([]), value(json!([]))),
            (json!([{"type": "hotel"}]), value(json!([{"type": "hotel"}]))),
            (json!(null), text("")),
            (json!(7), text("7")),
        ] {
            assert_eq!(output(&recorded.to_string(), false), expected, "{recorded}");
        }
        assert_eq!(output("no { json", false), text("no { json"));
    }

    #[test]
    fn what_was_cut_says_so() {
        let mark = json!({"truncated": true, "originalBytes": 9000, "head": "{\"a\": 1}"});
        let cut = output(&json!({"content": [{"type": "text", "text": mark}]}).to_string(), false);
        assert_eq!(cut, Output::Text { text: "{\"a\": 1}".into(), truncated: true });
        let cut = output("{\"a\": 1}", true);
        assert_eq!(cut, Output::Value { value: json!({"a": 1}), truncated: true });
    }
}
