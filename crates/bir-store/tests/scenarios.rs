//! What every store does with scenarios, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::record::{EndReason, Finish, Record};
use bir_model::scenario::{
    ExecutionReport, Level, Mark, Mode, Outcome, ScenarioState, Stage, StepEdits, StepResult, StepVerdict,
};
use bir_model::{EditId, RunId, ScenarioId, TicketId};
use bir_store::model::*;
use bir_store::{Options, Store, StoreError};
use common::{Database, book, person, scenario, start};
use serde_json::json;
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

async fn comes_back_as_it_was_put(store: &dyn Store, who: &View) {
    let run = runs(store, who, 1).await[0];
    let mut new = scenario("find\0 it", &[(run, RunRole::Source)]);
    new.approved = true;
    let Put { id, revision } = put(store, who, &new).await;
    assert_eq!(revision, 1);
    let ScenarioDetail { summary, plan } = store.scenario(who, id).await.unwrap().unwrap();
    assert_eq!(plan, new.plan);
    assert_eq!((summary.prompt.as_str(), summary.source_run), ("find\0 it", Some(run)));
    assert_eq!((summary.project.as_deref(), summary.cwd.as_deref()), (Some("/p"), Some("/p/sub")));
    assert_eq!((summary.steps, summary.calculated_from, summary.matches), (2, 1, 0));
    assert!(summary.approved_at.is_some());
    assert_eq!(store.scenario_steps(who, id, 0, 100).await.unwrap(), new.steps);
    assert_eq!(store.scenario_steps(who, id, 1, 100).await.unwrap(), new.steps[1..]);
    assert_eq!(store.scenario_steps(who, id, 0, 1).await.unwrap(), new.steps[..1]);
    assert!(store.scenario_steps(who, id, 2, 100).await.unwrap().is_empty());

    // Another plan in its place: id, history, runs and executions stay.
    let ticket = store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    let saved = store.edit_step(who, id, 0, &edit(1, Some("return {}"), None)).await.unwrap().unwrap();
    let mut other = NewScenario { prompt: "other".into(), runs: vec![], ..new.clone() };
    other.steps.truncate(1);
    other.steps[0].recorded_output = None;
    (other.state, other.reason) = (ScenarioState::Unusable, Some("two values disagree".into()));
    (other.plan, other.approved) = (None, false);
    let instead = |expected_revision| PutAs::Instead { scenario: id, expected_revision };
    let stale = store.put_scenario(who, &other, instead(1)).await.unwrap_err();
    assert!(matches!(stale, StoreError::Revision { expected: 1, found: 2 }), "{stale}");
    let again = store.put_scenario(who, &other, instead(2)).await.unwrap().unwrap();
    assert_eq!((again.id, again.revision), (id, 3));
    let detail = store.scenario(who, id).await.unwrap().unwrap();
    assert_eq!(detail.summary.reason, other.reason);
    assert_eq!((detail.summary.approved_at, detail.summary.created_at), (None, summary.created_at));
    assert_eq!(store.scenario_steps(who, id, 0, 100).await.unwrap(), other.steps);
    assert_eq!(store.edits(who, id, &page(10)).await.unwrap().edits, [saved]);
    assert_eq!(store.scenario_runs(who, id, &page(10)).await.unwrap().runs[0].run, run);
    assert_eq!(
        store.redeem(who, id, &report(Some(ticket), Outcome::Failed)).await.unwrap(),
        Redeemed::Booked(ticket)
    );
    // One that is not ready is not matched.
    assert!(store.issue_ticket(who, id, &Match::default()).await.unwrap().is_none());
    let nowhere = PutAs::Instead { scenario: ScenarioId::new(), expected_revision: 1 };
    assert!(store.put_scenario(who, &new, nowhere).await.unwrap().is_none());
    assert!(store.delete_scenario(who, id).await.unwrap());
    assert!(!store.delete_scenario(who, id).await.unwrap());
}

