//! Secrets that a name before them gives away, in text: `password: x`, `API_KEY=x`, `"token": "x"`, `Authorization: Bearer x`, `Cookie: a=b`,
//! `?access_token=x`, `--password x`, `-u user:x`, `mysql -px`, `<password>x</password>`.
//!
//! Text is not only configuration: it is prose and program code too. So a bare value has to stand as one stands in a file of settings (alone on
//! its line, tight after `=`, quoted), or to look like a secret; types, references, calls and words of help texts are left alone.

use super::names::Class;
use super::placeholder::{self, Edit, Kind};
use super::{Job, cookie, look, shapes};

/// Bytes of a name.
const LONGEST_NAME: usize = 64;
/// A bare value that is longer is not looked at for being something else.
const LONGEST_LOOK: usize = 512;
/// Bytes before a short flag in which its program is looked for.
const PROGRAM_WITHIN: usize = 512;

fn spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take(64).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

fn name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

/// A name before `=` or `:`.
#[derive(Clone, Copy)]
struct Name {
    start: usize,
    end: usize,
    /// The quote around it.
    quote: Option<u8>,
    /// White space stands between it and the sign.
    spaced: bool,
}

fn name_before(bytes: &[u8], sign: usize) -> Option<Name> {
    let mut at = sign;
    while at > 0 && sign - at < 8 && matches!(bytes[at - 1], b' ' | b'\t') {
        at -= 1;
    }
    let spaced = at != sign;
    // headers["x-api-key"] = …, password?: …
    if at > 0 && matches!(bytes[at - 1], b']' | b'?' | b'!') {
        at -= 1;
    }
    let mut quote = None;
    if at > 0 && matches!(bytes[at - 1], b'"' | b'\'' | b'`') {
        quote = Some(bytes[at - 1]);
        at -= 1;
        while at > 0 && bytes[at - 1] == b'\\' {
            at -= 1;
        }
    }
    let end = at;
    while at > 0 && end - at < LONGEST_NAME && name_byte(bytes[at - 1]) {
        at -= 1;
    }
    // An escape of a text within a text: \nPASSWORD=
    if at > 0 && bytes[at - 1] == b'\\' && matches!(bytes.get(at), Some(b'n' | b'r' | b't')) && end - at > 1 {
        at += 1;
    }
    (at < end).then_some(Name { start: at, end, quote, spaced })
}

/// Nothing but indentation, list dashes and `export` stands before it in its line.
fn begins_line(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(64);
    let before = &bytes[from..at];
    let line = match before.iter().rposition(|b| *b == b'\n') {
        Some(end) => &before[end + 1..],
        None if from == 0 => before,
        None => return false,
    };
    let line = line.trim_ascii();
    matches!(
        line,
        b"" | b"-"
            | b"export"
            | b"set"
            | b"ENV"
            | b"- name"
            | b"\""
            | b"'"
            | b"//"
            | b"#"
            | b">"
            | b"*"
            | b"+"
    )
}

/// What stands after the sign.
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
}

/// A quoted value whose quote, or the backslashes before it, are at `at`.
fn quoted(bytes: &[u8], at: usize) -> Option<Value> {
    let slashes = bytes.get(at..)?.iter().take(8).take_while(|b| **b == b'\\').count();
    let quote = *bytes.get(at + slashes).filter(|b| matches!(b, b'"' | b'\'' | b'`'))?;
    let start = at + slashes + 1;
    let mut pos = start;
    loop {
        let rest = &bytes[pos..];
        let Some(next) = rest.iter().position(|b| *b == quote || *b == b'\n') else {
            return Some(Value { start, end: bytes.len(), quoted: true });
        };
        let end = pos + next;
        if bytes[end] == b'\n' {
            return Some(Value { start, end, quoted: true });
        }
        let escapes = bytes[start..end].iter().rev().take_while(|b| **b == b'\\').count();
        if escapes == slashes && slashes > 0 {
            return Some(Value { start, end: end - slashes, quoted: true });
        }
        if slashes == 0 && escapes % 2 == 0 {
            return Some(Value { start, end, quoted: true });
        }
        pos = end + 1;
    }
}

