//! Tickets, what was executed under them, and what the model costs without.

use super::{Part, Query, again, columns, limits, newest, owned};
use crate::StoreError;
use crate::append::Undone;
use crate::cursor::{Cursor, List};
use crate::model::{
    BaselineSample, Execution, ExecutionPage, Match, Page, Redeemed, TICKET_LIFE, TICKETS_WAITING, Ticket,
    View,
};
use crate::people::now;
use crate::sql::{Db, TenantTx, Value, values};
use bir_model::scenario::{ExecutionReport, Level, Mode, Stage};
use bir_model::{RunId, ScenarioId, TicketId};

/// Samples of a baseline at most.
const MAX_SAMPLES: u32 = 500;

pub(crate) async fn issue(
    db: &Db,
    who: &View,
    id: ScenarioId,
    matched: &Match,
) -> Result<Option<Ticket>, StoreError> {
    limits::payload("prompt", matched.prompt.as_deref())?;
    again!(issue_once(db, who, id, matched))
}

/// A run that asks again gets the ticket that it has.
async fn issue_once(db: &Db, who: &View, id: ScenarioId, matched: &Match) -> Result<Option<Ticket>, Undone> {
    let mut tx = db.write(who.tenant).await?;
    // Nobody deletes the scenario in between, or makes a ticket for the same run.
    let lock = if tx.is_postgres() { " FOR UPDATE" } else { "" };
    let sql = format!(
        "SELECT s.iterations FROM scenarios s
         WHERE s.tenant_id = $1 AND s.id = $2 AND s.user_id = $3 AND s.state = 'ready'{lock}"
    );
    let Some(row) = tx.row(sql, values![who.tenant, id, who.user]).await? else { return Ok(None) };
    let matches = row.number(0)?;
    if let Some(run) = matched.run {
        let sql = "SELECT id FROM executions WHERE tenant_id = $1 AND run_id = $2 AND scenario_id = $3";
        if let Some(row) = tx.row(sql, values![who.tenant, run, id]).await? {
            return Ok(Some(Ticket { id: TicketId::from_uuid(row.uuid(0)?), matches }));
        }
    }
    make_room(&mut tx, who).await?;
    let sql = "UPDATE scenarios SET iterations = iterations + 1 WHERE tenant_id = $1 AND id = $2";
    tx.run(sql, values![who.tenant, id]).await?;
    let ticket = Ticket { id: TicketId::new(), matches: matches + 1 };
    let sql = "INSERT INTO executions (tenant_id, id, scenario_id, user_id, run_id, issued_at, prompt)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let values = values![who.tenant, ticket.id, id, who.user, matched.run, now(), &matched.prompt];
    tx.run(sql, values).await?;
    tx.commit().await?;
    Ok(Some(ticket))
}

/// The newest ticket that goes when one more comes. At most as many as may wait are read for it.
fn last_that_waits_query(who: &View) -> Query {
    let sql = "SELECT e.issued_at, e.id FROM executions e
               WHERE e.tenant_id = $1 AND e.user_id = $2 AND e.claimed_at IS NULL
               ORDER BY e.issued_at DESC, e.id DESC LIMIT 1 OFFSET $3";
    (sql.to_owned(), values![who.tenant, who.user, TICKETS_WAITING - 1])
}

/// Tickets that have waited too long go, and the oldest where too many wait.
async fn make_room(tx: &mut TenantTx, who: &View) -> Result<(), Undone> {
    let sql = "DELETE FROM executions
               WHERE tenant_id = $1 AND user_id = $2 AND claimed_at IS NULL AND issued_at < $3";
    tx.run(sql, values![who.tenant, who.user, now().saturating_sub(TICKET_LIFE)]).await?;
    let (sql, values) = last_that_waits_query(who);
    if let Some(row) = tx.row(sql, values).await? {
        let sql = "DELETE FROM executions WHERE tenant_id = $1 AND user_id = $2 AND claimed_at IS NULL
                     AND (issued_at, id) <= ($3, $4)";
        tx.run(sql, values![who.tenant, who.user, row.number(0)?, row.uuid(1)?]).await?;
    }
    Ok(())
}

