//! Lists, one run, its rows, searching.

use super::run_id;
use crate::guard::Caller;
use crate::json;
use crate::problem::{Code, Problem};
use crate::query::Params;
use crate::scenarios::tools::{Used, used};
use crate::state::State;
use axum::extract::Path;
use axum::response::Response;
use bir_model::record::Step;
use bir_store::model::RunDetail;
use http::Uri;
use serde::Serialize;
use std::time::Instant;

/// Rows of a run in one answer.
const STEPS: u32 = 1_000;
/// Bytes of a text to search for.
const NEEDLE: usize = 1_024;

/// `GET /recordings/runs`.
pub(crate) async fn list(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let (filter, page) = (params.filter()?, params.page()?);
    params.end()?;
    let began = Instant::now();
    let found = state.store.runs(&caller.view(), &filter, &page).await;
    state.metrics.store("runs", began.elapsed());
    json::ok(&found?)
}

#[derive(Serialize)]
struct Whole {
    run: RunDetail,
    steps: Vec<Step>,
    next: Option<u32>,
    /// The tools that these rows call, with what they do.
    tools: Vec<Used>,
}

fn part(uri: &Uri) -> Result<(u32, u32), Problem> {
    let mut params = Params::of(uri)?;
    let from = params.number("from")?.unwrap_or(0);
    let from =
        u32::try_from(from).map_err(|_| Problem::new(Code::BadType, "`from`: expected an index of a row"))?;
    let limit = params.limit(STEPS, STEPS)?;
    params.end()?;
    Ok((from, limit))
}

/// `GET /recordings/runs/:id`.
pub(crate) async fn detail(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (id, (from, limit)) = (run_id(&id)?, part(&uri)?);
    let began = Instant::now();
    let run = state.store.run(&caller.view(), id).await?.ok_or_else(|| Problem::not_found("run"))?;
    let page = state.store.steps(&caller.view(), id, from, limit).await?;
    state.metrics.store("run", began.elapsed());
    let tools = used(&state, &caller.view(), id, &page.steps).await?;
    json::ok(&Whole { run, steps: page.steps, next: page.next, tools })
}

/// `GET /recordings/runs/:id/steps`.
pub(crate) async fn steps(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (id, (from, limit)) = (run_id(&id)?, part(&uri)?);
    let page = state.store.steps(&caller.view(), id, from, limit).await?;
    if page.steps.is_empty() && state.store.run(&caller.view(), id).await?.is_none() {
        return Err(Problem::not_found("run"));
    }
    json::ok(&page)
}

/// `GET /recordings/search`.
pub(crate) async fn search(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::of(&uri)?;
    let text = params.text("q").filter(|q| q.len() <= NEEDLE);
    let text = text.ok_or_else(|| Problem::new(Code::BadType, "`q`: expected a text of 1 to 1024 bytes"))?;
    let (filter, page) = (params.filter()?, params.page()?);
    params.end()?;
    let began = Instant::now();
    let found = state.store.search(&caller.view(), &text, &filter, &page).await;
    state.metrics.store("search", began.elapsed());
    json::ok(&found?)
}
