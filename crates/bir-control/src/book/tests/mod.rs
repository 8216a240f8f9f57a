//! A world around the book: hosts that tell, proxies that tell, and what comes of it.

mod ends;
mod joins;
mod properties;
mod sessions;
mod truth_table;

use super::*;
use bir_model::Outcome;
use bir_model::control::{
    BatchCall, Compared, HookCall, HookWhat, Join, PayloadKind, ProxyWhat, Registration, Told,
};
use bir_model::record::{Finish, HostInfo, Record, RunStart, ServerInfo, Step, StepType};
use bir_record::SafeTold;
use bir_record::redact::{RedactionKey, Redactor, Rules};
use std::collections::BTreeMap;

/// When the tests begin, ms since the Unix epoch.
const START: u64 = 1_790_000_000_000;

/// A book, its clock, and all that came out of it.
struct World {
    book: Book,
    now: u64,
    events: u64,
    effects: Vec<Effect>,
    entries: Vec<Entry>,
    /// The entries that a journal still has, with the session whose they are.
    journal: Vec<(Option<String>, Entry)>,
    /// After so many entries the book is lost, and made anew of the journal.
    crash_at: Option<usize>,
    /// What the transcripts say.
    facts: TranscriptFacts,
    answers: bool,
}

/// Who tells, and where.
#[derive(Clone)]
struct Teller {
    app: &'static str,
    via: &'static str,
    session: String,
    turn: Option<String>,
    agent: Option<String>,
    pid: u32,
    /// What that process has above it.
    above: Vec<u32>,
    join: Join,
    transcript: bool,
    cwd: String,
    mode: Option<String>,
}

fn teller(session: &str, turn: &str) -> Teller {
    Teller {
        app: "some-host",
        via: "claude-code",
        session: session.into(),
        turn: Some(turn.into()),
        agent: None,
        pid: 100,
        above: Vec::new(),
        join: Join::CallId,
        transcript: true,
        cwd: "/p".into(),
        mode: None,
    }
}

/// A teller of a host without ids of calls and turns.
fn gemini(session: &str) -> Teller {
    Teller {
        app: "gemini-cli",
        via: "gemini-cli",
        turn: None,
        join: Join::Fingerprint,
        transcript: false,
        ..teller(session, "")
    }
}

/// A teller of a host that gives an id to the beginning of a call over MCP and to its request, and to no end.
fn copilot(session: &str) -> Teller {
    Teller { app: "copilot-cli", via: "copilot-cli", join: Join::Injected, ..gemini(session) }
}

impl World {
    fn new() -> Self {
        Self::with(None)
    }

    fn with(injection: Option<Injection>) -> Self {
        Self {
            book: Book::new(options(injection)),
            now: START,
            events: 0,
            effects: Vec::new(),
            entries: Vec::new(),
            journal: Vec::new(),
            crash_at: None,
            facts: TranscriptFacts::default(),
            answers: true,
        }
    }

    fn hear(&mut self, what: EntryWhat) -> Answer {
        let entry = Entry { taken_at: self.now, what };
        let session = self.session_of(&entry.what);
        let (answer, effects) = self.book.hear(&entry);
        self.entries.push(entry.clone());
        self.journal.push((session, entry));
        self.take(effects);
        if self.crash_at == Some(self.entries.len()) {
            self.book = Book::new(options(None));
            for (_, entry) in &self.journal {
                self.book.hear(entry);
            }
        }
        answer
    }

    fn session_of(&self, what: &EntryWhat) -> Option<String> {
        match what {
            EntryWhat::Hook { event, .. } => Some(event.session_id.clone()),
            EntryWhat::Report { proxy_id, .. } => self.book.session_of(proxy_id),
            EntryWhat::Transcript { run, .. } => {
                let runs = self.runs().into_iter();
                runs.filter(|start| start.id == *run).find_map(|start| start.session_id)
            }
            EntryWhat::Register(_) | EntryWhat::HostGone { .. } => None,
        }
    }

    /// A journal drops what is of no use any more.
    fn compact(&mut self, settled: &str) {
        let book = &self.book;
        // What a proxy told before it was known whose it is, too.
        let of_proxy = |entry: &Entry| match &entry.what {
            EntryWhat::Report { proxy_id, .. } => book.session_of(proxy_id),
            _ => None,
        };
        self.journal.retain(|(session, entry)| {
            session.clone().or_else(|| of_proxy(entry)).as_deref() != Some(settled)
        });
        let essence = self.book.essence(settled).into_iter();
        self.journal.extend(essence.map(|entry| (Some(settled.to_owned()), entry)));
    }

