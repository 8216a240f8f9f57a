//! The words between parameters, learned from recorded prompts: which stretch of fixed words led from which parameter to which, in which
//! family of scenarios.
//!
//! ```text
//!  recorded    send [report.pdf] to [Ann]   and   please mail [notes.md] to [Bob] today
//!  learned     ^ send → file · file to → who · who $        ^ mail → file · file to → who · who today $
//! ```
//!
//! A prompt is explained where it is a chain of such stretches with values between them. Stretches of one recorded prompt may be joined
//! with those of another of the same family; a stretch that no prompt has shown explains nothing.

use crate::edge;
use crate::function;
use crate::known::{Example, Known};
use crate::lexicon;
use crate::naming;
use crate::steps::{Steps, Stretch};
use crate::value::{Holds, Shape, Values};
use crate::way::Way;
use crate::word::{Word, words};
use bir_entity::{Clock, Entity, Kind, Vocabulary};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A sort of values, or one of the two ends of a prompt.
pub(crate) type Sort = u32;
/// Before the first word.
pub(crate) const BEGIN: Sort = 0;
/// Behind the last word.
pub(crate) const END: Sort = 1;

/// Words as numbers; what was never seen has none.
#[derive(Debug, Default)]
pub(crate) struct Lexis {
    ids: HashMap<String, u32>,
    counts: Vec<u32>,
    /// How many words of prompts have the number.
    uses: Vec<u32>,
    /// Numbers without a word.
    free: Vec<u32>,
    total: u32,
    harmless: HashSet<u32>,
}

/// The number of a word that no prompt has shown.
pub(crate) const NEVER: u32 = u32::MAX;
/// So many words of other prompts are thought beside the recorded ones.
const OTHERS: f64 = 5_000.0;
/// Stands for digits inside values.
const DIGITS: &str = "#";

impl Lexis {
    /// Counts a word of a prompt.
    fn count(&mut self, id: u32, way: Way) {
        if let Some(count) = self.counts.get_mut(id as usize) {
            way.count(count);
            way.count(&mut self.total);
        }
    }

    /// The number of a word, a new one if it has none; each call is to be taken back by [`drop`](Self::drop).
    fn know(&mut self, word: &str) -> u32 {
        if let Some(id) = self.ids.get(word) {
            self.uses[*id as usize] += 1;
            return *id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.counts.push(0);
            self.uses.push(0);
            u32::try_from(self.counts.len() - 1).unwrap_or(NEVER - 1)
        });
        self.ids.insert(word.to_owned(), id);
        self.uses[id as usize] = 1;
        if lexicon::is_harmless(word) {
            self.harmless.insert(id);
        }
        id
    }

    fn drop(&mut self, word: &str) {
        let Some(id) = self.ids.get(word).copied() else { return };
        let uses = &mut self.uses[id as usize];
        *uses = uses.saturating_sub(1);
        if *uses == 0 {
            self.ids.remove(word);
            self.harmless.remove(&id);
            self.counts[id as usize] = 0;
            self.free.push(id);
        }
    }

    pub(crate) fn id(&self, word: &str) -> u32 {
        self.ids.get(word).copied().unwrap_or(NEVER)
    }

    /// How likely a word is in any prompt; few recorded ones do not say much about the others.
    pub(crate) fn share(&self, id: u32) -> f64 {
        let count = if id == NEVER { 0 } else { self.counts.get(id as usize).copied().unwrap_or(0) };
        f64::from(count) / (f64::from(self.total) + OTHERS) + crate::value::UNKNOWN
    }

    /// What a word is inside a value: digits are all alike.
    pub(crate) fn inside(&self, word: &str) -> u32 {
        if word.bytes().all(|b| b.is_ascii_digit()) { self.id(DIGITS) } else { self.id(word) }
    }
}

/// A sequence of words and parameters: which parameters, in the order of the words, and how often.
#[derive(Debug, Default)]
pub(crate) struct Template(Vec<(Vec<usize>, u32)>);

impl Template {
    /// Which parameters, in the order of the words; None: recorded prompts do not agree.
    pub(crate) fn places(&self) -> Option<&Vec<usize>> {
        match self.0.as_slice() {
            [(places, _)] => Some(places),
            _ => None,
        }
    }

    fn learn(&mut self, places: Vec<usize>, way: Way) {
        match self.0.iter_mut().find(|(p, _)| *p == places) {
            Some((_, count)) => way.count(count),
            None if way == Way::Learn => self.0.push((places, 1)),
            None => {}
        }
        self.0.retain(|(_, count)| *count > 0);
    }
}

