#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
//! Over HTTP and a real store: what is amended, what is deleted and what is too old.

mod common;

use axum::Router;
use axum::body::Body;
use bir_model::record::Record;
use bir_model::{RunId, TenantId, UserId};
use bir_service::clock::SystemSource;
use bir_service::token::{self, Prefix};
use bir_service::{Settings, State};
use bir_store::Store;
use bir_store::model::{NewToken, NewUser, Role, Session, TokenKind};
use common::{Answer, HOST, ManualClock, lines, request, run_start, step};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tower::ServiceExt as _;

const NOW: u64 = 1_700_000_000_000;
const DAY: u64 = 86_400_000;

struct Hub {
    store: Arc<dyn Store>,
    app: Router,
    tenant: TenantId,
}

struct Somebody {
    id: UserId,
    token: String,
}

impl Hub {
    async fn new() -> Self {
        let store = bir_store::open("sqlite::memory:", bir_store::Options::default()).await.unwrap();
        let tenant = store.add_tenant("t").await.unwrap();
        let clock = Arc::new(ManualClock(AtomicU64::new(NOW)));
        let settings = Settings::new(HOST.parse().unwrap());
        let state = State::with(store.clone(), settings, clock, Arc::new(SystemSource), None);
        Self { store, app: bir_service::app(state), tenant }
    }

    async fn person(&self, name: &str, role: Role) -> Somebody {
        let new =
            NewUser { email: format!("{name}@example.com"), name: name.into(), role, password_hash: None };
        let id = self.store.add_user(self.tenant, new).await.unwrap();
        Somebody { id, token: self.token(id, None).await }
    }

    async fn token(&self, owner: UserId, expires_at: Option<u64>) -> String {
        let text = token::make(Prefix::Personal, self.tenant, &SystemSource).unwrap();
        let new = NewToken {
            owner,
            kind: TokenKind::Personal,
            name: "t".into(),
            hash: token::hash(&text),
            scopes: vec!["api".into()],
            expires_at,
            family: None,
        };
        self.store.add_token(self.tenant, new).await.unwrap();
        text
    }

