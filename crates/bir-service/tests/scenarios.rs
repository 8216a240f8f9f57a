#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Scenarios over HTTP: their whole life, whose they are, what is refused, and what bad input gets.
#![cfg(target_os = "linux")]

mod common;

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

async fn life(place: Place) {
    let ann = place.ann.clone();
    let (first, _, scenario) = taught(&place).await;
    let id = scenario["scenarioId"].as_str().unwrap().to_owned();
    assert_eq!((&scenario["state"], &scenario["runs"]), (&json!("ready"), &json!(2)), "{scenario}");
    assert_eq!((&scenario["sourceRunId"], &scenario["level"]), (&json!(first), &json!("L1")));
    assert_eq!(scenario["steps"].as_array().unwrap().len(), 2);
    assert!(scenario["steps"][0]["leaves"][0]["origin"] == "prompt", "{}", scenario["steps"][0]);
    let listed = place.world.get(&ann.token, "/scenarios?state=ready&limit=1").await.json();
    assert_eq!(listed["scenarios"][0]["id"], json!(id), "{listed}");

    // What would be done is told, and nothing is written.
    let said =
        place.asked(&ann, "What is the weather in Lisbon today?", |said| !said["matched"].is_null()).await;
    assert_eq!(said["matched"]["scenarioId"], json!(id), "{said}");
    assert!(said["matched"]["executionTicket"].is_null());
    assert_eq!(said["steps"][0]["input"], json!({"query": "Lisbon"}), "{said}");

    // A run that begins is recorded and answered with the match.
    let third = RunId::new();
    let begun = place.begin(&ann, third, "What is the weather in Lisbon today?").await;
    assert_eq!(begun.status, 200, "{}", begun.text());
    let matched = begun.json()["matched"].clone();
    assert_eq!((&begun.json()["id"], &matched["runId"]), (&json!(third), &json!(first)));
    assert_eq!((&matched["scenarioId"], &matched["similarity"]), (&json!(id), &Value::Null), "{matched}");
    assert_eq!(matched["scenario"]["state"], "ready");
    assert!(matched["iterations"].as_u64().unwrap() >= 2, "{matched}");
    let derived = matched["derived"]["params"].as_object().unwrap().clone();
    assert!(derived.values().any(|value| value == "Lisbon"), "{derived:?}");
    let ticket = matched["executionTicket"].as_str().unwrap().to_owned();
    let derive = json!({"prompt": "What is the weather in Lisbon today?"});
    let again = place.world.post(&ann.token, &format!("/scenarios/{id}/derive"), &derive).await.json();
    assert_eq!(again["params"], json!(derived), "{again}");

    // Its ticket is redeemed once.
    let path = format!("/scenarios/{id}/executions");
    let report = json!({"ticket": ticket, "outcome": "steered_full", "mode": "direct", "stepsPlanned": 2, "stepsPinned": 2,
        "sessionCostUsd": "0.01", "tokens": 900, "measured": true, "model": "claude-haiku-4-5", "durationMs": 1500,
        "steps": [{"stepIndex": 0, "status": "ok"}, {"stepIndex": 1, "status": "ok"}]});
    let booked = place.world.post(&ann.token, &path, &report).await;
    assert_eq!(
        (booked.status.as_u16(), &booked.json()["recorded"]),
        (201, &json!(true)),
        "{}",
        booked.text()
    );
    assert!(booked.json()["saving"]["baseline"].is_null(), "not yet measured: {}", booked.text());
    let twice = place.world.post(&ann.token, &path, &report).await;
    assert_eq!((twice.status.as_u16(), &twice.json()["duplicate"]), (200, &json!(true)));
    let unknown = json!({"ticket": "tkt_00000000-0000-7000-8000-000000000001", "outcome": "steered_full"});
    assert_eq!(place.world.post(&ann.token, &path, &unknown).await.problem().0, 404);
    let nothing = place.world.post(&ann.token, &path, &json!({"outcome": "not_steered"})).await;
    assert_eq!((nothing.status.as_u16(), nothing.json()), (202, json!({"recorded": false})));
    let told = place.world.get(&ann.token, &path).await.json();
    assert_eq!(told["executions"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(
        (&told["executions"][0]["executionId"], &told["executions"][0]["runId"]),
        (&json!(ticket), &json!(third))
    );

    // The run in which it ran belongs to it, and is no further example.
    place.calls(&ann, third, &weather("Lisbon", 9, 25)).await;
    let of_third = place.scenario(&ann, third).await;
    assert_eq!((&of_third["scenarioId"], &of_third["runs"]), (&json!(id), &json!(2)), "{of_third}");

    // A broken step takes a level away at once.
    let broken = json!({"outcome": "fell_back", "error": "boom", "errorStage": "input_logic", "steps":
        [{"stepIndex": 1, "status": "failed", "stage": "input_logic", "error": "boom"}]});
    assert_eq!(place.world.post(&ann.token, &path, &broken).await.status, 201);
    let fallen = place.world.get(&ann.token, &format!("/scenarios/{id}")).await.json();
    assert_eq!(fallen["level"], "L0", "{fallen}");

    // Deleted, it is gone for matching, too, and does not come back by itself. Its runs are known word for word.
    assert_eq!(place.world.call(&ann.token, "DELETE", &format!("/scenarios/{id}"), "").await.status, 204);
    assert_eq!(place.world.get(&ann.token, &format!("/scenarios/{id}")).await.problem().0, 404);
    let prompt = "What is the weather in Lisbon today?";
    let said = place.asked(&ann, prompt, |said| said["matched"]["scenarioId"].is_null()).await;
    assert!(said["matched"]["scenarioId"].is_null() && said["decision"] == "decline", "{said}");
    let said =
        place.asked(&ann, "What is the weather in Madrid today?", |said| said["matched"].is_null()).await;
    assert!(said["matched"].is_null(), "{said}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let none = async || {
        let listed = place.world.get(&ann.token, "/scenarios").await.json();
        assert_eq!(listed["scenarios"], json!([]), "{listed}");
    };
    none().await;

    // Nor does it after a restart: another process over the same store finds the run that has none, and leaves those alone.
    place.work.abort();
    let other = place.world.person(place.world.tenant, Role::Member, "zoe@example.com").await;
    let (found, _) =
        place.record(&other, "What is the weather in Rome today?", &weather("Rome", 4711, 31)).await;
    let state = bir_service::State::new(place.world.state.store().clone(), {
        let mut settings = Settings::new(common::HOST.parse().unwrap());
        with_sandbox(&mut settings);
        settings
    });
    let work = tokio::spawn(scenarios::work(state.clone()));
    place.scenario(&other, found).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    none().await;
    state.end_streams();
    work.await.unwrap();

    // Whoever asks for it gets it, and from then on it is as any other.
    let path = format!("/recordings/runs/{first}/calculate");
    let again = place.world.post(&ann.token, &path, &json!({})).await.json();
    assert_eq!((&again["state"], &again["sourceRunId"]), (&json!("ready"), &json!(first)), "{again}");
    assert_eq!(place.scenario(&ann, first).await["scenarioId"], again["scenarioId"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_life_in_sqlite() {
    life(Place::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_life_in_postgres() {
    let Some(server) = Postgres::start("the_whole_life_in_postgres") else { return };
    let tag = RunId::new().uuid().simple().to_string();
    let (owner, app, database) = (format!("o{tag}"), format!("a{tag}"), format!("d{tag}"));
    let mut admin = PgConnection::connect(server.url()).await.unwrap();
    for sql in [
        format!("CREATE ROLE {owner} LOGIN PASSWORD 'x'"),
        format!("CREATE ROLE {app} LOGIN PASSWORD 'x'"),
        format!("CREATE DATABASE {database} OWNER {owner}"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
    bir_store::migrate(&server.url_of(&owner, "x", &database), &app).await.unwrap();
    let store =
        bir_store::open(&server.url_of(&app, "x", &database), bir_store::Options::default()).await.unwrap();
    life(Place::over(MemoryStore::over(store.clone()), |_| {}).await).await;
    store.close().await;
    for sql in [
        format!("DROP DATABASE {database} WITH (FORCE)"),
        format!("DROP ROLE {owner}"),
        format!("DROP ROLE {app}"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_words_are_another_request() {
    let place = Place::new().await;
    taught(&place).await;
    let ann = place.ann.clone();
    let said =
        place.asked(&ann, "What is the weather in Lisbon today?", |said| !said["matched"].is_null()).await;
    assert!(!said["matched"].is_null(), "{said}");
    for prompt in [
        "Do not ask what the weather in Rome is today",
        "What is not the weather in Rome today?",
        "What is the weather in Rome and in Oslo today?",
        "What is the weather in Rome today, and send it to Bob",
        "Delete the weather in Rome today",
        "What was the weather there?",
        "",
        "   ",
    ] {
        let run = RunId::new();
        let begun = place.begin(&ann, run, prompt).await;
        assert_eq!(begun.json(), json!({"id": run, "matched": null}), "{prompt}");
        assert_eq!(begun.status, 201, "{prompt}");
        let body = json!({"prompt": prompt, "project": "/p"});
        let said = place.world.post(&ann.token, "/scenarios/match", &body).await.json();
        assert!(
            said["decision"] == "decline" && !said["why"].as_str().unwrap().is_empty(),
            "{prompt}: {said}"
        );
    }
    // Of another project nothing is known.
    let body = json!({"prompt": "What is the weather in Rome today?", "project": "/q"});
    let said = place.world.post(&ann.token, "/scenarios/match", &body).await.json();
    assert_eq!((&said["decision"], &said["code"]), (&json!("decline"), &json!("nothing_recorded")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_is_its_owners_alone() {
    let place = Place::new().await;
    let (first, _, scenario) = taught(&place).await;
    let id = scenario["scenarioId"].as_str().unwrap();
    let world = &place.world;
    let admin = world.person(world.tenant, Role::Admin, "root@example.com").await;
    let member = world.person(world.tenant, Role::Member, "bob@example.com").await;
    let stranger = world.person(world.other, Role::Admin, "eve@example.com").await;
    let edit = "sedit_00000000-0000-7000-8000-000000000001";
    let routes = [
        ("GET", format!("/scenarios/{id}"), ""),
        ("DELETE", format!("/scenarios/{id}"), ""),
        ("POST", format!("/scenarios/{id}/recalculate"), "{}"),
        ("POST", format!("/scenarios/{id}/derive"), r#"{"prompt":"x"}"#),
        ("POST", format!("/scenarios/{id}/replay"), "{}"),
        ("POST", format!("/scenarios/{id}/executions"), r#"{"outcome":"steered_full"}"#),
        ("GET", format!("/scenarios/{id}/executions"), ""),
        ("POST", format!("/scenarios/{id}/steps/0/check"), r#"{"freeze":true}"#),
        ("PATCH", format!("/scenarios/{id}/steps/0"), r#"{"freeze":true}"#),
        ("GET", format!("/scenarios/{id}/edits"), ""),
        ("POST", format!("/scenarios/{id}/edits/{edit}/revert"), "{}"),
        ("POST", format!("/scenarios/{id}/approve"), "{}"),
        ("GET", format!("/recordings/runs/{first}/scenario"), ""),
        ("POST", format!("/recordings/runs/{first}/calculate"), r#"{"force":true}"#),
    ];
    for person in [&admin, &member, &stranger] {
        for (method, path, body) in &routes {
            let answer = world.call(&person.token, method, path, *body).await;
            assert_eq!(answer.problem(), (404, "not_found".into()), "{method} {path}");
        }
        let listed = world.get(&person.token, "/scenarios").await.json();
        assert_eq!(listed["scenarios"], json!([]));
        let begun = place.begin(person, RunId::new(), "What is the weather in Rome today?").await;
        assert!(begun.json()["matched"].is_null(), "{}", begun.text());
    }
    assert_eq!(world.get(&place.ann.token, &format!("/scenarios/{id}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_checked_saved_refused_forced_and_taken_back() {
    let place = Place::new().await;
    let (_, _, scenario) = taught(&place).await;
    let (world, ann) = (&place.world, &place.ann);
    let id = scenario["scenarioId"].as_str().unwrap();
    let revision = || async {
        world.get(&ann.token, &format!("/scenarios/{id}")).await.json()["revision"].as_u64().unwrap()
    };
    let step = format!("/scenarios/{id}/steps/0");
    let patch = |body: Value| {
        let (step, token) = (step.clone(), ann.token.clone());
        async move { world.call(&token, "PATCH", &step, body.to_string()).await }
    };
    let own = scenario["steps"][0]["toolInputLogic"].as_str().unwrap().to_owned();
    let fine = format!("// by hand\n{own}");
    let before = revision().await;

    // A check writes nothing, and says what a save would.
    let checked = world.post(&ann.token, &format!("{step}/check"), &json!({"inputLogic": fine})).await;
    assert_eq!(checked.json()["ok"], true, "{}", checked.text());
    assert_eq!(revision().await, before);
    let copy = json!({"inputLogic": "return {query: 'Rome'};"});
    let checked = world.post(&ann.token, &format!("{step}/check"), &copy).await;
    assert!(checked.status == 200 && checked.json()["problems"][0]["kind"] == "copy", "{}", checked.text());

    // What does not hold is not saved without force and a note.
    let refused = patch(copy.clone()).await;
    assert_eq!(refused.problem(), (422, "edit_refused".into()));
    assert_eq!(refused.json()["report"]["problems"][0]["kind"], "copy", "{}", refused.text());
    let unsaid = patch(json!({"inputLogic": "return {query: 'Rome'};", "force": true})).await;
    assert_eq!(unsaid.problem(), (422, "invalid".into()));
    assert_eq!(patch(json!({"inputLogic": own})).await.problem(), (400, "nothing_to_change".into()));
    assert_eq!(patch(json!({})).await.problem(), (400, "nothing_to_change".into()));
    let old = patch(json!({"inputLogic": fine, "expectedRevision": before + 7})).await;
    assert_eq!(old.problem(), (409, "revision_conflict".into()));
    let long = patch(json!({"inputLogic": "x".repeat(400 << 10)})).await;
    assert_eq!(long.problem(), (413, "payload_too_large".into()));
    let missing = world
        .call(&ann.token, "PATCH", &format!("/scenarios/{id}/steps/9"), json!({"freeze": true}).to_string())
        .await;
    assert_eq!(missing.problem().0, 404);
    assert_eq!(revision().await, before);

    let saved = patch(json!({"inputLogic": fine, "expectedRevision": before, "note": "why"})).await;
    assert_eq!(saved.status, 200, "{}", saved.text());
    let first = saved.json()["edit"]["editId"].as_str().unwrap().to_owned();
    let forced =
        patch(json!({"inputLogic": "return {query: 'Rome'};", "force": true, "note": "for the demo"})).await;
    assert_eq!(forced.json()["edit"]["forced"], true, "{}", forced.text());
    let second = forced.json()["edit"]["editId"].as_str().unwrap().to_owned();
    let shown = world.get(&ann.token, &format!("/scenarios/{id}")).await.json();
    assert_eq!((&shown["steps"][0]["inputEdited"], &shown["level"]), (&json!(true), &json!("L0")), "{shown}");

    // An edited step is evaluated in the sandbox.
    let replayed = world.post(&ann.token, &format!("/scenarios/{id}/replay"), &json!({})).await.json();
    assert_eq!(
        (&replayed["steps"][0]["by"], &replayed["steps"][0]["equal"]),
        (&json!("sandbox"), &json!(true)),
        "{replayed}"
    );

    // Edited logic is not calculated over.
    let again = format!("/scenarios/{id}/recalculate");
    assert_eq!(
        world.post(&ann.token, &again, &json!({})).await.problem(),
        (409, "scenario_has_edits".into())
    );

    // Taking back walks back; what a later change stands on is not taken back before it.
    let revert = |edit: &str| {
        let (path, token) = (format!("/scenarios/{id}/edits/{edit}/revert"), ann.token.clone());
        async move { world.post(&token, &path, &json!({})).await }
    };
    assert_eq!(revert(&first).await.problem(), (409, "conflict".into()));
    assert_eq!(revert(&second).await.status, 200);
    assert_eq!(revert(&first).await.status, 200);
    assert_eq!(revert(&first).await.problem().0, 409);
    let shown = world.get(&ann.token, &format!("/scenarios/{id}")).await.json();
    assert_eq!(shown["steps"][0]["toolInputLogic"], json!(own));
    let edits = world.get(&ann.token, &format!("/scenarios/{id}/edits")).await.json();
    assert_eq!(edits["edits"].as_array().unwrap().len(), 4, "{edits}");
    assert_eq!(
        (&edits["edits"][0]["takesBack"], &edits["edits"][0]["by"]),
        (&json!(first), &json!("ann@example.com"))
    );

    // A frozen step hands over; its mark goes by hand, or with the changes.
    assert_eq!(patch(json!({"freeze": true})).await.json()["report"]["mark"], "by_hand");
    let replayed = world.post(&ann.token, &format!("/scenarios/{id}/replay"), &json!({})).await.json();
    assert_eq!((&replayed["whole"], &replayed["handOver"]["code"]), (&json!(false), &json!("frozen")));
    let anew = world.post(&ann.token, &again, &json!({"discardEdits": true})).await;
    assert!(anew.status == 200 && anew.json()["steps"][0].get("mark").is_none(), "{}", anew.text());

    // How far it runs is its owner's word, within what was shown.
    let approve = format!("/scenarios/{id}/approve");
    let approved = world.post(&ann.token, &approve, &json!({})).await.json();
    assert_eq!(approved["approved"], true, "{approved}");
    let further = world.post(&ann.token, &approve, &json!({"level": "L3"})).await;
    assert!(further.status == 200 && further.json()["level"] == "L3", "{}", further.text());
    let back = world.post(&ann.token, &approve, &json!({"revoke": true})).await.json();
    assert_eq!((&back["approved"], &back["level"]), (&json!(false), &json!("L2")), "{back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_calculated_logic_works_and_changes_are_refused() {
    let place = Place::over(MemoryStore::new().await, |settings| settings.sandbox = None).await;
    let (_, _, scenario) = taught(&place).await;
    let id = scenario["scenarioId"].as_str().unwrap();
    let (world, token) = (&place.world, &place.ann.token);
    let replayed = world.post(token, &format!("/scenarios/{id}/replay"), &json!({})).await.json();
    assert_eq!(replayed["whole"], true, "{replayed}");
    let step = format!("/scenarios/{id}/steps/0");
    let change = json!({"inputLogic": "return {};"});
    let unavailable = (503, "logic_sandbox_unavailable".to_owned());
    assert_eq!(world.post(token, &format!("{step}/check"), &change).await.problem(), unavailable);
    assert_eq!(world.call(token, "PATCH", &step, change.to_string()).await.problem(), unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_answered_in_time_and_never_guessed() {
    let place = Place::new().await;
    taught(&place).await;
    let ann = place.ann.clone();
    let languages = [
        "今日のローマの天気は？",
        "今天罗马的天气怎么样？",
        "오늘 로마 날씨는 어때?",
        "Какая сегодня погода в Риме?",
        "ما حالة الطقس في روما اليوم؟",
        "מה מזג האוויר ברומא היום?",
        "Τι καιρό κάνει σήμερα στη Ρώμη;",
        "आज रोम का मौसम कैसा है?",
        "วันนี้อากาศที่โรมเป็นอย่างไร",
        "Wie ist heute das Wetter in Rom?",
    ];
    let long = "What is the weather in Rome today? ".repeat(3_000);
    let odd = [
        "scn_scn_scn_".repeat(50),
        "run_".to_owned(),
        "{{city}} ${city} `x`".to_owned(),
        "\u{202e}\u{0}".to_owned(),
        long,
    ];
    for prompt in languages.iter().map(|text| (*text).to_owned()).chain(odd) {
        let began = Instant::now();
        let run = RunId::new();
        let begun = place.begin(&ann, run, &prompt).await;
        let shown: String = prompt.chars().take(40).collect();
        if begun.status == 413 {
            assert!(prompt.len() > 64 << 10, "{shown}");
        } else {
            assert!(begun.json()["matched"].is_null(), "{shown}: {}", begun.text());
        }
        let body = json!({"prompt": prompt, "project": "/p"});
        let said = place.world.post(&ann.token, "/scenarios/match", &body).await;
        assert!(said.status == 200 && said.json()["decision"] == "decline", "{shown}: {}", said.text());
        assert!(began.elapsed() < Duration::from_secs(5), "{shown}: {:?}", began.elapsed());
    }
    for (path, body) in [
        ("/scenarios/match", r#"{"prompt":7}"#),
        ("/scenarios/match", "{}"),
        ("/scenarios/match", "{"),
        ("/scenarios/match", r#"{"prompt":"x","timeZone":"Mars/Olympus"}"#),
        ("/scenarios/match", r#"{"prompt":"x","now":18446744073709551615}"#),
    ] {
        let answer = place.world.call(&ann.token, "POST", path, body).await;
        assert_eq!(answer.problem().0, 400, "{body}");
    }
    for path in
        ["/scenarios/scn_scn_1", "/scenarios/run_1", "/scenarios/%00", "/recordings/runs/scn_1/scenario"]
    {
        assert_eq!(place.world.get(&ann.token, path).await.problem().0, 404, "{path}");
    }
    assert_eq!(place.world.get(&ann.token, "/scenarios?state=odd").await.problem().0, 400);
    assert_eq!(place.world.get(&ann.token, "/scenarios?cursor=odd").await.problem().0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_which_nothing_can_be_had_say_so() {
    let place = Place::new().await;
    let ann = place.ann.clone();
    let calculate = |run: RunId| {
        let (world, token) = (&place.world, ann.token.clone());
        async move { world.post(&token, &format!("/recordings/runs/{run}/calculate"), &json!({})).await }
    };
    // Without a step.
    let (empty, _) = place.record(&ann, "Say hello", &[]).await;
    assert_eq!(calculate(empty).await.problem(), (422, "invalid".into()));
    // One that goes on.
    let open = RunId::new();
    place.begin(&ann, open, "Wait").await;
    assert_eq!(calculate(open).await.problem(), (422, "invalid".into()));
    assert_eq!(calculate(RunId::new()).await.problem().0, 404);
    // With ids that look like a circle.
    let cyclic = [
        ("a", json!({"id": "x"}), json!({"id": "y", "next": "x"})),
        ("b", json!({"id": "y"}), json!({"id": "x", "next": "y"})),
        ("a", json!({"id": "x"}), json!({"id": "y", "next": "x"})),
    ];
    let (circle, _) = place.record(&ann, "Follow x", &cyclic).await;
    let answer = calculate(circle).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.json()["state"] == "ready" || answer.json()["reason"].is_string(), "{}", answer.text());
    // With more calls than anybody does again.
    let began = Instant::now();
    let many = RunId::new();
    place.begin(&ann, many, "Do it ten thousand times").await;
    let one = call(many, 0, "a", &json!({"n": 1}), &json!({"m": 1}));
    for part in 0..10_u32 {
        let rows: Vec<Record> = (0..1_000_u32)
            .map(|n| 2 * (part * 1_000 + n))
            .flat_map(|index| {
                let [mut begun, mut ended] = one.clone();
                (begun.id, begun.step_index) = (StepId::new(), index);
                (ended.id, ended.step_index) = (StepId::new(), index + 1);
                [Record::Step(begun), Record::Step(ended)]
            })
            .collect();
        assert_eq!(place.world.batch(&ann.token, &rows).await.status, 200);
    }
    place.calls(&ann, many, &[]).await;
    let scenario = place.scenario(&ann, many).await;
    assert_eq!(scenario["state"], "unusable", "{scenario}");
    assert!(scenario["reason"].as_str().unwrap().contains("calls"), "{scenario}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_down_delays_a_calculation_and_loses_none() {
    use std::sync::atomic::Ordering;
    let place = Place::new().await;
    let ann = place.ann.clone();
    let (run, _) = place.record(&ann, "What is the weather in Rome today?", &weather("Rome", 4711, 31)).await;
    place.world.store.down.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(800)).await;
    place.world.store.down.store(false, Ordering::SeqCst);
    assert_eq!(place.scenario(&ann, run).await["state"], "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_finished_is_taken_up_at_the_start() {
    let place = Place::new().await;
    let ann = place.ann.clone();
    place.work.abort();
    let (run, _) = place.record(&ann, "What is the weather in Rome today?", &weather("Rome", 4711, 31)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Another process over the same store.
    let state = bir_service::State::new(place.world.state.store().clone(), {
        let mut settings = Settings::new(common::HOST.parse().unwrap());
        with_sandbox(&mut settings);
        settings
    });
    let work = tokio::spawn(scenarios::work(state.clone()));
    assert_eq!(place.scenario(&ann, run).await["state"], "ready");
    // It ends when the service does.
    state.end_streams();
    tokio::time::timeout(Duration::from_secs(5), work).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_that_is_not_there_in_time_is_none() {
    let place =
        Place::over(MemoryStore::new().await, |settings| settings.match_budget = Duration::ZERO).await;
    taught(&place).await;
    let run = RunId::new();
    let begun = place.begin(&place.ann.clone(), run, "What is the weather in Rome today?").await;
    assert_eq!((begun.status.as_u16(), begun.json()), (201, json!({"id": run, "matched": null})));
}

#[tokio::test(flavor = "multi_thread")]
async fn five_measured_runs_make_a_baseline_and_then_savings_are_booked() {
    let place = Place::new().await;
    let (_, _, scenario) = taught(&place).await;
    let path = format!("/scenarios/{}/executions", scenario["scenarioId"].as_str().unwrap());
    let version = place.world.get(&place.ann.token, &path).await.json()["saving"]["pricingVersion"].clone();
    let report = |outcome: &str, usd: &str| {
        json!({"outcome": outcome, "sessionCostUsd": usd, "tokens": 1000, "durationMs": 60_000, "measured": true,
            "model": "m", "pricingVersion": version})
    };
    for n in 0..5 {
        let saving = place.world.get(&place.ann.token, &path).await.json()["saving"].clone();
        assert!(saving["baseline"].is_null() && saving["saved"].is_null(), "{n}: {saving}");
        assert_eq!(
            place.world.post(&place.ann.token, &path, &report("not_steered", "0.5")).await.status,
            201
        );
    }
    let booked = place.world.post(&place.ann.token, &path, &report("steered_full", "0.1")).await.json();
    assert_eq!(
        (&booked["saving"]["baselineRuns"], &booked["saving"]["saved"]["usd"]),
        (&json!(5), &json!("0.4")),
        "{booked}"
    );
    let negative = place.world.post(&place.ann.token, &path, &report("steered_full", "-0.1")).await;
    assert_eq!(negative.problem(), (422, "invalid".into()));
}
