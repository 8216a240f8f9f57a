//! Vetoes on values that no recording has shown: what may be a part of the request that only looks like a part of the value.
//!
//! "send it to Ann only if she is in" reads as a value "Ann only if she is in" unless something says no. Fixed words need no guard: they
//! are all known. A value that was recorded as it stands needs none either, but where it only points at an earlier turn.

use crate::edge;
use crate::grammar::Grammar;
use crate::lexicon::{self, Class};
use crate::naming;
use crate::parse::{Asked, Filled};
use crate::value::Holds;
use crate::word::Word;

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
    /// A sign stands at its edge that no recorded value has there.
    Edge,
    /// It names more things than any recorded value.
    Several,
    /// A word stands in it that names nothing ("several", "hers"), and that values of its sort do not have.
    Function,
    /// A unit or a number in words stands in it, and values of its sort have none.
    Unit,
    /// It is a recorded value and something more.
    Extends,
    /// A word of the request stands twice in a row.
    Twice,
    /// Nothing marks where it ends and the value beside it begins.
    Beside,
    /// Recorded prompts have the two the other way round.
    Roles,
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
/// Where this share of its values has a type, one without is none.
const TYPED: f64 = 0.7;
/// A type that this share of its values has is one of the sort's.
const RARE: f64 = 0.02;
/// A fixed word has to be one so often.
const USED: u32 = 2;

