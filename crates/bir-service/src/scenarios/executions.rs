//! What became of executions, and what they saved (seed 02 §11).
//!
//! A report is booked once under its ticket. `not_steered` and `failed` are samples of what the task costs when the model does it; the others
//! are rows of the ledger. A failed guard or step takes a level away at once.

use super::calculate::demote;
use super::{help, load, scenario_id};
use crate::guard::Caller;
use crate::problem::{Code, Problem};
use crate::query::Params;
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_calc::book::{Entry, Sample, ledger};
use bir_calc::level::Event;
use bir_model::scenario::{ExecutionBooked, ExecutionReport, Outcome, Saving, Stage, StepVerdict};
use bir_model::{RunId, ScenarioId, TicketId, TurnTokens, Usd};
use bir_store::StoreError;
use bir_store::model::{BaselineSample, Execution, Page, Redeemed, RunRole, ScenarioRun, View};
use http::{StatusCode, Uri};
use serde::Serialize;

/// Executions that a saving is the sum of, the newest, in parts of so many.
const PART: u32 = 500;
const PARTS: usize = 20;
/// Samples of the baseline.
const SAMPLES: u32 = 500;

/// Whether a report takes a level away, and what happened.
pub(crate) fn demotes(report: &ExecutionReport) -> Option<Event> {
    let own = |stage: Stage| !matches!(stage, Stage::Call | Stage::Derive);
    if report.steps.iter().any(|step| step.status == StepVerdict::Failed && step.stage.is_none_or(own)) {
        return Some(Event::StepFailed);
    }
    let handed = matches!(report.outcome, Outcome::FellBack | Outcome::Failed);
    (handed && report.error_stage.is_some_and(own)).then_some(Event::GuardFailed)
}

fn fits(report: &ExecutionReport) -> Result<(), Problem> {
    let costs = [report.derive_cost_usd, report.session_cost_usd, report.fallback_cost_usd];
    if costs.iter().any(|cost| *cost < Usd::ZERO) {
        return Err(Problem::new(Code::Invalid, "a cost is less than 0"));
    }
    if [report.tokens, report.duration_ms].iter().any(|number| i64::try_from(*number).is_err()) {
        return Err(Problem::new(Code::Invalid, "`tokens` and `durationMs`: expected numbers below 2^63"));
    }
    Ok(())
}

/// `POST /scenarios/:id/executions`.
pub(crate) async fn take(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let (who, id) = (caller.view(), scenario_id(&id)?);
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let mut report: ExecutionReport = json::parse(&bytes)?;
    report.blame_first_failed_step();
    fits(&report)?;
    let Some(detail) = state.store.scenario(&who, id).await? else {
        return Err(Problem::not_found("scenario"));
    };
    let booked = |recorded, duplicate, saving| ExecutionBooked { recorded, duplicate, saving };
    if !report.says_something() {
        state.metrics.executed("nothing", report.outcome);
        return json::answer(StatusCode::ACCEPTED, &booked(false, false, None));
    }
    match state.store.redeem(&who, id, &report).await? {
        Redeemed::Unknown => Err(Problem::new(
            Code::NotFound,
            "there is no such ticket of this scenario, or it has waited for more than 7 days; leave `ticket` out to book the execution without one",
        )),
        Redeemed::Duplicate => {
            state.metrics.executed("duplicate", report.outcome);
            json::ok(&booked(false, true, None))
        }
        Redeemed::Booked { ticket, run } => {
            state.metrics.executed("booked", report.outcome);
            tracing::info!(
                target: "executions",
                scenario = %id,
                ticket = %ticket,
                outcome = %report.outcome,
                planned = report.steps_planned,
                pinned = report.steps_pinned,
                measured = report.measured,
                "an execution was booked"
            );
            // The report is booked. What follows is worth a word in the log where it cannot be had, and no second report.
            if let Err(error) = follow(&state, &who, &detail.summary, run, &report).await {
                tracing::warn!(%error, scenario = %id, "what an execution means could not be noted");
            }
            let saving = saving(&state, &who, id).await.inspect_err(|error| {
                tracing::warn!(%error, scenario = %id, "a saving cannot be told");
            });
            json::answer(StatusCode::CREATED, &booked(true, false, saving.ok()))
        }
    }
}

