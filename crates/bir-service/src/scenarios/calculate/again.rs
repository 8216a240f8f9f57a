//! Calculating a scenario again from its runs, because its owner asks.

use super::super::load;
use super::kept::{kept, put};
use super::level::stands;
use super::read::{Read, read, runs_of};
use super::{Done, Fault, TRIES, infer};
use crate::problem::{Code, Problem};
use crate::state::State;
use bir_model::ScenarioId;
use bir_model::scenario::{Level, ScenarioState, Trust};
use bir_store::model::{NewScenario, PutAs, View};

/// Calculates a scenario again from its runs.
pub(super) async fn anew(state: &State, who: &View, id: ScenarioId, discard: bool) -> Result<(), Fault> {
    for _ in 0..TRIES {
        let whole = load::whole(state, who, id).await?;
        if whole.has_edits() && !discard {
            let detail = "steps of the scenario were changed by hand; with `discardEdits` those changes go";
            return Err(Problem::new(Code::ScenarioHasEdits, detail).into());
        }
        let runs = runs_of(state, who, &whole).await?;
        let mut recorded = Vec::new();
        let mut reason = None;
        for run in &runs {
            match read(state, who, run.run).await? {
                Read::Run(run) => recorded.push(*run),
                Read::Gone => {}
                Read::Unusable { why, .. } => reason = Some(why),
            }
        }
        let Some(first) = recorded.first().cloned() else {
            let why = reason.unwrap_or_else(|| "the runs that it was calculated from are deleted".into());
            return Err(Problem::new(Code::Conflict, format!("it cannot be calculated again: {why}")).into());
        };
        let put_as = PutAs::Instead { scenario: id, expected_revision: whole.row().revision };
        let scenario = match infer(state, recorded).await? {
            Ok(calculated) => {
                let standing = stands(state, who, &whole, &calculated, &runs, None).await?;
                kept(&calculated, &first, Some((&whole, standing)), Vec::new())?
            }
            // What ran until now is not lost because a calculation took too long today.
            Err(reason) if whole.stored.is_some() => {
                let detail =
                    format!("nothing can be had of its runs now, and it stays as it is: {}", reason.why);
                return Err(Problem::new(Code::Invalid, detail).into());
            }
            Err(reason) => NewScenario {
                reason: Some(reason.why),
                source_run: whole.row().source_run,
                family: whole.row().family.clone(),
                project: whole.row().project.clone(),
                cwd: whole.row().cwd.clone(),
                prompt: whole.row().prompt.clone(),
                intent: None,
                state: ScenarioState::Unusable,
                plan: None,
                level: Level::L0,
                level_reason: None,
                standing: None,
                confidence: Trust::None,
                approved: false,
                calculated_from: 0,
                steps: Vec::new(),
                runs: Vec::new(),
            },
        };
        match put(state, who, &scenario, put_as).await {
            Ok(Done::Passed) => return Err(Problem::not_found("scenario").into()),
            Ok(_) => return Ok(()),
            Err(Fault::Problem(problem)) if problem.code == Code::RevisionConflict => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(Fault::Later("the scenario is changed all the time".into()))
}
