//! The book: all state in one place. What changes it is in `hooks`, `reports` and `finish`.

use super::call::{Call, Next, Wire, WireEnd};
use super::inject::Injection;
use super::join::{of_server, short};
use super::proxies::Proxies;
use super::run::{Phase, Run};
use super::session::Session;
use super::timers::{Timer, Timers};
use super::{Answer, Effect, Entry, EntryWhat, ids};
use bir_model::control::{Registered, Registration};
use bir_model::record::{HostInfo, Lost, RunStart, ServerInfo};
use bir_model::{Outcome, RunId, Tier};
use bir_record::tools::SafeTools;
use bir_record::{RedactedText, RunFacts, SafeRecord, Zone};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What recorded a run.
const FRAMEWORK: &str = "baseinstrunner";
/// Sessions at most.
pub(super) const SESSIONS: usize = 1000;
/// Servers whose bypassed calls are counted.
const BYPASSED_SERVERS: usize = 1000;

/// What a book has to be given.
#[derive(Debug, Clone)]
pub struct Options {
    /// The version of the program, for the answers.
    pub version: String,
    /// Which project a directory belongs to; it looks at the disk, so that it comes from outside.
    pub project_of: fn(&Path) -> PathBuf,
    /// The time zone now, for runs that begin; from outside for the same reason.
    pub zone: fn() -> Option<Zone>,
    /// Ids in arguments; none with `BIR_NO_CORRELATION` or without a decision.
    pub injection: Option<Injection>,
}

/// The state of all sessions, runs and proxies.
#[derive(Debug)]
pub struct Book {
    pub(super) options: Options,
    /// The time of the entry or deadline that is being worked on, ms since the Unix epoch.
    pub(super) now: u64,
    /// The latest time that anybody has told, ms since the Unix epoch.
    pub(super) told_now: u64,
    /// Entries so far; orders them where their times are equal.
    pub(super) number: u64,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) runs: HashMap<RunId, Run>,
    pub(super) proxies: Proxies,
    /// Runs without a session, by the process that started their proxies.
    pub(super) standalone: BTreeMap<u32, RunId>,
    /// Calls of proxies that wait for their hook, by proxy and number.
    pub(super) waiting: BTreeMap<(String, u64), Waiting>,
    pub(super) timers: Timers,
    pub(super) bypassed: BTreeMap<String, u64>,
    /// Sessions of which a run, or the session itself, has just ended.
    pub(super) settled: BTreeSet<String>,
    pub(super) out: Vec<Effect>,
}

/// A call of a proxy whose hook has not been heard.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) call_id: Option<String>,
    pub(super) wire: Wire,
    pub(super) due: u64,
}

