//! Whether a calculated scenario does what was recorded, and whether its leaves depend on what they are said to depend on.
//!
//! Two tests. *Dry replay*: on each run that it explains, its inputs are those of the recording. *Perturbation*
//! ([`perturb`](crate::perturb)): one after the other each parameter and each leaf of a result that is read is changed, and a leaf of each
//! result that is not; the leaves that depend on it have to move, and no other.

use crate::leaves::{is_same, leaves};
use crate::perturb::perturb;
use crate::unify::Agreeing;
use bir_plan::expr::{Expr, Scope, eval};
use bir_plan::scenario::Scenario;
use bir_plan::template::Origin;
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
    /// Changes of a parameter or of a leaf of a result.
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
            Ok(()) => {
                out.replayed.push(run.number);
                if run.number == 0 {
                    let results = run.calls.iter().map(|call| match &call.output {
                        Output::Value { value, .. } => Some(value),
                        _ => None,
                    });
                    perturb(scenario, &params, results.collect(), &run.today, &mut out);
                }
            }
            Err(step) => out.failed.push((run.number, step)),
        }
    }
    out
}

/// Whether a dry replay gives the recorded inputs, or the step that does not; leaves that nothing explains are not compared.
pub(crate) fn replays(
    scenario: &Scenario,
    run: &Agreeing<'_>,
    params: &Map<String, Value>,
) -> Result<(), usize> {
    let (mut kept, mut unread) = (Map::new(), HashSet::new());
    for (n, (step, call)) in scenario.steps.iter().zip(&run.calls).enumerate() {
        let scope = Scope { params, kept: &kept, result: None, item: None, now: &run.today };
        for (path, value) in leaves(&call.input) {
            let Some(leaf) = step.input.leaf(&path) else { return Err(n) };
            let excused = leaf.origin == Origin::Unexplained || is_unread(&leaf.expr, params, &unread);
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
    Ok(())
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
