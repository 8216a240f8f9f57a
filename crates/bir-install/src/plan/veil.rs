//! What of a configuration a person is shown: what is known to be harmless, and of everything else how long it is.
//!
//! A rule that looks for credentials misses those that no rule knows: a bare word, `-p VALUE`, a key in a path. So nothing is looked for
//! here. Keys are shown unless they have the shape of a credential ([`shaped`]), the path of a command, its arguments up to the name of a package or script ([`words`]), scheme and host of an
//! address, the words for a kind of server, `true`, `false` and `null`, and what is our own. Any other value is `…(N characters)`.

mod environments;
mod words;

use super::held::names as is_program;
use super::secrets::masked_text;
use super::shaped;
use bir_model::{Place, Step};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) use environments::masked;

/// Members that are the path of a command.
const PROGRAMS: [&str; 2] = ["command", "cmd"];
/// The same beside arguments (Zed's older form).
const PATH: &str = "path";
/// The member with its arguments.
const ARGS: &str = "args";
/// Members that are an address; the last is a variable of our own.
const ADDRESSES: [&str; 6] = ["url", "httpUrl", "serverUrl", "uri", "endpoint", "BIR_UPSTREAM_URL"];
/// Members that say which kind a server is.
const KINDS: [&str; 3] = ["type", "transport", "transportType"];
/// What they say.
const KIND_WORDS: [&str; 11] = [
    "stdio",
    "local",
    "http",
    "sse",
    "remote",
    "streamable-http",
    "streamableHttp",
    "streamable_http",
    "ws",
    "command",
    "builtin",
];

/// What stands in the files and is our own, or shown elsewhere in the plan.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// Our hooks, as they are written.
    pub(super) hooks: Vec<Value>,
    /// The names of servers.
    pub(super) names: BTreeSet<String>,
    /// Paths of `bir-proxy`.
    pub(super) proxies: Vec<String>,
    /// Credentials that stand in the file: what a person has written is shown without them, wherever it says them again. What is ours is not
    /// searched for them.
    pub(super) known: Vec<String>,
}

/// Something of a person's: how long it is.
pub(super) fn hidden(text: &str) -> String {
    match text.chars().count() {
        0 => String::new(),
        1 => "…(1 character)".into(),
        n => format!("…({n} characters)"),
    }
}

impl Own {
    /// What stands at a place, as it is shown.
    pub(super) fn shown(&self, place: &Place, value: &Value) -> Value {
        match place.0.last() {
            Some(Step::Key(key)) => self.member(key, value, ""),
            _ => self.value(value),
        }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            _ if self.hooks.contains(value) => value.clone(),
            Value::Object(members) => {
                let text = |key: &str| members.get(key).and_then(Value::as_str);
                let program = PROGRAMS.iter().find_map(|key| text(key));
                let program = program.or_else(|| text(PATH).filter(|_| members.contains_key(ARGS)));
                let one = |(key, value): (&String, &Value)| {
                    let shown = match value.as_str() {
                        Some(path) if key == PATH && program == Some(path) => self.program(path).into(),
                        _ => self.member(key, value, program.unwrap_or_default()),
                    };
                    (key.clone(), shown)
                };
                let mut shown = serde_json::Map::new();
                for (key, value) in members.iter().map(one) {
                    shown.insert(free(&shown, shaped::key(&key)), value);
                }
                Value::Object(shown)
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => hidden(&number.to_string()).into(),
            Value::String(text) => hidden(text).into(),
        }
    }

    /// A member. `program`: what the object that it is in starts.
    fn member(&self, key: &str, value: &Value, program: &str) -> Value {
        match value {
            Value::String(text) if PROGRAMS.contains(&key) => self.program(text).into(),
            Value::String(text) if ADDRESSES.contains(&key) => self.address(text).into(),
            Value::String(text) if KINDS.contains(&key) && KIND_WORDS.contains(&text.as_str()) => {
                value.clone()
            }
            Value::String(text) if key == "name" && self.names.contains(text) => value.clone(),
            Value::Array(items) if key == ARGS => self.arguments(program, items).into(),
            Value::Array(items) if PROGRAMS.contains(&key) => self.line(items).into(),
            // Of a file of hooks.
            Value::Number(number) if key == "version" && number.as_u64().is_some_and(|n| n < 100) => {
                value.clone()
            }
            _ => self.value(value),
        }
    }

