//! Explanations that a model endpoint proposes for values that calculation left unexplained: the same tests as for our own, and some more,
//! since whoever proposes has seen the answer.
//!
//! ```text
//!  proposal ─▶ form: only what may be said, nothing of the answer in it ─▶ dry replay on every run ─▶ perturbation, shifted clock
//!                                                                       └▶ emitted bodies agree ─▶ leaf: proposed, low ─▶ its step steers
//! ```
//!
//! What stands all that is marked `proposed` and is of low confidence, so that its step steers and never runs, at whatever level. No level
//! is raised by it.

use crate::agree::agrees;
use crate::derive::derive;
use crate::logic::Logic;
use crate::stored::Stored;
use crate::trace::Recorded;
use bir_infer::{Recheck, recheck};
use bir_model::scenario::Mark;
use bir_plan::expr::{At, Expr, Scope, Unit, eval};
use bir_plan::proposal::Proposal;
use bir_plan::result;
use bir_plan::scenario::{Keep, Scenario, Step};
use bir_plan::template::{Confidence, Leaf, Origin, Template};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Levels of a proposed expression.
const DEEPEST: usize = 8;
/// What a proposal keeps of results.
const MOST_KEEPS: usize = 4;
/// A value that is shown in no result by coincidence: characters.
const TELLING: usize = 3;
/// How the keys of what a proposal keeps begin.
const KEY: &str = "proposed_";
/// Leaves of results that a constant is compared with.
const MOST_LEAVES: usize = 60_000;
/// A shift of a time by more than that is no rule: days, months, minutes.
const LONGEST_SHIFT: f64 = 1_440.0;

/// Why a proposal counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Dropped {
    /// There is no such value, or it is explained.
    #[error("there is no such unexplained value")]
    NoSuchValue,
    /// It uses something that a proposal may not.
    #[error("it uses what a proposal may not use here")]
    Form,
    /// It depends on nothing.
    #[error("it depends on nothing")]
    Constant,
    /// It has the answer in it.
    #[error("it holds the value itself, or what leads to this one alone")]
    Copy,
    /// A dry replay gives something else.
    #[error("it does not give what was recorded in every run")]
    DoesNotReproduce,
    /// What it depends on was changed, and it did not move; or the other way round.
    #[error("it does not move with what it is said to depend on")]
    DoesNotMove,
    /// Its JavaScript gives something else.
    #[error("its JavaScript gives something else, or cannot be evaluated")]
    EmissionDiffers,
    /// The parameters of some run cannot be read again.
    #[error("the parameters of a run cannot be read, so that it cannot be tested there")]
    Unread,
}

/// What was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Proved {
    /// The scenario with what stood the tests.
    pub stored: Stored,
    /// What did, as it was proposed.
    pub accepted: Vec<Proposal>,
    /// What did not: step, argument, why.
    pub dropped: Vec<(usize, String, Dropped)>,
}

/// The values that nothing explains: step, and the way to it.
#[must_use]
pub fn unexplained(stored: &Stored) -> Vec<(usize, String)> {
    let steps = stored.plan.steps.iter().enumerate();
    let of = |(n, step): (usize, &Step)| {
        let leaves = step.input.leaves().into_iter().filter(|(_, leaf)| leaf.origin == Origin::Unexplained);
        leaves.map(|(path, _)| (n, path)).collect::<Vec<_>>()
    };
    steps.flat_map(of).collect()
}

/// Tries proposals, one after the other. `runs`: those that the scenario was calculated from, the first one first. Without `logic` the
/// emitted bodies are not compared, as in a calculation.
#[must_use]
pub fn prove(
    stored: &Stored,
    runs: &[Recorded],
    proposals: Vec<Proposal>,
    logic: Option<Logic<'_>>,
) -> Proved {
    let mut out = Proved { stored: stored.clone(), accepted: Vec::new(), dropped: Vec::new() };
    let mut logic = logic;
    let bench = Bench::new(stored, runs);
    for proposal in proposals {
        let tried = match &bench {
            Some(bench) => bench.tried(&out.stored, &proposal),
            None => Err(Dropped::Unread),
        };
        match tried {
            Ok(plan) => {
                let mut next = out.stored.clone();
                next.plan = plan;
                lift(&mut next, proposal.step);
                out.stored = next;
                out.accepted.push(proposal);
            }
            Err(why) => out.dropped.push((proposal.step, proposal.argument, why)),
        }
    }
    // All bodies at once: most of a proposal's faults were found before.
    if !out.accepted.is_empty()
        && let Some(logic) = logic.take()
        && agrees(&out.stored, logic).is_err()
    {
        let back = |proposal: Proposal| (proposal.step, proposal.argument, Dropped::EmissionDiffers);
        out.dropped.extend(out.accepted.drain(..).map(back));
        out.stored = stored.clone();
    }
    out
}

