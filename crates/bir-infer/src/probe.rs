//! Evaluating explanations over whole results, without a copy of them.
//!
//! An explanation reads results by [`result_key`]. Most read one: they are evaluated as if they belonged to that step, where its result
//! stands. Only what reads several needs them side by side, and those are few.

use crate::walk::replaced;
use crate::witness::{reads, result_key};
use bir_plan::expr::{EvalError, Expr, Scope, view};
use bir_plan::trace::{Call, Output};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// An explanation, prepared.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    calls: Vec<usize>,
    expr: Expr,
}

impl Probe {
    pub(crate) fn new(expr: &Expr) -> Self {
        let calls = reads(expr);
        let expr = match calls[..] {
            [call] => {
                let key = result_key(call);
                replaced(expr, &mut |part| match part {
                    Expr::Kept(kept) if *kept == key => Some(Expr::Result(Vec::new())),
                    _ => None,
                })
            }
            _ => expr.clone(),
        };
        Self { calls, expr }
    }
}

/// The results of a run, by call.
pub(crate) struct Results<'t>(Vec<Option<&'t Value>>);

impl<'t> Results<'t> {
    pub(crate) fn new(calls: &'t [Call]) -> Self {
        Self(calls.iter().map(result_of).collect())
    }

    pub(crate) fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }

    /// Calls a function with what an explanation gives.
    pub(crate) fn ask<R>(
        &self,
        probe: &Probe,
        params: &Map<String, Value>,
        now: &str,
        then: impl FnOnce(Result<Cow<'_, Value>, EvalError>) -> R,
    ) -> R {
        let result = |call: &usize| self.0.get(*call).copied().flatten();
        let (mut kept, mut own) = (Map::new(), None);
        match &probe.calls[..] {
            [call] => own = result(call),
            several => {
                kept.extend(
                    several.iter().filter_map(|call| Some((result_key(*call), result(call)?.clone()))),
                );
            }
        }
        then(view(&probe.expr, &Scope { params, kept: &kept, result: own, item: None, now }))
    }
}

/// The result of a call, if it is a value.
fn result_of(call: &Call) -> Option<&Value> {
    match &call.output {
        Output::Value { value, .. } => Some(value),
        _ => None,
    }
}
