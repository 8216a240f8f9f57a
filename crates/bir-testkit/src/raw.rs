//! Finding fields of a JSON message as byte slices, without decoding the message.
//!
//! The test upstream has to give ids, progress tokens, arguments and whole lines back exactly as they
//! came (`1.0` stays `1.0`, `"\u00e9"` stays escaped), so nothing here goes through a JSON tree.
//! The finder trusts its input: on text that is not JSON it returns `None` or a slice that ends early,
//! and never panics. Of duplicate keys it takes the first.

use std::fmt::Write as _;

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Index just past the string that starts at `at` (which holds the opening quote).
fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Index just past the value that starts at `at`. Iterative, so depth costs no stack.
fn skip_value(text: &[u8], mut at: usize) -> Option<usize> {
    match *text.get(at)? {
        b'"' => skip_string(text, at),
        b'{' | b'[' => {
            let mut depth = 0usize;
            loop {
                match *text.get(at)? {
                    b'"' => {
                        at = skip_string(text, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
        _ => {
            let end = text[at..]
                .iter()
                .position(|c| matches!(c, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
                .map_or(text.len(), |n| at + n);
            (end > at).then_some(end)
        }
    }
}

/// The members of an object as (raw key with quotes, raw value). Empty when `object` is none.
pub fn members(object: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    let mut at = skip_space(object, 0);
    if object.get(at) != Some(&b'{') {
        return found;
    }
    at += 1;
    loop {
        at = skip_space(object, at);
        if object.get(at) != Some(&b'"') {
            return found;
        }
        let Some(key_end) = skip_string(object, at) else { return found };
        let key = &object[at..key_end];
        at = skip_space(object, key_end);
        if object.get(at) != Some(&b':') {
            return found;
        }
        at = skip_space(object, at + 1);
        let Some(end) = skip_value(object, at) else { return found };
        found.push((key, &object[at..end]));
        at = skip_space(object, end);
        if object.get(at) != Some(&b',') {
            return found;
        }
        at += 1;
    }
}

/// The elements of an array as raw values. Empty when `array` is none.
pub fn elements(array: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = skip_space(array, 0);
    if array.get(at) != Some(&b'[') {
        return found;
    }
    at += 1;
    loop {
        at = skip_space(array, at);
        let Some(end) = array.get(at).filter(|c| **c != b']').and_then(|_| skip_value(array, at)) else {
            return found;
        };
        found.push(&array[at..end]);
        at = skip_space(array, end);
        if array.get(at) != Some(&b',') {
            return found;
        }
        at += 1;
    }
}

/// The raw value of `key` in `object`. Keys written with escapes are decoded before they are compared.
pub fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    members(object).into_iter().find_map(|(name, value)| {
        let plain = &name[1..name.len() - 1];
        let same =
            plain == key.as_bytes() || (plain.contains(&b'\\') && string(name).as_deref() == Some(key));
        same.then_some(value)
    })
}

/// The raw value at the end of a path of keys.
pub fn path<'a>(object: &'a [u8], keys: &[&str]) -> Option<&'a [u8]> {
    keys.iter().try_fold(object, |value, key| get(value, key))
}

/// The decoded text of a raw JSON string; `None` when it is no string (lone surrogates become U+FFFD).
pub fn string(value: &[u8]) -> Option<String> {
    if value.first() != Some(&b'"') {
        return None;
    }
    if let Ok(text) = serde_json::from_slice::<String>(value) {
        return Some(text);
    }
    let body = value.get(1..value.len().checked_sub(1)?)?;
    Some(String::from_utf8_lossy(body).into_owned())
}

/// A raw JSON number as a count; absent, negative and non-numbers give 0.
pub fn count(value: Option<&[u8]>) -> u64 {
    value
        .and_then(|v| std::str::from_utf8(v).ok())
        .and_then(|v| v.trim().parse::<f64>().ok())
        .map_or(0, |number| number as u64)
}

/// `text` as a JSON string with quotes. Only what JSON demands is escaped; bytes that are not UTF-8
/// become U+FFFD.
pub fn quote(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What a JSON-RPC message is, with the raw slices that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A method and an id.
    Request(&'a [u8]),
    /// A method without id.
    Notification,
    /// An id without method.
    Response(&'a [u8]),
    /// Neither: not an object, or an object with no envelope.
    Other,
}

/// Sorts a message by its envelope.
pub fn kind(message: &[u8]) -> Kind<'_> {
    match (get(message, "method"), get(message, "id")) {
        (Some(_), Some(id)) => Kind::Request(id),
        (Some(_), None) => Kind::Notification,
        (None, Some(id)) => Kind::Response(id),
        (None, None) => Kind::Other,
    }
}

/// The decoded method of a message; empty when there is none.
pub fn method(message: &[u8]) -> String {
    get(message, "method").and_then(string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_written() {
        let line = br#" { "id" : 1.0 ,"method":"a\/b", "params":{"x":[1,{"y":"}\""}],"z":-0} } "#;
        assert_eq!(get(line, "id"), Some(&b"1.0"[..]));
        assert_eq!(method(line), "a/b");
        assert_eq!(path(line, &["params", "x"]), Some(&br#"[1,{"y":"}\""}]"#[..]));
        assert_eq!(path(line, &["params", "z"]), Some(&b"-0"[..]));
        assert_eq!(path(line, &["params", "q"]), None);
        assert_eq!(elements(b"[1, [2] ,\"a,b\"]"), [&b"1"[..], b"[2]", b"\"a,b\""]);
    }

    #[test]
    fn the_first_of_duplicate_keys_counts_and_escaped_keys_are_found() {
        assert_eq!(get(br#"{"id":1,"id":2}"#, "id"), Some(&b"1"[..]));
        assert_eq!(get(br#"{"\u0069d":7}"#, "id"), Some(&b"7"[..]));
    }

    #[test]
    fn broken_text_gives_nothing_and_no_panic() {
        for text in
            ["", "{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":}", "[", "\"", "{\"a\":\"\\", "nope", "[1,"]
        {
            assert_eq!(get(text.as_bytes(), "a"), None, "{text}");
        }
        assert_eq!(elements(b"[1,"), [&b"1"[..]]);
    }

    #[test]
    fn quoting_is_undone_by_a_parser() {
        let text = "a\"b\\c\nd\u{1}\u{7f}é😀";
        assert_eq!(string(quote(text.as_bytes()).as_bytes()).as_deref(), Some(text));
    }

    #[test]
    fn messages_are_sorted_by_envelope() {
        assert_eq!(kind(br#"{"id":1,"method":"m"}"#), Kind::Request(b"1"));
        assert_eq!(kind(br#"{"method":"m"}"#), Kind::Notification);
        assert_eq!(kind(br#"{"id":"x","result":{}}"#), Kind::Response(b"\"x\""));
        assert_eq!(kind(b"[]"), Kind::Other);
    }
}
