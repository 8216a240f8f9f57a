//! Which run belongs to which scenario.

use super::{MAX_ROWS, Part, Query, again, columns, locked, newest, owned};
use crate::StoreError;
use crate::append::Undone;
use crate::cursor::{Cursor, List};
use crate::model::{Page, RunPage, RunRole, RunScenario, ScenarioRunPage, View};
use crate::sql::{Db, TenantTx, Value, name_of, placeholders, values};
use bir_model::{RunId, ScenarioId};

/// Characters of a prompt in a list.
const PROMPT: u32 = super::read::PROMPT;

/// Has a run of `who` belong to a scenario that is locked, also one that was dismissed. False: there is no such run.
pub(super) async fn join(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
    run: RunId,
    role: RunRole,
) -> Result<bool, Undone> {
    let sql =
        "INSERT INTO scenario_runs (tenant_id, run_id, scenario_id, role, started_at, ended_at, metrics)
               SELECT r.tenant_id, r.id, $3, $5, r.started_at, r.ended_at, r.metrics FROM runs r
               WHERE r.tenant_id = $1 AND r.id = $2 AND r.user_id = $4
               ON CONFLICT (tenant_id, run_id) DO UPDATE SET role = $5, scenario_id = $3
               WHERE scenario_runs.scenario_id = $3 OR scenario_runs.scenario_id IS NULL";
    if tx.run(sql, values![who.tenant, run, id, who.user, name_of(&role)]).await? > 0 {
        return Ok(true);
    }
    let sql = "SELECT x.scenario_id FROM scenario_runs x JOIN runs r ON r.tenant_id = x.tenant_id AND r.id = x.run_id
               WHERE x.tenant_id = $1 AND x.run_id = $2 AND r.user_id = $3";
    match tx.row(sql, values![who.tenant, run, who.user]).await? {
        Some(row) => Err(StoreError::Taken { run, scenario: ScenarioId::from_uuid(row.uuid(0)?) }.into()),
        None => Ok(false),
    }
}

pub(crate) async fn add(
    db: &Db,
    who: &View,
    id: ScenarioId,
    run: RunId,
    role: RunRole,
) -> Result<bool, StoreError> {
    again!(add_once(db, who, id, run, role))
}

async fn add_once(db: &Db, who: &View, id: ScenarioId, run: RunId, role: RunRole) -> Result<bool, Undone> {
    let mut tx = db.write(who.tenant).await?;
    if locked(&mut tx, who, id).await?.is_none() || !join(&mut tx, who, id, run, role).await? {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

pub(crate) fn of_query(who: &View, id: ScenarioId, after: Option<Cursor>, limit: u32) -> Query {
    let sql = format!(
        "SELECT {} FROM scenario_runs x LEFT JOIN runs r ON r.tenant_id = $1 AND r.id = x.run_id
         WHERE x.tenant_id = $1 AND x.scenario_id = $2",
        columns::RUN
    );
    newest((sql, values![who.tenant, id]), "x.started_at", "x.run_id", after, limit)
}

pub(crate) async fn of(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
    page: &Page,
) -> Result<ScenarioRunPage, StoreError> {
    let part = Part::of(List::ScenarioRuns, page)?;
    if !owned(tx, who, id).await? {
        return Ok(ScenarioRunPage { runs: Vec::new(), next: None });
    }
    let (sql, values) = of_query(who, id, part.after, part.limit + 1);
    let rows = tx.rows(sql, values).await?;
    let (runs, next) = part.cut(&rows, columns::run, |run| (run.started_at, run.run.uuid()))?;
    Ok(ScenarioRunPage { runs, next })
}

/// Runs that belong to no scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Free {
    /// All of them.
    All,
    /// Without those whose scenario was deleted.
    ToCalculate,
}

pub(crate) fn without_query(who: &View, free: Free, after: Option<Cursor>, limit: u32) -> Query {
    let but = match free {
        Free::All => " AND x.scenario_id IS NOT NULL",
        Free::ToCalculate => "",
    };
    let sql = format!(
        "SELECT {}, r.input FROM runs r WHERE r.tenant_id = $1 AND r.user_id = $2
           AND NOT EXISTS (SELECT 1 FROM scenario_runs x WHERE x.tenant_id = $1 AND x.run_id = r.id{but})",
        crate::columns::SUMMARY
    );
    newest((sql, values![who.tenant, who.user]), "r.started_at", "r.id", after, limit)
}

pub(crate) async fn without(
    tx: &mut TenantTx,
    who: &View,
    free: Free,
    page: &Page,
) -> Result<RunPage, StoreError> {
    let part = Part::of(List::Runs, page)?;
    let (sql, values) = without_query(who, free, part.after, part.limit + 1);
    let rows = tx.rows(sql, values).await?;
    let (runs, next) = part.cut(&rows, crate::columns::summary, |run| (run.started_at, run.id.uuid()))?;
    Ok(RunPage { runs, next })
}

pub(crate) async fn scenarios_of(
    tx: &mut TenantTx,
    who: &View,
    runs: &[RunId],
) -> Result<Vec<RunScenario>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    if runs.len() > MAX_ROWS as usize {
        return Err(StoreError::Refused(format!("at most {MAX_ROWS} runs are asked for at once")));
    }
    let sql = format!(
        "SELECT {}, substr(s.prompt, 1, {PROMPT}), x.run_id, x.role
         FROM scenario_runs x JOIN scenarios s ON s.tenant_id = $1 AND s.id = x.scenario_id
         WHERE x.tenant_id = $1 AND s.user_id = $2 AND x.run_id IN ({}) ORDER BY x.run_id",
        columns::SUMMARY,
        placeholders(3, runs.len())
    );
    let mut values = values![who.tenant, who.user];
    values.extend(runs.iter().map(|run| Value::from(*run)));
    let rows = tx.rows(sql, values).await?;
    let read = rows.iter().map(|row| {
        Ok(RunScenario {
            run: RunId::from_uuid(row.uuid(columns::SUMMARY_COLUMNS + 1)?),
            role: row.named(columns::SUMMARY_COLUMNS + 2)?,
            scenario: columns::summary(row)?,
        })
    });
    read.collect()
}