/// All pages of two scenarios each.
async fn listed(store: &dyn Store, who: &View, filter: &ScenarioFilter) -> Vec<ScenarioId> {
    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..100 {
        let part = store.scenarios(who, filter, &Page { cursor, limit: 2 }).await.unwrap();
        found.extend(part.scenarios.iter().map(|one| (one.created_at, one.id)));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
    found.into_iter().map(|(_, id)| id).collect()
}

async fn is_listed_and_found_for_matching(store: &dyn Store, who: &View) {
    let all = ScenarioFilter::default();
    assert!(listed(store, who, &all).await.is_empty());
    let mut ids = Vec::new();
    for n in 0..5 {
        let mut new = scenario(&"long ".repeat(200), &[]);
        if n % 2 == 1 {
            new.state = ScenarioState::Pending;
            new.project = Some("/other".into());
            new.family = "s/x".into();
        }
        ids.push(put(store, who, &new).await.id);
    }
    ids.reverse();
    assert_eq!(listed(store, who, &all).await, ids);
    let odd = [ids[1], ids[3]];
    for filter in [
        ScenarioFilter { state: Some(ScenarioState::Pending), ..all.clone() },
        ScenarioFilter { project: Some("/other".into()), ..all.clone() },
        ScenarioFilter { family: Some("s/x".into()), state: Some(ScenarioState::Pending), ..all.clone() },
    ] {
        assert_eq!(listed(store, who, &filter).await, odd, "{filter:?}");
    }
    let none =
        ScenarioFilter { project: Some("/other".into()), state: Some(ScenarioState::Ready), ..all.clone() };
    assert!(listed(store, who, &none).await.is_empty());
    let first = store.scenarios(who, &all, &page(1)).await.unwrap();
    assert_eq!(first.scenarios[0].prompt.len(), 500);
    // A cursor of another list is none.
    let wrong = store.executions(who, None, &Page { cursor: first.next, limit: 1 }).await;
    assert!(matches!(wrong, Err(StoreError::Cursor)));

    let mut read = Vec::new();
    let mut position = None;
    for _ in 0..100 {
        let part = store.candidates(who, position, 2).await.unwrap();
        let Some(last) = part.last() else { break };
        position = Some(last.position());
        read.extend(part);
    }
    assert_eq!(read.len(), 5);
    assert!(read.is_sorted_by_key(Candidate::position));
    for one in &read {
        assert_eq!(one.plan.is_some(), one.state == ScenarioState::Ready);
        assert_eq!(one.prompt.len(), 1000);
    }
    // What was changed comes again.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let approve = ScenarioChange { approved: Some(true), ..ScenarioChange::default() };
    store.change_scenario(who, ids[4], &approve).await.unwrap().unwrap();
    let news = store.candidates(who, position, 100).await.unwrap();
    assert_eq!((news.len(), news[0].id, news[0].approved), (1, ids[4], true));
    assert_eq!(store.delete_scenarios(who, Some("/other")).await.unwrap(), 2);
    assert_eq!(store.delete_scenarios(who, None).await.unwrap(), 3);
}

async fn knows_its_runs(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 6).await;
    let free = async || {
        let part = store.runs_without_scenario(who, &page(100)).await.unwrap();
        part.runs.iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let newest: Vec<RunId> = ids.iter().rev().copied().collect();
    assert_eq!(free().await, newest);
    let one =
        put(store, who, &scenario("one", &[(ids[0], RunRole::Source), (RunId::new(), RunRole::Example)]))
            .await
            .id;
    let two = put(store, who, &scenario("two", &[(ids[1], RunRole::Source)])).await.id;
    assert!(store.add_scenario_run(who, one, ids[2], RunRole::Baseline).await.unwrap());
    assert!(store.add_scenario_run(who, one, ids[2], RunRole::Replayed).await.unwrap());
    assert!(store.add_scenario_run(who, one, ids[3], RunRole::Example).await.unwrap());
    assert!(!store.add_scenario_run(who, one, RunId::new(), RunRole::Example).await.unwrap());
    assert!(!store.add_scenario_run(who, ScenarioId::new(), ids[4], RunRole::Example).await.unwrap());
    let taken = store.add_scenario_run(who, two, ids[2], RunRole::Example).await.unwrap_err();
    assert!(
        matches!(taken, StoreError::Taken { run, scenario } if run == ids[2] && scenario == one),
        "{taken}"
    );
    let taken = store
        .put_scenario(
            who,
            &scenario("three", &[(ids[4], RunRole::Source), (ids[0], RunRole::Example)]),
            PutAs::New,
        )
        .await;
    assert!(matches!(taken, Err(StoreError::Taken { .. })));
    assert_eq!(free().await, [ids[5], ids[4]], "nothing by halves");
    let first = store.runs_without_scenario(who, &page(1)).await.unwrap();
    let second = store.runs_without_scenario(who, &Page { cursor: first.next, limit: 1 }).await.unwrap();
    assert_eq!((second.runs[0].id, second.next), (ids[4], None));

    let known = store.scenarios_of_runs(who, &ids).await.unwrap();
    let known: Vec<_> = known.iter().map(|of| (of.run, of.role, of.scenario.id)).collect();
    assert_eq!(
        known,
        [
            (ids[0], RunRole::Source, one),
            (ids[1], RunRole::Source, two),
            (ids[2], RunRole::Replayed, one),
            (ids[3], RunRole::Example, one),
        ]
    );
    let too_many = store.scenarios_of_runs(who, &vec![ids[0]; 501]).await;
    assert!(matches!(too_many, Err(StoreError::Refused(_))));

    // A scenario outlives its runs, and what they cost stays.
    for run in [ids[0], ids[2]] {
        assert!(store.delete_run(who, run).await.unwrap());
    }
    let part = store.scenario_runs(who, one, &page(10)).await.unwrap();
    let roles: Vec<_> = part.runs.iter().map(|run| (run.run, run.gone)).collect();
    assert_eq!(roles, [(ids[3], false), (ids[0], true)], "one in which it only ran is forgotten");
    assert_eq!(part.runs[1].metrics, Some(json!({"costUsd": "0.10"})));
    assert_eq!((part.runs[1].started_at, part.runs[1].ended_at), (100, Some(900)));
    assert_eq!(store.scenario(who, one).await.unwrap().unwrap().summary.source_run, Some(ids[0]));
    assert_eq!(store.scenario_steps(who, one, 0, 9).await.unwrap().len(), 2);
    assert_eq!(store.baseline(who, one, 10).await.unwrap().len(), 2);
    let first = store.scenario_runs(who, one, &page(1)).await.unwrap();
    let second = store.scenario_runs(who, one, &Page { cursor: first.next, limit: 1 }).await.unwrap();
    assert_eq!((second.runs[0].run, second.next), (ids[0], None));
    store.delete_recordings_of(who, who.user).await.unwrap();
    let left = store.scenario_runs(who, one, &page(10)).await.unwrap().runs;
    assert!(left.len() == 2 && left.iter().all(|run| run.gone));
    store.delete_scenarios(who, None).await.unwrap();
}

async fn remembers_what_was_deleted(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 5).await;
    let of = async |page: &Page| {
        let part = store.runs_to_calculate(who, page).await.unwrap();
        (part.runs.iter().map(|run| run.id).collect::<Vec<_>>(), part.next)
    };
    let dismissed = async || {
        let mut found = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            if store.is_dismissed(who, *id).await.unwrap() {
                found.push(n);
            }
        }
        found
    };
    let one =
        put(store, who, &scenario("one", &[(ids[0], RunRole::Source), (ids[1], RunRole::Example)])).await.id;
    assert!(store.add_scenario_run(who, one, ids[2], RunRole::Replayed).await.unwrap());
    put(store, who, &scenario("two", &[(ids[3], RunRole::Source)])).await;
    assert!(dismissed().await.is_empty());
    assert!(store.delete_run(who, ids[1]).await.unwrap());
    assert!(store.delete_scenario(who, one).await.unwrap());
    assert_eq!(dismissed().await, [0, 2], "one that was deleted before leaves no mark");
    assert_eq!(store.delete_scenarios(who, None).await.unwrap(), 1);
    assert_eq!(dismissed().await, [0, 2, 3]);
    assert_eq!(of(&page(1)).await, (vec![ids[4]], None));
    let free = store.runs_without_scenario(who, &page(9)).await.unwrap().runs;
    assert_eq!(free.iter().map(|run| run.id).collect::<Vec<_>>(), [ids[4], ids[3], ids[2], ids[0]]);
    assert!(store.scenarios_of_runs(who, &ids).await.unwrap().is_empty());

    // Put into a scenario, it is as any other.
    let again = put(store, who, &scenario("again", &[(ids[0], RunRole::Source)])).await.id;
    assert!(store.add_scenario_run(who, again, ids[2], RunRole::Baseline).await.unwrap());
    assert_eq!(dismissed().await, [3]);
    let known = store.scenarios_of_runs(who, &ids).await.unwrap();
    let known: Vec<_> = known.iter().map(|of| (of.run, of.role, of.scenario.id)).collect();
    assert_eq!(known, [(ids[0], RunRole::Source, again), (ids[2], RunRole::Baseline, again)]);

    // The mark goes with its run, however that goes.
    assert!(store.delete_run(who, ids[3]).await.unwrap());
    assert!(dismissed().await.is_empty());
    assert!(store.delete_scenario(who, again).await.unwrap());
    assert_eq!(dismissed().await, [0, 2]);
    store.delete_recordings_of(who, who.user).await.unwrap();
    assert!(dismissed().await.is_empty());
}