/// Scenarios that call the same.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) prompts: u32,
    /// Which parameters a prompt mentions, as [`plan_key`], and whose plan that is.
    pub(crate) plans: HashMap<u64, Vec<(usize, u32)>>,
    /// Fixed words, and those of values that came again, with how often.
    pub(crate) fixed: HashMap<u32, u32>,
    /// How often each value came.
    values: HashMap<u64, u32>,
    /// How often a stretch had so many words.
    lengths: BTreeMap<usize, u32>,
}

impl Family {
    /// The most words of a stretch.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.last_key_value().map_or(0, |(length, _)| *length)
    }
}

/// What was learned.
#[derive(Debug, Default)]
pub(crate) struct Grammar {
    pub(crate) lexis: Lexis,
    pub(crate) sorts: HashMap<String, Sort>,
    /// A key for each, by its name: what is equal is broken by it, whatever came first.
    pub(crate) named: Vec<u64>,
    pub(crate) values: Vec<Values>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) families: Vec<Family>,
    pub(crate) steps: Steps,
    pub(crate) cases: Cases,
    /// The very sequence of words and parameters, and the scenarios whose it is.
    pub(crate) templates: HashMap<u64, Template>,
    pub(crate) prompts: u32,
    /// See [`Steps::disagreement`].
    pub(crate) disagreement: f64,
}

/// One word more.
pub(crate) fn mix(key: u64, with: u64) -> u64 {
    // The key is spread before: of small numbers, 2 with 1 must not be 3 with 0.
    let spread = key.wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mut x = (spread.rotate_left(32) ^ with).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 32)
}

/// Adds a parameter, by the key of its sort ([`Grammar::named`]), to a key of what a prompt mentions, whatever the order.
pub(crate) fn plan_key(key: u64, named: u64) -> u64 {
    key.wrapping_add(named)
}

/// The key of a value.
pub(crate) fn value_key(words: &[Word]) -> u64 {
    words.iter().fold(3, |key, w| w.text.bytes().fold(mix(key, 5), |key, b| mix(key, u64::from(b))))
}

/// What words of a value hold that others of its sort may not; names of one word hold nothing.
pub(crate) fn holds(text: &str, words: &[Word], function: impl Fn(usize) -> bool) -> Vec<Holds> {
    let mut held: Vec<Holds> = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|_| words.len() > 1) {
        held.extend(lexicon::classes(&word.text).map(Holds::Class));
        if function(at) {
            held.push(Holds::Function);
        }
    }
    for pair in words.windows(2) {
        let between = text.get(pair[0].span.end..pair[1].span.start).unwrap_or_default();
        held.extend(between.chars().filter(|c| edge::divides(*c)).map(Holds::Sign));
    }
    held.sort_unstable();
    held.dedup();
    held
}

/// Something mentioned that has a type, from a word to a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typed {
    pub(crate) from: usize,
    pub(crate) to: usize,
    kind: Kind,
    /// It begins with digits.
    digits: bool,
}

/// The key of words with what has a type taken as its type ("in" and a length of time); None: nothing in them has one.
pub(crate) fn pattern(
    grammar: &Grammar,
    typed: &[Typed],
    inside: &[u32],
    from: usize,
    to: usize,
) -> Option<u64> {
    let first = typed.partition_point(|t| t.from < from);
    // "75" of "75 euros", whose unit is no part of the value.
    if let Some(amount) = typed.get(first).filter(|t| t.from == from && t.to == to + 1 && t.digits) {
        let measured = matches!(amount.kind, Kind::Money | Kind::Quantity | Kind::Duration);
        return (measured && to == from + 1).then(|| mix(23, amount.kind as u64));
    }
    let mut rest = typed[first..].iter().take_while(|t| t.to <= to).peekable();
    rest.peek()?;
    let (mut key, mut at) = (21, from);
    while at < to {
        match rest.next_if(|t| t.from == at) {
            Some(t) => {
                // Years in digits do not make "thousand" one.
                let spelled = t.kind == Kind::Number && !t.digits;
                key = mix(key, 1_000_000_007 + t.kind as u64 + if spelled { 1_000 } else { 0 });
                at = t.to;
            }
            None => {
                // A word that was never seen is like no other.
                if inside[at] == NEVER {
                    return Some(0);
                }
                if !grammar.lexis.harmless.contains(&inside[at]) {
                    key = mix(key, u64::from(inside[at]));
                }
                at += 1;
            }
        }
    }
    Some(key)
}

/// The words of a prompt that are compared, with what is harmless marked.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) words: Vec<Word>,
    /// Where it may be there or not.
    pub(crate) harmless: Vec<bool>,
    /// Its writer uses capitals, not only for the first word.
    pub(crate) cased: bool,
}

