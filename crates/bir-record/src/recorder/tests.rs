//! The run logic and the thread, with fakes for redactor, spool, control server and surroundings.

mod bound;
mod session;
mod tools;

use super::keep::{Keep, Open, Scrub};
use super::link::{Fate, Heard, Link, Parcel};
use super::negotiation::Negotiation;
use super::queue::Queue;
use super::runs::{IDLE, Runs};
use super::told::{Opening, Told, Value, What};
use super::{Farewell, Level, ProxyTap, Say, Scope, Sighting, Surroundings, worker};
use crate::{Raw, Redacted, SafeRecord};
use bir_model::control::{API_VERSION, Compared, ProxyReport, Registration};
use bir_model::record::{EndReason, Record, ServerInfo, StepType};
use bir_model::{Era, Outcome};
use bir_tap::{CallKey, Event, Moment, Payload, Tap};
use session::{ANSWERS, Session};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Plain;

impl Scrub for Plain {
    fn payload(&self, raw: Raw<'_>) -> Redacted {
        assert_ne!(raw.head, b"PANIC", "a fault of the redactor");
        let json = String::from_utf8_lossy(raw.head).into_owned();
        Redacted { json, original_bytes: raw.len, truncated: false }
    }
    fn name(&self, text: &str) -> String {
        text.replace("secret", "[redacted]")
    }
    fn compared(&self, json: &[u8]) -> Option<Compared> {
        Some(Compared(format!("#{}", String::from_utf8_lossy(json))))
    }
    fn excludes(&self, tool: &str, _: Option<Raw<'_>>) -> bool {
        tool == "hidden"
    }
}

/// What is in the file, as it were: appended and flushed.
#[derive(Default, Clone)]
struct Kept(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    pending: Vec<Record>,
    records: Vec<Record>,
    events: Vec<&'static str>,
    refuses: bool,
}

impl Kept {
    fn records(&self) -> Vec<Record> {
        self.0.lock().unwrap().records.clone()
    }
    fn lines(&self) -> Vec<String> {
        self.records().iter().map(line).collect()
    }
    fn events(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().events.clone()
    }
}

impl Keep for Kept {
    fn begin(&mut self, run: SafeRecord) -> bool {
        let mut inside = self.0.lock().unwrap();
        if !inside.refuses {
            inside.pending.push(run.record().clone());
        }
        !inside.refuses
    }
    fn append(&mut self, record: SafeRecord) {
        self.0.lock().unwrap().pending.push(record.record().clone());
    }
    fn end(&mut self) {
        self.flush();
    }
    fn flush(&mut self) {
        let inside = &mut *self.0.lock().unwrap();
        inside.records.append(&mut inside.pending);
    }
    fn rest(&mut self) {}
    fn ship(&mut self) {
        let events = &mut self.0.lock().unwrap().events;
        if !events.contains(&"ship") {
            events.push("ship");
        }
    }
    fn close(&mut self, budget: Duration) {
        self.0.lock().unwrap().events.push(if budget.is_zero() { "close" } else { "close and wait" });
    }
}

/// A record in one line, without ids.
fn line(record: &Record) -> String {
    match record {
        Record::Run(run) => {
            let host = run.host.as_ref().map_or("-".into(), |h| format!("{} {:?}", h.app, h.version));
            let server = &run.servers[0];
            let (title, version) = (server.title.as_deref(), server.version.as_deref());
            format!(
                "run {} {host} → {} {} {} {:?} in {}",
                run.tier,
                server.name,
                title.unwrap_or("-"),
                version.unwrap_or("-"),
                server.era,
                run.project.as_deref().unwrap_or("-")
            )
        }
        Record::Step(step) => {
            let what = match step.step_type {
                StepType::ToolSelected => "selected",
                StepType::ToolResponse => "response",
            };
            let legs: String = step
                .legs
                .iter()
                .map(|leg| {
                    format!(" leg {} {} → {}", leg.leg, leg.asked, leg.answered.as_deref().unwrap_or("-"))
                })
                .collect();
            let part = |name: &str, value: &Option<String>| {
                value.as_ref().map(|value| format!(" {name} {value}")).unwrap_or_default()
            };
            format!(
                "{} {what} {}{}{}{}{}{}{legs}{}",
                step.step_index,
                step.tool_name,
                part("id", &step.call_id),
                part("in", &step.tool_input),
                step.outcome.map(|outcome| format!(" {outcome}")).unwrap_or_default(),
                part("out", &step.tool_output),
                part("error", &step.tool_error),
                if step.ambiguous { " (guess)" } else { "" },
            )
        }
        Record::Finish(finish) => format!("finish {:?}", finish.reason),
        Record::Tools(seen) => {
            let names = seen.set.as_ref().map(|set| {
                let names: Vec<&str> = set.tools.iter().map(|tool| tool.name.as_str()).collect();
                format!("{} and {} more", names.join(" "), set.left_out)
            });
            format!("tools of {}: {}", seen.server, names.unwrap_or("as before".into()))
        }
        Record::Lost(lost) => format!("lost {} {}", lost.calls, lost.reason),
        Record::Final(_) => "final".into(),
    }
}

