//! Headers in text: `Authorization: Bearer x`, and where a header ends that may hold blanks.

use super::code::is_code;
use super::lex::{Name, spaces};
use super::placeholder::{Edit, Kind};
use super::{Job, look, shapes};

/// The longest scheme, `aws4-hmac-sha256`.
const LONGEST_SCHEME: usize = 16;
/// Bytes of a credential without a scheme that say what it is.
const LONGEST_LOOK: usize = 512;
/// Bytes of a header.
const LONGEST_HEADER: usize = 16 * 1024;

impl Job<'_> {
    /// What follows `Authorization:`: the scheme stays.
    pub(super) fn authorization(
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
        // The beginning of a long one tells enough, and keeps a line of many names linear.
        let mut most = value.len().min(LONGEST_LOOK);
        while !value.is_char_boundary(most) {
            most -= 1;
        }
        let length = value[..most].find([' ', '\t']);
        let first = &value[..length.unwrap_or(most)];
        let alone = length.is_none() && most == value.len();
        // `"Bearer " + token`
        if alone && ["bearer", "basic", "token"].iter().any(|w| first.eq_ignore_ascii_case(w)) {
            return None;
        }
        if alone && (sure && !is_code(first, "") || look::opaque(first, 6)) || look::opaque(first, 12) {
            let stop = start + value.find([' ', '\t']).unwrap_or(value.len());
            return self.replace(text, start, stop, Kind::Key, out);
        }
        None
    }
}

/// A scheme of `Authorization` with what follows it: its length and kind.
pub(super) fn scheme_of(value: &str) -> Option<(usize, Kind)> {
    let length = value.bytes().take(LONGEST_SCHEME + 1).position(|b| matches!(b, b' ' | b'\t'))?;
    let (word, rest) = value.split_at(length);
    if rest.trim_start().is_empty() {
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
pub(super) fn enclosing(bytes: &[u8], name: Name) -> Option<u8> {
    let before = *bytes.get(name.start.checked_sub(1)?)?;
    matches!(before, b'"' | b'\'' | b'`').then_some(before)
}

/// Where lines end, remembered so that a line of many headers is read once.
#[derive(Default)]
pub(super) struct Lines {
    /// The bytes of the last line that were read, the quote it was read with, and whether it ended there.
    known: Option<(usize, usize, Option<u8>, bool)>,
    /// Bytes read in all.
    pub(super) read: usize,
}

impl Lines {
    /// Where the header that begins at `start` ends: at the end of its line, or at the quote around it.
    pub(super) fn end(&mut self, bytes: &[u8], start: usize, quote: Option<u8>) -> usize {
        let limit = bytes.len().min(start + LONGEST_HEADER);
        let mut at = start;
        if let Some((from, to, with, ended)) = self.known
            && with == quote
            && (from..=to).contains(&start)
        {
            if ended {
                return to;
            }
            at = to;
        }
        let mut ended = false;
        while at < limit && !ended {
            ended = match (bytes[at], quote) {
                (b'\n' | b'\r', _) => true,
                (b'\\', _) => matches!(bytes.get(at + 1), Some(b'n' | b'r' | b'"' | b'\'')),
                (b, Some(quote)) => b == quote,
                (b'"' | b'\'' | b'`', None) => true,
                _ => false,
            };
            at += usize::from(!ended);
            self.read += 1;
        }
        self.known = Some((start, at, quote, ended));
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_once() {
        let text = "authorization:".repeat(40_000);
        let mut lines = Lines::default();
        for start in (14..text.len()).step_by(14) {
            lines.end(text.as_bytes(), start, None);
        }
        assert!(lines.read <= text.len(), "{} of {}", lines.read, text.len());
    }

    #[test]
    fn where_headers_end() {
        let end = |text: &'static str, quote| &text[..Lines::default().end(text.as_bytes(), 0, quote)];
        assert_eq!(end("a b\nc", None), "a b");
        assert_eq!(end("a \" b", None), "a ");
        assert_eq!(end("a \" b' c", Some(b'\'')), "a \" b");
        assert_eq!(end(r"a\nb", None), "a");
    }
}
