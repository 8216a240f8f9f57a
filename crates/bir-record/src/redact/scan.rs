//! Text, read once: from anchor to anchor, each a byte that some secret cannot do without.
//!
//! Most bytes of most texts are no anchor, and a table look-up each is all they cost. At an anchor the functions of `shapes`, `url` and `assign` look
//! around. Each of them looks a bounded distance ahead, or its reading is not repeated, so that no text takes more than linear time.

use super::placeholder::{self, Edit, Kind};
use super::shapes::{self, Found};
use super::{Job, url};

/// Bytes at which something may be found.
const ANCHORS: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b":=-_.JAbB[>";
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
    /// Shapes, assignments, flags, headers.
    All,
    /// Shapes alone: names.
    Shapes,
}

/// Finds the secrets of `text` from `from` on and appends what takes their places to `out`, in order.
pub(super) fn scan(job: &Job<'_>, text: &str, from: usize, look: Look, out: &mut Vec<Edit>) {
    let bytes = text.as_bytes();
    let first = out.len();
    let mut pos = from;
    let mut aws = false;
    while let Some(at) = next_anchor(bytes, pos) {
        let found = match bytes[at] {
            b'[' => {
                // Never twice.
                pos = placeholder::end_at(bytes, at).unwrap_or(at + 1);
                continue;
            }
            b':' if bytes[at..].starts_with(b"://") => url::credentials(text, at),
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
            b':' | b'=' => job.assignment(text, at, out),
            b'-' => job.flag(text, at, out),
            b'>' => job.element(text, at, out),
            _ => None,
        };
        pos = named.map_or(at + 1, |end| end.max(at + 1));
    }
    if aws {
        let mut more = Vec::new();
        shapes::aws_secrets(text, |found| more.push(found));
        add(job, text, more, first, out);
    }
    if !job.redactor.patterns.is_empty() {
        custom(job, text, from, first, out);
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
fn custom(job: &Job<'_>, text: &str, from: usize, first: usize, out: &mut Vec<Edit>) {
    let bytes = text.as_bytes();
    for pattern in &job.redactor.patterns {
        let mut taken: Vec<(usize, usize)> = out[first..].iter().map(|e| (e.start, e.end)).collect();
        taken.extend(
            memchr::memchr_iter(b'[', bytes).filter_map(|at| Some((at, placeholder::end_at(bytes, at)?))),
        );
        taken.push((text.len(), text.len()));
        taken.sort_unstable();
        let mut more = Vec::new();
        let mut start = from;
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
