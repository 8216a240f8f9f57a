//! What a step does to the world. What is not known to be harmless is destructive.
//!
//! Three things speak: the tool's own name, what its server says of it (annotations), and whether the owner of the run trusts
//! that server.
//!
//! ```text
//!   name reads ── no hint against it ─▶ read          name writes, or says nothing ─▶ destructive
//!        └─ any server's hint that it writes or destroys ─▶ destructive      │
//!                                          a trusted server's hints ─────────┴─▶ lower, but never to a read
//!                                                                                where the name says that it writes
//! ```
//!
//! Hints of a server that nobody trusts may only raise (the protocol calls them untrusted); hints of a trusted one lower as far
//! as the name does not contradict.

use crate::words;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

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

/// Why a tool has its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Its name begins with this verb.
    Reads(String),
    /// Its name has this verb.
    Writes(String),
    /// This hint of its server raises it (`readOnlyHint`, `destructiveHint`).
    Raised(&'static str),
    /// The hints of its server, which is trusted.
    Trusted,
    /// Nothing tells that it only reads.
    Unknown,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reads(verb) => write!(f, "its name says `{verb}`"),
            Self::Writes(verb) => write!(f, "its name says `{verb}`, which may change something"),
            Self::Raised("readOnlyHint") => f.write_str("its server says that it does not only read"),
            Self::Raised(_) => f.write_str("its server says that it may destroy"),
            Self::Trusted => f.write_str("its server says so and is trusted"),
            Self::Unknown => f.write_str("nothing says that it only reads"),
        }
    }
}

/// An effect, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What it does.
    pub effect: Effect,
    /// Why that is believed.
    pub why: Reason,
}

/// Verbs of reading at the beginning of a tool's name. Those that may mean either are not here.
const READS: [&str; 41] = [
    "get",
    "list",
    "search",
    "find",
    "read",
    "query",
    "fetch",
    "describe",
    "lookup",
    "show",
    "count",
    "check",
    "view",
    "compare",
    "retrieve",
    "browse",
    "inspect",
    "enumerate",
    "explain",
    "preview",
    "peek",
    "validate",
    "verify",
    "calculate",
    "compute",
    "estimate",
    "convert",
    "translate",
    "diff",
    "grep",
    "glob",
    "locate",
    "geocode",
    "autocomplete",
    "is",
    "has",
    "whoami",
    "ping",
    "stat",
    "tail",
    "measure",
];

/// Words that say that something is changed, wherever they stand in a name.
const WRITES: [&str; 65] = [
    "create",
    "add",
    "insert",
    "put",
    "send",
    "write",
    "delete",
    "remove",
    "drop",
    "cancel",
    "buy",
    "pay",
    "rename",
    "execute",
    "exec",
    "eval",
    "upload",
    "reserve",
    "replace",
    "overwrite",
    "append",
    "prepend",
    "modify",
    "save",
    "store",
    "clear",
    "purge",
    "wipe",
    "erase",
    "destroy",
    "kill",
    "terminate",
    "truncate",
    "revoke",
    "publish",
    "unpublish",
    "submit",
    "approve",
    "reject",
    "enable",
    "disable",
    "install",
    "uninstall",
    "deploy",
    "restart",
    "reboot",
    "rollback",
    "grant",
    "assign",
    "unassign",
    "invite",
    "apply",
    "attach",
    "detach",
    "unlock",
    "unsubscribe",
    "upsert",
    "swap",
    "ban",
    "withdraw",
    "modifies",
    "deletes",
    "removes",
    "creates",
    "writes",
];

/// Words that are a verb of changing or the name of a thing: behind a verb of reading the thing (`get_order`), else the verb
/// (`order_pizza`).
const EITHER: [&str; 50] = [
    "order",
    "book",
    "post",
    "set",
    "run",
    "start",
    "stop",
    "move",
    "update",
    "edit",
    "transfer",
    "archive",
    "close",
    "merge",
    "commit",
    "push",
    "pull",
    "comment",
    "reply",
    "share",
    "import",
    "export",
    "patch",
    "release",
    "schedule",
    "charge",
    "refund",
    "deposit",
    "lock",
    "mark",
    "register",
    "reset",
    "checkout",
    "review",
    "report",
    "request",
    "rate",
    "copy",
    "sync",
    "trigger",
    "change",
    "fork",
    "tag",
    "label",
    "build",
    "backup",
    "restore",
    "subscribe",
    "open",
    "load",
];

/// Between two verbs.
const JOINS: [&str; 4] = ["and", "or", "then", "with"];

/// Particles that make another verb of one of reading.
const OTHER_VERBS: [(&str, &str); 4] = [("check", "in"), ("check", "out"), ("check", "off"), ("read", "in")];

/// The effect of a tool. `trusted`: its server's hints are believed.
#[must_use]
pub fn effect(tool: &str, annotations: Option<&Value>, trusted: bool) -> Effect {
    judge(None, tool, annotations, trusted).effect
}