/// Whether a further assignment begins at `at`.
fn assigns(bytes: &[u8], at: usize) -> bool {
    let at = spaces(bytes, at);
    let rest = bytes.get(at..).unwrap_or_default();
    let name = rest.iter().take(LONGEST_NAME).take_while(|b| name_byte(**b) || **b == b' ').count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

/// Where the bare value that begins at `start` ends.
fn bare_end(bytes: &[u8], start: usize, query: bool) -> usize {
    let mut at = start;
    while let Some(&b) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let last = next.is_ascii_whitespace()
            || matches!(next, b'"' | b'\'' | b'`' | b')' | b']' | b'}' | b',' | b';');
        let ends = match b {
            b'"' | b'\'' | b'`' | b'<' | b'>' => true,
            b'\\' => matches!(next, b'n' | b'r' | b't' | b'"' | b'\''),
            b'&' => query || next == b'&' || assigns(bytes, at + 1),
            b'#' => query,
            b';' | b',' => last || assigns(bytes, at + 1),
            b')' | b']' | b'}' => last,
            b'|' => next == b'|',
            b => b.is_ascii_whitespace(),
        };
        if ends {
            break;
        }
        at += 1;
    }
    at
}

/// `self.token`, `getToken()`, `&str`, `[1]`: code that says where a secret comes from.
fn is_code(value: &str, name: &str) -> bool {
    let first = value.as_bytes().first().copied().unwrap_or(b' ');
    matches!(first, b'(' | b'{' | b'[' | b'&' | b'|' | b'=' | b'+' | b'!')
        || value.contains('(')
        || value == name
        || (value.contains('.') && value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b'_')))
        || value.contains("::")
        || value.contains("->")
}

/// A type: it begins with a capital, or a sign that only code has follows.
fn is_type(bytes: &[u8], value: &str, end: usize) -> bool {
    let follows = bytes.get(spaces(bytes, end)).copied();
    value.bytes().all(|b| b.is_ascii_alphabetic())
        && (value.starts_with(|c: char| c.is_ascii_uppercase())
            && value.bytes().any(|b| b.is_ascii_lowercase()))
        && matches!(follows, Some(b',' | b')' | b';' | b'=' | b'<' | b'|' | b'?' | b'{'))
}

fn word(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
}

/// The rest of the line holds nothing but a comment.
fn ends_line(bytes: &[u8], at: usize) -> bool {
    let at = spaces(bytes, at);
    match bytes.get(at) {
        None | Some(b'\n' | b'\r' | b'#') => true,
        Some(b'\\') => matches!(bytes.get(at + 1), Some(b'n' | b'r')),
        Some(b';' | b',') => matches!(bytes.get(spaces(bytes, at + 1)), None | Some(b'\n' | b'\r')),
        _ => false,
    }
}

/// The names that say secret and not token or key: what stands after them is seldom code.
fn is_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "pwd", "passphrase", "secret", "pass"].iter().any(|w| name.ends_with(w))
}

