//! Deletion and expiry, in transactions of bounded size: a large one would keep everybody else waiting.

use crate::StoreError;
use crate::append::Undone;
use crate::append::rows::overwrite;
use crate::facets::Facet;
use crate::model::{Deleted, View};
use crate::sql::{Db, TenantTx, Value, placeholders, values};
use bir_model::record::Step;
use bir_model::{RunId, TenantId, UserId};

/// Runs that are deleted in one transaction.
const AT_ONCE: u32 = 100;

/// Deletes these runs with all that hangs on them.
async fn delete(tx: &mut TenantTx, ids: &[RunId]) -> Result<Deleted, StoreError> {
    if ids.is_empty() {
        return Ok(Deleted::default());
    }
    let list = placeholders(2, ids.len());
    let mut these: Vec<Value> = values![tx.tenant()];
    these.extend(ids.iter().map(|id| Value::from(*id)));
    let of = |table: &str, column: &str| {
        format!("DELETE FROM {table} WHERE tenant_id = $1 AND {column} IN ({list})")
    };
    // In the order in which records are booked: whoever books one of these runs waits here or is waited for.
    if tx.is_postgres() {
        let lock =
            format!("SELECT id FROM runs WHERE tenant_id = $1 AND id IN ({list}) ORDER BY id FOR UPDATE");
        tx.rows(lock, these.clone()).await?;
    }
    // Final answers are no steps to whoever counts.
    let finals = format!("{} AND step_type = 'final'", of("steps", "run_id"));
    tx.run(finals, these.clone()).await?;
    let steps = tx.run(of("steps", "run_id"), these.clone()).await?;
    tx.run(of("run_facets", "run_id"), these.clone()).await?;
    tx.run(of("losses", "run_id"), these.clone()).await?;
    let runs = tx.run(of("runs", "id"), these).await?;
    Ok(Deleted { runs, steps })
}

/// Deletes the runs that a query names, part by part, `limit` at most. The query's last value is put in place of its limit.
async fn delete_all(
    db: &Db,
    tenant: TenantId,
    sql: &str,
    values: Vec<Value>,
    limit: u64,
) -> Result<Deleted, StoreError> {
    let mut deleted = Deleted::default();
    while deleted.runs < limit {
        let part = limit.saturating_sub(deleted.runs).min(AT_ONCE.into());
        let mut values = values.clone();
        values.push(part.into());
        let mut tx = db.write(tenant).await?;
        let mut ids = Vec::new();
        for row in tx.rows(sql, values).await? {
            ids.push(RunId::from_uuid(row.uuid(0)?));
        }
        let one = delete(&mut tx, &ids).await?;
        tx.commit().await?;
        deleted.runs += one.runs;
        deleted.steps += one.steps;
        if (ids.len() as u64) < part || one.runs == 0 {
            break;
        }
    }
    Ok(deleted)
}

pub(crate) async fn run(db: &Db, who: &View, run: RunId) -> Result<bool, StoreError> {
    let mut tx = db.write(who.tenant).await?;
    if !crate::runs::visible(&mut tx, who, run).await? {
        return Ok(false);
    }
    let deleted = delete(&mut tx, &[run]).await?;
    tx.commit().await?;
    Ok(deleted.runs > 0)
}

pub(crate) async fn project(db: &Db, who: &View, project: &str) -> Result<Deleted, StoreError> {
    let facet = Facet::new("project", project);
    let own = if who.whole_tenant { "TRUE OR " } else { "" };
    let sql = format!(
        "SELECT r.id FROM run_facets f CROSS JOIN runs r WHERE f.tenant_id = $1 AND f.hash = $2 AND f.kind = $3
           AND f.value = $4 AND r.tenant_id = $1 AND r.id = f.run_id AND ({own}r.user_id = $5) LIMIT $6"
    );
    let values = values![who.tenant, facet.hash(), facet.kind, facet.value, who.user];
    delete_all(db, who.tenant, &sql, values, u64::MAX).await
}