/// Deleting scenarios and runs at the same time leaves no mark behind, and ends.
async fn is_deleted_beside_its_runs(store: &Arc<dyn Store>, who: View) {
    for _ in 0..20 {
        let ids = runs(&**store, &who, 4).await;
        let named: Vec<_> = ids.iter().map(|run| (*run, RunRole::Example)).collect();
        let id = put(&**store, &who, &scenario("p", &named)).await.id;
        let gone = store.clone();
        let scenario = tokio::spawn(async move { gone.delete_scenario(&who, id).await });
        store.delete_recordings_of(&who, who.user).await.unwrap();
        assert!(scenario.await.unwrap().unwrap());
    }
}

async fn keeps_a_history(store: &dyn Store, who: &View) {
    let id = put(store, who, &scenario("edited", &[])).await.id;
    let first =
        store.edit_step(who, id, 1, &edit(1, Some("return {\"a\":\"\0\"}"), None)).await.unwrap().unwrap();
    assert_eq!(first.before, StepEdits { mark: Some(Mark::Calculation), ..StepEdits::default() });
    assert_eq!((first.revision, first.by, first.forced), (2, who.user, true));
    let steps = store.scenario_steps(who, id, 1, 1).await.unwrap();
    assert_eq!(steps[0].edits, first.after);
    let stale = store.edit_step(who, id, 0, &edit(1, None, None)).await.unwrap_err();
    assert!(matches!(stale, StoreError::Revision { expected: 1, found: 2 }), "{stale}");
    let mut undo = edit(2, None, Some(first.id));
    undo.after = first.before.clone();
    let second = store.edit_step(who, id, 1, &undo).await.unwrap().unwrap();
    assert_eq!((second.before.clone(), second.takes_back), (first.after.clone(), Some(first.id)));
    assert!(store.edit_step(who, id, 2, &edit(3, None, None)).await.unwrap().is_none());
    assert!(store.edit_step(who, ScenarioId::new(), 0, &edit(3, None, None)).await.unwrap().is_none());
    let part = store.edits(who, id, &page(1)).await.unwrap();
    assert_eq!(part.edits, std::slice::from_ref(&second));
    let rest = store.edits(who, id, &Page { cursor: part.next, limit: 1 }).await.unwrap();
    assert_eq!((rest.edits, rest.next), (vec![first.clone()], None));
    assert_eq!(store.edit(who, id, first.id).await.unwrap(), Some(first.clone()));
    assert_eq!(store.edit(who, ScenarioId::new(), first.id).await.unwrap(), None);
    assert_eq!(store.scenario(who, id).await.unwrap().unwrap().summary.revision, 3);

    // Levels: one that was taken away meanwhile is not given back.
    let to = |level, only_from| ScenarioChange { level: Some((level, None)), only_from, approved: None };
    let now = store.change_scenario(who, id, &to(Level::L1, Some(Level::L0))).await.unwrap().unwrap();
    assert_eq!((now.level, now.level_reason, now.revision), (Level::L1, None, 3));
    let now = store.change_scenario(who, id, &to(Level::L2, Some(Level::L0))).await.unwrap().unwrap();
    assert_eq!(now.level, Level::L1);
    let approve = |yes| ScenarioChange { approved: Some(yes), ..ScenarioChange::default() };
    let now = store.change_scenario(who, id, &approve(true)).await.unwrap().unwrap();
    assert!(now.approved_at.is_some() && now.level == Level::L1);
    assert_eq!(store.change_scenario(who, id, &approve(false)).await.unwrap().unwrap().approved_at, None);
    assert!(store.change_scenario(who, ScenarioId::new(), &approve(true)).await.unwrap().is_none());
    store.delete_scenarios(who, None).await.unwrap();
}

