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

use crate::known::{Example, Known};
use crate::lexicon;
use crate::steps::{Steps, Stretch};
use crate::value::{Shape, Values};
use crate::word::{Word, words};
use bir_entity::{Clock, Entity, Kind, Vocabulary};
use std::collections::{HashMap, HashSet};

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
    total: u64,
    harmless: HashSet<u32>,
}

/// The number of a word that no prompt has shown.
pub(crate) const NEVER: u32 = u32::MAX;
/// So many words of other prompts are thought beside the recorded ones.
const OTHERS: f64 = 5_000.0;
/// Stands for digits inside values.
const DIGITS: &str = "#";

impl Lexis {
    fn learn(&mut self, word: &str) -> u32 {
        let id = self.know(word);
        self.counts[id as usize] += 1;
        self.total += 1;
        id
    }

    /// The number of a word, a new one if it has none.
    fn know(&mut self, word: &str) -> u32 {
        let next = u32::try_from(self.counts.len()).unwrap_or(NEVER - 1);
        let id = *self.ids.entry(word.to_owned()).or_insert(next);
        if id == next {
            self.counts.push(0);
            if lexicon::is_harmless(word) {
                self.harmless.insert(id);
            }
        }
        id
    }

    pub(crate) fn id(&self, word: &str) -> u32 {
        self.ids.get(word).copied().unwrap_or(NEVER)
    }

    /// How likely a word is in any prompt; few recorded ones do not say much about the others.
    pub(crate) fn share(&self, id: u32) -> f64 {
        let count = if id == NEVER { 0 } else { self.counts.get(id as usize).copied().unwrap_or(0) };
        f64::from(count) / (self.total as f64 + OTHERS) + crate::value::UNKNOWN
    }

    /// What a word is inside a value: digits are all alike.
    pub(crate) fn inside(&self, word: &str) -> u32 {
        if word.bytes().all(|b| b.is_ascii_digit()) { self.id(DIGITS) } else { self.id(word) }
    }
}

/// A sequence of words and parameters.
#[derive(Debug)]
pub(crate) struct Template {
    /// Which parameters, in the order of the words; None: recorded prompts do not agree.
    pub(crate) places: Option<Vec<usize>>,
}

/// Scenarios that call the same.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) prompts: u32,
    /// Which parameters a prompt mentions, as [`plan_key`], and whose plan that is.
    pub(crate) plans: HashMap<u64, Vec<(usize, u32)>>,
    /// Fixed words, and those of values that came again, with how often.
    pub(crate) fixed: HashMap<u32, u32>,
    /// The most words of a stretch.
    pub(crate) longest: usize,
}

/// What was learned.
#[derive(Debug, Default)]
pub(crate) struct Grammar {
    pub(crate) lexis: Lexis,
    pub(crate) sorts: HashMap<String, Sort>,
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
    let mut x = (key ^ with).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 32)
}

/// Adds a parameter to a key of what a prompt mentions, whatever the order.
pub(crate) fn plan_key(key: u64, sort: Sort) -> u64 {
    key.wrapping_add(mix(77, u64::from(sort) + 1))
}

/// The key of a value.
pub(crate) fn value_key(words: &[Word]) -> u64 {
    words.iter().fold(3, |key, w| w.text.bytes().fold(mix(key, 5), |key, b| mix(key, u64::from(b))))
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

    /// The words inside bytes.
    pub(crate) fn range(&self, span: &std::ops::Range<usize>) -> (usize, usize) {
        let from = self.words.partition_point(|w| w.span.end <= span.start);
        let to = self.words.partition_point(|w| w.span.start < span.end);
        (from, to.max(from))
    }
}

impl Grammar {
    /// Learns from scenarios; `numbers` are those of their families.
    pub(crate) fn new(known: &[Known], numbers: &[usize], clock: &Clock) -> Self {
        let mut grammar = Self { values: vec![Values::default(), Values::default()], ..Self::default() };
        for (at, scenario) in known.iter().enumerate() {
            let family = numbers[at];
            if grammar.families.len() <= family {
                grammar.families.resize_with(family + 1, Family::default);
            }
            for example in &scenario.examples {
                grammar.learn(at, scenario, family, example, clock);
            }
        }
        grammar.disagreement = grammar.steps.disagreement();
        grammar.shapes = grammar.values.iter().map(Values::finish).collect();
        grammar
    }