impl Job<'_> {
    fn replace(
        &self,
        text: &str,
        start: usize,
        end: usize,
        kind: Kind,
        out: &mut Vec<Edit>,
    ) -> Option<usize> {
        if out.last().is_some_and(|last| last.end > start) {
            return None;
        }
        let said = text.get(start..end)?;
        if said.is_empty() || look::harmless(said) {
            return None;
        }
        if let Some(end) = placeholder::end_at(text.as_bytes(), start) {
            return Some(end);
        }
        out.push(Edit { start, end, text: self.placeholder(self.kind_of(said).unwrap_or(kind), said) });
        Some(end)
    }

    /// What the `=` or `:` at `at` assigns. Says where reading goes on when it took something.
    pub(super) fn assignment(&self, text: &str, at: usize, out: &mut Vec<Edit>) -> Option<usize> {
        let bytes = text.as_bytes();
        let equals = bytes[at] == b'=';
        let before = *bytes.get(at.checked_sub(1)?)?;
        let next = bytes.get(at + 1).copied().unwrap_or(b'\n');
        let mut after = at + 1;
        let mut sign = at;
        let mut colon = !equals;
        if equals {
            if next == b'=' || matches!(before, b'!' | b'<' | b'>' | b'=' | b'~') {
                return None;
            }
            if next == b'>' {
                after += 1;
                colon = true;
            } else if before == b':' {
                sign -= 1;
            }
        } else if next == b':' || before == b':' || next == b'=' {
            return None;
        }
        let name = name_before(bytes, sign)?;
        let mut said = text.get(name.start..name.end)?;
        let mut class = self.classify(said);
        let query = equals && name.start > 0 && matches!(bytes[name.start - 1], b'?' | b'&');
        match class {
            Class::WeakKey if name.start > 1 && bytes[name.start - 1] == b' ' => {
                // `API key: …`
                let mut from = name.start - 1;
                while from > 0 && name.start - from < 20 && bytes[from - 1].is_ascii_alphabetic() {
                    from -= 1;
                }
                said = text.get(from..name.end)?;
                class = self.classify(said);
            }
            Class::Plain if query && is_signature(said) => class = Class::Secret(Kind::Url),
            Class::Plain if query && said == "code" => class = Class::WeakKey,
            _ => {}
        }
        let kind = match class {
            Class::Secret(_) if query => Kind::Url,
            Class::Secret(kind) => kind,
            Class::Pwd => Kind::Key,
            Class::Weak | Class::WeakKey => Kind::Entropy,
            Class::Cookie => Kind::Cookie,
            _ => return None,
        };
        let mut start = spaces(bytes, after);
        // b"…", f'…'
        if matches!(bytes.get(start), Some(b'b' | b'f' | b'r' | b'u'))
            && matches!(bytes.get(start + 1), Some(b'"' | b'\''))
        {
            start += 1;
        }
        let value = match quoted(bytes, start) {
            Some(value) => value,
            None => Value { start, end: start, quoted: false },
        };
        if bytes.get(value.start..)?.starts_with(b"-----BEGIN ") {
            return None;
        }
        let header = said.to_ascii_lowercase();
        if header.ends_with("authorization") || class == Class::Cookie {
            let end = if value.quoted { value.end } else { line_end(bytes, start, enclosing(bytes, name)) };
            if class == Class::Cookie {
                return cookie::list(self, text, value.start, end, out);
            }
            return self.authorization(text, value.start, end, value.quoted || name.quote.is_some(), out);
        }
        if value.quoted {
            let said_value = text.get(value.start..value.end)?;
            let phrase = said_value.contains(' ') && !is_password(said);
            let takes = match class {
                Class::Weak => look::opaque(said_value, 8),
                Class::WeakKey => look::random(said_value),
                Class::Pwd => !look::path(said_value),
                _ => !phrase,
            };
            if takes {
                return self.replace(text, value.start, value.end, kind, out);
            }
            // `Bearer x` under a name of a token: the shape finds it.
            return None;
        }
        let tight = equals && !name.spaced && start == after;
        let ends = bare_end(bytes, start, query);
        let ends = if !text.is_char_boundary(ends) { return None } else { ends };
        let bare = text.get(start..ends)?;
        if bare.is_empty() {
            return None;
        }
        if placeholder::end_at(bytes, start).is_some() {
            return placeholder::end_at(bytes, start);
        }
        if bare.len() > LONGEST_LOOK {
            return self.replace(text, start, ends, kind, out);
        }
        if !query && (is_code(bare, said) && !(tight && names_variable(said)) || is_type(bytes, bare, ends)) {
            return None;
        }
        let alone = begins_line(bytes, name.start) && ends_line(bytes, ends);
        let structured = name.quote.is_some() || listed(bytes, name.start);
        let takes = match class {
            Class::Weak => look::opaque(bare, 8),
            Class::WeakKey => look::random(bare),
            Class::Pwd if look::path(bare) => false,
            _ if query || (tight && !colon) => true,
            // `name = value`, in settings or in code.
            _ if equals && !colon => !word(bare) || (is_password(said) && ends_line(bytes, ends)),
            _ => alone || (structured && !next.is_ascii_alphabetic()) || look::opaque(bare, 6),
        };
        if takes { self.replace(text, start, ends, kind, out) } else { None }
    }

    /// What follows `Authorization:`: the scheme stays.
    fn authorization(
        &self,
        text: &str,
        start: usize,
        end: usize,
        sure: bool,
        out: &mut Vec<Edit>,
    ) -> Option<usize> {
        let value = text.get(start..end)?.trim_end();
        let end = start + value.len();
        if let Some((scheme, kind)) = scheme_of(value) {
            let rest = spaces(text.as_bytes(), start + scheme);
            let many = matches!(value.as_bytes()[0] | 32, b'd' | b'a' | b'h' | b'o');
            let stop = if many {
                end
            } else {
                rest + value[rest - start..].find([' ', '\t', ',']).unwrap_or(end - rest)
            };
            return self.replace(text, rest, stop, kind, out);
        }
        let stop = start + value.find([' ', '\t']).unwrap_or(value.len());
        let first = text.get(start..stop)?;
        if stop == end && (sure && !is_code(first, "") || look::opaque(first, 6)) || look::opaque(first, 12) {
            return self.replace(text, start, stop, Kind::Key, out);
        }
        None
    }

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
            return None;
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
            _ => None,
        }
    }

    /// `user:password` as one word.
    fn user(&self, text: &str, value: &Value, out: &mut Vec<Edit>) -> Option<usize> {
        let (user, password) = text.get(value.start..value.end)?.split_once(':')?;
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if password.starts_with("//") || digits(user) && digits(password) {
            return None;
        }
        self.replace(text, value.start + user.len() + 1, value.end, Kind::Basic, out)
    }

    /// The text of the XML element whose opening tag ends at `at`.
    pub(super) fn element(&self, text: &str, at: usize, out: &mut Vec<Edit>) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut start = at;
        while start > 0
            && at - start < LONGEST_NAME
            && (name_byte(bytes[start - 1]) || bytes[start - 1] == b':')
        {
            start -= 1;
        }
        if start == at || start == 0 || bytes[start - 1] != b'<' {
            return None;
        }
        let Class::Secret(kind) = self.classify(&text[start..at]) else { return None };
        let rest = &bytes[at + 1..bytes.len().min(at + 1 + 4096)];
        let len = rest.iter().position(|b| *b == b'<')?;
        if rest.get(len + 1) != Some(&b'/') || rest[..len].trim_ascii().is_empty() {
            return None;
        }
        self.replace(text, at + 1, at + 1 + len, kind, out)
    }
}

