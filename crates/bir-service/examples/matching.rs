#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement fails by panicking, and prints"
)]
//! How long a match takes over HTTP, with many recorded prompts in the store.
//!
//!     cargo run --release -p bir-service --example matching -- [PROMPTS] [QUESTIONS]
//!
//! It fills a SQLite store in a temporary file with scenarios (ten prompts each, two hundred sequences of tools), waits until they are held ready,
//! and begins runs over a loopback connection: half of their prompts are recorded ones with other values, half are not.
//! The time is that of the whole request: the run is booked, its prompt matched, the scenario read, a ticket made.

use bir_calc::Stored;
use bir_model::RunId;
use bir_model::scenario::{Effect, Level, ScenarioState, StepEdits, Trust};
use bir_service::token::{self, Prefix};
use bir_service::{Settings, State, clock::SystemSource};
use bir_store::model::{NewScenario, NewToken, NewUser, PutAs, Role, ScenarioStep, TokenKind, View};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Prompts of one scenario.
const EACH: usize = 10;
/// Sequences of tools.
const FAMILIES: usize = 200;

/// Numbers that look random, the same ones each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn word(&mut self, words: usize) -> String {
        const PARTS: [&str; 20] = [
            "ba", "ko", "ri", "den", "lu", "mar", "te", "sol", "pi", "gan", "ver", "no", "hal", "ti", "rus",
            "ela", "mon", "dak", "fi", "zo",
        ];
        let n = self.roll(words);
        [PARTS[n % 20], PARTS[n / 20 % 20], PARTS[n / 400 % 20]].concat()
    }
}

/// The words of a scenario around its two values.
struct Frame {
    family: usize,
    words: Vec<String>,
}

impl Frame {
    fn new(dice: &mut Dice, at: usize) -> Self {
        let words = (0..6).map(|_| dice.word(4_000)).collect();
        Self { family: at % FAMILIES, words }
    }

    /// A prompt, and where its two values stand.
    fn say(&self, first: &str, second: &str) -> (String, [std::ops::Range<usize>; 2]) {
        let w = &self.words;
        let head = format!("{} the {} {} for ", w[0], w[1], w[2]);
        let middle = format!(" {} {} on ", w[3], w[4]);
        let text = format!("{head}{first}{middle}{second} {}", w[5]);
        let one = head.len()..head.len() + first.len();
        let two = one.end + middle.len()..one.end + middle.len() + second.len();
        (text, [one, two])
    }
}

fn name(dice: &mut Dice) -> String {
    let mut word = dice.word(8_000);
    word[..1].make_ascii_uppercase();
    word
}

fn day(dice: &mut Dice) -> String {
    format!("{} May 2026", dice.roll(28) + 1)
}

fn scenario(frame: &Frame, dice: &mut Dice) -> NewScenario {
    let said: Vec<_> = (0..EACH).map(|_| frame.say(&name(dice), &day(dice))).collect();
    let (prompt, spans) = said[0].clone();
    let leaf =
        |name: &str| json!({"leaf": {"expr": {"param": name}, "origin": "prompt", "confidence": "high"}});
    let tool = format!("tool{}", frame.family);
    let param = |n: usize, name: &str, reading: Value| json!({"name": name, "spans": [spans[n]], "reading": reading, "role": "target", "sample": prompt[spans[n].clone()]});
    let example = |(text, spans): &(String, [std::ops::Range<usize>; 2])| {
        let slots: Vec<_> =
            spans.iter().enumerate().map(|(param, span)| json!({"span": span, "param": param})).collect();
        json!({"text": text, "slots": slots})
    };
    let stored = json!({
        "plan": {
            "prompt": prompt, "runs": EACH,
            "params": [param(0, "who", json!("text")), param(1, "day", json!("text"))],
            "steps": [{"server": "s", "tool": tool, "effect": "read", "keeps": [],
                "input": {"object": [["who", leaf("who")], ["day", leaf("day")]]}}],
        },
        "wording": {"recordedAt": "2026-05-01T10:00:00+00:00[UTC]", "examples": said.iter().map(example).collect::<Vec<_>>()},
        "intent": "Do it", "family": format!("s/{tool}"), "level": "L1", "levelReason": "",
        "steps": [{"toolName": tool, "recordedInput": null, "recordedOutput": null}],
    });
    serde_json::from_value::<Stored>(stored.clone()).expect("a plan as it is stored").checked().unwrap();
    NewScenario {
        source_run: Some(RunId::new()),
        family: format!("s/{tool}"),
        project: Some("/p".into()),
        cwd: None,
        prompt,
        intent: None,
        state: ScenarioState::Ready,
        reason: None,
        plan: Some(stored.to_string()),
        level: Level::L1,
        level_reason: None,
        standing: None,
        confidence: Trust::High,
        approved: true,
        calculated_from: EACH as u32,
        steps: vec![ScenarioStep {
            index: 0,
            server: Some("s".into()),
            tool,
            effect: Effect::Read,
            reasoning: None,
            edits: StepEdits::default(),
            recorded_input: Some("{}".into()),
            recorded_output: Some("{}".into()),
        }],
        runs: vec![],
    }
}

