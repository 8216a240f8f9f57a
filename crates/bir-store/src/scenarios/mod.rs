//! Scenarios: what recorded runs were calculated to, for their owner alone.
//!
//! ```text
//!  put ─▶ scenarios ─┬─ scenario_steps   edit ─▶ scenario_edits     every change of a plan raises `revision`, under the lock of
//!                    ├─ scenario_runs                              the scenario's row
//!                    └─ executions       issue ─▶ ticket ─▶ redeem  one UPDATE that only one can win
//! ```
//!
//! Each statement names tenant and owner, or comes after one that has found the scenario for both.

pub(crate) mod columns;
pub(crate) mod edit;
pub(crate) mod executions;
pub(crate) mod limits;
#[cfg(test)]
mod plans;
pub(crate) mod put;
pub(crate) mod read;
pub(crate) mod runs;

use crate::StoreError;
use crate::append::Undone;
use crate::cursor::{Cursor, List};
use crate::facets::Facet;
use crate::model::{Page, View};
use crate::sql::{Row, TenantTx, Value, values};
use bir_model::ScenarioId;
use uuid::Uuid;

/// How often a transaction that lost a race against another is begun again.
const TRIES: u32 = 8;
/// Rows of one part of a list at most.
const MAX_ROWS: u32 = 500;

/// The hash by which a project is found.
fn project_hash(project: &str) -> i64 {
    Facet::new("project", project).hash()
}

/// The hash by which a family is found.
fn family_hash(family: &str) -> i64 {
    Facet::new("family", family).hash()
}

/// Tries a transaction again when it lost a race, so many times.
macro_rules! again {
    ($once:expr) => {{
        for _ in 0..$crate::scenarios::TRIES {
            match $once.await {
                Ok(done) => return Ok(done),
                Err($crate::append::Undone::Again) => {}
                Err($crate::append::Undone::Failed(error)) => return Err(error),
            }
        }
        let why = "the same scenario is written from several places at once; try again";
        Err($crate::StoreError::Unavailable(why.into()))
    }};
}
use again;

/// The revision of a scenario of `who`, and nobody else changes it until the end of the transaction.
async fn locked(tx: &mut TenantTx, who: &View, id: ScenarioId) -> Result<Option<u64>, Undone> {
    let lock = if tx.is_postgres() { " FOR UPDATE" } else { "" };
    let sql = format!(
        "SELECT s.revision FROM scenarios s WHERE s.tenant_id = $1 AND s.id = $2 AND s.user_id = $3{lock}"
    );
    let row = tx.row(sql, values![who.tenant, id, who.user]).await?;
    Ok(row.map(|row| row.number(0)).transpose()?)
}

/// Whether a scenario is one of `who`.
async fn owned(tx: &mut TenantTx, who: &View, id: ScenarioId) -> Result<bool, StoreError> {
    let sql = "SELECT s.id FROM scenarios s WHERE s.tenant_id = $1 AND s.id = $2 AND s.user_id = $3";
    Ok(tx.row(sql, values![who.tenant, id, who.user]).await?.is_some())
}

/// A query with its values.
pub(crate) type Query = (String, Vec<Value>);

/// A part of a list: which list, where it begins, how many rows.
struct Part {
    list: List,
    after: Option<Cursor>,
    limit: u32,
}

impl Part {
    fn of(list: List, page: &Page) -> Result<Self, StoreError> {
        let after = page.cursor.as_deref().map(|text| Cursor::read(text, list)).transpose()?;
        Ok(Self { list, after, limit: page.limit.clamp(1, MAX_ROWS) })
    }

    /// The rows of this part, and where the next one begins. One more than the limit was asked for.
    fn cut<T>(
        &self,
        rows: &[Row],
        read: impl Fn(&Row) -> Result<T, StoreError>,
        position: impl Fn(&T) -> (u64, Uuid),
    ) -> Result<(Vec<T>, Option<String>), StoreError> {
        let read = rows.iter().take(self.limit as usize).map(read).collect::<Result<Vec<_>, _>>()?;
        let last = read.last().filter(|_| rows.len() > self.limit as usize).map(position);
        let next = last.map(|(at, id)| Cursor { started_at: at, id, index: 0 }.write(self.list));
        Ok((read, next))
    }
}

/// `query`, newest first by `at` and `id`, behind `after`, at most `limit` rows.
fn newest((mut sql, mut values): Query, at: &str, id: &str, after: Option<Cursor>, limit: u32) -> Query {
    use std::fmt::Write as _;
    let n = values.len();
    if let Some(cursor) = after {
        values.extend(values![cursor.started_at, cursor.id]);
        let _ = write!(sql, " AND ({at}, {id}) < (${}, ${})", n + 1, n + 2);
    }
    values.push(limit.into());
    let _ = write!(sql, " ORDER BY {at} DESC, {id} DESC LIMIT ${}", values.len());
    (sql, values)
}
