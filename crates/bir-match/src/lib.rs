//! Whether a prompt asks for what a scenario does, and with which parameters. Similarity nominates and never decides: what decides is
//! that every difference between the two prompts is explained.
//!
//! ```text
//!  prompt ─▶ nominate ─▶ parse ──────────────▶ guard ──────────▶ decide ─▶ execute · steer · decline, and why
//!            BM25 over   as known stretches    vetoes on values   a bound on the error,
//!            the fixed   of fixed words with   that look like     by kind of difference
//!            words       values between them   more than one
//! ```
//!
//! A word that is neither in a value nor in a stretch that recorded prompts have shown explains nothing, and there is no reading. That is
//! what keeps a negation, another verb, a comparison, a further condition or a second request out: nobody needs to list them.
//! Where several readings are possible their likelihoods are compared, and the prompt has to be far likelier in one than in all others
//! together, "something else" among them.

#![forbid(unsafe_code)]

pub mod decide;
mod edge;
mod function;
mod grammar;
mod guard;
mod joined;
mod known;
pub mod lexicon;
mod naming;
mod nominate;
mod parse;
mod roles;
mod steps;
mod told;
mod value;
mod verbatim;
mod way;
pub mod word;

pub use decide::{Decision, Difference, Evidence, Lack};
pub use guard::Veto;
pub use known::{Example, Known, Place, Slot};
pub use nominate::Nominator;

use bir_entity::{Clock, Entity, Kind, Vocabulary};
use bir_plan::param;
use grammar::{Grammar, Said};
use serde_json::Value;
use std::collections::HashMap;
use std::ops::Range;
use way::Way;

/// Prompts longer than that, in words, are only compared as they stand.
const WORDS: usize = 400;
/// Recorded prompts that are nominated.
const NOMINATED: usize = 32;
/// Families that are tried.
const FAMILIES: usize = 8;

/// What a prompt is, for a set of scenarios.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The scenario that explains the prompt best, by its place in the list; none: nothing explains it.
    pub scenario: Option<usize>,
    /// The values of its parameters that the prompt mentions.
    pub values: Vec<Given>,
    /// Parameters that could not be read, by name.
    pub missing: Vec<String>,
    /// The worst difference.
    pub difference: Option<Difference>,
    /// How likely this reading is among all, from 0 to 1.
    pub confidence: f64,
    /// How much its fixed words say: the sum of the negative logarithms of how usual they are.
    pub weight: f64,
    /// How likely prompts that begin like this one belong elsewhere, after so many that did not.
    pub doubt: f64,
    /// Recorded prompts that showed the rarest of the stretches that were needed.
    pub shown: u32,
    /// What stands against it.
    pub veto: Option<Veto>,
    /// The bytes of the words that do, or where nothing explains the prompt, of those that the nearest recorded one does not have.
    pub against: Vec<Range<usize>>,
    /// Where nothing explains the prompt: words of the nearest recorded one that it lacks.
    pub lacking: Vec<String>,
    /// The nearest recorded prompt, by scenario and example, also where nothing explains the prompt.
    pub nearest: Option<(usize, usize)>,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Which, in [`Known::places`].
    pub place: usize,
    /// The bytes of the prompt that it was read from.
    pub span: Range<usize>,
    /// What was read.
    pub value: Value,
}

/// Scenarios, ready to be asked. Scenarios and prompts can be added and removed one by one; what it answers then is what a new one of the same
/// scenarios would answer.
pub struct Matcher {
    known: Vec<Known>,
    /// The family of each.
    families: Vec<usize>,
    numbers: HashMap<String, usize>,
    grammar: Grammar,
    index: nominate::Index,
    /// Number of a prompt to scenario and example.
    prompts: Vec<(usize, usize)>,
    /// The prompts by their text.
    texts: verbatim::Texts,
    /// The numbers of the prompts of each scenario, in their order.
    indexed: Vec<Vec<usize>>,
    /// Places of scenarios that were removed.
    free: Vec<usize>,
    clock: Clock,
    more: Option<Box<dyn Nominator>>,
}