async fn books_an_execution_once(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 3).await;
    let id = put(store, who, &scenario("run it", &[(ids[0], RunRole::Source)])).await.id;
    let other = put(store, who, &scenario("other", &[])).await.id;
    let matched = Match { run: Some(ids[1]), prompt: Some("asked\0".into()) };
    let Ticket { id: ticket, matches } = store.issue_ticket(who, id, &matched).await.unwrap().unwrap();
    assert_eq!(matches, 1);
    assert!(
        store.executions(who, Some(id), &page(9)).await.unwrap().executions.is_empty(),
        "nothing was told yet"
    );
    let mut told = report(Some(ticket), Outcome::FellBack);
    told.mode = Some(Mode::Direct);
    told.level = Some(Level::L1);
    told.derive_cost_usd = "0.000000000001".parse().unwrap();
    told.session_cost_usd = "12.5".parse().unwrap();
    (told.tokens, told.duration_ms, told.steps_planned, told.steps_pinned) = (7, 8, 2, 1);
    (told.measured, told.pricing_version) = (true, "2026-08-30".into());
    (told.error, told.error_stage, told.error_step_index) = (Some("e\0".into()), Some(Stage::Input), Some(1));
    told.error_tool_name = Some("tool1".into());
    told.steps = vec![StepResult {
        step_index: 1,
        tool_name: "tool1".into(),
        status: StepVerdict::Failed,
        stage: Some(Stage::Input),
        error: Some("e\0".into()),
        duration_ms: Some(3),
    }];
    assert_eq!(
        store.redeem(who, other, &told).await.unwrap(),
        Redeemed::Unknown,
        "the ticket of another one"
    );
    assert_eq!(store.redeem(who, id, &told).await.unwrap(), Redeemed::Booked(ticket));
    let late = report(Some(ticket), Outcome::SteeredFull);
    assert_eq!(store.redeem(who, id, &late).await.unwrap(), Redeemed::Duplicate);
    let never = report(Some(TicketId::new()), Outcome::SteeredFull);
    assert_eq!(store.redeem(who, id, &never).await.unwrap(), Redeemed::Unknown);
    let found = store.executions(who, Some(id), &page(9)).await.unwrap().executions;
    assert_eq!((found.len(), found[0].id, found[0].run), (1, ticket, Some(ids[1])));
    let used =
        |id: ScenarioId| async move { store.scenario(who, id).await.unwrap().unwrap().summary.last_used_at };
    assert_eq!((used(id).await, used(other).await), (Some(found[0].claimed_at), None));
    told.prompt = Some("asked\0".into());
    assert_eq!(found[0].report, told);

    // What the model did by itself, each run once.
    assert!(store.add_scenario_run(who, id, ids[2], RunRole::Baseline).await.unwrap());
    let matched = Match { run: Some(ids[2]), prompt: None };
    let Ticket { id: declined, matches } = store.issue_ticket(who, id, &matched).await.unwrap().unwrap();
    assert_eq!(matches, 2);
    store.redeem(who, id, &report(Some(declined), Outcome::NotSteered)).await.unwrap();
    let Redeemed::Booked(alone) = store.redeem(who, id, &report(None, Outcome::Failed)).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        store.redeem(who, ScenarioId::new(), &report(None, Outcome::Failed)).await.unwrap(),
        Redeemed::Unknown
    );
    let samples = store.baseline(who, id, 10).await.unwrap();
    let (mut of_runs, mut executed) = (Vec::new(), Vec::new());
    for sample in samples {
        match sample {
            BaselineSample::Run(run) => of_runs.push(run.run),
            BaselineSample::Execution(execution) => executed.push(execution.id),
        }
    }
    executed.sort_unstable();
    assert_eq!((of_runs, executed), (vec![ids[0]], vec![declined, alone]));
    assert_eq!(store.baseline(who, id, 1).await.unwrap().len(), 1);

    let mut seen = Vec::new();
    let mut cursor = None;
    for _ in 0..10 {
        let part = store.executions(who, None, &Page { cursor, limit: 1 }).await.unwrap();
        seen.extend(part.executions.into_iter().map(|one| one.id));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, [ticket, declined, alone]);

    // Tickets that nobody redeemed go with what else is over.
    let open = store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    assert_eq!(store.purge(1, 100).await.unwrap(), 0);
    assert_eq!(store.purge(u64::MAX >> 12, 100).await.unwrap(), 1);
    assert_eq!(store.redeem(who, id, &report(Some(open), Outcome::Failed)).await.unwrap(), Redeemed::Unknown);
    assert_eq!(store.executions(who, Some(id), &page(9)).await.unwrap().executions.len(), 3);
    store.delete_scenarios(who, None).await.unwrap();
    assert!(store.executions(who, None, &page(9)).await.unwrap().executions.is_empty());
}

