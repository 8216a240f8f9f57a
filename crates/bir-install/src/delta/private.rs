//! What may stand in no text of a delta besides the credentials that a file's values are: comments, in which anything may stand (a
//! key that was once used, a header that is switched off), and what the recorder's rules find in the lines around.
//!
//! A comment is told by its mark alone, whatever the format. Too much is taken for one rather than too little: then there is no
//! delta, and the change is undone entry by entry.

use super::blocks::Part;
use crate::plan::secrets::RULES;
use std::ops::Range;

/// A shorter piece of text, or comment, tells nobody anything.
const SHORT: usize = 4;
/// A piece of text that is shorter holds too little of a credential for the rules to be asked.
const ASKED: usize = 8;
/// So much of a line is looked at to each side of a piece of text, bytes.
const AROUND: usize = 1024;

/// The comments of a configuration, without their marks and the white space around.
pub(crate) fn comments(text: &str) -> Vec<Range<usize>> {
    // JSON of any kind, or YAML that looks like it, is an object.
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']);
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let line = at..text[at..].find('\n').map_or(bytes.len(), |end| at + end);
        // Where quotes are not in pairs, nothing is known to be a text.
        let paired = quotes(&text[line.clone()]).is_multiple_of(2);
        let (mut quoted, mut next) = (false, line.end + 1);
        let mut here = line.start;
        while here < line.end {
            match bytes[here] {
                b'\\' if quoted => here += 1,
                b'"' if paired => quoted = !quoted,
                b'#' if !quoted => {
                    found.push(here + 1..line.end);
                    break;
                }
                b'/' if !quoted && is_json && bytes.get(here + 1) == Some(&b'/') => {
                    found.push(here + 2..line.end);
                    break;
                }
                b'/' if !quoted && is_json && bytes.get(here + 1) == Some(&b'*') => {
                    let length = text[here + 2..].find("*/");
                    let end = length.map_or(bytes.len(), |length| here + 2 + length);
                    found.push(here + 2..end);
                    here = end + 1;
                    if end > line.end {
                        next = (end + 2).min(bytes.len());
                        break;
                    }
                }
                _ => {}
            }
            here += 1;
        }
        at = next;
    }
    let trimmed = |range: Range<usize>| {
        let comment = &text[range.clone()];
        let start = range.start + comment.len() - comment.trim_start().len();
        start..start + comment.trim().len()
    };
    found.into_iter().map(trimmed).filter(|range| range.len() >= SHORT).collect()
}

/// Double quotes that no backslash stands before.
fn quotes(line: &str) -> usize {
    let mut escaped = false;
    let counts = |byte: &u8| {
        let counts = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        counts
    };
    line.as_bytes().iter().copied().filter(counts).count()
}

/// Where the recorder's rules find something in the lines of the older text that no piece of the newer one makes.
pub(super) fn found(parts: &[Part], text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut done = 0..0;
    for part in parts.iter().filter(|part| part.new.is_none()) {
        if text[part.old.clone()].trim().len() < ASKED {
            continue;
        }
        let lines = around(text, &part.old);
        if lines == done {
            continue;
        }
        for secret in RULES.in_text(&text[lines.clone()]) {
            let places = text[lines.clone()].match_indices(&secret);
            all.extend(places.map(|(at, _)| lines.start + at..lines.start + at + secret.len()));
        }
        done = lines;
    }
    all
}

/// The lines of a piece, or as much of them as is looked at.
fn around(text: &str, piece: &Range<usize>) -> Range<usize> {
    let start =
        text[..piece.start].rfind('\n').map_or(0, |at| at + 1).max(piece.start.saturating_sub(AROUND));
    let end = text[piece.end..].find('\n').map_or(text.len(), |at| piece.end + at).min(piece.end + AROUND);
    text.ceil_char_boundary(start)..text.floor_char_boundary(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_by_their_marks() {
        let of = |text: &str| comments(text).into_iter().map(|at| text[at].to_owned()).collect::<Vec<_>>();
        for (text, expected) in [
            ("{\"a\": \"http://x # y\", // tail\n// whole\n\"b\": 1}", vec!["tail", "whole"]),
            (
                "{/* first */ \"a\": 1, /* two\n lines */ \"b\": \"/* no */\" // three\n}",
                vec!["first", "two\n lines", "three"],
            ),
            ("{\"a\": 1 /* never closed", vec!["never closed"]),
            (
                "a = \"x # y\" # tail\n#whole\n[b]#c\nd='it\"s # in' # tail",
                vec!["tail", "whole", "in' # tail"],
            ),
            ("a:\n  # whole\n  b: it's # tail\n", vec!["whole", "tail"]),
            ("\u{feff}{\"a\": \"\\\\\\\" // no\"}", vec![]),
            ("a: http://x // no\n", vec![]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn rules_look_at_whole_lines() {
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let text = format!("a = 1\nold = \"{token}\"\nb = 2\n");
        let at = text.find(token).unwrap();
        // Half of it alone is told by its other half.
        let parts = [
            Part { old: 0..at + 20, new: Some(0) },
            Part { old: at + 20..at + 30, new: None },
            Part { old: at + 30..text.len(), new: Some(0) },
        ];
        assert!(found(&parts, &text).contains(&(at..at + token.len())));
        assert_eq!(found(&parts[..1], &text), []);
    }
}