/// Why something cannot be added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// There is no scenario at that place.
    Scenario,
    /// It has no prompt of that number.
    Example,
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scenario => "there is no scenario at that place; it may have been removed",
            Self::Example => "the scenario has no prompt of that number",
        })
    }
}

impl std::error::Error for Absent {}

impl Matcher {
    /// Learns from scenarios. The clock only serves to recognise what is a date, also in what is added later.
    pub fn new(known: Vec<Known>, clock: &Clock) -> Self {
        let mut matcher = Self {
            known: Vec::new(),
            families: Vec::new(),
            numbers: HashMap::new(),
            grammar: Grammar::new(),
            index: nominate::Index::default(),
            prompts: Vec::new(),
            texts: verbatim::Texts::default(),
            indexed: Vec::new(),
            free: Vec::new(),
            clock: clock.clone(),
            more: None,
        };
        for scenario in known {
            matcher.insert(scenario);
        }
        matcher
    }

    /// Adds a scenario and says its place in [`known`](Self::known): the place of one that was removed, or a new one.
    pub fn insert(&mut self, mut scenario: Known) -> usize {
        let next = self.numbers.len();
        let family = *self.numbers.entry(scenario.family.clone()).or_insert(next);
        let examples = std::mem::take(&mut scenario.examples);
        let at = self.free.pop().unwrap_or(self.known.len());
        if at == self.known.len() {
            self.known.push(scenario);
            self.families.push(family);
            self.indexed.push(Vec::new());
        } else {
            self.known[at] = scenario;
            self.families[at] = family;
        }
        for example in examples {
            self.learn(at, example);
        }
        at
    }

    /// Adds a prompt to a scenario and says its number there.
    pub fn insert_example(&mut self, scenario: usize, example: Example) -> Result<usize, Absent> {
        if scenario >= self.known.len() || self.free.contains(&scenario) {
            return Err(Absent::Scenario);
        }
        self.learn(scenario, example);
        Ok(self.known[scenario].examples.len() - 1)
    }

    /// Removes a prompt of a scenario; those behind it move up by one.
    pub fn remove_example(&mut self, scenario: usize, example: usize) -> Result<Example, Absent> {
        let known = self.known.get(scenario).ok_or(Absent::Scenario)?;
        let removed = known.examples.get(example).ok_or(Absent::Example)?.clone();
        self.grammar.learn(scenario, known, self.families[scenario], &removed, &self.clock, Way::Forget);
        let words = word::words(&removed.text);
        let number = self.indexed[scenario].remove(example);
        self.index.remove(number, fixed(&words, &removed));
        self.texts.remove(&removed.text, number);
        self.known[scenario].examples.remove(example);
        for (at, number) in self.indexed[scenario].iter().enumerate().skip(example) {
            self.prompts[*number] = (scenario, at);
        }
        Ok(removed)
    }

    /// Removes a scenario. Its place stays in [`known`](Self::known), without prompts, until another one takes it; no other one moves.
    pub fn remove(&mut self, scenario: usize) -> Result<(), Absent> {
        if scenario >= self.known.len() || self.free.contains(&scenario) {
            return Err(Absent::Scenario);
        }
        while let Some(last) = self.known[scenario].examples.len().checked_sub(1) {
            self.remove_example(scenario, last)?;
        }
        self.free.push(scenario);
        Ok(())
    }

    fn learn(&mut self, scenario: usize, example: Example) {
        let words = word::words(&example.text);
        let number = self.index.add(fixed(&words, &example));
        self.texts.add(&example.text, number);
        let known = &mut self.known[scenario];
        self.grammar.learn(scenario, known, self.families[scenario], &example, &self.clock, Way::Learn);
        let place = (scenario, known.examples.len());
        if number == self.prompts.len() {
            self.prompts.push(place);
        } else {
            self.prompts[number] = place;
        }
        self.indexed[scenario].push(number);
        known.examples.push(example);
    }

