//! Cutting a redacted value to size, in an order that keeps what a reader wants longest:
//!
//! 1. blocks of base64 (and `data:` URLs) go, largest first, each for `{"truncated":true,"originalBytes":N}`;
//! 2. other long strings keep a head, `{"truncated":true,"originalBytes":N,"head":"…"}`, all of them the same length;
//! 3. objects and arrays share what there is between their members, and where those are too many lose the last of them, with a marker;
//! 4. the whole becomes a marker.
//!
//! Nothing is cut through an escape, a character, or a placeholder. Members that are small (`isError`) stay, so a result keeps its shape.

use memchr::{memchr, memmem};

use super::json;
use super::placeholder::{self, Edit, marker};

/// A string of at least so many bytes may be cut.
const LONG: usize = 512;
/// A string keeps at least so many bytes.
const LEAST_HEAD: usize = 256;
/// Around a head, `{"truncated":true,"originalBytes":…,"head":""}`, with room for a number of 20 digits.
const AROUND_HEAD: usize = 72;
/// A marker with room for a number of 20 digits.
const MARKER: usize = 60;
/// Members of one object or array that share its room; of more, the first ones are kept.
const SHARING: usize = 256;
/// Bytes for each member, below which the last ones go.
const LEAST_SHARE: usize = 96;

/// A string value of a JSON text, quotes included.
struct Long {
    start: usize,
    end: usize,
    base64: bool,
}

/// Cuts a valid JSON text to at most `limit` bytes.
pub(super) fn cut(text: &str, limit: usize, original_bytes: u64) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut long = long_strings(text);
    long.sort_by_key(|l| std::cmp::Reverse(l.end - l.start));
    let mut edits = Vec::new();
    let mut size = text.len();
    for block in long.iter().filter(|l| l.base64) {
        if size <= limit {
            break;
        }
        let marker = marker((block.end - block.start - 2) as u64);
        size = size + marker.len() - (block.end - block.start);
        edits.push(Edit { start: block.start, end: block.end, text: marker });
    }
    if size > limit {
        let heads: Vec<&Long> = long.iter().filter(|l| !l.base64).collect();
        let head = head_length(&heads, size - limit);
        for string in heads {
            if string.end - string.start > head + AROUND_HEAD {
                edits.push(Edit {
                    start: string.start,
                    end: string.end,
                    text: head_of(&text[string.start..string.end], head),
                });
            }
        }
    }
    edits.sort_by_key(|e| e.start);
    let text = placeholder::apply(text, &edits);
    if text.len() <= limit {
        return text;
    }
    let mut out = String::with_capacity(limit);
    shrink(text.trim(), limit, &mut out);
    if out.len() <= limit { out } else { marker(original_bytes) }
}

/// The length of heads at which strings, longest first, give up `excess` bytes together.
fn head_length(strings: &[&Long], excess: usize) -> usize {
    let mut given = 0;
    for (n, string) in strings.iter().enumerate() {
        let next = strings.get(n + 1).map_or(0, |l| l.end - l.start);
        let size = string.end - string.start;
        // The n + 1 longest are brought down to the length of the next.
        let step = (n + 1) * (size - next);
        let cost = (n + 1) * AROUND_HEAD;
        if given + step >= excess + cost {
            let length = size - (excess + cost - given).div_ceil(n + 1);
            return length.saturating_sub(AROUND_HEAD).max(LEAST_HEAD);
        }
        given += step;
    }
    LEAST_HEAD
}

/// String values of at least [`LONG`] bytes.
fn long_strings(text: &str) -> Vec<Long> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut pos = 0;
    while let Some(quote) = bytes.get(pos..).and_then(|rest| memchr(b'"', rest)) {
        let start = pos + quote;
        let Some(token) = json::string(bytes, start) else { break };
        pos = token.end + 1;
        if pos - start < LONG {
            continue;
        }
        if bytes.get(json::space(bytes, pos)) != Some(&b':') {
            found.push(Long { start, end: pos, base64: is_base64(&bytes[token.start..token.end]) });
        }
    }
    found
}

/// Whether this is base64 and nothing else, or a `data:` URL.
fn is_base64(inside: &[u8]) -> bool {
    if inside.starts_with(b"data:") && memmem::find(&inside[..inside.len().min(256)], b";base64,").is_some() {
        return true;
    }
    let mut digits = false;
    let mut after = 0;
    for (n, b) in inside.iter().enumerate() {
        match b {
            b'0'..=b'9' => digits = true,
            b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'/' | b'-' | b'_' | b'=' => {}
            b'\\' if matches!(inside.get(n + 1), Some(b'n' | b'r' | b'/')) => after = n,
            _ => return false,
        }
    }
    digits && after <= inside.len()
}

