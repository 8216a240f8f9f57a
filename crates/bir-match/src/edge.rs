//! Where a value ends: what stands between it and the next word has to be explained as well as the words are.
//!
//! ```text
//!  branch main of        nothing but space               the words are the value
//!  file "main", please   quotes around it, a comma       so they are
//!  file ./main           recorded values begin so        "./main" is the value
//!  branch main/*         no recorded value ends so       no value: "main" is not what was said
//! ```
//!
//! Signs stand in a gap: glued to the word before it, alone, or glued to the word behind it. Those of the middle and those glued to the value
//! count; the others belong to its neighbour.

use crate::grammar::{Grammar, mix};
use crate::parse::{Asked, Filled};
use crate::value::Values;
use crate::way::Way;
use crate::word::{self, Word};
use std::ops::Range;

/// Quotes that may stand around a value and are no part of it.
const PAIRS: &[(&str, &str)] = &[
    ("\"", "\""),
    ("“", "”"),
    ("„", "“"),
    ("„", "”"),
    ("«", "»"),
    ("‹", "›"),
    ("`", "`"),
    ("‘", "’"),
    ("'", "'"),
    ("「", "」"),
    ("『", "』"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The gap at one side of a value.
#[derive(Debug, Clone, Copy)]
struct Gap<'t> {
    side: Side,
    /// Signs that touch the value.
    glued: &'t str,
    /// Signs that touch nothing.
    alone: &'t str,
    /// They touch the neighbour, too: no white space is between.
    tied: bool,
}

impl<'t> Gap<'t> {
    fn new(text: &'t str, side: Side) -> Self {
        let mut parts = text.split(char::is_whitespace);
        let (first, last) = (parts.next().unwrap_or_default(), parts.next_back());
        let Some(last) = last else { return Self { side, glued: text, alone: "", tied: true } };
        let alone = text[first.len()..text.len() - last.len()].trim();
        let glued = if side == Side::Left { last } else { first };
        Self { side, glued, alone, tied: false }
    }

    fn key(&self, text: &str, inner: bool) -> u64 {
        let kind = 40 + u64::from(self.side == Side::Right) * 4 + u64::from(inner) * 2 + u64::from(self.tied);
        text.bytes().fold(kind, |key, b| mix(key, u64::from(b)))
    }
}

/// The two gaps around words, as far as the text goes.
fn gaps<'t>(text: &'t str, words: &[Word], from: usize, to: usize) -> [Gap<'t>; 2] {
    let before = from.checked_sub(1).map_or(0, |at| words[at].span.end).min(words[from].span.start);
    let behind = words.get(to).map_or(text.len(), |w| w.span.start).max(words[to - 1].span.end);
    let left = &text[before..words[from].span.start];
    let right = &text[words[to - 1].span.end..behind];
    let mut gaps = [Gap::new(left, Side::Left), Gap::new(right, Side::Right)];
    // At the two ends of a text there is no neighbour.
    gaps[0].tied &= from > 0;
    gaps[1].tied &= to < words.len();
    gaps
}

/// Signs that end a clause and say nothing of what is before them.
fn is_clause(sign: char) -> bool {
    matches!(sign, ',' | '.' | ';' | ':' | '!' | '?' | '…' | '、' | '。' | '，' | '？' | '！' | '；' | '：')
}

fn is_dash(sign: char) -> bool {
    matches!(sign, '-' | '–' | '—' | '―')
}

/// A sign at the edge that no value is thought to have, and that says nothing.
fn is_plain(gap: &Gap<'_>, first: Option<&Word>, neighbour: Option<&Word>) -> bool {
    let alone = gap.alone.chars().all(|c| is_clause(c) || is_dash(c) || c.is_whitespace() || unseen(c));
    let glued = match (gap.side, gap.tied) {
        (_, true) => {
            let near = |w: Option<&Word>| w.is_some_and(|w| w.text.chars().all(word::is_unspaced));
            let elided = matches!(gap.glued, "'" | "’")
                && (gap.side == Side::Right || neighbour.is_some_and(|w| w.text.chars().count() <= 2));
            let none = gap.glued.is_empty() && (near(first) || near(neighbour));
            none || elided
                || (!gap.glued.is_empty() && gap.glued.chars().all(|c| "、。，？！；：".contains(c)))
        }
        (Side::Left, false) => gap.glued.chars().all(unseen),
        (Side::Right, false) => gap.glued.chars().all(|c| is_clause(c) || unseen(c)),
    };
    alone && glued
}

