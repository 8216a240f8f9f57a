//! From a run that ended to a scenario: with those that call the same, or of its own.
//!
//! ```text
//!  run ─▶ scenarios of the same family and project, each with its own runs ─▶ calculated together ─▶ agrees: in its place
//!                                                                                                 └▶ none does: a new one
//! ```

use super::load::{self, Whole, standing, take_apart};
use super::{logic, scenario_id};
use crate::guard::Caller;
use crate::problem::{Code, Problem};
use crate::recordings::run_id;
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_calc::calculate::{Calculated, Unusable, calculate};
use bir_calc::level::{Event, Standing};
use bir_calc::predict::{Prediction, predict};
use bir_calc::stored::{effect, trust};
use bir_calc::trace::{Recorded, Tools};
use bir_model::record::{EndReason, Record, RunStart, Step};
use bir_model::scenario::{CalculateAsk, Effect, Level, ScenarioState, Trust};
use bir_model::{RunId, ScenarioId};
use bir_store::StoreError;
use bir_store::model::{
    NewScenario, Page, PutAs, RunRole, RunSummary, ScenarioChange, ScenarioFilter, ScenarioRun, View,
};
use std::collections::HashSet;
use std::time::Instant;

/// Rows of one part of a run.
const PART: u32 = 500;
/// Scenarios of the same family that a run is tried with.
const RELATED: u32 = 8;
/// Runs of a scenario that are looked at for those that it is calculated from.
const LOOKED: u32 = 100;
/// Executions that are looked at for when a level was last taken away.
const TOLD: u32 = 100;
/// A scenario that is changed meanwhile is calculated again, so often.
const TRIES: u32 = 3;

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It may work later.
    Later(String),
    /// The caller is told.
    Problem(Problem),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::Later(why),
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

/// A run, read; or why not.
enum Read {
    Run(Box<Recorded>),
    Gone,
    Unusable { start: Box<RunStart>, why: String },
}

