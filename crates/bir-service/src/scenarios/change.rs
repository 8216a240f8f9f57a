//! Changing by hand: check, edit, take back, approve, delete (seed 02 §16.5). What `check` says is what a save would do.

use super::{load, logic, read, scenario_id, standing};
use crate::guard::Caller;
use crate::problem::{Code, Problem};
use crate::state::State;
use crate::{body, json};
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bir_calc::edit::{self, Checked, Pick, Refused, Saved};
use bir_calc::level::Event;
use bir_model::EditId;
use bir_model::scenario::{ApproveAsk, EditAsk, EditReport, Edited, UndoAsk};
use bir_store::model::{EditRow, StepEdit, View};
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Bytes of a note.
const NOTE: usize = 4 << 10;

fn refused(refused: Refused) -> Problem {
    let detail = refused.to_string();
    let (code, report) = match refused {
        Refused::NoStep { .. } => return Problem::not_found("step of this scenario"),
        Refused::NoEdit(_) => return Problem::not_found("change of this scenario"),
        Refused::Conflict { .. } => (Code::RevisionConflict, None),
        Refused::NothingToChange => (Code::NothingToChange, None),
        Refused::Contradiction | Refused::NoteNeeded => (Code::Invalid, None),
        Refused::TooLarge(_) => (Code::PayloadTooLarge, None),
        Refused::Problems(report) => (Code::EditRefused, Some(report)),
        Refused::UndoProblems(report) => (Code::UndoRefused, Some(report)),
        Refused::NotUndoable(_) => (Code::Conflict, None),
        Refused::HasEdits => (Code::ScenarioHasEdits, None),
        Refused::SandboxUnavailable(why) => {
            tracing::error!(why, "edited logic cannot be evaluated");
            return logic::unavailable();
        }
    };
    let problem = Problem::new(code, detail);
    match report {
        Some(report) => problem.with("report", json!(report)),
        None => problem,
    }
}

/// A change, read within its size.
async fn asked<T: DeserializeOwned + Default>(state: &State, body: Body) -> Result<T, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.scenarios.edit_bytes, limits.body_idle).await.map_err(|problem| {
        if problem.code == Code::TooLarge {
            Problem { code: Code::PayloadTooLarge, ..problem }
        } else {
            problem
        }
    })?;
    if bytes.trim_ascii().is_empty() { Ok(T::default()) } else { json::parse(&bytes) }
}

fn fits(note: Option<&str>) -> Result<(), Problem> {
    if note.is_some_and(|note| note.len() > NOTE) {
        return Err(Problem::new(Code::Invalid, "`note`: expected at most 4096 bytes"));
    }
    Ok(())
}

fn step_index(text: &str) -> Result<u32, Problem> {
    text.parse().map_err(|_| Problem::not_found("step of this scenario"))
}

/// Runs the one check behind both routes.
async fn examined(state: &State, whole: &load::Whole, step: u32, ask: EditAsk) -> Result<Checked, Problem> {
    let (stored, revision) = (whole.ready()?.clone(), whole.row().revision);
    let checked = logic::check(state, stored, move |stored, checker| {
        edit::check(stored, revision, step as usize, &ask, checker)
    });
    checked.await?.map_err(refused)
}