    async fn call(&self, who: &Somebody, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = request(method, path, &[("authorization", &format!("Bearer {}", who.token))], body);
        let (parts, body) = self.app.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    /// A run with two calls.
    async fn record(&self, who: &Somebody, project: &str, started_at: u64) -> RunId {
        let id = RunId::new();
        let mut start = run_start(id);
        (start.project, start.started_at) = (Some(project.into()), started_at);
        let mut records = vec![Record::Run(start)];
        for index in 0..4 {
            let mut row = step(id, index);
            row.at = started_at + u64::from(index);
            records.push(Record::Step(row));
        }
        let answer = self.call(who, "POST", "/recordings/batch", lines(&records)).await;
        assert_eq!(answer.json()["booked"], 5, "{}", answer.text());
        id
    }

    async fn status(&self, who: &Somebody, run: RunId) -> u16 {
        self.call(who, "GET", &format!("/recordings/runs/{run}"), "").await.status.as_u16()
    }

    /// How many runs are listed, searched and exported.
    async fn found(&self, who: &Somebody) -> [usize; 3] {
        let count = |answer: Answer, member: &str| answer.json()[member].as_array().unwrap().len();
        let listed = count(self.call(who, "GET", "/recordings/runs", "").await, "runs");
        let searched = count(self.call(who, "GET", "/recordings/search?q=needle", "").await, "steps");
        let export = self.call(who, "GET", "/recordings/export", "").await.text();
        [listed, searched / 2, export.lines().filter(|line| line.contains("\"type\":\"run\"")).count()]
    }
}

#[tokio::test]
async fn a_run_a_project_and_everything_of_a_person_are_gone_from_every_answer() {
    let hub = Hub::new().await;
    let (root, ada, bob) = (
        hub.person("root", Role::Admin).await,
        hub.person("ada", Role::Member).await,
        hub.person("bob", Role::Member).await,
    );
    let first = hub.record(&ada, "/a", NOW).await;
    for project in ["/a", "/b", "/b"] {
        hub.record(&ada, project, NOW).await;
    }
    let bobs = hub.record(&bob, "/b", NOW).await;
    assert_eq!(hub.found(&root).await, [5; 3]);

    // Somebody else's is not there.
    let path = format!("/recordings/runs/{first}");
    assert_eq!(hub.call(&bob, "DELETE", &path, "").await.status, 404);
    assert_eq!(hub.call(&ada, "DELETE", &path, "").await.status, 204);
    assert_eq!((hub.status(&ada, first).await, hub.status(&root, first).await), (404, 404));
    assert_eq!(hub.call(&ada, "DELETE", &path, "").await.status, 404);
    assert_eq!(hub.found(&root).await, [4; 3]);

    // A member's project is their part of it.
    let answer = hub.call(&ada, "DELETE", "/recordings/runs?project=/b", "").await;
    assert!(answer.status.is_success(), "{}", answer.text());
    assert_eq!((hub.found(&ada).await, hub.found(&bob).await), ([1; 3], [1; 3]));
    assert_eq!(hub.status(&bob, bobs).await, 200);

    // Everything that a person recorded; then the person, whose token is worth nothing at once.
    let answer = hub.call(&root, "DELETE", &format!("/recordings/runs?user={}", ada.id), "").await;
    assert!(answer.status.is_success(), "{}", answer.text());
    assert_eq!((hub.found(&ada).await, hub.found(&root).await), ([0; 3], [1; 3]));
    let answer = hub.call(&root, "DELETE", &format!("/people/{}", bob.id), "").await;
    assert!(answer.status.is_success(), "{}", answer.text());
    assert_eq!(hub.found(&root).await, [0; 3]);
    assert_eq!(hub.status(&bob, bobs).await, 401);
    let late = lines(&[Record::Run(run_start(RunId::new()))]);
    assert_eq!(hub.call(&bob, "POST", "/recordings/batch", late).await.status, 401);
}

#[tokio::test]
async fn what_is_older_than_the_retention_goes_and_what_is_not_stays() {
    let hub = Hub::new().await;
    let ada = hub.person("ada", Role::Member).await;
    let old = hub.record(&ada, "/a", NOW - 40 * DAY).await;
    let young = hub.record(&ada, "/a", NOW - 20 * DAY).await;
    // It began long ago and goes on.
    let long = hub.record(&ada, "/a", NOW - 50 * DAY).await;
    let mut row = step(long, 4);
    row.at = NOW - DAY;
    hub.call(&ada, "POST", "/recordings/batch", lines(&[Record::Step(row)])).await;
    let deleted = hub.store.expire(NOW - 30 * DAY, 100).await.unwrap();
    assert_eq!((deleted.runs, deleted.steps), (1, 4));
    assert_eq!(hub.status(&ada, old).await, 404);
    assert_eq!((hub.status(&ada, young).await, hub.status(&ada, long).await), (200, 200));
    assert_eq!(hub.found(&ada).await[0], 2);
}

#[tokio::test]
async fn changes_of_one_row_at_the_same_time_do_not_undo_each_other() {
    let hub = Hub::new().await;
    let (ada, bob) = (hub.person("ada", Role::Member).await, hub.person("bob", Role::Member).await);
    let run = hub.record(&ada, "/a", NOW).await;
    let detail = hub.call(&ada, "GET", &format!("/recordings/runs/{run}/steps"), "").await.json();
    let id = detail["steps"][1]["id"].as_str().unwrap().to_owned();
    let path = format!("/recordings/runs/{run}/steps/{id}");
    let changes = [
        json!({"toolOutput": {"content": [1.0]}}),
        json!({"context": "why"}),
        json!({"outcome": "tool_error", "toolError": "no"}),
        json!({"durationUs": 7, "truncated": true, "originalBytes": 99}),
    ];
    let all = changes.iter().map(|change| hub.call(&ada, "PATCH", &path, change.to_string()));
    for answer in futures_util::future::join_all(all).await {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let row = &hub.call(&ada, "GET", &format!("/recordings/runs/{run}/steps"), "").await.json()["steps"][1];
    let expected = [
        ("toolOutput", json!("{\"content\":[1.0]}")),
        ("context", json!("why")),
        ("outcome", json!("tool_error")),
        ("toolError", json!("no")),
        ("durationUs", json!(7)),
        ("truncated", json!(true)),
        ("originalBytes", json!(99)),
        ("toolName", json!("mcp__files__read")),
    ];
    for (member, value) in expected {
        assert_eq!(row[member], value, "{member} of {row}");
    }
    let summary: Value = hub.call(&ada, "GET", "/recordings/runs?outcome=tool_error", "").await.json();
    assert_eq!(summary["runs"][0]["failedCalls"], 1, "{summary}");

    assert_eq!(hub.call(&bob, "PATCH", &path, "{}").await.problem(), (404, "not_found".into()));
    let large = json!({"toolOutput": "x".repeat(80 << 10)}).to_string();
    assert_eq!(hub.call(&ada, "PATCH", &path, large).await.status, 413);
    let wrong = hub.call(&ada, "PATCH", &path, r#"{"durationUs":"long"}"#).await;
    assert_eq!(wrong.status, 400, "{}", wrong.text());
}

#[tokio::test]
async fn tokens_and_sessions_that_ended_long_ago_are_removed_and_no_others() {
    let hub = Hub::new().await;
    let ada = hub.person("ada", Role::Member).await;
    for expires_at in [NOW - 9 * DAY, NOW - 8 * DAY, NOW - 6 * DAY, NOW + DAY] {
        hub.token(ada.id, Some(expires_at)).await;
        let hash = token::hash(&expires_at.to_string());
        let session = Session { hash, user: ada.id, created_at: 1, expires_at };
        hub.store.add_session(hub.tenant, session).await.unwrap();
    }
    let tokens =
        async || hub.call(&ada, "GET", "/tokens", "").await.json()["tokens"].as_array().unwrap().len();
    assert_eq!(tokens().await, 5);
    // In parts, until there is nothing left.
    let mut parts = Vec::new();
    for _ in 0..4 {
        parts.push(hub.store.purge(NOW - 7 * DAY, 3).await.unwrap());
    }
    // Adding a session has swept some already.
    assert!(parts.iter().sum::<u64>() >= 2 && parts[0] <= 3 && parts[3] == 0, "{parts:?}");
    assert_eq!(tokens().await, 3);
    let live = hub.store.session(hub.tenant, &token::hash(&(NOW + DAY).to_string()), NOW).await.unwrap();
    assert!(live.is_some());
}
