//! A hub that books what it is sent, and can be told to misbehave.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bir_model::record::{EndReason, Finish, RunStart, Step, StepType};
use bir_model::{Outcome, RunId, StepId, Tier};
use bir_record::{SafePayload, SafeRecord};

/// How the next request is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Booked, and said so.
    Book,
    /// A status without a reason.
    Status(u16),
    /// Booked, and the connection is cut before the answer.
    BookAndCut,
    /// Cut before anything is booked.
    Cut,
    /// A refusal of lines whose text holds this.
    Refuse(&'static str),
}

#[derive(Default)]
pub(crate) struct Booked {
    /// The records that were new, in the order of booking.
    pub(crate) records: Vec<Value>,
    seen: HashSet<String>,
    /// Requests with a batch.
    pub(crate) batches: usize,
    pub(crate) tokens: Vec<String>,
    pub(crate) acts: VecDeque<Act>,
    /// Once there are no more acts.
    pub(crate) otherwise: Option<Act>,
    /// Most lines that are taken at once; more are 413.
    pub(crate) most_lines: usize,
}

pub(crate) struct FakeHub {
    pub(crate) url: String,
    pub(crate) booked: Arc<Mutex<Booked>>,
}

impl FakeHub {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let booked = Arc::new(Mutex::new(Booked { most_lines: usize::MAX, ..Booked::default() }));
        let theirs = Arc::clone(&booked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let booked = Arc::clone(&theirs);
                std::thread::spawn(move || serve(stream, &booked));
            }
        });
        Self { url, booked }
    }

    /// Writes the `hub.json` that leads here.
    pub(crate) fn known_in(&self, state_dir: &std::path::Path) {
        let text = format!(r#"{{"url":"{}","token":"bir_loc_x","pid":1,"instance":"i"}}"#, self.url);
        bir_home::ensure(state_dir).unwrap();
        bir_home::replace(&state_dir.join("hub.json"), text.as_bytes()).unwrap();
    }

    pub(crate) fn then(&self, acts: &[Act]) {
        self.booked.lock().unwrap().acts.extend(acts);
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.booked.lock().unwrap().records.clone()
    }

    pub(crate) fn wait(&self, what: &str, ready: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let records = self.records();
            if ready(&records) {
                return records;
            }
            assert!(Instant::now() < deadline, "{what} did not come; there are {} records", records.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn serve(stream: TcpStream, booked: &Mutex<Booked>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut token) = (0, String::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => token = value.trim().to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let Some((status, text)) = answer(&first, &token, &body, booked) else { return };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes())).is_err() {
            return;
        }
    }
}

fn answer(first: &str, token: &str, body: &[u8], booked: &Mutex<Booked>) -> Option<(u16, String)> {
    if first.starts_with("GET /health") {
        return Some((
            200,
            r#"{"status":"ok","version":"0","apiVersion":1,"instance":"i","store":"x"}"#.into(),
        ));
    }
    let mut booked = booked.lock().unwrap();
    if first.starts_with("POST /auth/refresh") {
        let refresh: Value = serde_json::from_slice(body).unwrap();
        booked.tokens.push(format!("refresh {}", refresh["refreshToken"].as_str().unwrap()));
        return Some((
            200,
            r#"{"accessToken":"fresh","refreshToken":"next","expiresAt":9999999999999}"#.into(),
        ));
    }
    booked.batches += 1;
    booked.tokens.push(token.to_owned());
    let act = booked.acts.pop_front().or(booked.otherwise).unwrap_or(Act::Book);
    let lines: Vec<&[u8]> = body.split(|&b| b == b'\n').filter(|line| !line.is_empty()).collect();
    if lines.len() > booked.most_lines {
        return Some((413, r#"{"code":"too_large"}"#.into()));
    }
    let refused = match act {
        Act::Status(status) => return Some((status, r#"{"code":"x","title":"no"}"#.into())),
        Act::Cut => return None,
        Act::Refuse(text) => text,
        Act::Book | Act::BookAndCut => "",
    };
    let mut refusals = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let record: Value = serde_json::from_slice(line).unwrap();
        if !refused.is_empty() && String::from_utf8_lossy(line).contains(refused) {
            refusals.push(serde_json::json!({ "line": at + 1, "code": "invalid", "detail": "no" }));
            continue;
        }
        let run = record["runId"].as_str().or(record["id"].as_str()).unwrap().to_owned();
        let own = record["id"].as_str().unwrap_or("finish");
        let key = format!("{} {run} {own}", record["type"].as_str().unwrap());
        if booked.seen.insert(key) {
            booked.records.push(record);
        }
    }
    if matches!(act, Act::BookAndCut) {
        return None;
    }
    Some((200, serde_json::json!({ "booked": 0, "duplicates": 0, "refused": refusals }).to_string()))
}

pub(crate) fn run_start(id: RunId) -> SafeRecord {
    let start = RunStart {
        id,
        tier: Tier::Standalone,
        framework: None,
        input: None,
        started_at: 1,
        project: None,
        host: None,
        servers: Vec::new(),
        session_id: None,
        metadata: Default::default(),
    };
    SafeRecord::run(start, None)
}

pub(crate) fn row(run_id: RunId, step_index: u32, id: StepId) -> SafeRecord {
    let begins = step_index.is_multiple_of(2);
    let step = Step {
        id,
        run_id,
        step_index,
        step_type: if begins { StepType::ToolSelected } else { StepType::ToolResponse },
        tool_name: "echo".into(),
        server: Some("s".into()),
        tool: Some("echo".into()),
        call_id: None,
        agent_id: None,
        sources: Vec::new(),
        tool_input: None,
        model_input: None,
        context: None,
        tool_output: None,
        tool_error: None,
        outcome: (!begins).then_some(Outcome::Ok),
        at: 10 + u64::from(step_index),
        duration_us: None,
        original_bytes: None,
        truncated: false,
        ambiguous: false,
        bypassed: false,
        replayed: false,
        legs: Vec::new(),
    };
    SafeRecord::step(step, SafePayload::default())
}

/// The two rows of call `n`.
pub(crate) fn call(run: RunId, n: u32) -> [SafeRecord; 2] {
    let id = StepId::new();
    [row(run, 2 * n, id), row(run, 2 * n + 1, bir_record::response_id(id))]
}

pub(crate) fn finish(run_id: RunId) -> SafeRecord {
    SafeRecord::finish(
        Finish { run_id, at: 99, reason: EndReason::Closed, final_output: None, metrics: None },
        None,
    )
}

/// Indexes of the rows of a run, in the order of booking.
pub(crate) fn indexes(records: &[Value], run: RunId) -> Vec<u64> {
    let run = run.to_string();
    let of_run = records.iter().filter(|r| r["type"] == "step" && r["runId"] == run.as_str());
    of_run.map(|r| r["stepIndex"].as_u64().unwrap()).collect()
}

/// Silent.
pub(crate) fn no_log() -> bir_record::ship::Log {
    Arc::new(|_, _| {})
}
