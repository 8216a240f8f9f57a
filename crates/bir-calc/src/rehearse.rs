//! A dry replay: what would run for a prompt, step by step, against recorded results (seed 02 §8.1: a queue for each
//! tool, drawn in order). Nothing is
//! carried out.

use crate::compare::differences;
use crate::derive::{derive, recorded};
use crate::level::act;
use crate::logic::Logic;
use crate::play::{Played, Player};
use crate::stored::Stored;
use bir_entity::Clock;
use bir_model::scenario::{Derived, HandOver, Replayed, ReplayedStep, Stage};

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
        played.iter().enumerate().filter_map(|(n, step)| told(stored, n, step)).collect();
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

fn told(stored: &Stored, n: usize, step: &Played) -> Option<ReplayedStep> {
    let (recorded, plan) = (stored.steps.get(n)?, stored.plan.steps.get(n)?);
    let input = step.input.as_ref().ok();
    let differs = input.map(|input| differences(&recorded.recorded_input, input)).unwrap_or_default();
    Some(ReplayedStep {
        step_index: u32::try_from(n).ok()?,
        tool_name: recorded.tool_name.clone(),
        input: input.cloned(),
        equal: input.is_some() && differs.is_empty(),
        differs,
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

fn stopped(derived: Derived, code: &str, why: &str) -> Replayed {
    let hand_over =
        HandOver { step_index: None, stage: Stage::Derive, code: code.to_owned(), why: why.to_owned() };
    Replayed { derived, whole: false, steps: Vec::new(), response_params: None, hand_over: Some(hand_over) }
}