/// The end of the part of `inside` that has at most `limit` bytes and is whole in characters, escapes and placeholders.
fn head_end(inside: &str, limit: usize) -> usize {
    let bytes = inside.as_bytes();
    if bytes.len() <= limit {
        return bytes.len();
    }
    let mut end = limit;
    while !inside.is_char_boundary(end) {
        end -= 1;
    }
    let mut pos = 0;
    while let Some(slash) = memchr(b'\\', &bytes[pos..end]) {
        let (len, _) = json::escape(bytes, pos + slash);
        if pos + slash + len > end {
            end = pos + slash;
            break;
        }
        pos += slash + len;
    }
    placeholder::start_across(bytes, end).unwrap_or(end)
}

/// A string token, cut to a head of at most `limit` bytes.
fn head_of(token: &str, limit: usize) -> String {
    let inside = token.get(1..token.len() - 1).unwrap_or_default();
    let mut out = marker(inside.len() as u64);
    out.pop();
    out.push_str(",\"head\":\"");
    out.push_str(&inside[..head_end(inside, limit)]);
    out.push_str("\"}");
    out
}

/// A member of an object or element of an array.
struct Part {
    /// `"key":`, as written; empty in an array.
    key: (usize, usize),
    value: (usize, usize),
    /// Where the next one begins, if there is one.
    next: Option<usize>,
}

/// The member that begins at `at`.
fn part(bytes: &[u8], at: usize, object: bool) -> Option<Part> {
    let start = json::space(bytes, at);
    let mut key = (start, start);
    let mut value = start;
    if object {
        let name = json::string(bytes, start)?;
        let colon = json::space(bytes, name.end + 1);
        key = (start, name.end + 1);
        value = json::space(bytes, colon + 1);
    }
    let end = json::skip(bytes, value)?;
    let after = json::space(bytes, end);
    let next = (bytes.get(after) == Some(&b',')).then_some(after + 1);
    Some(Part { key, value: (value, end), next })
}

/// Writes `value` in at most `room` bytes, or a marker.
fn shrink(value: &str, room: usize, out: &mut String) {
    if value.len() <= room {
        out.push_str(value);
        return;
    }
    let whole = marker(value.len() as u64);
    match value.as_bytes().first() {
        Some(b'"') if room >= AROUND_HEAD + LEAST_HEAD => out.push_str(&head_of(value, room - AROUND_HEAD)),
        Some(open @ (b'{' | b'[')) if room >= 2 * MARKER => members(value, *open == b'{', room, out),
        _ => out.push_str(&whole),
    }
}

fn members(value: &str, object: bool, room: usize, out: &mut String) {
    let bytes = value.as_bytes();
    let mut parts = Vec::new();
    let mut count = 0;
    let mut at = Some(1);
    while let Some(from) = at {
        let Some(part) = part(bytes, from, object) else { break };
        at = part.next;
        count += 1;
        if count <= SHARING {
            parts.push(part);
        }
    }
    let (open, close) = if object { ('{', '}') } else { ('[', ']') };
    let around: usize = parts.iter().map(|p| p.key.1 - p.key.0 + 2).sum::<usize>() + 2;
    out.push(open);
    if count <= SHARING && around < room && (room - around) / count.max(1) >= LEAST_SHARE {
        let most = share(&parts, room - around);
        for (n, p) in parts.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            key(value, p, object, out);
            shrink(&value[p.value.0..p.value.1], most, out);
        }
        out.push(close);
        return;
    }
    // The first ones, then the marker.
    let end = out.len() + room - MARKER - 4;
    let mut at = Some(1);
    let mut first = true;
    while let Some(from) = at {
        let Some(p) = part(bytes, from, object) else { break };
        at = p.next;
        let name = p.key.1 - p.key.0 + 2;
        let size = p.value.1 - p.value.0;
        let left = end.saturating_sub(out.len());
        let fits = name + size <= left;
        if !fits && (name >= left || left - name < 4 * MARKER) {
            break;
        }
        if !first {
            out.push(',');
        }
        first = false;
        key(value, &p, object, out);
        shrink(&value[p.value.0..p.value.1], if fits { size } else { left - name }, out);
        if !fits {
            break;
        }
    }
    if !first {
        out.push(',');
    }
    let marker = marker(value.len() as u64);
    out.push_str(if object { &marker[1..marker.len() - 1] } else { &marker });
    out.push(close);
}

