//! Two tenants at once over the connections of one pool, in PostgreSQL: no row crosses.
//!
//! The statements here name no tenant, unlike those of the store, so what keeps the tenants apart is what is tested: the
//! setting of the transaction and the policies. Every third transaction is dropped in the middle, as when a client goes away;
//! what remains set on its connection would show in the next one. What was committed is counted and found again at the end.

use crate::Options;
use crate::common::{self, Database};
use crate::model::{Match, PutAs, RunRole, StepEdit};
use crate::sql::{Db, TenantTx, values};
use bir_model::scenario::StepEdits;
use bir_model::{RunId, ScenarioId, TenantId};
use sqlx::Connection as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Transactions of the test, when `BIR_STORE_TRANSACTIONS` does not say otherwise; about a minute.
const TRANSACTIONS: u64 = 100_000;
/// Fewer connections than tasks, so that each connection goes from one tenant to the other all the time.
const CONNECTIONS: u32 = 6;
const TASKS: u64 = 16;
/// Runs of each tenant.
const RUNS: usize = 40;

/// One of the two.
struct Side {
    tenant: TenantId,
    runs: Vec<RunId>,
    scenario: ScenarioId,
    /// Matches that were counted and committed.
    matches: AtomicU64,
    /// Updates that were committed.
    updates: AtomicU64,
    /// Losses that were inserted and committed.
    losses: AtomicU64,
}

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// Who is seen by a query that asks for everything.
async fn seen(tx: &mut TenantTx, table: &str) -> Vec<TenantId> {
    let sql = format!("SELECT DISTINCT tenant_id FROM {table}");
    let rows = tx.rows(sql, values![]).await.unwrap();
    rows.iter().map(|row| TenantId::from_uuid(row.uuid(0).unwrap())).collect()
}

/// What is read, each with rows of both.
const TABLES: [&str; 9] = [
    "runs",
    "users",
    "run_facets",
    "tenants_of_runs",
    "scenarios",
    "scenario_steps",
    "scenario_runs",
    "scenario_edits",
    "executions",
];

async fn transaction(db: &Db, ours: &Side, theirs: &Side, dice: &mut Dice) {
    let mut tx = db.write(ours.tenant).await.unwrap();
    let (own, foreign) = (ours.runs[dice.below(RUNS)], theirs.runs[dice.below(RUNS)]);
    let table = TABLES[dice.below(TABLES.len())];
    if table == "tenants_of_runs" {
        let rows = tx.rows("SELECT id FROM tenants", values![]).await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].uuid(0).unwrap(), ours.tenant.uuid());
    } else {
        assert_eq!(seen(&mut tx, table).await, [ours.tenant]);
    }
    let (mut updates, mut losses, mut matches) = (0, 0, 0);
    match dice.below(5) {
        0 => {
            let sql = "UPDATE runs SET calls = calls + 1 WHERE id = $1";
            assert_eq!(tx.run(sql, values![foreign]).await.unwrap(), 0);
            assert_eq!(tx.run(sql, values![own]).await.unwrap(), 1);
            updates += 1;
        }
        1 => {
            let sql = "DELETE FROM runs WHERE id = $1";
            assert_eq!(tx.run(sql, values![foreign]).await.unwrap(), 0);
        }
        2 => {
            // Without a tenant in the statement; the row's own comes from the setting, as a policy would compare it.
            let sql = "INSERT INTO losses (tenant_id, id, run_id, seq, calls, records, reason, at)
                       SELECT r.tenant_id, gen_random_uuid(), r.id, 1, 1, 1, 'x', 1 FROM runs r WHERE r.id IN ($1, $2)";
            assert_eq!(tx.run(sql, values![foreign, own]).await.unwrap(), 1);
            losses += 1;
        }
        3 => {
            let sql = "UPDATE scenarios SET iterations = iterations + 1 WHERE id = $1";
            assert_eq!(tx.run(sql, values![theirs.scenario]).await.unwrap(), 0);
            assert_eq!(tx.run(sql, values![ours.scenario]).await.unwrap(), 1);
            matches += 1;
        }
        _ => {
            let sql = "INSERT INTO losses (tenant_id, id, run_id, seq, calls, records, reason, at)
                       VALUES ($1, gen_random_uuid(), $2, 1, 1, 1, 'x', 1)";
            let refused = tx.run(sql, values![theirs.tenant, foreign]).await.unwrap_err();
            let code =
                refused.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
            assert_eq!(code.as_deref(), Some("42501"), "{refused}");
            return;
        }
    }
    if dice.below(3) == 0 {
        return;
    }
    tx.commit().await.unwrap();
    ours.updates.fetch_add(updates, Ordering::Relaxed);
    ours.losses.fetch_add(losses, Ordering::Relaxed);
    ours.matches.fetch_add(matches, Ordering::Relaxed);
}