/// `POST /scenarios/:id/steps/:step/check`.
pub(crate) async fn check(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path((id, step)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Problem> {
    let (id, step) = (scenario_id(&id)?, step_index(&step)?);
    let ask: EditAsk = asked(&state, body).await?;
    let whole = load::whole(&state, &caller.view(), id).await?;
    let checked = examined(&state, &whole, step, ask).await?;
    state.metrics.edited("checked");
    json::ok(&checked.report)
}

/// `PATCH /scenarios/:id/steps/:step`.
pub(crate) async fn edit(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path((id, step)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Problem> {
    let (id, step) = (scenario_id(&id)?, step_index(&step)?);
    let ask: EditAsk = asked(&state, body).await?;
    fits(ask.note.as_deref())?;
    let who = caller.view();
    let whole = load::whole(&state, &who, id).await?;
    let checked = examined(&state, &whole, step, ask.clone()).await?;
    let report = checked.report.clone();
    let saved = edit::save(checked, &ask).map_err(|why| {
        state.metrics.edited("refused");
        refused(why)
    })?;
    let row = save(&state, &who, &whole, step, saved, None).await?;
    state.metrics.edited(if row.forced { "forced" } else { "saved" });
    json::ok(&told(&caller, row, report))
}

fn told(caller: &Caller, row: EditRow, report: EditReport) -> Edited {
    let revision = row.revision;
    Edited { edit: read::entry(row, &caller.principal.account.name), revision, report }
}

/// Keeps a change that was checked.
async fn save(
    state: &State,
    who: &View,
    whole: &load::Whole,
    step: u32,
    saved: Saved,
    takes_back: Option<EditId>,
) -> Result<EditRow, Problem> {
    let id = whole.id();
    let after = saved.after.clone();
    let bodies = saved.before.input_logic != saved.after.input_logic
        || saved.before.output_logic != saved.after.output_logic;
    let edit = StepEdit {
        expected_revision: whole.row().revision,
        after: saved.after,
        forced: saved.forced,
        note: saved.note,
        takes_back,
    };
    let row = state.store.edit_step(who, id, step, &edit).await?;
    let row = row.ok_or_else(|| Problem::not_found("step of this scenario"))?;
    tracing::info!(
        target: "scenarios",
        scenario = %id,
        step,
        edit = %row.id,
        forced = row.forced,
        undo = takes_back.is_some(),
        revision = row.revision,
        "a step was changed by hand"
    );
    if bodies {
        // It was checked against one run; what others showed was shown of something else. As it was calculated, it is what they showed.
        standing::edited(state, who, whole, step, &after, row.forced).await?;
    }
    state.matchers.changed(state, who);
    Ok(row)
}

/// `POST /scenarios/:id/edits/:edit/revert`.
pub(crate) async fn revert(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path((id, edit)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Problem> {
    let id = scenario_id(&id)?;
    let edit: EditId = edit.parse().map_err(|_| Problem::not_found("change of this scenario"))?;
    let ask: UndoAsk = asked(&state, body).await?;
    fits(ask.note.as_deref())?;
    let who = caller.view();
    let whole = load::whole(&state, &who, id).await?;
    edit::is_at(whole.row().revision, ask.expected_revision).map_err(refused)?;
    let history = read::history(&state, &who, id).await?;
    let stored = whole.ready()?.clone();
    let undo = edit::undo(&stored, &history, Pick::Edit(edit)).map_err(refused)?;
    let taken = undo.clone();
    let checked =
        logic::check(&state, stored, move |stored, checker| edit::check_undo(stored, &taken, checker));
    let report = checked.await?.map_err(refused)?;
    let saved = edit::save_undo(&undo, &report, &ask).map_err(|why| {
        state.metrics.edited("refused");
        refused(why)
    })?;
    let row = save(&state, &who, &whole, undo.step, saved, Some(edit)).await?;
    state.metrics.edited("undone");
    json::ok(&told(&caller, row, report))
}

/// `POST /scenarios/:id/approve`.
pub(crate) async fn approve(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let id = scenario_id(&id)?;
    let ask: ApproveAsk = asked(&state, body).await?;
    if ask.revoke && ask.level.is_some() {
        return Err(Problem::new(Code::Invalid, "either `level` or `revoke`, not both"));
    }
    let who = caller.view();
    let whole = load::whole(&state, &who, id).await?;
    whole.ready()?;
    let row = whole.row();
    let before = standing::of(row, row.calculated_from);
    let event = match ask.level {
        _ if ask.revoke => Event::Withdrawn,
        level => Event::Allowed(level.unwrap_or(row.level)),
    };
    let after = before.after(event);
    if let Some(level) = ask.level.filter(|level| after.level != *level) {
        let detail = format!(
            "it cannot run at {level} yet: {}; approve a lower level, or wait for the runs",
            bir_calc::level::Standing { allowed: level, ..after }.reason()
        );
        return Err(Problem::new(Code::Conflict, detail));
    }
    let reason = match (ask.revoke, before.is_approved()) {
        (true, true) => format!("its owner took the approval back; {}", after.reason()),
        _ => after.reason().to_owned(),
    };
    let Some(changed) = standing::keep(&state, &who, row, &after, reason).await? else {
        return Err(Problem::new(
            Code::RevisionConflict,
            "the level was changed meanwhile, and stays as that left it; look at it again, then decide again",
        ));
    };
    tracing::info!(target: "scenarios", scenario = %id, level = %changed.level, approved = !ask.revoke, "its owner decided how far it runs");
    json::ok(&load::view(&load::whole(&state, &who, id).await?))
}

/// `DELETE /scenarios/:id`.
pub(crate) async fn remove(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (who, id) = (caller.view(), scenario_id(&id)?);
    if !state.store.delete_scenario(&who, id).await? {
        return Err(Problem::not_found("scenario"));
    }
    state.matchers.forget(&state, &who, id);
    tracing::info!(target: "scenarios", scenario = %id, "a scenario was deleted");
    Ok(StatusCode::NO_CONTENT.into_response())
}
