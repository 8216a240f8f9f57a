//! Lists of runs, and one run.

use crate::StoreError;
use crate::columns;
use crate::cursor::{Cursor, List};
use crate::facets::{self, Facet};
use crate::model::{Page, RunDetail, RunFilter, RunPage, StepPage, View};
use crate::sql::{TenantTx, Value, values};
use bir_model::RunId;
use bir_model::record::{Finish, Record, RunStart};
use std::fmt::Write as _;

/// Runs of one part of a list at most.
const MAX_RUNS: u32 = 500;
/// Rows of one part of a run at most.
const MAX_ROWS: u32 = 10_000;
/// Characters of a prompt in a list.
const PROMPT: u32 = 500;

/// A query for runs that grows condition by condition.
pub(crate) struct Query {
    sql: String,
    values: Vec<Value>,
}

impl Query {
    /// `columns` of the runs that `who` may see and `filter` lets through. With a facet in the filter its index leads, else the
    /// index of all runs.
    pub(crate) fn new(columns: &str, who: &View, filter: &RunFilter) -> Self {
        let mut facets = facets::asked(filter).into_iter();
        let mut query = Self { sql: format!("SELECT {columns} FROM "), values: values![who.tenant] };
        match facets.next() {
            Some(facet) => {
                // The order of a CROSS JOIN is kept by SQLite.
                query.sql.push_str("run_facets f CROSS JOIN runs r WHERE f.tenant_id = $1");
                query.facet("f", &facet);
                query.sql.push_str(" AND r.tenant_id = $1 AND r.id = f.run_id");
            }
            None => query.sql.push_str("runs r WHERE r.tenant_id = $1"),
        }
        for facet in facets {
            query.sql.push_str(
                " AND EXISTS (SELECT 1 FROM run_facets g WHERE g.tenant_id = $1 AND g.run_id = r.id",
            );
            query.facet("g", &facet);
            query.sql.push(')');
        }
        if !who.whole_tenant {
            query.and("r.user_id = ", who.user);
        }
        if let Some(tier) = filter.tier {
            query.and("r.tier = ", tier.as_str());
        }
        match filter.finished {
            Some(true) => query.sql.push_str(" AND r.ended_at IS NOT NULL"),
            Some(false) => query.sql.push_str(" AND r.ended_at IS NULL"),
            None => {}
        }
        match filter.lossy {
            Some(true) => query.sql.push_str(" AND r.lossy"),
            Some(false) => query.sql.push_str(" AND NOT r.lossy"),
            None => {}
        }
        let leads = query.leads();
        if let Some(since) = filter.since {
            query.and(&format!("{leads}.started_at >= "), since);
        }
        if let Some(until) = filter.until {
            query.and(&format!("{leads}.started_at < "), until);
        }
        query
    }

    /// The table whose order the list has.
    fn leads(&self) -> &'static str {
        if self.sql.contains("FROM run_facets f") { "f" } else { "r" }
    }

    fn put(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        let place = self.put(value);
        let _ = write!(self.sql, " AND {condition}{place}");
    }

    fn facet(&mut self, table: &str, facet: &Facet) {
        self.and(&format!("{table}.hash = "), facet.hash());
        let (kind, value) = (self.put(facet.kind), self.put(facet.value.as_str()));
        // What the hash has chosen already chooses nothing more, but PostgreSQL would multiply the three, expect a few rows,
        // and sort them all instead of walking the index. It makes no guess about a CASE.
        let _ = write!(
            self.sql,
            " AND CASE WHEN {table}.kind = {kind} AND {table}.value = {value} THEN TRUE ELSE FALSE END"
        );
    }

    /// Newest first, behind `after`.
    pub(crate) async fn newest(
        self,
        tx: &mut TenantTx,
        after: Option<(&str, Cursor)>,
        limit: u32,
    ) -> Result<Vec<crate::sql::Row>, StoreError> {
        let (sql, values) = self.ordered(after, limit);
        Ok(tx.rows(sql, values).await?)
    }

    /// Its text and values.
    pub(crate) fn ordered(mut self, after: Option<(&str, Cursor)>, limit: u32) -> (String, Vec<Value>) {
        let (leads, id) = if self.leads() == "f" { ("f", "run_id") } else { ("r", "id") };
        if let Some((compare, cursor)) = after {
            let (started_at, run) = (self.put(cursor.started_at), self.put(cursor.id));
            let _ =
                write!(self.sql, " AND ({leads}.started_at, {leads}.{id}) {compare} ({started_at}, {run})");
        }
        let limit = self.put(limit);
        let _ = write!(self.sql, " ORDER BY {leads}.started_at DESC, {leads}.{id} DESC LIMIT {limit}");
        (self.sql, self.values)
    }
}

pub(crate) async fn list(
    tx: &mut TenantTx,
    who: &View,
    filter: &RunFilter,
    page: &Page,
) -> Result<RunPage, StoreError> {
    let after = page.cursor.as_deref().map(|text| Cursor::read(text, List::Runs)).transpose()?;
    let limit = page.limit.clamp(1, MAX_RUNS);
    let columns = format!("{}, substr(r.input, 1, {PROMPT})", columns::SUMMARY);
    let query = Query::new(&columns, who, filter);
    let rows = query.newest(tx, after.map(|cursor| ("<", cursor)), limit + 1).await?;
    let more = rows.len() > limit as usize;
    let runs = rows.iter().take(limit as usize).map(columns::summary).collect::<Result<Vec<_>, _>>()?;
    let next = runs
        .last()
        .filter(|_| more)
        .map(|last| Cursor { started_at: last.started_at, id: last.id.uuid(), index: 0 }.write(List::Runs));
    Ok(RunPage { runs, next })
}

