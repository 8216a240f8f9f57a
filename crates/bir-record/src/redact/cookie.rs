//! Cookies: names and attributes stay, values go.

use super::Job;
use super::look;
use super::placeholder::{self, Edit, Kind};

/// Attributes of `Set-Cookie`.
const ATTRIBUTES: &[&str] = &[
    "path",
    "domain",
    "expires",
    "max-age",
    "samesite",
    "secure",
    "httponly",
    "partitioned",
    "priority",
    "version",
    "comment",
];

/// Redacts the values of `a=b; c=d` between `from` and `to`. Says where it ended; `None` when this is no list of cookies.
pub(super) fn list(job: &Job<'_>, text: &str, from: usize, to: usize, out: &mut Vec<Edit>) -> Option<usize> {
    let bytes = &text.as_bytes()[..to];
    let mut pos = from;
    let mut seen = false;
    loop {
        pos += bytes[pos..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let name = bytes[pos..]
            .iter()
            .take_while(|b| {
                b.is_ascii_graphic() && !matches!(b, b'=' | b';' | b',' | b':' | b'(' | b')' | b'"')
            })
            .count();
        let named = pos + name;
        let attribute = ATTRIBUTES.iter().any(|a| a.as_bytes().eq_ignore_ascii_case(&bytes[pos..named]));
        if bytes.get(named) != Some(&b'=') || name == 0 {
            if !seen || !attribute {
                return seen.then_some(pos);
            }
            // `Secure`, `HttpOnly`.
            pos = named;
        } else {
            if attribute && !seen {
                return None;
            }
            let start = named + 1;
            let end = start
                + bytes[start..]
                    .iter()
                    .take_while(|b| **b != b';' && (attribute || !b.is_ascii_whitespace()))
                    .count();
            if !attribute {
                let said = text.get(start..end)?;
                if !said.is_empty() && placeholder::end_at(bytes, start).is_none() && !look::harmless(said) {
                    out.push(Edit { start, end, text: job.placeholder(Kind::Cookie, said) });
                }
                seen = true;
            }
            pos = end;
        }
        if bytes.get(pos) != Some(&b';') {
            return Some(pos);
        }
        pos += 1;
    }
}
