//! How a task is worded: a prompt in which the places of its parameters are open, and reading another prompt by it.
//!
//! ```text
//!  recorded   Book  [a room in]  ‹Rome›  from  ‹1 May›  to  ‹3 May›
//!  other      Book   a room in   ‹Oslo›  from  ‹7 May›  to  ‹9 May›      every difference is inside of a place: it is read
//!  other      Book   a flat in   ‹Oslo›  from  ‹7 May›  to  ‹9 May›      one is not: an edit
//! ```
//!
//! The reading with the fewest edits wins. If there is another one with as few edits and other words in a place, nobody knows which is
//! meant, and that place has no words.

use crate::prompt::{names, typed};
use bir_entity::{Clock, Entity, Kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// A place takes so many tokens at most.
const LONGEST_FILL: usize = 14;
/// A prompt of more tokens is not read: the work is in proportion to the product of both lengths.
const MOST_TOKENS: usize = 600;
/// What an edit of a word costs, and one of a sign.
const WORD: u32 = 2;
const SIGN: u32 = 1;
const FAR: u32 = u32::MAX / 4;

/// A word or a sign of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Token {
    span: Range<usize>,
    lower: String,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    /// Begins with a capital or a digit.
    Name,
    /// Begins with a small letter.
    Plain,
    Sign,
}

/// One piece of a wording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Item {
    Fixed(Token),
    /// The words of a text parameter, by the number of its place.
    Text {
        place: usize,
        fill: Vec<Token>,
    },
    /// Something of a kind.
    Typed {
        place: usize,
        kind: Kind,
    },
}

/// A prompt in which places are open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wording {
    items: Vec<Item>,
    places: Vec<Place>,
}

/// An open place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Where, in the recorded prompt.
    pub span: Range<usize>,
    /// What stood there, where it is something of a kind.
    pub entity: Option<Entity>,
}

/// What a place holds in another prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Fill {
    /// The bytes of the other prompt.
    pub span: Range<usize>,
    /// What stands there, where the place takes something of a kind.
    pub entity: Option<Entity>,
}

/// A part outside of every place in which two prompts differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edit {
    /// Pieces of the wording, by their number.
    pub items: Range2,
    /// The other words, in small letters.
    pub words: String,
}

/// A range that has an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range2 {
    /// The first.
    pub start: usize,
    /// The one behind the last.
    pub end: usize,
}

/// Another prompt, read by a wording.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// For each place what it holds; None: nothing, or nobody knows.
    pub fills: Vec<Option<Fill>>,
    /// What differs outside.
    pub edits: Vec<Edit>,
}

impl Wording {
    /// The wording of a prompt. `texts`: where text parameters stand; of those that overlap the longest is taken. Everything of a kind that
    /// stands outside of them is a place too.
    #[must_use]
    pub fn new(prompt: &str, clock: &Clock, texts: &[Range<usize>]) -> Self {
        let pieces = tokens(prompt);
        if pieces.len() > MOST_TOKENS {
            // Nothing is read by it.
            return Self { items: pieces.into_iter().map(Item::Fixed).collect(), places: Vec::new() };
        }
        let mut texts: Vec<_> = texts.to_vec();
        texts.sort_by_key(|span| (std::cmp::Reverse(span.len()), span.start));
        // Names that go nowhere are other ones in other prompts all the same.
        texts.extend(names(prompt, clock));
        let mut places: Vec<Place> = Vec::new();
        let free = |places: &[Place], span: &Range<usize>| {
            places.iter().all(|other| span.end <= other.span.start || other.span.end <= span.start)
        };
        for span in texts {
            if free(&places, &span) {
                places.push(Place { span, entity: None });
            }
        }
        for entity in typed(prompt, clock) {
            if free(&places, &entity.span) {
                places.push(Place { span: entity.span.clone(), entity: Some(entity) });
            }
        }
        places.sort_by_key(|place| place.span.start);
        let mut items: Vec<Item> = Vec::new();
        for token in pieces {
            let place = places
                .iter()
                .position(|place| place.span.start <= token.span.start && token.span.start < place.span.end);
            match (place, items.last_mut()) {
                (None, _) => items.push(Item::Fixed(token)),
                (Some(n), Some(Item::Text { place, fill })) if *place == n => fill.push(token),
                (Some(n), Some(Item::Typed { place, .. })) if *place == n => {}
                (Some(n), _) => items.push(match &places[n].entity {
                    Some(entity) => Item::Typed { place: n, kind: entity.kind },
                    None => Item::Text { place: n, fill: vec![token] },
                }),
            }
        }
        Self { items, places }
    }

