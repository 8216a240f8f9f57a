//! Secrets in the places where they turn up, and look-alikes that are none: what a redaction is held against.
//!
//! ```text
//!  seed ──▶ kind (named · shaped) ──▶ a value, or a text around it ──▶ place: arguments, result, error, JSON within strings
//! ```
//!
//! Written from what is promised to users (`docs/redaction.md`) and from how real credentials look, not from how the redactor works. The same
//! seed gives the same set; kinds take turns, so that every kind is in any set of some hundred.

mod alikes;
mod named;
mod rng;
mod shaped;

use rng::Rng;
use serde_json::{Value, json};

/// Levels of JSON within strings that are looked into.
const MOST_LEVELS: usize = 7;

/// The member of a message that a value stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `arguments` of a call.
    Arguments,
    /// `result` of an answer.
    Result,
    /// `error` of an answer.
    Error,
}

/// A JSON value with secrets in it.
#[derive(Debug, Clone)]
pub struct Hidden {
    /// What it is and how it is written.
    pub kind: &'static str,
    /// Where it stands.
    pub place: Place,
    /// The value as it is on the wire.
    pub json: String,
    /// What must not be left, in the spelling of the innermost text. Prefixes such as `ghp_` are not part of it.
    pub secrets: Vec<String>,
}

/// A JSON value that must keep every byte.
#[derive(Debug, Clone)]
pub struct Alike {
    /// What it looks like.
    pub kind: &'static str,
    /// Where it stands.
    pub place: Place,
    /// The value as it is on the wire.
    pub json: String,
}

/// What a kind makes: a value of JSON, or a text.
enum Said {
    Value(Value),
    Text(String),
}

/// A kind, what it says, and the secrets in it.
type Sample = (&'static str, Said, Vec<String>);

/// `count` values with secrets, each kind in its turn.
#[must_use]
pub fn hidden(seed: u64, count: usize) -> Vec<Hidden> {
    let mut rng = Rng::new(seed);
    (0..count)
        .map(|n| {
            let (kind, said, secrets) =
                if n % 2 == 0 { named::sample(&mut rng, n / 2) } else { shaped::sample(&mut rng, n / 2) };
            let (place, json) = wrap(&mut rng, said);
            Hidden { kind, place, json, secrets }
        })
        .collect()
}

/// `count` values that only look as though they held secrets.
#[must_use]
pub fn alikes(seed: u64, count: usize) -> Vec<Alike> {
    let mut rng = Rng::new(seed ^ 0xa11ce);
    (0..count)
        .map(|n| {
            let (kind, said) = alikes::sample(&mut rng, n);
            let (place, json) = wrap(&mut rng, said);
            Alike { kind, place, json }
        })
        .collect()
}

/// Every part of a secret that would still give it away: `width` characters in a row, or all of a shorter one.
#[must_use]
pub fn parts(secret: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = secret.chars().collect();
    if chars.len() <= width {
        return vec![secret.to_owned()];
    }
    chars.windows(width).map(|w| w.iter().collect()).collect()
}

/// The text with one level of escapes less.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('u') => {
                    let hex: String = rest.by_ref().take(4).collect();
                    out.extend(u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32));
                }
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// A text as it is written, and as it reads with each level of escapes taken off.
#[must_use]
pub fn levels(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    let mut text = text.to_owned();
    while all.len() < MOST_LEVELS && text.contains('\\') {
        text = unescaped(&text);
        all.push(text.clone());
    }
    all
}

/// Puts what a kind says where such a thing stands.
fn wrap(rng: &mut Rng, said: Said) -> (Place, String) {
    let (place, value) = match (said, rng.below(3)) {
        (Said::Value(value), 0) => {
            (Place::Arguments, json!({"target": rng.word(), "item": value, "dryRun": false}))
        }
        (Said::Value(value), 1) => {
            // A result says its structured content once more as text.
            let text = if rng.chance(3) { pretty(&value) } else { value.to_string() };
            let text = if rng.chance(3) { json!({"status": 200, "body": text}).to_string() } else { text };
            (
                Place::Result,
                json!({"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": false}),
            )
        }
        (Said::Value(value), _) => {
            (Place::Error, json!({"code": -32000, "message": format!("refused: {value}"), "data": value}))
        }
        (Said::Text(text), 0) => {
            let member = *rng.pick(&["content", "text", "input", "body", "description"]);
            (Place::Arguments, json!({member: text, "path": "/srv/app/notes.txt", "n": 2.5}))
        }
        (Said::Text(text), 1) => {
            let text = match rng.below(4) {
                0 => json!({"stdout": text, "exitCode": 0}).to_string(),
                1 => json!([json!({"line": 1, "text": text}).to_string()]).to_string(),
                _ => text,
            };
            (Place::Result, json!({"content": [{"type": "text", "text": text}], "isError": rng.chance(2)}))
        }
        (Said::Text(text), _) => (Place::Error, json!({"code": -32603, "message": text})),
    };
    (place, if rng.chance(5) { pretty(&value) } else { value.to_string() })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_whole_and_the_same_for_its_seed() {
        let set = hidden(1, 1000);
        assert_eq!(set.len(), 1000);
        for sample in &set {
            serde_json::from_str::<Value>(&sample.json).unwrap();
            assert!(!sample.secrets.is_empty(), "{}", sample.kind);
            assert!(sample.secrets.iter().all(|s| s.len() >= 5), "{}: {:?}", sample.kind, sample.secrets);
        }
        let kinds: std::collections::BTreeSet<_> = set.iter().map(|s| s.kind).collect();
        assert!(kinds.len() >= 80, "{} kinds", kinds.len());
        let again = hidden(1, 1000);
        assert!(set.iter().zip(&again).all(|(a, b)| a.json == b.json));
        assert!(hidden(2, 1000).iter().zip(&set).filter(|(a, b)| a.json == b.json).count() < 10);
    }

    #[test]
    fn the_secrets_are_in_what_they_are_said_to_be_in() {
        for sample in hidden(3, 1000) {
            let said = levels(&sample.json);
            for secret in &sample.secrets {
                assert!(
                    said.iter().any(|t| t.contains(secret)),
                    "{}: {secret} in {}",
                    sample.kind,
                    sample.json
                );
            }
        }
    }

    #[test]
    fn look_alikes_are_many_and_valid() {
        let set = alikes(1, 1000);
        let kinds: std::collections::BTreeSet<_> = set.iter().map(|s| s.kind).collect();
        assert!(set.len() == 1000 && kinds.len() >= 100, "{} kinds", kinds.len());
        for alike in &set {
            serde_json::from_str::<Value>(&alike.json).unwrap();
        }
    }

    #[test]
    fn parts_of_a_secret() {
        assert_eq!(parts("abcdé", 4), ["abcd", "bcdé"]);
        assert_eq!(parts("abc", 8), ["abc"]);
    }
}