    /// With another source of nominations beside the index.
    #[must_use]
    pub fn with_nominator(mut self, nominator: Box<dyn Nominator>) -> Self {
        self.more = Some(nominator);
        self
    }

    /// The scenarios.
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// What a prompt asks for.
    pub fn ask(&self, prompt: &str, clock: &Clock, vocabulary: &Vocabulary) -> Answer {
        let mut answer = Answer {
            scenario: None,
            values: Vec::new(),
            missing: Vec::new(),
            difference: None,
            confidence: 0.0,
            weight: 0.0,
            doubt: 1.0,
            shown: 0,
            veto: None,
            against: Vec::new(),
            lacking: Vec::new(),
            nearest: None,
        };
        let said = Said::new(prompt);
        if said.words.is_empty() {
            return answer;
        }
        let mut nominated: Vec<usize> = self
            .index
            .best(said.words.iter().map(|w| w.text.as_str()), NOMINATED)
            .into_iter()
            .map(|(n, _)| n)
            .collect();
        if let Some(more) = &self.more {
            nominated.extend(more.nominate(prompt, NOMINATED).into_iter().map(|(n, _)| n));
        }
        answer.nearest = nominated.first().and_then(|n| self.prompts.get(*n)).copied();
        if said.words.len() > WORDS {
            return answer;
        }
        let mut families: Vec<usize> = Vec::new();
        for number in nominated {
            let Some((scenario, _)) = self.prompts.get(number) else { continue };
            let family = self.families[*scenario];
            if !families.contains(&family) && families.len() < FAMILIES {
                families.push(family);
            }
        }
        let entities = bir_entity::find(prompt, clock, vocabulary);
        if let Some((scenario, slots)) = self.verbatim(prompt) {
            answer.scenario = Some(scenario);
            answer.difference = Some(Difference::Verbatim);
            (answer.confidence, answer.doubt) = (1.0, 0.0);
            answer.shown = u32::try_from(self.texts.of(prompt).len()).unwrap_or(u32::MAX);
            verbatim::read(&self.known[scenario], slots, prompt, &entities, &mut answer);
            return answer;
        }
        let mut asked = parse::Asked::new(&self.grammar, &said, prompt, &entities, clock);
        let mut readings: Vec<parse::Reading> =
            families.iter().flat_map(|f| parse::parse(&self.grammar, *f, &mut asked, true)).collect();
        let total = readings.iter().fold(asked.elsewhere(), |sum, r| parse::plus(sum, r.plan_log));
        // Where every reading is vetoed, one is told with its veto.
        let likeliest = readings.iter().max_by(|a, b| a.plan_log.total_cmp(&b.plan_log)).map(|r| r.family);
        if let Some(family) = likeliest.filter(|_| !readings.iter().any(|r| r.log.is_finite())) {
            readings = parse::parse(&self.grammar, family, &mut asked, false);
        }
        let Some(best) =
            readings.into_iter().filter(|r| r.log.is_finite()).max_by(|a, b| a.log.total_cmp(&b.log))
        else {
            self.differs(&said, &mut answer);
            return answer;
        };
        answer.confidence = (best.log - total).exp().min(1.0);
        let vetoed = best.values.iter().find_map(|f| {
            let veto = guard::veto(&self.grammar, &asked, *f)
                .or_else(|| guard::fixed(&self.grammar, best.family, &asked, *f))?;
            Some((veto, told::against(&asked, *f, veto)))
        });
        if let Some((veto, words)) = vetoed {
            (answer.veto, answer.against) = (Some(veto), vec![words]);
        }
        let whole = self.is_whole(&best);
        if answer.veto.is_none() && !whole {
            let vetoed = joined::veto(&self.grammar, &asked, &best);
            answer.veto = vetoed.map(|(veto, _)| veto);
            answer.against.extend(vetoed.map(|(_, word)| said.words[word].span.clone()));
        }
        if answer.veto.is_none() {
            answer.veto = roles::veto(&self.grammar, &asked, &best, whole);
        }
        // A mention that reaches from one value into the next belongs to neither.
        let across =
            |t: &grammar::Typed| best.values.iter().filter(|f| f.from < t.to && t.from < f.to).count() > 1;
        if answer.veto.is_none() && said.typed(&entities).iter().any(across) {
            answer.veto = Some(Veto::Typed);
        }
        self.explain(&asked, &entities, &best, &mut answer);
        answer
    }