    /// Its places.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Articles, commas, the last point and a "please" more or less make no difference.
    pub(crate) fn is_harmless(&self, edit: &Edit) -> bool {
        const NOTHING: [&str; 6] = ["the", "a", "an", ",", ".", "please"];
        let items = self.items.get(edit.items.start..edit.items.end).unwrap_or_default();
        let mut less = Vec::new();
        for item in items {
            let Item::Fixed(token) = item else { return false };
            less.push(token.lower.as_str());
        }
        let more: Vec<&str> = edit.words.split(' ').filter(|word| !word.is_empty()).collect();
        let nothing = |words: &[&str]| words.iter().all(|word| NOTHING.contains(word));
        // A point in the middle ends something.
        let last = edit.items.end >= self.items.len();
        let points = |words: &[&str]| words.contains(&".");
        match (less.as_slice(), more.as_slice()) {
            (["a"], ["an"]) | (["an"], ["a"]) => true,
            (less, []) => nothing(less) && (last || !points(less)),
            ([], more) => nothing(more) && (last || !points(more)),
            _ => false,
        }
    }

    /// An edit as a person reads it: `these words -> those words`.
    pub(crate) fn describe(&self, edit: &Edit) -> String {
        let items = self.items.get(edit.items.start..edit.items.end).unwrap_or_default();
        let words: Vec<&str> = items
            .iter()
            .map(|item| match item {
                Item::Fixed(token) => token.lower.as_str(),
                Item::Text { .. } | Item::Typed { .. } => "…",
            })
            .collect();
        format!("{} -> {}", words.join(" "), edit.words)
    }

    /// Reads another prompt; None: it is too long.
    #[must_use]
    pub fn read(&self, prompt: &str, clock: &Clock) -> Option<Reading> {
        let tokens = tokens(prompt);
        if tokens.len() > MOST_TOKENS || self.items.len() > MOST_TOKENS {
            return None;
        }
        let table =
            Table { items: &self.items, entities: ends(&typed(prompt, clock), &tokens), tokens: &tokens };
        let (ahead, behind) = (table.costs_to_end(), table.costs_from_start());
        let best = ahead[0][0];
        let mut fills = vec![None; self.places.len()];
        for (i, item) in self.items.iter().enumerate() {
            let place = match item {
                Item::Fixed(_) => continue,
                Item::Text { place, .. } | Item::Typed { place, .. } => *place,
            };
            let mut found = BTreeSet::new();
            for j in 0..tokens.len() {
                if behind[i][j] + ahead[i][j] > best {
                    continue;
                }
                for (next, end, cost) in table.steps(i, j) {
                    if next == i + 1 && end > j && behind[i][j] + cost + ahead[next][end] == best {
                        found.insert((j, end));
                    }
                }
            }
            if let (1, Some((from, to))) = (found.len(), found.first()) {
                let span = tokens[*from].span.start..tokens[to - 1].span.end;
                let entity = match item {
                    Item::Typed { .. } => {
                        table.entities[*from].iter().find(|(end, _)| end == to).map(|(_, e)| e.clone())
                    }
                    _ => None,
                };
                fills[place] = Some(Fill { span, entity });
            }
        }
        Some(Reading { fills, edits: table.edits(&ahead) })
    }
}

/// For each token the entities that begin there, with the token behind them.
fn ends(entities: &[Entity], tokens: &[Token]) -> Vec<Vec<(usize, Entity)>> {
    let mut out = vec![Vec::new(); tokens.len()];
    for entity in entities {
        let from = tokens.partition_point(|token| token.span.start < entity.span.start);
        let to = tokens.partition_point(|token| token.span.start < entity.span.end);
        if from < to && tokens[from].span.start == entity.span.start {
            out[from].push((to, entity.clone()));
        }
    }
    out
}

struct Table<'a> {
    items: &'a [Item],
    tokens: &'a [Token],
    entities: Vec<Vec<(usize, Entity)>>,
}