/// One request on a connection that stays open.
fn ask(stream: &mut TcpStream, host: &str, token: &str, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let (mut got, mut chunk) = (Vec::new(), [0_u8; 65_536]);
    loop {
        let n = stream.read(&mut chunk).unwrap();
        assert!(n > 0, "the hub closed the connection");
        got.extend_from_slice(&chunk[..n]);
        let Some(end) = got.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&got[..end]).to_ascii_lowercase();
        let length: usize = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next()?.parse().ok())
            .unwrap_or(0);
        if got.len() >= end + 4 + length {
            return serde_json::from_slice(&got[end + 4..end + 4 + length]).unwrap_or_default();
        }
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) >> 10
}

fn told(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what}: n={} p50 {:.2} ms  p95 {:.2} ms  p99 {:.2} ms  slowest {:.2} ms",
        times.len(),
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    );
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let prompts = arguments.next().unwrap_or(100_000);
    let questions = arguments.next().unwrap_or(2_000);
    let dir = std::env::temp_dir().join(format!("bir-matching-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let url = format!("sqlite:{}", dir.join("hub.db").display());
    let store = bir_store::open(&url, bir_store::Options::default()).await.unwrap();
    let tenant = store.add_tenant("one").await.unwrap();
    let new =
        NewUser { email: "a@example.com".into(), name: "A".into(), role: Role::Member, password_hash: None };
    let user = store.add_user(tenant, new).await.unwrap();
    let text = token::make(Prefix::Personal, tenant, &SystemSource).unwrap();
    let (label, hash, scopes) = ("t".into(), token::hash(&text), vec!["api".into()]);
    let new = NewToken {
        owner: user,
        kind: TokenKind::Personal,
        name: label,
        hash,
        scopes,
        expires_at: None,
        family: None,
    };
    store.add_token(tenant, new).await.unwrap();
    let who = View { tenant, user, whole_tenant: false };

    let mut dice = Dice(0x5eed_1234_5678_9abc);
    let frames: Vec<Frame> = (0..prompts / EACH).map(|at| Frame::new(&mut dice, at)).collect();
    let began = Instant::now();
    for frame in &frames {
        store.put_scenario(&who, &scenario(frame, &mut dice), PutAs::New).await.unwrap().unwrap();
    }
    println!(
        "{} scenarios with {prompts} prompts, put in {:.1} s",
        frames.len(),
        began.elapsed().as_secs_f64()
    );

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut settings = Settings::new(address);
    settings.limits.record_rate = 1_000_000;
    settings.limits.api_rate = 1_000_000;
    let state = State::new(Arc::clone(&store), settings);
    let stop = tokio::sync::Notify::new();
    let before = resident();
    let serving = bir_service::serve::serve(listener, state, stop.notified(), Duration::from_secs(5));
    let asking = async {
        let (said, dice_of) = (text.clone(), dice.0);
        tokio::task::spawn_blocking(move || {
            let mut dice = Dice(dice_of);
            let host = address.to_string();
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            let began = Instant::now();
            let warm = json!({"prompt": frames[0].say("Marten", "3 May 2026").0, "project": "/p"});
            let first = ask(
                &mut stream,
                &host,
                &said,
                "/recordings/runs",
                &json!({"id": RunId::new(), "tier": "bound", "input": warm["prompt"], "project": "/p"}),
            );
            println!(
                "the first question, cold: {:.1} ms, matched: {}",
                began.elapsed().as_secs_f64() * 1e3,
                !first["matched"].is_null()
            );
            while ask(&mut stream, &host, &said, "/scenarios/match", &warm)["code"] == "not_in_time" {}
            println!(
                "held ready after {:.1} s; resident {} MiB more",
                began.elapsed().as_secs_f64(),
                resident() - before
            );
            let (mut known, mut unknown, mut matched) = (Vec::new(), Vec::new(), 0);
            for n in 0..questions {
                let prompt = if n % 2 == 0 {
                    let at = dice.roll(frames.len());
                    frames[at].say(&name(&mut dice), &day(&mut dice)).0
                } else {
                    (0..12).map(|_| dice.word(4_000)).collect::<Vec<_>>().join(" ")
                };
                let body = json!({"id": RunId::new(), "tier": "bound", "input": prompt, "project": "/p"});
                let began = Instant::now();
                let answer = ask(&mut stream, &host, &said, "/recordings/runs", &body);
                let took = began.elapsed();
                matched += usize::from(!answer["matched"].is_null());
                if n % 2 == 0 { known.push(took) } else { unknown.push(took) }
            }
            println!("matched {matched} of {} that ask for something recorded", known.len());
            told("asks for something recorded", known.clone());
            told("asks for nothing recorded", unknown.clone());
            told("all", known.into_iter().chain(unknown).collect());
        })
        .await
        .unwrap();
        stop.notify_one();
    };
    tokio::join!(serving, asking);
    store.close().await;
    std::fs::remove_dir_all(&dir).unwrap();
}
