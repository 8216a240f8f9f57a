//! The store as a state machine: whatever comes in whatever order, both databases say and hold what a few maps in memory do
//! (`model.rs`). Records come in any order, twice, in batches of any size, from whom they do not belong to; rows are amended and
//! runs deleted in between. Then every list, filter, page and export is compared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod model;

use bir_model::record::{EndReason, FinalAnswer, Finish, Lost, Record, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, Tier, UserId};
use bir_store::model::{Deleted, Page, RunFilter, StepChange, View};
use bir_store::{Options, Store};
use common::Database;
use model::{Run, Tenant};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use std::sync::Arc;

/// Sequences that are tried, each on both databases.
const CASES: u32 = 60;
/// Runs, indices and losses that occur: few, so that they meet.
const RUNS: usize = 3;
const INDICES: u32 = 6;

/// A record, without the ids of its case.
#[derive(Debug, Clone)]
enum Seed {
    Run { run: usize, at: u64, project: bool },
    Row { run: usize, index: u32, outcome: usize },
    Final { run: usize, index: u32 },
    Finish { run: usize, abandoned: bool, answer: bool },
    Lost { run: usize, which: usize, calls: u64 },
}

#[derive(Debug, Clone)]
enum Op {
    Append(usize, Vec<Seed>),
    /// A row with the id of another one, alone.
    Alias(usize, usize, u32),
    Amend(usize, usize, u32, usize),
    DeleteRun(usize, usize),
    DeleteProject(usize),
    DeleteOf(usize),
}

fn seed() -> impl Strategy<Value = Seed> {
    prop_oneof![
        2 => (0..RUNS, 0..4u64, any::<bool>()).prop_map(|(run, at, project)| Seed::Run { run, at, project }),
        6 => (0..RUNS, 0..INDICES, 0..3usize).prop_map(|(run, index, outcome)| Seed::Row { run, index, outcome }),
        1 => (0..RUNS, 0..INDICES).prop_map(|(run, index)| Seed::Final { run, index }),
        1 => (0..RUNS, any::<bool>(), any::<bool>())
            .prop_map(|(run, abandoned, answer)| Seed::Finish { run, abandoned, answer }),
        1 => (0..RUNS, 0..3usize, 0..5u64).prop_map(|(run, which, calls)| Seed::Lost { run, which, calls }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0..3usize, prop::collection::vec(seed(), 1..12)).prop_map(|(who, seeds)| Op::Append(who, seeds)),
        1 => (0..3usize, 0..RUNS, 0..INDICES).prop_map(|(who, run, index)| Op::Alias(who, run, index)),
        2 => (0..3usize, 0..RUNS, 0..INDICES, 0..3usize)
            .prop_map(|(who, run, index, outcome)| Op::Amend(who, run, index, outcome)),
        1 => (0..3usize, 0..RUNS).prop_map(|(who, run)| Op::DeleteRun(who, run)),
        1 => (0..3usize).prop_map(Op::DeleteProject),
        1 => (0..3usize).prop_map(Op::DeleteOf),
    ]
}

const OUTCOMES: [Outcome; 3] = [Outcome::Unknown, Outcome::Ok, Outcome::ToolError];

/// The ids of one case.
struct Ids {
    runs: Vec<RunId>,
    rows: Vec<Vec<StepId>>,
    finals: Vec<Vec<StepId>>,
    losses: Vec<StepId>,
}

impl Ids {
    fn new() -> Self {
        let steps = || (0..=INDICES).map(|_| StepId::new()).collect::<Vec<_>>();
        Self {
            runs: (0..RUNS).map(|_| RunId::new()).collect(),
            rows: (0..RUNS).map(|_| steps()).collect(),
            finals: (0..RUNS).map(|_| steps()).collect(),
            losses: (0..3).map(|_| StepId::new()).collect(),
        }
    }

    fn row(&self, run: usize, id: StepId, index: u32, outcome: usize) -> Record {
        let end = index % 2 == 1;
        let step = json!({"id": id, "runId": self.runs[run], "stepIndex": index,
            "stepType": if end { StepType::ToolResponse } else { StepType::ToolSelected },
            "toolName": format!("t{}", index / 2), "server": format!("s{}", index % 3), "at": 100 + u64::from(index),
            "toolInput": (!end).then(|| format!("{{\"n\":\"\\u0000 {index}\0\"}}")),
            "toolOutput": end.then(|| format!("result {outcome}")), "outcome": end.then(|| OUTCOMES[outcome])});
        Record::Step(serde_json::from_value::<Step>(step).unwrap())
    }

