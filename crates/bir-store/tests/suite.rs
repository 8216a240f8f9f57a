//! What every store does, on SQLite and on PostgreSQL; and data of schema 1.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use bir_model::record::{EndReason, Finish, Lost, Record, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, TenantId, Tier, UserId};
use bir_store::model::{Appended, NewUser, Page, Role, RunFilter, View};
use bir_store::{Options, Store, StoreError};
use serde_json::json;
use std::sync::Arc;

fn start(id: RunId, at: u64) -> Record {
    let run =
        json!({"id": id, "tier": Tier::Standalone, "startedAt": at, "project": "/p", "metadata": {"n": 1.5}});
    Record::Run(serde_json::from_value::<RunStart>(run).unwrap())
}

fn row(run: RunId, id: StepId, index: u32, kind: StepType, outcome: Option<Outcome>) -> Record {
    let step = json!({"id": id, "runId": run, "stepIndex": index, "stepType": kind, "toolName": "a\0b", "server": "s",
        "toolInput": "{\"n\":1.0,\"t\":\"50% \\u0000\"}", "outcome": outcome, "at": 100 + u64::from(index)});
    Record::Step(serde_json::from_value::<Step>(step).unwrap())
}

fn code(verdict: &Appended) -> &str {
    match verdict {
        Appended::Booked => "booked",
        Appended::Duplicate => "duplicate",
        Appended::Refused { code, .. } => code,
    }
}

async fn book(store: &dyn Store, who: &View, records: &[Record]) -> Vec<String> {
    store.append(who, records).await.unwrap().iter().map(|verdict| code(verdict).to_owned()).collect()
}

async fn person(store: &dyn Store, tenant: TenantId) -> View {
    let email = format!("{}@example.com", UserId::new());
    let user = NewUser { email, name: "A".into(), role: Role::Member, password_hash: None };
    let user = store.add_user(tenant, user).await.unwrap();
    View { tenant, user, whole_tenant: false }
}