/// Marks of direction, joiners, control characters.
fn unseen(c: char) -> bool {
    c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Learns how a recorded value is delimited, or forgets it.
pub(crate) fn learn(
    values: &mut Values,
    text: &str,
    words: &[Word],
    (from, to): (usize, usize),
    slot: &Range<usize>,
    way: Way,
) {
    let cut = |range: Range<usize>| text.get(range).unwrap_or_default();
    for gap in gaps(text, words, from, to) {
        let inner = match gap.side {
            Side::Left => cut(slot.start.min(words[from].span.start)..words[from].span.start),
            Side::Right => cut(words[to - 1].span.end..slot.end.max(words[to - 1].span.end)),
        };
        if !inner.trim().is_empty() {
            values.learn_edge(gap.key(inner, true), way);
        }
        let outer = match gap.side {
            Side::Left => gap.glued.strip_suffix(inner),
            Side::Right => gap.glued.strip_prefix(inner),
        };
        let outer = outer.unwrap_or(gap.glued);
        if !outer.is_empty() || gap.tied {
            values.learn_edge(gap.key(outer, false), way);
        }
        if !gap.alone.is_empty() {
            values.learn_edge(gap.key(gap.alone, false), way);
        }
    }
}

/// The bytes of a value, with the signs that belong to it; None: a sign at its edge is explained by nothing.
pub(crate) fn extent(grammar: &Grammar, asked: &Asked<'_>, filled: Filled) -> Option<Range<usize>> {
    let words = &asked.said.words;
    let [left, right] = gaps(asked.prompt, words, filled.from, filled.to);
    let values = &grammar.values[filled.sort as usize];
    let mut span = words[filled.from].span.start..words[filled.to - 1].span.end;
    // A quotation, whatever else stands around it.
    let quoted = PAIRS
        .iter()
        .find_map(|(open, close)| Some((left.glued.strip_suffix(open)?, right.glued.strip_prefix(close)?)));
    let (mut left, mut right) = (left, right);
    let whole = |gap: &Gap<'_>| values.edge(gap.key(gap.glued, true)) > 0;
    if let Some((before, behind)) = quoted.filter(|_| !whole(&left) && !whole(&right)) {
        (left.glued, right.glued) = (before, behind);
    }
    // A piece with signs of its own, where recorded values are such pieces.
    let pieced = asked
        .piece(filled)
        .filter(|_| asked.pattern(grammar, filled).is_some_and(|p| values.with_pattern(p) > 0));
    if let Some(piece) = pieced {
        if piece.start < span.start && left.glued.len() <= span.start - piece.start {
            (span.start, left.glued) = (piece.start, "");
        }
        if piece.end > span.end {
            right.glued = right.glued.get(piece.end - span.end..).unwrap_or_default();
            span.end = piece.end;
        }
    }
    for (gap, first, neighbour) in [
        (left, words.get(filled.from), filled.from.checked_sub(1).and_then(|at| words.get(at))),
        (right, words.get(filled.to - 1), words.get(filled.to)),
    ] {
        let (inner, outer) = (values.edge(gap.key(gap.glued, true)), values.edge(gap.key(gap.glued, false)));
        let plain = is_plain(&Gap { alone: "", ..gap }, first, neighbour);
        if !gap.glued.is_empty() && inner > outer {
            match gap.side {
                Side::Left => span.start -= gap.glued.len(),
                Side::Right => span.end += gap.glued.len(),
            }
        } else if !plain && outer == 0 {
            return None;
        }
        let lone = Gap { glued: "", tied: false, ..gap };
        if !is_plain(&lone, first, neighbour) && values.edge(gap.key(gap.alone, false)) == 0 {
            return None;
        }
    }
    Some(abbreviated(asked.prompt, span))
}

/// The bytes of words, with the point behind an abbreviation ("p.m.").
fn abbreviated(prompt: &str, span: Range<usize>) -> Range<usize> {
    let words = &prompt[span.clone()];
    let mut last = words.chars().rev();
    let short =
        last.next().is_some_and(char::is_alphabetic) && last.find(|c| !c.is_whitespace()) == Some('.');
    if short && prompt[span.end..].starts_with('.') { span.start..span.end + 1 } else { span }
}

/// Signs between the words of a value that no name is written with.
pub(crate) fn divides(c: char) -> bool {
    !(c.is_alphanumeric()
        || c.is_whitespace()
        || unseen(c)
        || matches!(c, '\'' | '’' | '-' | '‐' | '‑' | '.' | ',' | ';' | ':' | '!' | '?' | '&' | '·'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_belong_to_what_they_touch() {
        for (text, side, glued, alone, tied) in [
            (" ", Side::Left, "", "", false),
            (" -", Side::Left, "-", "", false),
            ("\" ", Side::Left, "", "", false),
            (" ~ ", Side::Right, "", "~", false),
            ("/* ", Side::Right, "/*", "", false),
            ("/", Side::Right, "/", "", true),
            ("", Side::Right, "", "", true),
        ] {
            let gap = Gap::new(text, side);
            assert_eq!((gap.glued, gap.alone, gap.tied), (glued, alone, tied), "{text:?}");
        }
    }
}