impl Said {
    pub(crate) fn new(text: &str) -> Self {
        let words = words(text);
        let frame = {
            let first = words.iter().position(|w| !lexicon::is_harmless(&w.text)).unwrap_or(0);
            let texts = words[first..].iter().map(|w| w.text.as_str());
            first..first + lexicon::frame(texts)
        };
        let mut harmless = Vec::with_capacity(words.len());
        let mut opening = true;
        for (at, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            // Of two articles one belongs to something else.
            let again = at > 0 && lexicon::is_article(text) && lexicon::is_article(&words[at - 1].text);
            // "at a in": nor does it stand before a word that relates.
            let before = words.get(at + 1).is_some_and(|w| lexicon::relates(&w.text));
            let again = again || (lexicon::is_article(text) && before);
            let may = lexicon::is_harmless(text) && !again && (opening || !lexicon::opens(text));
            harmless.push(frame.contains(&at) || may);
            opening &= may;
        }
        let cased = words.iter().skip(1).any(|w| w.capital) && words.iter().any(|w| !w.marked);
        Self { words, harmless, cased }
    }

    /// What is mentioned that has a type, by the words that it stands on; names and quotations have none that counts here.
    pub(crate) fn typed(&self, entities: &[Entity]) -> Vec<Typed> {
        let counts = |e: &&Entity| !matches!(e.kind, Kind::Name | Kind::Quoted | Kind::Word);
        let typed = entities.iter().filter(counts).map(|e| {
            let (from, to) = self.range(&e.span);
            let digits =
                self.words.get(from).is_some_and(|w| w.text.starts_with(|c: char| c.is_ascii_digit()));
            Typed { from, to, kind: e.kind, digits }
        });
        typed.filter(|t| t.from < t.to).collect()
    }

    /// Bytes begin or end inside of a word.
    fn cuts(&self, span: &std::ops::Range<usize>) -> bool {
        let (from, to) = self.range(span);
        self.words[from..to].iter().any(|w| w.span.start < span.start || w.span.end > span.end)
    }

    /// The words inside bytes.
    pub(crate) fn range(&self, span: &std::ops::Range<usize>) -> (usize, usize) {
        let from = self.words.partition_point(|w| w.span.end <= span.start);
        let to = self.words.partition_point(|w| w.span.start < span.end);
        (from, to.max(from))
    }
}

impl Grammar {
    /// Nothing.
    pub(crate) fn new() -> Self {
        let ends = || vec![Values::default(), Values::default()];
        Self {
            values: ends(),
            named: vec![0, 1],
            shapes: ends().iter().map(Values::shape).collect(),
            ..Self::default()
        }
    }

    /// Learns a prompt of a scenario, by the scenario's number and that of its family, or forgets it. What is forgotten has to have been
    /// learned, with the same clock.
    pub(crate) fn learn(
        &mut self,
        at: usize,
        scenario: &Known,
        family: usize,
        example: &Example,
        clock: &Clock,
        way: Way,
    ) {
        if self.families.len() <= family {
            self.families.resize_with(family + 1, Family::default);
        }
        let said = Said::new(&example.text);
        // A value that is a part of a word ("東京" where it cannot be told from what follows) is known word for word alone.
        if example.slots.iter().any(|slot| said.cuts(&slot.span)) {
            return;
        }
        let typed = said.typed(&bir_entity::find(&example.text, clock, &Vocabulary::default()));
        let inner = |w: &Word| {
            if w.text.bytes().all(|b| b.is_ascii_digit()) { DIGITS.to_owned() } else { w.text.clone() }
        };
        let inside: Vec<u32> = said.words.iter().map(|w| self.lexis.know(&inner(w))).collect();
        let fixed: Vec<u32> = said.words.iter().map(|w| self.lexis.know(&w.text)).collect();
        for id in &fixed {
            self.lexis.count(*id, way);
        }
        let language = function::language(said.words.iter().map(|w| w.text.as_str()));
        let functions: Vec<bool> =
            said.words.iter().map(|w| function::is_function(&w.text, language)).collect();
        let mut from = BEGIN;
        let mut next = 0;
        let mut plan = 0;
        let mut template = mix(9, family as u64);
        let mut places = Vec::new();
        let mut slots: Vec<_> = example.slots.iter().collect();
        slots.sort_by_key(|s| s.span.start);
        for slot in slots {
            let Some(place) = scenario.places.get(slot.place) else { continue };
            let (start, end) = said.range(&slot.span);
            if start < next || start >= end {
                continue;
            }
            let sort = self.sort(&place.sort);
            let stretch = self.stretch(&said, &fixed, next..start, family, from, sort, template, way);
            template = mix(stretch, u64::from(sort));
            let key = value_key(&said.words[start..end]);
            // Words of a value that comes again are as good as fixed ones.
            let of = &mut self.families[family];
            let (before, now) = way.entry(&mut of.values, mix(key, u64::from(sort)));
            if before.max(now) > 1 {
                for id in &fixed[start..end] {
                    way.entry(&mut of.fixed, *id);
                }
            }
            let pattern = pattern(self, &typed, &inside, start, end);
            let values = &mut self.values[sort as usize];
            if end > start + 2 && said.words[start + 1..end - 1].iter().any(|w| lexicon::joins(&w.text)) {
                values.learn_joining(way);
            }
            values.learn(key, &inside[start..end], pattern, way);
            let between = start..end;
            edge::learn(values, &example.text, &said.words, (start, end), &slot.span, way);
            let held = holds(&example.text, &said.words[between.clone()], |at| functions[start + at]);
            let parts = naming::parts(&example.text, &said.words[between]);
            let made = held.iter().fold(mix(key, parts as u64), |key, hold| mix(key, hold.key()));
            values.learn_made(made, &held, parts, way);
            for at in (start..end).filter(|at| said.cased && *at > 0) {
                self.cases.learn(if at == start { 1 } else { 2 }, said.words[at].capital, way);
            }
            if said.cased && start > 0 && !said.words[start].text.starts_with(|c: char| c.is_ascii_digit()) {
                values.learn_case(said.words[start].capital, way);
            }
            self.shapes[sort as usize] = values.shape();
            places.push(slot.place);
            plan = plan_key(plan, self.named[sort as usize]);
            from = sort;
            next = end;
        }
        template = self.stretch(&said, &fixed, next..said.words.len(), family, from, END, template, way);
        let key = mix(template, at as u64);
        let known = self.templates.entry(key).or_default();
        known.learn(places, way);
        if known.0.is_empty() {
            self.templates.remove(&key);
        }
        let of = &mut self.families[family];
        way.count(&mut of.prompts);
        way.count(&mut self.prompts);
        let plans = of.plans.entry(plan).or_default();
        match plans.iter_mut().find(|(scenario, _)| *scenario == at) {
            Some((_, count)) => way.count(count),
            None if way == Way::Learn => plans.push((at, 1)),
            None => {}
        }
        plans.retain(|(_, count)| *count > 0);
        if plans.is_empty() {
            of.plans.remove(&plan);
        }
        self.disagreement = self.steps.disagreement();
        // Once for this call, and once more for the one that is taken back.
        for word in said.words.iter().flat_map(|w| [inner(w), w.text.clone()]) {
            for _ in 0..if way == Way::Forget { 2 } else { 0 } {
                self.lexis.drop(&word);
            }
        }
    }