async fn all(store: Arc<dyn Store>) {
    let store = &*store;
    let tenant = store.add_tenant("one").await.unwrap();
    let ada = person(store, tenant).await;
    let bob = person(store, tenant).await;
    let other = store.add_tenant("two").await.unwrap();
    let eve = person(store, other).await;
    let run = RunId::new();
    let [a, b, c] = [StepId::new(), StepId::new(), StepId::new()];
    let (begin, end) = (StepType::ToolSelected, StepType::ToolResponse);

    // The end comes before the beginning, and somebody gave the call up.
    let records = [
        row(run, a, 0, begin, None),
        start(run, 50),
        row(run, b, 1, end, Some(Outcome::Unknown)),
        row(run, a, 0, begin, None),
        row(run, c, 0, begin, None),
        start(run, 51),
    ];
    let verdicts = book(store, &ada, &records).await;
    assert_eq!(verdicts, ["unknown_run", "booked", "booked", "booked", "index_taken", "duplicate"]);
    assert_eq!(store.run(&ada, run).await.unwrap().unwrap().summary.failed_calls, 1);
    let real = [row(run, b, 1, end, Some(Outcome::Ok)), row(run, b, 1, end, Some(Outcome::Unknown))];
    assert_eq!(book(store, &ada, &real).await, ["booked", "duplicate"]);
    let lost =
        Lost { run_id: run, id: StepId::new(), calls: 3, records: 6, reason: "backlog".into(), at: 200 };
    let finish =
        |reason| Record::Finish(Finish { run_id: run, at: 300, reason, final_output: None, metrics: None });
    let ends = [finish(EndReason::Abandoned), finish(EndReason::Closed), finish(EndReason::Idle)];
    assert_eq!(book(store, &ada, &ends).await, ["booked", "booked", "duplicate"]);
    for expected in ["booked", "duplicate"] {
        assert_eq!(book(store, &ada, &[Record::Lost(lost.clone())]).await, [expected]);
    }
    let summary = store.run(&ada, run).await.unwrap().unwrap().summary;
    assert_eq!((summary.calls, summary.failed_calls, summary.lost_calls, summary.lossy), (1, 0, 3, true));
    assert_eq!(
        (summary.last_at, summary.ended_at, summary.end_reason),
        (300, Some(300), Some(EndReason::Closed))
    );

    // Others.
    assert_eq!(book(store, &bob, &[row(run, c, 2, begin, None)]).await, ["foreign_run"]);
    assert_eq!(book(store, &eve, &[row(run, c, 2, begin, None)]).await, ["unknown_run"]);
    for who in [&bob, &eve] {
        assert!(store.run(who, run).await.unwrap().is_none());
        assert!(!store.delete_run(who, run).await.unwrap());
    }

    // Filters, search, pages.
    let page = |cursor| Page { cursor, limit: 2 };
    for (filter, found) in [
        (RunFilter { tool: Some("a\0b".into()), server: Some("s".into()), ..RunFilter::default() }, 1),
        (RunFilter { outcome: Some(Outcome::Ok), lossy: Some(true), ..RunFilter::default() }, 1),
        (RunFilter { outcome: Some(Outcome::Unknown), ..RunFilter::default() }, 0),
        (RunFilter { finished: Some(false), ..RunFilter::default() }, 0),
        (RunFilter { since: Some(51), ..RunFilter::default() }, 0),
    ] {
        assert_eq!(store.runs(&ada, &filter, &page(None)).await.unwrap().runs.len(), found, "{filter:?}");
    }
    for (text, found) in [("50%", 2), ("5%0", 0), ("\"N\":1.0", 2), ("ä", 0)] {
        let steps = store.search(&ada, text, &RunFilter::default(), &page(None)).await.unwrap().steps;
        assert_eq!(steps.len(), found, "{text}");
    }
    let more: Vec<Record> = (0..5).map(|n| start(RunId::new(), 1000 + n / 2)).collect();
    book(store, &ada, &more).await;
    let mut seen = Vec::new();
    let mut cursor = None;
    for _ in 0..10 {
        let part = store.runs(&ada, &RunFilter::default(), &page(cursor)).await.unwrap();
        seen.extend(part.runs.iter().map(|run| (run.started_at, run.id)));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 6);
    assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    let wrong = store.runs(&ada, &RunFilter::default(), &page(Some("zz".into()))).await;
    assert!(matches!(wrong, Err(StoreError::Cursor)));

    // Out and in again.
    let export = store.records(&ada, run, None, 100).await.unwrap();
    assert_eq!(export.len(), 5);
    assert_eq!(book(store, &eve, &export).await, ["booked"; 5]);
    assert_eq!(store.records(&eve, run, None, 100).await.unwrap(), export);

    assert!(store.delete_run(&ada, run).await.unwrap());
    assert!(store.records(&ada, run, None, 100).await.unwrap().is_empty());
    assert_eq!(store.delete_project(&ada, "/p").await.unwrap().runs, 5);
    assert!(store.delete_user(other, eve.user).await.unwrap());
    assert_eq!(book(store, &eve, &[start(RunId::new(), 1)]).await, ["invalid"]);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", dir.path().join("hub.db").display());
    all(bir_store::open(&file, Options::default()).await.unwrap()).await;
    all(bir_store::open("sqlite::memory:", Options::default()).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    use sqlx::{AssertSqlSafe, Connection, PgConnection};
    let Some(server) = bir_testkit::postgres::Postgres::start("bir-store: the suite on PostgreSQL") else {
        return;
    };
    // A server that was named may be used by others, so roles and database have names of their own.
    let tag = UserId::new().uuid().simple().to_string();
    let (owner, app, database) = (format!("o{tag}"), format!("a{tag}"), format!("d{tag}"));
    let mut admin = PgConnection::connect(server.url()).await.unwrap();
    for sql in [
        format!("CREATE ROLE {owner} LOGIN PASSWORD 'x'"),
        format!("CREATE ROLE {app} LOGIN PASSWORD 'x'"),
        format!("CREATE DATABASE {database} OWNER {owner}"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
    let (owner_url, app_url) = (server.url_of(&owner, "x", &database), server.url_of(&app, "x", &database));
    let early = bir_store::open(&app_url, Options::default()).await.unwrap_err();
    assert!(matches!(early, StoreError::Older { found: 0, .. }), "{early}");
    bir_store::migrate(&owner_url, &app).await.unwrap();
    bir_store::migrate(&owner_url, &app).await.unwrap();
    let refused = bir_store::open(&owner_url, Options::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Role { .. }), "{refused}");
    all(bir_store::open(&app_url, Options::default()).await.unwrap()).await;
    for (change, back) in
        [("BYPASSRLS", "NOBYPASSRLS"), ("SUPERUSER", "NOSUPERUSER"), ("CREATEROLE", "NOCREATEROLE")]
    {
        let sql = format!("ALTER ROLE {app} {change}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
        let refused = bir_store::open(&app_url, Options::default()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Role { .. }), "{change}: {refused}");
        let sql = format!("ALTER ROLE {app} {back}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
    for sql in [
        format!("DROP DATABASE {database} WITH (FORCE)"),
        format!("DROP ROLE {owner}"),
        format!("DROP ROLE {app}"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
}

#[tokio::test]
async fn data_of_schema_1_opens() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hub.db");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v1.db"), &file).unwrap();
    let store = bir_store::open(&format!("sqlite:{}", file.display()), Options::default()).await.unwrap();
    let ada = store.account("ADA@example.com").await.unwrap().unwrap();
    let token = store.token(ada.tenant, &[7; 32]).await.unwrap().unwrap();
    assert_eq!((token.owner.id, token.scopes.len()), (ada.id, 2));
    let who = View { tenant: ada.tenant, user: ada.id, whole_tenant: false };
    let filter = RunFilter { outcome: Some(Outcome::ToolError), ..RunFilter::default() };
    let runs = store.runs(&who, &filter, &Page { cursor: None, limit: 10 }).await.unwrap().runs;
    assert_eq!((runs.len(), runs[0].lost_calls, runs[0].calls), (1, 3, 1));
    let steps = store.steps(&who, runs[0].id, 0, 10).await.unwrap().steps;
    assert_eq!(steps[0].tool_input.as_deref(), Some("{\"n\":1.0,\"nul\":\"\\u0000\"}"));
    assert_eq!(steps[1].legs.len(), 1);
    assert_eq!(store.run(&who, runs[0].id).await.unwrap().unwrap().losses.len(), 1);
    store.close().await;
}
