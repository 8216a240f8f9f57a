//! Rows that hold a text.
//!
//! There is no index of words: a part of a tool's result is what people look for, and that is rarely a word. Instead each
//! part of the answer looks at a bounded number of rows, newest run first, and its cursor says where it stopped. A part may
//! therefore be empty and not the last.

use crate::StoreError;
use crate::columns;
use crate::cursor::{Cursor, List};
use crate::model::{Page, RunFilter, SearchPage, View};
use crate::runs::Query;
use crate::sql::{TenantTx, Value, placeholders, text, values};
use bir_model::RunId;
use bir_model::record::Step;

/// Rows that are looked at for one part of the answer, about.
const LOOKED_AT: u64 = 20_000;
/// Runs that are looked at together.
const RUNS: u32 = 100;
/// Rounds of that for one part of the answer: many runs have few rows.
const ROUNDS: u32 = 10;
/// Rows of one part of the answer at most.
const MAX_ROWS: u32 = 500;

struct Candidate {
    id: RunId,
    started_at: u64,
    rows: u64,
}

pub(crate) async fn search(
    tx: &mut TenantTx,
    who: &View,
    needle: &str,
    filter: &RunFilter,
    page: &Page,
) -> Result<SearchPage, StoreError> {
    let mut position = page.cursor.as_deref().map(|text| Cursor::read(text, List::Search)).transpose()?;
    let limit = page.limit.clamp(1, MAX_ROWS) as usize;
    let mut steps = Vec::new();
    let mut budget = LOOKED_AT;
    for _ in 0..ROUNDS {
        let query = Query::new("r.id, r.started_at, r.row_count", who, filter);
        // The run of the cursor itself may have rows left.
        let compare = |cursor: Cursor| (if cursor.index == u32::MAX { "<" } else { "<=" }, cursor);
        let rows = query.newest(tx, position.map(compare), RUNS).await?;
        let last_runs = rows.len() < RUNS as usize;
        let mut runs = Vec::new();
        for row in &rows {
            let id = RunId::from_uuid(row.uuid(0)?);
            runs.push(Candidate { id, started_at: row.number(1)?, rows: row.number(2)? });
        }
        let from = position.filter(|cursor| runs.first().is_some_and(|run| run.id.uuid() == cursor.id));
        let from = from.map_or(0, |cursor| cursor.index);
        // As many runs as the budget allows, and at least one.
        let mut count = 0;
        let mut weight = 0;
        for run in &runs {
            if count > 0 && weight + run.rows > budget {
                break;
            }
            weight += run.rows;
            count += 1;
        }
        let all = count == runs.len();
        runs.truncate(count);
        let Some(last) = runs.last() else { return Ok(SearchPage { steps, next: None }) };
        // A single run that is larger than the budget is looked at in parts.
        let end = if count == 1 && weight > budget { end_of(tx, last.id, from, budget).await? } else { None };
        let mut next = match end {
            Some(index) => Cursor { started_at: last.started_at, id: last.id.uuid(), index },
            None => Cursor { started_at: last.started_at, id: last.id.uuid(), index: u32::MAX },
        };
        let over = all && last_runs && end.is_none();
        let wanted = limit - steps.len();
        let found = look(tx, needle, filter, &runs, (from, end), wanted + 1).await?;
        let full = found.len() > wanted;
        steps.extend(found.into_iter().take(wanted));
        if full {
            if let Some(row) = steps.last()
                && let Some(run) = runs.iter().find(|run| run.id == row.run_id)
            {
                let index = row.step_index.saturating_add(1);
                next = Cursor { started_at: run.started_at, id: run.id.uuid(), index };
            }
            return Ok(SearchPage { steps, next: Some(next.write(List::Search)) });
        }
        if over {
            return Ok(SearchPage { steps, next: None });
        }
        position = Some(next);
        budget = budget.saturating_sub(weight);
        if budget == 0 || steps.len() == limit {
            break;
        }
    }
    Ok(SearchPage { steps, next: position.map(|cursor| cursor.write(List::Search)) })
}

/// The first index of a run that is beyond so many rows from `from`.
async fn end_of(tx: &mut TenantTx, run: RunId, from: u32, rows: u64) -> Result<Option<u32>, StoreError> {
    let sql =
        "SELECT s.step_index FROM steps s WHERE s.tenant_id = $1 AND s.run_id = $2 AND s.step_index >= $3
               ORDER BY s.step_index LIMIT 1 OFFSET $4";
    let row = tx.row(sql, values![tx.tenant(), run, from, rows]).await?;
    row.map(|row| row.number32(0)).transpose()
}

/// Rows of these runs that hold the text; of the first run from an index on, of the only one up to another.
async fn look(
    tx: &mut TenantTx,
    needle: &str,
    filter: &RunFilter,
    runs: &[Candidate],
    (from, end): (u32, Option<u32>),
    limit: usize,
) -> Result<Vec<Step>, StoreError> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let (pattern, again) = text::like(needle);
    let like = if tx.is_postgres() { "ILIKE" } else { "LIKE" };
    let mut values = values![tx.tenant(), pattern, columns::FINAL, first.id, from, end.map(u64::from)];
    let matches: Vec<String> = ["tool_name", "tool_input", "tool_output", "tool_error"]
        .iter()
        .map(|column| format!("s.{column} {like} $2 ESCAPE '\\'"))
        .collect();
    let mut sql = format!(
        "SELECT {} FROM steps s JOIN runs r ON r.tenant_id = s.tenant_id AND r.id = s.run_id
         WHERE s.tenant_id = $1 AND s.step_type <> $3 AND (s.run_id <> $4 OR s.step_index >= $5)
           AND ($6 IS NULL OR s.step_index < $6) AND ({})",
        columns::STEP,
        matches.join(" OR ")
    );
    let mut also = |column: &str, other: &str, value: &str| {
        values.push(value.into());
        let n = values.len();
        sql.push_str(&format!(" AND (s.{column} = ${n} OR s.{other} = ${n})"));
    };
    // Whoever asks for a tool and a text means rows of that tool.
    if let Some(tool) = &filter.tool {
        also("tool_name", "tool", tool);
    }
    if let Some(server) = &filter.server {
        also("server", "server", server);
    }
    let at = values.len() + 1;
    values.extend(runs.iter().map(|run| Value::from(run.id)));
    sql.push_str(&format!(" AND s.run_id IN ({})", placeholders(at, runs.len())));
    sql.push_str(" ORDER BY r.started_at DESC, r.id DESC, s.step_index");
    // What is looked at again may fall out, so it cannot be limited here; the runs are.
    if !again {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    let folded = text::lower(needle);
    let mut steps = Vec::new();
    for row in tx.rows(sql, values).await? {
        let step = columns::step(&row)?;
        let texts = [
            Some(&step.tool_name),
            step.tool_input.as_ref(),
            step.tool_output.as_ref(),
            step.tool_error.as_ref(),
        ];
        if !again || texts.into_iter().flatten().any(|held| text::holds(held, &folded)) {
            steps.push(step);
            if steps.len() == limit {
                break;
            }
        }
    }
    Ok(steps)
}
