//! Work for proxies over HTTP: who is given what, what is held, and what survives a death.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_control::work::{Outcome, Pending, Unsent, Work, Works};
use bir_control_client::projects;
use bir_model::control::{LONGEST_RESULT, Registration, WorkEnd, WorkReport};
use bir_model::record::ServerInfo;
use common::{Client, Home, Running, wait};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

struct Scene {
    home: Home,
    server: Running,
    works: Works,
}

impl Scene {
    fn new() -> Self {
        let home = Home::new();
        for name in ["a", "b"] {
            projects::set_replay(&home.state(), &home.project(name), true).unwrap();
        }
        let (server, works) = serve(&home);
        Self { home, server, works }
    }

    fn register(&self, project: &str, proxy: &str) -> Client {
        register(&self.home, project, proxy)
    }

    fn work(&self, budget: Duration) -> Work {
        Work {
            project: self.home.project("a"),
            server: "s".into(),
            session: None,
            tool: "t".into(),
            arguments: "{\"n\" : 1e400}".into(),
            budget,
            plan: Some("scn_1".into()),
            step: Some(1),
        }
    }

    fn submit(&self, budget: Duration) -> Pending {
        self.works.submit(self.work(budget))
    }
}

fn register(home: &Home, project: &str, proxy: &str) -> Client {
    let client = home.client(project);
    let registration = Registration {
        tools: None,
        api_version: 1,
        version: "1".into(),
        proxy_id: proxy.into(),
        server: ServerInfo { name: "s".into(), ..ServerInfo::default() },
        pid: std::process::id(),
        parent_pid: std::process::id(),
        cwd: home.project(project),
        host: None,
        host_session: None,
        takes_call_id: false,
    };
    let (status, answer) = client.post("/proxy/register", &registration);
    assert_eq!(
        (status, &answer["replay"], &answer["pollHoldMs"]),
        (200, &json!(true), &json!(25_000)),
        "{answer}"
    );
    client
}

fn serve(home: &Home) -> (Running, Works) {
    let server = home.serve();
    let works = server.works.recv_timeout(Duration::from_secs(10)).unwrap();
    (server, works)
}

fn poll(client: &Client, proxy: &str, hold: u64) -> Value {
    let (status, answer) =
        client.post("/proxy/poll", &json!({ "proxyId": proxy, "holdMs": hold, "takes": true }));
    assert_eq!(status, 200, "{answer}");
    answer
}

