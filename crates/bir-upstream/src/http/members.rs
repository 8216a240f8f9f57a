//! Looking into JSON by slices.
//!
//! A reader that builds values fails where JSON holds what it cannot represent: `1e400`, half a surrogate pair, a
//! thousand brackets. Here nothing is built: a value is a slice of the text, and skipping one needs no stack. The
//! text was checked by the scanner before; on anything else these functions find less, and never fail.

use std::borrow::Cow;

use bir_wire::text;

/// The members of an object, as the token of the key and the value. Nothing for any other value.
pub(crate) fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = inside(object, b'{');
    std::iter::from_fn(move || {
        let key = value(&mut rest)?;
        rest = rest.trim_ascii_start().strip_prefix(b":")?;
        let found = value(&mut rest)?;
        rest = rest.trim_ascii_start().strip_prefix(b",").unwrap_or_default();
        Some((key, found))
    })
}

/// The elements of an array. Nothing for any other value.
pub(crate) fn elements(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = inside(array, b'[');
    std::iter::from_fn(move || {
        let found = value(&mut rest)?;
        rest = rest.trim_ascii_start().strip_prefix(b",").unwrap_or_default();
        Some(found)
    })
}

/// The value of a member, of the last one where a key repeats.
pub(crate) fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    members(object).filter(|(name, _)| text::is(name, key)).last().map(|(_, value)| value)
}

/// What a string says, unless it holds half a surrogate pair, which no text can say.
pub(crate) fn exact(token: &[u8]) -> Option<Cow<'_, str>> {
    text::decode(token).filter(|text| !text.contains('\u{fffd}') || text::is(token, text))
}

fn inside(value: &[u8], bracket: u8) -> &[u8] {
    match value.trim_ascii_start().split_first() {
        Some((first, rest)) if *first == bracket => rest,
        _ => &[],
    }
}

/// Takes one value off the front.
fn value<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let text = rest.trim_ascii_start();
    let length = match text.first()? {
        b'"' => string(text)?,
        b'{' | b'[' => nested(text)?,
        b'}' | b']' | b',' | b':' => return None,
        _ => text
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace())
            .unwrap_or(text.len()),
    };
    let (found, after) = text.split_at_checked(length)?;
    *rest = after;
    Some(found)
}

/// The length of a string token.
fn string(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// The length of an object or array.
fn nested(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match text.get(at)? {
            b'"' => {
                at += string(text.get(at..)?)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_json_that_no_tree_can_hold() {
        let deep = format!(
            r#"{{"a":{}1{} , "b\u0062" : [1e400,"\ud83d"],"c":"}}\\\"","c":2}}"#,
            "[".repeat(9999),
            "]".repeat(9999)
        );
        let deep = deep.as_bytes();
        let keys: Vec<_> = members(deep).map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect();
        assert_eq!(keys, ["\"a\"", "\"b\\u0062\"", "\"c\"", "\"c\""]);
        assert_eq!(get(deep, "bb"), Some(&br#"[1e400,"\ud83d"]"#[..]));
        assert_eq!(get(deep, "c"), Some(&b"2"[..]));
        let parts: Vec<_> = elements(get(deep, "bb").unwrap()).collect();
        assert_eq!(parts, [&b"1e400"[..], &br#""\ud83d""#[..]]);
        assert_eq!(exact(parts[1]), None);
        assert_eq!(exact("\"\u{fffd}\"".as_bytes()).as_deref(), Some("\u{fffd}"));
        assert_eq!(exact(br#""\ud83d\ude00""#).as_deref(), Some("\u{1f600}"));
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in ["", "1", "[1]", "{", "{}", "{\"a\"", "{\"a\":", "{\"a", "{,", "{\"a\":[", "{\"a\\"] {
            assert_eq!(members(text.as_bytes()).count(), 0, "{text}");
        }
        assert_eq!(elements(b"{\"a\":1}").count(), 0);
    }
}
