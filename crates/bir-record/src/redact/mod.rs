//! Redaction and truncation: the only way from a [`Raw`] value to one that may be kept.
//!
//! ```text
//!  Raw ──▶ walk (JSON, once) ──▶ edits ──▶ text with placeholders ──▶ truncate (64 KiB) ──▶ Redacted
//!            │ names: does the key say secret?                          walked again until nothing changes
//!            │ strings: JSON within them (walk again), else scan
//!            └ scan (text, once): shapes · url · assign · cookie
//! ```
//!
//! - What goes is replaced in place; every other byte stays as it was on the wire: number text, order of keys, repeated keys, escapes, white space.
//! - What comes out is JSON, whatever came in: a copy that was cut is closed and marked, a text that is none becomes a string.
//! - Redacting twice is redacting once: placeholders are known and left alone.
//! - Equal secrets have equal placeholders, keyed to the installation ([`RedactionKey`]).
//! - Time is linear in the input, which is looked at up to [`MAX_HEAD`]; depth is bounded.
//!
//! `docs/redaction.md` says for users what is found and what is not.

mod assign;
mod code;
mod compare;
mod cookie;
mod flags;
mod forms;
mod header;
mod json;
mod key;
mod lex;
mod look;
mod members;
mod names;
mod netrc;
mod placeholder;
mod scan;
mod segments;
mod shapes;
mod truncate;
mod url;
mod walk;
mod words;

use std::borrow::Cow;

use crate::safe::{Raw, Redacted, RedactedText};
pub use key::{RedactionKey, Unsynced as UnsyncedKey};
use names::Class;
use placeholder::{Edit, Kind};
use scan::Look;
use segments::Segments;
use walk::Walk;

/// Bytes of a redacted payload at most.
pub const MAX_PAYLOAD: usize = 64 * 1024;
/// Bytes of a redacted text at most.
pub const MAX_TEXT: usize = 64 * 1024;
/// Bytes of a value that are looked at; what is beyond is cut off.
pub const MAX_HEAD: usize = 4 * 1024 * 1024;
/// JSON in strings of JSON, so deep; deeper it is read as text.
const MOST_LEVELS: u32 = 4;
/// Walks over a value in which something was replaced or cut, since what is left may look like a secret then.
const MOST_ROUNDS: usize = 6;
/// What a further round leaves free for placeholders that are longer than what they replace.
const ROUND_SLACK: usize = 4 * 1024;
/// User patterns are compiled up to this size in bytes of their text.
const LONGEST_PATTERN: usize = 1024;

/// What the user adds to the built-in rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Further names whose values are secrets, in any naming convention; they match where their segments stand together in a name.
    pub keys: Vec<String>,
    /// Names that are none, though they look so.
    pub keep: Vec<String>,
    /// Further shapes of values, regular expressions as `regex-lite` has them.
    pub patterns: Vec<String>,
    /// The substring rule of 0.2.12 as well (`BIR_REDACT_LEGACY_KEYS=1`).
    pub legacy_keys: bool,
}

/// Takes secrets out of what is recorded.
#[derive(Debug)]
pub struct Redactor {
    key: RedactionKey,
    /// Normalised, with `_` around and between segments.
    keys: Vec<String>,
    keep: Vec<String>,
    patterns: Vec<regex_lite::Regex>,
    legacy: bool,
}

/// A pattern of the user's.
fn compile(pattern: &str) -> Result<regex_lite::Regex, String> {
    let shown: String = pattern.chars().take(80).collect();
    if pattern.len() > LONGEST_PATTERN {
        return Err(format!(
            "the redaction pattern `{shown}…` cannot be used: it is longer than {LONGEST_PATTERN} bytes"
        ));
    }
    match regex_lite::Regex::new(pattern) {
        Ok(regex) if regex.is_match("") => Err(format!(
            "the redaction pattern `{shown}` cannot be used: it matches the empty text, so it would match everywhere"
        )),
        Ok(regex) => Ok(regex),
        Err(e) => Err(format!("the redaction pattern `{shown}` cannot be used: {e}")),
    }
}

