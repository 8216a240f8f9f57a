//! The embedded default: one SQLite file.
//!
//! Write-ahead log, so that readers and the writer do not wait for each other, and `synchronous = NORMAL`: a commit is in
//! the log when it returns, and survives a crash of the program at any point. A power failure may cost the last commits,
//! though never the file; [`Options::durable`] makes each commit wait for the disk.

use crate::sql::Db;
use crate::sql_store::SqlStore;
use crate::writer::Writer;
use crate::{Options, StoreError, migrations};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use std::path::Path;
use std::time::Duration;

/// A page of the file, bytes; SQLite's default.
const PAGE: u64 = 4096;
/// The write-ahead log is cut to this after a checkpoint, bytes.
const LOG_LIMIT: &str = "67108864";
/// Memory for pages per connection, KiB.
const CACHE: &str = "-8192";
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 200;

pub(crate) async fn open(file: Option<&Path>, options: &Options) -> Result<SqlStore, StoreError> {
    let place = file.map_or_else(|| "memory".to_owned(), |file| file.display().to_string());
    let mut connect = SqliteConnectOptions::new()
        .foreign_keys(true)
        .busy_timeout(options.patience)
        .statement_cache_capacity(STATEMENTS)
        .pragma("cache_size", CACHE)
        .pragma("temp_store", "memory");
    connect = match file {
        Some(file) => {
            private(file).map_err(|e| StoreError::Unavailable(format!("{place} cannot be opened: {e}")))?;
            let synchronous =
                if options.durable { SqliteSynchronous::Full } else { SqliteSynchronous::Normal };
            connect
                .filename(file)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(synchronous)
                .pragma("journal_size_limit", LOG_LIMIT)
        }
        None => connect.in_memory(true),
    };
    // What is deleted is not to be found in the file either.
    let mut writing = connect.clone().pragma("secure_delete", "1");
    if let Some(limit) = options.size_limit {
        writing = writing.pragma("max_page_count", (limit / PAGE).max(1).to_string());
    }
    // The database in memory lives as long as its only connection.
    let pool = || {
        SqlitePoolOptions::new()
            .acquire_timeout(options.patience)
            .idle_timeout(None::<Duration>)
            .max_lifetime(None::<Duration>)
            .test_before_acquire(false)
    };
    let write = pool().max_connections(1).min_connections(1).connect_with(writing).await;
    let write = write.map_err(|error| refused(&place, error))?;
    let mut connection = write.acquire().await?;
    migrations::sqlite(&mut connection, &place, migrations::SQLITE).await?;
    drop(connection);
    let read = match file {
        Some(_) => {
            let reading = connect.pragma("query_only", "1");
            pool().max_connections(options.connections.max(1)).connect_with(reading).await?
        }
        None => write.clone(),
    };
    let db = Db::Sqlite { write, read };
    Ok(SqlStore { writer: Some(Writer::start(db.clone(), options)), db })
}

/// Makes the file, if it is not there, for nobody but its owner. What SQLite puts beside it gets the same rights.
fn private(file: &Path) -> std::io::Result<()> {
    let mut open = std::fs::OpenOptions::new();
    open.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(file).map(|_| ())
}

fn refused(place: &str, error: sqlx::Error) -> StoreError {
    match StoreError::from(error) {
        StoreError::Failed(why) => {
            StoreError::Failed(format!("{place} is no database that can be opened: {why}"))
        }
        StoreError::Unavailable(why) => StoreError::Unavailable(format!("{place} cannot be opened: {why}")),
        other => other,
    }
}
