//! What every store does, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::record::{EndReason, Finish, Lost, Record, StepType};
use bir_model::{Outcome, RunId, StepId};
use bir_store::model::{Page, RunFilter};
use bir_store::{Options, Store, StoreError};
use common::{Database, book, person, row, start};
use std::sync::Arc;

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
    let Some(database) = Database::empty("bir-store: the suite on PostgreSQL").await else { return };
    let early = bir_store::open(&database.app_url, Options::default()).await.unwrap_err();
    assert!(matches!(early, StoreError::Older { found: 0, .. }), "{early}");
    for _ in 0..2 {
        bir_store::migrate(&database.owner_url, &database.app).await.unwrap();
    }
    all(bir_store::open(&database.app_url, Options::default()).await.unwrap()).await;
    database.end().await;
}