/// A name of the user's, normalised.
fn normal(name: &str, list: &str) -> Result<String, String> {
    let joined = Segments::of(name).joined();
    if joined.is_empty() {
        return Err(format!(
            "the name `{name}` in `{list}` of the redaction rules cannot be used: it holds no letter or digit"
        ));
    }
    Ok(format!("_{joined}_"))
}

/// Whether a pattern of [`Rules`] can be used, else why not.
pub(crate) fn check_pattern(pattern: &str) -> Result<(), String> {
    compile(pattern).map(drop)
}

/// Whether a name in [`Rules::keys`] can be used, else why not.
pub(crate) fn check_key(name: &str) -> Result<(), String> {
    normal(name, "keys").map(drop)
}

impl Redactor {
    /// A redactor, and a warning for each rule that cannot be used, with the reason.
    #[must_use]
    pub fn new(key: RedactionKey, rules: Rules) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let mut ignored = |why: String| warnings.push(format!("{why}; it is ignored"));
        let patterns =
            rules.patterns.iter().filter_map(|text| compile(text).map_err(&mut ignored).ok()).collect();
        let mut normal = |names: &[String], list: &str| -> Vec<String> {
            names.iter().filter_map(|name| normal(name, list).map_err(&mut ignored).ok()).collect()
        };
        let keys = normal(&rules.keys, "keys");
        let keep = normal(&rules.keep, "keep");
        (Self { key, keys, keep, patterns, legacy: rules.legacy_keys }, warnings)
    }

    /// A JSON value without secrets, at most [`MAX_PAYLOAD`] bytes, valid whatever came in.
    #[must_use]
    pub fn payload(&self, raw: Raw<'_>) -> Redacted {
        let complete = raw.head.len() as u64 >= raw.len && raw.head.len() <= MAX_HEAD;
        let original_bytes = raw.len.max(raw.head.len() as u64);
        let text = readable(&raw.head[..raw.head.len().min(MAX_HEAD)], complete);
        let mut job = Job::new(self);
        let (mut json, mut truncated) = job.value(&text, complete, original_bytes);
        for _ in 0..MOST_ROUNDS {
            if !std::mem::take(&mut job.replaced) {
                break;
            }
            json = job.value(&json, true, original_bytes).0;
        }
        drop(text);
        if json.len() > MAX_PAYLOAD {
            truncated = true;
            json = self.cut(&mut job, json, original_bytes);
        }
        Redacted { json, original_bytes, truncated }
    }

    /// A text without secrets, at most [`MAX_TEXT`] bytes. U+0000 becomes U+FFFD, because databases refuse it.
    #[must_use]
    pub fn text(&self, text: &str) -> RedactedText {
        let mut head = text;
        if text.len() > MAX_HEAD {
            let mut end = MAX_HEAD;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            head = &text[..end];
        }
        // First, since it may make a secret of what was none.
        let head = without_nul(head);
        let mut job = Job::new(self);
        let mut out = job.settled(&head);
        for _ in 0..MOST_ROUNDS {
            if out.len() <= MAX_TEXT {
                break;
            }
            out = job.settled(&truncate::cut_text(&out, MAX_TEXT - ROUND_SLACK));
        }
        if out.len() > MAX_TEXT {
            out = truncate::cut_text(&out, MAX_TEXT);
        }
        RedactedText(out)
    }

    /// A name (of a tool, a server) without secrets and U+0000; only shapes are looked for.
    #[must_use]
    pub fn name(&self, name: &str) -> String {
        let mut job = Job::new(self);
        let mut said = without_nul(name).into_owned();
        for _ in 0..MOST_ROUNDS {
            let mut edits = Vec::new();
            job.shapes(&said, &mut edits);
            if edits.is_empty() {
                break;
            }
            said = placeholder::apply(&said, &edits);
        }
        truncate::cut_text(&said, MAX_TEXT)
    }

    fn cut(&self, job: &mut Job<'_>, json: String, original_bytes: u64) -> String {
        let mut limit = MAX_PAYLOAD;
        let mut json = json;
        for _ in 0..MOST_ROUNDS {
            let cut = truncate::cut(&json, limit, original_bytes);
            let (again, _) = job.value(&cut, true, original_bytes);
            if again.len() <= MAX_PAYLOAD && again == cut {
                return again;
            }
            json = again;
            if json.len() > MAX_PAYLOAD {
                limit = limit.saturating_sub(ROUND_SLACK);
            }
        }
        if json.len() <= MAX_PAYLOAD { json } else { placeholder::marker(original_bytes) }
    }
}

