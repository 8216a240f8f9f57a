//! The routes that calculate: a run, and a scenario again.

use super::super::{load, scenario_id};
use super::again::anew;
use super::{Cause, Done, is_for_it, of_run};
use crate::guard::Caller;
use crate::problem::{Code, Problem};
use crate::recordings::run_id;
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_model::record::EndReason;
use bir_model::scenario::CalculateAsk;
use bir_store::model::{RunRole, RunSummary};

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
        "the run goes on; it is calculated when it has ended, or ask again then"
    } else if run.lossy || run.end_reason == Some(EndReason::Abandoned) {
        "something of the run was lost, and nothing is concluded from what is left; calculate another run of the task"
    } else if run.calls == 0 {
        "the run made no call, so there is nothing to run again; calculate a run that calls a tool"
    } else {
        "the run has no prompt, as one that a proxy saw alone, so no other prompt can ask for the same; calculate a bound run (`bir install` sets the hooks up that tell the prompt) or an imported one"
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