/// A recorder's logic with a clock of its own: each event is a millisecond after the one before.
struct Story {
    runs: Runs,
    kept: Kept,
    now: Moment,
}

impl Story {
    fn new() -> Self {
        let runs = Runs::new("files".into(), Some("/p".into()));
        Self { runs, kept: Kept::default(), now: Moment { epoch_ms: 1000, instant: Instant::now() } }
    }
    fn pass(&mut self, time: Duration) {
        self.now.instant += time;
        self.now.epoch_ms += time.as_millis() as u64;
    }
    fn told(&mut self, call: u64, what: What) -> &mut Self {
        self.pass(Duration::from_millis(1));
        self.runs.told(Told { call: CallKey(call), at: self.now, what }, &Plain, &mut self.kept);
        self
    }
    fn began(&mut self, call: u64, tool: &str) -> &mut Self {
        self.told(
            call,
            What::Began {
                tool: tool.into(),
                host_call_id: None,
                arguments: Some(value("{}")),
                replayed: false,
            },
        )
    }
    fn ended(&mut self, call: u64) -> &mut Self {
        self.told(call, What::Ended { outcome: Outcome::Ok, answer: value("1"), ambiguous: false })
    }
    fn finish(&mut self) -> Vec<String> {
        self.runs.finish(EndReason::Closed, self.now, &mut self.kept);
        self.kept.lines()
    }
}

fn value(text: &str) -> Value {
    Value::of(Payload { head: text.as_bytes(), len: text.len() as u64 })
}

const RUN: &str = "run standalone - → files - - None in /p";