    fn take(&mut self, effects: Vec<Effect>) {
        let asked = effects.iter().filter_map(|effect| match effect {
            Effect::Ask { run, .. } => Some(*run),
            _ => None,
        });
        let asked: Vec<RunId> = asked.filter(|_| self.answers).collect();
        let settled = effects.iter().filter_map(|effect| match effect {
            Effect::Settled { session } => Some(session.clone()),
            _ => None,
        });
        settled.collect::<Vec<_>>().iter().for_each(|session| self.compact(session));
        self.effects.extend(effects);
        for run in asked {
            let facts = Box::new(self.facts.clone());
            self.hear(EntryWhat::Transcript { run, facts });
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now += ms;
        let effects = self.book.tick(self.now);
        self.take(effects);
    }

    fn event(&mut self, by: &Teller, what: HookWhat<SafeTold>) -> HookEvent<SafeTold> {
        self.events += 1;
        self.now += 1;
        HookEvent {
            id: format!("e{}", self.events),
            host: HostInfo { app: by.app.into(), version: None },
            via: by.via.into(),
            session_id: by.session.clone(),
            turn_id: by.turn.clone(),
            agent_id: by.agent.clone(),
            cwd: by.cwd.clone().into(),
            transcript: by.transcript.then(|| format!("/t/{}.jsonl", by.session).into()),
            host_pids: std::iter::once(by.pid).chain(by.above.iter().copied()).collect(),
            join: by.join,
            permission_mode: by.mode.clone(),
            at: self.now,
            what,
        }
    }

    fn tell(&mut self, by: &Teller, what: HookWhat<SafeTold>) -> HookReply {
        let event = Box::new(self.event(by, what));
        self.send(event)
    }

    fn send(&mut self, event: Box<HookEvent<SafeTold>>) -> HookReply {
        match self.hear(EntryWhat::Hook { event, context: None }) {
            Answer::Hook(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    fn prompt(&mut self, by: &Teller, text: &str) -> RunId {
        let what = HookWhat::Prompt { prompt: told_text(text), notification: false };
        self.tell(by, what).run_id.unwrap()
    }

    fn stop(&mut self, by: &Teller, answer: &str, background: u32) {
        self.tell(by, HookWhat::Stop { answer: Some(told_text(answer)), error: None, background });
    }

    fn pre(&mut self, by: &Teller, call: &HookCall<SafeTold>) -> HookReply {
        self.tell(by, HookWhat::Pre { call: call.clone() })
    }

    fn post(&mut self, by: &Teller, call: &HookCall<SafeTold>, outcome: Outcome) {
        let what = post(call, outcome);
        self.tell(by, what);
    }

    fn batch(&mut self, by: &Teller, call: &HookCall<SafeTold>, verdict: Option<Outcome>) {
        let shown = Some(told("\"shown\""));
        self.tell(
            by,
            HookWhat::Batch { calls: vec![BatchCall { call: call.clone(), shown, verdict, context: None }] },
        );
    }

    fn register(&mut self, proxy: &str, server: &str, parent: u32) {
        let registration = registration(proxy, server, parent);
        self.hear(EntryWhat::Register(Box::new(registration)));
    }

    fn report(&mut self, proxy: &str, report: ProxyReport<SafeTold>) -> Answer {
        self.hear(EntryWhat::Report { proxy_id: proxy.into(), report: Box::new(report) })
    }

    fn began(&mut self, proxy: &str, number: u64, call: &HookCall<SafeTold>, with_id: bool) {
        self.now += 1;
        let what = ProxyWhat::Began { input: call.input.clone() };
        let report = report(number, call, with_id, self.now, what);
        self.report(proxy, report);
    }

    fn ended(
        &mut self,
        proxy: &str,
        number: u64,
        call: &HookCall<SafeTold>,
        with_id: bool,
        outcome: Outcome,
    ) {
        self.now += 1;
        let report = report(number, call, with_id, self.now, ended(outcome));
        self.report(proxy, report);
    }

    fn records(&self) -> Vec<&Record> {
        self.effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Begin(record) | Effect::Append(record) => Some(record.record()),
                _ => None,
            })
            .collect()
    }

    /// The runs that began, each once.
    fn runs(&self) -> Vec<RunStart> {
        let mut runs: Vec<RunStart> = Vec::new();
        for record in self.records() {
            if let Record::Run(run) = record
                && runs.iter().all(|known| known.id != run.id)
            {
                runs.push(run.clone());
            }
        }
        runs
    }

    fn steps(&self, run: RunId) -> Vec<Step> {
        let steps = self.records().into_iter().filter_map(|record| match record {
            Record::Step(step) if step.run_id == run => Some(step.clone()),
            _ => None,
        });
        steps.collect()
    }

    /// The rows that end calls.
    fn ends(&self, run: RunId) -> Vec<Step> {
        self.steps(run).into_iter().filter(|step| step.step_type == StepType::ToolResponse).collect()
    }

    fn finishes(&self, run: RunId) -> Vec<Finish> {
        let finishes = self.records().into_iter().filter_map(|record| match record {
            Record::Finish(finish) if finish.run_id == run => Some(finish.clone()),
            _ => None,
        });
        finishes.collect()
    }

    /// The one call of a run: its end.
    fn only(&self, run: RunId) -> Step {
        let steps = self.steps(run);
        assert_eq!(steps.len(), 2, "{steps:#?}");
        assert_eq!(steps[0].step_type, StepType::ToolSelected);
        assert_eq!(
            (steps[0].step_index + 1, steps[1].step_type),
            (steps[1].step_index, StepType::ToolResponse)
        );
        steps[1].clone()
    }

    /// What must hold of whatever was told: rows come once, behind their run, without gaps, and never after its writer left.
    fn check(&self) {
        let mut writing: Vec<RunId> = Vec::new();
        let mut indexes: BTreeMap<RunId, Vec<u32>> = BTreeMap::new();
        let mut ids = std::collections::BTreeSet::new();
        for effect in &self.effects {
            match effect {
                Effect::Begin(record) => {
                    assert!(!writing.contains(&record.record().run_id()), "begun twice");
                    writing.push(record.record().run_id());
                }
                Effect::Append(record) => {
                    let run = record.record().run_id();
                    assert!(writing.contains(&run), "nobody writes {record:?}");
                    match record.record() {
                        Record::Step(step) => {
                            assert!(ids.insert(step.id), "{step:?} came twice");
                            indexes.entry(run).or_default().push(step.step_index);
                        }
                        Record::Final(answer) => {
                            assert!(ids.insert(answer.id));
                            indexes.entry(run).or_default().push(answer.step_index);
                        }
                        Record::Lost(lost) => assert!(ids.insert(lost.id)),
                        _ => {}
                    }
                }
                Effect::End(run) => {
                    assert!(writing.contains(run));
                    writing.retain(|writing| writing != run);
                }
                _ => {}
            }
        }
        assert_eq!(writing, [], "somebody writes for ever");
        for (run, mut indexes) in indexes {
            indexes.sort_unstable();
            assert!(indexes.iter().copied().eq(0..indexes.len() as u32), "{run}: {indexes:?}");
        }
    }
}

fn options(injection: Option<Injection>) -> Options {
    let zone = || bir_record::Zone::named("Europe/Berlin");
    Options { version: "1.2.3".into(), project_of: std::path::Path::to_path_buf, zone, injection }
}

fn again(kind: PayloadKind, text: &str) -> SafeTold {
    thread_local! {
        static REDACTOR: Redactor = Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0;
    }
    let told = Told { text: text.into(), original_bytes: text.len() as u64, truncated: false };
    REDACTOR.with(|redactor| redactor.again(kind, told))
}

fn told(json: &str) -> SafeTold {
    again(PayloadKind::Json, json)
}

fn told_text(text: &str) -> SafeTold {
    again(PayloadKind::Text, text)
}

/// A call of a built-in tool.
fn builtin(id: &str) -> HookCall<SafeTold> {
    HookCall {
        call_id: Some(id.into()),
        tool_name: "Read".into(),
        server: None,
        tool: None,
        input: Some(told(r#"{"path":"a"}"#)),
        fingerprint: Some(Compared("read-a".into())),
    }
}

/// A call of `echo` on server `s1`.
fn mcp(id: &str) -> HookCall<SafeTold> {
    HookCall {
        call_id: Some(id.into()),
        tool_name: "mcp__s1__echo".into(),
        server: Some("s1".into()),
        tool: None,
        input: Some(told(r#"{"message":"x"}"#)),
        fingerprint: Some(Compared("echo-x".into())),
    }
}

fn unnamed(call: HookCall<SafeTold>) -> HookCall<SafeTold> {
    HookCall { call_id: None, ..call }
}

fn with_arguments(call: HookCall<SafeTold>, json: &str) -> HookCall<SafeTold> {
    HookCall { input: Some(told(json)), fingerprint: Some(Compared(json.into())), ..call }
}

fn post(call: &HookCall<SafeTold>, outcome: Outcome) -> HookWhat<SafeTold> {
    let (output, error) = match outcome {
        Outcome::Ok => (Some(told("\"from the hook\"")), None),
        _ => (None, Some(told("\"the hook's error\""))),
    };
    HookWhat::Post { call: call.clone(), outcome, output, error, duration_ms: Some(7) }
}

fn registration(proxy: &str, server: &str, parent: u32) -> Registration {
    Registration {
        api_version: 1,
        version: String::new(),
        proxy_id: proxy.into(),
        server: ServerInfo { name: server.into(), ..ServerInfo::default() },
        pid: parent + 1,
        parent_pid: parent,
        cwd: "/p".into(),
        host: None,
        host_session: None,
        takes_call_id: true,
        tools: None,
    }
}

fn report(
    number: u64,
    call: &HookCall<SafeTold>,
    with_id: bool,
    at: u64,
    what: ProxyWhat<SafeTold>,
) -> ProxyReport<SafeTold> {
    let call_id = call.call_id.clone().filter(|_| with_id);
    ProxyReport {
        call: number,
        tool: "echo".into(),
        call_id,
        fingerprint: call.fingerprint.clone(),
        replayed: false,
        at,
        what,
    }
}

fn ended(outcome: Outcome) -> ProxyWhat<SafeTold> {
    let answer = |of: Outcome, text| (outcome == of).then(|| told(text));
    ProxyWhat::Ended {
        outcome,
        output: answer(Outcome::Ok, "\"from the wire\"").or(answer(Outcome::ToolError, "\"isError\"")),
        error: answer(Outcome::RpcError, "\"rpc\""),
        duration_us: Some(1234),
        ambiguous: false,
        legs: Vec::new(),
    }
}
