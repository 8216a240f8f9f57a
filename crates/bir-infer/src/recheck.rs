//! The tests of a calculation for a scenario that was changed since: by a proposal of somebody else.
//!
//! They are the same two, dry replay on every run and perturbation on the first, with the values of the parameters given.

use crate::perturb::perturb;
use crate::unify::Agreeing;
use crate::verify::{Verification, replays};
use crate::witness::today;
use bir_plan::scenario::Scenario;
use bir_plan::trace::{Output, Trace};
use serde_json::{Map, Value};

/// A run, with the values of the scenario's parameters in it.
#[derive(Debug, Clone)]
pub struct Recheck<'t> {
    /// The run; its calls are the steps of the scenario, in order.
    pub trace: &'t Trace,
    /// The values.
    pub params: Map<String, Value>,
}

/// Tests a scenario on runs. One whose calls are not the scenario's steps fails at the first that differs.
#[must_use]
pub fn recheck(scenario: &Scenario, runs: &[Recheck<'_>]) -> Verification {
    let mut out = Verification::default();
    for (number, Recheck { trace, params }) in runs.iter().enumerate() {
        if let Some(step) = unlike(scenario, trace) {
            out.failed.push((number, step));
            continue;
        }
        let (calls, today) = (trace.calls.iter().collect(), today(trace));
        let run = Agreeing { number, calls, params: params.clone(), today };
        match replays(scenario, &run, params) {
            Ok(()) => {
                out.replayed.push(number);
                if number == 0 {
                    let results = trace.calls.iter().map(|call| match &call.output {
                        Output::Value { value, .. } => Some(value),
                        _ => None,
                    });
                    perturb(scenario, params, results.collect(), &run.today, &mut out);
                }
            }
            Err(step) => out.failed.push((number, step)),
        }
    }
    out
}

/// The first step that is not the run's call.
fn unlike(scenario: &Scenario, trace: &Trace) -> Option<usize> {
    let same = |n: usize| match (scenario.steps.get(n), trace.calls.get(n)) {
        (Some(step), Some(call)) => step.server == call.server && step.tool == call.tool,
        (None, None) => true,
        _ => false,
    };
    (0..scenario.steps.len().max(trace.calls.len())).find(|n| !same(*n))
}