impl Book {
    /// A book in which nothing stands, and which is given the same.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.options.clone())
    }

    /// A book in which nothing stands.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            now: 0,
            told_now: 0,
            number: 0,
            sessions: BTreeMap::new(),
            runs: HashMap::new(),
            proxies: Proxies::default(),
            standalone: BTreeMap::new(),
            waiting: BTreeMap::new(),
            timers: Timers::default(),
            bypassed: BTreeMap::new(),
            settled: BTreeSet::new(),
            out: Vec::new(),
        }
    }

    /// Takes one entry. Deadlines that lie before it are met first.
    pub fn hear(&mut self, entry: &Entry) -> (Answer, Vec<Effect>) {
        self.pass_until(entry.taken_at);
        self.number += 1;
        let answer = match &entry.what {
            EntryWhat::Hook { event, context } => Answer::Hook(self.hook(event, context.as_ref())),
            EntryWhat::Register(registration) => Answer::Registered(self.register(registration)),
            EntryWhat::Report { proxy_id, report } => self.report(proxy_id, report),
            EntryWhat::Transcript { run, facts } => {
                self.transcript(*run, facts);
                Answer::Taken
            }
            EntryWhat::HostGone { pid } => {
                self.host_gone(*pid);
                Answer::Taken
            }
        };
        self.tell_settled();
        (answer, std::mem::take(&mut self.out))
    }

    /// Meets the deadlines until now.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Effect> {
        self.pass_until(now_ms);
        self.tell_settled();
        std::mem::take(&mut self.out)
    }

    /// When a tick may change something, ms since the Unix epoch.
    #[must_use]
    pub fn due_at(&self) -> Option<u64> {
        self.timers.next()
    }

    fn pass_until(&mut self, now: u64) {
        self.told_now = self.told_now.max(now);
        while let Some((due, timer)) = self.timers.pop(self.told_now) {
            self.now = self.now.max(due);
            match timer {
                Timer::Waiting { proxy, call } => self.unannounced((proxy, call)),
                Timer::Call { run, index } => self.call_is_due(run, index),
                Timer::Run(run) => self.run_is_due(run),
            }
        }
        self.now = self.told_now;
    }

    fn register(&mut self, registration: &Registration) -> Registered {
        let project = (self.options.project_of)(&registration.cwd);
        self.proxies.register(registration.clone(), project, self.number);
        // Its server is behind one now.
        let name = &registration.server.name;
        self.bypassed.retain(|told, _| told != name && !of_server(told, name));
        let proxy = self.proxies.0.get(&registration.proxy_id);
        let session_id = proxy.and_then(|proxy| proxy.session(&self.sessions));
        let run_id = session_id.as_ref().and_then(|session| self.current_run(session));
        Registered {
            api_version: bir_model::control::API_VERSION,
            version: self.options.version.clone(),
            session_id,
            run_id,
            ..Registered::default()
        }
    }

    /// The run of a session in which something unannounced happens: the newest that is not over, else the newest.
    pub(super) fn current_run(&self, session: &str) -> Option<RunId> {
        let runs = &self.sessions.get(session)?.runs;
        let open = |id: &&RunId| self.runs.get(id).is_some_and(|run| run.phase != Phase::Ended);
        runs.iter().rev().find(open).or(runs.back()).copied()
    }

    /// The run of a session in which something happened at that time that may have waited for its hook since: another turn may
    /// have begun by now.
    pub(super) fn run_at(&self, session: &str, at: u64) -> Option<RunId> {
        let current = self.current_run(session)?;
        let began = |id: &RunId| self.runs.get(id).map(|run| run.started_at);
        if began(&current).is_none_or(|began| began <= at) {
            return Some(current);
        }
        let runs = self.sessions.get(session)?.runs.iter().rev();
        let before = |id: &&RunId| began(id).is_some_and(|began| began <= at);
        Some(runs.copied().find(|id| before(&id)).unwrap_or(current))
    }

    /// Begins the run of a turn. Where the host names no turn, the event that began it names the run.
    pub(super) fn begin_turn(
        &mut self,
        session: &str,
        turn: Option<&str>,
        event: &str,
        at: u64,
        input: Option<RedactedText>,
    ) -> Option<RunId> {
        let known = self.sessions.get(session)?;
        let id = ids::run(at, &[&known.host.app, session, turn.unwrap_or(event)]);
        let has_prompt = input.is_some();
        let start = self.start_of(known, id, at, input);
        let mut run = Run::new(id, Some(session.to_owned()), start, at, self.now);
        run.transcribed(known.transcript.clone());
        let runs = &self.runs;
        let known = self.sessions.get_mut(session)?;
        let forgotten = known.outlived(|id| runs.get(id).is_none_or(|run| run.phase == Phase::Ended));
        // Ids of runs sort by their time.
        let place = known.runs.partition_point(|before| *before < id);
        known.runs.insert(place, id);
        if let Some(turn) = turn {
            known.belongs(turn, id);
            run.has_turn(turn);
        }
        for run in forgotten {
            self.runs.remove(&run);
        }
        if !has_prompt {
            run.hold(self.now);
        }
        run.begin(&mut self.out);
        self.runs.insert(id, run);
        self.wake(id);
        Some(id)
    }

    /// The record of a session's run.
    fn start_of(&self, session: &Session, id: RunId, at: u64, input: Option<RedactedText>) -> SafeRecord {
        let servers = self.proxies.0.values().filter(|proxy| proxy.serves(session));
        let start = RunStart {
            id,
            tier: Tier::Bound,
            framework: Some(FRAMEWORK.to_owned()),
            input: None,
            started_at: at,
            project: Some(session.project.to_string_lossy().into_owned()),
            host: Some(session.host.clone()),
            servers: named_once(servers.map(|proxy| &proxy.registration.server)),
            session_id: Some(session.id.clone()),
            metadata: BTreeMap::new(),
        };
        SafeRecord::run_with(start, input, RunFacts { join: Some(session.join), zone: (self.options.zone)() })
    }

    /// The prompt of a run that has begun without, and of which nothing is written yet. None: there is none that the prompt could
    /// have begun.
    pub(super) fn prompt_of(
        &mut self,
        session: &str,
        turn: Option<&str>,
        at: u64,
        input: Option<RedactedText>,
    ) -> Option<RunId> {
        let known = self.sessions.get(session)?;
        let waits = |run: &&Run| {
            let is_turn = match turn {
                Some(turn) => run.turns.is_empty() || run.turns.iter().any(|one| one == turn),
                None => true,
            };
            run.held_until().is_some() && run.started_at >= at && is_turn
        };
        let mut runs = known.runs.iter().filter_map(|id| self.runs.get(id));
        let id = runs.find(waits)?.id;
        let start = self.start_of(known, id, at, input);
        let run = self.runs.get_mut(&id)?;
        run.prompted(start, at, &mut self.out);
        if let Some(turn) = turn.filter(|_| run.turns.is_empty()) {
            run.has_turn(turn);
            self.sessions.get_mut(session)?.belongs(turn, id);
        }
        self.wake(id);
        Some(id)
    }

    /// The run of proxies whose host has no hooks.
    pub(super) fn standalone_run(&mut self, proxy: &str, call: u64, at: u64) -> Option<RunId> {
        let registration = &self.proxies.0.get(proxy)?.registration;
        let parent = registration.parent_pid;
        if let Some(run) = self.standalone.get(&parent) {
            return Some(*run);
        }
        let id = ids::run(at, &["standalone", proxy, &call.to_string()]);
        let siblings =
            self.proxies.0.values().filter(|other| other.registration.parent_pid == parent && !other.gone);
        let start = RunStart {
            id,
            tier: Tier::Standalone,
            framework: Some(FRAMEWORK.to_owned()),
            input: None,
            started_at: at,
            project: Some(self.proxies.0.get(proxy)?.project.to_string_lossy().into_owned()),
            host: registration.host.clone().filter(|host: &HostInfo| !host.app.is_empty()),
            servers: named_once(siblings.map(|proxy| &proxy.registration.server)),
            session_id: None,
            metadata: BTreeMap::new(),
        };
        let facts = RunFacts { join: None, zone: (self.options.zone)() };
        let mut run = Run::new(id, None, SafeRecord::run_with(start, None, facts), at, self.now);
        run.begin(&mut self.out);
        self.runs.insert(id, run);
        self.standalone.insert(parent, id);
        self.wake(id);
        Some(id)
    }

    /// Writes the beginning of a call. `make` gets its index; none when there is no room.
    pub(super) fn open_call(
        &mut self,
        run_id: RunId,
        at: u64,
        call_id: Option<&str>,
        make: impl FnOnce(u32, bir_model::StepId) -> Call,
    ) -> Option<u32> {
        let run = self.runs.get_mut(&run_id)?;
        run.goes_on(at, self.now);
        let Some(index) = run.place() else {
            let nth = run.refused().to_string();
            let lost = Lost {
                run_id,
                id: ids::step(run_id, &["refused", &nth]),
                calls: 1,
                records: 0,
                reason: "backlog".to_owned(),
                at,
            };
            run.append(SafeRecord::lost(lost), &mut self.out);
            self.wake(run_id);
            return None;
        };
        let mut call = make(index, run.row_id(call_id, index));
        if let Some(id) = call_id {
            run.know(id, index);
        }
        if let Some(wire) = &call.wire
            && let Some(proxy) = self.proxies.0.get_mut(&wire.proxy)
        {
            proxy.open.insert(wire.call, (run_id, index));
        }
        let row = call.first_row(run_id);
        run.append(row, &mut self.out);
        run.open.insert(index, call);
        self.wake(run_id);
        Some(index)
    }

    /// After something was told of a call: its end is written, or waited for.
    pub(super) fn settle_call(&mut self, run_id: RunId, index: u32) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let ending = run.over.is_some();
        let Some(call) = run.open.get_mut(&index) else { return };
        match call.next(ending) {
            Next::Write => self.close_call(run_id, index),
            Next::Within(wait) => {
                let due = self.now.saturating_add(wait);
                call.due = Some(due);
                self.timers.set(due, Timer::Call { run: run_id, index });
            }
            Next::Open => {}
        }
    }

    fn call_is_due(&mut self, run_id: RunId, index: u32) {
        let due = self.runs.get(&run_id).and_then(|run| run.open.get(&index)).and_then(|call| call.due);
        if due.is_some_and(|due| due <= self.now) {
            self.close_call(run_id, index);
        }
    }

    /// Writes the end of a call with what is there.
    fn close_call(&mut self, run_id: RunId, index: u32) {
        self.write_end(run_id, index, None);
        self.after_close(run_id);
    }

    /// The same, with what the transcript says, in a run that is ending.
    pub(super) fn write_end(&mut self, run_id: RunId, index: u32, transcript: Option<Outcome>) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let Some(call) = run.close(index, self.now) else { return };
        if let Some(wire) = &call.wire
            && let Some(proxy) = self.proxies.0.get_mut(&wire.proxy)
        {
            proxy.ended(wire.call);
        }
        if call.bypassed() {
            let server = call.server.clone().unwrap_or_else(|| call.tool_name.clone());
            if let Some(session) = run.session.as_ref().and_then(|session| self.sessions.get_mut(session)) {
                session.is_bare(&server);
            }
            if self.bypassed.len() < BYPASSED_SERVERS || self.bypassed.contains_key(&server) {
                *self.bypassed.entry(server).or_default() += 1;
            }
        }
        let at = run.last_at;
        run.append(call.last_row(run_id, transcript, at), &mut self.out);
    }

    /// Puts what a proxy saw to the call that it is.
    pub(super) fn join(&mut self, run_id: RunId, index: u32, wire: Wire) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        run.heard_of(wire.at, self.now);
        // A server that died is started again, and the host may send the call once more; else the first one counts.
        let free = |call: &Call| match &call.wire {
            None => true,
            Some(before) => before.ended.as_ref().is_some_and(|end| end.outcome == Outcome::Unknown),
        };
        let call = run.open.get_mut(&index).filter(|call| free(call));
        if let Some(before) = call.as_ref().and_then(|call| call.wire.as_ref())
            && let Some(proxy) = self.proxies.0.get_mut(&before.proxy)
        {
            proxy.ended(before.call);
        }
        if let Some(proxy) = self.proxies.0.get_mut(&wire.proxy) {
            match &call {
                Some(_) => {
                    proxy.open.insert(wire.call, (run_id, index));
                }
                None => proxy.ended(wire.call),
            }
        }
        let Some(call) = call else { return };
        let (proxy, at) = (wire.proxy.clone(), wire.at);
        call.wire = Some(wire);
        call.due = None;
        self.say_tools(run_id, &proxy, at);
        self.settle_call(run_id, index);
        self.wake(run_id);
    }

    /// Says of a run which tools the server of this proxy declares, before what its first call with them says. The set itself is
    /// said once in a session: its other runs name it.
    pub(super) fn say_tools(&mut self, run_id: RunId, proxy: &str, at: u64) {
        let Some(registration) = self.proxies.0.get(proxy).map(|proxy| &proxy.registration) else { return };
        let (Some(hash), Some(run)) = (&registration.server.tools, self.runs.get_mut(&run_id)) else {
            return;
        };
        let server = short(&registration.server.name);
        if run.tools.get(&server) == Some(hash) {
            return;
        }
        run.tools.insert(server.clone(), hash.clone());
        let session = run.session.as_ref().and_then(|session| self.sessions.get_mut(session));
        let is_new = || session.is_none_or(|session| session.has_new_tools(hash));
        let record = match registration.tools.as_ref().filter(|_| is_new()) {
            Some(set) => SafeRecord::tools(run_id, server, SafeTools::read_back((**set).clone()), at),
            None => SafeRecord::tools_named(run_id, server, hash.clone(), at),
        };
        run.append(record, &mut self.out);
    }

    /// A proxy tells the end of a call that is open.
    pub(super) fn wire_ended(&mut self, run_id: RunId, index: u32, end: WireEnd) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        run.heard_of(end.at, self.now);
        if let Some(wire) = run.open.get_mut(&index).and_then(|call| call.wire.as_mut()) {
            wire.ended.get_or_insert(end);
        }
        self.settle_call(run_id, index);
    }

    /// A call of a session by the host's id of it, or by one that was injected.
    pub(super) fn call_by_id(&self, session: &str, id: &str) -> Option<(RunId, u32)> {
        let runs = &self.sessions.get(session)?.runs;
        runs.iter().rev().find_map(|run| Some((*run, self.runs.get(run)?.by_id(id)?)))
    }
}

/// Servers by their keys, each once.
fn named_once<'a>(servers: impl Iterator<Item = &'a ServerInfo>) -> Vec<ServerInfo> {
    let by_name: BTreeMap<&str, &ServerInfo> = servers.map(|server| (server.name.as_str(), server)).collect();
    by_name.into_values().cloned().collect()
}
