//! What a wrapped entry tells of itself: a memo out of it where the ledger has none, and one of the ledger's brought up to what stands there.
//!
//! ```text
//!  bir-proxy --server-name N … -- PROGRAM ARGS      all of it is there
//!  bir-proxy --server-name N … --url URL            the address is; headers as the entry's environment has them now
//! ```

use crate::plan::held::names;
use bir_hosts::config::{Memo, Recall, Was};
use serde_json::{Map, Value};

const ENVIRONMENTS: [&str; 3] = ["env", "environment", "envs"];
const HEADERS: &str = "BIR_UPSTREAM_HEADERS";

/// The command line of an entry, whose member it is, and whether it is one array.
struct Line<'e> {
    member: &'static str,
    is_array: bool,
    words: Vec<&'e str>,
}

fn words(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn line(entry: &Value) -> Option<Line<'_>> {
    ["command", "cmd"].into_iter().find_map(|member| match entry.get(member)? {
        Value::String(program) => {
            let mut all = vec![program.as_str()];
            all.extend(entry.get("args").map_or(Some(Vec::new()), words)?);
            Some(Line { member, is_array: false, words: all })
        }
        array => Some(Line { member, is_array: true, words: words(array)? }),
    })
}

/// The proxy that an entry starts: its program, and no other word of it.
pub(crate) fn starts(entry: &Value) -> Option<&str> {
    line(entry)?.words.first().copied().filter(|program| names(program, "bir-proxy"))
}

/// The name under which an entry was wrapped.
pub(crate) fn wrapped_as(entry: &Value) -> Option<&str> {
    let words = line(entry)?.words;
    let at = words.iter().take_while(|word| **word != "--").position(|word| *word == "--server-name")?;
    words.get(at + 1).copied()
}

/// What `bir install` writes in front of a server, and whether a value follows. Nobody else writes `--scope`.
const INSTALLED: [(&str, bool); 8] = [
    ("--server-name", true),
    ("--scope", true),
    ("--no-correlation", false),
    ("--url", true),
    ("--url-env", true),
    ("--transport", true),
    ("--header-env", true),
    ("--bearer-env", true),
];

/// Whether an entry starts a proxy in another way than an install writes it: a person has put it there, with options of their own.
pub(crate) fn is_by_hand(entry: &Value) -> bool {
    starts(entry).is_some() && (!is_scoped(entry) || front(entry).iter().any(|(name, _)| !is_installed(name)))
}

/// Whether an entry starts a proxy that is told for whom it counts, as each is that an install has written.
fn is_scoped(entry: &Value) -> bool {
    front(entry).iter().any(|(name, _)| *name == "--scope")
}

fn is_installed(option: &str) -> bool {
    INSTALLED.iter().any(|(known, _)| *known == option)
}

/// The options in front of a server, with their values as far as they are known to have one.
fn front(entry: &Value) -> Vec<(&str, Option<&str>)> {
    let Some(Line { words, .. }) = line(entry) else { return Vec::new() };
    let mut words = words.into_iter().skip(1).take_while(|word| *word != "--");
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        all.push(match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if INSTALLED.contains(&(word, true)) => (word, words.next()),
            None => (word, None),
        });
    }
    all
}

/// How an entry is unwrapped, as far as it tells. None: some of it is told nowhere.
pub(crate) fn memo(host: &str, entry: &Value) -> Option<Memo> {
    starts(entry)?;
    let Line { member, is_array, words } = line(entry)?;
    let recall = |key: &str, what| (key.to_owned(), Was::Recall(what));
    if let Some(at) = words.iter().position(|word| *word == "--") {
        let mut memo = Memo { was: Vec::new(), added: Vec::new() };
        match (is_array, words.len() - at - 1) {
            (_, 0) => return None,
            (true, _) => memo.was.push(recall(member, Recall::Command)),
            (false, 1) => {
                memo.was.push(recall(member, Recall::Program));
                memo.added.push("args".into());
            }
            (false, _) => {
                memo.was.extend([recall(member, Recall::Program), recall("args", Recall::Args)]);
            }
        }
        return Some(memo);
    }
    // The variable of a token is one of the host's own, in a member that cannot be told.
    if words.iter().any(|word| word.starts_with("--bearer-env")) {
        return None;
    }
    header_names(entry)?;
    let option = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    let transport = option("--transport");
    let address = match host {
        "windsurf" => "serverUrl",
        "goose" => "uri",
        "gemini-cli" if transport == Some("http") => "httpUrl",
        _ => "url",
    };
    let mut was = vec![recall(address, Recall::Url)];
    if let Some(kind) = entry.get("type").and_then(Value::as_str) {
        let remote = match (kind, transport, host) {
            ("local", ..) if host == "opencode" => "remote",
            (_, Some("sse"), _) => "sse",
            (_, _, "goose") => "streamable_http",
            _ => "http",
        };
        was.insert(0, ("type".into(), Was::Value(remote.into())));
    }
    let mut added = vec![member.to_owned()];
    added.extend((!is_array).then(|| "args".to_owned()));
    let environments = ENVIRONMENTS.into_iter().filter(|key| entry.get(key).is_some());
    added.extend(environments.map(str::to_owned));
    Some(fitted(host, &Memo { was, added }, entry))
}

