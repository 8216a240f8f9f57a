//! What a step does to the world. What is not known to be harmless is destructive.
//!
//! A tool's annotations are hints of a server: they are believed only of a server that is trusted, and even then only in the careful
//! direction where the tool's own name says that it writes.

use crate::words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a step does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It reads.
    Read,
    /// It writes, and twice is as once.
    Idempotent,
    /// It writes.
    Write,
    /// It takes away, or nobody knows.
    Destructive,
}

/// Verbs at the beginning of a tool's name. Those that may mean either are not here.
const READS: [&str; 14] = [
    "get", "list", "search", "find", "read", "query", "fetch", "describe", "lookup", "show", "count",
    "check", "view", "compare",
];
const WRITES: [&str; 30] = [
    "create", "add", "insert", "update", "set", "put", "post", "send", "write", "edit", "delete", "remove",
    "drop", "cancel", "book", "order", "buy", "pay", "transfer", "move", "rename", "archive", "close",
    "merge", "run", "execute", "start", "stop", "upload", "reserve",
];

/// The effect of a tool. `trusted`: its server's hints are believed.
#[must_use]
pub fn effect(tool: &str, annotations: Option<&Value>, trusted: bool) -> Effect {
    let words = words(&spaced(tool));
    let says = |verbs: &[&str]| words.iter().any(|word| verbs.contains(&word.as_str()));
    let writes = says(&WRITES);
    let hint = |name: &str| annotations.and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    if !trusted {
        // A name is a hint of the server too, but one that its users read.
        let reads = words.first().is_some_and(|verb| READS.contains(&verb.as_str()));
        return if reads
            && !writes
            && hint("readOnlyHint") != Some(false)
            && hint("destructiveHint") != Some(true)
        {
            Effect::Read
        } else {
            Effect::Destructive
        };
    }
    match (hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint")) {
        (Some(true), _, _) if !writes => Effect::Read,
        (_, Some(false), Some(true)) => Effect::Idempotent,
        (_, Some(false), _) => Effect::Write,
        _ => Effect::Destructive,
    }
}

/// `getURLDelete` as `getURL_Delete`: a verb behind an abbreviation is a word as well.
fn spaced(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, c) in chars.iter().enumerate() {
        let after_capital = at.checked_sub(1).is_some_and(|before| chars[before].is_uppercase());
        if c.is_uppercase() && after_capital && chars.get(at + 1).is_some_and(|next| next.is_lowercase()) {
            out.push('_');
        }
        out.push(*c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_known_is_destructive() {
        let read = json!({"readOnlyHint": true});
        let mild = json!({"destructiveHint": false, "idempotentHint": true});
        for (tool, hints, trusted, expected) in [
            ("search_hotels", None, false, Effect::Read),
            ("listThenDelete", None, false, Effect::Destructive),
            ("get_v2Delete", None, false, Effect::Destructive),
            ("getURLDelete", None, false, Effect::Destructive),
            ("getURLDelete", Some(&read), true, Effect::Destructive),
            ("getHTTPHeaders", None, false, Effect::Read),
            ("frobnicate", None, false, Effect::Destructive),
            ("frobnicate", Some(&read), false, Effect::Destructive),
            ("frobnicate", Some(&read), true, Effect::Read),
            ("delete_all", Some(&read), true, Effect::Destructive),
            ("put_label", Some(&mild), true, Effect::Idempotent),
            ("put_label", Some(&mild), false, Effect::Destructive),
            ("get_label", Some(&json!({"destructiveHint": true})), false, Effect::Destructive),
            ("send", Some(&json!({"destructiveHint": false})), true, Effect::Write),
            ("", None, true, Effect::Destructive),
        ] {
            assert_eq!(effect(tool, hints, trusted), expected, "{tool}");
        }
    }
}
