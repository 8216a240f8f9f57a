//! Vetoes on values that no recording has shown: what may be a part of the request that only looks like a part of the value.
//!
//! "send it to Ann only if she is in" reads as a value "Ann only if she is in" unless something says no. Fixed words need no guard: they
//! are all known. A value that was recorded as it stands needs none either, but where it only points at an earlier turn.

use crate::grammar::Grammar;
use crate::lexicon::{self, Class};
use crate::parse::{Asked, Filled};

/// Why a value is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Veto {
    /// A word of this class stands in it.
    Word(Class),
    /// It mentions something of a type in a way that no value of its sort does.
    Typed,
    /// A word stands in it that these scenarios use as a fixed one, or in values of other sorts.
    Fixed,
    /// Values of its sort come again and again, and this one was never there.
    Closed,
    /// It begins the prompt, where a verb may stand.
    First,
    /// It is written in small letters, as no value of its sort is.
    Written,
    /// It has no word of its own.
    Empty,
    /// A sign divides it.
    Divided,
}

impl Veto {
    /// Whether it says that these words are no value at all, rather than that they could be more than one.
    pub(crate) fn is_unlikely(self) -> bool {
        matches!(self, Self::Fixed | Self::Closed | Self::First | Self::Empty)
    }
}

/// A value that points at an earlier turn must have been recorded so often.
const POINTING: u32 = 3;
/// "of" inside values is one of theirs when so many different ones have it.
const LICENSED: u32 = 2;
/// A small word is one of theirs when it is in this share of them.
const USUAL: f64 = 0.15;
/// And in so many.
const USUAL_TIMES: u32 = 5;
/// A sort is closed where a new value is less likely than that.
const CLOSED: f64 = 0.12;
/// And so many times as often as it is in a value.
const RARELY: f64 = 10.0;
/// A fixed word has to be one so often.
const USED: u32 = 2;

/// What speaks against a value.
pub(crate) fn veto(grammar: &Grammar, asked: &Asked<'_>, filled: Filled) -> Option<Veto> {
    let words = &asked.said.words[filled.from..filled.to];
    let classes = &asked.classes[filled.from..filled.to];
    let values = &grammar.values[filled.sort as usize];
    let times = values.times(crate::grammar::value_key(words));
    if classes.iter().all(|c| c.contains(&Class::Reference)) && times < POINTING {
        return Some(Veto::Word(Class::Reference));
    }
    if times > 0 || asked.in_quotes(filled) {
        return None;
    }
    let pattern = asked.pattern(grammar, filled);
    if pattern.is_some_and(|p| values.with_pattern(p) > 0) {
        return None;
    }
    if grammar.shapes[filled.sort as usize].new < CLOSED {
        return Some(Veto::Closed);
    }
    let begins = (0..filled.from).all(|at| asked.said.harmless[at]);
    if begins {
        return Some(Veto::First);
    }
    if asked.said.cased && !words[0].marked && values.written() {
        return Some(Veto::Written);
    }
    // A capital in the middle of a prompt begins a title.
    let harmless = |at: usize| lexicon::is_harmless(&words[at].text);
    let titled = titled(grammar, asked, filled);
    for at in 0..words.len() {
        let inside = at > 0 || (filled.from > 0 && words[0].capital);
        if harmless(at) || (titled && words.len() > 1 && inside) {
            continue;
        }
        let with = values.with_word(asked.inside[filled.from + at]);
        let usual = f64::from(with) >= values.distinct() * USUAL && with >= USUAL_TIMES;
        for class in &classes[at] {
            let fits = match class {
                Class::Negation | Class::Condition => false,
                Class::Preposition => usual || (with >= LICENSED && words[at].text == "of"),
                _ => usual,
            };
            if !fits {
                return Some(Veto::Word(*class));
            }
        }
    }
    if titled {
        return asked.is_divided(filled, true).then_some(Veto::Divided);
    }
    if pattern.is_some() {
        return Some(Veto::Typed);
    }
    if (0..words.len()).all(|at| harmless(at) || !classes[at].is_empty()) {
        return Some(Veto::Empty);
    }
    asked.is_divided(filled, false).then_some(Veto::Divided)
}

/// What speaks against a value in a family: a word that its prompts use outside of such values.
pub(crate) fn fixed(grammar: &Grammar, family: usize, asked: &Asked<'_>, filled: Filled) -> Option<Veto> {
    let values = &grammar.values[filled.sort as usize];
    let of = &grammar.families[family].fixed;
    let words = filled.from..filled.to;
    let used = |at: usize| {
        let id = asked.inside[at];
        let here = f64::from(values.with_word(id)) * RARELY;
        !lexicon::is_harmless(&asked.said.words[at].text)
            && of.get(&id).is_some_and(|n| *n >= USED && f64::from(*n) > here)
    };
    // A word in small letters does not become part of a title where it is what stands between values elsewhere.
    let between = |at: usize| {
        let word = &asked.said.words[at];
        !word.capital && lexicon::joins(&word.text) && of.get(&asked.inside[at]).is_some_and(|n| *n >= USED)
    };
    let small = words.clone().any(between);
    if !small && !words.clone().any(used) {
        return None;
    }
    let recorded = values.times(crate::grammar::value_key(&asked.said.words[words])) > 0;
    let typed = || asked.pattern(grammar, filled).is_some_and(|p| values.with_pattern(p) > 0);
    if recorded || asked.in_quotes(filled) || typed() {
        return None;
    }
    (small || !titled(grammar, asked, filled)).then_some(Veto::Fixed)
}

/// Written like a title: what stands between its capitals belongs to it. A word that joins does so only where other values hold one.
fn titled(grammar: &Grammar, asked: &Asked<'_>, filled: Filled) -> bool {
    let words = &asked.said.words[filled.from..filled.to];
    let joining = grammar.values[filled.sort as usize].joining() >= LICENSED;
    let joins = |at: usize| {
        let word = words[at].text.as_str();
        word == "of" || lexicon::is_harmless(word) || (joining && lexicon::joins(word))
    };
    let name = |at: usize| words[at].capital || (words[at].marked && at > 0 && words[at - 1].capital);
    asked.said.cased
        && words[0].capital
        && name(words.len() - 1)
        && (0..words.len()).all(|at| words[at].marked || joins(at))
}
