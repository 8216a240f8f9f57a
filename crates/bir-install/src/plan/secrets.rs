//! Which parts of a configuration are credentials: for deltas, which may not hold one, and for people, who are not shown one.
//!
//! Structure says most of it: every value of an environment and every header is one, whatever it looks like; so is what stands behind an
//! option whose name says so, and what an address carries beside its host and path. The rules of the recorder find the rest.

use super::shaped;
use bir_record::Raw;
use bir_record::redact::{RedactionKey, Redactor, Rules};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The rules, once for all who ask for nothing but a text.
pub(crate) static RULES: LazyLock<Secrets> = LazyLock::new(Secrets::default);

/// Members whose members are entries, under names that a person gives.
pub(crate) const ENTRY_MEMBERS: [&str; 8] = [
    "mcpServers",
    "mcp_servers",
    "servers",
    "context_servers",
    "extensions",
    "mcp",
    "amp.mcpServers",
    "hooks",
];

/// What a person is shown instead.
pub const HIDDEN: &str = "[hidden]";

/// Shorter values are hidden where they stand, and not looked for elsewhere.
const SHORTEST: usize = 4;

/// A variable whose name is longer is none that a person would give.
const LONGEST_NAME: usize = 64;

/// Larger values are given to the recorder's rules in parts, bytes.
const AT_ONCE: usize = 32 * 1024;

/// What stands before a secret's hash in the recorder's placeholders.
const PLACEHOLDER: &str = "[redacted:";

/// Finds them.
#[derive(Debug)]
pub struct Secrets {
    redactor: Redactor,
}

/// What the members of an object are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything.
    Plain,
    /// Values of which each is a secret.
    Secret,
}

impl Default for Secrets {
    fn default() -> Self {
        // Nothing of the placeholders is kept, so that any key will do.
        Self { redactor: Redactor::new(RedactionKey::of(&[0; 32]), Rules::default()).0 }
    }
}

impl Secrets {
    /// Those of a document, the longest first.
    #[must_use]
    pub fn of(&self, document: &Value) -> Vec<String> {
        let mut found = BTreeSet::new();
        // A server may be named `token`, which says nothing about what is in its entry.
        let anonymous = anonymous(document);
        structure(&anonymous, Kind::Plain, &mut found);
        self.by_rules("", &anonymous, &mut found);
        shaped::of_keys(document, &mut found);
        // A text that is JSON is none as a whole, but what is in it: compact headers of an entry read as `BIR_UPSTREAM_HEADERS` does, and
        // there would be no way back without such a secret.
        for text in found.clone() {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(&text) {
                leaves(&inner, &mut found);
                found.remove(&text);
            }
        }
        let mut all: Vec<String> = found.into_iter().filter(|text| text.len() >= SHORTEST).collect();
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
        all
    }

    /// What the recorder would take out of a text, in no order.
    pub(crate) fn in_text(&self, text: &str) -> Vec<String> {
        let mut found = BTreeSet::new();
        let redacted = self.redactor.text(text);
        if redacted.as_str() != text {
            replaced(text, redacted.as_str(), &mut found);
        }
        found.into_iter().filter(|secret| secret.len() >= SHORTEST).collect()
    }

    /// What of a text is a credential by its shape alone; none: nothing.
    pub(crate) fn shapes(&self, text: &str) -> Option<Vec<String>> {
        let shown = self.redactor.name(text);
        if shown == text {
            return None;
        }
        let mut found = BTreeSet::new();
        replaced(text, &shown, &mut found);
        Some(found.into_iter().collect())
    }

    /// What the recorder would take out.
    fn by_rules(&self, key: &str, value: &Value, found: &mut BTreeSet<String>) {
        let member = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
        let text = member.to_string();
        if text.len() > AT_ONCE {
            match value {
                Value::Object(members) => {
                    members.iter().for_each(|(key, value)| self.by_rules(key, value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| self.by_rules(key, item, found)),
                _ => {}
            }
            return;
        }
        let redacted = self.redactor.payload(Raw { head: text.as_bytes(), len: text.len() as u64 });
        if let Ok(redacted) = serde_json::from_str::<Value>(redacted.json()) {
            differences(&member, &redacted, found);
        }
    }
}

/// Whether what stands under a name that a person gives is a server: an environment may stand there as well.
pub(super) fn is_server(value: &Value) -> bool {
    const ONE_OF: [&str; 8] = ["command", "cmd", "url", "httpUrl", "serverUrl", "uri", "type", "transport"];
    value.as_object().is_some_and(|members| ONE_OF.iter().any(|member| members.contains_key(*member)))
}

/// A document in which entries have numbers instead of their names.
fn anonymous(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let one = |(key, value): (&String, &Value)| {
                let mut value = anonymous(value);
                if let Value::Object(entries) = &mut value
                    && ENTRY_MEMBERS.contains(&key.as_str())
                {
                    let renamed = |(at, (name, entry)): (usize, (String, Value))| {
                        (if is_server(&entry) { format!("entry {at}") } else { name }, entry)
                    };
                    *entries = std::mem::take(entries).into_iter().enumerate().map(renamed).collect();
                }
                (key.clone(), value)
            };
            Value::Object(members.iter().map(one).collect())
        }
        Value::Array(items) => items.iter().map(anonymous).collect(),
        _ => value.clone(),
    }
}

