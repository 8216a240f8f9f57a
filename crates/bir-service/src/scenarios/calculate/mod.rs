//! From a run that ended to a scenario: with those that call the same, or of its own.
//!
//! ```text
//!  run ─▶ scenarios of the same family and project, each with its own runs ─▶ calculated together ─▶ agrees: in its place
//!                                                                                                 └▶ none does: a new one
//! ```
//!
//! `read` is what it begins with, `kept` what it ends with, `level` how far that runs; `propose` asks a model endpoint for what stayed unexplained; `again` and `routes` are for whoever asks.

mod again;
mod kept;
mod level;
mod propose;
mod read;
mod routes;

pub(crate) use level::demote;
pub(crate) use routes::{again, run};

use super::{load, logic};
use crate::problem::{Code, Problem};
use crate::state::State;
use bir_calc::calculate::{Calculated, Unusable, calculate};
use bir_calc::level::Event;
use bir_calc::predict::{Prediction, predict};
use bir_calc::trace::Recorded;
use bir_model::record::EndReason;
use bir_model::scenario::ScenarioState;
use bir_model::{RunId, ScenarioId};
use bir_store::StoreError;
use bir_store::model::{BESIDE, Page, PutAs, RunRole, RunSummary, ScenarioFilter, View};
use kept::{kept, put, start_of, unusable};
use level::stands;
use read::{Read, read, runs_of};
use std::collections::HashSet;
use std::time::Instant;

/// Scenarios of the same family that a run is tried with.
const RELATED: u32 = BESIDE;
/// A scenario that is changed meanwhile is calculated again, so often.
const TRIES: u32 = 3;

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It may work later.
    Later(String),
    /// Another scenario of the same calls was made meanwhile.
    Beside(ScenarioId),
    /// The caller is told.
    Problem(Problem),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::Later(why),
            StoreError::Beside(id) => Self::Beside(id),
            other => Self::Problem(other.into()),
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Problem(problem) => problem,
            Fault::Later(why) => StoreError::Unavailable(why).into(),
            Fault::Beside(id) => StoreError::Beside(id).into(),
        }
    }
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// It has a scenario of its own, or a place in one.
    Ready(ScenarioId),
    /// It has one, and that cannot be run.
    Unusable(ScenarioId),
    /// It is not for calculation: it goes on, lost something, asked nothing, a scenario ran in it, or what was had of it was deleted.
    Passed,
}

/// Why a run is calculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It ended, or a round found it.
    Itself,
    /// Its owner asked for it.
    Asked,
}

/// Whether a run is one that is calculated.
pub(crate) fn is_for_it(run: &RunSummary) -> bool {
    run.ended_at.is_some()
        && run.end_reason != Some(EndReason::Abandoned)
        && !run.lossy
        && run.calls > 0
        && run.input.as_deref().is_some_and(|input| !input.trim().is_empty())
}