/// Somebody else, an administrator and another tenant among them, gets nothing and changes nothing.
async fn is_its_owners_alone(store: &dyn Store, who: &View, others: &[View]) {
    let run = runs(store, who, 1).await[0];
    let id = put(store, who, &scenario("mine", &[(run, RunRole::Source)])).await.id;
    let ticket = store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    let saved = store.edit_step(who, id, 0, &edit(1, None, None)).await.unwrap().unwrap();
    store.redeem(who, id, &report(None, Outcome::Failed)).await.unwrap();
    let before = store.scenario(who, id).await.unwrap();
    for other in others {
        let own = runs(store, other, 1).await[0];
        assert!(store.scenario(other, id).await.unwrap().is_none());
        assert!(store.scenario_steps(other, id, 0, 9).await.unwrap().is_empty());
        assert!(listed(store, other, &ScenarioFilter::default()).await.is_empty());
        assert!(store.scenarios_of_runs(other, &[run]).await.unwrap().is_empty());
        assert!(store.candidates(other, None, 9).await.unwrap().is_empty());
        assert!(store.scenario_runs(other, id, &page(9)).await.unwrap().runs.is_empty());
        for free in [
            store.runs_without_scenario(other, &page(9)).await.unwrap().runs,
            store.runs_to_calculate(other, &page(9)).await.unwrap().runs,
        ] {
            assert_eq!(free.iter().map(|run| run.id).collect::<Vec<_>>(), [own]);
        }
        assert!(store.edits(other, id, &page(9)).await.unwrap().edits.is_empty());
        assert!(store.edit(other, id, saved.id).await.unwrap().is_none());
        for of in [Some(id), None] {
            assert!(store.executions(other, of, &page(9)).await.unwrap().executions.is_empty());
        }
        assert!(store.baseline(other, id, 9).await.unwrap().is_empty());
        let instead = PutAs::Instead { scenario: id, expected_revision: 2 };
        assert!(store.put_scenario(other, &scenario("theirs", &[]), instead).await.unwrap().is_none());
        assert!(store.edit_step(other, id, 0, &edit(2, None, None)).await.unwrap().is_none());
        let change = ScenarioChange { approved: Some(true), ..ScenarioChange::default() };
        assert!(store.change_scenario(other, id, &change).await.unwrap().is_none());
        assert!(store.issue_ticket(other, id, &Match::default()).await.unwrap().is_none());
        for ticket in [Some(ticket), None] {
            let told = report(ticket, Outcome::SteeredFull);
            assert_eq!(store.redeem(other, id, &told).await.unwrap(), Redeemed::Unknown);
        }
        assert!(!store.add_scenario_run(other, id, own, RunRole::Example).await.unwrap());
        // Somebody else's run is not one's own, also for who sees it.
        let theirs = put(store, other, &scenario("theirs", &[(run, RunRole::Source)])).await.id;
        assert!(store.scenario_runs(other, theirs, &page(9)).await.unwrap().runs.is_empty());
        assert!(!store.add_scenario_run(other, theirs, run, RunRole::Example).await.unwrap());
        assert!(!store.delete_scenario(other, id).await.unwrap());
        assert_eq!(store.delete_scenarios(other, None).await.unwrap(), 1);
    }
    assert_eq!(store.scenario(who, id).await.unwrap(), before);
    assert_eq!(
        store.redeem(who, id, &report(Some(ticket), Outcome::Failed)).await.unwrap(),
        Redeemed::Booked(ticket)
    );
    assert!(store.delete_scenario(who, id).await.unwrap() && store.is_dismissed(who, run).await.unwrap());
    for other in others {
        assert!(!store.is_dismissed(other, run).await.unwrap());
    }
}

