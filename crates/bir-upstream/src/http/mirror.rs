//! Arguments that a tool wants to see in headers (`x-mcp-header`, MCP 2026-07-28).
//!
//! A tool's input schema may mark properties of type string, integer or boolean; their values then also
//! travel as `Mcp-Param-{Name}`. The relay is the HTTP client, so it reads the marks from each `tools/list`
//! answer that passes and the values from each call. The list itself is handed on unchanged: a tool whose
//! marks are invalid stays in it and is called without them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName};

use super::members::{elements, exact, get, members};
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
        let Some(tools) = get(answer, "result").and_then(|result| get(result, "tools")) else { return };
        for tool in elements(tools) {
            let Some(name) = get(tool, "name").and_then(exact) else { continue };
            let mut marks = Vec::new();
            let valid = get(tool, "inputSchema")
                .is_none_or(|schema| collect(schema, &mut Vec::new(), &mut marks).is_ok());
            if valid && !marks.is_empty() {
                known.insert(name.into_owned(), marks);
            } else {
                known.remove(name.as_ref());
            }
        }
    }

    /// Whether calls of this tool have headers of their own.
    pub(crate) fn concerns(&self, tool: &str) -> bool {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).contains_key(tool)
    }

    /// Adds the headers of one call. Returns those left out because no header can say what the argument does.
    pub(crate) fn add(&self, tool: &str, call: &[u8], headers: &mut HeaderMap) -> Vec<HeaderName> {
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left_out = Vec::new();
        let Some(marks) = known.get(tool) else { return left_out };
        let Some(arguments) = get(call, "params").and_then(|params| get(params, "arguments")) else {
            return left_out;
        };
        for mark in marks {
            let value = mark.path.iter().try_fold(arguments, |value, key| get(value, key));
            match value.map(said) {
                Some(Said::Text(text)) => {
                    headers.insert(mark.header.clone(), protocol_headers::encode(&text));
                }
                Some(Said::Unsayable) => left_out.push(mark.header.clone()),
                Some(Said::Nothing) | None => {}
            }
        }
        left_out
    }
}

/// An argument as a header value.
enum Said<'a> {
    Text(Cow<'a, str>),
    /// `null`, a fraction, an object or an array: these have no header.
    Nothing,
    /// A string with half a surrogate pair.
    Unsayable,
}

fn said(value: &[u8]) -> Said<'_> {
    match value.first() {
        Some(b'"') => exact(value).map_or(Said::Unsayable, Said::Text),
        Some(b't') => Said::Text("true".into()),
        Some(b'f') => Said::Text("false".into()),
        Some(b'-' | b'0'..=b'9') => {
            integer(value).map_or(Said::Nothing, |number| Said::Text(number.to_string().into()))
        }
        _ => Said::Nothing,
    }
}

/// The integer that a number is, however it is written: `5`, `5.0`, `0.5e1`.
fn integer(token: &[u8]) -> Option<i64> {
    let token = str::from_utf8(token).ok()?;
    let number = match token.parse::<i64>() {
        Ok(number) => number,
        Err(_) => {
            let number = token.parse::<f64>().ok()?;
            let exact = number.trunc() == number && number.abs() <= SAFE_INTEGER as f64;
            exact.then_some(number as i64)?
        }
    };
    (number.unsigned_abs() <= SAFE_INTEGER.unsigned_abs()).then_some(number)
}

struct Invalid;

fn collect(schema: &[u8], path: &mut Vec<String>, marks: &mut Vec<Mark>) -> Result<(), Invalid> {
    if path.len() >= MAX_DEPTH {
        return Ok(());
    }
    let Some(properties) = get(schema, "properties") else { return Ok(()) };
    for (name, property) in members(properties) {
        // No key of a call could be told to be this one.
        let Some(name) = exact(name) else { continue };
        path.push(name.into_owned());
        if let Some(mark) = get(property, "x-mcp-header") {
            let header = exact(mark)
                .filter(|mark| !mark.is_empty())
                .and_then(|mark| HeaderName::try_from(format!("mcp-param-{mark}")).ok())
                .ok_or(Invalid)?;
            let kind = get(property, "type").and_then(exact);
            let twice = marks.iter().any(|other| other.header == header);
            if twice || !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
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

    #[test]
    fn values_that_no_tree_can_hold_hide_no_header() {
        let mirror = Mirror::default();
        let list = LIST.replace("{\"tools\":[", "{\"x\":[1e400,\"\\ud83d\"],\"tools\":[");
        mirror.learn(list.as_bytes());
        let region = |arguments: &str| headers(&mirror, "sql", arguments);
        let expected = [("mcp-param-region".to_owned(), "eu".to_owned())];
        let deep = format!(r#"{{"region":"eu","x":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        for arguments in [r#"{"region":"eu","x":1e400}"#, r#"{"region":"eu","x":"\ud83d"}"#, &deep] {
            assert_eq!(region(arguments), expected);
        }
        for (written, value) in
            [("5.0", "5"), ("50e-1", "5"), ("-0", "0"), ("9007199254740991", "9007199254740991")]
        {
            let found = region(&format!(r#"{{"options":{{"limit":{written}}}}}"#));
            assert_eq!(found, [("mcp-param-limit".to_owned(), value.to_owned())]);
        }
        for written in ["5.5", "1e400", "9007199254740992", "-1e16", "null", "[5]"] {
            assert!(region(&format!(r#"{{"options":{{"limit":{written}}}}}"#)).is_empty(), "{written}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_has_no_header() {
        let mirror = Mirror::default();
        mirror.learn(LIST.as_bytes());
        let mut headers = HeaderMap::new();
        let call = br#"{"params":{"arguments":{"region":"\ud83d","dry":false}}}"#;
        assert_eq!(mirror.add("sql", call, &mut headers), ["mcp-param-region"]);
        assert_eq!(headers.len(), 1);
    }
}
