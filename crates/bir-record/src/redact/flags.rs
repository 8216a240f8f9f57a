//! Secrets of command lines: `--password x`, `-u user:x`, `mysql -px`, `sshpass -p x`.

use super::lex::{LONGEST_NAME, Value, begins_line, shell_word, spaces};
use super::names::Class;
use super::placeholder::{self, Edit, Kind};
use super::{Job, cookie, look};

/// Bytes before a short flag in which its program is looked for.
const PROGRAM_WITHIN: usize = 512;

impl Job<'_> {
    /// A flag of a command line at `at`.
    pub(super) fn flag(&self, text: &str, at: usize, out: &mut Vec<Edit>) -> Option<usize> {
        let bytes = text.as_bytes();
        let boundary = at == 0
            || bytes[at - 1].is_ascii_whitespace()
            || matches!(bytes[at - 1], b'"' | b'\'' | b'`' | b'[' | b'(');
        if !boundary {
            return None;
        }
        let rest = &bytes[at + 1..];
        if rest.first() != Some(&b'-') {
            return self.short_flag(text, at, out);
        }
        let len = rest
            .iter()
            .take(LONGEST_NAME)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            .count();
        let end = at + 1 + len;
        let gap = spaces(bytes, end);
        if gap == end || len < 4 {
            return None;
        }
        let name = text.get(at + 2..end)?;
        let value = shell_word(bytes, gap)?;
        let said = text.get(value.start..value.end)?;
        if name == "user" || name == "proxy-user" {
            return self.user(text, &value, out);
        }
        let class = self.classify(name);
        let kind = match class {
            Class::Secret(kind) => kind,
            Class::Pwd => Kind::Key,
            Class::Weak if look::opaque(said, 8) => Kind::Entropy,
            Class::Cookie => return cookie::list(self, text, value.start, value.end, out),
            _ => return None,
        };
        let names_itself = said.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
            && ["TOKEN", "KEY", "PASSWORD", "SECRET", "VALUE", "STRING", "PASS"]
                .iter()
                .any(|w| said.contains(w));
        if !value.quoted && (said.starts_with('-') || names_itself || is_help(said)) {
            return None;
        }
        self.replace(text, value.start, value.end, kind, out)
    }

    fn short_flag(&self, text: &str, at: usize, out: &mut Vec<Edit>) -> Option<usize> {
        let bytes = text.as_bytes();
        let letter = *bytes.get(at + 1)?;
        if !matches!(letter, b'u' | b'p' | b'b' | b'a') {
            return self.long_flag(text, at, out);
        }
        let before = &bytes[at.saturating_sub(PROGRAM_WITHIN)..at];
        let line = &before[before.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1)..];
        let runs = |names: &[&str]| names.iter().any(|n| memchr::memmem::find(line, n.as_bytes()).is_some());
        let gap = spaces(bytes, at + 2);
        let attached = gap == at + 2;
        let value = shell_word(bytes, gap)?;
        match letter {
            b'u' if runs(&["curl", "wget", "http"]) => self.user(text, &value, out),
            b'b' if !attached && runs(&["curl"]) => cookie::list(self, text, value.start, value.end, out),
            b'p' if (attached && runs(&["mysql", "mariadb"])) || runs(&["sshpass"]) => {
                self.replace(text, value.start, value.end, Kind::Key, out)
            }
            b'p' if !attached && runs(&["docker login", "podman login"]) => {
                self.replace(text, value.start, value.end, Kind::Key, out)
            }
            b'a' if !attached && runs(&["redis-cli"]) => {
                self.replace(text, value.start, value.end, Kind::Key, out)
            }
            _ => self.long_flag(text, at, out),
        }
    }

    /// `tool -apiKey x`: a name after one dash.
    fn long_flag(&self, text: &str, at: usize, out: &mut Vec<Edit>) -> Option<usize> {
        let bytes = text.as_bytes();
        let length =
            bytes[at + 1..].iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric()).count();
        let end = at + 1 + length;
        let gap = spaces(bytes, end);
        if length < 4 || gap == end || at == 0 || bytes[at - 1] != b' ' || begins_line(bytes, at) {
            return None;
        }
        let Class::Secret(kind) = self.classify(text.get(at + 1..end)?) else { return None };
        let value = shell_word(bytes, gap)?;
        let said = text.get(value.start..value.end)?;
        if !value.quoted && (said.starts_with('-') || is_help(said) || !look::opaque(said, 6)) {
            return None;
        }
        self.replace(text, value.start, value.end, kind, out)
    }

    /// `user:password` as one word.
    fn user(&self, text: &str, value: &Value, out: &mut Vec<Edit>) -> Option<usize> {
        let (user, password) = placeholder::split(text.get(value.start..value.end)?)?;
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if password.starts_with("//") || digits(user) && digits(password) {
            return None;
        }
        self.replace(text, value.start + user.len() + 1, value.end, Kind::Basic, out)
    }
}

/// Words that follow a flag in a help text or a sentence.
fn is_help(said: &str) -> bool {
    [
        "to",
        "is",
        "for",
        "and",
        "or",
        "the",
        "a",
        "an",
        "if",
        "with",
        "in",
        "on",
        "option",
        "flag",
        "from",
        "as",
        "must",
        "should",
        "can",
        "will",
        "was",
        "not",
        "it",
        "of",
        "value",
        "instead",
        "when",
        "which",
        "that",
        "are",
        "has",
        "argument",
        "parameter",
        "switch",
        "by",
        "you",
        "at",
        "may",
        "=",
    ]
    .contains(&said.trim_end_matches([',', '.', ':']))
        || said.starts_with(['<', '[', '=', '#'])
}
