//! A scenario as it is executed: the calculated plan, and beside it the bodies that somebody has edited.

use bir_model::scenario::{Effect, Level, Mark, Payload, ScenarioState};
use bir_plan::scenario::Scenario;
use serde_json::{Map, Value};
use thiserror::Error;

/// More steps than that are not executed; nothing calculates as many.
pub const MOST_STEPS: usize = 200;

/// A scenario, read from what the hub sends.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// What it does, in one sentence.
    pub intent: String,
    /// How far it runs by itself.
    pub level: Level,
    /// Of the scenario.
    pub revision: u64,
    /// Its steps, in order: as many as the plan has.
    pub steps: Vec<Step>,
    /// The calculated plan.
    pub plan: Scenario,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The tool as the host renders it.
    pub tool_name: String,
    /// The key under which the host knows the server; none for a built-in tool.
    pub server: Option<String>,
    /// The tool as the server names it.
    pub tool: String,
    /// What it does to the world.
    pub effect: Effect,
    /// Why the call is made, for a reader.
    pub reasoning: Option<String>,
    /// The edited body that makes its input; none: the plan makes it.
    pub input_body: Option<String>,
    /// The edited body that makes what later steps need; none: the plan makes it.
    pub output_body: Option<String>,
    /// It is frozen.
    pub mark: Option<Mark>,
}

/// Why a scenario is not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// It is not calculated yet, or nothing could be had of its run.
    #[error("the scenario is not ready")]
    NotReady,
    /// There is nothing to do.
    #[error("the scenario has no steps")]
    Empty,
    /// More than [`MOST_STEPS`].
    #[error("the scenario has more than {MOST_STEPS} steps")]
    TooLong,
    /// The plan is not there, cannot be read, or does not fit the steps.
    #[error("the scenario's plan cannot be read")]
    Unreadable,
}

/// The time at which a plan was armed, for its expressions and bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// `2026-11-30T08:00`, in the user's zone.
    pub text: String,
    /// Milliseconds since the Unix epoch.
    pub ms: i64,
}

impl Script {
    /// Reads what the hub sends.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub fn read(payload: &Payload) -> Result<Self, ScriptError> {
        if payload.state != ScenarioState::Ready {
            return Err(ScriptError::NotReady);
        }
        match payload.steps.len() {
            0 => return Err(ScriptError::Empty),
            n if n > MOST_STEPS => return Err(ScriptError::TooLong),
            _ => {}
        }
        let plan = payload.plan.clone().and_then(|plan| serde_json::from_value::<Scenario>(plan).ok());
        let plan = plan.ok_or(ScriptError::Unreadable)?;
        let fits = plan.steps.len() == payload.steps.len()
            && payload.steps.iter().zip(&plan.steps).enumerate().all(|(n, (step, of_plan))| {
                usize::try_from(step.step_index) == Ok(n)
                    && step.server == of_plan.server
                    && step.tool == of_plan.tool
            });
        if !fits {
            return Err(ScriptError::Unreadable);
        }
        let steps = payload.steps.iter().map(|step| Step {
            tool_name: step.tool_name.clone(),
            server: step.server.clone(),
            tool: step.tool.clone(),
            effect: step.effect,
            reasoning: step.reasoning.clone(),
            input_body: step.input_edited.then(|| step.tool_input_logic.clone()),
            output_body: step.output_edited.then(|| step.tool_output_logic.clone()),
            mark: step.mark,
        });
        Ok(Self {
            intent: payload.intent.clone(),
            level: payload.level,
            revision: payload.revision,
            steps: steps.collect(),
            plan,
        })
    }

    /// The values of its parameters in the recording.
    #[must_use]
    pub fn samples(&self) -> Map<String, Value> {
        self.plan.params.iter().map(|param| (param.name.clone(), param.sample.clone())).collect()
    }
}

impl Step {
    /// It writes, or nobody knows.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.effect != Effect::Read
    }

    /// Whether a call is of its tool.
    #[must_use]
    pub fn is_of(&self, call: &crate::event::ToolRef) -> bool {
        match (&self.server, &call.server) {
            (Some(server), Some(of)) => {
                server == of
                    && call.tool.as_ref().map_or(self.tool_name == call.name, |tool| *tool == self.tool)
            }
            (None, None) => self.tool_name == call.name,
            _ => false,
        }
    }
}