/// The strings of `value` that are others in `redacted`, as far as they are.
fn differences(value: &Value, redacted: &Value, found: &mut BTreeSet<String>) {
    match (value, redacted) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                let is_a_name = names_variable(key) && value.as_str().is_some_and(is_name);
                if let Some(redacted) = b.get(key).filter(|_| !is_a_name) {
                    differences(value, redacted, found);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            let mut before = "";
            for (value, redacted) in a.iter().zip(b) {
                let text = value.as_str().unwrap_or_default();
                if !(names_variable(before) && names_one(text)) {
                    differences(value, redacted, found);
                }
                before = text;
            }
        }
        (Value::String(a), Value::String(b)) if a != b => replaced(a, b, found),
        // What was no string and is one now was a number, or a thing as a whole.
        (Value::Number(a), Value::String(_)) => {
            found.insert(a.to_string());
        }
        (a, Value::String(_)) if a != redacted => leaves(a, found),
        _ => {}
    }
}

/// The parts of a text for which placeholders stand in another.
fn replaced(text: &str, redacted: &str, found: &mut BTreeSet<String>) {
    let mut literals = Vec::new();
    let mut rest = redacted;
    while let Some((before, after)) = rest.split_once(PLACEHOLDER) {
        literals.push(before);
        rest = after.split_once(']').map_or("", |(_, rest)| rest);
    }
    let last = rest;
    let mut left = text;
    for (at, literal) in literals.iter().enumerate() {
        let start = if at == 0 { left.starts_with(literal).then_some(0) } else { left.find(literal) };
        let Some(start) = start else {
            // The rules did more than replace: all of it counts.
            found.insert(text.to_owned());
            return;
        };
        if at > 0 {
            found.insert(left[..start].to_owned());
        }
        left = &left[start + literal.len()..];
    }
    match left.strip_suffix(last) {
        Some(secret) if !literals.is_empty() => found.insert(secret.to_owned()),
        _ => found.insert(text.to_owned()),
    };
}

/// What the shape of a configuration says.
fn structure(value: &Value, kind: Kind, found: &mut BTreeSet<String>) {
    if kind == Kind::Secret {
        return leaves(value, found);
    }
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                structure(value, kind_of(key), found);
            }
        }
        Value::Array(items) => {
            arguments(items, found);
            items.iter().for_each(|item| structure(item, Kind::Plain, found));
        }
        Value::String(text) => address(text, found),
        _ => {}
    }
}

/// Whether each value of a member of this name counts as a credential: an environment, headers.
pub(crate) fn holds_credentials(key: &str) -> bool {
    kind_of(key) == Kind::Secret
}

/// Whether what stands in a member, or behind an option, is the name of a variable: `bearer_token_env_var`, `env_vars`, `--bearer-env`.
pub(super) fn names_variable(key: &str) -> bool {
    const ENDS: [&str; 4] = ["env_var", "env_vars", "env_http_headers", "-env"];
    ENDS.iter().any(|end| key.ends_with(end)) && key != "-env" && key != "--env"
}

/// `GITHUB_TOKEN`: what is written so is a name, and no token is.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && is_variable(text)
        && (text.contains('_') || text.chars().all(|c| c.is_ascii_uppercase()))
}

/// `GITHUB_TOKEN`, or with the header that it is the value of: `X-Key: GITHUB_TOKEN`.
fn names_one(word: &str) -> bool {
    is_name(word.split_once(": ").map_or(word, |(_, name)| name))
}

