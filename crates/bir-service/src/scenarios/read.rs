//! Reading: lists, one scenario, that of a run, the history of its changes.

use super::{load, scenario_id};
use crate::guard::Caller;
use crate::json;
use crate::problem::{Code, Problem};
use crate::query::Params;
use crate::recordings::run_id;
use crate::state::State;
use axum::extract::Path;
use axum::response::Response;
use bir_model::ScenarioId;
use bir_model::scenario::EditEntry;
use bir_store::model::{EditRow, Page, ScenarioFilter, View};
use http::Uri;
use serde::Serialize;

/// Changes of one part when all are read, and how many parts.
const PART: u32 = 500;
const PARTS: usize = 20;

/// `GET /scenarios`.
pub(crate) async fn list(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let filter = ScenarioFilter {
        state: params.word("state", "pending, ready or unusable")?,
        project: params.text("project"),
        family: params.text("family"),
    };
    let page = params.page()?;
    params.end()?;
    json::ok(&state.store.scenarios(&caller.view(), &filter, &page).await?)
}

/// `GET /scenarios/:id`.
pub(crate) async fn one(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    json::ok(&load::view(&load::whole(&state, &caller.view(), scenario_id(&id)?).await?))
}

/// `GET /recordings/runs/:id/scenario`.
pub(crate) async fn of_run(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (who, run) = (caller.view(), run_id(&id)?);
    let known = state.store.scenarios_of_runs(&who, &[run]).await?.into_iter().next();
    let known = known.ok_or_else(|| Problem::not_found("scenario of this run"))?;
    json::ok(&load::view(&load::whole(&state, &who, known.scenario.id).await?))
}

/// A change as the routes tell it. Only the owner makes any, so that the name is theirs.
pub(crate) fn entry(row: EditRow, by: &str) -> EditEntry {
    EditEntry {
        edit_id: row.id,
        step_index: row.step_index,
        at: row.at,
        by: Some(by.to_owned()),
        before: row.before,
        after: row.after,
        forced: row.forced,
        note: row.note,
        revision: row.revision,
        takes_back: row.takes_back,
    }
}

#[derive(Serialize)]
struct Entries {
    edits: Vec<EditEntry>,
    next: Option<String>,
}

/// `GET /scenarios/:id/edits`.
pub(crate) async fn edits(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let id = scenario_id(&id)?;
    let mut params = Params::of(&uri)?;
    let page = params.page()?;
    params.end()?;
    let who = caller.view();
    let found = state.store.edits(&who, id, &page).await?;
    if found.edits.is_empty() && state.store.scenario(&who, id).await?.is_none() {
        return Err(Problem::not_found("scenario"));
    }
    let name = &caller.principal.account.name;
    let edits = found.edits.into_iter().map(|row| entry(row, name)).collect();
    json::ok(&Entries { edits, next: found.next })
}

/// The whole history.
pub(crate) async fn history(state: &State, who: &View, id: ScenarioId) -> Result<Vec<EditEntry>, Problem> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PARTS {
        let found = state.store.edits(who, id, &Page { limit: PART, cursor }).await?;
        all.extend(found.edits.into_iter().map(|row| entry(row, "")));
        cursor = found.next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
    Err(Problem::new(
        Code::Conflict,
        "the scenario was changed more than 10,000 times; calculate it again with `discardEdits`",
    ))
}
