//! Data of every older schema opens in this version, and data of a newer one is refused, in both databases.
//!
//! `fixtures/v1.sql` is what schema 1 held. `v1.db` is the SQLite file made of it, `v1.pg.sql` a dump of the PostgreSQL database
//! (`pg_dump --schema=bir --inserts --no-owner --no-privileges`, the owner's name replaced by `bir_owner`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::Outcome;
use bir_model::record::Record;
use bir_store::model::{Page, PutAs, RunFilter, RunRole, View};
use bir_store::{Options, Store, StoreError};
use common::Database;
use sqlx::{Connection, SqliteConnection};
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// Everything of the fixture is there, and goes on living.
async fn holds_the_fixture(store: &dyn Store) {
    let ada = store.account("ADA@example.com").await.unwrap().unwrap();
    let token = store.token(ada.tenant, &[7; 32]).await.unwrap().unwrap();
    assert_eq!((token.owner.id, token.scopes.len()), (ada.id, 2));
    let who = View { tenant: ada.tenant, user: ada.id, whole_tenant: false };
    let filter = RunFilter {
        outcome: Some(Outcome::ToolError),
        tool: Some("ask".into()),
        server: Some("everything".into()),
        project: Some("/home/ada/project".into()),
        host: Some("claude-code".into()),
        ..RunFilter::default()
    };
    let page = Page { cursor: None, limit: 10 };
    let runs = store.runs(&who, &filter, &page).await.unwrap().runs;
    assert_eq!((runs.len(), runs[0].lost_calls, runs[0].calls), (1, 3, 1));
    let steps = store.steps(&who, runs[0].id, 0, 10).await.unwrap().steps;
    assert_eq!(steps[0].tool_input.as_deref(), Some("{\"n\":1.0,\"nul\":\"\\u0000\"}"));
    assert_eq!(steps[1].legs.len(), 1);
    assert_eq!(store.run(&who, runs[0].id).await.unwrap().unwrap().losses.len(), 1);
    assert_eq!(store.search(&who, "iserror", &filter, &page).await.unwrap().steps.len(), 1);
    let export: Vec<Record> = store.records(&who, runs[0].id, None, 100).await.unwrap();
    assert_eq!(export.len(), 5);
    assert_eq!(common::book(store, &who, &export).await, ["duplicate"; 5]);
    let other = store.add_tenant("other").await.unwrap();
    let eve = common::person(store, other).await;
    assert_eq!(common::book(store, &eve, &export).await, ["booked"; 5]);
    // What came with schema 2 is there too.
    assert_eq!(store.runs_without_scenario(&who, &page).await.unwrap().runs.len(), 1);
    let new = common::scenario("a\0b", &[(runs[0].id, RunRole::Source)]);
    let put = store.put_scenario(&who, &new, PutAs::New).await.unwrap().unwrap();
    assert!(store.runs_without_scenario(&who, &page).await.unwrap().runs.is_empty());
    assert!(store.delete_run(&who, runs[0].id).await.unwrap());
    assert_eq!(store.scenario(&who, put.id).await.unwrap().unwrap().summary.prompt, "a\0b");
    store.close().await;
}

#[tokio::test]
async fn sqlite_data_of_schema_1_opens() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hub.db");
    std::fs::copy(Path::new(FIXTURES).join("v1.db"), &file).unwrap();
    let store = bir_store::open(&format!("sqlite:{}", file.display()), Options::default()).await.unwrap();
    holds_the_fixture(&*store).await;
}

#[tokio::test]
async fn postgres_data_of_schema_1_opens() {
    let Some(mut database) = Database::empty("bir-store: PostgreSQL data of schema 1").await else { return };
    let dump = std::fs::read_to_string(Path::new(FIXTURES).join("v1.pg.sql")).unwrap();
    let mut owner = database.connect_owner().await;
    common::run(&mut owner, &dump.replace("bir_owner", &database.owner)).await;
    owner.close().await.unwrap();
    bir_store::migrate(&database.owner_url, &database.app).await.unwrap();
    let store = bir_store::open(&database.app_url, Options::default()).await.unwrap();
    holds_the_fixture(&*store).await;
    // And it is the very schema that this version makes: the policies came along.
    let policies: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_policies WHERE schemaname = 'bir'")
        .fetch_one(&mut database.admin)
        .await
        .unwrap();
    assert_eq!(policies, 18);
    database.end().await;
}

fn says_what_to_do(refused: &StoreError) {
    assert!(matches!(refused, StoreError::Newer { found: 99, known: 5, .. }), "{refused}");
    let message = refused.to_string();
    assert!(message.contains("schema 99") && message.contains("use the newer bir"), "{message}");
}

#[tokio::test]
async fn a_newer_sqlite_file_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hub.db");
    std::fs::copy(Path::new(FIXTURES).join("v1.db"), &file).unwrap();
    let mut db = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::raw_sql("INSERT INTO schema_version VALUES (99, 0)").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    let before = std::fs::read(&file).unwrap();
    let address = format!("sqlite:{}", file.display());
    says_what_to_do(&bir_store::open(&address, Options::default()).await.unwrap_err());
    let tables = |bytes: &[u8]| bytes.windows(12).filter(|part| part == b"CREATE TABLE").count();
    assert_eq!(tables(&std::fs::read(&file).unwrap()), tables(&before));
    let mut db = SqliteConnection::connect(&address).await.unwrap();
    let runs: i64 = sqlx::query_scalar("SELECT count(*) FROM runs").fetch_one(&mut db).await.unwrap();
    assert_eq!(runs, 1);
}

#[tokio::test]
async fn a_newer_postgres_database_is_refused() {
    let Some(mut database) = Database::new("bir-store: a newer PostgreSQL database").await else { return };
    database.as_admin("INSERT INTO bir.schema_version VALUES (99, 0)").await;
    says_what_to_do(&bir_store::open(&database.app_url, Options::default()).await.unwrap_err());
    says_what_to_do(&bir_store::migrate(&database.owner_url, &database.app).await.unwrap_err());
    database.as_admin("DELETE FROM bir.schema_version").await;
    let older = bir_store::open(&database.app_url, Options::default()).await.unwrap_err();
    assert!(matches!(older, StoreError::Older { found: 0, known: 5, .. }), "{older}");
    assert!(older.to_string().contains("bir-hub migrate"), "{older}");
    database.end().await;
}