impl Table<'_> {
    /// From a piece and a token to the next of either, and what that costs.
    fn steps(&self, i: usize, j: usize) -> Vec<(usize, usize, u32)> {
        let mut out = Vec::new();
        if let Some(token) = self.tokens.get(j) {
            out.push((i, j + 1, cost_of(token)));
        }
        match self.items.get(i) {
            None => {}
            Some(Item::Fixed(fixed)) => {
                out.push((i + 1, j, cost_of(fixed)));
                match self.tokens.get(j) {
                    Some(token) if token.lower == fixed.lower => out.push((i + 1, j + 1, 0)),
                    // Another word instead of this one is less than one more and one less.
                    Some(token) => out.push((i + 1, j + 1, cost_of(fixed) + cost_of(token) - 1)),
                    None => {}
                }
            }
            Some(Item::Text { fill, .. }) => {
                out.push((i + 1, j, 3 * WORD));
                let longest = LONGEST_FILL.min(self.tokens.len().saturating_sub(j));
                for many in 1..=longest {
                    if is_alike(&self.tokens[j..j + many], fill) {
                        out.push((i + 1, j + many, 0));
                    }
                }
            }
            Some(Item::Typed { kind, .. }) => {
                out.push((i + 1, j, 3 * WORD));
                for (end, entity) in self.entities.get(j).into_iter().flatten() {
                    if entity.kind == *kind {
                        out.push((i + 1, *end, 0));
                    }
                }
            }
        }
        out
    }

    fn costs_to_end(&self) -> Vec<Vec<u32>> {
        let (n, m) = (self.items.len(), self.tokens.len());
        let mut costs = vec![vec![FAR; m + 1]; n + 1];
        for i in (0..=n).rev() {
            for j in (0..=m).rev() {
                let here = if i == n && j == m { 0 } else { FAR };
                let steps = self.steps(i, j);
                costs[i][j] =
                    steps.iter().map(|(i, j, cost)| cost + costs[*i][*j]).min().unwrap_or(FAR).min(here);
            }
        }
        costs
    }

    fn costs_from_start(&self) -> Vec<Vec<u32>> {
        let (n, m) = (self.items.len(), self.tokens.len());
        let mut costs = vec![vec![FAR; m + 1]; n + 1];
        costs[0][0] = 0;
        for i in 0..=n {
            for j in 0..=m {
                let here = costs[i][j];
                for (next, end, cost) in self.steps(i, j) {
                    let known = &mut costs[next][end];
                    *known = (*known).min(here.saturating_add(cost).min(FAR));
                }
            }
        }
        costs
    }

    /// What differs, along the cheapest reading.
    fn edits(&self, ahead: &[Vec<u32>]) -> Vec<Edit> {
        let mut out: Vec<Edit> = Vec::new();
        let (mut i, mut j, mut open) = (0, 0, false);
        while i < self.items.len() || j < self.tokens.len() {
            let steps = self.steps(i, j);
            // A step that costs nothing first, so that an edit stands as late as it can.
            let best = steps
                .into_iter()
                .filter(|(n, e, cost)| cost + ahead[*n][*e] == ahead[i][j])
                .min_by_key(|(_, _, cost)| *cost);
            let Some((next, end, cost)) = best else { break };
            if cost == 0 {
                open = false;
            } else {
                if !open {
                    out.push(Edit { items: Range2 { start: i, end: i }, words: String::new() });
                    open = true;
                }
                if let Some(edit) = out.last_mut() {
                    edit.items.end = next;
                    if end > j {
                        edit.words.push_str(if edit.words.is_empty() { "" } else { " " });
                        edit.words.push_str(&self.tokens[j].lower);
                    }
                }
            }
            (i, j) = (next, end);
        }
        out
    }
}

fn cost_of(token: &Token) -> u32 {
    if token.shape == Shape::Sign { SIGN } else { WORD }
}

/// Whether words may stand where others stood: names where a name was, as many commas, no end of a sentence.
fn is_alike(words: &[Token], recorded: &[Token]) -> bool {
    let commas = |tokens: &[Token]| tokens.iter().filter(|token| token.lower == ",").count();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    let (Some(was), Some(was_last)) = (recorded.first(), recorded.last()) else { return false };
    // "John F. Kennedy" and "St. Anton" go on.
    let is_short = |tokens: &[Token], at: usize| {
        at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|word| {
            word.lower.chars().count() == 1
                || matches!(word.lower.as_str(), "st" | "mt" | "dr" | "mr" | "mrs" | "ft")
        })
    };
    let ends_sentence = |tokens: &[Token]| {
        tokens.windows(2).enumerate().any(|(at, pair)| {
            matches!(pair[0].lower.as_str(), "." | "?" | "!" | ";" | ":")
                && pair[1].span.start > pair[0].span.end
                && !(pair[0].lower == "." && is_short(tokens, at))
        }) || tokens.iter().any(|token| matches!(token.lower.as_str(), "?" | "!" | ";"))
    };
    if commas(words) != commas(recorded) || ends_sentence(words) && !ends_sentence(recorded) {
        return false;
    }
    // A dash or a quote of print may have been written otherwise in the call.
    let odd = |token: &&Token| !token.lower.is_ascii() && token.shape == Shape::Sign;
    if words.iter().filter(odd).any(|token| recorded.iter().all(|other| other.lower != token.lower)) {
        return false;
    }
    if was.shape == Shape::Name {
        let in_names = |token: &Token| {
            token.shape != Shape::Plain
                || PARTICLES.contains(&token.lower.as_str())
                || recorded.iter().any(|other| other.lower == token.lower)
        };
        first.shape == Shape::Name
            && (last.shape == Shape::Name || last.lower == was_last.lower)
            && words.iter().all(in_names)
    } else {
        first.shape == was.shape
            && words.len() <= recorded.len() + 1
            && words.iter().all(|token| {
                let digits = |token: &Token| token.lower.starts_with(|c: char| c.is_ascii_digit());
                token.shape != Shape::Name || (digits(token) && recorded.iter().any(digits))
            })
    }
}

