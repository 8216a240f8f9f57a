//! Vetoes on values that no recording has shown: what may be a part of the request that only looks like a part of the value.
//!
//! "send it to Ann only if she is in" reads as a value "Ann only if she is in" unless something says no. Fixed words need no guard: they
//! are all known. A value that was recorded as it stands needs none either, but where it only points at an earlier turn.

use crate::grammar::{Grammar, Said};
use crate::lexicon::{self, Class};
use crate::parse::Filled;
use bir_entity::{Entity, Kind};

/// Why a value is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Veto {
    /// A word of this class stands in it.
    Word(Class),
    /// It mentions something of a type that values of its sort do not have.
    Typed,
        /// A word that these scenarios use as a fixed one stands in it, and in none of its values.
    Fixed,
        /// Values of its sort come again and again, and this one was never there.
    Closed,
    /// It begins the prompt, where a verb may stand.
    First,
    /// It has no word of its own.
    Empty,
    /// A sign divides it.
    Divided,
}

/// A value that points at an earlier turn must have been recorded so often.
const POINTING: u32 = 3;
/// A small word inside values is one of theirs when so many different ones have it.
const LICENSED: u32 = 2;
/// A word that could be a second request has to be in this share of them.
const USUAL: f64 = 0.15;
/// A sort is closed where a new value is less likely than that.
const CLOSED: f64 = 0.12;
/// A fixed word has to be one so often.
const USED: u32 = 2;

/// What speaks against a value.
pub(crate) fn veto(
    grammar: &Grammar, family: usize, said: &Said, prompt: &str,
    entities: &[Entity],
    filled: Filled,
) -> Option<Veto> {
    let words = &said.words[filled.from..filled.to];
    let values = &grammar.values[filled.sort as usize];
    let times = values.times(crate::grammar::value_key(words));
    let has = |at: usize, class| lexicon::classes(&words[at].text).any(|c| c == class);
    if (0..words.len()).all(|at| has(at, Class::Reference)) && times < POINTING {
        return Some(Veto::Word(Class::Reference));
    }
    if times > 0 {
        return None;
    }
    let span = words.first()?.span.start..words.last()?.span.end;
    if in_quotes(prompt, &span) {
        return None;
    }
    let covering = entities.iter().filter(|e| said.range(&e.span) == (filled.from, filled.to));
    if covering
        .into_iter()
        .any(|e| !matches!(e.kind, Kind::Name | Kind::Quoted) && values.share(e.kind) > 0.1)
    {
        return None;
    }
        if grammar.shapes[filled.sort as usize].new < CLOSED {
        return Some(Veto::Closed);
    }
    if (0..filled.from).all(|at| said.harmless[at]) && !words.iter().skip(1).any(|w| w.capital) {
        return Some(Veto::First);
    }
    // Written like a title: what stands between its capitals belongs to it.
    let small = |at: usize| lexicon::is_harmless(&words[at].text) || lexicon::classes(&words[at].text).next().is_some();
    let joins = |at: usize| lexicon::is_harmless(&words[at].text) || has(at, Class::Preposition) || matches!(words[at].text.as_str(), "and" | "or");
    let name = |at: usize| words[at].capital || (words[at].marked && at > 0 && words[at - 1].capital);
    let titled = said.cased && words[0].capital && name(words.len() - 1) && (0..words.len()).all(|at| words[at].marked || joins(at));
    for at in 0..words.len() {
                // A capital in the middle of a prompt begins a title.
        let inside = at > 0 || (filled.from > 0 && words[0].capital && said.cased);
        if lexicon::is_harmless(&words[at].text) || (titled && words.len() > 1 && inside) {
            continue;
        }
        let with = values.with_word(grammar.lexis.id(&words[at].text));
        let licensed = with >= LICENSED;
        let usual = f64::from(with) >= values.distinct() * USUAL && with >= 5;
        for class in lexicon::classes(&words[at].text) {
                                    let fits = match class {
                Class::Negation | Class::Condition => false,
                Class::Preposition => usual || (licensed && words[at].text == "of"),
                _ => usual,
            };
            if !fits {
                return Some(Veto::Word(class));
            }
        }
    }
        if titled {
        return None;
    }
    if (0..words.len()).all(small) {
        return Some(Veto::Empty);
    }
    let fixed = |word: &str| {
        let id = grammar.lexis.id(word);
        values.with_word(id) == 0 && grammar.families[family].fixed.get(&id).is_some_and(|n| *n >= USED)
    };
    if words.iter().any(|w| !lexicon::is_harmless(&w.text) && fixed(&w.text)) {
        return Some(Veto::Fixed);
    }
    let digits = values.with_word(grammar.lexis.inside("0")) >= LICENSED;
    let inside = |e: &&Entity| {
        e.span.start >= span.start
            && e.span.end <= span.end
            && !matches!(e.kind, Kind::Name | Kind::Quoted | Kind::Word)
    };
    if entities
        .iter()
        .filter(inside)
        .any(|e| values.share(e.kind) == 0.0 && !(digits && e.kind == Kind::Number))
    {
        return Some(Veto::Typed);
    }
    let divided = words.windows(2).any(|pair| {
        prompt
            .get(pair[0].span.end..pair[1].span.start)
            .is_some_and(|between| between.contains([',', ';', '.', '?', '!', ':', '(', ')', '\n']))
    });
    divided.then_some(Veto::Divided)
}

/// A quotation holds these bytes and nothing else.
fn in_quotes(prompt: &str, span: &std::ops::Range<usize>) -> bool {
    const PAIRS: &[(char, char)] =
        &[('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('`', '`'), ('‘', '’'), ('\'', '\'')];
    let before = prompt[..span.start].chars().next_back();
    let after = prompt[span.end..].chars().next();
    PAIRS.iter().any(|(open, close)| before == Some(*open) && after == Some(*close))
}
