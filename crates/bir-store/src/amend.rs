//! Changing a row that was booked: read, changed and written in one transaction, with what the run says about its rows.

use crate::StoreError;
use crate::append::Undone;
use crate::append::plan::forget_outcome;
use crate::append::rows::overwrite;
use crate::columns;
use crate::facets::Facets;
use crate::model::{StepChange, View};
use crate::sql::{Db, values};
use bir_model::record::{Step, StepType};
use bir_model::{Outcome, RunId, StepId};

/// Whether a row counts as a call that failed.
fn failed(step: &Step) -> i64 {
    let ended = step.step_type == StepType::ToolResponse;
    i64::from(ended && step.outcome.is_some_and(|outcome| outcome != Outcome::Ok))
}

/// None: there is no such row of `who`.
pub(crate) async fn amend(
    db: &Db,
    who: &View,
    run: RunId,
    step: StepId,
    change: &StepChange,
) -> Result<Option<Step>, StoreError> {
    let mut tx = db.write(who.tenant).await?;
    // The run is locked, as it is for booking: nobody else changes its rows or counts meanwhile.
    let lock = if tx.is_postgres() { " FOR UPDATE" } else { "" };
    let sql = format!(
        "SELECT r.started_at FROM runs r WHERE r.tenant_id = $1 AND r.id = $2 AND r.user_id = $3{lock}"
    );
    let Some(found) = tx.row(sql, values![who.tenant, run, who.user]).await? else { return Ok(None) };
    let started_at = found.number(0)?;
    let sql = format!(
        "SELECT {} FROM steps s WHERE s.tenant_id = $1 AND s.id = $2 AND s.run_id = $3 AND s.step_type <> $4",
        columns::STEP
    );
    let Some(row) = tx.row(sql, values![who.tenant, step, run, columns::FINAL]).await? else {
        return Ok(None);
    };
    let before = columns::step(&row)?;
    let mut after = before.clone();
    change.apply(&mut after);
    overwrite(&mut tx, &after).await.map_err(|undone| match undone {
        Undone::Failed(error) => error,
        Undone::Again => StoreError::Unavailable("the row is written from several places at once".into()),
    })?;
    let more = failed(&after) - failed(&before);
    if more != 0 {
        let sql = "UPDATE runs SET failed_calls = failed_calls + $3 WHERE tenant_id = $1 AND id = $2";
        tx.run(sql, values![who.tenant, run, more]).await?;
    }
    if let Some(outcome) = before.outcome.filter(|_| before.outcome != after.outcome) {
        forget_outcome(&mut tx, run, outcome.as_str()).await?;
    }
    let mut facets = Facets::default();
    facets.of_step(&after);
    for (run, hash, facet) in facets.sorted() {
        let sql = "INSERT INTO run_facets (tenant_id, run_id, hash, kind, value, started_at)
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        tx.run(sql, values![who.tenant, run, hash, facet.kind, facet.value, started_at]).await?;
    }
    tx.commit().await?;
    Ok(Some(after))
}