async fn says_what_is_too_large(store: &dyn Store, who: &View) {
    const LIMIT: usize = 16 << 20;
    let whole = "ä\0".repeat((10 << 20) / 3);
    let mut new = scenario("large", &[]);
    new.steps[0].recorded_output = Some(whole.clone());
    new.steps[1].recorded_output = Some("x".repeat(LIMIT));
    let id = put(store, who, &new).await.id;
    let steps = store.scenario_steps(who, id, 0, 9).await.unwrap();
    assert!(steps == new.steps, "10 MB come back as they were");
    // Many of them come in parts.
    let large = &new.steps[1];
    new.steps = (0..5).map(|index| ScenarioStep { index, ..large.clone() }).collect();
    let id = put(store, who, &new).await.id;
    let mut read = 0;
    let mut parts = 0;
    while parts < 10 {
        let part = store.scenario_steps(who, id, read, 100).await.unwrap();
        if part.is_empty() {
            break;
        }
        read += u32::try_from(part.len()).unwrap();
        parts += 1;
    }
    assert_eq!((read, parts), (5, 2));

    // What is larger does not come to the database; `limits.rs` tries each limit.
    new.steps[0].recorded_output = Some("x".repeat(LIMIT + 1));
    let error = store.put_scenario(who, &new, PutAs::New).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused(why) if why.contains("recordedOutput")), "{error}");
    let huge = StepEdit { note: Some("x".repeat(LIMIT + 1)), ..edit(1, None, None) };
    assert!(matches!(store.edit_step(who, id, 0, &huge).await, Err(StoreError::Refused(_))));
    let mut told = report(None, Outcome::Failed);
    told.tokens = u64::MAX;
    assert!(matches!(store.redeem(who, id, &told).await, Err(StoreError::Refused(_))));
    store.delete_scenarios(who, None).await.unwrap();
}

