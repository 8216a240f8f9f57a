//! From answers to `tools/list` to what is kept of them: a [`SafeTools`].
//!
//! ```text
//!  pages ── listing ──▶ names, schemas, hints ── schema: known keywords, values redacted ──▶ SafeTools, with its hash
//! ```
//!
//! Only what says which arguments fit is kept: no descriptions, no titles, no examples, no member that the vocabulary of JSON
//! Schema does not have. Values in it (`enum`, `const`, `default`) are redacted as arguments of that name are. What is beyond the
//! limits of [`bir_model::tools`] is left out, and says so. Nothing in here fails: a server may declare whatever it likes.

mod listing;
mod schema;

use crate::{Raw, Redacted, Redactor};
use bir_model::tools::{DeclaredTool, LONGEST_SET, MOST_TOOLS, ToolSet, canonical};
use ring::digest;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub use listing::Listing;

/// Longest name of a tool that is kept, in bytes; one with a longer name is left out, since a part of it names nothing.
const LONGEST_NAME: usize = 256;
/// The hints that a server may give.
const HINTS: [&str; 4] = ["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"];

/// Takes secrets out.
pub trait Clean {
    /// Of a JSON value.
    fn value(&self, json: &[u8]) -> Redacted;
    /// Of a name.
    fn name(&self, text: &str) -> String;
}

impl Clean for Redactor {
    fn value(&self, json: &[u8]) -> Redacted {
        self.payload(Raw { head: json, len: json.len() as u64 })
    }

    fn name(&self, text: &str) -> String {
        Self::name(self, text)
    }
}

/// The tools of a server, without secrets and within their limits, with the hash that names them.
#[derive(Debug, Clone, PartialEq)]
pub struct SafeTools {
    set: ToolSet,
    hash: String,
}

impl SafeTools {
    /// Redacts a set that somebody else has read. What was redacted before stays as it is, and so does the hash.
    #[must_use]
    pub fn of(set: ToolSet, clean: &dyn Clean) -> Self {
        let ToolSet { tools, left_out } = set;
        let mut kept = Kept { left_out, ..Kept::default() };
        for tool in tools {
            kept.add(&tool.name, tool.input_schema.as_ref(), tool.annotations.as_ref(), tool.left_out, clean);
        }
        kept.done()
    }

    /// A set that was a [`SafeTools`] before it went through a file of ours, where nothing else gets into it.
    #[must_use]
    pub fn read_back(set: ToolSet) -> Self {
        let hash = hash(&set);
        Self { set, hash }
    }

    /// The tools, and the hash.
    #[must_use]
    pub fn into_parts(self) -> (ToolSet, String) {
        (self.set, self.hash)
    }

    /// The tools.
    #[must_use]
    pub fn set(&self) -> &ToolSet {
        &self.set
    }

    /// The set's name: SHA-256 of its canonical JSON, in hex.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// The hash that names a set.
#[must_use]
pub fn hash(set: &ToolSet) -> String {
    let digest = digest::digest(&digest::SHA256, set.canonical().as_bytes());
    digest.as_ref().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = std::fmt::Write::write_fmt(&mut hex, format_args!("{byte:02x}"));
        hex
    })
}

/// What is kept so far.
#[derive(Default)]
struct Kept {
    tools: BTreeMap<String, DeclaredTool>,
    bytes: usize,
    left_out: u32,
}

impl Kept {
    /// A tool that is not kept.
    fn leave_out(&mut self) {
        self.left_out = self.left_out.saturating_add(1);
    }

    fn add(
        &mut self,
        name: &str,
        schema: Option<&Value>,
        annotations: Option<&Value>,
        left_out: bool,
        clean: &dyn Clean,
    ) {
        if name.len() > LONGEST_NAME || self.tools.len() >= MOST_TOOLS {
            return self.leave_out();
        }
        let name = clean.name(name);
        // The first one counts; hosts differ in what they make of a second.
        if self.tools.contains_key(&name) {
            return;
        }
        let safe = schema.and_then(|schema| schema::safe(schema, clean));
        let left_out = left_out || (schema.is_some() && safe.is_none());
        let annotations = annotations.and_then(hints);
        let tool = DeclaredTool { name: name.clone(), input_schema: safe, annotations, left_out };
        let bytes = serde_json::to_value(&tool).map_or(usize::MAX, |value| canonical(&value).len() + 1);
        if self.bytes.saturating_add(bytes) > LONGEST_SET {
            return self.leave_out();
        }
        self.bytes += bytes;
        self.tools.insert(name, tool);
    }

    fn done(self) -> SafeTools {
        let set = ToolSet { tools: self.tools.into_values().collect(), left_out: self.left_out };
        let hash = hash(&set);
        SafeTools { set, hash }
    }
}

/// Hints alone: what else annotations hold is for people.
fn hints(annotations: &Value) -> Option<Value> {
    let said = |name: &str| Some((name.to_owned(), Value::Bool(annotations.get(name)?.as_bool()?)));
    let hints: Map<String, Value> = HINTS.into_iter().filter_map(said).collect();
    (!hints.is_empty()).then_some(Value::Object(hints))
}
