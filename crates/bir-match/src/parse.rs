//! Explaining a prompt with what a family of scenarios has shown: all ways to read it as stretches of known fixed words and values, how
//! likely each is, and the likeliest.
//!
//! It is a search from left to right. A state is a word, the parameter whose value ended before it, and which parameters were
//! mentioned so far; each state keeps the sum over its ways and the best of them. States beyond [`WIDTH`] at one word are left out.

use crate::function;
use crate::grammar::{BEGIN, END, Grammar, NEVER, Said, Sort, Typed, mix, pattern, plan_key, value_key};
use crate::guard::{self, Veto};
use crate::lexicon::{self, Class};
use crate::steps::Stretch;
use bir_entity::{Clock, Entity, Kind, Vocabulary};
use std::cell::RefCell;
use std::collections::HashMap;

/// States that are kept at a word.
const WIDTH: usize = 16;
/// Prepositions alone between two values must have been shown so often.
const DIRECTION: u32 = 4;
/// Words of any kind, for [`Asked::case`].
const ANY: usize = 4;
/// How likely a harmless word stands at a place outside of values.
const SKIPPED: f64 = 0.3;
/// How much less likely, as a logarithm, a beginning is than the same words anywhere else, and leads to nothing.
const FAR: f64 = 18.0;
/// A value that is none at all weighs so much less beside the others.
const UNLIKELY: f64 = 0.01;
/// A value has at most so many words more than the longest that was recorded.
const LONGER: usize = 3;

/// A value in a reading: which sort, from which word to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) sort: Sort,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A way to read a prompt.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) family: usize,
    /// What it mentions.
    pub(crate) plan: u64,
    pub(crate) values: Vec<Filled>,
    /// The logarithm of how likely it is.
    pub(crate) log: f64,
    /// And of how likely all ways to the same plan are together.
    pub(crate) plan_log: f64,
    /// The rarest stretch that it needed was shown by so many prompts.
    pub(crate) weakest: u32,
    /// Its first stretch was shown by so many.
    pub(crate) begin: u32,
    /// The sequence of its words and parameters.
    pub(crate) template: u64,
}

#[derive(Clone, Copy)]
struct Node {
    sum: f64,
    best: f64,
    back: usize,
    weakest: u32,
    begin: u32,
    template: u64,
}

#[derive(Clone, Copy)]
struct Trail {
    back: usize,
    filled: Filled,
}

