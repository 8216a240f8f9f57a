//! Whether a calculated scenario does what was recorded, and whether its leaves depend on what they are said to depend on.
//!
//! Two tests. *Dry replay*: on each run that it explains, its inputs are those of the recording. *Perturbation*: one after the other each
//! parameter and each kept value is changed; the leaves that name it have to move, and no other.

use crate::leaves::{is_same, leaves};
use crate::unify::Agreeing;
use bir_plan::expr::{Expr, Scope, eval};
use bir_plan::scenario::Scenario;
use bir_plan::template::{Leaf, Origin};
use bir_plan::trace::Output;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// What was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Runs on which the dry replay gave the recorded inputs wherever it is explained.
    pub replayed: Vec<usize>,
    /// Runs on which it did not, with the step.
    pub failed: Vec<(usize, usize)>,
    /// Changes of a parameter or a kept value.
    pub changes: usize,
    /// Of these, where exactly the dependent leaves moved.
    pub exact: usize,
    /// Leaves (step, number in the step) that a change should have moved and did not, or the other way round.
    pub wrong: Vec<(usize, usize)>,
}

impl Verification {
    /// Every run was reproduced, and every change moved what it should.
    #[must_use]
    pub fn passed(&self, runs: usize) -> bool {
        self.replayed.len() == runs && self.exact == self.changes
    }
}

/// `name`: that of a parameter by its number.
pub(crate) fn verify(
    scenario: &Scenario,
    runs: &[Agreeing<'_>],
    name: &dyn Fn(usize) -> String,
) -> Verification {
    let mut out = Verification::default();
    for run in runs {
        let named = run
            .params
            .iter()
            .filter_map(|(key, value)| Some((name(key.strip_prefix('p')?.parse().ok()?), value.clone())));
        let params: Map<String, Value> = named.collect();
        match replays(scenario, run, &params) {
            Ok(kept) => {
                out.replayed.push(run.number);
                if run.number == 0 {
                    perturb(scenario, &params, &kept, &run.today, &mut out);
                }
            }
            Err(step) => out.failed.push((run.number, step)),
        }
    }
    out
}

/// What was kept in a dry replay that gave the recorded inputs, or the step that did not; leaves that nothing explains are not compared.
fn replays(
    scenario: &Scenario,
    run: &Agreeing<'_>,
    params: &Map<String, Value>,
) -> Result<Map<String, Value>, usize> {
    let (mut kept, mut unread) = (Map::new(), HashSet::new());
    for (n, (step, call)) in scenario.steps.iter().zip(&run.calls).enumerate() {
        let scope = Scope { params, kept: &kept, result: None, item: None, now: &run.today };
        for (path, value) in leaves(&call.input) {
            let Some(leaf) = step.input.leaf(&path) else { return Err(n) };
            let excused = leaf.origin == Origin::Unexplained
                || is_unread(&leaf.expr, params, &unread)
                || run.exceptions.iter().any(|(call, at)| *call == n && *at == path);
            if !excused && !eval(&leaf.expr, &scope).is_ok_and(|given| is_same(&given, value)) {
                return Err(n);
            }
        }
        if let Output::Value { value, .. } = &call.output {
            for keep in &step.keeps {
                let scope = Scope { params, kept: &kept, result: Some(value), item: None, now: &run.today };
                match eval(&keep.expr, &scope) {
                    Ok(value) => {
                        kept.insert(keep.key.clone(), value);
                    }
                    Err(_) if is_unread(&keep.expr, params, &unread) => {
                        unread.insert(keep.key.clone());
                    }
                    Err(_) => return Err(n),
                }
            }
        } else if !step.keeps.is_empty() {
            return Err(n);
        }
    }
    Ok(kept)
}

/// Whether an expression reads words that could not be told in the prompt of a run, or what was kept by them: the run says nothing of it.
fn is_unread(expr: &Expr, params: &Map<String, Value>, unread: &HashSet<String>) -> bool {
    let mut found = false;
    crate::walk::each(expr, &mut |part| {
        found |= match part {
            Expr::Param(name) => !params.contains_key(name),
            Expr::Kept(key) => unread.contains(key),
            _ => false,
        };
    });
    found
}

fn perturb(
    scenario: &Scenario,
    params: &Map<String, Value>,
    kept: &Map<String, Value>,
    now: &str,
    out: &mut Verification,
) {
    let all: Vec<(usize, usize, &Leaf)> = scenario
        .steps
        .iter()
        .enumerate()
        .flat_map(|(step, made)| {
            made.input.leaves().into_iter().enumerate().map(move |(n, (_, leaf))| (step, n, leaf))
        })
        .collect();
    let value = |leaf: &Leaf, params: &Map<String, Value>, kept: &Map<String, Value>| {
        eval(&leaf.expr, &Scope { params, kept, result: None, item: None, now }).ok()
    };
    let before: Vec<_> = all.iter().map(|(_, _, leaf)| value(leaf, params, kept)).collect();
    let mut change = |name: &Expr, params: &Map<String, Value>, kept: &Map<String, Value>| {
        out.changes += 1;
        let mut exact = true;
        for ((step, n, leaf), before) in all.iter().zip(&before) {
            let mut depends = false;
            crate::walk::each(&leaf.expr, &mut |part| depends |= part == name);
            if depends == (value(leaf, params, kept) == *before) {
                exact = false;
                out.wrong.push((*step, *n));
            }
        }
        out.exact += usize::from(exact);
    };
    // What only a choice inside of a keep reads moves nothing here: the lists are those of the recording.
    let named = |name: &Expr| {
        let mut found = false;
        for (_, _, leaf) in &all {
            crate::walk::each(&leaf.expr, &mut |part| found |= part == name);
        }
        found
    };
    for name in params.keys() {
        let expr = Expr::Param(name.clone());
        if named(&expr) {
            let mut changed = params.clone();
            changed.insert(name.clone(), other(&params[name]));
            change(&expr, &changed, kept);
        }
    }
    for key in kept.keys() {
        let expr = Expr::Kept(key.clone());
        if named(&expr) {
            let mut changed = kept.clone();
            changed.insert(key.clone(), other(&kept[key]));
            change(&expr, params, &changed);
        }
    }
}

/// Another value of the same type.
fn other(value: &Value) -> Value {
    match value {
        Value::Bool(yes) => (!yes).into(),
        Value::Number(number) => number.as_i64().map_or_else(
            || Value::from(number.as_f64().unwrap_or(0.0) + 1.0),
            |n| n.saturating_add(1).into(),
        ),
        Value::String(text) => other_text(text).into(),
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(other).collect();
            list.reverse();
            list.into()
        }
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), other(value))).collect::<Map<_, _>>().into()
        }
        Value::Null => "other".into(),
    }
}

