//! Out of the hub and into it: a scenario as one JSON object. One that comes in is its importer's, at L0 and not approved; runs here have to
//! agree before it runs.

use super::load::{self, take_apart};
use super::{scenario_id, standing};
use crate::guard::Caller;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_calc::Stored;
use bir_calc::carry::Exported;
use bir_calc::level::{Event, Standing};
use bir_calc::stored::trust;
use bir_model::ScenarioId;
use bir_model::scenario::{Level, ScenarioState};
use bir_store::StoreError;
use bir_store::model::{NewScenario, Page, PutAs, ScenarioFilter, View};
use http::StatusCode;

/// Scenarios of the same calls and project that are looked at for one that is the same.
const LOOKED: u32 = 50;
/// Why one that came in does not run.
const REASON: &str =
    "imported: what it did elsewhere counts for nothing here; two runs here that agree let it read";

/// `GET /scenarios/:id/export`.
pub(crate) async fn export(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let whole = load::whole(&state, &caller.view(), scenario_id(&id)?).await?;
    let row = whole.row();
    json::ok(&Exported::of(whole.ready()?, row.project.clone(), row.cwd.clone()))
}

/// `POST /scenarios/import`.
pub(crate) async fn import(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.scenarios.run_bytes, limits.body_idle).await?;
    let exported: Exported = json::parse(&bytes)?;
    let (project, cwd) = (exported.project.clone(), exported.cwd.clone());
    let taken = tokio::task::spawn_blocking(move || exported.taken()).await.map_err(|error| {
        tracing::error!(%error, "an import failed");
        Problem::new(Code::Internal, "the scenario could not be read; the hub's log says why")
    })?;
    let stored =
        taken.map_err(|why| Problem::new(Code::Invalid, format!("the scenario is not taken in: {why}")))?;
    let who = caller.view();
    let _turn = state.work.turn(who.tenant).await;
    if let Some(id) = same(&state, &who, &stored, project.as_deref()).await? {
        return json::ok(&load::view(&load::whole(&state, &who, id).await?));
    }
    let new = new(&stored, project, cwd)?;
    let put = state.store.put_scenario(&who, &new, PutAs::New).await?;
    let put = put.ok_or_else(|| Problem::not_found("scenario"))?;
    state.matchers.changed(&state, &who);
    tracing::info!(target: "scenarios", scenario = %put.id, steps = new.steps.len(), "a scenario was imported");
    json::answer(StatusCode::CREATED, &load::view(&load::whole(&state, &who, put.id).await?))
}

/// One that is there already and does the same.
async fn same(
    state: &State,
    who: &View,
    stored: &Stored,
    project: Option<&str>,
) -> Result<Option<ScenarioId>, StoreError> {
    let filter = ScenarioFilter {
        state: Some(ScenarioState::Ready),
        project: project.map(str::to_owned),
        family: Some(stored.family.clone()),
    };
    let found = state.store.scenarios(who, &filter, &Page { limit: LOOKED, cursor: None }).await?;
    for row in found.scenarios.iter().filter(|row| row.project.as_deref() == project) {
        let Some(whole) = load::find(state, who, row.id).await? else { continue };
        if whole.stored.is_some_and(|other| other.plan == stored.plan && other.wording == stored.wording) {
            return Ok(Some(row.id));
        }
    }
    Ok(None)
}

fn new(stored: &Stored, project: Option<String>, cwd: Option<String>) -> Result<NewScenario, StoreError> {
    let bodies = stored.steps.iter().map(|step| &step.edits);
    let edited = bodies.into_iter().any(|edits| edits.input_logic.is_some() || edits.output_logic.is_some());
    let stands = match edited {
        true => Standing::new(0).after(Event::Edited { forced: true }),
        false => Standing::new(0),
    };
    let (plan, steps) = take_apart(stored)?;
    Ok(NewScenario {
        // Its runs are elsewhere.
        source_run: None,
        family: stored.family.clone(),
        project,
        cwd,
        prompt: stored.plan.prompt.clone(),
        intent: Some(stored.intent.clone()),
        state: ScenarioState::Ready,
        reason: None,
        plan: Some(plan),
        level: Level::L0,
        level_reason: Some(REASON.to_owned()),
        standing: Some(standing::text(&stands)?),
        confidence: trust(stored.confidence()),
        approved: false,
        calculated_from: 0,
        steps,
        runs: Vec::new(),
    })
}