/// U+FFFD for U+0000.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { Cow::Borrowed(text) }
}

/// UTF-8, mended where it is none.
fn readable(head: &[u8], complete: bool) -> Cow<'_, str> {
    match std::str::from_utf8(head) {
        Ok(text) => Cow::Borrowed(text),
        // A copy that was cut within a character.
        Err(e) if !complete && e.error_len().is_none() => {
            Cow::Borrowed(std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or_default())
        }
        Err(_) => String::from_utf8_lossy(head),
    }
}

/// The work on one value.
struct Job<'r> {
    redactor: &'r Redactor,
    /// Strings that are used again.
    scratch: Vec<String>,
    /// The last look replaced something.
    replaced: bool,
}

impl<'r> Job<'r> {
    fn new(redactor: &'r Redactor) -> Self {
        Self { redactor, scratch: Vec::new(), replaced: false }
    }

    /// A JSON text, redacted and valid, and whether something of it is missing.
    fn value(&mut self, text: &str, complete: bool, original_bytes: u64) -> (String, bool) {
        let mut edits = Vec::new();
        let mut walk = Walk::new(self, text, 0, 0, &mut edits);
        if !complete {
            walk = walk.cut_from(original_bytes);
        }
        let end = match walk.run(Class::Plain) {
            Ok(end) => end,
            Err(_) => {
                return match walk.mend(original_bytes) {
                    Some((end, tail)) => {
                        self.replaced = true;
                        (placeholder::apply(&text[..end], &edits) + &tail, true)
                    }
                    None if complete => (self.quoted(text), false),
                    None => (placeholder::marker(original_bytes), true),
                };
            }
        };
        self.replaced = !edits.is_empty();
        let rest = text[end..].trim_matches([' ', '\t', '\r', '\n']);
        // A string is no value with something after it: `"a" b` is text.
        let truncated = !rest.is_empty() || !complete;
        if edits.is_empty() && rest.is_empty() {
            return (text.to_owned(), truncated);
        }
        let kept = if rest.is_empty() { text } else { &text[..end] };
        (placeholder::apply(kept, &edits), truncated)
    }

    /// A text that is no JSON, as a string.
    fn quoted(&mut self, text: &str) -> String {
        let plain = self.plain(text);
        self.replaced = true;
        let mut out = String::with_capacity(plain.len() + 2);
        out.push('"');
        json::encode(&plain, &mut out);
        out.push('"');
        out
    }

    /// A text in which nothing more is found.
    fn settled(&mut self, text: &str) -> String {
        let mut out = self.plain(text);
        for _ in 0..MOST_ROUNDS {
            if !std::mem::take(&mut self.replaced) {
                break;
            }
            out = self.plain(&out);
        }
        out
    }

    fn plain(&mut self, text: &str) -> String {
        let mut edits = Vec::new();
        self.mixed(text, 0, &mut edits);
        self.replaced = !edits.is_empty();
        placeholder::apply(text, &edits)
    }

    fn placeholder(&self, kind: Kind, value: &str) -> String {
        self.redactor.key.placeholder(kind, value.as_bytes())
    }

    /// What the value under `name` is, with the user's rules.
    fn classify(&self, name: &str) -> Class {
        let rules = self.redactor;
        let segments = Segments::of(name);
        if !rules.keys.is_empty() || !rules.keep.is_empty() {
            let joined = format!("_{}_", segments.joined());
            if rules.keep.contains(&joined) {
                return Class::Plain;
            }
            if rules.keys.iter().any(|k| joined.contains(k.as_str())) {
                return Class::Secret(Kind::Custom);
            }
        }
        match names::class_of(&segments) {
            Class::Plain | Class::Weak | Class::WeakKey | Class::Cookie
                if rules.legacy && names::legacy(name) =>
            {
                Class::Secret(Kind::Key)
            }
            class => class,
        }
    }

