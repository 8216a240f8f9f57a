//! What every store does with scenarios, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod executed;
mod kept;
mod of_runs;
mod raced;
mod refused;

use bir_model::record::{EndReason, Finish, Record};
use bir_model::scenario::{
    ExecutionReport, Level, Mark, Mode, Outcome, ScenarioState, Stage, StepEdits, StepResult, StepVerdict,
};
use bir_model::{EditId, RunId, ScenarioId, TicketId};
use bir_store::model::*;
use bir_store::{Options, Store, StoreError};
use common::{Database, book, person, scenario, start};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;

fn page(limit: u32) -> Page {
    Page { cursor: None, limit }
}

fn report(ticket: Option<TicketId>, outcome: Outcome) -> ExecutionReport {
    ExecutionReport { ticket, ..serde_json::from_value(json!({"outcome": outcome})).unwrap() }
}

async fn put(store: &dyn Store, who: &View, new: &NewScenario) -> Put {
    store.put_scenario(who, new, PutAs::New).await.unwrap().unwrap()
}

/// Runs that ended, of which each cost something.
async fn runs(store: &dyn Store, who: &View, count: u64) -> Vec<RunId> {
    let ids: Vec<RunId> = (0..count).map(|_| RunId::new()).collect();
    let ends = ids.iter().map(|run| {
        let metrics = Some(json!({"costUsd": "0.10"}));
        Record::Finish(Finish {
            run_id: *run,
            at: 900,
            reason: EndReason::Closed,
            final_output: None,
            metrics,
        })
    });
    let begins = ids.iter().zip(0..).map(|(run, at)| start(*run, 100 + at));
    let records: Vec<Record> = begins.chain(ends).collect();
    assert_eq!(book(store, who, &records).await, vec!["booked"; records.len()]);
    ids
}

fn edit(revision: u64, input_logic: Option<&str>, takes_back: Option<EditId>) -> StepEdit {
    let after = StepEdits {
        input_logic: input_logic.map(str::to_owned),
        mark: Some(Mark::ByHand),
        output_logic: None,
    };
    StepEdit { expected_revision: revision, after, forced: true, note: Some("why\0".into()), takes_back }
}

async fn put_one(store: &dyn Store, who: &View) -> ScenarioId {
    put(store, who, &scenario("one", &[])).await.id
}

async fn all(store: Arc<dyn Store>) {
    let tenant = store.add_tenant("one").await.unwrap();
    let ada = person(&*store, tenant).await;
    kept::comes_back_as_it_was_put(&*store, &ada).await;
    store.delete_recordings_of(&ada, ada.user).await.unwrap();
    kept::is_listed_and_found_for_matching(&*store, &ada).await;
    of_runs::knows_its_runs(&*store, &ada).await;
    of_runs::remembers_what_was_deleted(&*store, &ada).await;
    of_runs::is_deleted_beside_its_runs(&store, ada).await;
    kept::keeps_a_history(&*store, &ada).await;
    executed::books_an_execution_once(&*store, &ada).await;
    executed::keeps_no_more_tickets_than_may_wait(&*store, &ada).await;
    refused::says_what_is_too_large(&*store, &ada).await;
    raced::is_changed_by_one_at_a_time(&store, ada).await;
    let bob = person(&*store, tenant).await;
    let boss = View { whole_tenant: true, ..person(&*store, tenant).await };
    let eve = person(&*store, store.add_tenant("two").await.unwrap()).await;
    refused::is_its_owners_alone(&*store, &ada, &[bob, boss, eve]).await;
    of_runs::goes_with_its_owner_and_stays_without_its_runs(&*store, &ada).await;
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
    let Some(database) = Database::new("bir-store: scenarios on PostgreSQL").await else { return };
    all(bir_store::open(&database.app_url, Options::default()).await.unwrap()).await;
    // Nothing hangs in the air: what belongs to a scenario is gone with it.
    let mut database = database;
    for table in ["scenarios", "scenario_steps", "scenario_runs", "scenario_edits", "executions"] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM bir.{table}"));
        let left: i64 = sqlx::query_scalar(sql).fetch_one(&mut database.admin).await.unwrap();
        assert_eq!(left, 0, "{table}");
    }
    database.end().await;
}
