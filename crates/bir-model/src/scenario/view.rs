//! A scenario as its owner sees it.

use super::payload::ParamSample;
use super::words::words;
use crate::{RunId, ScenarioId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

words! {
    /// How far the calculation of a scenario is.
    ScenarioState {
        /// It is waited for.
        Pending = "pending",
        /// It may be matched.
        Ready = "ready",
        /// Nothing could be had, and the reason is beside it.
        Unusable = "unusable",
    }
}

words! {
    /// How far a scenario runs by itself (DESIGN.md §9).
    Level {
        /// It steers.
        L0 = "L0",
        /// Reads run, writes steer.
        L1 = "L1",
        /// Writes that are as once when done twice run too.
        L2 = "L2",
        /// Everything runs.
        L3 = "L3",
    }
}

words! {
    /// What is done with a step of a scenario that runs.
    Act {
        /// It is carried out.
        Run = "run",
        /// The model is shown its input, and calls by itself.
        Steer = "steer",
        /// The task is handed over before it.
        HandOver = "hand_over",
    }
}

words! {
    /// What a step does to the world.
    Effect {
        /// It reads.
        Read = "read",
        /// It writes, and twice is as once.
        Idempotent = "idempotent",
        /// It writes.
        Write = "write",
        /// It takes away, or nobody knows.
        Destructive = "destructive",
    }
}

words! {
    /// Who has frozen a step: the scenario stops before it, and hands over.
    Mark {
        /// Its owner. Only its owner lifts it.
        ByHand = "by_hand",
        /// The calculation: a value of its input has no explanation.
        Calculation = "calculation",
    }
}

words! {
    /// How much an explanation is trusted.
    Trust {
        /// Nothing explains it.
        None = "none",
        /// One run, and it may be a coincidence.
        Low = "low",
        /// One run, and a coincidence is unlikely.
        Medium = "medium",
        /// Several runs agree, in which it was not always the same.
        High = "high",
    }
}

/// A scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// Its id.
    pub scenario_id: ScenarioId,
    /// The run that it is calculated from; that one may be gone.
    pub source_run_id: Option<RunId>,
    /// What it calls, in order, as one text.
    pub family: String,
    /// The project of its run.
    pub project: Option<String>,
    /// The working directory of its run.
    pub cwd: Option<String>,
    /// The prompt of its run.
    pub prompt: String,
    /// What it does, in one sentence, with its parameters named.
    pub intent: String,
    /// How far its calculation is.
    pub state: ScenarioState,
    /// Why it is unusable.
    pub reason: Option<String>,
    /// How far it runs by itself.
    pub level: Level,
    /// Why it does not run further.
    pub level_reason: Option<String>,
    /// The least trust of its values.
    pub confidence: Trust,
    /// From so many runs it was calculated.
    pub runs: u32,
    /// Counts saves and undos.
    #[serde(alias = "chainRevision")]
    pub revision: u64,
    /// Its owner has approved that it runs.
    pub approved: bool,
    /// Its parameters by name, each a [`ParamSample`].
    pub params: Map<String, Value>,
    /// The body `(params)`.
    pub params_logic: String,
    /// The body `(params, respParams)`.
    pub response_params_logic: String,
    /// Its steps, in order.
    pub steps: Vec<StepView>,
    /// When it was made, ms since the Unix epoch.
    pub created_at: u64,
    /// When it was last changed or calculated, ms since the Unix epoch.
    pub updated_at: u64,
}

impl View {
    /// A parameter.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<ParamSample> {
        serde_json::from_value(self.params.get(name)?.clone()).ok()
    }
}

/// A step of a [`View`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// From 0, without gaps.
    pub step_index: u32,
    /// The tool as the host renders it.
    pub tool_name: String,
    /// The key under which the host knows the server; none for a built-in tool.
    pub server: Option<String>,
    /// The tool as the server names it.
    pub tool: String,
    /// What it does to the world.
    pub effect: Effect,
    /// Why that is believed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_why: Option<String>,
    /// The body that makes its input: the edited one where there is one.
    pub tool_input_logic: String,
    /// The body that makes what later steps need: the edited one where there is one.
    pub tool_output_logic: String,
    /// The first is an edited one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_edited: bool,
    /// The second is an edited one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_edited: bool,
    /// Who has frozen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// Why the call is made, for a reader.
    pub reasoning: Option<String>,
    /// The least trust of its values.
    pub confidence: Trust,
    /// The values of its input, and where each comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<LeafView>,
    /// What it was given in the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_input: Option<Value>,
    /// What it gave in the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_output: Option<Value>,
}

/// A value of an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafView {
    /// The way to it, `a.b.0`.
    pub path: String,
    /// Where it comes from: `constant`, `prompt`, `result`, `clock`, `mixed`, `proposed`, `unexplained`.
    pub origin: String,
    /// The same as a person reads it: `parameter city`, `hotels.0.id of the result of step 0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How much that is trusted.
    pub confidence: Trust,
    /// So many other explanations have to agree with it.
    #[serde(default)]
    pub others: u32,
}
