//! Lists of scenarios, one scenario, and what matching reads of all of them.

use super::{Part, Query, columns, family_hash, newest, owned, project_hash};
use crate::StoreError;
use crate::cursor::{Cursor, List};
use crate::model::{
    Candidate, FeedPosition, Page, ScenarioDetail, ScenarioFilter, ScenarioPage, ScenarioStep, View,
};
use crate::sql::{TenantTx, values};
use bir_model::ScenarioId;
use std::fmt::Write as _;

/// Characters of a prompt in a list.
pub(super) const PROMPT: u32 = 500;
/// Steps, or candidates, of one part at most.
const MAX_PART: u32 = 1_000;
/// Bytes of large values of one part, about: behind so many no further row follows.
const MAX_PART_BYTES: u64 = 64 << 20;

pub(crate) fn list_query(who: &View, filter: &ScenarioFilter, after: Option<Cursor>, limit: u32) -> Query {
    let columns = format!("{}, substr(s.prompt, 1, {PROMPT})", columns::SUMMARY);
    filtered(&columns, who, filter, after, limit)
}

/// Ids and projects of the newest.
pub(super) fn beside_query(who: &View, filter: &ScenarioFilter, limit: u32) -> Query {
    filtered("s.id, s.project", who, filter, None, limit)
}

fn filtered(columns: &str, who: &View, filter: &ScenarioFilter, after: Option<Cursor>, limit: u32) -> Query {
    let mut sql = format!("SELECT {columns} FROM scenarios s WHERE s.tenant_id = $1 AND s.user_id = $2");
    let mut values = values![who.tenant, who.user];
    if let Some(state) = filter.state {
        values.push(state.as_str().into());
        let _ = write!(sql, " AND s.state = ${}", values.len());
    }
    let hashed = [
        ("project", filter.project.as_ref().map(|project| (project_hash(project), project))),
        ("family", filter.family.as_ref().map(|family| (family_hash(family), family))),
    ];
    for (column, asked) in hashed {
        let Some((hash, value)) = asked else { continue };
        values.extend(values![hash, value]);
        let n = values.len();
        // As in `runs`: PostgreSQL makes no guess about a CASE, and walks the index.
        let _ = write!(
            sql,
            " AND s.{column}_hash = ${} AND CASE WHEN s.{column} = ${n} THEN TRUE ELSE FALSE END",
            n - 1
        );
    }
    newest((sql, values), "s.created_at", "s.id", after, limit)
}

pub(crate) async fn list(
    tx: &mut TenantTx,
    who: &View,
    filter: &ScenarioFilter,
    page: &Page,
) -> Result<ScenarioPage, StoreError> {
    let part = Part::of(List::Scenarios, page)?;
    let (sql, values) = list_query(who, filter, part.after, part.limit + 1);
    let rows = tx.rows(sql, values).await?;
    let (scenarios, next) = part.cut(&rows, columns::summary, |one| (one.created_at, one.id.uuid()))?;
    Ok(ScenarioPage { scenarios, next })
}

pub(crate) async fn detail(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
) -> Result<Option<ScenarioDetail>, StoreError> {
    let sql = format!(
        "SELECT {}, s.prompt, s.plan FROM scenarios s WHERE s.tenant_id = $1 AND s.id = $2 AND s.user_id = $3",
        columns::SUMMARY
    );
    let row = tx.row(sql, values![who.tenant, id, who.user]).await?;
    let read = row.map(|row| {
        let plan = row.opt_text(columns::SUMMARY_COLUMNS + 1)?;
        Ok(ScenarioDetail { summary: columns::summary(&row)?, plan })
    });
    read.transpose()
}

/// How many of the rows, whose sizes are the second column, make a part.
fn fitting(rows: &[crate::sql::Row]) -> Result<u32, StoreError> {
    let mut bytes = 0;
    let mut count = 0;
    for row in rows {
        count += 1;
        bytes += row.number(1)?;
        if bytes >= MAX_PART_BYTES {
            break;
        }
    }
    Ok(count)
}

pub(crate) async fn steps(
    tx: &mut TenantTx,
    who: &View,
    id: ScenarioId,
    from: u32,
    limit: u32,
) -> Result<Vec<ScenarioStep>, StoreError> {
    if !owned(tx, who, id).await? {
        return Ok(Vec::new());
    }
    let rest = "FROM scenario_steps WHERE tenant_id = $1 AND scenario_id = $2 AND step_index >= $3
                ORDER BY step_index LIMIT $4";
    let of = |limit: u32| values![who.tenant, id, from, limit];
    let size = "COALESCE(octet_length(recorded_input), 0) + COALESCE(octet_length(recorded_output), 0)
                + COALESCE(octet_length(input_logic), 0) + COALESCE(octet_length(output_logic), 0)";
    let sizes = tx
        .rows(format!("SELECT step_index, CAST({size} AS BIGINT) {rest}"), of(limit.clamp(1, MAX_PART)))
        .await?;
    let fitting = fitting(&sizes)?;
    if fitting == 0 {
        return Ok(Vec::new());
    }
    let rows = tx.rows(format!("SELECT {} {rest}", columns::STEP), of(fitting)).await?;
    rows.iter().map(columns::step).collect()
}

pub(crate) fn candidates_query(who: &View, columns: &str, after: Option<FeedPosition>, limit: u32) -> Query {
    let mut sql = format!("SELECT {columns} FROM scenarios s WHERE s.tenant_id = $1 AND s.user_id = $2");
    let mut values = values![who.tenant, who.user];
    if let Some(position) = after {
        values.extend(values![position.updated_at, position.id]);
        sql.push_str(" AND (s.updated_at, s.id) > ($3, $4)");
    }
    values.push(limit.into());
    let _ = write!(sql, " ORDER BY s.updated_at, s.id LIMIT ${}", values.len());
    (sql, values)
}

pub(crate) async fn candidates(
    tx: &mut TenantTx,
    who: &View,
    after: Option<FeedPosition>,
    limit: u32,
) -> Result<Vec<Candidate>, StoreError> {
    let size = "s.id, CAST(octet_length(s.prompt) + COALESCE(octet_length(s.plan), 0) AS BIGINT)";
    let (sql, values) = candidates_query(who, size, after, limit.clamp(1, MAX_PART));
    let fitting = fitting(&tx.rows(sql, values).await?)?;
    if fitting == 0 {
        return Ok(Vec::new());
    }
    let (sql, values) = candidates_query(who, columns::CANDIDATE, after, fitting);
    tx.rows(sql, values).await?.iter().map(columns::candidate).collect()
}