async fn side(store: &dyn crate::Store, name: &str) -> Side {
    let tenant = store.add_tenant(name).await.unwrap();
    let who = common::person(store, tenant).await;
    let runs: Vec<RunId> = (0..RUNS).map(|_| RunId::new()).collect();
    let records: Vec<_> = runs.iter().map(|run| common::start(*run, 1)).collect();
    common::book(store, &who, &records).await;
    let new = common::scenario("p", &[(runs[0], RunRole::Source)]);
    let scenario = store.put_scenario(&who, &new, PutAs::New).await.unwrap().unwrap().id;
    let edit = StepEdit {
        expected_revision: 1,
        after: StepEdits::default(),
        forced: false,
        note: None,
        takes_back: None,
    };
    store.edit_step(&who, scenario, 0, &edit).await.unwrap().unwrap();
    store.issue_ticket(&who, scenario, &Match::default()).await.unwrap().unwrap();
    let [matches, updates, losses] = [1, 0, 0].map(AtomicU64::new);
    Side { tenant, runs, scenario, matches, updates, losses }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_crosses_between_two_tenants() {
    let Some(mut database) = Database::new("bir-store: interleaved transactions of two tenants").await else {
        return;
    };
    let asked = std::env::var("BIR_STORE_TRANSACTIONS").ok();
    let total = asked.map_or(TRANSACTIONS, |n| n.parse().expect("BIR_STORE_TRANSACTIONS is a number"));
    let options = Options { connections: CONNECTIONS, ..Options::default() };
    let store = crate::open(&database.app_url, options.clone()).await.unwrap();
    let sides = Arc::new([side(&*store, "one").await, side(&*store, "two").await]);
    store.close().await;
    let connect = database.app_url.parse().unwrap();
    let db = crate::postgres::open("here", connect, &options).await.unwrap().db;

    let begun = std::time::Instant::now();
    let tasks = (0..TASKS).map(|task| {
        let (db, sides) = (db.clone(), sides.clone());
        tokio::spawn(async move {
            let mut dice = Dice(task + 1);
            for _ in 0..total.div_ceil(TASKS) {
                let ours = dice.below(2);
                transaction(&db, &sides[ours], &sides[1 - ours], &mut dice).await;
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    for task in tasks {
        task.await.unwrap();
    }
    let took = begun.elapsed();

    for side in sides.iter() {
        let found: (i64, i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT sum(calls)::bigint FROM bir.runs WHERE tenant_id = $1),
                    (SELECT count(*) FROM bir.runs WHERE tenant_id = $1), (SELECT count(*) FROM bir.losses WHERE tenant_id = $1),
                    (SELECT sum(iterations)::bigint FROM bir.scenarios WHERE tenant_id = $1)",
        )
        .bind(side.tenant.uuid())
        .fetch_one(&mut database.admin)
        .await
        .unwrap();
        let (updates, losses) = (side.updates.load(Ordering::Relaxed), side.losses.load(Ordering::Relaxed));
        let matches = side.matches.load(Ordering::Relaxed);
        assert!(updates > 0 && losses > 0 && matches > 1);
        let expected = [updates, RUNS as u64, losses, matches].map(u64::cast_signed);
        assert_eq!([found.0, found.1, found.2, found.3], expected);
    }
    println!("{total} transactions over {CONNECTIONS} connections in {took:.1?}");
    if let Db::Postgres { pool, .. } = &db {
        pool.close().await;
    }
    database.admin.ping().await.unwrap();
    database.end().await;
}