/// What is known of the asked prompt.
pub(crate) struct Asked<'a> {
    pub(crate) said: &'a Said,
    pub(crate) prompt: &'a str,
    /// Addresses, paths and ids, with their signs.
    pieces: Vec<std::ops::Range<usize>>,
    typed: Vec<Typed>,
    /// Words in quotes, from and to.
    quoted: Vec<(usize, usize)>,
    pub(crate) classes: Vec<Vec<Class>>,
    fixed: Vec<u32>,
    pub(crate) inside: Vec<u32>,
    values: HashMap<(Sort, usize, usize), (f64, Option<Veto>)>,
    /// How likely the words before each are anywhere.
    before: Vec<f64>,
    /// Which words name nothing.
    functions: Vec<bool>,
    /// Its language, as far as small words tell.
    pub(crate) language: function::Language,
    /// The keys of stretches of words as values.
    keys: RefCell<HashMap<(usize, usize), u64>>,
    clock: &'a Clock,
    /// Whether a word is a measure, once it was asked.
    measures: RefCell<HashMap<usize, bool>>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        grammar: &Grammar,
        said: &'a Said,
        prompt: &'a str,
        entities: &[Entity],
        clock: &'a Clock,
    ) -> Self {
        let fixed = said.words.iter().map(|w| grammar.lexis.id(&w.text)).collect();
        let inside = said.words.iter().map(|w| grammar.lexis.inside(&w.text)).collect();
        let classes = said.words.iter().map(|w| lexicon::classes(&w.text).collect()).collect();
        let typed = said.typed(entities);
        let language = function::language(said.words.iter().map(|w| w.text.as_str()));
        let functions = said.words.iter().map(|w| function::is_function(&w.text, language)).collect();
        let is_piece = |e: &&Entity| matches!(e.kind, Kind::Path | Kind::Url | Kind::Email | Kind::Id);
        let pieces = entities.iter().filter(is_piece).map(|e| e.span.clone()).collect();
        let quoted =
            entities.iter().filter(|e| e.kind == Kind::Quoted).map(|e| said.range(&e.span)).collect();
        let mut asked = Self {
            said,
            prompt,
            pieces,
            typed,
            quoted,
            classes,
            fixed,
            inside,
            values: HashMap::new(),
            before: Vec::new(),
            functions,
            language,
            keys: RefCell::default(),
            clock,
            measures: RefCell::default(),
        };
        let mut before = 0.0;
        asked.before.push(before);
        for at in 0..said.words.len() {
            let spelled = if said.harmless[at] { 0.0 } else { grammar.lexis.share(asked.fixed[at]).ln() };
            before += spelled + asked.case(grammar, ANY, at);
            asked.before.push(before);
        }
        asked
    }

    /// How likely words are a value, and what speaks against it.
    fn value(&mut self, grammar: &Grammar, filled: Filled) -> (f64, Option<Veto>) {
        let key = (filled.sort, filled.from, filled.to);
        if let Some(found) = self.values.get(&key) {
            return *found;
        }
        let (from, to) = (filled.from, filled.to);
        let cases = (from..to).map(|at| self.case(grammar, if at == from { 1 } else { 2 }, at)).sum::<f64>();
        let values = &grammar.values[filled.sort as usize];
        let shape = &grammar.shapes[filled.sort as usize];
        let pattern = self.pattern(grammar, filled);
        let log = values.log(shape, self.key(from, to), &self.inside[from..to], pattern);
        let found = (cases + log, guard::veto(grammar, self, filled));
        self.values.insert(key, found);
        found
    }

    /// The typed mentions in a value, and the words around them; none: there are none.
    pub(crate) fn pattern(&self, grammar: &Grammar, filled: Filled) -> Option<u64> {
        pattern(grammar, &self.typed, &self.inside, filled.from, filled.to)
    }

    /// The number of a word outside of values.
    pub(crate) fn fixed_id(&self, at: usize) -> u32 {
        self.fixed[at]
    }

    /// A sign that ends a clause stands before the word.
    pub(crate) fn ends_clause(&self, at: usize) -> bool {
        let Some(last) = at.checked_sub(1) else { return false };
        let between = self.said.words[last].span.end..self.said.words[at].span.start;
        self.prompt.get(between).is_some_and(|t| t.contains([',', ';', '.', '?', '!', '\n']))
    }

    /// The key of words as a value.
    pub(crate) fn key(&self, from: usize, to: usize) -> u64 {
        *self.keys.borrow_mut().entry((from, to)).or_insert_with(|| value_key(&self.said.words[from..to]))
    }

    /// The word names nothing.
    pub(crate) fn is_function(&self, at: usize) -> bool {
        self.functions[at]
    }

    /// The word is written with a capital that does not come from its place.
    pub(crate) fn is_capital(&self, at: usize) -> bool {
        self.said.cased && at > 0 && self.said.words[at].capital
    }

    /// The word is a unit or a number: behind a number it makes an amount, or it is one.
    pub(crate) fn is_measure(&self, at: usize) -> bool {
        let text = self.said.words[at].text.as_str();
        *self.measures.borrow_mut().entry(at).or_insert_with(|| {
            let amount = format!("5 {text}");
            let none = Vocabulary::default();
            let unit = bir_entity::find(&amount, self.clock, &none).iter().any(|e| {
                e.span == (0..amount.len())
                    && matches!(e.kind, Kind::Quantity | Kind::Money | Kind::Duration | Kind::Number)
            });
            unit || bir_entity::find(text, self.clock, &none).iter().any(|e| e.kind == Kind::Number)
        })
    }

    /// All of it is one mention of a type.
    pub(crate) fn is_typed(&self, filled: Filled) -> bool {
        self.typed.iter().any(|t| t.from == filled.from && t.to == filled.to)
    }

    /// The path, address or id that these words are all of.
    pub(crate) fn piece(&self, filled: Filled) -> Option<&std::ops::Range<usize>> {
        self.pieces.iter().find(|p| self.said.range(p) == (filled.from, filled.to))
    }

    /// A quotation holds these words and nothing else.
    pub(crate) fn in_quotes(&self, filled: Filled) -> bool {
        const PAIRS: &[(char, char)] =
            &[('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('`', '`'), ('‘', '’'), ('\'', '\'')];
        let (first, last) = (&self.said.words[filled.from], &self.said.words[filled.to - 1]);
        let before = self.prompt[..first.span.start].chars().next_back();
        let after = self.prompt[last.span.end..].chars().next();
        PAIRS.iter().any(|(open, close)| before == Some(*open) && after == Some(*close))
    }

    /// A sign that ends something stands between two of the words; in a title, only what ends more than a part of it.
    pub(crate) fn is_divided(&self, filled: Filled, titled: bool) -> bool {
        /// "Mr." ends nothing.
        const SHORT: usize = 3;
        self.said.words[filled.from..filled.to].windows(2).any(|pair| {
            let between = self.prompt.get(pair[0].span.end..pair[1].span.start).unwrap_or_default();
            let point = between.contains('.') && !(titled && pair[0].text.len() <= SHORT);
            point
                || between.contains([',', ';', '?', '!', '\n'])
                || (!titled && between.contains([':', '(', ')']))
        })
    }

    /// How likely it is that a word is written as it is, as a fixed one (0, 3) or in a value (1, 2).
    fn case(&self, grammar: &Grammar, of: usize, at: usize) -> f64 {
        let word = &self.said.words[at];
        let digits = word.marked && !word.capital;
        if self.said.cased && at > 0 && !digits { grammar.cases.log(of, word.capital) } else { 0.0 }
    }

    /// How likely the words are in no scenario's prompt at all.
    pub(crate) fn elsewhere(&self) -> f64 {
        /// One of so many prompts asks for nothing that is known.
        const PRIOR: f64 = 0.05;
        self.before.last().copied().unwrap_or(0.0) + PRIOR.ln()
    }
}