/// A time becomes a later one, a number the next, a text a longer one.
fn other_text(text: &str) -> String {
    // Both ends of a stretch of days.
    if let Some((from, to)) = text.split_once('/')
        && from.len() == 10
        && to.len() == 10
    {
        return format!("{}/{}", other_text(from), other_text(to));
    }
    use bir_plan::expr::Unit;
    let nothing = Map::new();
    let scope = Scope { params: &nothing, kept: &nothing, result: None, item: None, now: "" };
    for (amount, unit) in [(400, Unit::Days), (61, Unit::Minutes)] {
        let later = Expr::Add {
            of: Box::new(Expr::Const(text.into())),
            amount: Box::new(Expr::Const(amount.into())),
            unit,
        };
        if let Ok(Value::String(later)) = eval(&later, &scope) {
            // Date and time both move where both are there.
            let later = Expr::Add {
                of: Box::new(Expr::Const(later.into())),
                amount: Box::new(Expr::Const(61.into())),
                unit: Unit::Minutes,
            };
            return match eval(&later, &scope) {
                Ok(Value::String(later)) => later,
                _ => match &later {
                    Expr::Add { of, .. } => match &**of {
                        Expr::Const(Value::String(later)) => later.clone(),
                        _ => format!("{text} x"),
                    },
                    _ => format!("{text} x"),
                },
            };
        }
    }
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => number.saturating_add(1).to_string(),
        _ => format!("{text} x"),
    }
}