    /// The path of a command; of a whole line its first word.
    fn program(&self, text: &str) -> String {
        if self.proxies.iter().any(|proxy| proxy == text) {
            return text.to_owned();
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (path, rest) = text.split_at(end);
        let is_path = !path.contains("://") && !path.contains(['=', '?', '#', '&', '\'', '"']);
        format!("{}{}", if is_path { self.said(path) } else { hidden(path) }, hidden(rest))
    }

    /// What a person has written, and is known to be harmless by where it stands.
    fn said(&self, text: &str) -> String {
        masked_text(text, &self.known)
    }

    /// Scheme and host of an address.
    fn address(&self, text: &str) -> String {
        address(text, &self.known)
    }

    /// Is it a proxy of ours, with options that are ours as well?
    fn is_proxy(&self, program: &str) -> bool {
        is_program(program, "bir-proxy")
    }
}

/// A key that no other has: more than one may be hidden.
fn free(members: &serde_json::Map<String, Value>, key: String) -> String {
    if !members.contains_key(&key) {
        return key;
    }
    let numbered = (2..=members.len() + 1).map(|n| format!("{key} {n}"));
    numbered.into_iter().find(|key| !members.contains_key(key)).unwrap_or(key)
}

/// Scheme and host of an address.
fn address(text: &str, known: &[String]) -> String {
    let shown = || {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = ["http", "https", "ws", "wss"].into_iter().find(|known| scheme == *known)?;
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (name, port) = match host.strip_prefix('[') {
            Some(inner) => {
                let (name, port) = inner.split_once(']')?;
                let is_ip = name.parse::<std::net::Ipv6Addr>().is_ok();
                (is_ip.then(|| format!("[{name}]"))?, port.strip_prefix(':'))
            }
            None => match host.split_once(':') {
                Some((name, port)) => (name.to_owned(), Some(port)),
                None => (host.to_owned(), None),
            },
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-[]:".contains(c);
        if name.is_empty() || !name.chars().all(fits) || port.is_some_and(|port| port.parse::<u16>().is_err())
        {
            return None;
        }
        let host = port.map_or_else(|| name.clone(), |port| format!("{name}:{port}"));
        let host = masked_text(&host, known);
        let user = &authority[..authority.len() - authority.rsplit('@').next()?.len()];
        let path = &rest[authority.len()..];
        let path = if path == "/" { path.to_owned() } else { hidden(path) };
        Some(format!("{scheme}://{}{host}{path}", hidden(user)))
    };
    shown().unwrap_or_else(|| hidden(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_and_what_is_harmless_are_shown_and_nothing_else() {
        let own = Own { names: ["db".to_owned()].into(), ..Own::default() };
        let entry = json!({
            "type": "http", "name": "db", "url": "https://u:canary@example.com:8080/s/canary?k=canary",
            "headers": {"Authorization": "Bearer canary"}, "timeout": 12345, "on": true, "none": null,
            "env": {"BIR_UPSTREAM_URL": "https://example.com/canary", "PIN": 1234, "EMPTY": ""},
            "unknown": {"deep": ["canary", {"x": "canary"}]}, "transport": "canary",
        });
        assert_eq!(
            own.shown(&Place::keys(["mcpServers", "db"]), &entry),
            json!({
                "type": "http", "name": "db", "url": "https://…(9 characters)example.com:8080…(18 characters)",
                "headers": {"Authorization": "…(13 characters)"}, "timeout": "…(5 characters)", "on": true, "none": null,
                "env": {"BIR_UPSTREAM_URL": "https://example.com…(7 characters)", "PIN": "…(4 characters)", "EMPTY": ""},
                "unknown": {"deep": ["…(6 characters)", {"x": "…(6 characters)"}]}, "transport": "…(6 characters)",
            })
        );
    }

    #[test]
    fn an_address_is_scheme_and_host() {
        for (text, shown) in [
            ("http://[::1]:80/", "http://[::1]:80/"),
            ("https://h", "https://h"),
            ("https://user:canary", "…(19 characters)"),
            ("https://a b/", "…(12 characters)"),
            ("canary://h", "…(10 characters)"),
            ("https://[canary]/", "…(17 characters)"),
            ("https://h\\canary", "https://h…(7 characters)"),
        ] {
            assert_eq!(address(text, &[]), shown);
        }
    }

    #[test]
    fn of_a_command_that_is_a_line_the_program_is_shown() {
        let own = Own { proxies: vec!["/a b/bir-proxy".into()], ..Own::default() };
        for (text, shown) in [
            ("/usr/bin/npx", "/usr/bin/npx"),
            ("npx pkg --token canary", "npx…(19 characters)"),
            ("TOKEN=canary npx", "…(12 characters)…(4 characters)"),
            ("/a b/bir-proxy", "/a b/bir-proxy"),
        ] {
            assert_eq!(own.program(text), shown);
        }
    }

    #[test]
    fn only_hooks_that_are_ours_are_shown_whole() {
        let ours = json!({"hooks": [{"command": "/b/bir-hooks", "args": ["hook", "Stop"]}]});
        let theirs = json!({"hooks": [{"command": "/b/bir-hooks", "args": ["hook", "canary"]}]});
        let own = Own { hooks: vec![ours.clone()], ..Own::default() };
        let shown = own.shown(&Place::keys(["hooks", "Stop"]), &json!([ours, theirs]));
        assert_eq!(shown[0], ours);
        assert!(!shown.to_string().contains("canary"), "{shown}");
    }
}