    fn sort(&mut self, name: &str) -> Sort {
        if let Some(sort) = self.sorts.get(name) {
            return *sort;
        }
        let fresh = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.sorts.insert(name.to_owned(), fresh);
        self.named.push(name.bytes().fold(77, |key, b| mix(key, u64::from(b))));
        self.values.push(Values::default());
        self.shapes.push(Values::default().shape());
        fresh
    }

    #[expect(clippy::too_many_arguments, reason = "where a stretch lies and where it leads")]
    fn stretch(
        &mut self,
        said: &Said,
        fixed: &[u32],
        range: std::ops::Range<usize>,
        family: usize,
        from: Sort,
        to: Sort,
        mut template: u64,
        way: Way,
    ) -> u64 {
        let mut stretch = Stretch::new(family, from);
        let length = range.len();
        for at in range {
            if said.cased && at > 0 {
                self.cases.learn(if said.harmless[at] { 3 } else { 0 }, said.words[at].capital, way);
            }
            if !said.harmless[at] {
                let id = fixed[at];
                way.entry(&mut self.families[family].fixed, id);
                stretch.push(id);
                template = mix(template, u64::from(id) + 2);
            }
        }
        let lengths = &mut self.families[family].lengths;
        way.count(lengths.entry(length).or_default());
        lengths.retain(|_, n| *n > 0);
        self.steps.learn(stretch, to, way);
        template
    }
}

/// How often words are written with a capital: fixed words (0), the first words of values (1), their other words (2), harmless words outside of values (3), any (4).
#[derive(Debug, Default)]
pub(crate) struct Cases {
    counts: [[u32; 2]; 4],
}

impl Cases {
    fn learn(&mut self, of: usize, capital: bool, way: Way) {
        way.count(&mut self.counts[of][usize::from(capital)]);
    }

    /// The logarithm of how likely that is.
    pub(crate) fn log(&self, of: usize, capital: bool) -> f64 {
        let all = |capital: usize| self.counts.iter().map(|c| f64::from(c[capital])).sum::<f64>();
        let [small, large] = self.counts.get(of).map_or_else(|| [all(0), all(1)], |c| c.map(f64::from));
        let this = if capital { large } else { small };
        ((this + 1.0) / (small + large + 2.0)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_do_not_meet() {
        let keys = (0..200_u64).flat_map(|key| (0..200).map(move |with| mix(key, with)));
        assert_eq!(keys.collect::<HashSet<_>>().len(), 40_000);
    }
}