/// The runs that a scenario explains as it is, the first one first. None: it does not explain that.
#[must_use]
pub fn explained(stored: &Stored, runs: Vec<Recorded>) -> Option<Vec<Recorded>> {
    let mut first = true;
    let mut out = Vec::new();
    for run in runs {
        let fits = Bench::new(stored, std::slice::from_ref(&run))
            .is_some_and(|bench| recheck(&stored.plan, &bench.runs).replayed == [0]);
        if std::mem::take(&mut first) && !fits {
            return None;
        }
        if fits {
            out.push(run);
        }
    }
    Some(out)
}

/// The steps as they were calculated: what was proposed is unexplained again.
#[must_use]
pub fn without(stored: &Stored) -> Vec<Step> {
    let mut steps = stored.plan.steps.clone();
    for (step, kept) in steps.iter_mut().zip(&stored.steps) {
        step.keeps.retain(|keep| !keep.key.starts_with(KEY));
        let proposed: Vec<(usize, String)> = step
            .input
            .leaves()
            .into_iter()
            .enumerate()
            .filter(|(_, (_, leaf))| leaf.origin == Origin::Proposed)
            .map(|(number, (path, _))| (number, path))
            .collect();
        for (number, path) in proposed {
            let value = at(&kept.recorded_input, &path).cloned().unwrap_or_default();
            if let Some(leaf) = leaf_mut(&mut step.input, &mut { number }) {
                *leaf = Leaf {
                    expr: Expr::Const(value),
                    also: Vec::new(),
                    origin: Origin::Unexplained,
                    confidence: Confidence::None,
                };
            }
        }
    }
    steps
}

/// A step in which nothing is unexplained any more is no longer frozen by the calculation.
fn lift(stored: &mut Stored, step: usize) {
    let open = unexplained(stored).iter().any(|(n, _)| *n == step);
    if let Some(kept) = stored.steps.get_mut(step)
        && !open
        && kept.edits.mark == Some(Mark::Calculation)
        && kept.edits.input_logic.is_none()
    {
        kept.edits.mark = None;
    }
}

/// What proposals are tried on.
struct Bench<'r> {
    runs: Vec<Recheck<'r>>,
    /// The texts of what results hold, where there is one run alone.
    seen: Option<Vec<String>>,
}

