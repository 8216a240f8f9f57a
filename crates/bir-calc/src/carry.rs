//! A scenario on its way to another hub or person, and into it. What it may do there is decided there: nothing of what it was allowed comes
//! along, and what it says of itself is looked at again.

use crate::calculate::family;
use crate::edit::mark;
use crate::rehearse::{Values, rehearse};
use crate::stored::Stored;
use bir_model::scenario::{Level, Mark};
use bir_plan::effect::{Effect, effect};
use bir_plan::template::Origin;
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const VERSION: u32 = 1;
/// Steps of a scenario that is taken in, at most; so many calls a run may have that one is calculated from.
pub const MOST_STEPS: usize = crate::calculate::MOST_CALLS;

/// A scenario as it is exported: plan, wording, steps with what was recorded and what was changed by hand. Its history, its executions and
/// its level stay where they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// [`VERSION`].
    pub version: u32,
    /// The project that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The working directory of its first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The scenario itself.
    pub scenario: Stored,
}

/// Why a scenario is not taken in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// It was written by another version.
    #[error("its format is {0}, and this version reads {VERSION}; export it again, or upgrade the hub")]
    Version(u32),
    /// It has no steps, or too many.
    #[error("it has {0} steps; 1 to {MOST_STEPS} are taken")]
    Steps(usize),
    /// Its parts do not fit each other.
    #[error("its parts do not fit each other ({0}); export it again")]
    Parts(String),
    /// It says of itself what is not so.
    #[error("it does not reproduce its own recording ({0}); export it again where it was calculated")]
    DoesNotReproduce(String),
}

impl Exported {
    /// Of a stored scenario.
    #[must_use]
    pub fn of(stored: &Stored, project: Option<String>, cwd: Option<String>) -> Self {
        let mut scenario = stored.clone();
        (scenario.level, scenario.level_reason) = (Level::L0, String::new());
        Self { version: VERSION, project, cwd, scenario }
    }

    /// What is kept of it: at L0, and each step at least as dangerous as its name says.
    ///
    /// # Errors
    ///
    /// [`NotTaken`].
    pub fn taken(self) -> Result<Stored, NotTaken> {
        if self.version != VERSION {
            return Err(NotTaken::Version(self.version));
        }
        let mut stored = self.scenario.checked().map_err(|error| NotTaken::Parts(error.to_string()))?;
        let steps = stored.steps.len();
        if steps == 0 || steps > MOST_STEPS {
            return Err(NotTaken::Steps(steps));
        }
        (stored.level, stored.level_reason) = (Level::L0, String::new());
        stored.family = family(&stored.plan);
        for (plan, step) in stored.plan.steps.iter_mut().zip(&mut stored.steps) {
            let by_name = effect(&plan.tool, None, false);
            if danger(by_name) > danger(plan.effect) {
                plan.effect = by_name;
            }
            let unexplained = plan.input.leaves().iter().any(|(_, leaf)| leaf.origin == Origin::Unexplained);
            let edited = step.edits.input_logic.is_some();
            step.edits.mark = mark(step.edits.mark == Some(Mark::ByHand), unexplained, edited);
        }
        // As it was calculated, it gives what was recorded up to the step at which it hands over.
        let mut calculated = stored.clone();
        for step in &mut calculated.steps {
            (step.edits.input_logic, step.edits.output_logic) = (None, None);
        }
        let replayed = rehearse(&calculated, Values::Recorded, None);
        if let Some(step) = replayed.steps.iter().find(|step| step.input.is_some() && !step.equal) {
            return Err(NotTaken::DoesNotReproduce(format!("step {}", step.step_index)));
        }
        Ok(stored)
    }
}

fn danger(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Idempotent => 1,
        Effect::Write => 2,
        Effect::Destructive => 3,
    }
}
