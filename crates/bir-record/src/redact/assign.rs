//! Secrets that a name before them gives away, in text: `password: x`, `API_KEY=x`, `"token": "x"`, `Authorization: Bearer x`, `Cookie: a=b`,
//! `?access_token=x`, `<password>x</password>`. What it says in JSON is read by [`super::walk`], flags by [`super::flags`].
//!
//! Text is not only configuration: it is prose and program code too. So a bare value has to stand as one stands in a file of settings (alone on
//! its line, tight after `=`, quoted), or to look like a secret; types, references, calls and words of help texts are left alone.

use super::code::{is_alias, is_code, is_parameter, is_type, word};
use super::header::{self, Lines};
use super::lex::{
    LONGEST_NAME, Value, bare_end, begins_line, ends_line, listed, name_before, name_byte, quoted, spaces,
};
use super::names::Class;
use super::placeholder::{self, Edit, Kind};
use super::{Job, cookie, look};

/// A bare value that is longer is not looked at for being something else.
const LONGEST_LOOK: usize = 512;

/// The names that say secret and not token or key: what stands after them is seldom code.
fn is_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "pwd", "passphrase", "secret", "pass"].iter().any(|w| name.ends_with(w))
}

impl Job<'_> {
    pub(super) fn replace(
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
        if said.is_empty() || look::harmless(said) || look::spared(kind, said) {
            return None;
        }
        if let Some(end) = placeholder::end_at(text.as_bytes(), start) {
            return Some(end);
        }
        out.push(Edit { start, end, text: self.placeholder(self.kind_of(said).unwrap_or(kind), said) });
        Some(end)
    }

    /// What the `=` or `:` at `at` assigns. Says where reading goes on when it took something.
    pub(super) fn assignment(
        &self,
        text: &str,
        at: usize,
        lines: &mut Lines,
        out: &mut Vec<Edit>,
    ) -> Option<usize> {
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
        let mut name = name_before(bytes, sign)?;
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
            Class::Plain if name.start > 0 && !bytes[name.start - 1].is_ascii() => {
                // `contraseña: …`
                let mut from = name.start;
                while from > 0
                    && name.end - from < LONGEST_NAME
                    && (name_byte(bytes[from - 1]) || !bytes[from - 1].is_ascii())
                {
                    from -= 1;
                }
                if let Some(whole) = text.get(from..name.end) {
                    said = whole;
                    class = self.classify(said);
                    name.start = from;
                }
            }
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
            let end = if value.quoted {
                value.end
            } else {
                lines.end(bytes, start, header::enclosing(bytes, name))
            };
            if class == Class::Cookie {
                return cookie::list(self, text, value.start, end, out);
            }
            return self.authorization(text, value.start, end, value.quoted || name.quote.is_some(), out);
        }
        if value.quoted {
            let said_value = text.get(value.start..value.end)?;
            // found token: `{`
            if said_value.len() < 4 && !said_value.bytes().any(|b| b.is_ascii_alphanumeric() || b >= 0x80) {
                return None;
            }
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
        // NAME=$(command)
        if bare.starts_with("$(") {
            return None;
        }
        if !query && (is_code(bare, said) && !(tight && names_variable(said)) || is_type(bytes, bare, ends)) {
            return None;
        }
        let alone = begins_line(bytes, name.start) && ends_line(bytes, ends);
        // `token = 0`, `token = :token`, `password: *default`
        let single = !query && bare.len() == 1 && bare.as_bytes()[0].is_ascii_digit();
        if single
            || (equals && is_parameter(bare, said, name.spaced, query))
            || (colon && alone && is_alias(bare))
        {
            return None;
        }
        let structured =
            name.quote.is_some() || listed(bytes, name.start) || is_header(bytes, name.start, said, ends);
        let takes = match class {
            Class::Weak => look::opaque(bare, 8),
            Class::WeakKey => look::random(bare),
            Class::Pwd if look::path(bare) => false,
            _ if query || (tight && !colon) => true,
            // `name = value`, in settings or in code.
            // Words that a semicolon follows are code.
            _ if equals && !colon => {
                !word(bare) || (is_password(said) && ends_line(bytes, ends) && bytes.get(ends) != Some(&b';'))
            }
            _ => alone || (structured && !next.is_ascii_alphabetic()) || look::opaque(bare, 6),
        };
        if takes { self.replace(text, start, ends, kind, out) } else { None }
    }

    /// The JSON that a name before the sign at `at` says is secret: where it begins, and what it is.
    pub(super) fn announced(&self, text: &str, at: usize) -> Option<(usize, Class)> {
        let bytes = text.as_bytes();
        let start = spaces(bytes, at + 1);
        if !matches!(bytes.get(start), Some(b'{' | b'[')) || placeholder::end_at(bytes, start).is_some() {
            return None;
        }
        let name = name_before(bytes, at)?;
        match self.classify(text.get(name.start..name.end)?) {
            class @ (Class::Secret(_) | Class::Env(_) | Class::Cookie) => Some((start, class)),
            _ => None,
        }
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

/// `'X-Api-Key: x'`: a header in quotes of its own.
fn is_header(bytes: &[u8], start: usize, name: &str, end: usize) -> bool {
    let quote = start.checked_sub(1).map(|at| bytes[at]);
    name.contains('-') && matches!(quote, Some(b'"' | b'\'' | b'`')) && bytes.get(end).copied() == quote
}

fn is_signature(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "sig" || name.ends_with("signature")
}

/// `FOO_TOKEN`: tight after it stands a value, not code.
fn names_variable(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}
