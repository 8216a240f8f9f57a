//! What may explain a value of an input: backward from the value to everything that gives it.
//!
//! Each explanation costs what it takes to say it, in bits: how far the name of the argument is from the name of what explains it, which
//! element of which list, which transformation; and how easily it would be a coincidence.

mod parts;
mod results;
mod said;
mod times;

pub(crate) use times::{TimeKind, time_kind};

use crate::index::{Index, Place};
use crate::leaves::{Tree, is_redacted};
use crate::names;
use crate::probe::{Probe, Results};
use crate::prompt::Prompt;
use crate::select::Memory;
use bir_plan::expr::{At, Case, Expr, Path, Scope, Type, as_number, eval, shown};
use bir_plan::template::Origin;
use bir_plan::trace::{Call, Trace};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// So many calls of a run are explained; a run with more of them is no task that is done again.
pub(crate) const MOST_CALLS: usize = 200;
/// So many places of a value are looked at, those with the likest names first.
const MOST_PLACES: usize = 16;
/// So many of those that differ in indexes of lists alone, where there are more.
const MOST_ALIKE: usize = 4;
/// A value of fewer bits than this stands somewhere by coincidence.
pub(crate) const COINCIDENCE: f64 = 12.0;
/// What a further place of the same value in the same result costs, in bits.
const ECHO: f64 = 0.3;
/// So many explanations of one value are kept.
pub(crate) const MOST: usize = 64;

/// An explanation.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) expr: Expr,
    pub(crate) cost: f64,
    pub(crate) origin: Origin,
    /// The place of the result that it reads, without indexes of lists.
    pub(crate) place: Option<Place>,
    /// So many runs bear it out.
    pub(crate) held: usize,
}

/// A recorded run, prepared.
pub(crate) struct Run<'t> {
    pub(crate) calls: &'t [Call],
    pub(crate) prompt: Prompt<'t>,
    pub(crate) index: Index<'t>,
    /// `2026-11-30T08:00`.
    pub(crate) today: String,
    pub(crate) results: Results<'t>,
    chosen: Memory,
    /// What each call was given, as texts.
    given: Vec<HashSet<String>>,
}

impl<'t> Run<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        let calls = &trace.calls[..trace.calls.len().min(MOST_CALLS)];
        Self {
            calls,
            prompt: Prompt::new(trace),
            index: Index::new(calls),
            today: today(trace),
            results: Results::new(calls),
            chosen: Memory::default(),
            given: calls.iter().map(|call| given(&call.input)).collect(),
        }
    }

    /// Whether a call was given a value itself, so that it did not find it.
    pub(crate) fn was_given(&self, call: usize, value: &Value) -> bool {
        let shown = shown_value(value);
        shown.is_some_and(|shown| self.given.get(call).is_some_and(|given| given.contains(&shown)))
    }
}

fn given(input: &Value) -> HashSet<String> {
    let tree = Tree::new(input);
    tree.leaves().filter_map(|(_, leaf)| shown_value(leaf)).collect()
}

fn shown_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) => as_number(value).map(shown),
        _ => None,
    }
}

/// The clock of a trace as expressions see it.
pub(crate) fn today(trace: &Trace) -> String {
    trace.clock.now.strftime("%Y-%m-%dT%H:%M").to_string()
}

/// A value that is to be explained.
pub(crate) struct Wanted<'a> {
    pub(crate) call: usize,
    pub(crate) path: &'a [At],
    pub(crate) value: &'a Value,
    /// The schema lists it.
    pub(crate) listed: bool,
}

/// The key under which the result of a call is while expressions are found.
pub(crate) fn result_key(call: usize) -> String {
    format!("#{call}")
}

/// All explanations, the cheapest first.
pub(crate) fn candidates(run: &Run<'_>, wanted: &Wanted<'_>) -> Vec<Candidate> {
    let key = wanted.path.iter().rev().find_map(|step| match step {
        At::Key(key) => Some(names::words(key)),
        At::Index(_) => None,
    });
    let search = Search { run, wanted, words: key.unwrap_or_default(), likeness: RefCell::default() };
    let mut out = Vec::new();
    if matches!(wanted.value, Value::String(text) if is_redacted(text)) {
        return out;
    }
    search.results(wanted.value, &mut out);
    search.prompt(wanted.value, &mut out);
    if let Value::String(text) = wanted.value {
        search.times(text, &mut out);
        if !out.iter().any(|found| found.cost < 8.0) {
            search.parts(text, &mut out);
            search.affix(text, &mut out);
            search.cut(text, &mut out);
        }
    }
    out.push(Candidate {
        expr: Expr::Const(wanted.value.clone()),
        cost: 4.0 + surprise(wanted.value, wanted.listed),
        origin: Origin::Constant,
        place: None,
        held: 1,
    });
    out.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut known: Vec<Candidate> = Vec::new();
    for candidate in out {
        let new = known.len() < MOST && !known.iter().any(|other| other.expr == candidate.expr);
        if new && search.gives(&candidate.expr, wanted.value) {
            known.push(candidate);
        }
    }
    known
}

