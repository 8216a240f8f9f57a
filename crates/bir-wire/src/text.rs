//! A JSON string token and what it says.
//!
//! The token is written with quotes and escapes; these functions compare and decode it. They trust that the scanner
//! accepted the token; on anything else they answer `None` or `false` and never panic.

use std::borrow::Cow;

/// One decoded step of a string token.
enum Step<'a> {
    /// Bytes that stand for themselves.
    Plain(&'a [u8]),
    /// A character that was written as an escape.
    Char(char),
    /// A `\u` escape of half a surrogate pair, which no Rust string can hold.
    Lone,
}

struct Steps<'a> {
    rest: &'a [u8],
}

impl<'a> Steps<'a> {
    fn of(token: &'a [u8]) -> Option<Self> {
        Some(Self { rest: token.strip_prefix(b"\"")?.strip_suffix(b"\"")? })
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.rest.get(at..at + 4)?;
        digits.iter().try_fold(0, |n, d| Some(n * 16 + (*d as char).to_digit(16)?))
    }
}

impl<'a> Iterator for Steps<'a> {
    /// `None` inside: this is no JSON string.
    type Item = Option<Step<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = *self.rest.first()?;
        if first != b'\\' {
            let plain = memchr::memchr(b'\\', self.rest).unwrap_or(self.rest.len());
            let (plain, rest) = self.rest.split_at(plain);
            self.rest = rest;
            return Some(Some(Step::Plain(plain)));
        }
        let (step, length) = match self.rest.get(1) {
            Some(c @ (b'"' | b'\\' | b'/')) => (Step::Char(*c as char), 2),
            Some(b'b') => (Step::Char('\u{8}'), 2),
            Some(b'f') => (Step::Char('\u{c}'), 2),
            Some(b'n') => (Step::Char('\n'), 2),
            Some(b'r') => (Step::Char('\r'), 2),
            Some(b't') => (Step::Char('\t'), 2),
            Some(b'u') => match self.hex(2) {
                None => return Some(None),
                Some(high @ 0xd800..0xdc00) if self.rest.get(6..8) == Some(b"\\u") => match self.hex(8) {
                    Some(low @ 0xdc00..0xe000) => {
                        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        (char::from_u32(code).map_or(Step::Lone, Step::Char), 12)
                    }
                    _ => (Step::Lone, 6),
                },
                Some(code) => (char::from_u32(code).map_or(Step::Lone, Step::Char), 6),
            },
            _ => return Some(None),
        };
        self.rest = &self.rest[length..];
        Some(Some(step))
    }
}

/// Returns what a string token says; `None` for any other token. Without escapes nothing is copied. Half a surrogate
/// pair becomes U+FFFD.
pub fn decode(token: &[u8]) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    let mut text = String::with_capacity(inner.len());
    for step in Steps::of(token)? {
        match step? {
            Step::Plain(bytes) => text.push_str(str::from_utf8(bytes).ok()?),
            Step::Char(c) => text.push(c),
            Step::Lone => text.push('\u{fffd}'),
        }
    }
    Some(Cow::Owned(text))
}

/// Decodes a string token into `buffer` and returns the length; `None` when it does not fit, holds half a surrogate
/// pair, or is no string.
pub(crate) fn decode_into(token: &[u8], buffer: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for step in Steps::of(token)? {
        let mut four = [0; 4];
        let piece = match step? {
            Step::Plain(bytes) => bytes,
            Step::Char(c) => c.encode_utf8(&mut four).as_bytes(),
            Step::Lone => return None,
        };
        buffer.get_mut(length..length + piece.len())?.copy_from_slice(piece);
        length += piece.len();
    }
    Some(length)
}

/// Appends a string token that says `plain`, with no more escapes than JSON asks for.
pub fn encode(plain: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in plain.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => {
                let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Whether a string token says `plain`, without allocating. Half a surrogate pair equals nothing.
pub fn is(token: &[u8], plain: &str) -> bool {
    let Some(steps) = Steps::of(token) else { return false };
    let mut rest = plain.as_bytes();
    for step in steps {
        let mut buffer = [0; 4];
        let piece = match step {
            Some(Step::Plain(bytes)) => bytes,
            Some(Step::Char(c)) => c.encode_utf8(&mut buffer).as_bytes(),
            Some(Step::Lone) | None => return false,
        };
        match rest.strip_prefix(piece) {
            Some(left) => rest = left,
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding() {
        for (token, text) in [
            (r#""""#, ""),
            (r#""plain é 😀""#, "plain é 😀"),
            (r#""\u0069d""#, "id"),
            (r#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{c}\n\r\tz"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\uD83D\uDE00x""#, "😀x"),
            (r#""\u0000""#, "\0"),
        ] {
            assert_eq!(decode(token.as_bytes()).as_deref(), Some(text));
            assert!(is(token.as_bytes(), text), "{token}");
            assert!(!is(token.as_bytes(), &format!("{text}x")));
            assert!(!is(token.as_bytes(), &format!("x{text}")));
            assert_eq!(serde_json::from_str::<String>(token).unwrap(), text);
        }
        assert!(matches!(decode(br#""a/b""#), Some(Cow::Borrowed("a/b"))));
    }

    #[test]
    fn encoding_is_read_back() {
        for text in ["", "plain é 😀", "a\"b\\c/d", "\0\u{1f}\n\t\u{7f}"] {
            let mut token = Vec::new();
            encode(text, &mut token);
            assert_eq!(serde_json::from_slice::<String>(&token).unwrap(), text);
            assert!(is(&token, text));
        }
    }

    #[test]
    fn half_a_pair_is_replaced_and_equals_nothing() {
        for token in
            [r#""\ud800\ue000""#, r#""\ud800""#, r#""\udc00""#, r#""a\ud800\u0041""#, r#""\ud800\ud800""#]
        {
            let text = decode(token.as_bytes()).unwrap();
            assert!(text.contains('\u{fffd}'));
            assert!(!is(token.as_bytes(), &text));
        }
        assert_eq!(decode(br#""\ud800\ud83d\ude00""#).as_deref(), Some("\u{fffd}😀"));
    }

    #[test]
    fn other_tokens_are_no_text() {
        for token in
            [&b""[..], b"1", b"null", b"\"", b"\"a", b"{}", b"\"\\", b"\"\\u12\"", b"\"\\x\"", b"\"\\\""]
        {
            assert_eq!(decode(token), None);
            assert!(!is(token, ""));
        }
    }
}
