#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Taking in, reading and deleting.

mod common;

use axum::body::Body;
use bir_model::record::Record;
use bir_model::{RunId, StepId};
use bir_store::model::Role;
use common::{World, finish, lines, run_start, step, whole_run};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

async fn member() -> (World, common::Person) {
    let world = World::new().await;
    let person = world.person(world.tenant, Role::Member, "m@example.com").await;
    (world, person)
}

#[tokio::test]
async fn a_batch_is_booked_once_and_a_wrong_line_keeps_no_other_out() {
    let (world, me) = member().await;
    let (run, records) = whole_run(4);
    let mut text = lines(&records);
    text.push_str("{\"type\":\"step\",\n\n");
    text.push_str(&lines(&[Record::Step(step(RunId::new(), 0)), Record::Step(step(run, 0)), finish(run)]));
    let answer = world.call(&me.token, "POST", "/recordings/batch", text.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    assert_eq!((&body["booked"], &body["duplicates"]), (&json!(6), &json!(0)), "{body}");
    let refused: Vec<(u64, &str)> = body["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["line"].as_u64().unwrap(), r["code"].as_str().unwrap()))
        .collect();
    assert_eq!(refused, [(6, "bad_json"), (8, "unknown_run"), (9, "index_taken")]);
    let again = world.call(&me.token, "POST", "/recordings/batch", text).await.json();
    assert_eq!((&again["booked"], &again["duplicates"]), (&json!(0), &json!(6)), "{again}");
    let seen = world.get(&me.token, &format!("/recordings/runs/{run}")).await.json();
    assert_eq!(seen["steps"].as_array().unwrap().len(), 4);
    assert_eq!(seen["run"]["endReason"], "closed");
}

#[tokio::test]
async fn too_much_is_refused_whole() {
    let world = World::with(|s| {
        s.limits.batch_lines = 3;
        s.limits.batch_bytes = 10_000;
        s.limits.body_bytes = 1_000;
    })
    .await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let (run, records) = whole_run(3);
    assert_eq!(world.batch(&me.token, &records).await.problem(), (413, "too_many_lines".into()));
    assert_eq!(world.get(&me.token, &format!("/recordings/runs/{run}")).await.status, 404);
    let big = "x".repeat(10_001);
    assert_eq!(
        world.call(&me.token, "POST", "/recordings/batch", big.clone()).await.problem(),
        (413, "too_large".into())
    );
    let streamed = Body::from_stream(futures_util::stream::iter(
        (0..11).map(|_| Ok::<_, std::convert::Infallible>(bytes::Bytes::from("x".repeat(1_000)))),
    ));
    assert_eq!(
        world.call(&me.token, "POST", "/recordings/batch", streamed).await.problem(),
        (413, "too_large".into())
    );
    assert_eq!(
        world.call(&me.token, "POST", "/recordings/runs", big).await.problem(),
        (413, "too_large".into())
    );
}

#[tokio::test]
async fn the_seeds_routes_are_idempotent() {
    let (world, me) = member().await;
    let run = RunId::new();
    let begin = json!({"id": run, "framework": "x", "input": "do it",
        "metadata": {"tier": "bound", "host": {"app": "claude-code"}, "wrappedServers": ["a"], "lossy": true}});
    for status in [201, 200] {
        let answer = world.post(&me.token, "/recordings/runs", &begin).await;
        assert_eq!((answer.status.as_u16(), answer.json()), (status, json!({"id": run, "matched": null})));
    }
    let (selected, response) = (StepId::new(), StepId::new());
    let steps = format!("/recordings/runs/{run}/steps");
    let first = json!({"id": selected, "stepIndex": 0, "type": "tool_selected", "toolName": "mcp__a__b",
        "toolInput": "{\"x\":1}", "context": "because"});
    let second = json!({"id": response, "stepIndex": 1, "stepType": "tool_response", "toolName": "mcp__a__b",
        "toolOutput": {"content": [], "isError": true}});
    for row in [&first, &second] {
        assert_eq!(world.post(&me.token, &steps, row).await.status, 201);
        let again = world.post(&me.token, &steps, row).await;
        assert_eq!((again.status.as_u16(), again.json()), (200, json!({"id": row["id"]})));
    }
    let taken = json!({"id": StepId::new(), "stepIndex": 1, "type": "tool_response", "toolName": "t"});
    assert_eq!(world.post(&me.token, &steps, &taken).await.problem(), (409, "conflict".into()));

    let one = format!("{steps}/{response}");
    let amended = world.call(
        &me.token,
        "PATCH",
        &one,
        json!({"toolOutput": {"content": [1]}, "outcome": "ok"}).to_string(),
    );
    assert_eq!(amended.await.status, 200);
    let other = format!("{steps}/{}", StepId::new());
    assert_eq!(world.call(&me.token, "PATCH", &other, "{}").await.problem(), (404, "not_found".into()));

    let ending = json!({"finalOutput": "done", "metrics": {"tokens": 5}, "endedAt": 1_700_000_009_000_u64});
    for _ in 0..2 {
        assert_eq!(
            world.post(&me.token, &format!("/recordings/runs/{run}/finish"), &ending).await.status,
            200
        );
    }
    let seen = world.get(&me.token, &format!("/recordings/runs/{run}")).await.json();
    assert_eq!(seen["steps"][1]["toolOutput"], "{\"content\":[1]}");
    assert_eq!(
        (&seen["steps"][1]["outcome"], &seen["steps"][0]["context"]),
        (&json!("ok"), &json!("because"))
    );
    let summary = &seen["run"];
    assert_eq!(
        (&summary["tier"], &summary["lossy"], &summary["finalOutput"]),
        (&json!("bound"), &json!(true), &json!("done"))
    );
    assert_eq!(
        (&summary["endedAt"], &summary["endReason"]),
        (&json!(1_700_000_009_000_u64), &json!("closed"))
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_said_without_repeating_it() {
    let (world, me) = member().await;
    let run = RunId::new();
    world.post(&me.token, "/recordings/runs", &json!({"id": run})).await;
    type Case = (&'static str, String, String, (u16, &'static str), &'static str);
    let cases: Vec<Case> = vec![
        ("POST", "/recordings/runs".into(), "{\n  \"id\": }".into(), (400, "bad_json"), "line 2"),
        ("POST", "/recordings/runs".into(), "{\"id\": 5}".into(), (400, "bad_type"), "`id`"),
        ("POST", "/recordings/runs".into(), "{}".into(), (400, "bad_type"), "missing field `id`"),
        ("POST", "/recordings/runs".into(), json!({"id": RunId::new(), "servers": [{"name": 1}]}).to_string(), (400, "bad_type"), "`servers[0].name`"),
        ("POST", format!("/recordings/runs/{run}/steps"), json!({"id": StepId::new(), "stepIndex": "hunter2", "type": "tool_selected", "toolName": "t"}).to_string(), (400, "bad_type"), "`stepIndex`"),
        ("POST", format!("/recordings/runs/{run}/steps"), json!({"id": StepId::new(), "stepIndex": 0, "type": "tool_selected", "toolName": "t".repeat(513)}).to_string(), (413, "too_large"), "`toolName`"),
        ("POST", format!("/recordings/runs/{run}/finish"), json!({"reason": "hunter2"}).to_string(), (400, "bad_type"), "`reason`"),
        ("POST", format!("/recordings/runs/{}/finish", RunId::new()), "{}".into(), (404, "not_found"), "run"),
        ("POST", "/recordings/runs/hunter2/finish".into(), "{}".into(), (404, "not_found"), "run"),
        ("POST", "/auth/login".into(), json!({"email": "a", "password": ["hunter2"]}).to_string(), (400, "bad_type"), "`password`"),
        ("POST", "/tokens".into(), json!({"name": "x", "scopes": ["all"]}).to_string(), (422, "invalid"), "`scopes`"),
        ("GET", "/recordings/runs?limit=0".into(), String::new(), (400, "bad_type"), "`limit`"),
        ("GET", "/recordings/runs?cursor=hunter2".into(), String::new(), (400, "bad_cursor"), "cursor"),
        ("GET", "/recordings/search".into(), String::new(), (400, "bad_type"), "`q`"),
        ("DELETE", "/recordings/runs".into(), String::new(), (400, "bad_type"), "`project`"),
        ("DELETE", "/recordings/runs?proyect=x".into(), String::new(), (400, "bad_type"), "`proyect`"),
    ];
    for (method, path, body, (status, code), part) in cases {
        let answer = world.call(&me.token, method, &path, body).await;
        assert_eq!(answer.problem(), (status, code.to_owned()), "{method} {path}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(part), "{method} {path}: {detail}");
        assert!(!answer.text().contains("hunter2"), "{method} {path}: {detail}");
    }
}

#[tokio::test]
async fn lists_pages_searches_and_rows() {
    let (world, me) = member().await;
    for n in 0..3 {
        let (_, mut records) = whole_run(2);
        let Record::Run(start) = &mut records[0] else { panic!() };
        start.started_at += n;
        world.batch(&me.token, &records).await;
    }
    let page = world.get(&me.token, "/recordings/runs?limit=2").await.json();
    assert_eq!(page["runs"].as_array().unwrap().len(), 2);
    let next = page["next"].as_str().unwrap();
    let rest = world.get(&me.token, &format!("/recordings/runs?limit=2&cursor={next}")).await.json();
    assert_eq!((rest["runs"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    let none = world.get(&me.token, "/recordings/runs?tool=other").await.json();
    assert_eq!(none["runs"], json!([]));
    let found = world.get(&me.token, "/recordings/search?q=NEEDLE%200").await.json();
    assert_eq!(found["steps"].as_array().unwrap().len(), 3);
    let run = page["runs"][0]["id"].as_str().unwrap();
    let rows = world.get(&me.token, &format!("/recordings/runs/{run}/steps?from=1&limit=1")).await.json();
    assert_eq!((&rows["steps"][0]["stepIndex"], &rows["next"]), (&json!(1), &Value::Null));
    let part = world.get(&me.token, &format!("/recordings/runs/{run}?limit=1")).await.json();
    assert_eq!(part["next"], json!(1));
}

#[tokio::test]
async fn others_runs_are_not_there_and_an_admin_sees_the_tenant() {
    let (world, me) = member().await;
    let colleague = world.person(world.tenant, Role::Member, "c@example.com").await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let auditor = world.person(world.tenant, Role::Auditor, "au@example.com").await;
    let stranger = world.person(world.other, Role::Admin, "s@example.net").await;
    let (run, records) = whole_run(2);
    world.batch(&me.token, &records).await;
    let paths = [
        format!("/recordings/runs/{run}"),
        format!("/recordings/runs/{run}/steps"),
        format!("/recordings/runs/{run}/stream"),
        format!("/recordings/export?run={run}"),
        format!("/runs/{run}"),
    ];
    // Of another tenant it is not even said that there is such a run.
    for (who, code) in [(&colleague, "foreign_run"), (&stranger, "unknown_run")] {
        for path in &paths {
            assert_eq!(world.get(&who.token, path).await.problem(), (404, "not_found".into()), "{path}");
        }
        let hijack = world.batch(&who.token, &[Record::Step(step(run, 9))]).await.json();
        assert_eq!(hijack["refused"][0]["code"], code);
        let single = json!({"id": StepId::new(), "stepIndex": 9, "type": "tool_selected", "toolName": "t"});
        let answer = world.post(&who.token, &format!("/recordings/runs/{run}/steps"), &single).await;
        assert_eq!(answer.problem(), (404, "not_found".into()));
        let delete = world.call(&who.token, "DELETE", &format!("/recordings/runs/{run}"), "").await;
        assert_eq!(delete.problem(), (404, "not_found".into()));
    }
    for who in [&admin, &auditor] {
        assert_eq!(world.get(&who.token, &paths[0]).await.status, 200);
    }
    let delete = |token: String| {
        let world = &world;
        async move { world.call(&token, "DELETE", &format!("/recordings/runs/{run}"), "").await }
    };
    assert_eq!(delete(auditor.token.clone()).await.problem(), (403, "forbidden".into()));
    assert_eq!(delete(admin.token.clone()).await.status, 204);
    assert_eq!(delete(admin.token.clone()).await.problem(), (404, "not_found".into()));
}

#[tokio::test]
async fn a_project_and_a_person_are_deleted_and_what_is_no_ones_business_is_not() {
    let (world, me) = member().await;
    let colleague = world.person(world.tenant, Role::Member, "c@example.com").await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let stranger = world.person(world.other, Role::Member, "s@example.net").await;
    for who in [&me, &colleague] {
        world.batch(&who.token, &whole_run(2).1).await;
    }
    let gone = world.call(&me.token, "DELETE", "/recordings/runs?project=/home/a/project", "").await.json();
    assert_eq!(gone, json!({"runs": 1, "steps": 2}));
    let of = |id| format!("/recordings/runs?user={id}");
    assert_eq!(
        world.call(&me.token, "DELETE", &of(colleague.id), "").await.problem(),
        (403, "forbidden".into())
    );
    assert_eq!(
        world.call(&admin.token, "DELETE", &of(stranger.id), "").await.problem(),
        (404, "not_found".into())
    );
    assert_eq!(world.call(&admin.token, "DELETE", &of(colleague.id), "").await.json()["runs"], 1);
    assert_eq!(world.call(&me.token, "DELETE", &of(me.id), "").await.json()["runs"], 0);
}

#[tokio::test]
async fn what_is_exported_can_be_imported() {
    let (world, me) = member().await;
    let (run, mut records) = whole_run(1_203);
    records.push(finish(run));
    for part in records.chunks(1_000) {
        assert_eq!(world.batch(&me.token, part).await.status, 200);
    }
    world.batch(&me.token, &whole_run(2).1).await;
    let export = world.get(&me.token, "/recordings/export").await;
    assert_eq!(export.headers["content-type"], "application/x-ndjson");
    assert_eq!(export.text().lines().count(), records.len() + 3);
    let one = world.get(&me.token, &format!("/recordings/export?run={run}")).await.text();
    assert_eq!(one, lines(&records));

    let other = world.person(world.tenant, Role::Member, "o@example.net").await;
    let bytes = format!("{one}no json\n{}", "x".repeat(20)).into_bytes();
    let pieces: Vec<_> = bytes
        .chunks(777)
        .map(|c| Ok::<_, std::convert::Infallible>(bytes::Bytes::copy_from_slice(c)))
        .collect();
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    // The run is somebody else's here already, so each record is refused; in a store of its own it is booked.
    let refused = world.call(&other.token, "POST", "/recordings/import", body).await.json();
    assert_eq!(refused["booked"], 0);
    assert_eq!(refused["refusedTotal"], json!(records.len() + 2));
    assert_eq!(refused["refused"].as_array().unwrap().len(), 1_000);

    let second = World::new().await;
    let me = second.person(second.tenant, Role::Member, "m@example.com").await;
    let pieces: Vec<_> = bytes
        .chunks(777)
        .map(|c| Ok::<_, std::convert::Infallible>(bytes::Bytes::copy_from_slice(c)))
        .collect();
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let done = second.call(&me.token, "POST", "/recordings/import", body).await.json();
    assert_eq!((&done["booked"], &done["duplicates"]), (&json!(records.len()), &json!(0)));
    let lines_refused: Vec<u64> =
        done["refused"].as_array().unwrap().iter().map(|r| r["line"].as_u64().unwrap()).collect();
    assert_eq!(lines_refused, [records.len() as u64 + 1, records.len() as u64 + 2]);
    let back = second.get(&me.token, &format!("/recordings/export?run={run}")).await.text();
    assert_eq!(back, one);
}

#[tokio::test]
async fn a_line_without_end_is_refused_and_the_next_one_is_not() {
    let world = World::with(|s| s.limits.line_bytes = 5_000).await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let text = format!("{}\n{}", "x".repeat(50_000), lines(&[Record::Run(run_start(RunId::new()))]));
    let pieces: Vec<_> = text
        .into_bytes()
        .chunks(700)
        .map(|c| Ok::<_, std::convert::Infallible>(bytes::Bytes::copy_from_slice(c)))
        .collect();
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let done = world.call(&me.token, "POST", "/recordings/import", body).await.json();
    assert_eq!(
        (&done["booked"], &done["refused"][0]["code"], &done["refused"][0]["line"]),
        (&json!(1), &json!("too_large"), &json!(1))
    );
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_said_without_its_path() {
    let (world, me) = member().await;
    world.get(&me.token, "/me").await;
    world.store.down.store(true, Ordering::SeqCst);
    let answer = world.batch(&me.token, &whole_run(1).1).await;
    assert_eq!(answer.problem(), (507, "store_unavailable".into()));
    assert!(
        answer.headers.contains_key("retry-after") && !answer.text().contains("/secret"),
        "{}",
        answer.text()
    );
    let health = world.bare("GET", "/health", "").await;
    assert_eq!((health.status.as_u16(), &health.json()["status"]), (503, &json!("degraded")));
    world.store.down.store(false, Ordering::SeqCst);
    assert_eq!(world.batch(&me.token, &whole_run(1).1).await.status, 200);
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_service_goes_on() {
    let (world, me) = member().await;
    world.store.broken.store(true, Ordering::SeqCst);
    assert_eq!(world.batch(&me.token, &whole_run(1).1).await.problem(), (500, "internal".into()));
    world.store.broken.store(false, Ordering::SeqCst);
    assert_eq!(world.batch(&me.token, &whole_run(1).1).await.status, 200);
}

#[tokio::test]
async fn what_takes_too_long_is_ended() {
    let (world, me) = member().await;
    world.store.slow.store(120_000, Ordering::SeqCst);
    // Who asks is known for a while, so that no store is asked while the clock runs ahead.
    assert_eq!(world.get(&me.token, "/me").await.status, 200);
    tokio::time::pause();
    assert_eq!(world.batch(&me.token, &whole_run(1).1).await.problem(), (408, "timeout".into()));
    tokio::time::resume();
    assert_eq!(world.get(&me.token, "/me").await.status, 200);
    tokio::time::pause();
    let stuck = Body::from_stream(futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>());
    assert_eq!(
        world.call(&me.token, "POST", "/recordings/batch", stuck).await.problem(),
        (408, "timeout".into())
    );
}

#[tokio::test]
async fn too_often_is_too_often() {
    let world = World::with(|s| s.limits.api_rate = 1).await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let mut last = None;
    for _ in 0..500 {
        let answer = world.get(&me.token, "/me").await;
        if answer.status == 429 {
            last = Some(answer);
            break;
        }
    }
    let answer = last.expect("no limit");
    assert_eq!(answer.problem(), (429, "rate_limited".into()));
    assert!(answer.headers.contains_key("retry-after"));
    // Recording has a limit of its own.
    assert_eq!(world.batch(&me.token, &whole_run(1).1).await.status, 200);
}

#[tokio::test]
async fn what_was_taken_in_is_counted() {
    let (world, me) = member().await;
    let (_, records) = whole_run(4);
    world.batch(&me.token, &records).await;
    world.batch(&me.token, &records).await;
    world.call(&me.token, "POST", "/recordings/batch", "no json").await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let text = world.get(&admin.token, "/metrics").await.text();
    for line in [
        "bir_records_total{verdict=\"booked\"} 5",
        "bir_records_total{verdict=\"duplicate\"} 5",
        "bir_records_total{verdict=\"refused\"} 1",
        "mcp_client_operation_duration_seconds_count{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"read\",error_type=\"\"} 2",
        "bir_http_request_duration_seconds_count{method=\"POST\",route=\"/recordings/batch\",status=\"200\"} 3",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
