//! Fills a store with scenarios of one person, and measures how fast they are listed and read for matching.
//!
//! ```text
//! cargo run --release -p bir-store --example scenarios -- sqlite:/tmp/scenarios.db [SCENARIOS, 100,000] [LISTINGS, 200]
//! cargo run --release -p bir-store --example scenarios -- postgres://bir_hub@127.0.0.1/bir 100000
//! ```
//!
//! They go to a new tenant. Every second scenario has a run of its own, so that half of as many runs belong to none.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use bir_model::RunId;
use bir_model::record::{Record, RunStart};
use bir_model::scenario::{Effect, Level, ScenarioState, StepEdits, Trust};
use bir_store::model::{
    NewScenario, NewUser, Page, PutAs, Role, RunRole, ScenarioFilter, ScenarioStep, View,
};
use bir_store::{Options, Store, StoreError};
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs that are booked together.
const TOGETHER: u64 = 500;
/// Candidates that are read together.
const PART: u32 = 1_000;

fn scenario(at: u64, run: Option<RunId>) -> NewScenario {
    let step = |index| ScenarioStep {
        index,
        server: Some("it".into()),
        tool: "search".into(),
        effect: Effect::Read,
        reasoning: None,
        edits: StepEdits::default(),
        recorded_input: Some(json!({"q": at}).to_string()),
        recorded_output: Some(json!({"text": "plain words of no special meaning ".repeat(6)}).to_string()),
    };
    NewScenario {
        source_run: run,
        family: format!("it/search it/search {}", at % 1_000),
        project: Some(format!("/home/a/project{}", at % 50)),
        cwd: None,
        prompt: format!("find what was said about number {at} and tell me who said it"),
        intent: None,
        state: if at.is_multiple_of(20) { ScenarioState::Unusable } else { ScenarioState::Ready },
        reason: None,
        plan: Some(json!({"params": [], "steps": "x".repeat(2_000)}).to_string()),
        level: Level::L0,
        level_reason: None,
        standing: None,
        confidence: Trust::Low,
        approved: false,
        calculated_from: 1,
        steps: vec![step(0), step(1)],
        runs: run.map(|run| (run, RunRole::Source)).into_iter().collect(),
    }
}

async fn somebody(store: &dyn Store) -> Result<View, StoreError> {
    let tenant = store.add_tenant("scenarios").await?;
    let email = format!("{}@example.com", RunId::new());
    let user = NewUser { email, name: "Fill".into(), role: Role::Member, password_hash: None };
    Ok(View { tenant, user: store.add_user(tenant, user).await?, whole_tenant: false })
}

async fn fill(store: &dyn Store, who: &View, count: u64) -> Result<(), StoreError> {
    for from in (0..count).step_by(usize::try_from(TOGETHER).unwrap_or(1)) {
        let mut records = Vec::new();
        let mut ids = Vec::new();
        for at in from..count.min(from + TOGETHER) {
            let id = RunId::new();
            let start = json!({"id": id, "tier": "bound", "startedAt": at, "input": format!("asked {at}")});
            let start: RunStart =
                serde_json::from_value(start).map_err(|error| StoreError::Failed(error.to_string()))?;
            records.push(Record::Run(start));
            ids.push((at, id));
        }
        store.append(who, &records).await?;
        for (at, id) in ids {
            let run = at.is_multiple_of(2).then_some(id);
            store.put_scenario(who, &scenario(at, run), PutAs::New).await?;
        }
    }
    Ok(())
}

/// p50 and p99 of many.
fn told(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or_default();
    println!("{what}: p50 {:?}, p99 {:?}", at(50), at(99));
}

async fn measure(store: &dyn Store, who: &View, listings: u32) -> Result<(), StoreError> {
    let none = ScenarioFilter::default;
    let filters = [
        ("newest page", none()),
        ("ready, newest page", ScenarioFilter { state: Some(ScenarioState::Ready), ..none() }),
        ("of a project", ScenarioFilter { project: Some("/home/a/project7".into()), ..none() }),
        ("of a family", ScenarioFilter { family: Some("it/search it/search 7".into()), ..none() }),
    ];
    for (what, filter) in filters {
        let mut took = Vec::new();
        for _ in 0..listings {
            let begun = Instant::now();
            store.scenarios(who, &filter, &Page { cursor: None, limit: 50 }).await?;
            took.push(begun.elapsed());
        }
        told(what, took);
    }
    let begun = Instant::now();
    let (mut read, mut ready, mut position, mut took) = (0, 0, None, Vec::new());
    loop {
        let one = Instant::now();
        let part = store.candidates(who, position, PART).await?;
        took.push(one.elapsed());
        let Some(last) = part.last() else { break };
        position = Some(last.position());
        read += part.len();
        ready += part.iter().filter(|one| one.plan.is_some()).count();
    }
    println!("all candidates: {read}, {ready} of them ready, in {:?}", begun.elapsed());
    told("a part of them", took);
    let begun = Instant::now();
    store.candidates(who, position, PART).await?;
    println!("nothing new: {:?}", begun.elapsed());
    let (mut runs, mut cursor) = (0, None);
    let begun = Instant::now();
    loop {
        let part = store.runs_without_scenario(who, &Page { cursor, limit: 500 }).await?;
        runs += part.runs.len();
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    println!("all runs without a scenario: {runs} in {:?}", begun.elapsed());
    Ok(())
}

async fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let number = |text: Option<String>, or| text.map_or(Ok(or), |text| text.parse().map_err(|_| text));
    let address = arguments.next().ok_or("name a store: sqlite:PATH or postgres://USER@HOST/DATABASE")?;
    let count: u64 = number(arguments.next(), 100_000).map_err(|text| format!("`{text}` is no number"))?;
    let listings = number(arguments.next(), 200).map_err(|text| format!("`{text}` is no number"))?;
    let listings = u32::try_from(listings).map_err(|error| error.to_string())?;
    let work = async {
        let store = bir_store::open(&address, Options::default()).await?;
        let who = somebody(&*store).await?;
        let begun = Instant::now();
        fill(&*store, &who, count).await?;
        println!("{count} scenarios are kept in {:?}", begun.elapsed());
        measure(&*store, &who, listings).await?;
        let one = store.delete_scenarios(&who, Some("/home/a/project7")).await?;
        println!("{one} of one project are deleted");
        store.close().await;
        Ok::<(), StoreError>(())
    };
    work.await.map_err(|error| error.to_string())
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> ExitCode {
    match run(std::env::args().skip(1)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
