#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Spans and measurements as a collector gets them, and a collector that is none.

mod common;

use axum::Router;
use axum::routing::post;
use bir_model::Outcome;
use bir_model::record::Record;
use bir_service::clock::SystemSource;
use bir_service::{Settings, State, Telemetry};
use bir_store::model::Role;
use common::{HOST, World, finish, step, whole_run};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Got = Arc<Mutex<Vec<(String, Value)>>>;

/// A collector that keeps what it gets.
async fn collector() -> (String, Got) {
    let got = Got::default();
    let take = |kind: &'static str, got: Got| {
        post(move |body: bytes::Bytes| async move {
            got.lock().unwrap().push((kind.to_owned(), serde_json::from_slice(&body).unwrap()));
            axum::response::Response::builder()
                .header("content-type", "application/json")
                .body(axum::body::Body::from("{}"))
                .unwrap()
        })
    };
    let app = Router::new()
        .route("/v1/traces", take("traces", got.clone()))
        .route("/v1/metrics", take("metrics", got.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (format!("http://{address}"), got)
}

async fn world_with(endpoint: &str) -> World {
    let world = World::new().await;
    let telemetry = Telemetry::begin(Some(endpoint), true, "1.2.3").unwrap();
    let mut settings = Settings::new(HOST.parse().unwrap());
    settings.password_kib = 64;
    let state = State::with(
        world.store.clone(),
        settings,
        world.clock.clone(),
        Arc::new(SystemSource),
        Some(telemetry),
    );
    World { app: bir_service::app(state.clone()), state, ..world }
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let found = span["attributes"].as_array()?.iter().find(|a| a["key"] == key)?;
    found["value"]["stringValue"].as_str()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_gets_calls_under_their_run_and_how_long_they_took() {
    let (endpoint, got) = collector().await;
    let world = world_with(&endpoint).await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let (run, mut records) = whole_run(2);
    let mut failed = step(run, 3);
    failed.outcome = Some(Outcome::RpcError);
    failed.tool_error = Some(r#"{"code":-32602,"message":"no"}"#.into());
    records.push(Record::Step(step(run, 2)));
    records.push(Record::Step(failed));
    records.push(finish(run));
    assert_eq!(world.batch(&me.token, &records).await.status, 200);
    world.batch(&me.token, &records).await;
    world.state.close_telemetry(Duration::from_secs(20)).await;

    let got = got.lock().unwrap();
    let spans: Vec<&Value> = got
        .iter()
        .filter(|(kind, _)| kind == "traces")
        .flat_map(|(_, body)| body["resourceSpans"].as_array().unwrap())
        .flat_map(|r| r["scopeSpans"].as_array().unwrap())
        .flat_map(|s| s["spans"].as_array().unwrap())
        .collect();
    assert_eq!(spans.len(), 3, "a duplicate is no second span: {spans:?}");
    let root = spans.iter().find(|s| s["name"] == "run").unwrap();
    assert_eq!(root["traceId"], run.uuid().simple().to_string());
    for call in spans.iter().filter(|s| s["name"] == "tools/call read") {
        assert_eq!(
            (&call["traceId"], &call["parentSpanId"], &call["kind"]),
            (&root["traceId"], &root["spanId"], &3.into())
        );
        assert_eq!(attribute(call, "mcp.method.name"), Some("tools/call"));
        assert_eq!(attribute(call, "gen_ai.tool.name"), Some("read"));
        assert_eq!(attribute(call, "gen_ai.operation.name"), Some("execute_tool"));
        let ns = |name: &str| call[name].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!(ns("endTimeUnixNano") - ns("startTimeUnixNano"), 1_500_000);
    }
    let error = spans.iter().find(|s| attribute(s, "error.type").is_some()).unwrap();
    assert_eq!(
        (attribute(error, "error.type"), attribute(error, "rpc.response.status_code")),
        (Some("-32602"), Some("-32602"))
    );
    assert!(!format!("{spans:?}").contains("needle"), "no argument leaves the hub");
    let metrics =
        got.iter().filter(|(kind, _)| kind == "metrics").map(|(_, b)| b.to_string()).collect::<String>();
    assert!(metrics.contains("mcp.client.operation.duration"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_not_there_costs_nothing_but_a_count() {
    // A port that nobody listens on any more.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let world = world_with(&format!("http://{gone}")).await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let (_, records) = whole_run(2_000);
    for part in records.chunks(1_000) {
        assert_eq!(world.batch(&me.token, part).await.json()["booked"], part.len());
    }
    world.state.close_telemetry(Duration::from_secs(20)).await;
    let text = world.get(&admin.token, "/metrics").await.text();
    assert!(text.contains("bir_telemetry_dropped_total 1000"), "{text}");
}
