//! Pieces of text around an assignment: names, values with and without quotes, words of a shell, ends of lines.
//!
//! Each looks a bounded distance ahead, or as far as the value goes that it finds.

/// Bytes of a name.
pub(super) const LONGEST_NAME: usize = 64;

pub(super) fn spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take(64).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

pub(super) fn name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

/// A name before `=` or `:`.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The quote around it.
    pub(super) quote: Option<u8>,
    /// White space stands between it and the sign.
    pub(super) spaced: bool,
}

pub(super) fn name_before(bytes: &[u8], sign: usize) -> Option<Name> {
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
pub(super) fn begins_line(bytes: &[u8], at: usize) -> bool {
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
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
}

/// A quoted value whose quote, or the backslashes before it, are at `at`.
pub(super) fn quoted(bytes: &[u8], at: usize) -> Option<Value> {
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
pub(super) fn assigns(bytes: &[u8], at: usize) -> bool {
    let at = spaces(bytes, at);
    let rest = bytes.get(at..).unwrap_or_default();
    let name = rest.iter().take(LONGEST_NAME).take_while(|b| name_byte(**b) || **b == b' ').count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

/// Where the bare value that begins at `start` ends.
pub(super) fn bare_end(bytes: &[u8], start: usize, query: bool) -> usize {
    let mut at = start;
    while let Some(&b) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let last = next.is_ascii_whitespace()
            || matches!(next, b'"' | b'\'' | b'`' | b')' | b']' | b'}' | b',' | b';');
        let ends = match b {
            b'>' => at == start || bytes[at - 1] != b'-',
            b'"' | b'\'' | b'`' | b'<' => true,
            b'\\' => matches!(next, b'n' | b'r' | b't' | b'"' | b'\''),
            b'&' => query || next == b'&' || assigns(bytes, at + 1),
            b'#' => query,
            b';' | b',' => last || assigns(bytes, at + 1),
            b')' | b']' | b'}' => last || next == b':',
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

/// The rest of the line holds nothing but a comment.
pub(super) fn ends_line(bytes: &[u8], at: usize) -> bool {
    let at = spaces(bytes, at);
    match bytes.get(at) {
        None | Some(b'\n' | b'\r' | b'#') => true,
        Some(b'\\') => matches!(bytes.get(at + 1), Some(b'n' | b'r')),
        Some(b';' | b',') => matches!(bytes.get(spaces(bytes, at + 1)), None | Some(b'\n' | b'\r')),
        _ => false,
    }
}

/// In a flow of members: `{user: bob, password: x}`.
pub(super) fn listed(bytes: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(8);
    matches!(bytes[from..at].trim_ascii_end().last(), Some(b'{' | b','))
}

pub(super) fn shell_word(bytes: &[u8], at: usize) -> Option<Value> {
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
