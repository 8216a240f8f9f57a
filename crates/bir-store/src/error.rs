use bir_model::{RunId, ScenarioId};
use thiserror::Error;

/// Why a store did not do what it was asked for.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The address names no store.
    #[error("`{0}` names no store; it is `sqlite:PATH` or `postgres://USER@HOST/DATABASE`")]
    Address(String),
    /// The data was written by a newer version.
    #[error(
        "the data in {place} has schema {found}, and this version knows {known}; use the newer bir that wrote it, or restore a backup"
    )]
    Newer {
        /// Which store.
        place: String,
        /// Its schema.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// The data was written by an older version, and this role may not change its schema.
    #[error(
        "the data in {place} has schema {found}, and this version needs {known}; run `bir-hub migrate --store URL` with the URL of the database's owner"
    )]
    Older {
        /// Which store.
        place: String,
        /// Its schema; 0: there is none yet.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// The database role has more rights than row-level security can hold.
    #[error(
        "the database role `{role}` {why}; give the hub a role of its own (see `bir-hub migrate --help`)"
    )]
    Role {
        /// The role.
        role: String,
        /// What is wrong with it.
        why: String,
    },
    /// It exists already.
    #[error("{0} exists already")]
    Conflict(String),
    /// It was changed meanwhile.
    #[error("the scenario has revision {found} by now, not {expected}; read it again")]
    Revision {
        /// The one that was read.
        expected: u64,
        /// The one that it has.
        found: u64,
    },
    /// A run belongs to one scenario, and this one belongs to another.
    #[error("{run} belongs to {scenario} already")]
    Taken {
        /// The run.
        run: RunId,
        /// Its scenario.
        scenario: ScenarioId,
    },
    /// Another scenario of the same calls and project was made meanwhile.
    #[error("{0} of the same calls was made meanwhile; try the run with it")]
    Beside(ScenarioId),
    /// It cannot be kept, ever: sending it again changes nothing.
    #[error("that cannot be kept: {0}")]
    Refused(String),
    /// The cursor was not made by this store.
    #[error("the cursor is not one of this list; begin again without it")]
    Cursor,
    /// The database does not answer, or the disk is full: worth trying again later.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// Anything else.
    #[error("the store failed: {0}")]
    Failed(String),
}

/// Primary result codes of SQLite that pass: not enough memory, busy, locked, read-only, I/O, full, cannot open.
const SQLITE_PASSING: [i32; 7] = [5, 6, 7, 8, 10, 13, 14];
/// Classes and codes of PostgreSQL that pass: connection, rolled back for another's sake, resources, a statement that was
/// cancelled or a server that goes down, a lock that was not had, a server that only reads.
const POSTGRES_PASSING: [&str; 6] = ["08", "40", "53", "57", "55P03", "25006"];

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let passing = match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default();
                if database.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                    code.parse::<i32>().is_ok_and(|code| SQLITE_PASSING.contains(&(code & 0xff)))
                } else {
                    POSTGRES_PASSING.iter().any(|class| code.starts_with(class))
                }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => true,
            _ => false,
        };
        if passing { Self::Unavailable(error.to_string()) } else { Self::Failed(error.to_string()) }
    }
}

/// Whether the database gave up on a transaction that would go through when tried again: a deadlock, a lost race.
pub(crate) fn lost_race(error: &sqlx::Error) -> bool {
    let Some(database) = error.as_database_error() else { return false };
    // Serialization failure, deadlock, and a row that another transaction wrote or removed in between.
    matches!(database.code().as_deref(), Some("40001" | "40P01" | "23503" | "23505"))
}
