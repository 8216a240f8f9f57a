//! A control server in this process, with a book that does as little as can be told apart, and a client that says anything.
#![allow(dead_code, reason = "each test file uses a part of it")]

use bir_control::book::{Answer, Effect, Entry, EntryWhat};
use bir_control::daemon::{self, End, Options, ServeError};
use bir_control::ledger::{Census, Ledger, OpenSession, Question, Transcripts};
use bir_control::log::{Level, Log};
use bir_control::transcript::RawFacts;
use bir_control_client::{Discovery, projects};
use bir_model::control::{HookCall, HookEvent, HookReply, HookWhat, Join, Registered, Told};
use bir_model::record::{EndReason, Finish, RunStart, Source, Step, StepType};
use bir_model::{RunId, StepId, Tier};
use bir_record::{SafePayload, SafeRecord};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A run for each session: every `Pre` and `Post` is a row, and 300 ms after `Stop` it is over.
#[derive(Default)]
pub(crate) struct StandIn {
    sessions: BTreeMap<String, Session>,
    proxies: Vec<String>,
}

struct Session {
    run: RunId,
    next: u32,
    calls: BTreeMap<String, u32>,
    due: Option<u64>,
    asked: bool,
    cwd: PathBuf,
    pids: Vec<u32>,
}

fn number(text: &str) -> uuid::Uuid {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u128, |hash, b| {
        (hash ^ u128::from(b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B)
    });
    uuid::Uuid::from_u128(hash)
}

impl StandIn {
    fn row(session: &mut Session, call: &HookCall<bir_record::SafeTold>, at: u64, ends: bool) -> Effect {
        let id = call.call_id.clone().unwrap_or_default();
        let index = *session.calls.entry(id.clone()).or_insert_with(|| {
            session.next += 2;
            session.next - 2
        });
        let step = Step {
            id: StepId::from_uuid(number(&format!("{} {index} {ends}", session.run))),
            run_id: session.run,
            step_index: index + u32::from(ends),
            step_type: if ends { StepType::ToolResponse } else { StepType::ToolSelected },
            tool_name: call.tool_name.clone(),
            server: call.server.clone(),
            tool: call.tool.clone(),
            call_id: Some(id),
            agent_id: None,
            sources: vec![Source::Hook],
            tool_input: None,
            model_input: None,
            context: None,
            tool_output: None,
            tool_error: None,
            outcome: ends.then_some(bir_model::Outcome::Ok),
            at,
            duration_us: None,
            original_bytes: None,
            truncated: false,
            ambiguous: false,
            bypassed: false,
            replayed: false,
            legs: Vec::new(),
        };
        let input = call.input.as_ref().filter(|_| !ends).map(bir_record::SafeTold::json);
        Effect::Append(SafeRecord::step(step, SafePayload { input, ..SafePayload::default() }))
    }
}

impl Ledger for StandIn {
    fn hear(&mut self, entry: &Entry) -> (Answer, Vec<Effect>) {
        let at = entry.taken_at;
        match &entry.what {
            EntryWhat::Hook { event, .. } => {
                let mut effects = Vec::new();
                let session = self.sessions.entry(event.session_id.clone()).or_insert_with(|| {
                    let run = RunId::from_uuid(number(&event.session_id));
                    let start = RunStart {
                        id: run,
                        tier: Tier::Bound,
                        framework: None,
                        input: None,
                        started_at: event.at,
                        project: None,
                        host: Some(event.host.clone()),
                        servers: Vec::new(),
                        session_id: Some(event.session_id.clone()),
                        metadata: BTreeMap::default(),
                    };
                    effects.push(Effect::Begin(SafeRecord::run(start, None)));
                    let (cwd, pids) = (event.cwd.clone(), event.host_pids.clone());
                    Session { run, next: 0, calls: BTreeMap::new(), due: None, asked: false, cwd, pids }
                });
                let mut index = None;
                match &event.what {
                    HookWhat::Pre { call } => {
                        effects.push(Self::row(session, call, event.at, false));
                        index = session.calls.get(call.call_id.as_deref().unwrap_or_default()).copied();
                    }
                    HookWhat::Post { call, .. } => effects.push(Self::row(session, call, event.at, true)),
                    HookWhat::Stop { .. } => session.due = Some(at + 300),
                    HookWhat::Note { name } if name == "panic" => panic!("as asked"),
                    _ => {}
                }
                let reply =
                    HookReply { run_id: Some(session.run), step_index: index, ..HookReply::default() };
                (Answer::Hook(reply), effects)
            }
            EntryWhat::Register(registration) => {
                self.proxies.push(registration.proxy_id.clone());
                (Answer::Registered(Registered::default()), Vec::new())
            }
            EntryWhat::Report { proxy_id, .. } if !self.proxies.contains(proxy_id) => {
                (Answer::UnknownProxy, Vec::new())
            }
            EntryWhat::Report { .. } => (Answer::Taken, Vec::new()),
            EntryWhat::Transcript { run, .. } => {
                let of_run = |(_, session): &(&String, &Session)| session.run == *run;
                let Some(name) = self.sessions.iter().find(of_run).map(|(name, _)| name.clone()) else {
                    return (Answer::Taken, Vec::new());
                };
                self.sessions.remove(&name);
                let (run_id, reason) = (*run, EndReason::Closed);
                let finish = Finish { run_id, at, reason, final_output: None, metrics: None };
                let finish = SafeRecord::finish(finish, None);
                let effects =
                    vec![Effect::Append(finish), Effect::End(run_id), Effect::Settled { session: name }];
                (Answer::Taken, effects)
            }
            EntryWhat::HostGone { .. } => {
                self.sessions.values_mut().for_each(|session| session.due = Some(at));
                (Answer::Taken, Vec::new())
            }
        }
    }

