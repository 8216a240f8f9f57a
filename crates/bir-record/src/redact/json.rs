//! Tokens of JSON as bytes: where a string, number or literal ends, what a string says, and how a place in what it says is found again
//! in how it is written.

use std::fmt::Write as _;

use memchr::{memchr, memchr2};

use super::placeholder::Edit;

/// A string token without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Str {
    /// First byte after the opening quote.
    pub(super) start: usize,
    /// The closing quote.
    pub(super) end: usize,
    /// It holds a backslash.
    pub(super) escaped: bool,
    /// It holds control characters or escapes that JSON does not have.
    pub(super) faulty: bool,
}

/// Reads the string whose opening quote is at `at`; `None` when it does not end.
pub(super) fn string(bytes: &[u8], at: usize) -> Option<Str> {
    let start = at + 1;
    let mut pos = start;
    let mut escaped = false;
    let mut faulty = false;
    loop {
        let next = pos + memchr2(b'"', b'\\', bytes.get(pos..)?)?;
        faulty = faulty || bytes[pos..next].iter().any(|b| *b < 0x20);
        if bytes[next] == b'"' {
            return Some(Str { start, end: next, escaped, faulty });
        }
        escaped = true;
        let letter = *bytes.get(next + 1)?;
        let known = matches!(letter, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
            || letter == b'u'
                && bytes.get(next + 2..next + 6).is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit));
        let half = known && letter == b'u' && matches!(unit(bytes, next), Some(0xD800..=0xDFFF));
        faulty = faulty || !known || half;
        pos = next + 2;
    }
}

/// Where the number that begins at `at` ends.
pub(super) fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| {
        from + bytes.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut pos = at;
    if bytes.get(pos) == Some(&b'-') {
        pos += 1;
    }
    let whole = digits(pos);
    if whole == pos || (bytes[pos] == b'0' && whole > pos + 1) {
        return None;
    }
    pos = whole;
    if bytes.get(pos) == Some(&b'.') {
        let end = digits(pos + 1);
        if end == pos + 1 {
            return None;
        }
        pos = end;
    }
    if matches!(bytes.get(pos), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(pos + 1), Some(b'+' | b'-')));
        let end = digits(pos + 1 + sign);
        if end == pos + 1 + sign {
            return None;
        }
        pos = end;
    }
    Some(pos)
}

/// Where the literal that begins at `at` ends.
pub(super) fn literal(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    [&b"true"[..], b"false", b"null"].iter().find(|w| rest.starts_with(w)).map(|w| at + w.len())
}

/// The first byte at or after `at` that is not white space.
pub(super) fn space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count()
}

/// Where the value that begins at `at` ends, by brackets and strings alone.
pub(super) fn skip(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut pos = at;
    loop {
        match bytes.get(pos)? {
            b'"' => pos = string(bytes, pos)?.end + 1,
            b'{' | b'[' => {
                depth += 1;
                pos += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                pos += 1;
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth > 0 => {
                pos += 1;
                continue;
            }
            _ => {
                let rest = &bytes[pos..];
                let len = rest
                    .iter()
                    .take_while(|b| {
                        !matches!(
                            b,
                            b',' | b':' | b']' | b'}' | b'[' | b'{' | b'"' | b' ' | b'\n' | b'\r' | b'\t'
                        )
                    })
                    .count();
                if len == 0 {
                    return None;
                }
                pos += len;
            }
        }
        if depth == 0 {
            return Some(pos);
        }
    }
}

/// The code unit of the `\uXXXX` at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !hex.iter().all(u8::is_ascii_hexdigit) {
        // `+041` is a number too.
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

/// The escape at `at`: how many bytes it is written in, and what it says. One that JSON does not have says its backslash.
pub(super) fn escape(bytes: &[u8], at: usize) -> (usize, char) {
    let simple = match bytes.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            return match unit(bytes, at) {
                Some(high @ 0xD800..0xDC00) => match unit(bytes, at + 6) {
                    Some(low @ 0xDC00..0xE000) => {
                        let scalar = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                        (12, char::from_u32(scalar).unwrap_or('\u{fffd}'))
                    }
                    _ => (6, '\u{fffd}'),
                },
                Some(unit) => (6, char::from_u32(unit).unwrap_or('\u{fffd}')),
                None => (1, '\\'),
            };
        }
        _ => return (1, '\\'),
    };
    (2, simple)
}

/// What the inside of a string token says.
pub(super) fn decode(raw: &str, out: &mut String) {
    out.clear();
    let bytes = raw.as_bytes();
    let mut pos = 0;
    while let Some(plain) = memchr(b'\\', &bytes[pos..]) {
        out.push_str(&raw[pos..pos + plain]);
        let (len, said) = escape(bytes, pos + plain);
        out.push(said);
        pos += plain + len;
    }
    out.push_str(&raw[pos..]);
}

