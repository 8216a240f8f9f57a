//! Whether a scenario foretold what a model did by itself: a run of the same task, played through the plan afterwards,
//! with its own prompt and its own
//! results. Nothing is carried out.

use crate::compare::differences;
use crate::derive::derive;
use crate::logic::Logic;
use crate::play::Player;
use crate::stored::Stored;
use crate::trace::Recorded;
use bir_model::scenario::{Divergence, HandOver};
use bir_plan::result;
use serde_json::Map;

/// What came of a prediction.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// Every call was the plan's, with the plan's input.
    True,
    /// A call had another input, or another tool was called.
    False {
        /// The first step that was otherwise, from 0.
        step: usize,
        /// Where its input differs; nothing: another tool was called, or none, or one more.
        differs: Vec<Divergence>,
    },
    /// The plan would have handed over; it foretold nothing that was wrong.
    HandedOver(HandOver),
    /// The prompt is not read by the scenario.
    Unread(String),
}

/// What a scenario would have made of a run. Edited steps are evaluated with `logic`; without it they hand over.
#[must_use]
pub fn predict(stored: &Stored, run: &Recorded, logic: Option<Logic<'_>>) -> Prediction {
    let derived = derive(stored, &run.trace.prompt, &run.trace.clock);
    if !derived.missing.is_empty() || !derived.derived {
        return Prediction::Unread(derived.reason.unwrap_or_else(|| derived.missing.join(", ")));
    }
    let player = Player::new(stored, logic, &run.trace.clock);
    let mut kept = Map::new();
    for (step, plan) in stored.plan.steps.iter().enumerate() {
        let call =
            run.trace.calls.get(step).filter(|call| call.server == plan.server && call.tool == plan.tool);
        let Some(call) = call else { return Prediction::False { step, differs: Vec::new() } };
        match player.mark(step).map_or_else(|| player.input(step, &derived.params, &kept), Err) {
            Ok(made) => {
                let differs = differences(&call.input, &made);
                if !differs.is_empty() {
                    return Prediction::False { step, differs };
                }
            }
            Err(why) => return Prediction::HandedOver(why),
        }
        let result = result::as_value(&call.output).unwrap_or_default();
        match player.output(step, &result, &derived.params, &kept) {
            Ok(more) => kept.extend(more),
            Err(why) => return Prediction::HandedOver(why),
        }
    }
    let steps = stored.plan.steps.len();
    if run.trace.calls.len() > steps {
        return Prediction::False { step: steps, differs: Vec::new() };
    }
    Prediction::True
}