async fn read(state: &State, who: &View, run: RunId) -> Result<Read, StoreError> {
    let limits = &state.settings.limits.scenarios;
    let (mut start, mut rows, mut answer) = (None::<RunStart>, Vec::<Step>::new(), None::<String>);
    let (mut bytes, mut after) = (0_usize, None);
    let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    loop {
        let part = state.store.records(who, run, after, PART).await?;
        let mut read = 0;
        for record in part {
            match record {
                Record::Run(run) => start = Some(run),
                Record::Step(step) => {
                    read += 1;
                    after = Some(step.step_index);
                    bytes += size(&step.tool_input) + size(&step.tool_output) + size(&step.context);
                    rows.push(step);
                }
                Record::Final(text) => {
                    read += 1;
                    after = Some(text.step_index);
                    answer = Some(text.answer);
                }
                Record::Finish(finish) => answer = finish.final_output.or(answer),
                Record::Lost(_) => {}
            }
        }
        let Some(start) = &start else { return Ok(Read::Gone) };
        let calls = rows.len() / 2;
        let why = if calls > limits.calls as usize {
            Some(format!("the run has more than {} calls", limits.calls))
        } else if bytes > limits.run_bytes {
            Some(format!("the run holds more than {} MiB of inputs and results", limits.run_bytes >> 20))
        } else {
            None
        };
        if let Some(why) = why {
            return Ok(Read::Unusable { start: Box::new(start.clone()), why });
        }
        if read < PART {
            let recorded = Recorded::read(start, &rows, answer.as_deref(), &Tools::default());
            return Ok(Read::Run(Box::new(recorded)));
        }
    }
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

/// The runs that a scenario is calculated from, the oldest first, its own first run before all.
async fn runs_of(state: &State, who: &View, whole: &Whole) -> Result<Vec<ScenarioRun>, StoreError> {
    let page = Page { limit: LOOKED, cursor: None };
    let mut runs = state.store.scenario_runs(who, whole.id(), &page).await?.runs;
    runs.retain(|run| run.role != RunRole::Replayed && !run.gone && run.ended_at.is_some());
    // The newest are the ones that come first.
    let first = runs.iter().position(|run| Some(run.run) == whole.row().source_run);
    let mut source = first.map(|at| runs.remove(at));
    runs.truncate(state.settings.limits.scenarios.together.saturating_sub(1).max(1));
    if source.is_none()
        && let Some(run) = whole.row().source_run
        && let Some(detail) = state.store.run(who, run).await?
    {
        let (started_at, ended_at) = (detail.summary.started_at, detail.summary.ended_at);
        source = Some(ScenarioRun {
            run,
            role: RunRole::Source,
            gone: false,
            started_at,
            ended_at,
            metrics: None,
        });
    }
    runs.extend(source);
    runs.reverse();
    runs.sort_by_key(|run| run.role != RunRole::Source);
    Ok(runs)
}

/// When a level was last taken away, as far as executions tell it; 0: never.
async fn demoted_at(state: &State, who: &View, id: ScenarioId) -> Result<u64, StoreError> {
    let page = Page { limit: TOLD, cursor: None };
    let told = state.store.executions(who, Some(id), &page).await?.executions;
    Ok(told
        .iter()
        .find(|one| super::executions::demotes(&one.report).is_some())
        .map_or(0, |one| one.claimed_at))
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

/// What is kept of a calculation.
fn kept(
    calculated: &Calculated,
    first: &Recorded,
    before: Option<(&Whole, Standing)>,
    runs: Vec<(RunId, RunRole)>,
) -> Result<NewScenario, StoreError> {
    let mut stored = calculated.stored.clone();
    let standing = before.map_or(calculated.standing, |(_, standing)| standing);
    (stored.level, stored.level_reason) = (standing.level, standing.reason().to_owned());
    let (plan, steps) = take_apart(&stored)?;
    // What was approved was approved for the writes that it makes.
    let approved =
        before.is_some_and(|(whole, _)| whole.row().approved_at.is_some() && same_writes(whole, calculated));
    let row = before.map(|(whole, _)| whole.row());
    Ok(NewScenario {
        source_run: row.map_or(Some(first.run), |row| row.source_run.or(Some(first.run))),
        family: stored.family.clone(),
        project: first.project.clone(),
        cwd: first.cwd.clone(),
        prompt: stored.plan.prompt.clone(),
        intent: Some(stored.intent.clone()),
        state: ScenarioState::Ready,
        reason: None,
        level: standing.level,
        level_reason: Some(stored.level_reason.clone()),
        confidence: trust(stored.confidence()),
        calculated_from: count(calculated.agreeing.len()),
        plan: Some(plan),
        approved,
        steps,
        runs,
    })
}

/// Whether the writes are given what they were given before.
fn same_writes(whole: &Whole, calculated: &Calculated) -> bool {
    let Some(before) = &whole.stored else { return false };
    let writes = |stored: &bir_calc::Stored| {
        let steps = stored.plan.steps.iter().enumerate();
        steps
            .filter(|(_, step)| effect(step.effect) != Effect::Read)
            .map(|(n, step)| (n, step.clone()))
            .collect::<Vec<_>>()
    };
    writes(before) == writes(&calculated.stored)
}

/// How far a scenario runs after it was calculated anew.
async fn stands(
    state: &State,
    who: &View,
    whole: &Whole,
    calculated: &Calculated,
    runs: &[ScenarioRun],
    new: Option<RunId>,
) -> Result<Standing, StoreError> {
    let since = demoted_at(state, who, whole.id()).await?;
    let fresh = runs.iter().filter(|run| calculated.agreeing.contains(&run.run) && run.started_at > since);
    let agreeing = count(fresh.count() + usize::from(new.is_some()));
    let same = whole.stored.as_ref().is_some_and(|stored| stored.plan.steps == calculated.stored.plan.steps);
    let before = standing(whole.row(), agreeing.saturating_sub(u32::from(new.is_some())));
    Ok(match (same, new) {
        (true, Some(_)) => before.after(Event::RunAgreed),
        (true, None) => before,
        (false, _) => before.after(Event::Changed { agreeing }),
    })
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
    for row in related.scenarios.iter().filter(|row| row.project == new.project) {
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
    put(state, who, &scenario, PutAs::New).await
}

fn start_of(run: &Recorded) -> RunStart {
    RunStart {
        id: run.run,
        tier: bir_model::Tier::Standalone,
        framework: None,
        input: Some(run.trace.prompt.clone()),
        started_at: 0,
        project: run.project.clone(),
        host: None,
        servers: Vec::new(),
        session_id: None,
        metadata: run.cwd.iter().map(|cwd| ("cwd".to_owned(), cwd.clone().into())).collect(),
    }
}

async fn put(state: &State, who: &View, scenario: &NewScenario, put_as: PutAs) -> Result<Done, Fault> {
    match state.store.put_scenario(who, scenario, put_as).await {
        Ok(Some(put)) => {
            state.matchers.changed(state, who);
            tracing::info!(
                target: "scenarios",
                scenario = %put.id,
                revision = put.revision,
                state = %scenario.state,
                steps = scenario.steps.len(),
                runs = scenario.calculated_from,
                level = %scenario.level,
                "a scenario was calculated"
            );
            Ok(match scenario.state {
                ScenarioState::Unusable => Done::Unusable(put.id),
                _ => Done::Ready(put.id),
            })
        }
        Ok(None) => Ok(Done::Passed),
        // Another process was faster.
        Err(StoreError::Taken { scenario, .. }) => Ok(Done::Ready(scenario)),
        Err(error) => Err(error.into()),
    }
}

/// Nothing can be had of a run: that is kept, so that nobody tries again, and its owner sees why.
async fn unusable(
    state: &State,
    who: &View,
    start: &RunStart,
    family: String,
    why: &str,
) -> Result<Done, Fault> {
    let cwd = start.metadata.get("cwd").and_then(serde_json::Value::as_str).map(str::to_owned);
    let scenario = NewScenario {
        source_run: Some(start.id),
        family,
        project: start.project.clone(),
        cwd,
        prompt: start.input.clone().unwrap_or_default(),
        intent: None,
        state: ScenarioState::Unusable,
        reason: Some(why.to_owned()),
        plan: None,
        level: Level::L0,
        level_reason: None,
        confidence: Trust::None,
        approved: false,
        calculated_from: 0,
        steps: Vec::new(),
        runs: vec![(start.id, RunRole::Source)],
    };
    put(state, who, &scenario, PutAs::New).await
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
        let runs = runs_of(state, who, &whole).await?;
        let mut recorded = Vec::new();
        for run in runs.iter().filter(|run| run.run != new.run) {
            if let Read::Run(run) = read(state, who, run.run).await? {
                recorded.push(*run);
            }
        }
        if recorded.is_empty() {
            return Ok(None);
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

/// Takes a level away.
pub(crate) async fn demote(
    state: &State,
    who: &View,
    row: &bir_store::model::ScenarioSummary,
    event: Event,
    why: &str,
) -> Result<(), StoreError> {
    let after = standing(row, 0).after(event);
    if after.level >= row.level {
        return Ok(());
    }
    let reason = format!("{why}; {}", after.reason());
    let change = ScenarioChange {
        level: Some((after.level, Some(reason))),
        only_from: Some(row.level),
        approved: None,
    };
    state.store.change_scenario(who, row.id, &change).await?;
    tracing::warn!(target: "scenarios", scenario = %row.id, from = %row.level, to = %after.level, why, "a level was taken away");
    Ok(())
}

/// Calculates a scenario again from its runs.
async fn anew(state: &State, who: &View, id: ScenarioId, discard: bool) -> Result<(), Fault> {
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

async fn asked(state: &State, body: Body) -> Result<CalculateAsk, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    if bytes.trim_ascii().is_empty() { Ok(CalculateAsk::default()) } else { json::parse(&bytes) }
}

/// `POST /recordings/runs/:id/calculate`.
pub(crate) async fn run(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let run = run_id(&id)?;
    let ask = asked(&state, body).await?;
    let who = caller.view();
    let detail = state.store.run(&who, run).await?.filter(|run| run.summary.user == who.user);
    let summary = detail.ok_or_else(|| Problem::not_found("run"))?.summary;
    let _turn = state.work.turn(who.tenant).await;
    let belongs = state.store.scenarios_of_runs(&who, &[run]).await?.into_iter().next();
    if let Some(known) = belongs {
        if known.role == RunRole::Replayed && ask.force {
            let detail =
                "a scenario ran in this run, so that it says nothing new; recalculate the scenario instead";
            return Err(Problem::new(Code::Conflict, detail));
        }
        if ask.force {
            anew(&state, &who, known.scenario.id, ask.discard_edits).await?;
        }
        return json::ok(&load::view(&load::whole(&state, &who, known.scenario.id).await?));
    }
    if !is_for_it(&summary) {
        return Err(Problem::new(Code::Invalid, unfit(&summary)));
    }
    match of_run(&state, &who, run, Cause::Asked).await? {
        Done::Ready(id) | Done::Unusable(id) => json::ok(&load::view(&load::whole(&state, &who, id).await?)),
        Done::Passed => Err(Problem::not_found("run")),
    }
}

/// Why a run is none that is calculated.
fn unfit(run: &RunSummary) -> &'static str {
    if run.ended_at.is_none() {
        "the run goes on; it is calculated when it has ended"
    } else if run.lossy || run.end_reason == Some(EndReason::Abandoned) {
        "something of the run was lost, and nothing is concluded from what is left"
    } else if run.calls == 0 {
        "the run made no call, so there is nothing to run again"
    } else {
        "the run has no prompt, so no other prompt can ask for the same"
    }
}

/// `POST /scenarios/:id/recalculate`.
pub(crate) async fn again(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let id = scenario_id(&id)?;
    let ask = asked(&state, body).await?;
    let who = caller.view();
    let _turn = state.work.turn(who.tenant).await;
    anew(&state, &who, id, ask.discard_edits).await?;
    json::ok(&load::view(&load::whole(&state, &who, id).await?))
}
