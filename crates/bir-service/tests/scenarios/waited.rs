//! What comes late: the store, a restart, tickets, the measure of savings.

use super::*;

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

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_outlives_a_restart_and_its_run_waits_for_what_becomes_of_it() {
    let place = Place::new().await;
    let ann = place.ann.clone();
    let (_, _, scenario) = taught(&place).await;
    let id = scenario["scenarioId"].as_str().unwrap();
    let prompt = "What is the weather in Lisbon today?";
    let said = place.asked(&ann, prompt, |said| !said["matched"].is_null()).await;
    assert!(!said["matched"].is_null(), "{said}");
    let run = RunId::new();
    let ticket = async || {
        let begun = place.begin(&ann, run, prompt).await;
        assert_eq!(begun.status, 200, "{}", begun.text());
        let matched = begun.json()["matched"].clone();
        (matched["executionTicket"].clone(), matched["iterations"].clone())
    };
    let first = ticket().await;
    assert!(first.0.is_string() && first == ticket().await, "the same, and counted once");

    // The process goes before the run ends; another one finds the run, and its ticket.
    place.work.abort();
    place.calls(&ann, run, &weather("Lisbon", 9, 25)).await;
    let other = replica(&place, |settings| settings.limits.scenarios.ticket = Duration::from_secs(3600));
    let work = tokio::spawn(scenarios::work(other.state.clone()));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let of_run = format!("/recordings/runs/{run}/scenario");
    assert_eq!(other.get(&ann.token, &of_run).await.problem().0, 404, "it waits");
    let path = format!("/scenarios/{id}/executions");
    let report = json!({"ticket": first.0, "outcome": "steered_full", "stepsPlanned": 2, "stepsPinned": 2});
    assert_eq!(other.post(&ann.token, &path, &report).await.status, 201);
    assert_eq!(other.post(&ann.token, &path, &report).await.json()["duplicate"], true);
    let belongs = other.get(&ann.token, &of_run).await.json();
    assert_eq!(
        (&belongs["scenarioId"], &belongs["runs"]),
        (&json!(id), &json!(2)),
        "no further example: {belongs}"
    );
    let all = other.get(&ann.token, "/scenarios/executions").await.json();
    assert_eq!((&all["executions"][0]["scenarioId"], &all["next"]), (&json!(id), &Value::Null), "{all}");
    other.state.end_streams();
    work.await.unwrap();
}
