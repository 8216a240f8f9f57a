//! Arguments and results as people read them: folded to one line, or whole.

use crate::out::{safe, size};
use serde_json::Value;
use std::borrow::Cow;

/// Bytes of a payload that are looked at for one line.
const LOOKED: usize = 16 * 1024;

/// A payload as one line without an end of its own: the caller cuts it to the width that there is.
pub(crate) fn folded(text: &str) -> String {
    let whole = serde_json::from_str::<Value>(text);
    let line = match &whole {
        Ok(value) => result(value).unwrap_or_else(|| value.to_string()),
        Err(_) => text.to_owned(),
    };
    let head = head(&line, LOOKED);
    safe::line(&head.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// A payload whole: JSON with line breaks.
pub(crate) fn whole(text: &str) -> String {
    let pretty =
        serde_json::from_str::<Value>(text).ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    safe::block(pretty.as_deref().unwrap_or(text))
}

/// What a result of MCP says, without the wrapping; None: it is none.
fn result(value: &Value) -> Option<String> {
    if let Some(message) =
        value.get("message").and_then(Value::as_str).filter(|_| value.get("code").is_some())
    {
        return Some(format!("{message} ({})", value["code"]));
    }
    let content = value.get("content")?.as_array()?;
    let parts: Vec<Cow<'_, str>> = content.iter().map(part).collect();
    if parts.is_empty() {
        return Some(value.get("structuredContent").map_or_else(|| "(nothing)".into(), Value::to_string));
    }
    Some(parts.join(" "))
}

/// A text, or what is kept of one that was cut (docs/redaction.md): its head, at whatever depth that stands.
fn kept(mut value: &Value) -> &str {
    // A value that was cut on its way and again when it was kept has two marks.
    for _ in 0..3 {
        match value {
            Value::String(text) => return text,
            Value::Object(mark) if mark.get("truncated").is_some() => value = &mark["head"],
            _ => break,
        }
    }
    ""
}

fn part(item: &Value) -> Cow<'_, str> {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    match text("type") {
        "text" if item["text"].is_object() => Cow::Owned(format!("{}…", kept(&item["text"]))),
        "text" => Cow::Borrowed(text("text")),
        kind @ ("image" | "audio") => {
            let cut = item["data"]["originalBytes"].as_u64();
            let bytes = cut.or(u64::try_from(text("data").len()).ok()).unwrap_or_default() / 4 * 3;
            Cow::Owned(format!("[{kind} {} {}]", text("mimeType"), size::bytes(bytes)))
        }
        "resource_link" => Cow::Owned(format!("[link {}]", text("uri"))),
        "resource" => {
            let uri = item["resource"]["uri"].as_str().unwrap_or_default();
            Cow::Owned(format!("[resource {uri}]"))
        }
        _ => Cow::Owned(item.to_string()),
    }
}

/// The first bytes of a text, whole letters.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_is_folded_to_what_it_says() {
        for (value, shown) in [
            (json!({"message": "hello"}), r#"{"message":"hello"}"#),
            (
                json!({"content": [{"type": "text", "text": "a\n  b\u{1b}[1m"}, {"type": "image", "mimeType": "image/png", "data": "AAAA".repeat(1024)}]}),
                "a b␛[1m [image image/png 3.0 KiB]",
            ),
            (json!({"content": [], "structuredContent": {"x": 1}}), r#"{"x":1}"#),
            (json!({"content": []}), "(nothing)"),
            (
                json!({"content": [{"type": "text", "text": {"truncated": true, "originalBytes": 70_000, "head": "begins"}}]}),
                "begins…",
            ),
            (
                json!({"content": [{"type": "text", "text": {"truncated": true, "originalBytes": 7, "head": {"truncated": true, "head": "twice"}}},
                    {"type": "image", "mimeType": "image/png", "data": {"truncated": true, "originalBytes": 4096}}]}),
                "twice… [image image/png 3.0 KiB]",
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "file:///x"}, {"type": "resource", "resource": {"uri": "r:1"}}]}),
                "[link file:///x] [resource r:1]",
            ),
            (json!({"code": -32602, "message": "wrong"}), "wrong (-32602)"),
            (json!({"content": "odd"}), r#"{"content":"odd"}"#),
            (json!([1, {"type": "x"}]), r#"[1,{"type":"x"}]"#),
        ] {
            assert_eq!(folded(&value.to_string()), shown);
        }
        assert_eq!(folded("not { json \u{7}"), "not { json ␇");
        assert!(folded(&"ü".repeat(20_000)).len() <= LOOKED);
    }

    #[test]
    fn whole_is_json_with_line_breaks() {
        assert_eq!(whole(r#"{"a":1.50}"#), "{\n  \"a\": 1.5\n}");
        assert_eq!(whole("x\u{1b}"), "x␛");
    }
}