fn report(client: &Client, proxy: &str, work: &Value, end: WorkEnd) -> u16 {
    let work_id = work["workId"].as_str().unwrap().to_owned();
    client.post("/proxy/result", &WorkReport { proxy_id: proxy.into(), work_id, end }).0
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn an_order_is_given_once_and_its_report_counts_once_and_from_its_proxy_alone() {
    let scene = Scene::new();
    let (one, other) = (scene.register("a", "p1"), scene.register("a", "p2"));
    assert_eq!(poll(&one, "p1", 1), json!({}), "the time is over");
    assert_eq!(poll(&other, "p2", 1), json!({}));
    let pending = scene.submit(LONG);
    // A person asks by hand: the newest proxy has it.
    assert_eq!(poll(&one, "p1", 50), json!({}));
    let work = poll(&other, "p2", 10_000)["work"].clone();
    assert_eq!(
        (&work["toolName"], &work["arguments"]),
        (&json!("t"), &json!("{\"n\" : 1e400}")),
        "as it was given"
    );
    assert!(work["timeoutMs"].as_u64().unwrap() <= 60_000);
    let end = WorkEnd::Result { json: "{\"r\": 1.0}".into() };
    assert_eq!(report(&one, "p1", &work, end.clone()), 409, "it is another one's");
    assert_eq!(report(&scene.home.client("b"), "p2", &work, end.clone()), 403, "another project speaks");
    assert_eq!(report(&other, "p2", &work, end.clone()), 200);
    assert_eq!(report(&other, "p2", &work, WorkEnd::Timeout), 409, "it was told before");
    assert_eq!(pending.wait(), Outcome::Ended(end));
    let text = std::fs::read_to_string(scene.home.state().join("control/orders.jsonl")).unwrap();
    assert!(text.contains("\"intent\"") && text.contains("reported") && !text.contains("1e400"), "{text}");
    scene.server.end();
}

#[test]
fn who_may_ask_is_checked_and_off_is_off() {
    let scene = Scene::new();
    let a = scene.register("a", "p");
    let message = json!({ "proxyId": "p", "holdMs": 1, "takes": true });
    assert_eq!(scene.home.client("b").post("/proxy/poll", &message).0, 403);
    assert_eq!(a.post("/proxy/poll", &json!({ "proxyId": "q", "holdMs": 1 })).0, 409);
    assert_eq!(a.post("/proxy/poll", &json!({ "holdMs": 1 })).0, 422);
    assert_eq!(a.post("/proxy/result", &json!({ "proxyId": "p" })).0, 422);
    assert_eq!(poll(&a, "p", 1), json!({}));
    projects::set_replay(&scene.home.state(), &scene.home.project("a"), false).unwrap();
    assert_eq!(poll(&a, "p", 5_000), json!({ "replay": false }));
    assert_eq!(scene.submit(LONG).wait(), Outcome::NotSent(Unsent::Off));
    projects::set_replay(&scene.home.state(), &scene.home.project("a"), true).unwrap();
    let bad = |arguments: &str| Work { arguments: arguments.into(), ..scene.work(LONG) };
    for arguments in ["", "[]", "{", "null", "{}{}"] {
        assert_eq!(
            scene.works.submit(bad(arguments)).wait(),
            Outcome::NotSent(Unsent::BadArguments),
            "{arguments}"
        );
    }
    let unknown = Work { server: "other".into(), ..scene.work(LONG) };
    assert_eq!(scene.works.submit(unknown).wait(), Outcome::NotSent(Unsent::NoProxy));
    let (status, answer) = a.post("/scenario/run", &json!({ "toolUseId": "toolu_1" }));
    assert_eq!((status, answer), (200, json!({ "ok": false, "why": "no_plan" })));
    scene.server.end();
}

#[test]
fn every_wait_has_an_end() {
    let scene = Scene::new();
    let client = scene.register("a", "p");
    let since = Instant::now();
    assert_eq!(poll(&client, "p", 200), json!({}));
    assert!(since.elapsed() >= Duration::from_millis(200));
    // Nobody takes it.
    assert_eq!(scene.submit(Duration::from_millis(100)).wait(), Outcome::NotSent(Unsent::TimedOut));
    // Somebody takes it and never reports.
    let pending = scene.submit(Duration::from_millis(300));
    let work = poll(&client, "p", 5_000)["work"].clone();
    assert_eq!(pending.wait(), Outcome::Ended(WorkEnd::Timeout));
    assert_eq!(poll(&client, "p", 5_000)["cancel"], json!([work["workId"]]), "it hears of that");
    assert_eq!(report(&client, "p", &work, WorkEnd::Cancelled), 409);
    // Somebody withdraws it before and after it was given.
    drop(scene.submit(LONG));
    let pending = scene.submit(LONG);
    let work = poll(&client, "p", 5_000)["work"].clone();
    drop(pending);
    assert_eq!(poll(&client, "p", 5_000)["cancel"], json!([work["workId"]]));
    scene.server.end();
}

#[test]
fn a_long_result_is_taken_and_one_beyond_every_bound_is_not() {
    let scene = Scene::new();
    let client = scene.register("a", "p");
    assert_eq!(poll(&client, "p", 1), json!({}));
    let pending = scene.submit(LONG);
    let work = poll(&client, "p", 5_000)["work"].clone();
    let beyond = "\"".repeat(2 * LONGEST_RESULT);
    assert_eq!(report(&client, "p", &work, WorkEnd::Result { json: beyond }), 413);
    // Each quote takes two bytes on the way.
    let longest = format!("[{}1]", "\"\",".repeat(LONGEST_RESULT / 3 - 2));
    assert_eq!(report(&client, "p", &work, WorkEnd::Result { json: longest.clone() }), 200);
    assert_eq!(pending.wait(), Outcome::Ended(WorkEnd::Result { json: longest }));
    scene.server.end();
}

#[test]
fn what_was_given_when_the_control_server_ended_is_unknown_for_the_next_one() {
    let scene = Scene::new();
    let client = scene.register("a", "p");
    assert_eq!(poll(&client, "p", 1), json!({}));
    let (given, waiting) = (scene.submit(LONG), scene.submit(LONG));
    let work = poll(&client, "p", 5_000)["work"].clone();
    let Scene { home, server, works } = scene;
    server.end();
    assert!(matches!(given.wait(), Outcome::Unknown { .. }));
    assert_eq!(waiting.wait(), Outcome::NotSent(Unsent::Unavailable));
    drop(works);
    let (server, works) = serve(&home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let left = runtime.block_on(works.unsettled());
    assert_eq!(left.len(), 1);
    assert_eq!((json!(left[0].work), left[0].plan.as_deref()), (work["workId"].clone(), Some("scn_1")));
    let scene = Scene { home, server, works };
    let client = scene.register("a", "p");
    assert_eq!(
        report(&client, "p", &work, WorkEnd::Result { json: "{}".into() }),
        409,
        "nobody waits for it"
    );
    assert_eq!(poll(&client, "p", 200), json!({}), "it is not tried again");
    runtime.block_on(scene.works.settle(&left[0].work));
    wait("it is settled", || runtime.block_on(scene.works.unsettled()).is_empty());
    scene.server.end();
}

/// Names the state directory for the process that [`a_control_server_that_is_killed_leaves_what_it_gave_unknown`] starts.
const CHILD: &str = "BIR_CONTROL_TEST_CHILD";

/// Serves in a process of its own, where it is told to, and submits one work. It is killed.
#[test]
fn serves_in_a_process_of_its_own() {
    let Some(state) = std::env::var_os(CHILD) else { return };
    let (give, works) = std::sync::mpsc::channel();
    let options = bir_control::daemon::Options {
        state_dir: (&state).into(),
        version: "0.1.0".into(),
        force: false,
        idle: LONG,
        log: bir_control::log::Log::to_stderr(None),
        stop: std::sync::Arc::default(),
        replay: bir_control_client::Replay::ByProject,
        works: Some(give),
    };
    let submits = move || {
        let works: Works = works.recv().unwrap();
        let project = projects::list(std::path::Path::new(&state)).remove(0).1.project.unwrap();
        loop {
            let work = Work {
                project: project.clone(),
                server: "s".into(),
                session: None,
                tool: "t".into(),
                arguments: "{}".into(),
                budget: LONG,
                plan: None,
                step: None,
            };
            if works.submit(work).wait() == Outcome::NotSent(Unsent::NoProxy) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    };
    std::thread::spawn(submits);
    let _ = bir_control::daemon::serve(options, common::StandIn::default(), common::NoTranscripts);
}

#[test]
#[cfg(unix)]
fn a_control_server_that_is_killed_leaves_what_it_gave_unknown() {
    let home = Home::new();
    for name in ["a", "b"] {
        projects::set_replay(&home.state(), &home.project(name), true).unwrap();
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "serves_in_a_process_of_its_own"])
        .env(CHILD, home.state())
        .spawn()
        .unwrap();
    wait("the control server", || ["a", "b"].iter().all(|name| home.discovery(name).url.is_some()));
    let client = register(&home, "a", "p");
    let mut work = Value::Null;
    wait("an order", || {
        work = poll(&client, "p", 2_000)["work"].clone();
        !work.is_null()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let (server, works) = serve(&home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let left = runtime.block_on(works.unsettled());
    assert_eq!(left.iter().map(|one| json!(one.work)).collect::<Vec<_>>(), [work["workId"].clone()]);
    server.end();
}
