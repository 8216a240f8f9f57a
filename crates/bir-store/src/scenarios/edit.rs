//! Changes by hand: a step with its entry in the history, level and approval.

use super::{Part, Query, again, columns, limits, locked, owned};
use crate::StoreError;
use crate::append::Undone;
use crate::cursor::{Cursor, List};
use crate::model::{EditPage, EditRow, Page, ScenarioChange, ScenarioSummary, StepEdit, View};
use crate::people::now;
use crate::sql::{Db, TenantTx, values};
use bir_model::scenario::{Mark, StepEdits};
use bir_model::{EditId, ScenarioId};

pub(crate) async fn step(
    db: &Db,
    who: &View,
    id: ScenarioId,
    index: u32,
    edit: &StepEdit,
) -> Result<Option<EditRow>, StoreError> {
    limits::edit(edit)?;
    again!(step_once(db, who, id, index, edit))
}

async fn step_once(
    db: &Db,
    who: &View,
    id: ScenarioId,
    index: u32,
    edit: &StepEdit,
) -> Result<Option<EditRow>, Undone> {
    let mut tx = db.write(who.tenant).await?;
    let Some(found) = locked(&mut tx, who, id).await? else { return Ok(None) };
    let expected = edit.expected_revision;
    if found != expected {
        return Err(StoreError::Revision { expected, found }.into());
    }
    let sql = "SELECT input_logic, output_logic, mark FROM scenario_steps
               WHERE tenant_id = $1 AND scenario_id = $2 AND step_index = $3";
    let Some(row) = tx.row(sql, values![who.tenant, id, index]).await? else { return Ok(None) };
    let before =
        StepEdits { input_logic: row.opt_text(0)?, output_logic: row.opt_text(1)?, mark: row.opt_named(2)? };
    let sql = "UPDATE scenario_steps SET input_logic = $4, output_logic = $5, mark = $6
               WHERE tenant_id = $1 AND scenario_id = $2 AND step_index = $3";
    let after = &edit.after;
    let mark = after.mark.map(Mark::as_str);
    tx.run(sql, values![who.tenant, id, index, &after.input_logic, &after.output_logic, mark]).await?;
    let entry = EditRow {
        id: EditId::new(),
        scenario: id,
        step_index: index,
        at: now(),
        by: who.user,
        before,
        after: after.clone(),
        forced: edit.forced,
        note: edit.note.clone(),
        revision: found + 1,
        takes_back: edit.takes_back,
    };
    let sql = "UPDATE scenarios SET revision = $4, updated_at = $5
               WHERE tenant_id = $1 AND id = $2 AND user_id = $3";
    tx.run(sql, values![who.tenant, id, who.user, entry.revision, entry.at]).await?;
    let sql = "INSERT INTO scenario_edits
                   (tenant_id, id, scenario_id, step_index, at, user_id, before, after, forced, note, revision, reverts)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let values = values![
        who.tenant,
        entry.id,
        id,
        index,
        entry.at,
        entry.by,
        json(&entry.before)?,
        json(&entry.after)?,
        entry.forced,
        &entry.note,
        entry.revision,
        entry.takes_back,
    ];
    tx.run(sql, values).await?;
    tx.commit().await?;
    Ok(Some(entry))
}

fn json(edits: &StepEdits) -> Result<String, StoreError> {
    serde_json::to_string(edits).map_err(|e| StoreError::Failed(format!("a value is no JSON: {e}")))
}

/// A revision is there once, so that it alone is the order.
pub(crate) fn edits_query(who: &View, id: ScenarioId, after: Option<Cursor>, limit: u32) -> Query {
    let mut values = values![who.tenant, id, limit];
    let mut behind = "";
    if let Some(cursor) = after {
        values.push(cursor.started_at.into());
        behind = " AND e.revision < $4";
    }
    let sql = format!(
        "SELECT {} FROM scenario_edits e WHERE e.tenant_id = $1 AND e.scenario_id = $2{behind}
         ORDER BY e.revision DESC LIMIT $3",
        columns::EDIT
    );
    (sql, values)
}

pub(crate) async fn edits(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
    page: &Page,
) -> Result<EditPage, StoreError> {
    let part = Part::of(List::Edits, page)?;
    if !owned(tx, who, id).await? {
        return Ok(EditPage { edits: Vec::new(), next: None });
    }
    let (sql, values) = edits_query(who, id, part.after, part.limit + 1);
    let rows = tx.rows(sql, values).await?;
    let (edits, next) = part.cut(&rows, columns::edit, |edit| (edit.revision, edit.id.uuid()))?;
    Ok(EditPage { edits, next })
}

pub(crate) async fn one(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
    edit: EditId,
) -> Result<Option<EditRow>, StoreError> {
    if !owned(tx, who, id).await? {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {} FROM scenario_edits e WHERE e.tenant_id = $1 AND e.id = $2 AND e.scenario_id = $3",
        columns::EDIT
    );
    let row = tx.row(sql, values![who.tenant, edit, id]).await?;
    row.map(|row| columns::edit(&row)).transpose()
}

pub(crate) async fn change(
    db: &Db,
    who: &View,
    id: ScenarioId,
    change: &ScenarioChange,
) -> Result<Option<ScenarioSummary>, StoreError> {
    let (level, reason) = match &change.level {
        Some((level, reason)) => (Some(level.as_str()), reason.as_deref()),
        None => (None, None),
    };
    limits::payload("levelReason", reason)?;
    limits::payload("standing", change.standing.as_deref())?;
    let mut tx = db.write(who.tenant).await?;
    let approved = change.approved.map(i64::from);
    let sql = "UPDATE scenarios SET level = COALESCE($4, level),
                   level_reason = CASE WHEN $4 IS NULL THEN level_reason ELSE $5 END,
                   standing = CASE WHEN $4 IS NULL THEN standing ELSE $10 END,
                   approved_at = CASE WHEN $6 IS NULL THEN approved_at WHEN $6 = 1 THEN COALESCE(approved_at, $7) END,
                   updated_at = $7
               WHERE tenant_id = $1 AND id = $2 AND user_id = $3
                 AND ($8 IS NULL OR (level = $8 AND standing IS NOT DISTINCT FROM $9))";
    let (only_from, stood) = match &change.only_from {
        Some((level, stood)) => (Some(level.as_str()), stood.as_deref()),
        None => (None, None),
    };
    let standing = change.standing.as_deref();
    let values =
        values![who.tenant, id, who.user, level, reason, approved, now(), only_from, stood, standing];
    tx.run(sql, values).await?;
    let now = super::read::detail(&mut tx, who, id).await?;
    tx.commit().await?;
    Ok(now.map(|detail| detail.summary))
}