fn key(value: &str, part: &Part, object: bool, out: &mut String) {
    if object {
        out.push_str(&value[part.key.0..part.key.1]);
        out.push(':');
    }
}

/// The size that each part may have at most, so that all of them fit into `room`.
fn share(parts: &[Part], room: usize) -> usize {
    let mut sizes: Vec<usize> = parts.iter().map(|p| p.value.1 - p.value.0).collect();
    sizes.sort_unstable();
    let mut left = room;
    for (n, size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - n);
        if *size > each {
            return each;
        }
        left -= size;
    }
    usize::MAX
}

/// Cuts a plain text to at most `limit` bytes and says so at its end.
pub(super) fn cut_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let note = format!("\n[truncated: {} bytes originally]", text.len());
    let mut end = limit.saturating_sub(note.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end = placeholder::start_across(text.as_bytes(), end).unwrap_or(end);
    format!("{}{note}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn cut_value(value: &Value, limit: usize) -> Value {
        let text = value.to_string();
        let out = cut(&text, limit, text.len() as u64);
        assert!(out.len() <= limit, "{} of {limit}", out.len());
        serde_json::from_str(&out).unwrap()
    }

    #[test]
    fn base64_goes_first_and_largest_first() {
        let small = "QUJD".repeat(300);
        let large = "iVBORw0KGgo1".repeat(1000);
        let value = json!({"content": [{"type": "image", "data": large, "mimeType": "image/png"}, {"type": "image", "data": small}, {"type": "text", "text": "word ".repeat(200)}], "isError": false});
        let out = cut_value(&value, 8000);
        assert_eq!(out["content"][0]["data"], json!({"truncated": true, "originalBytes": large.len()}));
        assert_eq!(out["content"][0]["mimeType"], "image/png");
        assert_eq!(out["content"][1], value["content"][1]);
        assert_eq!(out["content"][2], value["content"][2]);
        assert_eq!(out["isError"], false);
    }

    #[test]
    fn long_strings_keep_a_head() {
        let value = json!({"content": [{"type": "text", "text": "line of text\n".repeat(5000)}, {"type": "text", "text": "short"}], "isError": true});
        let out = cut_value(&value, 10_000);
        let text = &out["content"][0]["text"];
        assert_eq!(text["truncated"], true);
        assert!(text["head"].as_str().unwrap().len() > 8000);
        assert_eq!(out["content"][1]["text"], "short");
        assert_eq!(out["isError"], true);
    }

    #[test]
    fn the_last_of_many_go() {
        let rows: Vec<Value> = (0..10_000).map(|n| json!({"id": n, "name": format!("row {n}")})).collect();
        let out = cut_value(&json!({"structuredContent": {"rows": rows}, "isError": false}), 5000);
        let rows = out["structuredContent"]["rows"].as_array().unwrap();
        assert!(rows.len() > 100);
        assert_eq!(rows[0], json!({"id": 0, "name": "row 0"}));
        assert_eq!(rows.last().unwrap()["truncated"], true);
        assert_eq!(out["isError"], false);
    }

    #[test]
    fn never_through_an_escape_a_character_or_a_placeholder() {
        let placeholder = "[redacted:token:0123456789ab]";
        for unit in ["\"", "\\", "\r\n", "\u{1}", "é", "😀", placeholder] {
            for pad in 0..40 {
                let value = json!({"a": format!("{}{}", "x y".repeat(pad), unit.repeat(3000))});
                let out = cut_value(&value, 2000);
                let head = out["a"]["head"].as_str().unwrap();
                assert!(head.len() > 200);
                if unit == placeholder {
                    assert!(head.ends_with(']'), "{head}");
                }
                let escaped = serde_json::to_string(&value).unwrap().replace('😀', "\\ud83d\\ude00");
                let out = cut(&escaped, 2000, 0);
                serde_json::from_str::<Value>(&out).unwrap();
                assert!(!out.contains("fffd"));
            }
        }
    }

    #[test]
    fn any_limit_holds() {
        let value = json!({"k".repeat(300): "v", "list": [[1, 2, 3], "x".repeat(900), {"deep": {"deeper": ["y z".repeat(400)]}}], "n": 1.5});
        for limit in (64..3000).step_by(7) {
            cut_value(&value, limit);
        }
    }

    #[test]
    fn texts_say_that_they_were_cut() {
        let cut = cut_text(&"é".repeat(1000), 500);
        assert!(cut.len() <= 500 && cut.ends_with("[truncated: 2000 bytes originally]"));
        assert_eq!(cut_text("short", 500), "short");
    }
}
