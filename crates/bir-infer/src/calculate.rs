//! The whole way from runs to a scenario.

use crate::choose::{Choice, choose};
use crate::explain::Explained;
use crate::index::Place;
use crate::lower::Keeps;
use crate::prompt::{self, Draft};
use crate::reader::Reader;
use crate::unify::{Unified, params, unify};
use crate::verify::{Verification, verify};
use crate::walk::replaced;
use crate::witness::keys;
use crate::wording::Wording;
use bir_entity::Clock;
use bir_plan::effect::{Effect, effect};
use bir_plan::expr::{At, Expr, Path};
use bir_plan::param::{Param, Reading, Role};
use bir_plan::scenario::{Scenario, Step};
use bir_plan::template::{Confidence, Leaf, Origin, Template};
use bir_plan::trace::Trace;
use serde_json::{Map, Value};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

/// What was calculated.
#[derive(Debug, Clone)]
pub struct Calculation {
    /// The scenario.
    pub scenario: Scenario,
    /// Its leaves, with what was found.
    pub leaves: Vec<LeafReport>,
    /// The runs that it explains, by their number; the first always.
    pub agreeing: Vec<usize>,
    /// What was tried.
    pub verification: Verification,
    /// Leaves that a run contradicts; they are of low confidence.
    pub contradicted: usize,
    /// How the task is worded.
    pub wording: Wording,
    /// What reads a prompt; to be stored beside the scenario.
    pub reader: Reader,
}

/// A leaf of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafReport {
    /// The step, from 0.
    pub step: usize,
    /// Where in its input.
    pub path: Path,
    /// Where it comes from.
    pub origin: Origin,
    /// How much that is trusted.
    pub confidence: Confidence,
    /// The leaf of a result that it is, where it is one.
    pub source: Option<Source>,
    /// So many other explanations have to agree.
    pub others: usize,
    /// The leaves of results that these are.
    pub also: Vec<Source>,
}

/// A leaf of a result, without indexes of lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The step, from 0.
    pub step: usize,
    /// The keys on the way.
    pub keys: Vec<String>,
}

impl Source {
    fn of(place: &Place) -> Self {
        Self { step: place.call, keys: keys(&place.path).into_iter().map(str::to_owned).collect() }
    }
}

impl Calculation {
    /// Leaves that nothing explains.
    pub fn unexplained(&self) -> impl Iterator<Item = &LeafReport> {
        self.leaves.iter().filter(|leaf| leaf.origin == Origin::Unexplained)
    }

    /// The values of the parameters in another prompt, if everything in which it differs is explained. None: it says something that
    /// none of the runs has shown to be without effect, or a place cannot be read; [`Reader::read`] says which.
    #[must_use]
    pub fn read(&self, prompt: &str, clock: &Clock) -> Option<Map<String, Value>> {
        self.reader.read(prompt, clock).ok()
    }
}

/// Calculates a scenario. The first run is its pattern; None: there is no run.
#[must_use]
pub fn calculate<T: Borrow<Trace>>(traces: &[T]) -> Option<Calculation> {
    let traces: Vec<&Trace> = traces.iter().map(Borrow::borrow).collect();
    let unified = unify(&traces)?;
    let runs = unified.agreeing.len();
    let choices: Vec<Option<Choice>> = unified
        .leaves
        .iter()
        .zip(&unified.varied)
        .map(|(leaf, varied)| choose(leaf, runs, *varied))
        .collect();
    let names = names(&unified, &choices);
    let mut keeps = Keeps::new(unified.run.calls.len());
    let mut lowered: HashMap<(usize, Path), Leaf> = HashMap::new();
    let mut reports = Vec::new();
    for (leaf, choice) in unified.leaves.iter().zip(&choices) {
        let (made, source) = match choice {
            Some(choice) => {
                let mut lower = |expr: &Expr| rename(&keeps.lower(expr), &names);
                // Whether this call has these arguments was not the same in runs of the same words.
                let doubted = unified.doubtful.contains(&leaf.call);
                let confidence = if doubted { Confidence::Low } else { choice.confidence };
                let made = Leaf {
                    expr: lower(&choice.best.expr),
                    also: choice.also.iter().map(lower).collect(),
                    origin: choice.best.origin,
                    confidence,
                };
                let source = choice.best.place.as_ref().map(Source::of);
                (made, source)
            }
            None => {
                let expr = Expr::Const(leaf.value.clone());
                (
                    Leaf {
                        expr,
                        also: Vec::new(),
                        origin: Origin::Unexplained,
                        confidence: Confidence::None,
                    },
                    None,
                )
            }
        };
        reports.push(LeafReport {
            step: leaf.call,
            path: leaf.path.clone(),
            origin: made.origin,
            confidence: made.confidence,
            source,
            others: made.also.len(),
            also: choice.iter().flat_map(|choice| &choice.places).map(Source::of).collect(),
        });
        lowered.insert((leaf.call, leaf.path.clone()), made);
    }
    let mut keeps = keeps.into_steps();
    for keep in keeps.iter_mut().flatten() {
        keep.expr = rename(&keep.expr, &names);
    }
    let steps: Vec<Step> = unified
        .run
        .calls
        .iter()
        .zip(keeps)
        .enumerate()
        .map(|(n, (call, keeps))| Step {
            server: call.server.clone(),
            tool: call.tool.clone(),
            effect: effect(&call.tool, call.annotations.as_ref(), false),
            input: template(&call.input, n, &mut Vec::new(), &lowered),
            keeps,
        })
        .collect();
    let params = parameters(&unified, &choices, &names, &steps);
    let used = unified
        .wording
        .places()
        .iter()
        .enumerate()
        .filter(|(_, place)| params.iter().any(|param| param.spans.contains(&place.span)))
        .map(|(n, _)| n)
        .collect();
    let needed = params.iter().map(|param| param.name.clone()).collect();
    let contradicted = unified.leaves.iter().filter(|leaf| leaf.contradicted).count();
    let scenario = Scenario { prompt: unified.run.prompt.text.to_owned(), params, steps, runs };
    let drafts: Vec<(Draft, String)> = unified
        .drafts
        .iter()
        .enumerate()
        .map(|(n, draft)| (draft.clone(), names.get(&n).cloned().unwrap_or_else(|| prompt::key(n))))
        .collect();
    let Unified { wording, agreeing, seen, edits, .. } = unified;
    let verification =
        verify(&scenario, &agreeing, &|n| names.get(&n).cloned().unwrap_or_else(|| prompt::key(n)));
    Some(Calculation {
        scenario,
        leaves: reports,
        agreeing: agreeing.iter().map(|run| run.number).collect(),
        verification,
        contradicted,
        reader: Reader { needed, drafts, seen, used, edits, wording: wording.clone() },
        wording,
    })
}