/// What a report means for its run and for the level.
async fn follow(
    state: &State,
    who: &View,
    row: &bir_store::model::ScenarioSummary,
    run: Option<RunId>,
    report: &ExecutionReport,
) -> Result<(), StoreError> {
    let replayed = !report.outcome.is_baseline();
    if let Some(run) = run {
        let role = if replayed { RunRole::Replayed } else { RunRole::Baseline };
        match state.store.add_scenario_run(who, row.id, run, role).await {
            Ok(_) | Err(StoreError::Taken { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(run) = run.filter(|_| !replayed) {
        state.work.settled(state, who, run);
    }
    if let Some(event) = demotes(report) {
        let why = match event {
            Event::StepFailed => "a step of its own logic failed",
            _ => "a guard failed",
        };
        demote(state, who, row, event, why).await?;
    }
    Ok(())
}

/// A turn that the model did by itself, as its run tells it.
fn of_run(state: &State, run: &ScenarioRun) -> Option<Sample> {
    let turn: TurnTokens = serde_json::from_value(run.metrics.clone()?).ok()?;
    let took = run.ended_at?.saturating_sub(run.started_at);
    Some(Sample::of_turn(run.started_at, took, &turn, &state.prices))
}

/// What a scenario saved, at least.
async fn saving(state: &State, who: &View, id: ScenarioId) -> Result<Saving, StoreError> {
    let samples = state.store.baseline(who, id, SAMPLES).await?;
    let samples: Vec<Sample> = samples
        .iter()
        .filter_map(|sample| match sample {
            BaselineSample::Run(run) => of_run(state, run),
            BaselineSample::Execution(one) => Sample::of_report(one.claimed_at, &one.report),
        })
        .collect();
    let (mut entries, mut cursor, mut unknown) = (Vec::new(), None, 0_u32);
    for _ in 0..PARTS {
        let part = state.store.executions(who, Some(id), &Page { limit: PART, cursor }).await?;
        entries.extend(part.executions.iter().map(|one| Entry::of_report(&one.report)));
        let questions = part.executions.iter().filter(|one| help::is_unknown(&one.report)).count();
        unknown = unknown.saturating_add(u32::try_from(questions).unwrap_or(u32::MAX));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    let mut saving = ledger(&samples, &entries, &state.prices.version);
    // Nothing executed, and something was spent that nobody knows.
    saving.unmeasured = saving.unmeasured.saturating_add(unknown);
    Ok(saving)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    execution_id: TicketId,
    scenario_id: ScenarioId,
    run_id: Option<RunId>,
    issued_at: u64,
    claimed_at: u64,
    #[serde(flatten)]
    report: ExecutionReport,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ledger {
    executions: Vec<Told>,
    next: Option<String>,
    saving: Saving,
}

impl From<Execution> for Told {
    fn from(one: Execution) -> Self {
        Self {
            execution_id: one.id,
            scenario_id: one.scenario,
            run_id: one.run,
            issued_at: one.issued_at,
            claimed_at: one.claimed_at,
            report: one.report,
        }
    }
}

#[derive(Serialize)]
struct Executions {
    executions: Vec<Told>,
    next: Option<String>,
}

/// `GET /scenarios/executions`.
pub(crate) async fn of_all(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let page = params.page()?;
    params.end()?;
    let found = state.store.executions(&caller.view(), None, &page).await?;
    let executions = found.executions.into_iter().map(Told::from).collect();
    json::ok(&Executions { executions, next: found.next })
}

/// `GET /scenarios/:id/executions`.
pub(crate) async fn list(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (who, id) = (caller.view(), scenario_id(&id)?);
    let mut params = Params::of(&uri)?;
    let page = params.page()?;
    params.end()?;
    load::there(&state, &who, id).await?;
    let found = state.store.executions(&who, Some(id), &page).await?;
    let executions = found.executions.into_iter().map(Told::from).collect();
    json::ok(&Ledger { executions, next: found.next, saving: saving(&state, &who, id).await? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(more: serde_json::Value) -> ExecutionReport {
        let mut report = json!({"outcome": "fell_back"});
        report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(report).unwrap()
    }

    #[test]
    fn its_own_logic_takes_a_level_away_and_the_world_does_not() {
        let failed = |stage: &str| json!({"steps": [{"stepIndex": 0, "status": "failed", "stage": stage}]});
        assert_eq!(demotes(&report(failed("input_logic"))), Some(Event::StepFailed));
        assert_eq!(demotes(&report(failed("output_logic"))), Some(Event::StepFailed));
        assert_eq!(demotes(&report(failed("call"))), None);
        let skipped = json!({"steps": [{"stepIndex": 0, "status": "skipped", "stage": "call"}]});
        assert_eq!(demotes(&report(skipped)), None);
        assert_eq!(demotes(&report(json!({"errorStage": "input_logic"}))), Some(Event::GuardFailed));
        assert_eq!(demotes(&report(json!({"errorStage": "call"}))), None);
        assert_eq!(demotes(&report(json!({"outcome": "steered_full"}))), None);
        assert_eq!(demotes(&report(json!({"outcome": "not_steered"}))), None);
    }
}
