//! The content blocks of an MCP result, read for people: text as text instead of one long line with escapes.

use serde_json::Value;

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// Text, decoded.
    Text(String),
    /// Something that is not shown but named: kind, media type or address, and the length of its data in bytes.
    Named {
        /// `image`, `audio`, `resource_link` …
        kind: String,
        /// Media type or address.
        what: String,
        /// Bytes of its base64 text.
        size: Option<u64>,
    },
}

/// The blocks of a result, where that is what it holds.
pub(crate) fn blocks(result: &str) -> Option<Vec<Block>> {
    let value: Value = serde_json::from_str(result).ok()?;
    let content = value.get("content")?.as_array()?;
    if content.is_empty() {
        return None;
    }
    content.iter().map(block).collect()
}

fn block(value: &Value) -> Option<Block> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text(value, "type")?;
    if kind == "text" {
        return text(value, "text").map(Block::Text);
    }
    let holder = value.get("resource").unwrap_or(value);
    if let Some(inner) = text(holder, "text") {
        return Some(Block::Text(inner));
    }
    let what = text(holder, "uri").or_else(|| text(holder, "mimeType"))?;
    let data = holder.get("data").or_else(|| holder.get("blob"));
    let size = data.and_then(|data| match data {
        Value::String(data) => Some(data.len() as u64),
        cut => cut.get("originalBytes").and_then(Value::as_u64),
    });
    Some(Block::Named { kind, what, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_with_content_have_blocks() {
        let result = r#"{"content":[{"type":"text","text":"a\nb"},{"type":"image","mimeType":"image/png","data":"AAAA"},
            {"type":"resource","resource":{"uri":"demo://1","text":"inner"}},{"type":"resource_link","uri":"file:///x"},
            {"type":"image","mimeType":"image/png","data":{"truncated":true,"originalBytes":99}}],"isError":false}"#;
        let named =
            |kind: &str, what: &str, size| Block::Named { kind: kind.into(), what: what.into(), size };
        assert_eq!(
            blocks(result).unwrap(),
            [
                Block::Text("a\nb".into()),
                named("image", "image/png", Some(4)),
                Block::Text("inner".into()),
                named("resource_link", "file:///x", None),
                named("image", "image/png", Some(99)),
            ]
        );
    }

    #[test]
    fn anything_else_has_none() {
        for result in [
            "",
            "1",
            "{}",
            r#"{"content":[]}"#,
            r#"{"content":"x"}"#,
            r#"{"content":[{"type":"new"}]}"#,
            r#"{"content":[1]}"#,
        ] {
            assert_eq!(blocks(result), None, "{result}");
        }
    }
}
