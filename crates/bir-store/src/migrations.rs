//! The schema, version by version, and which one a database has.
//!
//! A version's text never changes once it was released; what is new comes as another version, in both folders.

use crate::StoreError;
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

/// A version and the SQL that leads to it from the one before.
type Migration = (i64, &'static str);

pub(crate) const SQLITE: &[Migration] = &[
    (1, include_str!("../migrations/sqlite/0001_first.sql")),
    (2, include_str!("../migrations/sqlite/0002_scenarios.sql")),
    (3, include_str!("../migrations/sqlite/0003_standing.sql")),
    (4, include_str!("../migrations/sqlite/0004_tools.sql")),
    (5, include_str!("../migrations/sqlite/0005_tenant_settings.sql")),
];
pub(crate) const POSTGRES: &[Migration] = &[
    (1, include_str!("../migrations/postgres/0001_first.sql")),
    (2, include_str!("../migrations/postgres/0002_scenarios.sql")),
    (3, include_str!("../migrations/postgres/0003_standing.sql")),
    (4, include_str!("../migrations/postgres/0004_tools.sql")),
    (5, include_str!("../migrations/postgres/0005_tenant_settings.sql")),
];

/// The newest version of a list.
pub(crate) fn newest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |(version, _)| *version)
}

/// Whether `found` is a version that can be opened or migrated.
pub(crate) fn known(place: &str, found: i64, known: i64) -> Result<(), StoreError> {
    if found > known {
        return Err(StoreError::Newer { place: place.to_owned(), found, known });
    }
    Ok(())
}

/// Brings an SQLite file to the newest version of `migrations`, all or nothing.
pub(crate) async fn sqlite(
    connection: &mut SqliteConnection,
    place: &str,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    let tables: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
            .fetch_all(&mut *tx)
            .await?;
    let ours = tables.iter().any(|(name,)| name == "schema_version");
    if !ours && !tables.is_empty() {
        return Err(StoreError::Failed(format!(
            "{place} is the database of another program; name another file"
        )));
    }
    if !ours {
        let sql = "CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT";
        tx.execute(sql).await?;
    }
    let found: i64 = sqlx::query_scalar("SELECT COALESCE(MAX(version), 0) FROM schema_version")
        .fetch_one(&mut *tx)
        .await?;
    known(place, found, newest(migrations))?;
    for (version, sql) in migrations.iter().filter(|(version, _)| *version > found) {
        sqlx::raw_sql(*sql).execute(&mut *tx).await?;
        sqlx::query("INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)")
            .bind(version)
            .bind(crate::people::now().cast_signed())
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Brings a PostgreSQL database to the newest version, as its owner, all or nothing.
pub(crate) async fn postgres(tx: &mut PgConnection, place: &str) -> Result<(), StoreError> {
    sqlx::raw_sql("CREATE SCHEMA IF NOT EXISTS bir").execute(&mut *tx).await?;
    sqlx::raw_sql("SET LOCAL search_path = bir").execute(&mut *tx).await?;
    let sql = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";
    sqlx::raw_sql(sql).execute(&mut *tx).await?;
    let found = postgres_version(tx).await?;
    known(place, found, newest(POSTGRES))?;
    for (version, sql) in POSTGRES.iter().filter(|(version, _)| *version > found) {
        sqlx::raw_sql(*sql).execute(&mut *tx).await?;
        sqlx::query("INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)")
            .bind(version)
            .bind(crate::people::now().cast_signed())
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

/// The version of a PostgreSQL database that has the table.
pub(crate) async fn postgres_version(connection: &mut PgConnection) -> Result<i64, StoreError> {
    let sql = "SELECT COALESCE(MAX(version), 0) FROM bir.schema_version";
    Ok(sqlx::query_scalar(sql).fetch_one(connection).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: &str = "ALTER TABLE runs ADD COLUMN note TEXT; CREATE TABLE notes (id INTEGER) STRICT";
    const BROKEN: &str = "CREATE TABLE half (id INTEGER) STRICT; CREATE TABLE runs (id INTEGER)";

    /// What there is, and one more.
    fn with(sql: &'static str) -> &'static [Migration] {
        SQLITE.iter().copied().chain([(newest(SQLITE) + 1, sql)]).collect::<Vec<_>>().leak()
    }

    #[tokio::test]
    async fn an_older_schema_is_brought_forward_at_once_and_a_newer_one_is_refused() {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlite(&mut db, "here", SQLITE).await.unwrap();
        let error = sqlite(&mut db, "here", with(BROKEN)).await.unwrap_err();
        assert!(matches!(error, StoreError::Failed(_)), "{error}");
        let half = db.execute("SELECT id FROM half").await;
        assert!(half.is_err(), "a migration that fails leaves nothing");
        sqlite(&mut db, "here", with(NEXT)).await.unwrap();
        db.execute("SELECT note FROM runs").await.unwrap();
        sqlite(&mut db, "here", with(NEXT)).await.unwrap();
        let error = sqlite(&mut db, "here", SQLITE).await.unwrap_err();
        let (is, knows) = (newest(SQLITE) + 1, newest(SQLITE));
        assert!(
            matches!(error, StoreError::Newer { found, known, .. } if (found, known) == (is, knows)),
            "{error}"
        );
        assert!(error.to_string().contains("newer bir"), "{error}");
    }

    #[tokio::test]
    async fn of_two_tickets_of_one_match_the_redeemed_one_keeps_its_run() {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlite(&mut db, "here", &SQLITE[..2]).await.unwrap();
        db.execute(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO executions (tenant_id, id, scenario_id, user_id, run_id, issued_at, claimed_at) VALUES
                 (x'01', x'01', x'0A', x'01', x'0B', 1, NULL), (x'01', x'02', x'0A', x'01', x'0B', 2, 9),
                 (x'01', x'03', x'0A', x'01', x'0C', 2, NULL), (x'01', x'04', x'0A', x'01', x'0C', 1, NULL),
                 (x'01', x'05', x'0A', x'01', NULL, 1, NULL), (x'01', x'06', x'0A', x'01', NULL, 1, NULL)",
        )
        .await
        .unwrap();
        sqlite(&mut db, "here", SQLITE).await.unwrap();
        let kept: Vec<Vec<u8>> =
            sqlx::query_scalar("SELECT id FROM executions WHERE run_id IS NOT NULL ORDER BY id")
                .fetch_all(&mut db)
                .await
                .unwrap();
        assert_eq!(kept, [vec![2], vec![4]]);
        let all: i64 =
            sqlx::query_scalar("SELECT count(*) FROM executions").fetch_one(&mut db).await.unwrap();
        assert_eq!(all, 6, "none is lost");
    }

    #[tokio::test]
    async fn the_database_of_another_program_is_left_alone() {
        let mut db = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        db.execute("CREATE TABLE songs (id INTEGER)").await.unwrap();
        let error = sqlite(&mut db, "music.db", SQLITE).await.unwrap_err();
        assert!(error.to_string().contains("another program"), "{error}");
        assert!(db.execute("SELECT version FROM schema_version").await.is_err());
    }

    #[test]
    fn both_databases_have_the_same_versions() {
        let versions = |list: &[Migration]| list.iter().map(|(version, _)| *version).collect::<Vec<_>>();
        assert_eq!(versions(SQLITE), versions(POSTGRES));
        assert_eq!(versions(SQLITE), (1..=newest(SQLITE)).collect::<Vec<_>>());
    }
}