/// A memo with the headers that the entry has now: one that was taken out is not missed, and one that was added is not lost.
pub(crate) fn fitted(host: &str, memo: &Memo, entry: &Value) -> Memo {
    let Some(now) = header_names(entry) else { return memo.clone() };
    let mut memo = memo.clone();
    let is_remote = memo.was.iter().any(|(_, was)| *was == Was::Recall(Recall::Url));
    let known = memo.was.iter_mut().find_map(|(_, was)| match was {
        Was::Recall(Recall::Headers(names)) => Some(names),
        _ => None,
    });
    match known {
        Some(names) => {
            names.retain(|name| now.contains(name));
            let more: Vec<String> = now.into_iter().filter(|name| !names.contains(name)).collect();
            names.extend(more);
        }
        None if is_remote && !now.is_empty() => {
            let member = if host == "codex" { "http_headers" } else { "headers" };
            memo.was.retain(|(key, _)| key != member);
            memo.was.push((member.to_owned(), Was::Recall(Recall::Headers(now))));
        }
        None => {}
    }
    memo
}

/// The headers that stand in variables of the entry. None: they cannot be read.
fn header_names(entry: &Value) -> Option<Vec<String>> {
    let environment = ENVIRONMENTS.into_iter().find_map(|key| entry.get(key)?.as_object());
    let variable = |name: &str| environment.and_then(|all| all.get(name)).and_then(Value::as_str);
    let mut all = Vec::new();
    let words = line(entry)?.words;
    for pair in words.windows(2).filter(|pair| pair[0] == "--header-env") {
        let (header, from) = pair[1].split_once(": ")?;
        if from.starts_with("BIR_UPSTREAM_HEADER_") && variable(from).is_some() {
            all.push(header.to_owned());
        }
    }
    if let Some(text) = variable(HEADERS) {
        let literal: Map<String, Value> = serde_json::from_str(text).ok()?;
        all.extend(literal.keys().cloned());
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_hosts::config::{Shape, carry_out, unwrap};
    use bir_model::Place;
    use serde_json::json;

    fn back(memo: &Memo, entry: &Value) -> Value {
        let mut document = json!({ "a": entry });
        for edit in unwrap(&Shape::COMMON, entry, &Place::keys(["a"]), memo).unwrap() {
            assert!(carry_out(&mut document, &edit));
        }
        document["a"].clone()
    }

    #[test]
    fn an_entry_tells_what_it_was() {
        let line = |args: &[&str]| json!({ "command": "/x/bir-proxy", "args": args, "env": { "K": "v" } });
        let remote = json!({ "type": "stdio", "command": "bir-proxy", "args": ["--server-name", "a", "--url", "http://h"],
            "env": { "BIR_UPSTREAM_HEADERS": r#"{"A":"b","C":"d"}"# } });
        for (entry, was) in [
            (
                line(&["--server-name", "a", "--", "npx", "--", "x"]),
                json!({ "command": "npx", "args": ["--", "x"], "env": { "K": "v" } }),
            ),
            (line(&["--", "npx"]), json!({ "command": "npx", "env": { "K": "v" } })),
            (remote, json!({ "type": "http", "url": "http://h", "headers": { "A": "b", "C": "d" } })),
        ] {
            assert_eq!(back(&memo("cursor", &entry).unwrap(), &entry), was);
        }
        assert_eq!(wrapped_as(&line(&["--server-name", "a", "--", "x"])), Some("a"));
        assert_eq!(wrapped_as(&line(&["--", "x", "--server-name", "a"])), None);
        for args in [&["--"][..], &["--url", "http://h", "--bearer-env", "T"]] {
            assert_eq!(memo("codex", &line(args)), None, "{args:?}");
        }
        assert_eq!(memo("cursor", &json!({ "command": "npx", "args": ["/x/bir-proxy"] })), None);
    }

    #[test]
    fn headers_are_those_that_stand_there() {
        let recall = |what| Was::Recall(what);
        let known = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Memo {
                was: vec![
                    ("url".into(), recall(Recall::Url)),
                    ("headers".into(), recall(Recall::Headers(names))),
                ],
                added: vec!["command".into(), "args".into(), "env".into()],
            }
        };
        let entry = |headers: &str| json!({ "command": "bir-proxy", "args": ["--url", "http://h"], "env": { "BIR_UPSTREAM_HEADERS": headers } });
        for (headers, memo) in
            [(r#"{"B":"2","N":"3"}"#, known(&["A", "B"])), (r#"{"B":"2","N":"3"}"#, known(&[]))]
        {
            let entry = entry(headers);
            let back = back(&fitted("cursor", &memo, &entry), &entry);
            assert_eq!(back, json!({ "url": "http://h", "headers": { "B": "2", "N": "3" } }));
        }
        let mut bare = known(&[]);
        bare.was.pop();
        let added = entry(r#"{"N":"3"}"#);
        assert_eq!(
            back(&fitted("cursor", &bare, &added), &added),
            json!({ "url": "http://h", "headers": { "N": "3" } })
        );
        assert_eq!(fitted("cursor", &known(&["A"]), &entry("{")), known(&["A"]), "what cannot be read");
    }
}
