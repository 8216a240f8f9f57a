//! A dry replay: what would run for a prompt, step by step, against recorded results (seed 02 §8.1: a queue for each
//! tool, drawn in order). Nothing is
//! carried out.

use crate::compare::differences;
use crate::derive::{derive, recorded};
use crate::level::act;
use crate::logic::Logic;
use crate::parts::any_part;
use crate::play::{Played, Player};
use crate::stored::Stored;
use bir_entity::Clock;
use bir_model::scenario::{Derived, HandOver, MadeFrom, MadeOf, Replayed, ReplayedStep, Stage};
use bir_plan::expr::Expr;
use bir_plan::template::{Leaf, Origin};

/// With which values.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Those of the recording, at its time.
    Recorded,
    /// Those of a prompt.
    Prompt {
        /// The prompt.
        prompt: &'a str,
        /// When and where it is said.
        clock: &'a Clock,
    },
}

/// Replays a stored scenario. Calculated steps are evaluated natively; without `logic` a step with an edited body hands
/// over.
#[must_use]
pub fn rehearse(stored: &Stored, values: Values<'_>, logic: Option<Logic<'_>>) -> Replayed {
    let (derived, clock) = match values {
        Values::Recorded => (recorded(stored), stored.clock()),
        Values::Prompt { prompt, clock } => (derive(stored, prompt, clock), Some(clock.clone())),
    };
    let Some(clock) = clock else {
        return stopped(derived, "unreadable", "the time of the recording cannot be read");
    };
    let unread = matches!(values, Values::Prompt { .. }) && !derived.derived;
    if unread || !derived.missing.is_empty() {
        let why = derived.reason.clone().unwrap_or_else(|| derived.missing.join(", "));
        return stopped(derived, if unread { "unread" } else { "missing_target" }, &why);
    }
    let player = Player::new(stored, logic, &clock);
    let (played, kept) = player.play(&derived.params, false);
    let steps: Vec<ReplayedStep> =
        played.iter().enumerate().filter_map(|(n, step)| told(stored, n, step, &derived)).collect();
    let mut hand_over = steps.iter().find_map(|step| step.hand_over.clone());
    let mut response_params = None;
    if hand_over.is_none() {
        match player.response(&kept) {
            Ok(made) => response_params = Some(made),
            Err(why) => hand_over = Some(why),
        }
    }
    Replayed { derived, whole: hand_over.is_none(), steps, response_params, hand_over }
}

fn told(stored: &Stored, n: usize, step: &Played, derived: &Derived) -> Option<ReplayedStep> {
    let (recorded, plan) = (stored.steps.get(n)?, stored.plan.steps.get(n)?);
    let input = step.input.as_ref().ok();
    let differs = input.map(|input| differences(&recorded.recorded_input, input)).unwrap_or_default();
    Some(ReplayedStep {
        step_index: u32::try_from(n).ok()?,
        tool_name: recorded.tool_name.clone(),
        input: input.cloned(),
        equal: input.is_some() && differs.is_empty(),
        differs,
        from: input.map(|_| made_of(stored, n, derived)).unwrap_or_default(),
        by: step.by,
        act: act(
            stored.level,
            plan.effect,
            plan.confidence(),
            recorded.edits.mark,
            recorded.edits.input_logic.is_some(),
        ),
        hand_over: step.input.as_ref().err().or(step.output.as_ref().err()).cloned(),
    })
}

/// Where each value of an input that was made is from.
fn made_of(stored: &Stored, n: usize, derived: &Derived) -> Vec<MadeOf> {
    let Some(plan) = stored.plan.steps.get(n) else { return Vec::new() };
    if stored.steps.get(n).is_some_and(|step| step.edits.input_logic.is_some()) {
        return vec![MadeOf { path: String::new(), origin: MadeFrom::ByHand, source: None }];
    }
    let sampled = |expr: &Expr| {
        any_part(expr, &|name, value| {
            name == "param"
                && value.as_str().is_some_and(|name| derived.sampled.iter().any(|own| own == name))
        })
    };
    let one = |(path, leaf): (String, &Leaf)| {
        let origin = match leaf.origin {
            Origin::Prompt if sampled(&leaf.expr) => MadeFrom::RecordedPrompt,
            Origin::Prompt => MadeFrom::Prompt,
            Origin::Result => MadeFrom::RecordedResult,
            Origin::Constant => MadeFrom::Constant,
            Origin::Clock => MadeFrom::Clock,
            Origin::Proposed => MadeFrom::Proposed,
            // What nothing explains makes no input.
            Origin::Mixed | Origin::Unexplained => MadeFrom::Mixed,
        };
        let source = Some(bir_plan::told::source(&stored.plan, n, &leaf.expr));
        MadeOf { path, origin, source: source.filter(|source| !source.is_empty()) }
    };
    plan.input.leaves().into_iter().map(one).collect()
}

fn stopped(derived: Derived, code: &'static str, why: &str) -> Replayed {
    let hand_over = HandOver::new(None, Stage::Derive, code, why);
    Replayed { derived, whole: false, steps: Vec::new(), response_params: None, hand_over: Some(hand_over) }
}