    /// Finds the secrets in what a string says.
    fn string(&mut self, text: &str, class: Class, level: u32, out: &mut Vec<Edit>) {
        match class {
            Class::Secret(Kind::Cookie) if text.contains([' ', '=']) => self.cookies(text, level, out),
            Class::Secret(kind) if !look::spared(kind, text) => self.secret(text, 0, kind, out),
            Class::Pwd if !look::path(text) => self.secret(text, 0, Kind::Key, out),
            Class::Weak if look::opaque(text, 8) => self.secret(text, 0, Kind::Entropy, out),
            Class::WeakKey if look::random(text) => self.secret(text, 0, Kind::Entropy, out),
            Class::Cookie => self.cookies(text, level, out),
            Class::EnvItem => match text.split_once('=') {
                Some((name, _)) if !name.is_empty() && !members::harmless_variable(name, true) => {
                    self.secret(text, name.len() + 1, Kind::Env, out);
                }
                _ => self.mixed(text, level, out),
            },
            _ => self.mixed(text, level, out),
        }
    }

    fn cookies(&mut self, text: &str, level: u32, out: &mut Vec<Edit>) {
        let known = out.len();
        match cookie::list(self, text, 0, text.len(), out) {
            Some(end) if end == text.len() => {}
            _ => {
                out.truncate(known);
                if look::opaque(text, 8) {
                    self.secret(text, 0, Kind::Cookie, out);
                } else {
                    self.mixed(text, level, out);
                }
            }
        }
    }

    /// The string from `from` on is a secret, unless it is empty, stands for one, or was redacted before.
    fn secret(&mut self, text: &str, from: usize, kind: Kind, out: &mut Vec<Edit>) {
        let said = &text[from..];
        if look::harmless(said) || settled(said) || (kind == Kind::Env && matches!(said, "0" | "1")) {
            return;
        }
        if let Some((rest, kind)) = header::scheme_rest(said) {
            out.push(Edit {
                start: from + rest,
                end: text.len(),
                text: self.placeholder(kind, &said[rest..]),
            });
            return;
        }
        let kind = self.kind_of(said).unwrap_or(kind);
        out.push(Edit { start: from, end: text.len(), text: self.placeholder(kind, said) });
    }

    /// The kind of a secret that is one by its shape.
    fn kind_of(&self, said: &str) -> Option<Kind> {
        let bytes = said.as_bytes();
        let found = bytes.iter().take(24).enumerate().find_map(|(at, b)| match b {
            b'_' | b'-' if said.starts_with("-----BEGIN ") => shapes::pem(said, 0).filter(|_| at == 0),
            b'_' | b'-' | b'.' => shapes::prefixed(said, at),
            b'J' => shapes::jwt(said, at),
            b'A' => shapes::capital(said, at),
            _ => None,
        })?;
        (found.start == 0 && found.end >= said.trim_end().len()).then_some(found.kind)
    }

    /// Text, with JSON in it.
    fn mixed(&mut self, text: &str, level: u32, out: &mut Vec<Edit>) {
        scan::scan(self, text, Look::All { level }, out);
    }

    /// JSON that begins at `at` in a text: how far it was taken, and what of that was read in vain.
    fn json_within(
        &mut self,
        text: &str,
        at: usize,
        class: Class,
        level: u32,
        out: &mut Vec<Edit>,
    ) -> (usize, usize) {
        let mut walk = Walk::new(self, text, at, level + 1, out);
        match walk.run(class) {
            Ok(end) => (end, 0),
            Err(_) => {
                let (resume, reached) = (walk.resume(), walk.reached());
                while out.last().is_some_and(|e| e.end > resume) {
                    out.pop();
                }
                (resume, reached.saturating_sub(resume))
            }
        }
    }

    fn shapes(&mut self, text: &str, out: &mut Vec<Edit>) {
        scan::scan(self, text, Look::Shapes, out);
    }
}

/// Whether a string is a placeholder, or a scheme and a placeholder.
fn settled(said: &str) -> bool {
    let Some(at) = said.find('[') else { return false };
    let before = said[..at].trim_end();
    let word = before.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    word && placeholder::end_at(said.as_bytes(), at) == Some(said.len())
}

#[cfg(test)]
mod tests;
