//! The tools that a server declares, as far as they are kept: names, input schemas, hints. No descriptions.
//!
//! A set is named by its content: the SHA-256 of its [canonical](ToolSet::canonical) JSON. Whoever keeps a set computes that
//! anew, so that a name stands for one content and no other.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tools of a set at most; of more, the first in the order of the server are kept.
pub const MOST_TOOLS: usize = 2_000;
/// Bytes of one tool's input schema as canonical JSON at most; of a longer one nothing is kept but that it is there.
pub const LONGEST_SCHEMA: usize = 64 << 10;
/// Bytes of a set as canonical JSON at most: a line of an import has 1 MiB, and a record some room beside its tools.
pub const LONGEST_SET: usize = 1_000_000;

/// What a server declared in answer to `tools/list`, all pages of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSet {
    /// By name, each once.
    pub tools: Vec<DeclaredTool>,
    /// So many tools, at least, are not here: there were too many, or the answer was longer than what is copied, or pages of
    /// it were not asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// A tool as its server declares it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredTool {
    /// As the server names it.
    pub name: String,
    /// The JSON Schema of its input, without texts for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Its hints (`readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`), each a boolean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// The schema is not here: it is too long, too deep, or none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl ToolSet {
    /// The JSON that the set is named by: members sorted at every depth, tools by name, no white space.
    #[must_use]
    pub fn canonical(&self) -> String {
        serde_json::to_value(self).map(|value| canonical(&value)).unwrap_or_default()
    }

    /// A tool of it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&DeclaredTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// A JSON value with its members sorted at every depth, without white space.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Recursion is as deep as the value is, and readers of JSON bound that.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (at, (name, member)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_and_white_space_do_not_count_and_everything_else_does() {
        let read = |text: &str| serde_json::from_str::<ToolSet>(text).unwrap().canonical();
        let one = read(
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"enum":[2,1]},"b":{}}}}]}"#,
        );
        let same = read(
            r#"{ "tools":[{"inputSchema":{"properties":{"b":{}, "x":{"enum":[2,1]}},"type":"object"},"name":"a"}], "new": 1}"#,
        );
        assert_eq!(one, same);
        assert_eq!(
            one,
            r#"{"tools":[{"inputSchema":{"properties":{"b":{},"x":{"enum":[2,1]}},"type":"object"},"name":"a"}]}"#
        );
        assert_ne!(one, read(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#));
        assert_ne!(one, read(&one.replace("[2,1]", "[1,2]")));
        assert_eq!(canonical(&json!({"é\"": [null, true, 1.5, "a\n"]})), r#"{"é\"":[null,true,1.5,"a\n"]}"#);
    }
}
