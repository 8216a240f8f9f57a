//! Arguments that a tool wants to see in headers (`x-mcp-header`, MCP 2026-07-28).
//!
//! A tool's input schema may mark properties of type string, integer or boolean; their values then also travel as `Mcp-Param-{Name}`. The relay is
//! the HTTP client, so it reads the marks from each `tools/list` answer that passes and the values from each call. The list itself is
//! handed on unchanged: a tool whose marks are invalid stays in it and is called without them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use super::protocol_headers;

/// The longest `tools/list` answer that is read for marks: 4 MiB.
pub(crate) const MAX_LIST: usize = 4 * 1024 * 1024;
/// How deep marked properties may lie inside objects.
const MAX_DEPTH: usize = 16;
/// The largest integer that every JSON reader represents exactly.
const SAFE_INTEGER: i64 = (1 << 53) - 1;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    header: HeaderName,
    path: Vec<String>,
}

/// The marks of the upstream's tools.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    tools: Mutex<HashMap<String, Vec<Mark>>>,
}

impl Mirror {
    /// Reads the marks of a `tools/list` answer. One page replaces what was known of its own tools only.
    pub(crate) fn learn(&self, answer: &[u8]) {
        let mentioned = memchr::memmem::find(answer, b"x-mcp-header").is_some();
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if (!mentioned && known.is_empty()) || answer.len() > MAX_LIST {
            return;
        }
        let Ok(answer) = serde_json::from_slice::<Value>(answer) else { return };
        let Some(tools) = answer.pointer("/result/tools").and_then(Value::as_array) else { return };
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let mut marks = Vec::new();
            let valid = tool
                .get("inputSchema")
                .is_none_or(|schema| collect(schema, &mut Vec::new(), &mut marks).is_ok());
            if valid && !marks.is_empty() {
                known.insert(name.to_owned(), marks);
            } else {
                known.remove(name);
            }
        }
    }

    /// Whether calls of this tool have headers of their own.
    pub(crate) fn concerns(&self, tool: &str) -> bool {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).contains_key(tool)
    }

    /// Adds the headers of one call.
    pub(crate) fn add(&self, tool: &str, call: &[u8], headers: &mut HeaderMap) {
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(marks) = known.get(tool) else { return };
        let Ok(call) = serde_json::from_slice::<Value>(call) else { return };
        let Some(arguments) = call.pointer("/params/arguments") else { return };
        for mark in marks {
            let value = mark.path.iter().try_fold(arguments, |value, key| value.get(key));
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(bool)) => bool.to_string(),
                Some(Value::Number(number)) => match number.as_i64() {
                    Some(number) if number.abs() <= SAFE_INTEGER => number.to_string(),
                    _ => continue,
                },
                _ => continue,
            };
            headers.insert(mark.header.clone(), protocol_headers::encode(&text));
        }
    }
}

struct Invalid;

fn collect(schema: &Value, path: &mut Vec<String>, marks: &mut Vec<Mark>) -> Result<(), Invalid> {
    if path.len() >= MAX_DEPTH {
        return Ok(());
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(mark) = property.get("x-mcp-header") {
            let kind = property.get("type").and_then(Value::as_str);
            let header = mark
                .as_str()
                .filter(|mark| !mark.is_empty())
                .and_then(|mark| HeaderName::try_from(format!("mcp-param-{mark}")).ok())
                .ok_or(Invalid)?;
            let twice = marks.iter().any(|other| other.header == header);
            if twice || !matches!(kind, Some("string" | "integer" | "boolean")) {
                return Err(Invalid);
            }
            marks.push(Mark { header, path: path.clone() });
        }
        collect(property, path, marks)?;
        path.pop();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"id":1,"result":{"tools":[
        {"name":"sql","inputSchema":{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "dry":{"type":"boolean","x-mcp-header":"Dry"},
            "options":{"type":"object","properties":{"limit":{"type":"integer","x-mcp-header":"Limit"}}},
            "plain":{"type":"string"}}}},
        {"name":"bad","inputSchema":{"properties":{"n":{"type":"number","x-mcp-header":"N"}}}},
        {"name":"twice","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}},
        {"name":"odd","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}}]}}"#;

    fn headers(mirror: &Mirror, tool: &str, arguments: &str) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        mirror.add(tool, format!(r#"{{"params":{{"arguments":{arguments}}}}}"#).as_bytes(), &mut headers);
        let mut all: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn marked_arguments_become_headers() {
        let mirror = Mirror::default();
        mirror.learn(LIST.as_bytes());
        assert!(mirror.concerns("sql"));
        for tool in ["bad", "twice", "odd"] {
            assert!(!mirror.concerns(tool), "{tool}");
        }
        let found =
            headers(&mirror, "sql", r#"{"region":"\u00fc","dry":true,"options":{"limit":5},"plain":"x"}"#);
        let expected =
            [("mcp-param-dry", "true"), ("mcp-param-limit", "5"), ("mcp-param-region", "=?base64?w7w=?=")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
        assert!(headers(&mirror, "sql", r#"{"region":null,"options":{"limit":1.5}}"#).is_empty());
    }

    #[test]
    fn a_later_list_replaces_marks() {
        let mirror = Mirror::default();
        mirror.learn(LIST.as_bytes());
        mirror.learn(br#"{"result":{"tools":[{"name":"sql","inputSchema":{}}]}}"#);
        assert!(!mirror.concerns("sql"));
    }
}