/// Calculates runs, the first of which is the pattern.
async fn infer(state: &State, runs: Vec<Recorded>) -> Result<Result<Calculated, Unusable>, Fault> {
    let worker = match state.sandboxes.calculations.is_there() {
        true => Some(state.sandboxes.calculations.take().await?),
        false => None,
    };
    let (ms, budget) = (logic::body_ms(state), state.settings.limits.scenarios.calculation);
    let began = Instant::now();
    let calculating = tokio::task::spawn_blocking(move || {
        calculate(runs, worker.as_ref().and_then(|worker| worker.sandbox()), ms, budget)
    });
    let calculated = calculating.await.map_err(|error| {
        tracing::error!(%error, "a calculation failed");
        Fault::Problem(Problem::new(Code::Internal, "the calculation failed; the hub's log says why"))
    })?;
    let outcome = match &calculated {
        Ok(_) => "ready",
        Err(unusable) => unusable.code.as_str(),
    };
    state.metrics.calculated(outcome, began.elapsed());
    match calculated {
        Err(unusable) if unusable.code.is_passing() => Err(Fault::Later(unusable.why)),
        other => Ok(other),
    }
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

/// Calculates a run. What its owner deleted is calculated again only for whoever asks.
pub(crate) async fn of_run(state: &State, who: &View, run: RunId, cause: Cause) -> Result<Done, Fault> {
    let Some(detail) = state.store.run(who, run).await? else { return Ok(Done::Passed) };
    // An administrator's view of others' runs is not used here.
    if detail.summary.user != who.user || !is_for_it(&detail.summary) {
        return Ok(Done::Passed);
    }
    let belongs = state.store.scenarios_of_runs(who, &[run]).await?.into_iter().next();
    match belongs {
        None if cause == Cause::Itself && state.store.is_dismissed(who, run).await? => Ok(Done::Passed),
        None => fresh(state, who, run).await,
        Some(known) => match known.role {
            // The model did by itself what matched: a further example.
            RunRole::Baseline if known.scenario.state == ScenarioState::Ready => {
                further(state, who, known.scenario.id, run).await
            }
            _ if known.scenario.state == ScenarioState::Unusable => Ok(Done::Unusable(known.scenario.id)),
            _ => Ok(Done::Ready(known.scenario.id)),
        },
    }
}

/// A run that belongs to no scenario.
async fn fresh(state: &State, who: &View, run: RunId) -> Result<Done, Fault> {
    let new = match read(state, who, run).await? {
        Read::Run(new) => new,
        Read::Gone => return Ok(Done::Passed),
        Read::Unusable { start, why } => return unusable(state, who, &start, String::new(), &why).await,
    };
    let filter = ScenarioFilter {
        state: Some(ScenarioState::Ready),
        project: new.project.clone(),
        family: Some(new.family()),
    };
    let page = Page { limit: RELATED, cursor: None };
    let related = state.store.scenarios(who, &filter, &page).await?;
    let mut seen = Vec::new();
    for row in related.scenarios.iter().filter(|row| row.project == new.project) {
        seen.push(row.id);
        if let Some(id) = joined(state, who, row.id, &new).await? {
            return Ok(Done::Ready(id));
        }
    }
    let calculated = match infer(state, vec![(*new).clone()]).await? {
        Ok(calculated) => calculated,
        Err(reason) => {
            let start = start_of(&new);
            return unusable(state, who, &start, new.family(), &reason.why).await;
        }
    };
    let scenario = kept(&calculated, &new, None, vec![(run, RunRole::Source)])?;
    // Another replica may have made the scenario of this task meanwhile; then the run is tried with that one.
    for _ in 0..RELATED {
        match put(state, who, &scenario, PutAs::Beside { seen: seen.clone() }).await {
            Err(Fault::Beside(id)) => {
                seen.push(id);
                if let Some(id) = joined(state, who, id, &new).await? {
                    return Ok(Done::Ready(id));
                }
            }
            done => return done,
        }
    }
    Err(Fault::Later("scenarios of the same calls are made all the time".into()))
}

/// Tries a run with a scenario that calls the same. None: it is another task.
async fn joined(
    state: &State,
    who: &View,
    id: ScenarioId,
    new: &Recorded,
) -> Result<Option<ScenarioId>, Fault> {
    for _ in 0..TRIES {
        let Some(whole) = load::find(state, who, id).await? else { return Ok(None) };
        if whole.stored.as_ref().is_some_and(|stored| !stored.fits(new)) {
            return Ok(None);
        }
        let runs = runs_of(state, who, &whole).await?;
        let mut recorded = Vec::new();
        for run in runs.iter().filter(|run| run.run != new.run) {
            if let Read::Run(run) = read(state, who, run.run).await? {
                recorded.push(*run);
            }
        }
        if recorded.is_empty() {
            // It was imported, or its runs are deleted: then it is asked whether it would have done the same.
            return foretold(state, who, &whole, new).await;
        }
        let before: HashSet<RunId> = recorded.iter().map(|run| run.run).collect();
        let first = recorded[0].clone();
        recorded.push(new.clone());
        let Ok(calculated) = infer(state, recorded).await? else { return Ok(None) };
        if !calculated.agreeing.contains(&new.run) {
            return Ok(None);
        }
        // As many of the earlier ones as agreed before agree now.
        let held = calculated.agreeing.iter().filter(|run| before.contains(run)).count();
        if held < before.len().min(whole.row().calculated_from as usize) {
            return Ok(None);
        }
        if whole.has_edits() {
            // Nobody's changes are calculated over; the run is an example for the day on which they are given up.
            let added = state.store.add_scenario_run(who, id, new.run, RunRole::Example).await?;
            return Ok(added.then_some(id));
        }
        let standing = stands(state, who, &whole, &calculated, &runs, Some(new.run)).await?;
        let role = match runs.iter().find(|run| run.run == new.run) {
            Some(run) => run.role,
            None => RunRole::Example,
        };
        let scenario = kept(&calculated, &first, Some((&whole, standing)), vec![(new.run, role)])?;
        let put_as = PutAs::Instead { scenario: id, expected_revision: whole.row().revision };
        match put(state, who, &scenario, put_as).await {
            Ok(Done::Ready(id)) => return Ok(Some(id)),
            Ok(_) => return Ok(None),
            Err(Fault::Problem(problem)) if problem.code == Code::RevisionConflict => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(Fault::Later("the scenario is changed all the time".into()))
}

/// Whether a scenario without runs would have done what the model did; then the run belongs to it.
async fn foretold(
    state: &State,
    who: &View,
    whole: &load::Whole,
    new: &Recorded,
) -> Result<Option<ScenarioId>, Fault> {
    let Some(stored) = whole.stored.clone() else { return Ok(None) };
    let run = new.clone();
    let foretold = logic::with(state, stored, move |stored, logic| predict(stored, &run, logic)).await?;
    if foretold != Prediction::True {
        return Ok(None);
    }
    let added = state.store.add_scenario_run(who, whole.id(), new.run, RunRole::Example).await?;
    Ok(added.then_some(whole.id()))
}

/// A run in which the model did by itself what a scenario would have done.
async fn further(state: &State, who: &View, id: ScenarioId, run: RunId) -> Result<Done, Fault> {
    let Read::Run(new) = read(state, who, run).await? else { return Ok(Done::Ready(id)) };
    if joined(state, who, id, &new).await?.is_some() {
        return Ok(Done::Ready(id));
    }
    // It asked for the same: did it do what the scenario would have done?
    let Some(whole) = load::find(state, who, id).await? else { return Ok(Done::Ready(id)) };
    let Some(stored) = whole.stored.clone() else { return Ok(Done::Ready(id)) };
    let foretold = logic::with(state, stored, move |stored, logic| predict(stored, &new, logic)).await?;
    if let Prediction::False { step, .. } = foretold {
        let why = format!("when the model did the task by itself, it did step {step} otherwise");
        demote(state, who, whole.row(), Event::PredictionFalse, &why).await?;
    }
    Ok(Done::Ready(id))
}