/// The effect of a tool, and why. A server's key at the beginning of the tool's name (`github_get_issue` of `github`) is no word
/// of it. `trusted`: the server's hints are believed.
#[must_use]
pub fn judge(server: Option<&str>, tool: &str, annotations: Option<&Value>, trusted: bool) -> Judged {
    let said = said(server, tool);
    let hint = |name: &str| annotations.and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    let (reads_only, destroys) = (hint("readOnlyHint"), hint("destructiveHint"));
    let judged = |effect, why| Judged { effect, why };
    if trusted {
        let writes = matches!(said, Reason::Writes(_));
        match (reads_only, destroys, hint("idempotentHint")) {
            (Some(true), _, _) if !writes => return judged(Effect::Read, Reason::Trusted),
            (_, Some(false), Some(true)) => return judged(Effect::Idempotent, Reason::Trusted),
            (_, Some(false), _) => return judged(Effect::Write, Reason::Trusted),
            _ => {}
        }
    }
    match said {
        Reason::Reads(_) if reads_only == Some(false) => {
            judged(Effect::Destructive, Reason::Raised("readOnlyHint"))
        }
        Reason::Reads(_) if destroys == Some(true) => {
            judged(Effect::Destructive, Reason::Raised("destructiveHint"))
        }
        Reason::Reads(verb) => judged(Effect::Read, Reason::Reads(verb)),
        other => judged(Effect::Destructive, other),
    }
}

/// What a name says: that it reads, that it writes, or nothing. A name is a hint of the server too, but one that its users read.
fn said(server: Option<&str>, tool: &str) -> Reason {
    let all = words(&spaced(tool));
    let own = server.map(|server| words(&spaced(server))).unwrap_or_default();
    let begins = !own.is_empty() && all.len() > own.len() && all.starts_with(&own);
    let words = &all[if begins { own.len() } else { 0 }..];
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    let writes = |word: &String| Reason::Writes(word.clone());
    if let Some(word) = words.iter().find(|word| is(&WRITES, word)) {
        return writes(word);
    }
    let Some(verb) = words.first() else { return Reason::Unknown };
    if !is(&READS, verb) {
        return words.iter().find(|word| is(&EITHER, word)).map_or(Reason::Unknown, writes);
    }
    let next = words.get(1).map_or("", String::as_str);
    if OTHER_VERBS.contains(&(verb.as_str(), next)) {
        return Reason::Writes(format!("{verb} {next}"));
    }
    // `get_or_create`, `find_then_close`: what stands behind is a verb as well. `get_and_process`: of one that is not known.
    for (at, word) in words.iter().enumerate().filter(|(_, word)| is(&JOINS, word)) {
        match words.get(at + 1) {
            Some(after) if is(&EITHER, after) => return writes(after),
            Some(after) if at == 1 && word != "with" && !is(&READS, after) => return Reason::Unknown,
            _ => {}
        }
    }
    Reason::Reads(verb.clone())
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
            ("get_label", Some(&json!({"readOnlyHint": false})), false, Effect::Destructive),
            ("get_label", Some(&json!({"readOnlyHint": false})), true, Effect::Destructive),
            ("get_label", Some(&json!({"readOnlyHint": "yes", "destructiveHint": 1})), false, Effect::Read),
            ("get_label", Some(&json!([true])), true, Effect::Read),
            ("get_order", Some(&read), true, Effect::Read),
            ("send", Some(&json!({"destructiveHint": false})), true, Effect::Write),
            ("", None, true, Effect::Destructive),
        ] {
            assert_eq!(effect(tool, hints, trusted), expected, "{tool}");
        }
    }

    #[test]
    fn no_hint_of_an_untrusted_server_lowers_and_no_hint_lowers_a_write_to_a_read() {
        let flags = [None, Some(false), Some(true)];
        for tool in ["get_order", "order_pizza", "delete_file", "frobnicate", "check_in"] {
            let alone = effect(tool, None, false);
            for (a, b, c) in
                flags.iter().flat_map(|a| flags.iter().flat_map(move |b| flags.map(|c| (a, b, c))))
            {
                let mut hints = serde_json::Map::new();
                for (name, value) in [("readOnlyHint", a), ("destructiveHint", b), ("idempotentHint", &c)] {
                    value.map(|value| hints.insert(name.into(), value.into()));
                }
                let hints = Value::Object(hints);
                assert!(effect(tool, Some(&hints), false) >= alone, "{tool} {hints}");
                if matches!(said(None, tool), Reason::Writes(_)) {
                    assert!(effect(tool, Some(&hints), true) > Effect::Read, "{tool} {hints}");
                }
            }
        }
    }

    #[test]
    fn the_reason_is_said() {
        let why = |server, tool, hints: Option<Value>, trusted| {
            judge(server, tool, hints.as_ref(), trusted).why.to_string()
        };
        assert_eq!(why(None, "get_order", None, false), "its name says `get`");
        assert_eq!(
            why(None, "order_pizza", None, false),
            "its name says `order`, which may change something"
        );
        assert_eq!(why(None, "frob", None, false), "nothing says that it only reads");
        let writes = json!({"readOnlyHint": false});
        assert_eq!(why(None, "get_x", Some(writes), false), "its server says that it does not only read");
        let destroys = json!({"destructiveHint": true});
        assert_eq!(why(None, "get_x", Some(destroys), false), "its server says that it may destroy");
        assert_eq!(
            why(None, "frob", Some(json!({"readOnlyHint": true})), true),
            "its server says so and is trusted"
        );
    }

    #[test]
    fn the_key_of_a_server_is_no_word_of_its_tools() {
        for (server, tool, expected) in [
            ("github", "github_get_issue", Effect::Read),
            ("github", "github_close_issue", Effect::Destructive),
            ("github", "github", Effect::Destructive),
            ("book-store", "book_store_list_books", Effect::Read),
            ("get", "get_delete", Effect::Destructive),
            ("get", "get_thing", Effect::Destructive),
            ("other", "github_get_issue", Effect::Destructive),
        ] {
            assert_eq!(judge(Some(server), tool, None, false).effect, expected, "{server} {tool}");
        }
    }
}