/// The input of a step with its leaves filled in.
fn template(value: &Value, step: usize, at: &mut Path, leaves: &HashMap<(usize, Path), Leaf>) -> Template {
    if let Some(leaf) = leaves.get(&(step, at.clone())) {
        return Template::Leaf(leaf.clone());
    }
    match value {
        Value::Object(members) => Template::Object(
            members
                .iter()
                .map(|(key, member)| {
                    at.push(At::Key(key.clone()));
                    let member = template(member, step, at, leaves);
                    at.pop();
                    (key.clone(), member)
                })
                .collect(),
        ),
        Value::Array(elements) => Template::List(
            elements
                .iter()
                .enumerate()
                .map(|(n, element)| {
                    at.push(At::Index(n));
                    let element = template(element, step, at, leaves);
                    at.pop();
                    element
                })
                .collect(),
        ),
        // Too deep, or cut off: nothing explains it.
        leaf => Template::Leaf(Leaf {
            expr: Expr::Const(leaf.clone()),
            also: Vec::new(),
            origin: Origin::Unexplained,
            confidence: Confidence::None,
        }),
    }
}

fn expressions(choice: &Choice) -> impl Iterator<Item = &Expr> {
    std::iter::once(&choice.best.expr).chain(&choice.also)
}

/// Names of the parameters that are used, after the first argument that each goes into.
fn names(unified: &Unified<'_>, choices: &[Option<Choice>]) -> HashMap<usize, String> {
    let mut names: HashMap<usize, String> = HashMap::new();
    let mut taken = HashSet::new();
    for (leaf, choice) in unified.leaves.iter().zip(choices) {
        let Some(choice) = choice else { continue };
        for n in expressions(choice).flat_map(params) {
            if names.contains_key(&n) {
                continue;
            }
            let base = argument(leaf);
            let mut name = base.clone();
            let mut more = 1;
            while !taken.insert(name.clone()) {
                more += 1;
                name = format!("{base}_{more}");
            }
            names.insert(n, name);
        }
    }
    names
}

/// The last key of the way to a leaf.
fn argument(leaf: &Explained) -> String {
    let key = leaf.path.iter().rev().find_map(|step| match step {
        At::Key(key) => Some(key.as_str()),
        At::Index(_) => None,
    });
    let plain: String =
        key.unwrap_or("value").chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(40).collect();
    if plain.is_empty() { "value".into() } else { plain }
}

fn rename(expr: &Expr, names: &HashMap<usize, String>) -> Expr {
    replaced(expr, &mut |part| {
        let Expr::Param(_) = part else { return None };
        let n = params(part).first().copied()?;
        names.get(&n).map(|name| Expr::Param(name.clone()))
    })
}

/// The parameters that are used, by where they stand.
fn parameters(
    unified: &Unified<'_>,
    choices: &[Option<Choice>],
    names: &HashMap<usize, String>,
    steps: &[Step],
) -> Vec<Param> {
    let mut out: Vec<Param> = Vec::new();
    for (n, draft) in unified.drafts.iter().enumerate() {
        let Some(name) = names.get(&n) else { continue };
        let reaches = |leaf: &Explained, choice: &Option<Choice>| {
            choice.as_ref().is_some_and(|choice| expressions(choice).any(|expr| params(expr).contains(&n)))
                && is_target(leaf, steps.get(leaf.call).map(|step| step.effect), &draft.reading)
        };
        let target = unified.leaves.iter().zip(choices).any(|(leaf, choice)| reaches(leaf, choice));
        out.push(Param {
            name: name.clone(),
            spans: draft.spans.clone(),
            reading: draft.reading.clone(),
            role: if target { Role::Target } else { Role::Setting },
            sample: draft.sample.clone(),
        });
    }
    out.sort_by_key(|param| param.spans.first().map(|span| span.start));
    out
}

/// Ids, paths, recipients, amounts, names of things, and whatever goes into a write.
fn is_target(leaf: &Explained, effect: Option<Effect>, reading: &Reading) -> bool {
    effect != Some(Effect::Read)
        || *reading == Reading::Text
        || crate::names::words(&argument(leaf)).iter().any(|word| {
            matches!(
                word.as_str(),
                "id" | "key" | "path" | "file" | "to" | "recipient" | "email" | "url" | "amount"
            )
        })
}