fn bare(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Whether a member of this name is an environment.
pub(super) fn is_environment(key: &str) -> bool {
    matches!(bare(key).as_str(), "env" | "envs" | "environment")
}

/// What the members of a member are, by its name.
pub(super) fn kind_of(key: &str) -> Kind {
    let name = bare(key);
    // Those of Codex that name variables hold no value.
    let is_headers = name.ends_with("headers") && name != "envhttpheaders";
    if is_environment(key) || is_headers { Kind::Secret } else { Kind::Plain }
}

/// Every leaf is one. Of `NAME=VALUE` it is the value; of JSON in a text, each string in it.
fn leaves(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                leaves(&inner, found);
            }
            if let Some((_, value)) = text.split_once('=') {
                found.insert(value.to_owned());
            }
            if let Some((scheme, rest)) = text.split_once(' ')
                && ["bearer", "basic", "token"].contains(&scheme.to_ascii_lowercase().as_str())
            {
                found.insert(rest.trim().to_owned());
            }
            address(text, found);
            found.insert(text.clone());
        }
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            found.insert(number.to_string());
        }
    }
}

/// The words of a command line: what stands behind an option that says so, `--option=VALUE`, `NAME=VALUE`, `Name: VALUE`.
fn arguments(items: &[Value], found: &mut BTreeSet<String>) {
    let mut before = "";
    for word in items.iter().map(|item| item.as_str().unwrap_or_default()) {
        if names_variable(before) && names_one(word) {
            before = word;
            continue;
        }
        match word.split_once('=') {
            Some((name, value)) if says_secret(name) || is_variable(name) || sets_variable(name) => {
                found.insert(value.to_owned());
                if let Some((inner, value)) = value.split_once('=')
                    && is_variable(inner)
                {
                    found.insert(value.to_owned());
                }
            }
            _ => {}
        }
        let is_header = matches!(before, "-H" | "--header" | "--headers");
        if before.starts_with('-')
            && !before.contains('=')
            // What stands behind it is its value, unless it is the next option.
            && !is_option(word)
            && !is_header
            && says_secret(before)
        {
            found.insert(word.to_owned());
        }
        if let Some((name, value)) = word.split_once(':')
            && (is_header || says_secret(name))
            && !value.starts_with("//")
        {
            let value = value.trim();
            found.insert(value.to_owned());
            if let Some((_, rest)) = value.split_once(' ') {
                found.insert(rest.trim().to_owned());
            }
        }
        before = word;
    }
}

/// `--verbose`, `-v`: letters and hyphens alone. A value that begins with a hyphen and holds anything else is a value.
fn is_option(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
}

/// `--api-key`, `-token`, `Authorization`.
fn says_secret(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "token",
        "secret",
        "passw",
        "pwd",
        "key",
        "auth",
        "cred",
        "cookie",
        "bearer",
        "session",
        "dsn",
        "connection",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// `DATABASE_URL`.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// `--env=NAME=VALUE`.
fn sets_variable(name: &str) -> bool {
    matches!(name, "-e" | "--env")
}

/// What an address holds beside its host and path: user and password, the values of its query, its fragment.
fn address(text: &str, found: &mut BTreeSet<String>) {
    let Some((_, rest)) = text.split_once("://") else { return };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = before.split(['/', '\\']).next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@') {
        found.insert(user.to_owned());
        if let Some((name, password)) = user.split_once(':') {
            found.insert(name.to_owned());
            found.insert(password.to_owned());
        }
    }
    for pair in query.split(['&', ';']) {
        found.insert(pair.split_once('=').map_or(pair, |(_, value)| value).to_owned());
    }
    if !fragment.is_empty() {
        found.insert(fragment.to_owned());
    }
}

