#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Live streams.

mod common;

use axum::body::Body;
use bir_model::record::Record;
use bir_store::model::Role;
use common::{World, finish, request, run_start, step, whole_run};
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::time::Duration;

/// Reads events from a stream.
struct Events {
    body: Body,
    held: String,
}

#[derive(Debug)]
struct Event {
    name: String,
    id: Option<String>,
    data: Value,
}

impl Events {
    async fn open(world: &World, token: &str, path: &str, last: Option<&str>) -> Self {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(last.map(|l| ("last-event-id", l)));
        let response = world.raw(request("GET", path, &headers, "")).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        Self { body: response.into_body(), held: String::new() }
    }

    /// The next block, comments included; None at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.held.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.held = rest;
                return Some(block);
            }
            let frame = tokio::time::timeout(Duration::from_secs(600), self.body.frame())
                .await
                .expect("nothing came")?;
            self.held.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap());
        }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            if block.starts_with(':') {
                continue;
            }
            let field = |name: &str| {
                block.lines().find_map(|l| l.strip_prefix(&format!("{name}: "))).map(str::to_owned)
            };
            let data = serde_json::from_str(&field("data").unwrap()).unwrap();
            return Some(Event { name: field("event").unwrap(), id: field("id"), data });
        }
    }

    async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let event = self.next().await.unwrap();
            let index = event.data["stepIndex"].as_u64().map(|i| i.to_string()).unwrap_or_default();
            names.push(format!(
                "{}{index}{}",
                event.name,
                event.id.map(|i| format!("@{i}")).unwrap_or_default()
            ));
        }
        names
    }
}

#[tokio::test]
async fn a_run_is_followed_to_its_end() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let (run, records) = whole_run(1);
    world.batch(&me.token, &records).await;
    let path = format!("/recordings/runs/{run}/stream");
    let mut events = Events::open(&world, &me.token, &path, None).await;
    assert_eq!(events.names(2).await, ["run", "step0@0"]);
    // Two calls that overlap: the first one's answer comes after the second has begun.
    world.batch(&me.token, &[Record::Step(step(run, 2))]).await;
    world.batch(&me.token, &[Record::Step(step(run, 1)), finish(run)]).await;
    assert_eq!(events.names(5).await, ["step2@0", "run", "step1@2", "run", "end"]);
    assert!(events.next().await.is_none());

    let mut again = Events::open(&world, &me.token, &path, Some("0")).await;
    assert_eq!(again.names(4).await, ["run", "step1@1", "step2@2", "end"]);
    assert!(again.next().await.is_none());
    let wrong = world
        .send(request(
            "GET",
            &path,
            &[("authorization", &format!("Bearer {}", me.token)), ("last-event-id", "x")],
            "",
        ))
        .await;
    assert_eq!(wrong.problem(), (400, "bad_type".into()));
}

#[tokio::test]
async fn one_hears_of_what_one_may_see() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let colleague = world.person(world.tenant, Role::Member, "c@example.com").await;
    let auditor = world.person(world.tenant, Role::Auditor, "a@example.com").await;
    let stranger = world.person(world.other, Role::Admin, "s@example.net").await;
    let mut mine = Events::open(&world, &me.token, "/recordings/stream", None).await;
    let mut all = Events::open(&world, &auditor.token, "/recordings/stream", None).await;
    for stream in [&mut mine, &mut all] {
        assert_eq!(stream.block().await.unwrap(), ": connected");
    }
    for who in [&stranger, &colleague, &me] {
        world.batch(&who.token, &[Record::Run(run_start(bir_model::RunId::new()))]).await;
    }
    assert_eq!(mine.next().await.unwrap().data["user"], serde_json::json!(me.id));
    assert_eq!(all.next().await.unwrap().data["user"], serde_json::json!(colleague.id));
    assert_eq!(all.next().await.unwrap().data["user"], serde_json::json!(me.id));
}

#[tokio::test]
async fn who_falls_behind_is_told_and_sees_everything_all_the_same() {
    let world = World::new().await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let (run, records) = whole_run(1);
    world.batch(&me.token, &records).await;
    let mut events = Events::open(&world, &me.token, &format!("/recordings/runs/{run}/stream"), None).await;
    assert_eq!(events.names(2).await, ["run", "step0@0"]);
    // Nobody reads while more comes than the channel and the socket's queue hold.
    let rows = 1_000;
    for index in 1..rows {
        assert_eq!(world.batch(&me.token, &[Record::Step(step(run, index))]).await.status, 200);
    }
    world.batch(&me.token, &[finish(run)]).await;
    let (mut seen, mut resynced) = (std::collections::BTreeSet::from([0]), false);
    while let Some(event) = events.next().await {
        match event.name.as_str() {
            "step" => {
                seen.insert(event.data["stepIndex"].as_u64().unwrap());
            }
            "resync" => resynced = true,
            _ => {}
        }
    }
    assert!(resynced);
    assert_eq!(seen.len() as u64, u64::from(rows));
}

#[tokio::test]
async fn a_stream_ends_with_its_token_and_with_the_hub() {
    let world = World::with(|s| s.limits.stream_check = Duration::from_millis(20)).await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let admin = world.person(world.tenant, Role::Admin, "a@example.com").await;
    let mut events = Events::open(&world, &me.token, "/recordings/stream", None).await;
    assert_eq!(events.block().await.unwrap(), ": connected");
    assert_eq!(events.block().await.unwrap(), ": still here");
    let tokens = world.get(&me.token, "/tokens").await.json();
    let id = tokens["tokens"][0]["id"].as_str().unwrap();
    world.call(&me.token, "DELETE", &format!("/tokens/{id}"), "").await;
    while events.block().await.is_some() {}
    let mut events = Events::open(&world, &admin.token, "/recordings/stream", None).await;
    world.state.end_streams();
    while events.block().await.is_some() {}
}

#[tokio::test]
async fn streams_are_bounded() {
    let world = World::with(|s| s.limits.streams = 1).await;
    let me = world.person(world.tenant, Role::Member, "m@example.com").await;
    let first = Events::open(&world, &me.token, "/recordings/stream", None).await;
    assert_eq!(world.get(&me.token, "/recordings/stream").await.problem(), (429, "rate_limited".into()));
    drop(first);
    // The place is free again as soon as the stream has noticed.
    for _ in 0..500 {
        let response = world
            .raw(request(
                "GET",
                "/recordings/stream",
                &[("authorization", &format!("Bearer {}", me.token))],
                "",
            ))
            .await;
        if response.status() == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the place stays taken");
}