    fn record(&self, seed: &Seed) -> Record {
        match *seed {
            Seed::Run { run, at, project } => {
                let start = json!({"id": self.runs[run], "tier": if project { Tier::Bound } else { Tier::Standalone },
                    "startedAt": 50 + at, "project": project.then_some("/p"), "input": format!("a\0 prompt {at}"), "metadata": {"at": at}});
                Record::Run(serde_json::from_value::<RunStart>(start).unwrap())
            }
            Seed::Row { run, index, outcome } => {
                self.row(run, self.rows[run][index as usize], index, outcome)
            }
            Seed::Final { run, index } => Record::Final(FinalAnswer {
                run_id: self.runs[run],
                id: self.finals[run][index as usize],
                step_index: index,
                answer: format!("answer {index}"),
                at: 400 + u64::from(index),
            }),
            Seed::Finish { run, abandoned, answer } => Record::Finish(Finish {
                run_id: self.runs[run],
                at: 300 + u64::from(abandoned),
                reason: if abandoned { EndReason::Abandoned } else { EndReason::Closed },
                final_output: answer.then(|| "the end".to_owned()),
                metrics: answer.then(|| json!({"cost": 1.25})),
            }),
            Seed::Lost { run, which, calls } => Record::Lost(Lost {
                run_id: self.runs[run],
                id: self.losses[which],
                calls,
                records: 2 * calls,
                reason: "backlog".into(),
                at: 200 + calls,
            }),
        }
    }
}

/// Reads a run part by part.
async fn export(store: &dyn Store, who: &View, run: RunId, limit: u32) -> Vec<Record> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let part = store.records(who, run, after, limit).await.unwrap();
        let rows = part.iter().filter_map(|record| match record {
            Record::Step(step) => Some(step.step_index),
            Record::Final(answer) => Some(answer.step_index),
            _ => None,
        });
        let rows: Vec<u32> = rows.collect();
        all.extend(part);
        if rows.len() < limit as usize {
            return all;
        }
        after = rows.last().copied();
    }
}

fn filters() -> Vec<RunFilter> {
    let none = RunFilter::default;
    let mut filters = vec![none()];
    filters.extend(OUTCOMES.map(|outcome| RunFilter { outcome: Some(outcome), ..none() }));
    filters.extend(["t0", "t1", "t2"].map(|tool| RunFilter { tool: Some(tool.into()), ..none() }));
    filters.extend([true, false].map(|yes| RunFilter { finished: Some(yes), ..none() }));
    filters.extend([true, false].map(|yes| RunFilter { lossy: Some(yes), ..none() }));
    filters.push(RunFilter { server: Some("s1".into()), outcome: Some(Outcome::Ok), ..none() });
    filters.push(RunFilter { project: Some("/p".into()), tier: Some(Tier::Bound), ..none() });
    filters.push(RunFilter { since: Some(51), until: Some(53), ..none() });
    filters
}

async fn compare(store: &dyn Store, who: &View, tenant: &Tenant) {
    let visible = |run: &&Run| who.whole_tenant || run.owner == who.user;
    for filter in filters() {
        let mut expected: Vec<&Run> =
            tenant.0.values().filter(visible).filter(|run| run.passes(&filter)).collect();
        expected.sort_by_key(|run| std::cmp::Reverse((run.start.started_at, run.start.id)));
        let (mut found, mut cursor) = (Vec::new(), None);
        for _ in 0..=RUNS {
            let part = store.runs(who, &filter, &Page { cursor, limit: 1 }).await.unwrap();
            found.extend(part.runs);
            cursor = part.next;
            if cursor.is_none() {
                break;
            }
        }
        assert!(cursor.is_none(), "the pages have an end");
        let ids: Vec<RunId> = found.iter().map(|run| run.id).collect();
        assert_eq!(ids, expected.iter().map(|run| run.start.id).collect::<Vec<_>>(), "{filter:?}");
        for (summary, run) in found.iter().zip(expected) {
            assert_eq!(summary.user, run.owner);
            let counts = (summary.calls as usize, summary.failed_calls as usize);
            assert_eq!(counts, (run.calls(), run.failed()));
            let lost: u64 = run.losses.iter().map(|lost| lost.calls).sum();
            assert_eq!((summary.lossy, summary.lost_calls), (!run.losses.is_empty(), lost));
            let end = run.finish.as_ref();
            assert_eq!(summary.last_at, run.last_at);
            assert_eq!(
                (summary.ended_at, summary.end_reason),
                (end.map(|end| end.at), end.map(|end| end.reason))
            );
        }
    }
    for run in tenant.0.values() {
        let id = run.start.id;
        let detail = store.run(who, id).await.unwrap();
        if !visible(&run) {
            assert!(detail.is_none());
            assert!(export(store, who, id, 3).await.is_empty());
            continue;
        }
        assert_eq!(detail.unwrap().losses, run.losses);
        for limit in [1, 2, 100] {
            assert_eq!(export(store, who, id, limit).await, run.export());
        }
        let (mut steps, mut from) = (Vec::new(), Some(0));
        while let Some(index) = from {
            let page = store.steps(who, id, index, 2).await.unwrap();
            steps.extend(page.steps);
            from = page.next;
        }
        assert_eq!(steps, run.steps().cloned().collect::<Vec<_>>());
    }
}