/// A text without any of the secrets.
pub(super) fn masked_text(text: &str, known: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in known.iter().filter(|secret| !secret.is_empty() && !HIDDEN.contains(secret.as_str())) {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(document: Value) -> Vec<String> {
        Secrets::default().of(&document)
    }

    #[test]
    fn structure_and_rules_say_what_is_a_secret() {
        let github = format!("ghp_{}", "0123456789abcdefghijklmnopqrstuvwxyz");
        let found = of(json!({
            "mcpServers": {"a": {
                "command": "npx",
                "args": ["-y", "pkg", "--api-key", "behind-option", "--token=with-equals", "-e", "NAME=of-variable",
                    "--header", "X-Any: of-header", "postgres://user:of-address@host/db", &github],
                "env": {"LEVEL": "verbose", "N": 12345, "ON": true, "TAB": "a"},
            }, "b": {"url": "https://h/p?k=of-query#of-fragment", "headers": {"Authorization": "Bearer of-bearer"},
                "http_headers": {"X": "codex-header"}, "env_http_headers": {"X": "NAME_OF_VARIABLE"}}},
            "oauthAccount": {"accessToken": "of-account-1234567890"},
        }));
        for secret in [
            "behind-option",
            "with-equals",
            "of-variable",
            "of-header",
            "of-address",
            "verbose",
            "12345",
            "of-query",
            "of-fragment",
            "of-bearer",
            "codex-header",
            "of-account-1234567890",
            &github,
        ] {
            assert!(found.iter().any(|one| one == secret), "{secret}: {found:?}");
        }
        for plain in ["npx", "pkg", "NAME_OF_VARIABLE", "https://h/p", "a", "true"] {
            assert!(!found.iter().any(|one| one == plain), "{plain}: {found:?}");
        }
    }

    #[test]
    fn only_the_secret_part_of_a_text_is_one() {
        let mut found = BTreeSet::new();
        replaced("a S1 b S2", "a [redacted:key:0123] b [redacted:key:4567]", &mut found);
        assert_eq!(found, ["S1", "S2"].map(String::from).into());
        found.clear();
        replaced("S1 tail", "[redacted:key:0123] tail", &mut found);
        assert_eq!(found, ["S1"].map(String::from).into());
        found.clear();
        replaced("other", "something else", &mut found);
        assert_eq!(found, ["other"].map(String::from).into(), "what is not understood is hidden whole");
    }

    #[test]
    fn the_name_of_a_server_says_nothing_of_its_entry() {
        for name in ["token", "apikey", "secrets", "passwords", "pw", "env", "headers"] {
            let entry = json!({"command": "/opt/bir/bin/bir-proxy",
                "args": ["--server-name", name, "--", "npx", "-y", "pkg"], "env": {"LEVEL": "verbose-1"}});
            for member in ["mcpServers", "mcp_servers", "extensions"] {
                let known = of(json!({member: {name: entry}}));
                assert_eq!(known, ["verbose-1"], "{member}.{name}");
            }
        }
        assert_eq!(of(json!({"servers": {"token": "canary-12345"}})), ["canary-12345"], "no entry");
        let environment = json!({"A": "word"});
        assert_eq!(of(json!({"hooks": {"env": environment}})), ["word"], "no entry");
    }

    #[test]
    fn a_key_of_the_shape_of_a_credential_is_one() {
        let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        for document in [
            json!({"mcpServers": {token: {"command": "x"}}}),
            json!({"mcpServers": {"a": {"headers": {format!("X-{token}"): true}}}}),
            json!({"mcpServers": {"a": {"env": {token: true}, "more": [{"deep": true}]}}}),
            json!({"list": [{token: true}]}),
        ] {
            assert_eq!(of(document.clone()), [token], "{document}");
        }
    }

    #[test]
    fn names_of_variables_are_shown_unless_they_look_like_a_token() {
        let github = format!("ghp_{}", "0123456789abcdefghijklmnopqrstuvwxyz");
        let entry = json!({
            "bearer_token_env_var": "GITHUB_TOKEN", "env_vars": ["API_KEY", "SECRET"],
            "args": ["--bearer-env", "GITHUB_TOKEN", "--header-env", "Authorization: AUTH_TOKEN", "--url-env", "SECRET_URL"],
        });
        let known = of(entry.clone());
        let text = entry.to_string();
        assert_eq!(masked_text(&text, &known), text, "{known:?}");
        for (member, value) in
            [("bearer_token_env_var", github.as_str()), ("bearer_token_env_var", "AKIA2E4XK7QJ5MZPW3RT")]
        {
            let known = of(json!({member: value}));
            assert!(known.iter().any(|one| one == value), "{value}: {known:?}");
        }
        let known = of(json!({"args": ["--bearer-env", github.as_str(), "--env", "TOKEN=canary-1"]}));
        assert!(
            [github.as_str(), "canary-1"].iter().all(|one| known.iter().any(|known| known == one)),
            "{known:?}"
        );
    }

    #[test]
    fn a_large_document_is_looked_through_in_parts() {
        let mut document = json!({"history": (0..3000).map(|n| json!({"display": format!("prompt {n} of many words")})).collect::<Vec<_>>()});
        document["oauthAccount"] = json!({"refreshToken": "of-account-1234567890"});
        assert!(of(document).contains(&"of-account-1234567890".to_owned()));
    }
}