/// What speaks against a value.
pub(crate) fn veto(grammar: &Grammar, asked: &Asked<'_>, filled: Filled) -> Option<Veto> {
    let words = &asked.said.words[filled.from..filled.to];
    let classes = &asked.classes[filled.from..filled.to];
    let values = &grammar.values[filled.sort as usize];
    let times = values.times(asked.key(filled.from, filled.to));
    if edge::extent(grammar, asked, filled).is_none() {
        return Some(Veto::Edge);
    }
    if classes.iter().all(|c| c.contains(&Class::Reference)) && times < POINTING {
        return Some(Veto::Word(Class::Reference));
    }
    // "not" was a value once: by mistake, or in another sense.
    let named = |at: usize| {
        // "Go" and "C" are names where they are written as names.
        let name = asked.is_capital(at) && values.written_so();
        let text = &words[at - filled.from].text;
        // "Budapest" only ends like a superlative.
        let class =
            !classes[at - filled.from].is_empty() && (lexicon::is_listed(text) || !asked.is_capital(at));
        class || (asked.is_function(at) && !name)
    };
    let functions = (filled.from..filled.to).all(named);
    if functions && times < POINTING && !asked.in_quotes(filled) {
        return Some(Veto::Function);
    }
    // "as" is one of the "AS" that were recorded only where it is written so.
    if functions && asked.said.cased && !words[0].marked && values.written() && !asked.in_quotes(filled) {
        return Some(Veto::Written);
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
    // A sign is part of a value where other values of the sort have it.
    let strange = |at: &usize| {
        let text = asked.said.words[*at].text.as_str();
        text != "&" && !text.contains(char::is_alphanumeric) && values.with_word(asked.inside[*at]) == 0
    };
    if (filled.from..filled.to).any(|at| strange(&at)) {
        return Some(Veto::Divided);
    }
    // So is a number.
    let number = |at: usize| {
        words[at].text.starts_with(is_digit) && values.with_word(asked.inside[filled.from + at]) == 0
    };
    if pattern.is_some() && (0..words.len()).any(number) {
        return Some(Veto::Typed);
    }
    // A capital in the middle of a prompt begins a title.
    let harmless = |at: usize| lexicon::is_harmless(&words[at].text) && !lexicon::opens(&words[at].text);
    let titled = titled(grammar, asked, filled);
    // "New" of "New York".
    let begins_name =
        |at: usize| naming::begins(&words[at].text) && words.get(at + 1).is_some_and(|w| w.capital);
    let held = |what: Holds| values.holding(what) >= LICENSED;
    let sign = |pair: &[Word]| {
        let between = asked.prompt.get(pair[0].span.end..pair[1].span.start).unwrap_or_default();
        between.chars().any(|c| edge::divides(c) && !held(Holds::Sign(c)))
    };
    if words.windows(2).any(sign) {
        return Some(Veto::Divided);
    }
    // "several Ann Lee", "Bonn only": what is written small beside a name is no part of it.
    if asked.said.cased && !titled && words.iter().any(|w| w.capital) && !words[0].text.starts_with(is_digit)
    {
        return Some(Veto::Written);
    }
    for at in 0..words.len() {
        let inside = at > 0 || (filled.from > 0 && words[0].capital);
        // What stands between the capitals of a name belongs to it, where recorded values have such words.
        let within = at > 0 && at + 1 < words.len();
        let foreign = within && asked.language.is_english() && naming::is_foreign(&words[at].text);
        // "Bonn mute the lights": an article begins something of its own.
        let article = at > 0 && !titled && lexicon::is_article(&words[at].text);
        if article && values.with_word(asked.inside[filled.from + at]) < LICENSED {
            return Some(Veto::Function);
        }
        if harmless(at) || foreign || (titled && naming::is_particle(&words[at].text)) {
            continue;
        }
        if titled && inside {
            // "NOT" in a name of other letters is said loud.
            let loud = |w: &Word| {
                w.text.len() > 1
                    && asked.prompt.get(w.span.clone()).is_some_and(|t| !t.chars().any(char::is_lowercase))
            };
            let loud = loud(&words[at]) && !words.iter().filter(|w| w.capital).all(loud);
            let strange = classes[at].iter().find(|class| {
                // "Budapest" is no superlative.
                let named = words[at].capital
                    && **class == Class::Superlative
                    && !lexicon::is_listed(&words[at].text);
                !named && (loud || !held(Holds::Class(**class)))
            });
            match strange {
                Some(class) => return Some(Veto::Word(*class)),
                None if words.len() > 1
                    && !begins_name(at)
                    && asked.is_function(filled.from + at)
                    && !held(Holds::Function) =>
                {
                    return Some(Veto::Function);
                }
                None => continue,
            }
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
        if classes[at].is_empty() && !usual && !words[at].capital {
            if asked.is_function(filled.from + at) {
                return Some(Veto::Function);
            }
            if asked.is_measure(filled.from + at) {
                return Some(Veto::Unit);
            }
        }
    }
    if naming::parts(asked.prompt, words) > values.most_parts() {
        return Some(Veto::Several);
    }
    if extends(grammar, asked, filled, titled) {
        return Some(Veto::Extends);
    }
    if titled {
        if joined(grammar, asked, filled) {
            return Some(Veto::Word(Class::Compound));
        }
        if asked.is_typed(filled) {
            return Some(Veto::Typed);
        }
        return asked.is_divided(filled, true).then_some(Veto::Divided);
    }
    if pattern.is_some() || grammar.shapes[filled.sort as usize].typed > TYPED {
        return Some(Veto::Typed);
    }
    if (0..words.len()).all(|at| harmless(at) || !classes[at].is_empty()) {
        return Some(Veto::Empty);
    }
    asked.is_divided(filled, false).then_some(Veto::Divided)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// A recorded value of its sort, and before or behind it words that no value of the sort has; where it is a title, numbers.
fn extends(grammar: &Grammar, asked: &Asked<'_>, filled: Filled, titled: bool) -> bool {
    let values = &grammar.values[filled.sort as usize];
    let number = |at: usize| asked.said.words[at].text.starts_with(is_digit);
    let strange = |mut range: std::ops::Range<usize>| {
        range.all(|at| if titled { number(at) } else { values.with_word(asked.inside[at]) == 0 })
    };
    let recorded = |from: usize, to: usize| values.times(asked.key(from, to)) > 0;
    (filled.from + 1..filled.to).any(|at| {
        (recorded(filled.from, at) && recorded(at, filled.to))
            || (recorded(filled.from, at) && strange(at..filled.to))
            || (recorded(at, filled.to) && strange(filled.from..at))
    })
}

/// Two values with a word between them that adds: one of them was recorded by itself.
fn joined(grammar: &Grammar, asked: &Asked<'_>, filled: Filled) -> bool {
    let values = &grammar.values[filled.sort as usize];
    let recorded = |from: usize, to: usize| from < to && values.times(asked.key(from, to)) > 0;
    let adds = |at: usize| {
        matches!(asked.said.words[at].text.as_str(), "&" | "+" | "/")
            || asked.classes[at].contains(&Class::Compound)
    };
    (filled.from..filled.to).any(|at| adds(at) && (recorded(filled.from, at) || recorded(at + 1, filled.to)))
}

/// Whether a value was made up of words that nothing marks as belonging together: not recorded, not quoted, of no type, in small letters.
pub(crate) fn is_bare(grammar: &Grammar, asked: &Asked<'_>, filled: Filled) -> bool {
    let values = &grammar.values[filled.sort as usize];
    let words = &asked.said.words[filled.from..filled.to];
    let recorded = values.times(asked.key(filled.from, filled.to)) > 0;
    // One of a hundred was a number by chance.
    let often = |p: u64| f64::from(values.with_pattern(p)) >= (values.distinct() * RARE).max(1.0);
    let typed = asked.pattern(grammar, filled).is_some_and(often);
    // "Doctor No 17 | 5": the number could belong to either.
    let name = asked.said.cased && words[0].marked && words[words.len() - 1].capital;
    !recorded && !typed && !asked.in_quotes(filled) && !name
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
    let recorded = values.times(asked.key(words.start, words.end)) > 0;
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
        let adds = (joining && lexicon::joins(word)) || word == "&";
        naming::is_particle(word) || lexicon::is_harmless(word) || (adds && word != "or")
    };
    let name = |at: usize| words[at].capital || (words[at].marked && at > 0 && words[at - 1].capital);
    asked.said.cased
        && words[0].capital
        && name(words.len() - 1)
        && (0..words.len()).all(|at| words[at].marked || joins(at))
}