    /// Says in which words a prompt that nothing explains differs from the nearest recorded one.
    fn differs(&self, said: &Said, answer: &mut Answer) {
        let Some((scenario, example)) = answer.nearest else { return };
        if let Some(example) = self.known[scenario].examples.get(example) {
            (answer.against, answer.lacking) = told::differs(said, example);
        }
    }

    /// The one scenario that has the very prompt, and where its values stand.
    fn verbatim(&self, prompt: &str) -> Option<(usize, Vec<Slot>)> {
        let recorded = self.texts.of(prompt);
        let (scenario, _) = *self.prompts.get(*recorded.first()?)?;
        let of = |number: &usize| self.prompts.get(*number).filter(|(s, _)| *s == scenario).map(|(_, e)| *e);
        let examples: Vec<usize> = recorded.iter().map(of).collect::<Option<_>>()?;
        let known = &self.known[scenario];
        let texts = examples.iter().filter_map(|at| known.examples.get(*at));
        let slots = verbatim::slots(texts.map(|e| (e.text.as_str(), e.slots.as_slice())), prompt)?;
        Some((scenario, slots))
    }

    /// A recorded prompt has the very words between the values.
    fn is_whole(&self, reading: &parse::Reading) -> bool {
        let plans = self.grammar.families[reading.family].plans.get(&reading.plan);
        let key = |scenario: usize| grammar::mix(reading.template, scenario as u64);
        plans.is_some_and(|p| p.iter().any(|(s, _)| self.grammar.templates.contains_key(&key(*s))))
    }

    /// Fills the answer from a reading.
    fn explain(
        &self,
        asked: &parse::Asked<'_>,
        entities: &[Entity],
        best: &parse::Reading,
        answer: &mut Answer,
    ) {
        let said = asked.said;
        let Some(plans) = self.grammar.families[best.family].plans.get(&best.plan) else { return };
        let template =
            |scenario: usize| self.grammar.templates.get(&grammar::mix(best.template, scenario as u64));
        let shown: Vec<(usize, bool)> = plans.iter().map(|(s, _)| (*s, template(*s).is_some())).collect();
        // Two scenarios of one family with the same parameters differ in something else: only the very words tell them apart.
        let scenario = match shown.as_slice() {
            [(only, _)] => *only,
            several => {
                let mut fit = several.iter().filter(|(_, shown)| *shown);
                let (Some((one, _)), None) = (fit.next(), fit.next()) else { return };
                *one
            }
        };
        let template = template(scenario);
        let whole = template.is_some();
        let known = &self.known[scenario];
        answer.scenario = Some(scenario);
        answer.shown = best.weakest;
        answer.doubt = self.grammar.disagreement / f64::from(best.begin.max(1));
        let fixed =
            |at: &usize| !said.harmless[*at] && !best.values.iter().any(|f| (f.from..f.to).contains(at));
        let usual = |at: usize| self.grammar.lexis.share(self.grammar.lexis.id(&said.words[at].text)).ln();
        answer.weight = -(0..said.words.len()).filter(fixed).map(usual).sum::<f64>();
        let seen = |f: &parse::Filled| {
            self.grammar.values[f.sort as usize].times(grammar::value_key(&said.words[f.from..f.to])) > 0
        };
        answer.difference = Some(match (whole, best.values.iter().all(seen), best.values.is_empty()) {
            (true, _, true) => Difference::Same,
            (true, true, _) => Difference::Known,
            (true, false, _) => Difference::Values,
            (false, true, _) => Difference::Joined,
            (false, false, _) => Difference::Loose,
        });
        self.read(asked, entities, best, known, template, answer);
    }