    fn learn(&mut self, at: usize, scenario: &Known, family: usize, example: &Example, clock: &Clock) {
        let said = Said::new(&example.text);
        let typed = said.typed(&bir_entity::find(&example.text, clock, &Vocabulary::default()));
        let inside: Vec<u32> = (said.words.iter())
            .map(|w| {
                if w.text.bytes().all(|b| b.is_ascii_digit()) {
                    self.lexis.know(DIGITS)
                } else {
                    self.lexis.know(&w.text)
                }
            })
            .collect();
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
            let fresh = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
            let sort = *self.sorts.entry(place.sort.clone()).or_insert(fresh);
            if sort == fresh {
                self.values.push(Values::default());
            }
            template = mix(self.stretch(&said, next..start, family, from, sort, template), u64::from(sort));
            for word in &said.words[start..end] {
                let id = self.lexis.learn(&word.text);
                if self.values[sort as usize].times(value_key(&said.words[start..end])) > 0 {
                    *self.families[family].fixed.entry(id).or_default() += 1;
                }
            }
            if end > start + 2 && said.words[start + 1..end - 1].iter().any(|w| lexicon::joins(&w.text)) {
                self.values[sort as usize].learn_joining();
            }
            let pattern = pattern(self, &typed, &inside, start, end);
            self.values[sort as usize].learn(
                value_key(&said.words[start..end]),
                &inside[start..end],
                pattern,
            );
            for at in (start..end).filter(|at| said.cased && *at > 0) {
                self.cases.learn(if at == start { 1 } else { 2 }, said.words[at].capital);
            }
            if said.cased && start > 0 && !said.words[start].text.starts_with(|c: char| c.is_ascii_digit()) {
                self.values[sort as usize].learn_case(said.words[start].capital);
            }
            places.push(slot.place);
            plan = plan_key(plan, sort);
            from = sort;
            next = end;
        }
        template = self.stretch(&said, next..said.words.len(), family, from, END, template);
        let known = self
            .templates
            .entry(mix(template, at as u64))
            .or_insert_with(|| Template { places: Some(places.clone()) });
        if known.places.as_ref().is_some_and(|p| *p != places) {
            known.places = None;
        }
        let of = &mut self.families[family];
        of.prompts += 1;
        self.prompts += 1;
        let plans = of.plans.entry(plan).or_default();
        match plans.iter_mut().find(|(scenario, _)| *scenario == at) {
            Some((_, count)) => *count += 1,
            None => plans.push((at, 1)),
        }
    }

    fn stretch(
        &mut self,
        said: &Said,
        range: std::ops::Range<usize>,
        family: usize,
        from: Sort,
        to: Sort,
        mut template: u64,
    ) -> u64 {
        let mut stretch = Stretch::new(family, from);
        let length = range.len();
        for at in range {
            let id = self.lexis.learn(&said.words[at].text);
            if said.cased && at > 0 {
                self.cases.learn(if said.harmless[at] { 3 } else { 0 }, said.words[at].capital);
            }
            if !said.harmless[at] {
                *self.families[family].fixed.entry(id).or_default() += 1;
                stretch.push(id);
                template = mix(template, u64::from(id) + 2);
            }
        }
        let of = &mut self.families[family];
        of.longest = of.longest.max(length);
        self.steps.learn(stretch, to);
        template
    }
}

/// How often words are written with a capital: fixed words (0), the first words of values (1), their other words (2), harmless words outside of values (3), any (4).
#[derive(Debug, Default)]
pub(crate) struct Cases {
    counts: [[u32; 2]; 4],
}

impl Cases {
    fn learn(&mut self, of: usize, capital: bool) {
        self.counts[of][usize::from(capital)] += 1;
    }

    /// The logarithm of how likely that is.
    pub(crate) fn log(&self, of: usize, capital: bool) -> f64 {
        let all = |capital: usize| self.counts.iter().map(|c| f64::from(c[capital])).sum::<f64>();
        let [small, large] = self.counts.get(of).map_or_else(|| [all(0), all(1)], |c| c.map(f64::from));
        let this = if capital { large } else { small };
        ((this + 1.0) / (small + large + 2.0)).ln()
    }
}