impl<'r> Bench<'r> {
    /// None: the parameters of some run cannot be read.
    fn new(stored: &Stored, runs: &'r [Recorded]) -> Option<Self> {
        let read = |run: &'r Recorded| {
            let derived = derive(stored, &run.trace.prompt, &run.trace.clock);
            let whole = derived.derived && derived.missing.is_empty();
            whole.then_some(Recheck { trace: &run.trace, params: derived.params })
        };
        let read: Vec<Recheck<'r>> = runs.iter().map(read).collect::<Option<_>>()?;
        let alone = read.len() == 1;
        let mut seen = Vec::new();
        for call in read.first()?.trace.calls.iter().filter(|_| alone) {
            texts(&result::as_value(&call.output).unwrap_or_default(), &mut seen);
        }
        Some(Self { runs: read, seen: alone.then_some(seen) })
    }

    /// The plan with a proposal in it.
    fn tried(&self, stored: &Stored, proposal: &Proposal) -> Result<Scenario, Dropped> {
        let first = self.runs.first().ok_or(Dropped::Unread)?;
        let input = &first.trace.calls.get(proposal.step).ok_or(Dropped::NoSuchValue)?.input;
        let step = stored.plan.steps.get(proposal.step).ok_or(Dropped::NoSuchValue)?;
        let leaves = step.input.leaves();
        let number = leaves
            .iter()
            .position(|(path, leaf)| *path == proposal.argument && leaf.origin == Origin::Unexplained)
            .ok_or(Dropped::NoSuchValue)?;
        let wanted = at(input, &proposal.argument).ok_or(Dropped::NoSuchValue)?;
        self.form(&stored.plan, proposal)?;
        self.is_no_copy(proposal, wanted)?;
        let mut plan = stored.plan.clone();
        let expr = keep(&mut plan, proposal);
        let made = Leaf {
            expr: expr.clone(),
            also: Vec::new(),
            origin: Origin::Proposed,
            confidence: Confidence::Low,
        };
        let step = plan.steps.get_mut(proposal.step).ok_or(Dropped::NoSuchValue)?;
        *leaf_mut(&mut step.input, &mut { number }).ok_or(Dropped::NoSuchValue)? = made;
        let verified = recheck(&plan, &self.runs);
        if verified.replayed.len() != self.runs.len() {
            return Err(Dropped::DoesNotReproduce);
        }
        if verified.wrong.contains(&(proposal.step, number)) || !moves_with_the_clock(&expr, &plan, first) {
            return Err(Dropped::DoesNotMove);
        }
        Ok(plan)
    }

    /// Whether it is made of what a proposal may be made of.
    fn form(&self, plan: &Scenario, proposal: &Proposal) -> Result<(), Dropped> {
        if proposal.keeps.len() > MOST_KEEPS {
            return Err(Dropped::Form);
        }
        for keep in &proposal.keeps {
            // A chain of ways into the result: only of such a one the perturbation knows what it reads.
            let own = plan.steps.get(keep.step).filter(|_| keep.step < proposal.step);
            if own.is_none() || !is_chain(&keep.expr) || depth(&keep.expr) > DEEPEST {
                return Err(Dropped::Form);
            }
        }
        let kept = |key: &str| {
            proposal.keeps.iter().any(|keep| keep.key == key)
                || plan
                    .steps
                    .iter()
                    .take(proposal.step)
                    .flat_map(|step| &step.keeps)
                    .any(|keep| keep.key == key)
        };
        let several = self.seen.is_none();
        let mut depends = false;
        let mut fits = depth(&proposal.expr) <= DEEPEST;
        each(&json(&proposal.expr), &mut |name, part| match (name, part) {
            ("param", Value::String(name)) => {
                depends = true;
                fits &= plan.params.iter().any(|param| param.name == *name);
            }
            ("kept", Value::String(key)) => {
                depends = true;
                fits &= kept(key);
            }
            ("clock", _) => depends = true,
            ("result" | "item" | "map", _) => fits = false,
            _ => {}
        });
        for expr in proposal.keeps.iter().map(|keep| &keep.expr).chain([&proposal.expr]) {
            each(&json(expr), &mut |name, part| match (name, part) {
                ("param", Value::String(name)) => fits &= plan.params.iter().any(|param| param.name == *name),
                // The place in a list, or a number that is added, is a rule only where several runs have it.
                ("by", Value::Object(by)) if by.contains_key("nth") => fits &= several,
                ("add", Value::Object(add)) => fits &= is_shift(add, several),
                _ => {}
            });
        }
        match (fits, depends) {
            (false, _) => Err(Dropped::Form),
            (true, false) => Err(Dropped::Constant),
            (true, true) => Ok(()),
        }
    }

    /// Whether a constant in it is the answer, or with one run alone something that was copied from a result to get at it.
    fn is_no_copy(&self, proposal: &Proposal, wanted: &Value) -> Result<(), Dropped> {
        let answer = text(wanted);
        let mut own = Vec::new();
        constants(&proposal.expr, &mut own);
        // What is not the answer's own may have had no more than two characters of it.
        let spelled: usize = own.iter().map(|constant| constant.chars().count()).sum();
        if spelled > 0 && spelled + 2 > answer.chars().count() {
            return Err(Dropped::Copy);
        }
        for keep in &proposal.keeps {
            constants(&keep.expr, &mut own);
        }
        let seen = self.seen.as_deref().unwrap_or_default();
        let copied = own.iter().any(|constant| {
            let constant = constant.to_lowercase();
            (!answer.is_empty() && constant.contains(&answer.to_lowercase()))
                || (constant.chars().count() >= TELLING && seen.contains(&constant))
        });
        if copied { Err(Dropped::Copy) } else { Ok(()) }
    }
}

/// Adds what a proposal keeps, under keys that nobody has, and gives its expression with those keys.
fn keep(plan: &mut Scenario, proposal: &Proposal) -> Expr {
    let mut names = HashMap::new();
    for keep in &proposal.keeps {
        let mut number = 0;
        let mut key;
        loop {
            key = format!("{KEY}{number}");
            if !plan.steps.iter().flat_map(|step| &step.keeps).any(|other| other.key == key) {
                break;
            }
            number += 1;
        }
        names.insert(keep.key.clone(), key.clone());
        if let Some(step) = plan.steps.get_mut(keep.step) {
            step.keeps.push(Keep { key, expr: keep.expr.clone() });
        }
    }
    let mut value = json(&proposal.expr);
    rename(&mut value, &names);
    serde_json::from_value(value).unwrap_or_else(|_| proposal.expr.clone())
}