    fn tick(&mut self, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        for session in self.sessions.values_mut() {
            if !session.asked && session.due.is_some_and(|due| due <= now) {
                session.asked = true;
                effects.push(Effect::Ask {
                    run: session.run,
                    transcripts: Vec::new(),
                    turns: Vec::new(),
                    since: 0,
                    open_calls: Vec::new(),
                });
            }
        }
        effects
    }

    fn due_at(&self) -> Option<u64> {
        self.sessions.values().filter(|session| !session.asked).filter_map(|session| session.due).min()
    }

    fn census(&self, within: &dyn Fn(&Path) -> bool) -> Census {
        let sessions = self.sessions.iter().filter(|(_, session)| within(&session.cwd));
        let open = |(id, session): (&String, &Session)| OpenSession {
            host: "claude-code".into(),
            id: id.clone(),
            cwd: session.cwd.clone(),
            run: Some(session.run),
        };
        Census { sessions: sessions.map(open).collect(), ..Census::default() }
    }

    fn watched(&self) -> Vec<u32> {
        self.sessions.values().flat_map(|session| session.pids.clone()).collect()
    }

    fn session_of(&self, _: &str) -> Option<String> {
        None
    }

    fn anew(&self) -> Self {
        Self::default()
    }

    fn carried(&self, _: &str) -> Vec<Entry> {
        Vec::new()
    }
}

/// A control server, in a home with projects `a` and `b`.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["a", "b"] {
            std::fs::create_dir_all(home.project(name).join("sub")).unwrap();
            projects::add(&home.state(), &home.project(name)).unwrap();
        }
        home
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn discovery(&self, name: &str) -> Discovery {
        Discovery::read(&projects::file_of(&self.state(), &self.project(name))).unwrap()
    }

    pub(crate) fn serve(&self) -> Running {
        self.serve_as("0.1.0", Duration::from_secs(3600))
    }

    pub(crate) fn serve_as(&self, version: &str, idle: Duration) -> Running {
        let running = self.start(version, idle);
        wait("the control server", || ["a", "b"].iter().all(|name| self.discovery(name).url.is_some()));
        running
    }

    pub(crate) fn start(&self, version: &str, idle: Duration) -> Running {
        let stop = Arc::new(Notify::new());
        let (give, works) = std::sync::mpsc::channel();
        let options = Options {
            state_dir: self.state(),
            version: version.into(),
            force: false,
            idle,
            log: Log::to_stderr(Some(Level::Info)),
            stop: Arc::clone(&stop),
            replay: bir_control_client::Replay::ByProject,
            works: Some(give),
        };
        let thread = std::thread::spawn(|| daemon::serve(options, StandIn::default(), NoTranscripts));
        Running { stop, thread, works }
    }

    /// Somebody of a project.
    pub(crate) fn client(&self, name: &str) -> Client {
        let found = self.discovery(name);
        let url = found.url.unwrap();
        let port = url.rsplit_once(':').unwrap().1.parse().unwrap();
        Client { port, token: found.token.unwrap() }
    }

    /// The records of the spool, in the order of writing; a run's head is there once for each segment.
    pub(crate) fn spooled(&self) -> Vec<Value> {
        let entries = std::fs::read_dir(self.state().join("spool")).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "spool"));
        files.sort();
        let text: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
        let lines = text.iter().flat_map(|text| text.split(|&b| b == b'\n'));
        lines
            .filter_map(bir_record::spool::decode)
            .map(|json| serde_json::from_slice(json).unwrap())
            .collect()
    }

    pub(crate) fn journals(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.state().join("control/journal")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some()).collect()
    }
}

