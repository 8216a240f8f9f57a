//! How the databases answer for scenarios: along an index from the end that is asked for, and never by sorting what there is.

use super::{Query, edit, executions, read, runs};
use crate::common::{self, Database};
use crate::cursor::Cursor;
use crate::model::{FeedPosition, NewScenario, PutAs, ScenarioFilter, View};
use crate::plans::explained;
use crate::sql::Db;
use crate::sql::values;
use crate::sql_store::SqlStore;
use crate::{Options, People as _, Scenarios as _};
use bir_model::scenario::ScenarioState;
use bir_model::{RunId, ScenarioId};
use uuid::Uuid;

/// Rows of each table, so many that a scan would cost more than an index.
const ROWS: u64 = 6_000;

/// Of one person: scenarios, and of one of them as many runs, edits and executions; and as many runs that belong to none.
async fn fill(store: &SqlStore) -> (View, ScenarioId) {
    let tenant = store.add_tenant("t").await.unwrap();
    let who = common::person(store, tenant).await;
    let new = NewScenario { project: None, family: "f".into(), ..common::scenario("p", &[]) };
    let id = store.put_scenario(&who, &new, PutAs::New).await.unwrap().unwrap().id;
    let uuid = match &store.db {
        Db::Sqlite { .. } => "randomblob(16)",
        Db::Postgres { .. } => "gen_random_uuid()",
    };
    let state = "CASE WHEN i % 20 = 0 THEN 'pending' ELSE 'ready' END";
    let (project, family) = (super::project_hash("/p"), super::family_hash("g"));
    let statements = [
        format!(
            "INSERT INTO scenarios (tenant_id, id, user_id, family, family_hash, project, project_hash, state, level, confidence,
                 run_count, step_count, revision, created_at, updated_at, prompt, plan)
             SELECT $1, {uuid}, $2, 'g', CASE WHEN i % 2 = 0 THEN {family} ELSE 1 END, '/p',
                 CASE WHEN i % 2 = 0 THEN {project} ELSE 1 END, {state}, 'L0', 'low', 1, 1, 1, 1000 + i, 1000 + i, 'p', '{{}}'
             FROM n WHERE $3 = $3"
        ),
        format!(
            "INSERT INTO runs (tenant_id, id, user_id, tier, started_at, last_at)
             SELECT $1, {uuid}, $2, 'standalone', 1000 + i, 1000 FROM n WHERE $3 = $3"
        ),
        "INSERT INTO scenario_runs (tenant_id, run_id, scenario_id, role, started_at)
         SELECT r.tenant_id, r.id, $3, 'example', r.started_at FROM runs r, n
         WHERE r.tenant_id = $1 AND r.user_id = $2 AND i = 1"
            .to_owned(),
        format!(
            "INSERT INTO runs (tenant_id, id, user_id, tier, started_at, last_at)
             SELECT $1, {uuid}, $2, 'standalone', 500 + i, 1000 FROM n WHERE $3 = $3"
        ),
        format!(
            "INSERT INTO scenario_edits (tenant_id, id, scenario_id, step_index, at, user_id, before, after, forced, revision)
             SELECT $1, {uuid}, $3, 0, i, $2, '{{}}', '{{}}', (1 = 0), i FROM n"
        ),
        format!(
            "INSERT INTO executions (tenant_id, id, scenario_id, user_id, issued_at, claimed_at, outcome)
             SELECT $1, {uuid}, $3, $2, i, CASE WHEN i % 10 > 0 THEN i END,
                 CASE i % 10 WHEN 0 THEN NULL WHEN 1 THEN 'failed' ELSE 'steered_full' END FROM n"
        ),
    ];
    let mut tx = store.db.write(tenant).await.unwrap();
    for sql in statements {
        let counted =
            format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) {sql}");
        let done = tx.run(counted, values![tenant, who.user, id]).await;
        assert_eq!(done.unwrap_or_else(|error| panic!("{sql}: {error}")), ROWS);
    }
    tx.commit().await.unwrap();
    (who, id)
}

fn queries(who: &View, id: ScenarioId) -> Vec<Query> {
    let middle = Cursor { started_at: 1_000 + ROWS / 2, id: Uuid::now_v7(), index: 0 };
    let position = FeedPosition { updated_at: middle.started_at, id: ScenarioId::from_uuid(middle.id) };
    let none = ScenarioFilter::default();
    let filters = [
        none.clone(),
        ScenarioFilter { state: Some(ScenarioState::Pending), ..none.clone() },
        ScenarioFilter { project: Some("/p".into()), ..none.clone() },
        ScenarioFilter { family: Some("g".into()), ..none.clone() },
        ScenarioFilter { project: Some("/p".into()), state: Some(ScenarioState::Ready), ..none },
    ];
    let mut queries = Vec::new();
    for after in [None, Some(middle)] {
        queries.extend(filters.iter().map(|filter| read::list_query(who, filter, after, 51)));
        queries.push(read::candidates_query(who, "s.prompt, s.plan", after.map(|_| position), 1_000));
        for free in [runs::Free::All, runs::Free::ToCalculate] {
            queries.push(runs::without_query(who, free, after, 51));
        }
        queries.push(runs::of_query(who, id, after, 51));
        queries.push(edit::edits_query(who, id, after, 51));
        queries.push(executions::list_query(who, Some(id), after, 51));
        queries.push(executions::list_query(who, None, after, 51));
    }
    queries.push(executions::waiting_query(who, &[RunId::new()]));
    queries.push(executions::baseline_query(who, id, 100));
    queries.push(executions::baseline_runs_query(who, id, 100));
    queries
}

#[tokio::test]
async fn sqlite_walks_an_index_and_does_not_sort() {
    let store = crate::sqlite::open(None, &Options::default()).await.unwrap();
    let (who, id) = fill(&store).await;
    for (sql, plan) in explained(&store.db, &who, queries(&who, id), "EXPLAIN QUERY PLAN", 3).await {
        assert!(plan.contains("USING INDEX") && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
        assert!(!plan.contains("SCAN"), "{sql}\n{plan}");
    }
    crate::Store::close(&store).await;
}

#[tokio::test]
async fn postgres_walks_an_index_and_does_not_sort() {
    let test = "bir-store: how PostgreSQL answers for scenarios";
    let Some(mut database) = Database::new(test).await else { return };
    let connect = database.app_url.parse().unwrap();
    let store = crate::postgres::open("here", connect, &Options::default()).await.unwrap();
    let (who, id) = fill(&store).await;
    database.as_admin("ANALYZE").await;
    for (sql, plan) in explained(&store.db, &who, queries(&who, id), "EXPLAIN", 0).await {
        let good = plan.contains("Index") && !plan.contains("Sort") && !plan.contains("Seq Scan");
        assert!(good, "{sql}\n{plan}");
    }
    crate::Store::close(&store).await;
    database.end().await;
}
