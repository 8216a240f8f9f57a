//! A stored scenario as the routes show it (seed 02 §2).

use crate::intent::description;
use crate::stored::{Stored, effect, origin, role, trust};
use bir_model::scenario::{LeafView, Matched, ParamSample, Payload, PayloadStep, ScenarioState, StepView};
use bir_model::{RunId, ScenarioId, TicketId};
use bir_plan::template::Origin;
use serde_json::{Map, Value};

impl Stored {
    /// Its parameters, each with its sample, what it is, and whether the task can do without it.
    #[must_use]
    pub fn params_object(&self) -> Map<String, Value> {
        let one = |param: &bir_plan::param::Param| {
            let sample = ParamSample {
                sample_value: param.sample.clone(),
                description: description(&self.plan, param),
                role: role(param.role),
            };
            Some((param.name.clone(), serde_json::to_value(sample).ok()?))
        };
        self.plan.params.iter().filter_map(one).collect()
    }

    /// As a runner executes it.
    #[must_use]
    pub fn payload(&self, revision: u64) -> Payload {
        Payload {
            intent: self.intent.clone(),
            state: ScenarioState::Ready,
            level: self.level,
            revision,
            params_object: self.params_object(),
            params_logic: self.params_logic(),
            response_params_logic: self.response_params_logic(),
            steps: (0..self.steps.len()).filter_map(|n| self.payload_step(n)).collect(),
            plan: serde_json::to_value(&self.plan).ok(),
        }
    }

    fn payload_step(&self, n: usize) -> Option<PayloadStep> {
        let (plan, step) = (self.plan.steps.get(n)?, self.steps.get(n)?);
        Some(PayloadStep {
            step_index: u32::try_from(n).ok()?,
            tool_name: step.tool_name.clone(),
            server: plan.server.clone(),
            tool: plan.tool.clone(),
            tool_input_logic: self.input_logic(n),
            tool_output_logic: self.output_logic(n),
            reasoning: step.reasoning.clone(),
            effect: effect(plan.effect),
            input_edited: step.edits.input_logic.is_some(),
            output_edited: step.edits.output_logic.is_some(),
            mark: step.edits.mark,
        })
    }

    /// A step as its owner sees it; none: there is no such step.
    #[must_use]
    pub fn step_view(&self, n: usize) -> Option<StepView> {
        let (plan, step) = (self.plan.steps.get(n)?, self.steps.get(n)?);
        let leaf = |(path, leaf): (String, &bir_plan::template::Leaf)| LeafView {
            path,
            origin: origin(leaf.origin).to_owned(),
            source: Some(bir_plan::told::source(&self.plan, n, &leaf.expr))
                .filter(|_| leaf.origin != Origin::Unexplained),
            confidence: trust(leaf.confidence),
            others: u32::try_from(leaf.also.len()).unwrap_or(u32::MAX),
        };
        Some(StepView {
            step_index: u32::try_from(n).ok()?,
            tool_name: step.tool_name.clone(),
            server: plan.server.clone(),
            tool: plan.tool.clone(),
            effect: effect(plan.effect),
            effect_why: step.effect_why.clone(),
            tool_input_logic: self.input_logic(n),
            tool_output_logic: self.output_logic(n),
            input_edited: step.edits.input_logic.is_some(),
            output_edited: step.edits.output_logic.is_some(),
            mark: step.edits.mark,
            reasoning: step.reasoning.clone(),
            confidence: trust(plan.confidence()),
            leaves: plan.input.leaves().into_iter().map(leaf).collect(),
            recorded_input: Some(step.recorded_input.clone()),
            recorded_output: Some(step.recorded_output.clone()),
        })
    }
}

/// The `matched` of an answer: the run that was found, and its scenario where one is ready.
#[must_use]
pub fn matched(
    run: RunId,
    scenario: Option<(ScenarioId, &Stored, u64)>,
    similarity: Option<f64>,
    ticket: Option<TicketId>,
    iterations: u64,
) -> Matched {
    Matched {
        run_id: run,
        scenario_id: scenario.map(|(id, _, _)| id),
        similarity,
        execution_ticket: ticket.filter(|_| scenario.is_some()),
        scenario: scenario.map(|(_, stored, revision)| stored.payload(revision)),
        derived: None,
        iterations,
        decision: None,
        why: None,
    }
}