/// Writes `text` as the inside of a string token.
pub(super) fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// Edits of what a string says become edits of how it is written; `base` is where its inside begins. With `mend`, escapes and control characters
/// that JSON readers refuse are mended on the way.
pub(super) fn place(
    raw: &str,
    token: Str,
    base: usize,
    said: &mut Vec<Edit>,
    mend: bool,
    out: &mut Vec<Edit>,
) {
    for edit in said.iter_mut() {
        if edit.text.contains(['"', '\\']) || edit.text.contains(|c| c < ' ') {
            let mut text = String::with_capacity(edit.text.len() + 16);
            encode(&edit.text, &mut text);
            edit.text = text;
        }
    }
    let written_anew = token.escaped || (mend && token.faulty);
    if !written_anew {
        out.extend(said.drain(..).map(|e| Edit { start: base + e.start, end: base + e.end, text: e.text }));
        return;
    }
    let bytes = raw.as_bytes();
    let mut edits = said.drain(..).peekable();
    // The edit that is being passed, with its first byte as written.
    let mut within: Option<(usize, Edit)> = None;
    let (mut written, mut at) = (0, 0);
    loop {
        if let Some((start, edit)) = within.take_if(|(_, edit)| at >= edit.end) {
            out.push(Edit { start: base + start, end: base + written, text: edit.text });
        }
        while within.is_none() {
            match edits.next_if(|e| at >= e.start) {
                Some(edit) if at >= edit.end && edit.end > edit.start => {}
                Some(edit) if edit.end == edit.start => {
                    out.push(Edit { start: base + written, end: base + written, text: edit.text });
                }
                Some(edit) => within = Some((written, edit)),
                None => break,
            }
        }
        // As far as the next thing that matters.
        let goal = within
            .as_ref()
            .map(|(_, e)| e.end)
            .or_else(|| edits.peek().map(|e| e.start))
            .unwrap_or(usize::MAX);
        let far = goal.saturating_sub(at).min(bytes.len() - written);
        let Some(first) = bytes.get(written) else { break };
        if *first == b'\\' {
            let (len, said) = escape(bytes, written);
            if mend && within.is_none() {
                if len == 1 {
                    out.push(Edit { start: base + written, end: base + written + 1, text: "\\\\".into() });
                } else if len == 6 && matches!(unit(bytes, written), Some(0xD800..=0xDFFF)) {
                    out.push(Edit { start: base + written, end: base + written + 6, text: "\\ufffd".into() });
                }
            }
            written += len;
            at += said.len_utf8();
            continue;
        }
        if *first < 0x20 && mend && within.is_none() {
            let mut text = String::new();
            encode(char::from(*first).encode_utf8(&mut [0; 4]), &mut text);
            out.push(Edit { start: base + written, end: base + written + 1, text });
        }
        let plain = bytes[written..written + far.max(1)]
            .iter()
            .skip(1)
            .take_while(|b| **b != b'\\' && (**b >= 0x20 || !mend))
            .count();
        written += plain + 1;
        at += plain + 1;
    }
    if let Some((start, edit)) = within {
        out.push(Edit { start: base + start, end: base + written, text: edit.text });
    }
    out.extend(edits.map(|e| Edit { start: base + written, end: base + written, text: e.text }));
}

#[cfg(test)]
mod tests {
    use super::super::placeholder::apply;
    use super::*;

    #[test]
    fn numbers_as_json_has_them() {
        for (text, end) in [("0", 1), ("-0.5e+10,", 8), ("12]", 2), ("1E5", 3)] {
            assert_eq!(number(text.as_bytes(), 0), Some(end), "{text}");
        }
        for text in ["01", "-", ".5", "1.", "1e", "1e+", "+1"] {
            assert_eq!(number(text.as_bytes(), 0), None, "{text}");
        }
    }

    #[test]
    fn a_place_in_what_is_said_is_found_in_what_is_written() {
        let written = r#""a\n\u00e9\ud83d\ude00 secret\u0021 \/ end""#;
        let token = string(written.as_bytes(), 0).unwrap();
        let raw = &written[token.start..token.end];
        let mut said = String::new();
        decode(raw, &mut said);
        assert_eq!(said, "a\né😀 secret! / end");
        let start = said.find("secret!").unwrap();
        let mut out = Vec::new();
        place(
            raw,
            token,
            token.start,
            &mut vec![Edit { start, end: start + 7, text: "X\"".into() }],
            true,
            &mut out,
        );
        assert_eq!(apply(written, &out), r#""a\n\u00e9\ud83d\ude00 X\" \/ end""#);
    }

    #[test]
    fn what_readers_refuse_is_mended() {
        let written = "\"\\ud800 \\x a\nb \\udc00\\ud800\\u0041 \\u+041 tail\"";
        let token = string(written.as_bytes(), 0).unwrap();
        assert!(token.faulty);
        let raw = &written[token.start..token.end];
        let mut out = Vec::new();
        place(raw, token, token.start, &mut Vec::new(), true, &mut out);
        let mended = apply(written, &out);
        assert_eq!(mended, r#""\ufffd \\x a\nb \ufffd\ufffd\u0041 \\u+041 tail""#);
        serde_json::from_str::<String>(&mended).unwrap();
    }

    #[test]
    fn values_are_skipped_whole() {
        for (text, rest) in
            [(r#"{"a]":[1,{"b":"}"}]} x"#, " x"), ("12,3", ",3"), (r#""a\"b",1"#, ",1"), ("[]]", "]")]
        {
            assert_eq!(&text[skip(text.as_bytes(), 0).unwrap()..], rest);
        }
        for text in ["[1", "{\"a", "", "]", "[}"] {
            let end = skip(text.as_bytes(), 0);
            assert!(end.is_none() || text == "[}", "{text}");
        }
    }
}
