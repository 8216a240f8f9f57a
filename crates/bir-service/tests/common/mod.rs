//! What the tests of the routes share: a service over a store in memory, people in it, and requests.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod memory;

use axum::Router;
use axum::body::Body;
use bir_model::record::{EndReason, Finish, Record, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, TenantId, Tier, UserId};
use bir_service::clock::{Clock, SystemSource};
use bir_service::token::{self, Prefix};
use bir_service::{Settings, State, password};
use bir_store::model::{NewToken, NewUser, Role, TokenKind};
use bir_store::{People as _, Store};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use memory::MemoryStore;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tower::ServiceExt as _;

pub(crate) const HOST: &str = "127.0.0.1:7411";
pub(crate) const ORIGIN: &str = "http://127.0.0.1:7411";
pub(crate) const PASSWORD: &str = "correct horse battery";

#[derive(Debug)]
pub(crate) struct ManualClock(pub AtomicU64);

impl Clock for ManualClock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct World {
    pub store: Arc<MemoryStore>,
    pub clock: Arc<ManualClock>,
    pub state: State,
    pub app: Router,
    pub tenant: TenantId,
    pub other: TenantId,
}

#[derive(Clone)]
pub(crate) struct Person {
    pub id: UserId,
    pub token: String,
}

pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|_| panic!("no JSON: {:?} {}", self.status, self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Status and code of a problem, checked for its shape.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json", "{}", self.text());
        let body = self.json();
        for member in ["type", "title", "status", "code", "detail", "requestId"] {
            assert!(!body[member].is_null(), "{member} in {body}");
        }
        assert_eq!(body["status"], self.status.as_u16());
        assert_eq!(body["requestId"], self.headers["x-request-id"].to_str().unwrap());
        (self.status.as_u16(), body["code"].as_str().unwrap().to_owned())
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::over(MemoryStore::new().await, change).await
    }

    /// Over this store.
    pub(crate) async fn over(store: MemoryStore, change: impl FnOnce(&mut Settings)) -> Self {
        let store = Arc::new(store);
        // Ahead of the store's own clock, so that only this one decides what has expired.
        let clock = Arc::new(ManualClock(AtomicU64::new(4_000_000_000_000)));
        let mut settings = Settings::new(HOST.parse().unwrap());
        settings.password_kib = 64;
        settings.version = "0.0.0-test".into();
        settings.limits.login_account = 100;
        settings.limits.login_address = 1_000;
        change(&mut settings);
        let tenant = store.add_tenant("ours").await.unwrap();
        let other = store.add_tenant("theirs").await.unwrap();
        let state = State::with(
            store.clone() as Arc<dyn Store>,
            settings,
            clock.clone(),
            Arc::new(SystemSource),
            None,
        );
        let app = bir_service::app(state.clone());
        Self { store, clock, state, app, tenant, other }
    }

    pub(crate) async fn person(&self, tenant: TenantId, role: Role, email: &str) -> Person {
        let hash = password::hash_now(PASSWORD, 64).unwrap();
        let new = NewUser { email: email.into(), name: email.into(), role, password_hash: Some(hash) };
        let id = self.store.add_user(tenant, new).await.unwrap();
        let token = self.token(tenant, id, &["api"], None).await;
        Person { id, token }
    }

    pub(crate) async fn token(
        &self,
        tenant: TenantId,
        owner: UserId,
        scopes: &[&str],
        expires_at: Option<u64>,
    ) -> String {
        let text = token::make(Prefix::Personal, tenant, &SystemSource).unwrap();
        let new = NewToken {
            owner,
            kind: TokenKind::Personal,
            name: "test".into(),
            hash: token::hash(&text),
            scopes: scopes.iter().map(|s| (*s).to_owned()).collect(),
            expires_at,
            family: None,
        };
        self.store.add_token(tenant, new).await.unwrap();
        text
    }

    pub(crate) fn forward(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// What waits on tokio's clock waits no longer. It stands only meanwhile: a store answers from threads of its own.
    pub(crate) async fn wait(seconds: u64) {
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        tokio::time::resume();
    }

    pub(crate) async fn raw(&self, request: Request<Body>) -> http::Response<Body> {
        self.app.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.raw(request).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    pub(crate) async fn call(&self, token: &str, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        self.send(request(method, path, &[("authorization", &format!("Bearer {token}"))], body)).await
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.call(token, "GET", path, Body::empty()).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.call(token, "POST", path, body.to_string()).await
    }

    /// Without a token.
    pub(crate) async fn bare(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        self.send(request(method, path, &[], body)).await
    }

    pub(crate) async fn batch(&self, token: &str, records: &[Record]) -> Answer {
        self.call(token, "POST", "/recordings/batch", lines(records)).await
    }
}

pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Request<Body> {
    let mut builder = Request::builder().method(method.parse::<Method>().unwrap()).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        builder = builder.header("host", HOST);
    }
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body.into()).unwrap()
}

pub(crate) fn lines(records: &[Record]) -> String {
    records.iter().map(|r| serde_json::to_string(r).unwrap() + "\n").collect()
}

pub(crate) fn run_start(id: RunId) -> RunStart {
    RunStart {
        id,
        tier: Tier::Standalone,
        framework: Some("test".into()),
        input: Some("a prompt".into()),
        started_at: 1_700_000_000_000,
        project: Some("/home/a/project".into()),
        host: None,
        servers: vec![],
        session_id: None,
        metadata: Default::default(),
    }
}

pub(crate) fn step(run: RunId, index: u32) -> Step {
    let response = index % 2 == 1;
    Step {
        id: StepId::new(),
        run_id: run,
        step_index: index,
        step_type: if response { StepType::ToolResponse } else { StepType::ToolSelected },
        tool_name: "mcp__files__read".into(),
        server: Some("files".into()),
        tool: Some("read".into()),
        call_id: None,
        agent_id: None,
        sources: vec![],
        tool_input: (!response).then(|| format!(r#"{{"path":"needle {index}"}}"#)),
        model_input: None,
        context: None,
        tool_output: response.then(|| r#"{"content":[]}"#.into()),
        tool_error: None,
        outcome: response.then_some(Outcome::Ok),
        at: 1_700_000_000_000 + u64::from(index),
        duration_us: response.then_some(1_500),
        original_bytes: None,
        truncated: false,
        ambiguous: false,
        bypassed: false,
        replayed: false,
        legs: vec![],
    }
}

pub(crate) fn finish(run: RunId) -> Record {
    Record::Finish(Finish {
        run_id: run,
        at: 1_700_000_001_000,
        reason: EndReason::Closed,
        final_output: Some("done".into()),
        metrics: None,
    })
}

/// A run with so many rows.
pub(crate) fn whole_run(rows: u32) -> (RunId, Vec<Record>) {
    let id = RunId::new();
    let mut records = vec![Record::Run(run_start(id))];
    records.extend((0..rows).map(|i| Record::Step(step(id, i))));
    (id, records)
}