/// ` AND user_id = $n` where only one's own runs are seen; the user is the value `n`.
fn own(who: &View, n: usize) -> String {
    if who.whole_tenant {
        format!(" AND (r.user_id = ${n} OR TRUE)")
    } else {
        format!(" AND r.user_id = ${n}")
    }
}

/// One run with what is known of its beginning.
async fn whole(
    tx: &mut TenantTx,
    who: &View,
    run: RunId,
) -> Result<Option<(RunDetail, Option<String>)>, StoreError> {
    let sql = format!(
        "SELECT {}, r.input, r.final_output, r.metrics, r.more FROM runs r
         WHERE r.tenant_id = $1 AND r.id = $2{}",
        columns::SUMMARY,
        own(who, 3)
    );
    let Some(row) = tx.row(sql, values![who.tenant, run, who.user]).await? else { return Ok(None) };
    const AFTER: usize = columns::SUMMARY_COLUMNS + 1;
    let more: columns::RunMore = row.json(AFTER + 2)?.unwrap_or_default();
    let mut detail = RunDetail {
        summary: columns::summary(&row)?,
        final_output: row.opt_text(AFTER)?,
        session_id: more.session_id,
        metadata: serde_json::Value::Object(more.metadata.into_iter().collect()),
        metrics: row.json(AFTER + 1)?,
        losses: Vec::new(),
    };
    let sql = "SELECT id, run_id, calls, records, reason, at FROM losses
               WHERE tenant_id = $1 AND run_id = $2 ORDER BY seq, id";
    for row in tx.rows(sql, values![who.tenant, run]).await? {
        detail.losses.push(columns::lost(&row)?);
    }
    Ok(Some((detail, more.framework)))
}

pub(crate) async fn detail(
    tx: &mut TenantTx,
    who: &View,
    run: RunId,
) -> Result<Option<RunDetail>, StoreError> {
    let Some((mut detail, _)) = whole(tx, who, run).await? else { return Ok(None) };
    if detail.final_output.is_none() {
        let sql =
            "SELECT s.tool_output FROM steps s WHERE s.tenant_id = $1 AND s.run_id = $2 AND s.step_type = $3
                   ORDER BY s.step_index DESC LIMIT 1";
        let answer = tx.row(sql, values![who.tenant, run, columns::FINAL]).await?;
        detail.final_output = answer.map(|row| row.opt_text(0)).transpose()?.flatten();
    }
    Ok(Some(detail))
}

/// Whether `who` may see the run.
pub(crate) async fn visible(tx: &mut TenantTx, who: &View, run: RunId) -> Result<bool, StoreError> {
    let sql = format!("SELECT r.id FROM runs r WHERE r.tenant_id = $1 AND r.id = $2{}", own(who, 3));
    Ok(tx.row(sql, values![who.tenant, run, who.user]).await?.is_some())
}

pub(crate) async fn steps(
    tx: &mut TenantTx,
    who: &View,
    run: RunId,
    from: u32,
    limit: u32,
) -> Result<StepPage, StoreError> {
    let nothing = StepPage { steps: Vec::new(), next: None };
    if !visible(tx, who, run).await? {
        return Ok(nothing);
    }
    let limit = limit.clamp(1, MAX_ROWS);
    let sql = format!(
        "SELECT {} FROM steps s WHERE s.tenant_id = $1 AND s.run_id = $2 AND s.step_index >= $3 AND s.step_type <> $4
         ORDER BY s.step_index LIMIT $5",
        columns::STEP
    );
    let rows = tx.rows(sql, values![who.tenant, run, from, columns::FINAL, limit + 1]).await?;
    let next = rows.get(limit as usize).map(|row| row.number32(2)).transpose()?;
    let steps = rows.iter().take(limit as usize).map(columns::step).collect::<Result<Vec<_>, _>>()?;
    Ok(StepPage { steps, next })
}

pub(crate) async fn records(
    tx: &mut TenantTx,
    who: &View,
    run: RunId,
    after: Option<u32>,
    limit: u32,
) -> Result<Vec<Record>, StoreError> {
    let Some((detail, framework)) = whole(tx, who, run).await? else { return Ok(Vec::new()) };
    let limit = limit.clamp(1, MAX_ROWS);
    let mut records = Vec::new();
    let summary = detail.summary;
    if after.is_none() {
        let metadata = match detail.metadata {
            serde_json::Value::Object(members) => members.into_iter().collect(),
            _ => Default::default(),
        };
        records.push(Record::Run(RunStart {
            id: run,
            tier: summary.tier,
            framework,
            input: summary.input,
            started_at: summary.started_at,
            project: summary.project,
            host: summary.host,
            servers: summary.servers,
            session_id: detail.session_id,
            metadata,
        }));
        records.extend(crate::toolsets::of_run(tx, run).await?.into_iter().map(Record::Tools));
    }
    let sql = format!(
        "SELECT {} FROM steps s WHERE s.tenant_id = $1 AND s.run_id = $2 AND s.step_index > $3
         ORDER BY s.step_index LIMIT $4",
        columns::STEP
    );
    let after = after.map_or(-1, i64::from);
    let rows = tx.rows(sql, values![who.tenant, run, after, limit]).await?;
    for row in &rows {
        records.push(columns::record(row)?);
    }
    if rows.len() < limit as usize {
        if let (Some(at), Some(reason)) = (summary.ended_at, summary.end_reason) {
            let (final_output, metrics) = (detail.final_output, detail.metrics);
            records.push(Record::Finish(Finish { run_id: run, at, reason, final_output, metrics }));
        }
        records.extend(detail.losses.into_iter().map(Record::Lost));
    }
    Ok(records)
}
