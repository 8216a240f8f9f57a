//! A raw JSON scanner that finds fields as byte slices and never re-encodes a message.
//!
//! It trusts its input to be JSON and looks no further than it must: this is the yardstick's own reader, written apart
//! from the product's scanner so that a fault there cannot hide here.

/// Past the white space at `i`.
fn ws(b: &[u8], mut i: usize) -> usize {
    while i < b.len() && matches!(b[i], b' ' | b'\t' | b'\r' | b'\n') {
        i += 1;
    }
    i
}

fn skip_string(b: &[u8], mut i: usize) -> Option<usize> {
    i += 1;
    loop {
        let q = i + memchr::memchr(b'"', b.get(i..)?)?;
        let slashes = b[i..q].iter().rev().take_while(|&&c| c == b'\\').count();
        i = q + 1;
        if slashes % 2 == 0 {
            return Some(i);
        }
    }
}

/// Index just past the JSON value that starts at `i`. Iterative: any depth.
fn skip_value(b: &[u8], i: usize) -> Option<usize> {
    match *b.get(i)? {
        b'"' => skip_string(b, i),
        b'{' | b'[' => {
            let (mut depth, mut i) = (0usize, i);
            loop {
                match *b.get(i)? {
                    b'"' => {
                        i = skip_string(b, i)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(i + 1);
                        }
                    }
                    _ => {}
                }
                i += 1;
            }
        }
        _ => Some(b[i..].iter().position(|c| b",]} \t\r\n".contains(c)).map_or(b.len(), |n| i + n)),
    }
}

/// Raw value of `key` in the top-level object `b` (the first one, where keys repeat).
#[must_use]
pub fn get<'a>(b: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut i = ws(b, 0);
    if b.get(i) != Some(&b'{') {
        return None;
    }
    i = ws(b, i + 1);
    while b.get(i) == Some(&b'"') {
        let k = i;
        i = skip_string(b, i)?;
        let name = &b[k + 1..i - 1];
        i = ws(b, i);
        if b.get(i) != Some(&b':') {
            return None;
        }
        let v = ws(b, i + 1);
        i = skip_value(b, v)?;
        if name == key.as_bytes() {
            return Some(&b[v..i]);
        }
        i = ws(b, i);
        if b.get(i) == Some(&b',') {
            i = ws(b, i + 1);
        }
    }
    None
}

/// Raw value behind a path of keys.
#[must_use]
pub fn path<'a>(b: &'a [u8], keys: &[&str]) -> Option<&'a [u8]> {
    keys.iter().try_fold(b, |b, k| get(b, k))
}

/// Raw value that follows the first `"key"` anywhere in `b`.
#[must_use]
pub fn find_key<'a>(b: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let pattern = format!("\"{key}\"");
    for at in memchr::memmem::find_iter(b, &pattern) {
        let i = ws(b, at + pattern.len());
        if b.get(i) == Some(&b':') {
            let v = ws(b, i + 1);
            return Some(&b[v..skip_value(b, v)?]);
        }
    }
    None
}

/// The text of a raw JSON string; nothing if `raw` is none.
#[must_use]
pub fn string(raw: &[u8]) -> Option<String> {
    serde_json::from_slice(raw).ok()
}

/// `s` as a JSON string.
#[must_use]
pub fn quote(s: &str) -> String {
    serde_json::Value::from(s).to_string()
}

/// Bytes as text for people.
#[must_use]
pub fn text(b: &[u8]) -> String {
    String::from_utf8_lossy(b).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_as_they_were_written() {
        let m = br#" { "id" : 1.0e2 , "a\"b":[ {"x":"]}\\"} ], "id":2, "params":{"name":"\u00e9","n":-0} }"#;
        assert_eq!(get(m, "id"), Some(&b"1.0e2"[..]));
        assert_eq!(get(m, "a\\\"b"), Some(&br#"[ {"x":"]}\\"} ]"#[..]));
        assert_eq!(path(m, &["params", "n"]), Some(&b"-0"[..]));
        assert_eq!(path(m, &["params", "name"]).and_then(string).as_deref(), Some("é"));
        assert_eq!(find_key(m, "x"), Some(&br#""]}\\""#[..]));
        assert_eq!(get(m, "none"), None);
    }

    #[test]
    fn what_is_no_object_holds_nothing() {
        for m in ["", "[1]", "hello", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\" 1}"] {
            assert_eq!(get(m.as_bytes(), "b"), None, "{m}");
        }
    }
}