#[test]
fn a_call_takes_two_rows_and_calls_end_in_any_order() {
    let mut story = Story::new();
    story.began(0, "a").began(1, "b").ended(1);
    let error = What::Ended { outcome: Outcome::RpcError, answer: value("{\"code\":1}"), ambiguous: true };
    story.told(0, error);
    let began = What::Began {
        tool: "c".into(),
        host_call_id: Some("toolu_1".into()),
        arguments: None,
        replayed: false,
    };
    story.told(2, began);
    story.told(2, What::Ended { outcome: Outcome::ToolError, answer: value("{}"), ambiguous: false });
    assert_eq!(
        story.finish(),
        [
            RUN,
            "0 selected a in {}",
            "2 selected b in {}",
            "3 response b ok out 1",
            "1 response a rpc_error error {\"code\":1} (guess)",
            "4 selected c id toolu_1",
            "5 response c id toolu_1 tool_error out {}",
            "finish Closed",
        ]
    );
    let records = story.kept.records();
    let step = |n: usize| match &records[n] {
        Record::Step(step) => step.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((step(3).at, step(3).duration_us), (1003, Some(1000)));
    assert_eq!((step(4).at, step(4).duration_us), (1004, Some(3000)));
    assert_eq!(step(1).id.uuid().as_u128() ^ 1, step(4).id.uuid().as_u128());
    assert!(records.iter().all(|record| record.run_id() == records[0].run_id()));
}

#[test]
fn rounds_belong_to_the_row_that_ends() {
    let mut story = Story::new();
    story.began(0, "a");
    story.told(0, What::LegEnded { leg: 1, result: value("ask1") });
    story.told(0, What::LegBegan { input: Some(value("yes")) });
    story.told(0, What::LegEnded { leg: 2, result: value("ask2") });
    story.told(0, What::LegBegan { input: None });
    story.ended(0);
    story.began(1, "b").told(1, What::LegEnded { leg: 1, result: value("ask") });
    assert_eq!(
        story.finish()[2..],
        [
            "1 response a ok out 1 leg 1 ask1 → yes leg 2 ask2 → -",
            "2 selected b in {}",
            "3 response b unknown leg 1 ask → -",
            "finish Closed",
        ]
    );
}

#[test]
fn what_ends_otherwise_says_how() {
    let mut story = Story::new();
    story.began(0, "a").began(1, "b").began(2, "c").told(0, What::Cancelled).told(1, What::Lost);
    // Whatever comes after an end changes nothing, and so does what was never begun.
    story.ended(0).ended(1).ended(77).told(77, What::Cancelled);
    let ends = ["1 response a cancelled", "3 response b unknown", "5 response c unknown", "finish Closed"];
    assert_eq!(story.finish()[4..], ends);
    assert_eq!(story.finish().len(), 8, "a run ends once");
}

#[test]
fn a_run_is_over_after_half_an_hour_without_a_call() {
    let mut story = Story::new();
    story.began(0, "a").ended(0);
    story.pass(IDLE - Duration::from_millis(10));
    story.began(1, "b");
    story.pass(IDLE * 2);
    assert_eq!(story.runs.idle_at(), None, "a call is open");
    story.ended(1);
    story.pass(IDLE);
    story.began(2, "c").ended(2);
    story.pass(IDLE);
    let now = story.now;
    story.runs.end_if_idle(now, &mut story.kept);
    assert!(story.runs.current().is_none());
    let lines = story.kept.lines();
    assert_eq!(
        lines[5..],
        ["finish Idle", RUN, "0 selected c in {}", "1 response c ok out 1", "finish Idle"]
    );
}

#[test]
fn what_is_excluded_leaves_no_trace() {
    let mut story = Story::new();
    story.began(0, "hidden").ended(0);
    assert!(story.finish().is_empty(), "not even a run");
    story.began(1, "hidden").began(2, "my secret tool").ended(1).ended(2);
    let lines = story.finish();
    assert_eq!(
        lines[1..3],
        ["0 selected my [redacted] tool in {}", "1 response my [redacted] tool ok out 1"]
    );
}

#[test]
fn losses_are_told_in_the_run_that_they_befell_or_the_next() {
    let mut story = Story::new();
    let now = story.now;
    story.runs.lost(3, &[], now, &mut story.kept);
    story.kept.0.lock().unwrap().refuses = true;
    story.began(0, "a").ended(0).began(1, "b");
    story.kept.0.lock().unwrap().refuses = false;
    story.began(2, "c").began(3, "d");
    story.runs.lost(2, &[CallKey(2)], now, &mut story.kept);
    story.ended(2).ended(3);
    assert_eq!(
        story.finish(),
        [
            RUN,
            "lost 3 backlog",
            "lost 2 disk",
            "0 selected c in {}",
            "2 selected d in {}",
            "1 response c unknown",
            "lost 2 backlog",
            "3 response d ok out 1",
            "finish Closed",
        ]
    );
}

#[test]
fn who_speaks_with_whom_is_told_where_it_is_known() {
    let cases = [
        (
            Some(r#"{"name":"claude-code","title":"Claude Code","version":"2.1"}"#),
            r#"{"serverInfo":{"name":"ev","title":"Everything","version":"1.0"},"capabilities":{}}"#,
            "run standalone claude-code Some(\"2.1\") → files Everything 1.0 Some(Legacy) in /p",
        ),
        (
            Some(r#"{"name":"secret host"}"#),
            r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m"}}}"#,
            "run standalone [redacted] host None → files m - Some(Legacy) in /p",
        ),
        (Some("[]"), "", "run standalone - → files - - Some(Legacy) in /p"),
        (Some(r#"{"name":7,"version":"1"}"#), "{", "run standalone - → files - - Some(Legacy) in /p"),
        (None, r#"{"serverInfo":[]}"#, "run standalone - → files - - Some(Legacy) in /p"),
    ];
    for (client, result, expected) in cases {
        let mut story = Story::new();
        let client = client.map(|client| client.as_bytes().to_vec());
        story.runs.opened(Opening { era: Era::Legacy, client, result: result.as_bytes().to_vec() });
        story.began(0, "a");
        assert_eq!(story.finish()[0], expected);
    }
}

#[test]
fn a_session_without_a_call_starts_no_thread() {
    let mut session = Session::new(Scope::Any, |now| now);
    let result = Payload { head: b"{}", len: 2 };
    let at = Moment { epoch_ms: 0, instant: Instant::now() };
    session.tap.observe(Event::Connected { era: Era::Legacy, client: None, result, at });
    assert_eq!(session.close(Farewell::Clean), (vec![], vec![], vec![]));
}

#[test]
fn a_call_before_the_answer_to_the_opening_belongs_to_a_host_with_a_name() {
    let mut session = Session::new(Scope::Any, |now| now);
    let at = Moment { epoch_ms: 0, instant: Instant::now() };
    session.tap.observe(Event::Opening { era: Era::Legacy, client: Some(br#"{"name":"eager"}"#), at });
    session.call(0, "{}");
    let (lines, ..) = session.close(Farewell::Clean);
    assert!(lines[0].contains("eager") && lines[0].contains("Some(Legacy)"), "{lines:?}");
}

#[test]
fn calls_are_written_while_the_session_lives_and_the_run_is_finished_at_its_end() {
    let mut session = Session::new(Scope::Any, |now| now);
    session.call(0, "{}");
    session.until("the first call is kept", |s| s.kept.lines().len() == 3);
    (1..5).for_each(|call| session.call(call, "{}"));
    let (lines, events, said) = session.close(Farewell::Clean);
    assert_eq!((lines.len(), lines[11].as_str()), (12, "finish Closed"));
    assert_eq!(events, ["open", "ship", "close and wait"]);
    assert!(said[0].starts_with("tier standalone, run run_"), "{said:?}");
}

#[test]
fn a_signal_ends_without_a_wait() {
    let mut session = Session::new(Scope::Any, |now| now);
    session.call(0, "{}");
    let (lines, events, _) = session.close(Farewell::Signal);
    assert_eq!((lines.len(), events.last()), (4, Some(&"close")));
}

#[test]
fn while_passthrough_is_possible_nothing_is_opened_and_then_all_is_dropped() {
    let mut session = Session::new(Scope::User, |now| now);
    session.call(0, "{}");
    let (lines, events, _) = session.close(Farewell::Clean);
    assert!(lines.is_empty() && events.is_empty());
    // The window of this one is over at once.
    let long_ago = |now: Instant| now.checked_sub(super::negotiation::WINDOW).unwrap_or(now);
    let mut session = Session::new(Scope::User, long_ago);
    session.call(0, "{}");
    session.until("passthrough", |s| s.queue.is_deaf());
    session.call(1, "{}");
    assert!(session.queue.is_empty());
    let (lines, events, said) = session.close(Farewell::Clean);
    assert!(lines.is_empty() && events.is_empty());
    assert!(said[0].starts_with("tier passthrough"), "{said:?}");
}

#[test]
fn a_sign_of_an_installation_lets_a_user_scope_entry_record() {
    let long_ago = |now: Instant| now.checked_sub(super::negotiation::WINDOW).unwrap_or(now);
    let mut session = Session::at(Scope::User, Sighting::Installed, long_ago);
    session.call(0, "{}");
    session.until("it is kept", |s| s.kept.lines().len() == 3);
}

#[test]
fn switching_off_ends_the_run_and_switching_on_begins_another() {
    let mut session = Session::new(Scope::Any, |now| now);
    session.call(0, "{}");
    session.until("it is kept", |s| s.kept.lines().len() == 3);
    session.around.off.store(true, Ordering::Relaxed);
    let mut call = 1;
    while !session.queue.is_deaf() {
        session.call(call, "{}");
        call += 1;
        std::thread::sleep(Duration::from_millis(50));
        assert!(call < 1000, "it goes on");
    }
    session.until("the run is over", |s| s.kept.lines().last().is_some_and(|l| l == "finish Closed"));
    let before = session.kept.lines().len();
    session.call(call, "{}");
    session.around.off.store(false, Ordering::Relaxed);
    session.until("it hears again", |s| !s.queue.is_deaf());
    session.call(call + 1, "{}");
    let (lines, _, _) = session.close(Farewell::Clean);
    let rows = ["0 selected", "1 response"].map(|row| format!("{row} t id toolu_{}", call + 1));
    let [selected, response] = [format!("{} in {{}}", rows[0]), format!("{} ok out {{}}", rows[1])];
    assert_eq!(lines[before..], [RUN, &selected, &response, "finish Closed"]);
}

#[test]
fn a_store_that_cannot_be_opened_costs_calls_and_nothing_else() {
    let mut session = Session::new(Scope::Any, |now| now);
    session.opens.store(false, Ordering::Relaxed);
    session.call(0, "{}");
    session.until("it was tried", |s| !s.around.said.lock().unwrap().is_empty());
    session.call(1, "{}");
    session.until("it is taken", |s| s.queue.is_empty());
    let (lines, events, said) = session.close(Farewell::Clean);
    assert!(lines.is_empty() && events.is_empty());
    assert_eq!(said[0], "nothing is recorded for now: no disk");
    assert_eq!(
        said.last().unwrap(),
        "2 calls of this session are in no run: nothing could be written for them"
    );
}

#[test]
fn a_recorder_that_fails_is_let_go() {
    let mut session = Session::new(Scope::Any, |now| now);
    session.call(0, "PANIC");
    session.until("it is gone", |s| s.queue.is_deaf());
    session.call(1, "{}");
    let (lines, _, said) = session.close(Farewell::Clean);
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(said, ["recording failed and is off for this session; the relay goes on"]);
}