/// The sum of two likelihoods, as logarithms.
pub(crate) fn plus(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// The ways to read a prompt in a family: for each plan its best, likeliest first. Where vetoes are heeded, a reading with a vetoed value is
/// never the best (its likelihood is nothing then), but still counts against the others.
pub(crate) fn parse(grammar: &Grammar, family: usize, asked: &mut Asked<'_>, heed: bool) -> Vec<Reading> {
    let of = &grammar.families[family];
    let n = asked.said.words.len();
    let longest_stretch = of.longest();
    let mut states: Vec<HashMap<(Sort, u64), Node>> = vec![HashMap::new(); n + 1];
    let mut trail: Vec<Trail> = Vec::new();
    let mut ends: HashMap<u64, Node> = HashMap::new();
    let prior = (f64::from(of.prompts) / f64::from(grammar.prompts.max(1))).ln();
    let start = Node {
        sum: prior,
        best: prior,
        back: usize::MAX,
        weakest: u32::MAX,
        begin: 0,
        template: mix(9, family as u64),
    };
    states[0].insert((BEGIN, 0), start);
    for at in 0..=n {
        let mut here: Vec<((Sort, u64), Node)> = std::mem::take(&mut states[at]).into_iter().collect();
        let key = |(sort, plan): &(Sort, u64)| (grammar.named[*sort as usize], *plan);
        here.sort_by(|a, b| b.1.sum.total_cmp(&a.1.sum).then_with(|| key(&a.0).cmp(&key(&b.0))));
        here.truncate(WIDTH);
        for ((from, plan), node) in here {
            let mut stretch = Stretch::new(family, from);
            let mut case = 0.0;
            let mut template = node.template;
            let mut shown = 0;
            let mut content = false;
            for next in at..=n {
                if next > at {
                    let word = next - 1;
                    case += if asked.said.harmless[word] {
                        asked.case(grammar, 3, word) + SKIPPED.ln()
                    } else {
                        asked.case(grammar, 0, word)
                    };
                    if !asked.said.harmless[word] {
                        if asked.fixed[word] == NEVER {
                            break;
                        }
                        stretch.push(asked.fixed[word]);
                        content |= !asked.classes[word].contains(&Class::Preposition);
                        template = mix(template, u64::from(asked.fixed[word]) + 2);
                        shown += 1;
                    }
                }
                if shown > longest_stretch {
                    break;
                }
                for arc in grammar.steps.lead(stretch) {
                    let step = arc.log + case;
                    if node.sum + step < asked.before[next] - FAR {
                        continue;
                    }
                    // Which way a preposition points must be known well.
                    let known = if content || shown == 0 || arc.shown >= DIRECTION { arc.shown } else { 0 };
                    let weakest =
                        (node.weakest.min(known), if from == BEGIN { arc.worded } else { node.begin });
                    if arc.to == END {
                        if next == n && of.plans.contains_key(&plan) {
                            let end = ends.entry(plan).or_insert(EMPTY);
                            reach(end, node.sum + step, node.best + step, || node.back, weakest, template);
                        }
                        continue;
                    }
                    let longest = grammar.values[arc.to as usize].longest() + LONGER;
                    let quoted =
                        asked.quoted.iter().filter(|q| q.0 == next && q.1 > next + longest).map(|q| q.1);
                    let ends: Vec<usize> = (next + 1..=n.min(next + longest)).chain(quoted).collect();
                    for to in ends {
                        let filled = Filled { sort: arc.to, from: next, to };
                        let (value, veto) = asked.value(grammar, filled);
                        let veto = veto.or_else(|| guard::fixed(grammar, family, asked, filled));
                        let unlikely = if veto.is_some_and(Veto::is_unlikely) { UNLIKELY.ln() } else { 0.0 };
                        let sum = node.sum + step + value + unlikely;
                        let best =
                            if heed && veto.is_some() { f64::NEG_INFINITY } else { node.best + step + value };
                        if sum < asked.before[to] - FAR {
                            continue;
                        }
                        let state = states[to]
                            .entry((arc.to, plan_key(plan, grammar.named[arc.to as usize])))
                            .or_insert(EMPTY);
                        let template = mix(template, u64::from(arc.to));
                        let back = || {
                            trail.push(Trail {
                                back: node.back,
                                filled: Filled { sort: arc.to, from: next, to },
                            });
                            trail.len() - 1
                        };
                        reach(state, sum, best, back, weakest, template);
                    }
                }
            }
        }
    }
    let mut readings: Vec<Reading> = ends
        .into_iter()
        .map(|(plan, end)| {
            let mut values = Vec::new();
            let mut back = end.back;
            while let Some(step) = trail.get(back) {
                values.push(step.filled);
                back = step.back;
            }
            values.reverse();
            Reading {
                family,
                plan,
                values,
                log: end.best,
                plan_log: end.sum,
                weakest: end.weakest,
                begin: end.begin,
                template: end.template,
            }
        })
        .collect();
    readings.sort_by(|a, b| b.log.total_cmp(&a.log).then(a.plan.cmp(&b.plan)));
    readings
}

const EMPTY: Node = Node {
    sum: f64::NEG_INFINITY,
    best: f64::NEG_INFINITY,
    back: usize::MAX,
    weakest: 0,
    begin: 0,
    template: 0,
};

fn reach(
    node: &mut Node,
    sum: f64,
    best: f64,
    back: impl FnOnce() -> usize,
    (weakest, begin): (u32, u32),
    template: u64,
) {
    node.sum = plus(node.sum, sum);
    if best > node.best {
        (node.best, node.back) = (best, back());
        (node.weakest, node.begin, node.template) = (weakest, begin, template);
    }
}