/// Whether the scenario that a run of `who` belonged to was deleted.
pub(crate) async fn is_dismissed(tx: &mut TenantTx, who: &View, run: RunId) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM scenario_runs x JOIN runs r ON r.tenant_id = x.tenant_id AND r.id = x.run_id
               WHERE x.tenant_id = $1 AND x.run_id = $2 AND x.scenario_id IS NULL AND r.user_id = $3";
    Ok(tx.row(sql, values![who.tenant, run, who.user]).await?.is_some())
}

/// Before scenarios are deleted: their runs are marked, so that nothing is calculated from them by itself. `list` are the placeholders of
/// the scenarios from `$2` on, `these` the tenant and the scenarios. Rows of runs that are gone stay, and go with their scenario.
pub(crate) async fn dismiss(tx: &mut TenantTx, list: &str, these: &[Value]) -> Result<(), sqlx::Error> {
    if tx.is_postgres() {
        // Whoever deletes one of these runs waits here or is waited for: no mark outlives its run.
        let sql = format!(
            "SELECT r.id FROM runs r JOIN scenario_runs x ON x.tenant_id = r.tenant_id AND x.run_id = r.id
             WHERE r.tenant_id = $1 AND x.scenario_id IN ({list}) ORDER BY r.id FOR KEY SHARE OF r"
        );
        tx.rows(sql, these.to_vec()).await?;
    }
    let sql = format!(
        "UPDATE scenario_runs SET scenario_id = NULL, role = 'dismissed', ended_at = NULL, metrics = NULL
         WHERE tenant_id = $1 AND scenario_id IN ({list})
           AND EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = $1 AND r.id = scenario_runs.run_id)"
    );
    tx.run(sql, these.to_vec()).await?;
    Ok(())
}

/// Before runs are deleted: what they cost stays with their scenario, and those in which it only ran, or which have none any more, are forgotten. `list` are
/// the placeholders of the runs from `$2` on, `these` the tenant and the runs.
pub(crate) async fn part(tx: &mut TenantTx, list: &str, these: &[Value]) -> Result<(), sqlx::Error> {
    let sql = format!(
        "DELETE FROM scenario_runs WHERE tenant_id = $1 AND run_id IN ({list}) AND role IN ('replayed', 'dismissed')"
    );
    tx.run(sql, these.to_vec()).await?;
    let known = |column: &str| {
        format!("(SELECT r.{column} FROM runs r WHERE r.tenant_id = $1 AND r.id = scenario_runs.run_id)")
    };
    let sql = format!(
        "UPDATE scenario_runs SET ended_at = {}, metrics = {} WHERE tenant_id = $1 AND run_id IN ({list})
           AND EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = $1 AND r.id = scenario_runs.run_id)",
        known("ended_at"),
        known("metrics")
    );
    tx.run(sql, these.to_vec()).await?;
    Ok(())
}
