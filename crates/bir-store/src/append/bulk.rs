//! Many rows in one statement.

use crate::sql::{Row, TenantTx, Value};
use std::fmt::Write as _;

/// Rows of one statement. Only these numbers occur, so that few statements are prepared and kept.
const CHUNKS: [usize; 3] = [96, 12, 1];

/// Where rows go.
pub(crate) struct Into<'a> {
    pub(crate) table: &'a str,
    pub(crate) columns: &'a [&'a str],
    /// A column of what was really inserted that is given back.
    pub(crate) returning: &'a str,
}

/// Inserts rows, leaving out those that conflict with what is there; gives the column of those that went in.
pub(crate) async fn insert(
    tx: &mut TenantTx,
    into: &Into<'_>,
    rows: Vec<Vec<Value>>,
) -> Result<Vec<Row>, sqlx::Error> {
    let mut inserted = Vec::with_capacity(rows.len());
    let mut left = rows.len();
    let mut rows = rows.into_iter();
    while left > 0 {
        let chunk = CHUNKS.into_iter().find(|chunk| *chunk <= left).unwrap_or(1);
        let mut values = Vec::with_capacity(chunk * into.columns.len());
        values.extend(rows.by_ref().take(chunk).flatten());
        inserted.extend(tx.rows(statement(into, chunk, tx.is_postgres()), values).await?);
        left -= chunk;
    }
    Ok(inserted)
}

fn statement(into: &Into<'_>, rows: usize, numbered: bool) -> String {
    let columns = into.columns.len();
    let mut sql = String::with_capacity(128 + rows * columns * 6);
    let _ = write!(sql, "INSERT INTO {} ({}) VALUES ", into.table, into.columns.join(","));
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ",(" });
        for column in 0..columns {
            let comma = if column == 0 { "" } else { "," };
            // A parameter's number is found by a search through all of them in SQLite, so it gets none there.
            let _ = match numbered {
                true => write!(sql, "{comma}${}", row * columns + column + 1),
                false => write!(sql, "{comma}?"),
            };
        }
        sql.push(')');
    }
    let _ = write!(sql, " ON CONFLICT DO NOTHING RETURNING {}", into.returning);
    sql
}