/// Small words inside of names. Those that say where something is ("in", "at", "near") are none: nobody knows whether a call would have
/// them.
const PARTICLES: [&str; 26] = [
    "of", "the", "and", "de", "la", "le", "les", "du", "des", "del", "della", "di", "da", "do", "dos", "van",
    "von", "der", "den", "el", "al", "y", "e", "et", "und", "am",
];

fn tokens(text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut word: Option<usize> = None;
    let close = |from: usize, to: usize, out: &mut Vec<Token>| {
        let piece = &text[from..to];
        let shape = match piece.chars().next() {
            Some(c) if c.is_lowercase() => Shape::Plain,
            _ => Shape::Name,
        };
        out.push(Token { span: from..to, lower: piece.to_lowercase(), shape });
    };
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let inner = matches!(c, '\'' | '’')
            && word.is_some()
            && letters.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if c.is_alphanumeric() || inner {
            word.get_or_insert(at);
            continue;
        }
        if let Some(from) = word.take() {
            close(from, at, &mut out);
        }
        if !c.is_whitespace() {
            out.push(Token { span: at..at + c.len_utf8(), lower: c.to_string(), shape: Shape::Sign });
        }
    }
    if let Some(from) = word {
        close(from, text.len(), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
    }

    fn read(recorded: &str, texts: &[&str], other: &str) -> (Vec<Option<String>>, usize) {
        let spans: Vec<_> = texts
            .iter()
            .flat_map(|text| recorded.match_indices(text).map(|(at, _)| at..at + text.len()))
            .collect();
        let reading = Wording::new(recorded, &clock(), &spans).read(other, &clock()).unwrap();
        let fills =
            reading.fills.iter().map(|fill| fill.as_ref().map(|fill| other[fill.span.clone()].to_owned()));
        (fills.collect(), reading.edits.len())
    }

    #[test]
    fn differences_inside_of_places_are_read_and_others_are_edits() {
        let recorded = "Book a room in Rome from May 1, 2027 to May 3, 2027.";
        let some = |words: &[&str]| words.iter().map(|word| Some((*word).to_owned())).collect::<Vec<_>>();
        let other = "Book a room in Rio de Janeiro from May 7, 2027 to May 9, 2027.";
        assert_eq!(
            read(recorded, &["Rome"], other),
            (some(&["Rio de Janeiro", "May 7, 2027", "May 9, 2027"]), 0)
        );
        let other = "Book a flat in Oslo from May 7, 2027 to May 9, 2027.";
        assert_eq!(read(recorded, &["Rome"], other).1, 1);
        let other = "Book a room in Oslo from May 7, 2027 to May 9, 2027, but not near the station.";
        assert_eq!(read(recorded, &["Rome"], other).1, 1);
        let other = "Book a room in Oslo. Ask Anna from May 7, 2027 to May 9, 2027.";
        assert_ne!(read(recorded, &["Rome"], other).1, 0);
    }

    #[test]
    fn where_two_readings_are_as_good_nothing_is_read() {
        let (fills, edits) = read("Fly Rome Oslo", &["Rome", "Oslo"], "Fly New York Los Angeles");
        assert_eq!((fills, edits), (vec![None, None], 0));
    }

    #[test]
    fn a_prompt_that_is_too_long_is_not_read() {
        let wording = Wording::new("a b", &clock(), &[]);
        assert!(wording.read(&"word ".repeat(20_000), &clock()).is_none());
    }
}