pub(crate) async fn of_user(db: &Db, who: &View, user: UserId) -> Result<Deleted, StoreError> {
    if !who.whole_tenant && who.user != user {
        return Ok(Deleted::default());
    }
    let sql = "SELECT id FROM runs WHERE tenant_id = $1 AND user_id = $2 LIMIT $3";
    delete_all(db, who.tenant, sql, values![who.tenant, user], u64::MAX).await
}

pub(crate) async fn expired(db: &Db, before: u64, limit: u32) -> Result<Deleted, StoreError> {
    let mut deleted = Deleted::default();
    let tenants = crate::people::tenants(db).await?;
    for tenant in tenants {
        let left = u64::from(limit).saturating_sub(deleted.runs);
        if left == 0 {
            break;
        }
        // The end of a run is heard of too, so this is the later of both.
        let sql = "SELECT id FROM runs WHERE tenant_id = $1 AND last_at < $2 ORDER BY last_at LIMIT $3";
        let one = delete_all(db, tenant.id, sql, values![tenant.id, before], left).await?;
        deleted.runs += one.runs;
        deleted.steps += one.steps;
    }
    Ok(deleted)
}

/// Replaces what a row holds; its id, run, index and type stay. False: there is no such row of `who`.
pub(crate) async fn amend(db: &Db, who: &View, step: &Step) -> Result<bool, StoreError> {
    let mut tx = db.write(who.tenant).await?;
    let lock = if tx.is_postgres() { " FOR UPDATE OF r" } else { "" };
    let sql = format!(
        "SELECT s.outcome FROM steps s JOIN runs r ON r.tenant_id = s.tenant_id AND r.id = s.run_id
         WHERE s.tenant_id = $1 AND s.id = $2 AND r.id = $3 AND r.user_id = $4 AND s.step_index = $5
           AND s.step_type = $6{lock}"
    );
    let kind = step.step_type.as_str();
    let values = values![who.tenant, step.id, step.run_id, who.user, step.step_index, kind];
    let Some(row) = tx.row(sql, values).await? else { return Ok(false) };
    let failed = |outcome: Option<&str>| i64::from(outcome.is_some_and(|outcome| outcome != "ok"));
    let is_end = step.step_type == bir_model::record::StepType::ToolResponse;
    let outcome = row.opt_text(0)?;
    let before = failed(outcome.as_deref());
    let after = failed(step.outcome.map(bir_model::Outcome::as_str));
    overwrite(&mut tx, step).await.map_err(|undone| match undone {
        Undone::Failed(error) => error,
        Undone::Again => StoreError::Unavailable("the row is written from several places at once".into()),
    })?;
    if is_end {
        let sql = "UPDATE runs SET failed_calls = failed_calls + $3 WHERE tenant_id = $1 AND id = $2";
        tx.run(sql, values![who.tenant, step.run_id, after - before]).await?;
    }
    if let Some(outcome) =
        outcome.filter(|outcome| step.outcome.map(bir_model::Outcome::as_str) != Some(outcome))
    {
        crate::append::plan::forget_outcome(&mut tx, step.run_id, &outcome).await?;
    }
    let sql = "SELECT started_at FROM runs WHERE tenant_id = $1 AND id = $2";
    let started_at =
        tx.row(sql, values![who.tenant, step.run_id]).await?.map(|row| row.number(0)).transpose()?;
    let mut facets = crate::facets::Facets::default();
    facets.of_step(step);
    for (run, hash, facet) in facets.sorted() {
        let sql = "INSERT INTO run_facets (tenant_id, run_id, hash, kind, value, started_at)
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let started_at = started_at.unwrap_or(0);
        tx.run(sql, values![who.tenant, run, hash, facet.kind, facet.value, started_at]).await?;
    }
    tx.commit().await?;
    Ok(true)
}
