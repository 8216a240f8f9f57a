//! The whole life of a scenario, and several replicas over one store.

use super::*;

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

/// A database of its own on a private PostgreSQL, or none where there is no PostgreSQL.
struct Own {
    server: Postgres,
    owner: String,
    app: String,
    database: String,
    store: std::sync::Arc<dyn bir_store::Store>,
}

impl Own {
    async fn new(test: &str) -> Option<Self> {
        let server = Postgres::start(test)?;
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
        let address = server.url_of(&app, "x", &database);
        let store = bir_store::open(&address, bir_store::Options::default()).await.unwrap();
        Some(Self { server, owner, app, database, store })
    }

    async fn end(self) {
        self.store.close().await;
        let mut admin = PgConnection::connect(self.server.url()).await.unwrap();
        for sql in [
            format!("DROP DATABASE {} WITH (FORCE)", self.database),
            format!("DROP ROLE {}", self.owner),
            format!("DROP ROLE {}", self.app),
        ] {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_life_in_postgres() {
    let Some(own) = Own::new("the_whole_life_in_postgres").await else { return };
    life(Place::over(MemoryStore::over(own.store.clone()), |_| {}).await).await;
    own.end().await;
}

/// Two runs of one task that end at the same moment, each with another replica, make one scenario.
async fn replicas(place: Place) {
    // Nothing is calculated by itself.
    place.work.abort();
    let ann = place.ann.clone();
    let other = replica(&place, |_| {});
    for n in 0..5 {
        let (find, get) = (format!("find_city{n}"), format!("get_weather{n}"));
        let calls = |city: &str, id: u64, degrees: i64| {
            let [first, second] = <[_; 2]>::try_from(weather(city, id, degrees)).unwrap();
            vec![(find.as_str(), first.1, first.2), (get.as_str(), second.1, second.2)]
        };
        let prompt = |city: &str| format!("What is the weather number {n} in {city}?");
        let (rome, _) = place.record(&ann, &prompt("Rome"), &calls("Rome", 4711, 31)).await;
        let (oslo, _) = place.record(&ann, &prompt("Oslo"), &calls("Oslo", 815, 12)).await;
        let path = |run: RunId| format!("/recordings/runs/{run}/calculate");
        let (rome, oslo, none) = (path(rome), path(oslo), json!({}));
        let (one, two) =
            tokio::join!(place.world.post(&ann.token, &rome, &none), other.post(&ann.token, &oslo, &none));
        assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200), "{} {}", one.text(), two.text());
        assert_eq!(one.json()["scenarioId"], two.json()["scenarioId"], "{} {}", one.text(), two.text());
        let listed = place.world.get(&ann.token, "/scenarios").await.json();
        assert_eq!(listed["scenarios"].as_array().unwrap().len(), n + 1, "{listed}");
        assert_eq!(listed["scenarios"][0]["calculatedFrom"], 2, "{listed}");
    }
    // And a run that begins with both gets one ticket, which either takes once.
    let run = RunId::new();
    let body = json!({"id": run, "tier": "bound", "input": "What is the weather number 0 in Rome?", "project": "/p",
        "startedAt": 1_796_032_800_000_u64});
    let (one, two) = tokio::join!(
        place.world.post(&ann.token, "/recordings/runs", &body),
        other.post(&ann.token, "/recordings/runs", &body)
    );
    let ticket = one.json()["matched"]["executionTicket"].clone();
    assert!(ticket.is_string(), "{}", one.text());
    assert_eq!(ticket, two.json()["matched"]["executionTicket"], "{}", two.text());
    let id = one.json()["matched"]["scenarioId"].as_str().unwrap().to_owned();
    let (path, report) =
        (format!("/scenarios/{id}/executions"), json!({"ticket": ticket, "outcome": "steered_full"}));
    let (one, two) =
        tokio::join!(place.world.post(&ann.token, &path, &report), other.post(&ann.token, &path, &report));
    let mut said = [one.status.as_u16(), two.status.as_u16()];
    said.sort_unstable();
    assert_eq!(said, [200, 201]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_make_one_scenario_of_a_task_in_sqlite() {
    replicas(Place::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_make_one_scenario_of_a_task_in_postgres() {
    let Some(own) = Own::new("two_replicas_make_one_scenario_of_a_task_in_postgres").await else { return };
    replicas(Place::over(MemoryStore::over(own.store.clone()), |_| {}).await).await;
    own.end().await;
}