pub(crate) fn waiting_query(who: &View, runs: &[RunId]) -> Query {
    let mut values = values![who.tenant, who.user, now().saturating_sub(TICKET_LIFE)];
    values.extend(runs.iter().map(|run| Value::from(*run)));
    let sql = format!(
        "SELECT e.run_id FROM executions e WHERE e.tenant_id = $1 AND e.user_id = $2 AND e.issued_at >= $3
           AND e.claimed_at IS NULL AND e.run_id IN ({})",
        crate::sql::placeholders(4, runs.len())
    );
    (sql, values)
}

pub(crate) async fn waiting(tx: &mut TenantTx, who: &View, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    if runs.len() > super::MAX_ROWS as usize {
        return Err(StoreError::Refused(format!("at most {} runs are asked for at once", super::MAX_ROWS)));
    }
    let (sql, values) = waiting_query(who, runs);
    let mut waiting = Vec::new();
    for row in tx.rows(sql, values).await? {
        waiting.push(RunId::from_uuid(row.uuid(0)?));
    }
    Ok(waiting)
}

pub(crate) async fn redeem(
    db: &Db,
    who: &View,
    id: ScenarioId,
    report: &ExecutionReport,
) -> Result<Redeemed, StoreError> {
    limits::report(report)?;
    again!(redeem_once(db, who, id, report))
}

/// The values of a report; those before are tenant, id, scenario, owner and the time.
fn told(
    who: &View,
    ticket: TicketId,
    id: ScenarioId,
    report: &ExecutionReport,
) -> Result<Vec<Value>, Undone> {
    let verdicts = serde_json::to_string(&report.steps);
    let verdicts = verdicts.map_err(|e| StoreError::Failed(format!("a value is no JSON: {e}")))?;
    Ok(values![
        who.tenant,
        ticket,
        id,
        who.user,
        now(),
        &report.prompt,
        report.outcome.as_str(),
        report.mode.map(Mode::as_str),
        report.level.map(Level::as_str),
        report.derive_cost_usd.to_string(),
        report.session_cost_usd.to_string(),
        report.fallback_cost_usd.to_string(),
        report.tokens,
        report.duration_ms,
        report.steps_planned,
        report.steps_pinned,
        report.measured,
        &report.pricing_version,
        verdicts,
        &report.error,
        report.error_stage.map(Stage::as_str),
        report.error_step_index,
        &report.error_tool_name,
        &report.model,
    ])
}

/// The columns of [`told`] from `$7` on; `$6` is the prompt.
const TOLD: [&str; 18] = [
    "outcome",
    "mode",
    "level",
    "derive_cost_usd",
    "session_cost_usd",
    "fallback_cost_usd",
    "tokens",
    "duration_ms",
    "steps_planned",
    "steps_pinned",
    "measured",
    "pricing_version",
    "verdicts",
    "error",
    "error_stage",
    "error_step",
    "error_tool",
    "model",
];

async fn redeem_once(
    db: &Db,
    who: &View,
    id: ScenarioId,
    report: &ExecutionReport,
) -> Result<Redeemed, Undone> {
    let mut tx = db.write(who.tenant).await?;
    let Some(ticket) = report.ticket else { return book(tx, who, id, report).await };
    // Of two at once the second waits for the first, and then finds no ticket that is open.
    let set: Vec<String> =
        TOLD.iter().enumerate().map(|(at, column)| format!("{column} = ${}", at + 7)).collect();
    let sql = format!(
        "UPDATE executions SET claimed_at = $5, prompt = COALESCE($6, prompt), {}
         WHERE tenant_id = $1 AND id = $2 AND scenario_id = $3 AND user_id = $4 AND claimed_at IS NULL
           AND issued_at >= ${} RETURNING run_id",
        set.join(", "),
        TOLD.len() + 7
    );
    let mut values = told(who, ticket, id, report)?;
    values.push(now().saturating_sub(TICKET_LIFE).into());
    if let Some(row) = tx.row(sql, values).await? {
        let run = row.opt_uuid(0)?.map(RunId::from_uuid);
        tx.commit().await?;
        return Ok(Redeemed::Booked { ticket, run });
    }
    let sql =
        "SELECT id FROM executions WHERE tenant_id = $1 AND id = $2 AND scenario_id = $3 AND user_id = $4
                   AND claimed_at IS NOT NULL";
    let found = tx.row(sql, values![who.tenant, ticket, id, who.user]).await?;
    Ok(if found.is_some() { Redeemed::Duplicate } else { Redeemed::Unknown })
}

