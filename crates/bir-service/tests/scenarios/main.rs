#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Scenarios over HTTP: their whole life, whose they are, what is refused, and what bad input gets.
#![cfg(target_os = "linux")]

mod changed;
#[path = "../common/mod.rs"]
mod common;
mod life;
mod refused;
mod waited;

use bir_model::record::{EndReason, Finish, Record, Step, StepType};
use bir_model::{Outcome, RunId, StepId};
use bir_service::{Settings, scenarios};
use bir_store::model::Role;
use bir_testkit::bins;
use bir_testkit::postgres::Postgres;
use common::memory::MemoryStore;
use common::{Answer, Person, World};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::time::{Duration, Instant};

/// Something in the background is waited for so long.
const PATIENCE: Duration = Duration::from_secs(20);

fn with_sandbox(settings: &mut Settings) {
    settings.sandbox = Some(bins::bin("bir-sandbox", "bir-sandbox").unwrap());
    // A debug build on a machine that others use.
    settings.match_budget = Duration::from_secs(10);
    settings.edit_budget = Duration::from_secs(20);
    settings.logic_timeout = Duration::from_secs(5);
    settings.limits.scenarios.calculation = Duration::from_secs(30);
    settings.limits.scenarios.matcher_age = Duration::from_millis(20);
    settings.limits.scenarios.round = Duration::from_millis(400);
    settings.limits.scenarios.ticket = Duration::from_millis(300);
    settings.limits.record_rate = 100_000;
    settings.limits.api_rate = 100_000;
}

/// A service that calculates.
struct Place {
    world: World,
    ann: Person,
    work: tokio::task::JoinHandle<()>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Place {
    async fn new() -> Self {
        Self::over(MemoryStore::new().await, |_| {}).await
    }

    async fn over(store: MemoryStore, change: impl FnOnce(&mut Settings)) -> Self {
        let world = World::over(store, |settings| {
            with_sandbox(settings);
            change(settings);
        })
        .await;
        let ann = world.person(world.tenant, Role::Member, "ann@example.com").await;
        let work = tokio::spawn(scenarios::work(world.state.clone()));
        Self { world, ann, work }
    }

    async fn begin(&self, who: &Person, run: RunId, prompt: &str) -> Answer {
        let body = json!({"id": run, "tier": "bound", "input": prompt, "project": "/p",
            "startedAt": 1_796_032_800_000_u64, "metadata": {"timeZone": "Europe/Berlin", "cwd": "/p"}});
        self.world.post(&who.token, "/recordings/runs", &body).await
    }

    /// A whole run, recorded.
    async fn record(&self, who: &Person, prompt: &str, calls: &[(&str, Value, Value)]) -> (RunId, Value) {
        let run = RunId::new();
        let begun = self.begin(who, run, prompt).await;
        assert!(begun.status == 201 || begun.status == 200, "{}", begun.text());
        self.calls(who, run, calls).await;
        (run, begun.json())
    }

    async fn calls(&self, who: &Person, run: RunId, calls: &[(&str, Value, Value)]) {
        let mut records = Vec::new();
        for (n, (tool, input, output)) in calls.iter().enumerate() {
            records.extend(call(run, 2 * n as u32, tool, input, output).map(Record::Step));
        }
        records.push(Record::Finish(Finish {
            run_id: run,
            at: 1_796_032_860_000,
            reason: EndReason::Closed,
            final_output: Some("There it is.".into()),
            metrics: None,
        }));
        let booked = self.world.batch(&who.token, &records).await;
        assert_eq!(booked.json()["booked"], records.len() as u64, "{}", booked.text());
    }

    /// The scenario of a run, once it was calculated.
    async fn scenario(&self, who: &Person, run: RunId) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.world.get(&who.token, &format!("/recordings/runs/{run}/scenario")).await;
            if answer.status == 200 {
                return answer.json();
            }
            assert!(Instant::now() < until, "no scenario of {run}: {}", answer.text());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What a prompt is answered, once something was learnt.
    async fn asked(&self, who: &Person, prompt: &str, done: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let body = json!({"prompt": prompt, "project": "/p", "now": 1_796_032_800_000_u64});
            let answer = self.world.post(&who.token, "/scenarios/match", &body).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let said = answer.json();
            if done(&said) || Instant::now() > until {
                return said;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn call(run: RunId, index: u32, tool: &str, input: &Value, output: &Value) -> [Step; 2] {
    let step = |index: u32, kind: StepType| Step {
        id: StepId::new(),
        run_id: run,
        step_index: index,
        step_type: kind,
        tool_name: format!("mcp__weather__{tool}"),
        server: Some("weather".into()),
        tool: Some(tool.to_owned()),
        ..common::step(run, index)
    };
    let mut begun = step(index, StepType::ToolSelected);
    begun.tool_input = Some(input.to_string());
    begun.tool_output = None;
    begun.outcome = None;
    begun.duration_us = None;
    let mut ended = step(index + 1, StepType::ToolResponse);
    ended.tool_input = None;
    let text = json!({"content": [{"type": "text", "text": output.to_string()}]});
    ended.tool_output = Some(text.to_string());
    ended.outcome = Some(Outcome::Ok);
    [begun, ended]
}

/// Looking up a city, then its weather.
fn weather(city: &str, id: u64, degrees: i64) -> Vec<(&'static str, Value, Value)> {
    vec![
        ("find_city", json!({"query": city}), json!({"city": {"id": id, "name": city}})),
        (
            "get_weather",
            json!({"cityId": id, "units": "metric"}),
            json!({"temperature": degrees, "sky": "clear"}),
        ),
    ]
}

async fn taught(place: &Place) -> (RunId, RunId, Value) {
    let (first, begun) =
        place.record(&place.ann, "What is the weather in Rome today?", &weather("Rome", 4711, 31)).await;
    assert_eq!(begun, json!({"id": first, "matched": null}));
    place.scenario(&place.ann, first).await;
    let (second, _) =
        place.record(&place.ann, "What is the weather in Oslo today?", &weather("Oslo", 815, 12)).await;
    let scenario = place.scenario(&place.ann, second).await;
    (first, second, scenario)
}

/// Another process over the same store, with a memory of its own.
fn replica(place: &Place, change: impl FnOnce(&mut Settings)) -> World {
    let mut settings = Settings::new(common::HOST.parse().unwrap());
    with_sandbox(&mut settings);
    change(&mut settings);
    let world = &place.world;
    let state = bir_service::State::new(world.state.store().clone(), settings);
    let app = bir_service::app(state.clone());
    let (tenant, other) = (world.tenant, world.other);
    World { store: world.store.clone(), clock: world.clock.clone(), state, app, tenant, other }
}