fn rename(value: &mut Value, names: &HashMap<String, String>) {
    match value {
        Value::Object(members) => {
            for (name, part) in members.iter_mut().filter(|(name, _)| *name != "const") {
                match part {
                    Value::String(key) if name == "kept" => {
                        if let Some(new) = names.get(key) {
                            key.clone_from(new);
                        }
                    }
                    part => rename(part, names),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| rename(element, names)),
        _ => {}
    }
}

/// Whether a keep is a way into its result, with elements of lists chosen by what they are.
fn is_chain(expr: &Expr) -> bool {
    match expr {
        Expr::Result(_) => true,
        Expr::Get { of, .. } => is_chain(of),
        Expr::Pick { from, .. } => is_chain(from),
        _ => false,
    }
}

/// Whether something that is added is a shift of a time, or several runs tell that it is a rule.
fn is_shift(add: &Map<String, Value>, several: bool) -> bool {
    let unit = add.get("unit").and_then(|unit| serde_json::from_value::<Unit>(unit.clone()).ok());
    let constant = add.get("amount").and_then(|amount| amount.get("const"));
    match (unit, constant) {
        (_, None) => true,
        (Some(Unit::Number) | None, Some(_)) => several,
        (Some(_), Some(amount)) => amount.as_f64().is_some_and(|amount| amount.abs() <= LONGEST_SHIFT),
    }
}

/// Whether a value that reads the clock is another one at another time. One that does not read it has nothing to show.
fn moves_with_the_clock(expr: &Expr, plan: &Scenario, run: &Recheck<'_>) -> bool {
    let mut reads = false;
    each(&json(expr), &mut |name, _| reads |= name == "clock");
    if !reads {
        return true;
    }
    let now = run.trace.clock.now.strftime("%Y-%m-%dT%H:%M").to_string();
    let later = run.trace.clock.now.checked_add(jiff::Span::new().days(400).minutes(61));
    let Ok(later) = later.map(|later| later.strftime("%Y-%m-%dT%H:%M").to_string()) else { return false };
    let value = |now: &str| {
        let mut kept = Map::new();
        for (step, call) in plan.steps.iter().zip(&run.trace.calls) {
            let result = result::as_value(&call.output).unwrap_or_default();
            // A step whose keeps cannot be had was found in the dry replay.
            let _ = step.keep(&result, &run.params, &mut kept, now);
        }
        let scope = Scope { params: &run.params, kept: &kept, result: None, item: None, now };
        eval(expr, &scope).ok()
    };
    value(&now) != value(&later)
}

fn json(expr: &Expr) -> Value {
    serde_json::to_value(expr).unwrap_or_default()
}

/// Every named part of an expression; what constants hold is none.
fn each(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            for (name, part) in members.iter().filter(|(name, _)| *name != "const") {
                visit(name, part);
                each(part, visit);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| each(element, visit)),
        _ => {}
    }
}

/// The constants in an expression, as texts. Separators of a cut take away and add nothing.
fn constants(expr: &Expr, out: &mut Vec<String>) {
    fn walk(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                // The amount of a shift is no part of what is made.
                for (name, part) in members.iter().filter(|(name, _)| *name != "amount") {
                    if name == "const" { out.push(text(part)) } else { walk(part, out) }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|element| walk(element, out)),
            _ => {}
        }
    }
    walk(&json(expr), out);
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The texts of the leaves of a value, in small letters.
fn texts(value: &Value, out: &mut Vec<String>) {
    if out.len() >= MOST_LEAVES {
        return;
    }
    match value {
        Value::Object(members) => members.values().for_each(|value| texts(value, out)),
        Value::Array(elements) => elements.iter().for_each(|value| texts(value, out)),
        leaf => out.push(text(leaf).to_lowercase()),
    }
}

fn depth(expr: &Expr) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::Object(members) => 1 + members.values().map(of).max().unwrap_or(0),
            Value::Array(elements) => elements.iter().map(of).max().unwrap_or(0),
            _ => 0,
        }
    }
    // An expression is an object in an object.
    of(&json(expr)).div_ceil(2)
}

/// The value at a way that is written `a.b.0`; of several that are written so, the first.
#[must_use]
pub fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    fn go<'v>(value: &'v Value, at: &str, path: &str) -> Option<&'v Value> {
        if at == path {
            return Some(value);
        }
        let under = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        let on = |way: &str| path == way || path.strip_prefix(way).is_some_and(|rest| rest.starts_with('.'));
        let step = |step: At, value: &'v Value| {
            let way = match step {
                At::Key(key) => under(&key),
                At::Index(index) => under(&index.to_string()),
            };
            on(&way).then(|| go(value, &way, path)).flatten()
        };
        match value {
            Value::Object(members) => {
                members.iter().find_map(|(key, value)| step(At::Key(key.clone()), value))
            }
            Value::Array(elements) => {
                elements.iter().enumerate().find_map(|(n, value)| step(At::Index(n), value))
            }
            _ => None,
        }
    }
    go(value, "", path)
}

/// The leaf of that number, in the order of [`Template::leaves`].
fn leaf_mut<'t>(template: &'t mut Template, number: &mut usize) -> Option<&'t mut Leaf> {
    match template {
        Template::Leaf(leaf) if *number == 0 => Some(leaf),
        Template::Leaf(_) => {
            *number -= 1;
            None
        }
        Template::Object(members) => members.iter_mut().find_map(|(_, member)| leaf_mut(member, number)),
        Template::List(elements) => elements.iter_mut().find_map(|element| leaf_mut(element, number)),
    }
}