/// How unlikely a value is to be there by coincidence, in bits.
pub(crate) fn surprise(value: &Value, listed: bool) -> f64 {
    if listed {
        return 2.0;
    }
    match value {
        Value::Null | Value::Bool(_) => 1.0,
        Value::Number(number) => {
            let size = number.as_f64().unwrap_or(0.0);
            if size.fract() == 0.0 { (size.abs() + 2.0).log2() * 2.0 } else { 30.0 }
        }
        Value::String(text) => {
            let letter = |c: char| if c.is_ascii_digit() { 3.0 } else { 1.5 };
            1.0 + text.chars().take(64).map(letter).sum::<f64>()
        }
        Value::Array(_) | Value::Object(_) => 2.0,
    }
}

/// Whether a value may be always the same: a switch, a small number, a word that classifies. Names, days and ids are none.
pub(crate) fn may_be_constant(value: &Value, listed: bool) -> bool {
    match value {
        Value::String(text) => {
            listed
                || (text.len() <= 40
                    && !text.is_empty()
                    && text.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
                    && (text.len() <= 3
                        || text.chars().all(|c| !c.is_ascii_uppercase())
                        || text.chars().all(|c| !c.is_ascii_lowercase())))
        }
        Value::Number(number) => {
            number.as_f64().is_some_and(|size| size.fract() == 0.0 && size.abs() <= 1_000.0)
        }
        _ => true,
    }
}

struct Search<'r> {
    run: &'r Run<'r>,
    wanted: &'r Wanted<'r>,
    words: Vec<String>,
    /// How like the name of the argument is to that of a place, by the shape of its path.
    likeness: RefCell<HashMap<u32, f64>>,
}

impl Search<'_> {
    /// Whether an expression gives a value in this run.
    fn gives(&self, expr: &Expr, value: &Value) -> bool {
        gives(self.run, expr, value)
    }
}

/// Whether an expression gives a value in a run.
pub(crate) fn gives(run: &Run<'_>, expr: &Expr, value: &Value) -> bool {
    let params = run.prompt.samples();
    run.results.ask(&Probe::new(expr), &params, &run.today, |given| given.is_ok_and(|given| *given == *value))
}

/// The calls whose results an expression reads.
pub(crate) fn reads(expr: &Expr) -> Vec<usize> {
    let mut out = Vec::new();
    crate::walk::each(expr, &mut |part| {
        if let Expr::Kept(key) = part
            && let Some(call) = key.strip_prefix('#').and_then(|call| call.parse().ok())
            && !out.contains(&call)
        {
            out.push(call);
        }
    });
    out
}

/// The likeliest places, sorted; where there are too many, few of each member, so that one that a list repeats does not push out the others.
fn diverse<T>(sorted: Vec<T>, shape: impl Fn(&T) -> u32) -> Vec<T> {
    if sorted.len() <= MOST_PLACES {
        return sorted;
    }
    let mut seen: HashMap<u32, usize> = HashMap::new();
    let mut first = |place: &T| {
        let many = seen.entry(shape(place)).or_default();
        *many += 1;
        *many <= MOST_ALIKE
    };
    let (mut kept, rest): (Vec<T>, Vec<T>) = sorted.into_iter().partition(|place| first(place));
    kept.truncate(MOST_PLACES);
    kept.extend(rest.into_iter().take(MOST_PLACES - kept.len()));
    kept
}

fn rarity(places: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "few places")]
    let places = places.max(1) as f64;
    0.5 * places.log2()
}

/// An expression whose value has the type that is wanted, and exactly that value.
fn typed(expr: Expr, has: &Value, wanted: &Value) -> Option<Expr> {
    match (has, wanted) {
        (Value::String(has), Value::String(wanted)) => (has == wanted).then_some(expr),
        (Value::Number(has), Value::Number(wanted)) => (has.as_f64() == wanted.as_f64()).then_some(expr),
        (Value::Number(has), Value::String(wanted)) => (has.as_f64().map(shown).as_deref() == Some(wanted))
            .then(|| Expr::To { of: Box::new(expr), to: Type::Text }),
        (Value::String(_), Value::Number(wanted)) => {
            (as_number(has) == wanted.as_f64()).then(|| Expr::To { of: Box::new(expr), to: Type::Number })
        }
        _ => None,
    }
}

/// A path without the indexes of lists.
pub(crate) fn keys(path: &Path) -> Vec<&str> {
    path.iter()
        .filter_map(|step| match step {
            At::Key(key) => Some(key.as_str()),
            At::Index(_) => None,
        })
        .collect()
}

fn case_of(text: &str, to: Case) -> Option<String> {
    let expr = Expr::Case { of: Box::new(Expr::Const(text.into())), to };
    let nothing = Map::new();
    let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
    match eval(&expr, &scope) {
        Ok(Value::String(text)) => Some(text),
        _ => None,
    }
}
