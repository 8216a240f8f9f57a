//! The answer to a run that began: whether its prompt asks for what a scenario does (seed 02 §2).

use super::ask::Decision;
use super::replay::Derived;
use super::view::{Effect, Level, Mark, ScenarioState};
use crate::{RunId, ScenarioId, TicketId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words::words;

/// The answer of `POST /recordings/runs`. The run is recorded whether something matched or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begun {
    /// The run.
    pub id: RunId,
    /// What its prompt asks for; none: nothing that is known.
    pub matched: Option<Matched>,
}

/// A run that did what a prompt asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Matched {
    /// The earlier run.
    pub run_id: RunId,
    /// Its scenario, where one is ready.
    pub scenario_id: Option<ScenarioId>,
    /// The cosine of the two prompts; none where words nominated it.
    pub similarity: Option<f64>,
    /// What an execution is booked under, once; none where there is nothing to execute.
    pub execution_ticket: Option<TicketId>,
    /// The scenario, where one is ready.
    pub scenario: Option<Payload>,
    /// The values of its parameters for this prompt, where it was read already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Derived>,
    /// So many runs asked for it, this one included.
    #[serde(default)]
    pub iterations: u64,
    /// What the hub makes of it: `execute` or `steer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A scenario, as a runner executes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// What it does, in one sentence, with its parameters named.
    pub intent: String,
    /// Only `ready` is executed.
    pub state: ScenarioState,
    /// How far it runs by itself.
    pub level: Level,
    /// Counts saves and undos.
    pub revision: u64,
    /// Its parameters by name, each a [`ParamSample`].
    pub params_object: Map<String, Value>,
    /// The body `(params)`.
    pub params_logic: String,
    /// The body `(params, respParams)`.
    pub response_params_logic: String,
    /// Its steps, in order.
    pub steps: Vec<PayloadStep>,
    /// The plan (`bir_plan::Scenario`), for steps whose logic is the calculated one: those are evaluated without
    /// JavaScript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}

words! {
    /// Whether a task can do without a parameter.
    ParamRole {
        /// It reaches an id, a path, a recipient, an amount or any write: without it nothing runs.
        Target = "target",
        /// Where a prompt does not mention it, it is what it was in the recording.
        Setting = "setting",
    }
}

/// A parameter of a [`Payload`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParamSample {
    /// Its value in the recording.
    pub sample_value: Value,
    /// What it is, for a reader.
    pub description: String,
    /// Whether the task can do without it.
    pub role: ParamRole,
}

/// A step of a [`Payload`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadStep {
    /// From 0, without gaps.
    pub step_index: u32,
    /// The tool as the host renders it.
    pub tool_name: String,
    /// The key under which the host knows the server; none for a built-in tool.
    pub server: Option<String>,
    /// The tool as the server names it.
    pub tool: String,
    /// The body `(params, respParams)`.
    pub tool_input_logic: String,
    /// The body `(toolOutput, params, respParams)`.
    pub tool_output_logic: String,
    /// Why the call is made, for a reader.
    pub reasoning: Option<String>,
    /// What it does to the world.
    pub effect: Effect,
    /// The first was changed by hand: it is evaluated in the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_edited: bool,
    /// The second was changed by hand: it is evaluated in the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_edited: bool,
    /// It is frozen: the scenario stops before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}