/// An execution without a ticket.
async fn book(
    mut tx: TenantTx,
    who: &View,
    id: ScenarioId,
    report: &ExecutionReport,
) -> Result<Redeemed, Undone> {
    if super::locked(&mut tx, who, id).await?.is_none() {
        return Ok(Redeemed::Unknown);
    }
    let ticket = TicketId::new();
    let places = crate::sql::placeholders(7, TOLD.len());
    let sql = format!(
        "INSERT INTO executions (tenant_id, id, scenario_id, user_id, issued_at, claimed_at, prompt, {})
         VALUES ($1, $2, $3, $4, $5, $5, $6, {places})",
        TOLD.join(", ")
    );
    tx.run(sql, told(who, ticket, id, report)?).await?;
    tx.commit().await?;
    Ok(Redeemed::Booked { ticket, run: None })
}

pub(crate) fn list_query(who: &View, id: Option<ScenarioId>, after: Option<Cursor>, limit: u32) -> Query {
    let (column, value) = match id {
        Some(id) => ("scenario_id", Value::from(id)),
        None => ("user_id", Value::from(who.user)),
    };
    let sql = format!(
        "SELECT {} FROM executions e WHERE e.tenant_id = $1 AND e.{column} = $2 AND e.claimed_at IS NOT NULL",
        columns::EXECUTION
    );
    newest((sql, vec![who.tenant.into(), value]), "e.claimed_at", "e.id", after, limit)
}

pub(crate) async fn list(
    tx: &mut TenantTx,
    who: &View,
    id: Option<ScenarioId>,
    page: &Page,
) -> Result<ExecutionPage, StoreError> {
    let part = Part::of(List::Executions, page)?;
    if let Some(id) = id
        && !owned(tx, who, id).await?
    {
        return Ok(ExecutionPage { executions: Vec::new(), next: None });
    }
    let (sql, values) = list_query(who, id, part.after, part.limit + 1);
    let rows = tx.rows(sql, values).await?;
    let (executions, next) = part.cut(&rows, columns::execution, |one| (one.claimed_at, one.id.uuid()))?;
    Ok(ExecutionPage { executions, next })
}

/// Executions that the model did by itself. The words stand in the text, so that the index of just these is used.
pub(crate) fn baseline_query(who: &View, id: ScenarioId, limit: u32) -> Query {
    let sql = format!(
        "SELECT {} FROM executions e WHERE e.tenant_id = $1 AND e.scenario_id = $2
           AND e.outcome IN ('not_steered', 'failed')",
        columns::EXECUTION
    );
    newest((sql, values![who.tenant, id]), "e.claimed_at", "e.id", None, limit)
}

/// Runs that the model did by itself, unless an execution tells what they cost.
pub(crate) fn baseline_runs_query(who: &View, id: ScenarioId, limit: u32) -> Query {
    let sql = format!(
        "SELECT {} FROM scenario_runs x LEFT JOIN runs r ON r.tenant_id = $1 AND r.id = x.run_id
         WHERE x.tenant_id = $1 AND x.scenario_id = $2 AND x.role <> 'replayed' AND NOT EXISTS (
             SELECT 1 FROM executions e WHERE e.tenant_id = $1 AND e.scenario_id = $2 AND e.run_id = x.run_id
                 AND e.outcome IN ('not_steered', 'failed'))",
        columns::RUN
    );
    newest((sql, values![who.tenant, id]), "x.started_at", "x.run_id", None, limit)
}

pub(crate) async fn baseline(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
    limit: u32,
) -> Result<Vec<BaselineSample>, StoreError> {
    let limit = limit.clamp(1, MAX_SAMPLES);
    if !owned(tx, who, id).await? {
        return Ok(Vec::new());
    }
    let (sql, values) = baseline_query(who, id, limit);
    let rows = tx.rows(sql, values).await?;
    let executions = rows.iter().map(columns::execution).collect::<Result<Vec<Execution>, _>>()?;
    let (sql, values) = baseline_runs_query(who, id, limit);
    let rows = tx.rows(sql, values).await?;
    let runs = rows.iter().map(columns::run).collect::<Result<Vec<_>, _>>()?;
    let mut samples: Vec<(u64, BaselineSample)> =
        executions.into_iter().map(|e| (e.issued_at, BaselineSample::Execution(Box::new(e)))).collect();
    samples.extend(runs.into_iter().map(|run| (run.started_at, BaselineSample::Run(run))));
    samples.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    samples.truncate(limit as usize);
    Ok(samples.into_iter().map(|(_, sample)| sample).collect())
}
