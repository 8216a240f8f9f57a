//! How large the parts of a scenario may be; what is larger is refused before a database is asked.

use crate::StoreError;
use crate::append::check::{MAX_NAME, MAX_NUMBER, MAX_PATH, MAX_PAYLOAD};
use crate::model::{NewScenario, ScenarioStep, StepEdit};
use bir_model::scenario::{ExecutionReport, StepEdits};
use std::collections::HashSet;

/// A plan in bytes at most.
const MAX_PLAN: usize = 64 << 20;
/// Steps of a scenario at most.
const MAX_STEPS: usize = 10_000;
/// All texts of all steps together in bytes at most: they go to the database in one transaction, and in PostgreSQL in messages
/// of less than 1 GiB.
const MAX_TOGETHER: usize = 256 << 20;
/// Runs that are named at once.
const MAX_RUNS: usize = 10_000;

fn too_large(what: &str, limit: usize) -> StoreError {
    StoreError::Refused(format!("`{what}` has at most {limit} bytes"))
}

pub(super) fn text(what: &str, text: Option<&str>, limit: usize) -> Result<(), StoreError> {
    if text.is_some_and(|text| text.len() > limit) { Err(too_large(what, limit)) } else { Ok(()) }
}

pub(super) fn payload(what: &str, value: Option<&str>) -> Result<(), StoreError> {
    text(what, value, MAX_PAYLOAD)
}

fn number(what: &str, value: u64) -> Result<(), StoreError> {
    if value > MAX_NUMBER {
        return Err(StoreError::Refused(format!("`{what}` is at most {MAX_NUMBER}")));
    }
    Ok(())
}

fn edits(edits: &StepEdits) -> Result<(), StoreError> {
    payload("inputLogic", edits.input_logic.as_deref())?;
    payload("outputLogic", edits.output_logic.as_deref())
}

/// The bytes of a step's texts.
fn weight(step: &ScenarioStep) -> usize {
    let texts = [
        step.server.as_ref(),
        Some(&step.tool),
        step.reasoning.as_ref(),
        step.edits.input_logic.as_ref(),
        step.edits.output_logic.as_ref(),
        step.recorded_input.as_ref(),
        step.recorded_output.as_ref(),
    ];
    texts.into_iter().flatten().map(String::len).sum()
}

pub(super) fn scenario(scenario: &NewScenario) -> Result<(), StoreError> {
    payload("family", Some(&scenario.family))?;
    text("project", scenario.project.as_deref(), MAX_PATH)?;
    text("cwd", scenario.cwd.as_deref(), MAX_PATH)?;
    payload("prompt", Some(&scenario.prompt))?;
    payload("intent", scenario.intent.as_deref())?;
    payload("reason", scenario.reason.as_deref())?;
    payload("levelReason", scenario.level_reason.as_deref())?;
    text("plan", scenario.plan.as_deref(), MAX_PLAN)?;
    if scenario.steps.len() > MAX_STEPS {
        return Err(StoreError::Refused(format!("a scenario has at most {MAX_STEPS} steps")));
    }
    if scenario.runs.len() > MAX_RUNS {
        return Err(StoreError::Refused(format!("at most {MAX_RUNS} runs are named at once")));
    }
    let mut indices = HashSet::with_capacity(scenario.steps.len());
    let mut together = 0_usize;
    for step in &scenario.steps {
        if !indices.insert(step.index) {
            return Err(StoreError::Refused(format!("the step {} is there twice", step.index)));
        }
        text("server", step.server.as_deref(), MAX_NAME)?;
        text("tool", Some(&step.tool), MAX_NAME)?;
        payload("reasoning", step.reasoning.as_deref())?;
        payload("recordedInput", step.recorded_input.as_deref())?;
        payload("recordedOutput", step.recorded_output.as_deref())?;
        edits(&step.edits)?;
        together += weight(step);
    }
    if together > MAX_TOGETHER {
        return Err(StoreError::Refused(format!(
            "the steps of a scenario have at most {MAX_TOGETHER} bytes together"
        )));
    }
    Ok(())
}

pub(super) fn edit(edit: &StepEdit) -> Result<(), StoreError> {
    edits(&edit.after)?;
    payload("note", edit.note.as_deref())
}

pub(super) fn report(report: &ExecutionReport) -> Result<(), StoreError> {
    number("tokens", report.tokens)?;
    number("durationMs", report.duration_ms)?;
    text("model", report.model.as_deref(), MAX_NAME)?;
    text("pricingVersion", Some(&report.pricing_version), MAX_NAME)?;
    payload("prompt", report.prompt.as_deref())?;
    payload("error", report.error.as_deref())?;
    text("errorToolName", report.error_tool_name.as_deref(), MAX_NAME)?;
    if report.steps.len() > MAX_STEPS {
        return Err(StoreError::Refused(format!("an execution has at most {MAX_STEPS} steps")));
    }
    let texts =
        report.steps.iter().map(|step| step.tool_name.len() + step.error.as_ref().map_or(0, String::len));
    if texts.sum::<usize>() > MAX_PAYLOAD { Err(too_large("steps", MAX_PAYLOAD)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;

    type Change = fn(&mut NewScenario);

    #[test]
    fn what_is_too_large_is_named() {
        let refused: [(&str, Change); 10] = [
            ("family", |new| new.family = "x".repeat(MAX_PAYLOAD + 1)),
            ("cwd", |new| new.cwd = Some("x".repeat(MAX_PATH + 1))),
            ("project", |new| new.project = Some("x".repeat(MAX_PATH + 1))),
            ("plan", |new| new.plan = Some("x".repeat(MAX_PLAN + 1))),
            ("tool", |new| new.steps[0].tool = "x".repeat(MAX_NAME + 1)),
            ("recordedOutput", |new| new.steps[0].recorded_output = Some("x".repeat(MAX_PAYLOAD + 1))),
            ("inputLogic", |new| new.steps[0].edits.input_logic = Some("x".repeat(MAX_PAYLOAD + 1))),
            ("the step 0 is there twice", |new| new.steps[1].index = 0),
            ("steps", |new| {
                let step = new.steps[0].clone();
                new.steps = (0..=10_000).map(|index| ScenarioStep { index, ..step.clone() }).collect();
            }),
            ("together", |new| {
                let large =
                    ScenarioStep { recorded_output: Some("x".repeat(MAX_PAYLOAD)), ..new.steps[0].clone() };
                new.steps = (0..17).map(|index| ScenarioStep { index, ..large.clone() }).collect();
            }),
        ];
        for (what, change) in refused {
            let mut new = common::scenario("p", &[]);
            assert!(scenario(&new).is_ok());
            change(&mut new);
            let error = scenario(&new).unwrap_err();
            assert!(matches!(&error, StoreError::Refused(why) if why.contains(what)), "{what}: {error}");
        }
    }
}
