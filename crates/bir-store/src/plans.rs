//! How the databases answer a list: along an index, from its newest end, and never by sorting what there is.

use crate::common::{self, Database};
use crate::cursor::Cursor;
use crate::model::{RunFilter, View};
use crate::runs::Query;
use crate::sql::{Db, Value};
use crate::{Options, Store, columns};
use bir_model::record::Record;
use bir_model::{Outcome, RunId, StepId, Tier};

/// Runs of the store, so many that a scan would cost more than an index.
const RUNS: u64 = 6_000;

async fn fill(store: &dyn Store) -> View {
    let tenant = store.add_tenant("t").await.unwrap();
    let who = common::person(store, tenant).await;
    let mut records: Vec<Record> = Vec::new();
    for at in 0..RUNS {
        let run = RunId::new();
        records.push(common::start(run, 1_000 + at));
        let kind = bir_model::record::StepType::ToolResponse;
        records.push(common::row(run, StepId::new(), 0, kind, Some(Outcome::Ok)));
    }
    for part in records.chunks(200) {
        store.append(&who, part).await.unwrap();
    }
    who
}

/// The lists that people ask for, each from its beginning and from the middle.
fn queries(who: &View) -> Vec<(String, Vec<Value>)> {
    let none = RunFilter::default;
    let all = View { whole_tenant: true, ..*who };
    let asked = [
        (all, none()),
        (*who, none()),
        (all, RunFilter { tier: Some(Tier::Standalone), ..none() }),
        (all, RunFilter { finished: Some(false), ..none() }),
        (all, RunFilter { lossy: Some(true), ..none() }),
        (all, RunFilter { tool: Some("a\0b".into()), ..none() }),
        (*who, RunFilter { outcome: Some(Outcome::Ok), project: Some("/p".into()), ..none() }),
        (all, RunFilter { since: Some(2_000), until: Some(4_000), ..none() }),
    ];
    let middle = Cursor { started_at: 1_000 + RUNS / 2, id: RunId::new().uuid(), index: 0 };
    let columns = format!("{}, substr(r.input, 1, 500)", columns::SUMMARY);
    asked
        .iter()
        .flat_map(|(who, filter)| {
            [None, Some(("<", middle))].map(|after| Query::new(&columns, who, filter).ordered(after, 51))
        })
        .collect()
}

/// What the database says about how it would answer, beside each query.
pub(crate) async fn explained(
    db: &Db,
    who: &View,
    queries: Vec<(String, Vec<Value>)>,
    explain: &str,
    column: usize,
) -> Vec<(String, String)> {
    let mut plans = Vec::new();
    for (sql, values) in queries {
        let mut tx = db.read(who.tenant).await.unwrap();
        let rows = tx.rows(format!("{explain} {sql}"), values).await.unwrap();
        let lines: Vec<String> = rows.iter().map(|row| row.text(column).unwrap()).collect();
        plans.push((sql, lines.join("\n")));
    }
    plans
}

#[tokio::test]
async fn sqlite_walks_an_index_and_does_not_sort() {
    let store = crate::sqlite::open(None, &Options::default()).await.unwrap();
    let who = fill(&store).await;
    for (sql, plan) in explained(&store.db, &who, queries(&who), "EXPLAIN QUERY PLAN", 3).await {
        assert!(plan.contains("USING INDEX") && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
        assert!(!plan.contains("SCAN"), "{sql}\n{plan}");
    }
    store.close().await;
}

#[tokio::test]
async fn postgres_walks_an_index_and_does_not_sort() {
    let Some(mut database) = Database::new("bir-store: how PostgreSQL answers a list").await else { return };
    let connect = database.app_url.parse().unwrap();
    let store = crate::postgres::open("here", connect, &Options::default()).await.unwrap();
    let who = fill(&store).await;
    database.as_admin("ANALYZE").await;
    for (sql, plan) in explained(&store.db, &who, queries(&who), "EXPLAIN", 0).await {
        assert!(
            plan.contains("Index") && !plan.contains("Sort") && !plan.contains("Seq Scan"),
            "{sql}\n{plan}"
        );
    }
    store.close().await;
    // The tables were empty when it began. Had the plans of then been kept, each row would have walked the whole tenant.
    let read: i64 = sqlx::query_scalar(
        "SELECT sum(idx_tup_read)::bigint FROM pg_stat_all_indexes WHERE schemaname = 'bir' AND relname = 'runs'",
    )
    .fetch_one(&mut database.connect_owner().await)
    .await
    .unwrap();
    assert!(
        read < i64::try_from(RUNS).unwrap() * 500,
        "{read} entries of the indexes of {RUNS} runs were read"
    );
    database.end().await;
}

/// Else each row that is deleted would have a whole table read for what hangs on it.
#[tokio::test]
async fn postgres_finds_what_hangs_on_a_row_by_an_index() {
    let Some(mut database) = Database::new("bir-store: indexes behind references").await else { return };
    let sql = "SELECT k.conname::text,
                      EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = k.conrelid AND i.indpred IS NULL
                              AND (i.indkey::int2[])[0:cardinality(k.conkey) - 1] = k.conkey)
               FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
               WHERE n.nspname = 'bir' AND k.contype = 'f' ORDER BY 1";
    let references: Vec<(String, bool)> = sqlx::query_as(sql).fetch_all(&mut database.admin).await.unwrap();
    assert!(references.len() >= 12, "{references:?}");
    let bare: Vec<&String> = references.iter().filter(|(_, found)| !found).map(|(name, _)| name).collect();
    assert!(bare.is_empty(), "{bare:?}");
    database.end().await;
}
