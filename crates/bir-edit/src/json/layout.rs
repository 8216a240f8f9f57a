//! What stands between the values of a JSON text: white space, commas, comments.

use std::ops::Range;

pub(super) use crate::splice::{blank, indentation, line_start};

/// What stands behind a member or element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    /// Its comma.
    pub(super) comma: Option<usize>,
    /// Behind its comma and the comments of the same line, or behind those comments alone.
    pub(super) end: usize,
    /// Whether the last of those comments goes to the end of its line.
    pub(super) line_comment: bool,
}

/// What stands behind an item that ends at `from`; `limit` is where the next item begins, or where what holds them closes.
pub(super) fn behind(text: &str, from: usize, limit: usize) -> Behind {
    let mut found = Behind { comma: None, end: from, line_comment: false };
    same_line(text, limit, &mut found);
    if found.comma.is_none()
        && let Some(comma) = comma(text, found.end, limit)
    {
        found = Behind { comma: Some(comma), end: comma + 1, line_comment: false };
        same_line(text, limit, &mut found);
    }
    found
}

fn same_line(text: &str, limit: usize, found: &mut Behind) {
    let bytes = text.as_bytes();
    let mut at = found.end;
    while at < limit {
        match bytes.get(at) {
            Some(b' ' | b'\t') => at += 1,
            Some(b',') if found.comma.is_none() => {
                found.comma = Some(at);
                at += 1;
                found.end = at;
            }
            Some(b'/') => {
                found.line_comment = bytes.get(at + 1) == Some(&b'/');
                at = comment_end(text, at).min(limit);
                found.end = at;
                if found.line_comment {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// The first comma that stands in no comment.
fn comma(text: &str, from: usize, limit: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < limit {
        match bytes.get(at) {
            Some(b',') => return Some(at),
            Some(b'/') => at = comment_end(text, at),
            _ => at += 1,
        }
    }
    None
}

/// Where a comment that begins at `at` ends; that of a line ends before its line end.
pub(crate) fn comment_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let length = if rest.starts_with("/*") {
        rest.get(2..).and_then(|inside| inside.find("*/")).map(|found| found + 4)
    } else {
        rest.find(['\n', '\r'])
    };
    at + length.unwrap_or(rest.len())
}

/// The comments in a stretch of white space, commas and comments.
pub(super) fn comments(text: &str, stretch: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = stretch.start;
    while at < stretch.end {
        if bytes.get(at) == Some(&b'/') {
            let end = comment_end(text, at).min(stretch.end);
            found.push(at..end);
            at = end.max(at + 1);
        } else {
            at += 1;
        }
    }
    found
}

/// Whether a comment goes to the end of its line.
pub(super) fn to_line_end(text: &str, comment: &Range<usize>) -> bool {
    text.get(comment.clone()).is_some_and(|comment| comment.starts_with("//"))
}

/// Whether something is the first of its line, and not of the text.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let start = line_start(text, at);
    start > 0 && start + indentation(text, at).len() == at
}

/// Whether a stretch is on one line.
pub(super) fn one_line(text: &str, stretch: &Range<usize>) -> bool {
    !text.get(stretch.clone()).unwrap_or_default().contains('\n')
}

/// The first byte of the white space before `at`.
pub(super) fn white_before(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().trim_end_matches([' ', '\t', '\n', '\r']).len()
}

/// Behind the spaces and tabs from `at` on.
pub(super) fn behind_spaces(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start_matches([' ', '\t']).len()
}

/// The line end before a line, with its carriage return.
pub(super) fn line_end_before(text: &str, line_start: usize) -> Range<usize> {
    let before = text.get(..line_start).unwrap_or_default();
    let length = if before.ends_with("\r\n") { 2 } else { usize::from(before.ends_with('\n')) };
    line_start - length..line_start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_and_the_comments_of_its_line_belong_to_a_member() {
        for (text, comma, end, line_comment) in [
            ("1}", None, 1, false),
            ("1 }", None, 1, false),
            ("1 , }", Some(2), 3, false),
            ("1 /* , */ , /* a */ // b\n}", Some(10), 24, true),
            ("1 // a, b\n}", None, 9, true),
            ("1 // a\n , // b\n}", Some(8), 14, true),
            ("1\n/* , */\n}", None, 1, false),
        ] {
            let found = behind(text, 1, text.len() - 1);
            assert_eq!(found, Behind { comma, end, line_comment }, "{text}");
        }
    }
}