fn is_signature(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "sig" || name.ends_with("signature")
}

/// `FOO_TOKEN`: tight after it stands a value, not code.
fn names_variable(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// A scheme of `Authorization` with what follows it: its length and kind.
fn scheme_of(value: &str) -> Option<(usize, Kind)> {
    let (word, rest) = value.split_once([' ', '\t'])?;
    if rest.trim().is_empty() {
        return None;
    }
    let kind = match word.to_ascii_lowercase().as_str() {
        "bearer" => Kind::Bearer,
        "basic" => Kind::Basic,
        "token" | "apikey" | "api-key" | "key" | "jwt" | "bot" | "negotiate" | "ntlm" | "digest" | "hawk"
        | "oauth" | "aws4-hmac-sha256" => Kind::Token,
        _ => return None,
    };
    Some((word.len(), kind))
}

/// The scheme of a whole value such as `Bearer x`, when what follows looks like a credential.
pub(super) fn scheme_rest(value: &str) -> Option<(usize, Kind)> {
    let (len, kind) = scheme_of(value)?;
    let rest = len + 1 + value[len + 1..].len() - value[len + 1..].trim_start().len();
    let said = &value[rest..];
    (look::opaque(said, 6) || (kind == Kind::Basic && shapes::is_basic(said))).then_some((rest, kind))
}

/// The quote that a header stands in with its name: `-H 'Cookie: …'`.
fn enclosing(bytes: &[u8], name: Name) -> Option<u8> {
    let before = *bytes.get(name.start.checked_sub(1)?)?;
    matches!(before, b'"' | b'\'' | b'`').then_some(before)
}

fn line_end(bytes: &[u8], start: usize, quote: Option<u8>) -> usize {
    let mut at = start;
    while let Some(&b) = bytes.get(at) {
        let ends = match (b, quote) {
            (b'\n' | b'\r', _) => true,
            (b'\\', _) => matches!(bytes.get(at + 1), Some(b'n' | b'r' | b'"' | b'\'')),
            (b, Some(quote)) => b == quote,
            (b'"' | b'\'' | b'`', None) => true,
            _ => false,
        };
        if ends || at - start >= 16 * 1024 {
            break;
        }
        at += 1;
    }
    at
}

/// In a flow of members: `{user: bob, password: x}`.
fn listed(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(8);
    matches!(bytes[from..at].trim_ascii_end().last(), Some(b'{' | b','))
}

fn shell_word(bytes: &[u8], at: usize) -> Option<Value> {
    if let Some(value) = quoted(bytes, at) {
        return Some(value);
    }
    let len = bytes
        .get(at..)?
        .iter()
        .take_while(|b| {
            !b.is_ascii_whitespace()
                && !matches!(b, b'"' | b'\'' | b'`' | b';' | b'|' | b'<' | b'>' | b')' | b'\\')
        })
        .count();
    (len > 0).then_some(Value { start: at, end: at + len, quoted: false })
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
