//! Booking records: in order, in one transaction, each with a verdict of its own.
//!
//! ```text
//!  records ─ check   what no database has to be asked for: sizes, numbers
//!          ─ runs    which runs are known, and whose; in PostgreSQL they stay locked until the end, so that nobody else
//!                    books the same run meanwhile
//!          ─ rows    INSERT … ON CONFLICT DO NOTHING RETURNING id, many rows a statement; what came not back is looked at:
//!                    a duplicate, a taken index, or a real answer for one that was given up
//!          ─ counts  one UPDATE a run with what was really booked
//! ```
//!
//! Nothing fails inside the database because of a record, so one bad record does not cost the others.

pub(crate) mod bulk;
pub(crate) mod check;
pub(crate) mod plan;
pub(crate) mod rows;

use crate::StoreError;
use crate::model::{Appended, View};
use crate::sql::{Db, TenantTx};
use bir_model::record::Record;

/// How often a transaction that lost a race against another is begun again.
const TRIES: u32 = 8;

/// Why records were not booked.
#[derive(Debug)]
pub(crate) enum Undone {
    /// Another transaction came in between: again from the beginning.
    Again,
    /// As it says.
    Failed(StoreError),
}

impl From<sqlx::Error> for Undone {
    fn from(error: sqlx::Error) -> Self {
        if crate::error::lost_race(&error) { Self::Again } else { Self::Failed(error.into()) }
    }
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

/// Books in a transaction of its own.
pub(crate) async fn append(db: &Db, who: &View, records: &[Record]) -> Result<Vec<Appended>, StoreError> {
    for _ in 0..TRIES {
        let mut tx = db.write(who.tenant).await?;
        let undone = match within(&mut tx, who, records).await {
            Ok(verdicts) => match tx.commit().await {
                Ok(()) => return Ok(verdicts),
                Err(error) => error.into(),
            },
            Err(undone) => undone,
        };
        match undone {
            Undone::Again => {}
            Undone::Failed(error) => return Err(error),
        }
    }
    Err(StoreError::Unavailable("the same runs are written from several places at once; try again".into()))
}

/// Records from which on planning anew (some ms) is little beside booking them. Without, 6,000 runs took 43 s in a new
/// database (`examples/fill.rs`).
const MANY: usize = 200;

/// Books in a transaction that is there.
pub(crate) async fn within(
    tx: &mut TenantTx,
    who: &View,
    records: &[Record],
) -> Result<Vec<Appended>, Undone> {
    let mut plan = plan::Plan::new(tx, who, records).await?;
    plan.insert_runs(tx).await?;
    if records.len() >= MANY {
        tx.plan_anew().await?;
    }
    plan.insert_rows(tx).await?;
    plan.insert_losses(tx).await?;
    plan.insert_tools(tx).await?;
    plan.finish(tx).await
}

/// A refusal.
pub(crate) fn refused(code: &str, detail: impl Into<String>) -> Appended {
    Appended::Refused { code: code.to_owned(), detail: detail.into() }
}