pub(crate) struct Running {
    pub(crate) stop: Arc<Notify>,
    thread: JoinHandle<Result<End, ServeError>>,
    /// Brings the handle to the work of proxies.
    pub(crate) works: std::sync::mpsc::Receiver<bir_control::work::Works>,
}

impl Running {
    pub(crate) fn end(self) -> End {
        self.stop.notify_one();
        self.ended()
    }

    pub(crate) fn ended(self) -> End {
        self.result().unwrap()
    }

    pub(crate) fn result(self) -> Result<End, ServeError> {
        wait("the end", || self.thread.is_finished());
        self.thread.join().unwrap()
    }
}

pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Client {
    /// Sends a request with these lines in its head and answers with status and body.
    pub(crate) fn raw(&self, request: &str, lines: &[String], body: &[u8]) -> (u16, Value) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!("{request} HTTP/1.1\r\n{}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(head.as_bytes()).unwrap();
        // It may answer and close before it has read everything.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(n) = stream.read(&mut piece) {
            answer.extend_from_slice(&piece[..n]);
            if n == 0 || complete(&answer) {
                break;
            }
        }
        let text = String::from_utf8_lossy(&answer);
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    pub(crate) fn head(&self, length: usize) -> Vec<String> {
        vec![
            format!("Host: 127.0.0.1:{}", self.port),
            format!("Authorization: Bearer {}", self.token),
            "Content-Type: application/json".into(),
            format!("Content-Length: {length}"),
        ]
    }

    pub(crate) fn get(&self, route: &str) -> (u16, Value) {
        self.raw(&format!("GET {route}"), &self.head(0), b"")
    }

    pub(crate) fn post(&self, route: &str, message: &impl serde::Serialize) -> (u16, Value) {
        let body = serde_json::to_vec(message).unwrap();
        self.raw(&format!("POST {route}"), &self.head(body.len()), &body)
    }

    pub(crate) fn tell(&self, event: &HookEvent) -> (u16, Value) {
        self.post(event.what.route(), event)
    }
}

fn complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

pub(crate) fn event(cwd: &Path, session: &str, what: HookWhat) -> HookEvent {
    let mut event = serde_json::to_value(what).unwrap();
    let rest = serde_json::json!({
        "id": uuid::Uuid::now_v7().to_string(), "host": { "app": "claude-code" }, "via": "claude-code",
        "sessionId": session, "cwd": cwd, "join": Join::CallId, "at": 1,
    });
    event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    serde_json::from_value(event).unwrap()
}

pub(crate) fn call(id: &str, input: &str) -> HookCall {
    HookCall {
        call_id: Some(id.into()),
        tool_name: "Bash".into(),
        server: None,
        tool: None,
        input: Some(Told { text: input.into(), original_bytes: 0, truncated: false }),
        fingerprint: None,
    }
}

pub(crate) fn pre(id: &str) -> HookWhat {
    HookWhat::Pre { call: call(id, "{}") }
}

pub(crate) fn post(id: &str) -> HookWhat {
    let outcome = bir_model::Outcome::Ok;
    HookWhat::Post { call: call(id, "{}"), outcome, output: None, error: None, duration_ms: None }
}

pub(crate) fn stop() -> HookWhat {
    HookWhat::Stop { answer: None, error: None, background: 0 }
}

/// Waits for something that happens by itself, within a bound.
pub(crate) fn wait(what: &str, mut ready: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !ready() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Indexes of the rows of a session, each once, in their order.
pub(crate) fn indexes(records: &[Value]) -> Vec<u64> {
    let mut found: Vec<_> = records.iter().filter_map(|record| record["stepIndex"].as_u64()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Reads nothing.
#[derive(Debug, Default)]
pub(crate) struct NoTranscripts;

impl Transcripts for NoTranscripts {
    fn context_before(&mut self, _: &Path, _: &str) -> Option<String> {
        None
    }

    fn facts(&mut self, _: &Question<'_>) -> RawFacts {
        RawFacts::default()
    }

    fn forget(&mut self, _: &[PathBuf]) {}
}