async fn case(store: &dyn Store, ops: &[Op]) {
    let (one, two) = (store.add_tenant("one").await.unwrap(), store.add_tenant("two").await.unwrap());
    let people = [
        common::person(store, one).await,
        common::person(store, one).await,
        common::person(store, two).await,
    ];
    let mut tenants = [Tenant::default(), Tenant::default()];
    let tenant_of = [0, 0, 1];
    let ids = Ids::new();
    for op in ops {
        match op {
            Op::Append(who, seeds) => {
                let records: Vec<Record> = seeds.iter().map(|seed| ids.record(seed)).collect();
                let user: UserId = people[*who].user;
                let tenant = &mut tenants[tenant_of[*who]];
                let expected: Vec<_> = records.iter().map(|record| tenant.append(user, record)).collect();
                assert_eq!(common::book(store, &people[*who], &records).await, expected, "{records:#?}");
            }
            Op::Alias(who, run, index) => {
                let record = ids.row(*run, ids.rows[*run][*index as usize + 1], *index, 1);
                let expected = tenants[tenant_of[*who]].append(people[*who].user, &record);
                assert_eq!(common::book(store, &people[*who], &[record]).await, [expected]);
            }
            Op::Amend(who, run, index, outcome) => {
                let change = StepChange {
                    tool_output: Some("amended".into()),
                    outcome: (index % 2 == 1).then(|| OUTCOMES[*outcome]),
                    ..StepChange::default()
                };
                let (run, step) = (ids.runs[*run], ids.rows[*run][*index as usize]);
                let expected = tenants[tenant_of[*who]].amend(people[*who].user, run, step, &change);
                assert_eq!(store.amend(&people[*who], run, step, &change).await.unwrap(), expected);
            }
            Op::DeleteRun(who, run) => {
                let (user, id) = (people[*who].user, ids.runs[*run]);
                let (runs, _) =
                    tenants[tenant_of[*who]].delete(|run| run.owner == user && run.start.id == id);
                assert_eq!(store.delete_run(&people[*who], id).await.unwrap(), runs == 1);
            }
            Op::DeleteProject(who) => {
                let user = people[*who].user;
                let goes = |run: &Run| run.owner == user && run.start.project.is_some();
                let (runs, steps) = tenants[tenant_of[*who]].delete(goes);
                let deleted = store.delete_project(&people[*who], "/p").await.unwrap();
                assert_eq!(deleted, Deleted { runs, steps });
            }
            Op::DeleteOf(who) => {
                let user = people[*who].user;
                let (runs, steps) = tenants[tenant_of[*who]].delete(|run| run.owner == user);
                let deleted = store.delete_recordings_of(&people[*who], user).await.unwrap();
                assert_eq!(deleted, Deleted { runs, steps });
            }
        }
    }
    for (who, view) in people.iter().enumerate() {
        compare(store, view, &tenants[tenant_of[who]]).await;
    }
    let admin = View { whole_tenant: true, ..people[0] };
    compare(store, &admin, &tenants[0]).await;

    // Out of one tenant and into another, all at once from two sides: booked once, and equal.
    let third = common::person(store, store.add_tenant("three").await.unwrap()).await;
    for run in tenants[0].0.values() {
        let records = export(store, &admin, run.start.id, 2).await;
        common::book(store, &third, &records[..1]).await;
        let (left, right) = tokio::join!(store.append(&third, &records), store.append(&third, &records));
        let booked = left.unwrap().into_iter().chain(right.unwrap());
        let booked = booked.filter(|verdict| common::code(verdict) == "booked").count();
        assert_eq!(booked, records.len() - 1);
        assert_eq!(export(store, &third, run.start.id, 100).await, records);
    }
}

fn check(store: Arc<dyn Store>, runtime: &tokio::runtime::Runtime) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let done = TestRunner::new(config).run(&prop::collection::vec(op(), 1..20), |ops| {
        runtime.block_on(case(&*store, &ops));
        Ok(())
    });
    runtime.block_on(store.close());
    done.unwrap();
}

#[test]
fn sqlite_does_what_the_model_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", dir.path().join("hub.db").display());
    let store = runtime.block_on(bir_store::open(&file, Options::default())).unwrap();
    check(store, &runtime);
}

#[test]
fn postgres_does_what_the_model_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(Database::new("bir-store: the state machine on PostgreSQL"));
    let Some(database) = database else { return };
    let store = runtime.block_on(bir_store::open(&database.app_url, Options::default())).unwrap();
    check(store, &runtime);
    runtime.block_on(database.end());
}
