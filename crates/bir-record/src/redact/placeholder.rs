//! What stands in a secret's place: `[redacted:KIND:HEX12]`, and the list of places in a text that get one.
//!
//! A placeholder holds no character that JSON escapes, so it looks the same at every depth of quoting, and it is made of the
//! value alone: equal secrets stay equal, wherever they stood.

use std::fmt::Write as _;

/// How a secret was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The name that it stood under.
    Key,
    /// A bearer credential.
    Bearer,
    /// A basic credential.
    Basic,
    /// A JSON web token.
    Jwt,
    /// A key of a model provider or a payment service.
    ApiKey,
    /// GitHub.
    Github,
    /// Amazon Web Services.
    Aws,
    /// Slack.
    Slack,
    /// Google.
    Google,
    /// A private key in PEM armour.
    Pem,
    /// A password or token in a URL.
    Url,
    /// The value of a cookie.
    Cookie,
    /// The value of an environment variable.
    Env,
    /// Looks random and stands under a name that suggests a secret.
    Entropy,
    /// A token of another service, or the value of a name that says token.
    Token,
    /// A rule of the user's.
    Custom,
    /// A key under a name that holds the place of its file as often: a place stays.
    KeyFile,
    /// A key under a name that no list knows: a very short word stays.
    AnyKey,
    /// A number that opens something: what is none stays.
    Pin,
}

const KINDS: [(Kind, &str); 19] = [
    (Kind::Key, "key"),
    (Kind::Bearer, "bearer"),
    (Kind::Basic, "basic"),
    (Kind::Jwt, "jwt"),
    (Kind::ApiKey, "api-key"),
    (Kind::Github, "github"),
    (Kind::Aws, "aws"),
    (Kind::Slack, "slack"),
    (Kind::Google, "google"),
    (Kind::Pem, "pem"),
    (Kind::Url, "url"),
    (Kind::Cookie, "cookie"),
    (Kind::Env, "env"),
    (Kind::Entropy, "entropy"),
    (Kind::Token, "token"),
    (Kind::Custom, "custom"),
    (Kind::KeyFile, "key"),
    (Kind::AnyKey, "key"),
    (Kind::Pin, "key"),
];

impl Kind {
    /// The name within a placeholder.
    pub(super) fn as_str(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("key", |(_, name)| name)
    }
}

const OPENING: &[u8] = b"[redacted:";
/// Hexadecimal digits of a placeholder: 48 bits, enough to tell the secrets of one installation apart.
const DIGITS: usize = 12;
/// The longest placeholder in bytes.
pub(super) const LONGEST: usize = OPENING.len() + "api-key".len() + 1 + DIGITS + 1;

/// The placeholder of a value that hashes to `hash`.
pub(super) fn render(kind: Kind, hash: &[u8]) -> String {
    let mut text = String::with_capacity(LONGEST);
    text.push_str("[redacted:");
    text.push_str(kind.as_str());
    text.push(':');
    for byte in hash.iter().take(DIGITS / 2) {
        let _ = write!(text, "{byte:02x}");
    }
    text.push(']');
    text
}

/// Where the placeholder that begins at `at` ends.
pub(super) fn end_at(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?.strip_prefix(OPENING)?;
    let colon = rest.iter().take(8).position(|b| *b == b':')?;
    let known = KINDS.iter().any(|(_, name)| name.as_bytes() == &rest[..colon]);
    let digits = rest.get(colon + 1..colon + 1 + DIGITS)?;
    let hex = digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let closed = rest.get(colon + 1 + DIGITS) == Some(&b']');
    (known && hex && closed).then_some(at + OPENING.len() + colon + 1 + DIGITS + 1)
}

/// The placeholder that `at` would cut in two: where it begins.
pub(super) fn start_across(bytes: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_sub(LONGEST);
    (from..at).find(|start| end_at(bytes, *start).is_some_and(|end| end > at))
}

/// The two sides of the first colon that is not one of a placeholder.
pub(super) fn split(said: &str) -> Option<(&str, &str)> {
    let bytes = said.as_bytes();
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b':', b'[', bytes.get(from..)?)?;
        if bytes[at] == b':' {
            return Some((said.get(..at)?, said.get(at + 1..)?));
        }
        from = end_at(bytes, at).unwrap_or(at + 1);
    }
}

/// A part of a text and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// First byte that goes.
    pub(super) start: usize,
    /// The byte after the last that goes.
    pub(super) end: usize,
    /// What comes instead.
    pub(super) text: String,
}

/// Applies edits in their order; those that would run into an earlier one are left out.
pub(super) fn apply(text: &str, edits: &[Edit]) -> String {
    let extra: usize = edits.iter().map(|e| e.text.len()).sum();
    let mut out = String::with_capacity(text.len() + extra);
    let mut copied = 0;
    for edit in edits {
        if edit.start < copied {
            continue;
        }
        if let (Some(between), Some(_)) = (text.get(copied..edit.start), text.get(edit.end..)) {
            out.push_str(between);
            out.push_str(&edit.text);
            copied = edit.end;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// What stands for something that was cut off.
pub(super) fn marker(original_bytes: u64) -> String {
    format!("{{\"truncated\":true,\"originalBytes\":{original_bytes}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_known_again() {
        for (kind, name) in KINDS {
            let text = render(kind, &[0xab, 1, 2, 3, 4, 5, 6]);
            assert_eq!(text, format!("[redacted:{name}:ab0102030405]"));
            assert_eq!(end_at(text.as_bytes(), 0), Some(text.len()));
            assert!(text.len() <= LONGEST);
            assert_eq!(start_across(text.as_bytes(), 7), Some(0));
            assert_eq!(start_across(text.as_bytes(), text.len()), None);
            assert_eq!(split(&text), None);
            assert_eq!(split(&format!("[a{text}:b:c")), Some((&*format!("[a{text}"), "b:c")));
        }
        for no in [
            "[redacted:other:ab0102030405]",
            "[redacted:key:AB0102030405]",
            "[redacted:key:ab01020304",
            "[redacted:",
        ] {
            assert_eq!(end_at(no.as_bytes(), 0), None, "{no}");
        }
    }
}
