//! Deletion and expiry, in transactions of bounded size: a large one would keep everybody else waiting.

use crate::StoreError;
use crate::facets::Facet;
use crate::model::{Deleted, View};
use crate::sql::{Db, TenantTx, Value, placeholders, values};
use bir_model::{RunId, ScenarioId, TenantId, UserId};

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
    crate::scenarios::runs::part(tx, &list, &these).await?;
    crate::toolsets::part(tx, &list, &these).await?;
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
    if deleted.runs > 0 {
        db.forget().await;
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
    db.forget().await;
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

pub(crate) async fn scenario(db: &Db, who: &View, id: ScenarioId) -> Result<bool, StoreError> {
    let of = " AND s.id = $4";
    Ok(some_scenarios(db, who, of, values![id]).await? > 0)
}

/// In parts of one transaction each, so that nobody waits long for it.
pub(crate) async fn scenarios(db: &Db, who: &View, project: Option<&str>) -> Result<u64, StoreError> {
    let (of, values) = match project {
        Some(project) => (
            " AND s.project_hash = $4 AND s.project = $5",
            values![Facet::new("project", project).hash(), project],
        ),
        None => ("", Vec::new()),
    };
    let mut gone = 0;
    loop {
        let part = some_scenarios(db, who, of, values.clone()).await?;
        gone += part;
        if part < u64::from(AT_ONCE) {
            return Ok(gone);
        }
    }
}

/// Deletes some scenarios of `who` with what hangs on them, in one transaction, and marks their runs. `of` says which, with `values` from `$4` on.
async fn some_scenarios(db: &Db, who: &View, of: &str, values: Vec<Value>) -> Result<u64, StoreError> {
    let mut tx = db.write(who.tenant).await?;
    // Whoever changes one of them waits here or is waited for.
    let lock = if tx.is_postgres() { " FOR UPDATE" } else { "" };
    let sql = format!(
        "SELECT s.id FROM scenarios s WHERE s.tenant_id = $1 AND s.user_id = $2{of} ORDER BY s.id LIMIT $3{lock}"
    );
    let mut which = values![who.tenant, who.user, AT_ONCE];
    which.extend(values);
    let mut these = values![who.tenant];
    for row in tx.rows(sql, which).await? {
        these.push(row.uuid(0)?.into());
    }
    let Some(count) = these.len().checked_sub(1).filter(|count| *count > 0) else { return Ok(0) };
    let list = placeholders(2, count);
    crate::scenarios::runs::dismiss(&mut tx, &list, &these).await?;
    let sql = format!("DELETE FROM scenarios WHERE tenant_id = $1 AND id IN ({list})");
    let gone = tx.run(sql, these).await?;
    tx.commit().await?;
    db.forget().await;
    Ok(gone)
}