/// Of several at once one wins, and the others are told.
async fn is_changed_by_one_at_a_time(store: &Arc<dyn Store>, who: View) {
    const AT_ONCE: usize = 8;
    let run = runs(&**store, &who, 1).await[0];
    for _ in 0..10 {
        let id = put(&**store, &who, &scenario("raced", &[])).await.id;
        let edits = futures(AT_ONCE, |n| {
            let store = store.clone();
            async move { store.edit_step(&who, id, 0, &edit(1, Some(&format!("{n}")), None)).await }
        });
        let (won, lost): (Vec<_>, Vec<_>) = edits.await.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, AT_ONCE - 1));
        assert!(lost.iter().all(|lost| matches!(lost, Err(StoreError::Revision { expected: 1, found: 2 }))));
        let saved = won.into_iter().next().unwrap().unwrap().unwrap();
        assert_eq!(store.scenario_steps(&who, id, 0, 1).await.unwrap()[0].edits, saved.after);
        assert_eq!(store.edits(&who, id, &page(9)).await.unwrap().edits, [saved]);

        let ticket = store.issue_ticket(&who, id, &Match::default()).await.unwrap().unwrap().id;
        let told = futures(AT_ONCE, |n| {
            let store = store.clone();
            let mut told = report(Some(ticket), Outcome::SteeredFull);
            told.tokens = n as u64;
            async move { store.redeem(&who, id, &told).await.unwrap() }
        });
        let told = told.await;
        assert_eq!(told.iter().filter(|one| **one == Redeemed::Booked(ticket)).count(), 1);
        assert_eq!(told.iter().filter(|one| **one == Redeemed::Duplicate).count(), AT_ONCE - 1);
        let winner = told.iter().position(|one| *one == Redeemed::Booked(ticket)).unwrap();
        let booked = store.executions(&who, Some(id), &page(9)).await.unwrap().executions;
        assert_eq!((booked.len(), booked[0].report.tokens), (1, winner as u64));

        // A run that is calculated in two places gets one scenario.
        let put = futures(AT_ONCE, |_| {
            let store = store.clone();
            async move { store.put_scenario(&who, &scenario("p", &[(run, RunRole::Source)]), PutAs::New).await }
        });
        let (won, lost): (Vec<_>, Vec<_>) = put.await.into_iter().partition(Result::is_ok);
        assert!(
            won.len() == 1 && lost.iter().all(|lost| matches!(lost, Err(StoreError::Taken { .. }))),
            "{lost:?}"
        );
        assert_eq!(store.delete_scenarios(&who, None).await.unwrap(), 2);
    }
}