    /// Reads the values. Parameters of one sort are told apart by where a recorded prompt of the very words has them, and by nothing else.
    fn read(
        &self,
        asked: &parse::Asked<'_>,
        entities: &[Entity],
        best: &parse::Reading,
        known: &Known,
        template: Option<&grammar::Template>,
        answer: &mut Answer,
    ) {
        let (prompt, said) = (asked.prompt, asked.said);
        let mut taken: Vec<usize> = Vec::new();
        let order = template.and_then(|t| t.places());
        for (number, filled) in best.values.iter().enumerate() {
            let fits =
                |place: &usize| self.grammar.sorts.get(&known.places[*place].sort) == Some(&filled.sort);
            let mut places = (0..known.places.len()).filter(fits);
            let (first, only) = (places.next(), places.next().is_none());
            let Some(place) = order.and_then(|o| o.get(number)).copied().or(first) else { continue };
            taken.push(place);
            let words = said.words[filled.from].span.start..said.words[filled.to - 1].span.end;
            let span = edge::extent(&self.grammar, asked, *filled).unwrap_or(words);
            let value = value(prompt, &span, &known.places[place].reading, entities)
                .filter(|_| only || order.is_some());
            // What is said twice has to be the same both times.
            let said_before = answer.values.iter().find(|g| g.place == place);
            match value {
                Some(value) if said_before.is_none() => answer.values.push(Given { place, span, value }),
                Some(value) if said_before.is_some_and(|g| g.value == value) => {}
                _ => answer.missing.push(known.places[place].name.clone()),
            }
        }
        for (at, place) in known.places.iter().enumerate() {
            if !taken.contains(&at) && place.role == param::Role::Target {
                answer.missing.push(place.name.clone());
            }
        }
    }
}

/// The words of a prompt outside of its parameters.
fn fixed<'a>(words: &'a [word::Word], example: &'a Example) -> impl Iterator<Item = &'a str> {
    let inside =
        |w: &word::Word| example.slots.iter().any(|s| s.span.start < w.span.end && w.span.start < s.span.end);
    words.iter().filter(move |w| !inside(w)).map(|w| w.text.as_str())
}

/// The value of words: they themselves, or the normal form of the one entity of its kind that stands on them.
fn value(prompt: &str, span: &Range<usize>, reading: &param::Reading, entities: &[Entity]) -> Option<Value> {
    match reading {
        param::Reading::Text => prompt.get(span.clone()).map(|text| Value::String(text.to_owned())),
        param::Reading::Normal(kind) => {
            let inside = |e: &&Entity| e.kind == *kind && e.span.start < span.end && span.start < e.span.end;
            let mut found = entities.iter().filter(inside);
            let Some(one) = found.next() else { return measured(prompt, span, *kind, entities) };
            let none = found.next();
            // Quotes and currency signs may stand outside of the words; letters may not.
            let rest =
                |range: Range<usize>| prompt.get(range).is_none_or(|t| !t.chars().any(char::is_alphanumeric));
            let whole = rest(span.start.min(one.span.start)..span.start.max(one.span.start))
                && rest(span.end.min(one.span.end)..span.end.max(one.span.end));
            (none.is_none() && (whole || matches!(kind, Kind::Word))).then(|| one.normal.clone())
        }
    }
}

/// The number of an amount whose unit stands behind the words: "91" of "91 euros".
fn measured(prompt: &str, span: &Range<usize>, kind: Kind, entities: &[Entity]) -> Option<Value> {
    let text = prompt.get(span.clone())?;
    let one = entities.iter().find(|e| {
        matches!(e.kind, Kind::Money | Kind::Quantity) && e.span.start == span.start && e.span.end > span.end
    })?;
    // "5 thousand euros" are not 5.
    let number = one.normal.get("number")?;
    let digits = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '\'' | '−'));
    let unit = prompt.get(span.end..one.span.end)?.trim();
    (kind == Kind::Number && digits && is_one_word(unit)).then(|| number.clone())
}

/// One word or sign without a digit, and no word of a number.
fn is_one_word(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_ascii_digit())
        && (text.chars().all(char::is_alphabetic) || text.chars().count() == 1)
}
