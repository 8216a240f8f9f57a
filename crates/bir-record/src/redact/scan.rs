//! Text, read once: from anchor to anchor, each a byte that some secret cannot do without.
//!
//! Most bytes of most texts are no anchor, and a table look-up each is all they cost. At an anchor the functions of `shapes`, `url` and `assign` look
//! around, and JSON is walked where it begins. Each of them looks a bounded distance ahead, or its reading is not repeated, so that no text takes more than linear time.

use super::header::Lines;
use super::lex::spaces;
use super::names::Class;
use super::placeholder::{self, Edit, Kind};
use super::shapes::{self, Found};
use super::{Job, MOST_LEVELS, forms, json, netrc, url};

/// Bytes that any text may be read once more.
const LEAST_AGAIN: usize = 4096;

/// Bytes at which something may be found.
const ANCHORS: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b":=-_.JAbB[{>";
    let mut n = 0;
    while n < bytes.len() {
        table[bytes[n] as usize] = true;
        n += 1;
    }
    table
};

fn next_anchor(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(block) = bytes.get(at..at + 8) {
        if block.iter().fold(false, |any, b| any | ANCHORS[usize::from(*b)]) {
            break;
        }
        at += 8;
    }
    bytes.get(at..)?.iter().position(|b| ANCHORS[usize::from(*b)]).map(|n| at + n)
}

/// How much a text is looked at for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Shapes, assignments, flags, headers, and JSON, in a text that stands in so many others.
    All { level: u32 },
    /// Shapes alone: names.
    Shapes,
}

/// What of a text may be read once more, since it began as JSON and was none: as much as the text is long. Beyond, it is read as text only.
struct Again(usize);

/// Finds the secrets of `text` and appends what takes their places to `out`, in order.
pub(super) fn scan(job: &mut Job<'_>, text: &str, look: Look, out: &mut Vec<Edit>) {
    let bytes = text.as_bytes();
    let first = out.len();
    let mut pos = 0;
    let mut aws = false;
    let mut lines = Lines::default();
    let mut again = Again(text.len() + LEAST_AGAIN);
    while let Some(at) = next_anchor(bytes, pos) {
        let found = match bytes[at] {
            b'[' | b'{' => {
                // Never twice.
                pos = match placeholder::end_at(bytes, at) {
                    Some(end) => end,
                    None => json(job, text, at, Class::Plain, look, &mut again, out).unwrap_or(at + 1),
                };
                continue;
            }
            b':' if bytes[at..].starts_with(b"://") => url::credentials(text, at),
            b':' => shapes::telegram(text, at),
            b'_' | b'.' => shapes::prefixed(text, at),
            b'-' if bytes[at..].starts_with(b"-----BEGIN ") => shapes::pem(text, at),
            b'-' => shapes::prefixed(text, at),
            b'J' => shapes::jwt(text, at),
            b'A' => shapes::capital(text, at),
            b'b' | b'B' => shapes::scheme(text, at),
            _ => None,
        };
        if let Some(found) = found {
            aws |= found.kind == Kind::Aws;
            push(job, text, found, out);
            pos = pos.max(found.end).max(at + 1);
            continue;
        }
        let named = match bytes[at] {
            _ if look == Look::Shapes => None,
            b':' | b'=' => match job.announced(text, at) {
                Some((start, class)) => json(job, text, start, class, look, &mut again, out),
                None => job.assignment(text, at, &mut lines, out),
            },
            b'-' => job.flag(text, at, out),
            b'>' => job.element(text, at, out),
            _ => None,
        };
        pos = named.map_or(at + 1, |end| end.max(at + 1));
    }
    let mut more = Vec::new();
    if aws {
        shapes::aws_secrets(text, |found| more.push(found));
    }
    if look != Look::Shapes {
        netrc::passwords(text, |found| more.push(found));
        forms::find(job, text, |found| more.push(found));
    }
    if !more.is_empty() {
        add(job, text, more, first, out);
    }
    if !job.redactor.patterns.is_empty() {
        custom(job, text, first, out);
    }
}

/// The JSON that begins at `at`, if there is some. Says where reading goes on.
fn json(
    job: &mut Job<'_>,
    text: &str,
    at: usize,
    class: Class,
    look: Look,
    again: &mut Again,
    out: &mut Vec<Edit>,
) -> Option<usize> {
    let Look::All { level } = look else { return None };
    if level >= MOST_LEVELS || again.0 == 0 || !opens(text.as_bytes(), at) {
        return None;
    }
    let (end, in_vain) = job.json_within(text, at, class, level, out);
    again.0 = again.0.saturating_sub(in_vain);
    (end > at).then_some(end)
}

/// Whether an object or a list of more than bare words begins at `at`.
fn opens(bytes: &[u8], at: usize) -> bool {
    let inner = spaces(bytes, at + 1);
    let inner =
        if matches!(bytes.get(inner), Some(b'\n' | b'\r')) { json::space(bytes, inner) } else { inner };
    match (bytes.get(at), bytes.get(inner)) {
        (Some(b'{'), Some(first)) => *first == b'"',
        (Some(b'['), Some(first)) => matches!(first, b'"' | b'{' | b'['),
        _ => false,
    }
}

fn push(job: &Job<'_>, text: &str, found: Found, out: &mut Vec<Edit>) {
    if out.last().is_none_or(|last| last.end <= found.start) {
        let text = job.placeholder(found.kind, &text[found.start..found.end]);
        out.push(Edit { start: found.start, end: found.end, text });
    }
}

/// Adds what does not touch the edits from `first` on, and keeps their order.
fn add(job: &Job<'_>, text: &str, more: Vec<Found>, first: usize, out: &mut Vec<Edit>) {
    let known = out.len();
    for found in more {
        let at = out[first..known].partition_point(|e| e.end <= found.start) + first;
        if out[at..known].first().is_none_or(|e| e.start >= found.end) {
            let text = job.placeholder(found.kind, &text[found.start..found.end]);
            out.push(Edit { start: found.start, end: found.end, text });
        }
    }
    out[first..].sort_by_key(|e| e.start);
}

/// The user's own patterns, between what was found and what was redacted before.
fn custom(job: &Job<'_>, text: &str, first: usize, out: &mut Vec<Edit>) {
    let bytes = text.as_bytes();
    for pattern in &job.redactor.patterns {
        let mut taken: Vec<(usize, usize)> = out[first..].iter().map(|e| (e.start, e.end)).collect();
        taken.extend(
            memchr::memchr_iter(b'[', bytes).filter_map(|at| Some((at, placeholder::end_at(bytes, at)?))),
        );
        taken.push((text.len(), text.len()));
        taken.sort_unstable();
        let mut more = Vec::new();
        let mut start = 0;
        for (stop, next) in taken {
            if let Some(gap) = text.get(start..stop) {
                for hit in pattern.find_iter(gap).filter(|m| !m.is_empty()) {
                    more.push(Found {
                        start: start + hit.start(),
                        end: start + hit.end(),
                        kind: Kind::Custom,
                    });
                }
            }
            start = start.max(next);
        }
        add(job, text, more, first, out);
    }
}