async fn futures<T, F>(count: usize, make: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(|n| tokio::spawn(make(n))).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.unwrap());
    }
    done
}

async fn goes_with_its_owner_and_stays_without_its_runs(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 3).await;
    let gone = put(store, who, &scenario("gone", &[(ids[2], RunRole::Source)])).await.id;
    assert!(
        store.delete_scenario(who, gone).await.unwrap() && store.is_dismissed(who, ids[2]).await.unwrap()
    );
    let id = put(store, who, &scenario("kept", &[(ids[0], RunRole::Source), (ids[1], RunRole::Replayed)]))
        .await
        .id;
    assert!(store.expire(u64::MAX >> 12, 100_000).await.unwrap().runs >= 2);
    assert!(store.scenario(who, id).await.unwrap().is_some());
    let left = store.scenario_runs(who, id, &page(9)).await.unwrap().runs;
    assert_eq!(left.iter().map(|run| (run.run, run.gone)).collect::<Vec<_>>(), [(ids[0], true)]);
    for n in 0..250 {
        put(store, who, &scenario(&format!("{n}"), &[])).await;
    }
    assert!(store.delete_user(who.tenant, who.user).await.unwrap());
    assert!(store.scenario(who, id).await.unwrap().is_none());
    let late = store.put_scenario(who, &scenario("late", &[]), PutAs::New).await.unwrap_err();
    assert!(matches!(late, StoreError::Refused(_)), "{late}");
}

async fn all(store: Arc<dyn Store>) {
    let tenant = store.add_tenant("one").await.unwrap();
    let ada = person(&*store, tenant).await;
    comes_back_as_it_was_put(&*store, &ada).await;
    store.delete_recordings_of(&ada, ada.user).await.unwrap();
    is_listed_and_found_for_matching(&*store, &ada).await;
    knows_its_runs(&*store, &ada).await;
    remembers_what_was_deleted(&*store, &ada).await;
    is_deleted_beside_its_runs(&store, ada).await;
    keeps_a_history(&*store, &ada).await;
    books_an_execution_once(&*store, &ada).await;
    says_what_is_too_large(&*store, &ada).await;
    is_changed_by_one_at_a_time(&store, ada).await;
    let bob = person(&*store, tenant).await;
    let boss = View { whole_tenant: true, ..person(&*store, tenant).await };
    let eve = person(&*store, store.add_tenant("two").await.unwrap()).await;
    is_its_owners_alone(&*store, &ada, &[bob, boss, eve]).await;
    goes_with_its_owner_and_stays_without_its_runs(&*store, &ada).await;
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
