//! What the events of a host do (facts/claude-code.md "Which events a tool call gets").
//!
//! | event | does |
//! |---|---|
//! | prompt | begins a run; the one before is over |
//! | prompt of a background task | the run that began the task goes on |
//! | pre | begins a call |
//! | post, permission denied | ends it |
//! | batch | those of its calls that nobody saw end were refused |
//! | permission request | nothing: it names no call, and what comes of it the others tell |
//! | stop | the run is over soon, unless work goes on in the background |
//! | session end | all runs of the session are over |

use super::call::{Call, Certainty, Shown, Wire, over_mcp};
use super::inject;
use super::join::{WINDOW, same_tool, short};
use super::run::{LINGER, NOTIFIES, Phase, Run};
use super::session::Session;
use super::state::{Book, SESSIONS, Waiting};
use bir_model::control::{BatchCall, HookCall, HookEvent, HookReply, HookWhat, Join};
use bir_model::own_calls;
use bir_model::record::EndReason;
use bir_model::{Outcome, RunId};
use bir_record::{RedactedText, SafeTold};

/// Nothing of an error's name that is longer, or no name, is kept: it passed no redactor.
const LONGEST_ERROR: usize = 64;

type Event = HookEvent<SafeTold>;

impl Book {
    /// Takes a hook's event.
    pub(super) fn hook(&mut self, event: &Event, context: Option<&SafeTold>) -> HookReply {
        self.meet(event);
        if let Some(session) = self.sessions.get_mut(&event.session_id) {
            if let Some(before) = session.heard.before(event) {
                return before;
            }
            session.learn(event);
        }
        let at = self.happen(event, context.map(SafeTold::text));
        let mut reply = HookReply { version: self.options.version.clone(), ..HookReply::default() };
        if let Some((run, index)) = at {
            reply.run_id = Some(run);
            reply.step_index = index;
        }
        if let HookWhat::Pre { .. } = event.what
            && let Some((run, Some(index))) = at
        {
            reply.inject = self.inject(event, run, index);
        }
        if let Some(session) = self.sessions.get_mut(&event.session_id) {
            session.heard.remember(event, &reply);
        }
        reply
    }

    /// The session of an event is known from now on.
    fn meet(&mut self, event: &Event) {
        if !self.sessions.contains_key(&event.session_id) {
            self.make_room();
            let project = (self.options.project_of)(&event.cwd);
            self.sessions.insert(event.session_id.clone(), Session::new(event, project));
        }
        let (number, now) = (self.number, self.now);
        if let Some(session) = self.sessions.get_mut(&event.session_id) {
            session.spoke = number;
            session.spoke_at = now;
        }
    }

    /// Room for one more session: the oldest of those that are settled goes, else the oldest.
    fn make_room(&mut self) {
        if self.sessions.len() < SESSIONS {
            return;
        }
        let oldest = self.sessions.values().min_by_key(|session| (!self.is_settled(session), session.spoke));
        let Some(oldest) = oldest.map(|session| session.id.clone()) else { return };
        for run in self.open_runs(&oldest) {
            self.conclude(run, EndReason::Idle, None);
        }
        if let Some(session) = self.sessions.remove(&oldest) {
            session.runs.iter().for_each(|run| {
                self.runs.remove(run);
            });
        }
    }

    /// What the event does, and where in which run it happens.
    fn happen(&mut self, event: &Event, context: Option<RedactedText>) -> Option<(RunId, Option<u32>)> {
        match &event.what {
            HookWhat::SessionStart { .. } => {
                self.sessions.get_mut(&event.session_id)?.ended = false;
                Some((self.run_of(event)?, None))
            }
            HookWhat::Prompt { prompt, notification: false } => {
                Some((self.prompt(event, Some(prompt.text()))?, None))
            }
            HookWhat::Prompt { notification: true, .. } => Some((self.notification(event)?, None)),
            HookWhat::Pre { call } => self.pre(event, call, context),
            HookWhat::Post { call, outcome, output, error, duration_ms } => {
                let shown = Shown {
                    certainty: Certainty::Ran,
                    outcome: *outcome,
                    output: output.as_ref().map(SafeTold::json),
                    error: error.as_ref().map(SafeTold::json),
                    duration_us: duration_ms.map(|ms| ms.saturating_mul(1000)),
                    at: event.at,
                    fingerprint: call.fingerprint.clone(),
                    input: call.input.as_ref().map(SafeTold::json),
                };
                self.shown(event, call, shown, context)
            }
            HookWhat::PermissionDenied { call, reason } => {
                let shown =
                    Shown { error: reason.as_ref().map(SafeTold::json), ..refused(Outcome::Denied, event) };
                self.shown(event, call, shown, context)
            }
            HookWhat::Batch { calls } => {
                for call in calls {
                    self.batch(event, call);
                }
                Some((self.run_of(event)?, None))
            }
            HookWhat::Stop { answer, error, background } => {
                let run = self.run_of(event).or_else(|| self.begin(event, None))?;
                self.stop(run, event, answer.as_ref(), error.as_deref(), *background);
                Some((run, None))
            }
            HookWhat::AgentStart => {
                let run = self.run_of(event)?;
                if let (Some(run), Some(agent)) = (self.runs.get_mut(&run), &event.agent_id) {
                    run.agent_began(agent);
                    run.heard_of(event.at, self.now);
                }
                Some((run, None))
            }
            HookWhat::AgentStop { transcript } => {
                let run = self.run_of(event)?;
                self.agent_stop(run, event, transcript.clone());
                Some((run, None))
            }
            HookWhat::SessionEnd { .. } => {
                self.session_over(&event.session_id, EndReason::Closed);
                None
            }
            HookWhat::PermissionRequest { .. } | HookWhat::Note { .. } => {
                let run = self.run_of(event)?;
                if let Some(run) = self.runs.get_mut(&run).filter(|run| run.phase != Phase::Ended) {
                    run.heard_of(event.at, self.now);
                }
                Some((run, None))
            }
        }
    }

    /// The run to which an event belongs, where there is one: that of its turn, or the newest where the host names no turn.
    fn run_of(&self, event: &Event) -> Option<RunId> {
        let run = match &event.turn_id {
            Some(turn) => self.sessions.get(&event.session_id)?.turn(turn),
            None => self.current_run(&event.session_id),
        };
        run.filter(|run| self.runs.contains_key(run))
    }

    fn begin(&mut self, event: &Event, input: Option<RedactedText>) -> Option<RunId> {
        self.begin_turn(&event.session_id, event.turn_id.as_deref(), &event.id, event.at, input)
    }

    fn prompt(&mut self, event: &Event, input: Option<RedactedText>) -> Option<RunId> {
        self.sessions.get_mut(&event.session_id)?.ended = false;
        let turn = event.turn_id.as_deref();
        if let Some(run) = self.prompt_of(&event.session_id, turn, event.at, input.clone()) {
            for before in self.foreground_runs(&event.session_id, event.at) {
                if before != run {
                    self.end_run(before, EndReason::Closed);
                }
            }
            return Some(run);
        }
        if turn.is_some()
            && let Some(run) = self.run_of(event)
        {
            return Some(run);
        }
        for run in self.foreground_runs(&event.session_id, event.at) {
            self.end_run(run, EndReason::Closed);
        }
        let run = self.begin(event, input)?;
        // It waited in the inbox, and a later turn has been heard of: so this one is over.
        if self.sessions.get(&event.session_id)?.runs.back() != Some(&run) {
            self.over_soon(run);
        }
        Some(run)
    }

    /// The run is over unless something comes in a moment.
    fn over_soon(&mut self, run_id: RunId) {
        let soon = self.now.saturating_add(LINGER);
        if let Some(run) = self.runs.get_mut(&run_id) {
            run.wrap_up = true;
            run.ends_at = Some(soon).filter(|_| run.open.is_empty());
        }
        self.wake(run_id);
    }

    /// A background task has ended, and the turn that began it goes on.
    fn notification(&mut self, event: &Event) -> Option<RunId> {
        let known = event.turn_id.as_ref().and(self.run_of(event));
        let run = match known {
            Some(run) => run,
            None => {
                let session = self.sessions.get(&event.session_id)?;
                let runs = || session.runs.iter().rev();
                let waits = |id: &&RunId| self.runs.get(id).is_some_and(|run| run.notifies);
                match runs().find(waits).or_else(|| runs().next()).copied() {
                    Some(run) => run,
                    None => return self.begin(event, None),
                }
            }
        };
        let going_on = self.runs.get_mut(&run)?;
        going_on.goes_on(event.at, self.now);
        // The model works again until the next `Stop`.
        going_on.stopped = false;
        if let Some(turn) = event.turn_id.as_ref().filter(|_| known.is_none()) {
            going_on.has_turn(turn);
            self.sessions.get_mut(&event.session_id)?.belongs(turn, run);
        }
        self.wake(run);
        Some(run)
    }

    fn pre(
        &mut self,
        event: &Event,
        call: &HookCall<SafeTold>,
        context: Option<RedactedText>,
    ) -> Option<(RunId, Option<u32>)> {
        if let Some((run, index)) = self.known_call(event, call, false) {
            let open = self.runs.get_mut(&run).and_then(|run| run.open.get_mut(&index));
            if let Some(open) = open.filter(|open| !open.hooked) {
                open.announced(call, event.agent_id.as_deref());
                open.context = open.context.take().or(context);
            }
            return Some((run, Some(index)));
        }
        if !is_step(call) {
            return Some((self.run_of(event)?, None));
        }
        let run = self.run_of(event).or_else(|| self.turn_without_prompt(event))?;
        let index = self.announce(event, run, call, context);
        if let Some(run) = self.runs.get_mut(&run)
            && event.agent_id.is_none()
        {
            run.stopped = false;
        }
        Some((run, index))
    }

    /// A turn whose prompt nobody told: the one before is over as soon as it is quiet.
    fn turn_without_prompt(&mut self, event: &Event) -> Option<RunId> {
        for run in self.foreground_runs(&event.session_id, event.at) {
            self.over_soon(run);
        }
        self.begin(event, None)
    }

    /// The call of which a hook speaks, if anybody has spoken of it.
    fn known_call(&mut self, event: &Event, call: &HookCall<SafeTold>, ended: bool) -> Option<(RunId, u32)> {
        if let Some(id) = &call.call_id
            && let Some(known) = self.named_call(event, &short(id))
        {
            if ended && let Some(run) = self.runs.get_mut(&known.0) {
                run.has_been_shown(known.1);
            }
            return Some(known);
        }
        // A host whose requests carry ids has sent what comes without: it is not the hook's.
        if call.call_id.is_some() && event.join != Join::Fingerprint {
            return None;
        }
        let run_id = self.run_of(event)?;
        let (now, agent) = (self.now, event.agent_id.as_deref());
        let waits = self.waiting_for(event, call).is_some();
        let run = self.runs.get_mut(&run_id)?;
        let of_proxy = |open: &&Call| {
            !open.hooked
                && (open.call_id.is_none() || call.call_id.is_none())
                && open.wire.as_ref().is_some_and(|wire| is_proxys(wire, call, event.at))
        };
        if let Some(id) = &call.call_id {
            let index = run.open.values().find(of_proxy).map(|open| open.index);
            let index = index.or_else(|| run.late_beginning(call, ended))?;
            run.know(&short(id), index);
            return Some((run_id, index));
        }
        // An end first goes to a call that was announced, a beginning to one that was not.
        let index = if ended { run.ended_call(call, agent, now) } else { None };
        let index = index.or_else(|| Some(run.open.values().find(of_proxy)?.index));
        let index = index.or_else(|| run.late_beginning(call, ended));
        // Another hook may have changed the arguments since.
        let is_open = |open: &&Call| ended && !waits && open.awaits_end(call, agent);
        let index = index.or_else(|| Some(run.open.values().find(is_open)?.index))?;
        Some((run_id, index))
    }

    /// The call with this id. In another turn than the event's it counts only while it is open: some models count their ids anew.
    fn named_call(&self, event: &Event, id: &str) -> Option<(RunId, u32)> {
        let own = self.run_of(event);
        if let Some(run) = own
            && let Some(index) = self.runs.get(&run)?.by_id(id)
        {
            return Some((run, index));
        }
        let runs = self.sessions.get(&event.session_id)?.runs.iter().rev();
        runs.filter_map(|id| self.runs.get(id)).find_map(|run| {
            let index = run.by_id(id)?;
            (event.turn_id.is_none() || run.open.contains_key(&index)).then_some((run.id, index))
        })
    }

    /// A hook speaks of a call for the first time.
    fn announce(
        &mut self,
        event: &Event,
        run: RunId,
        call: &HookCall<SafeTold>,
        context: Option<RedactedText>,
    ) -> Option<u32> {
        let wire = self.claim(event, call);
        let session = self.sessions.get(&event.session_id)?;
        let proxy =
            self.proxies.serving(session, &call.tool_name, call.server.as_deref(), call.tool.as_deref());
        let server = proxy.map(|proxy| proxy.registration.server.name.clone());
        let expects_proxy = server.is_some()
            || over_mcp(call.server.as_deref(), &call.tool_name)
                && session.awaits_proxy(call.server.as_deref().unwrap_or(&call.tool_name));
        let id = call.call_id.as_deref().map(short);
        let agent = event.agent_id.as_deref().map(short);
        let index = self.open_call(run, event.at, id.as_deref(), |index, selected| {
            let mut made = Call::hooked(index, selected, call, event.at);
            made.agent_id = agent;
            made.context = context;
            made.spoken = writes_texts(event);
            made.expects_proxy = expects_proxy;
            made.server = made.server.take().or(server);
            made.wire = wire;
            made
        })?;
        self.settle_call(run, index);
        Some(index)
    }

    /// A hook tells how a call ended.
    fn shown(
        &mut self,
        event: &Event,
        call: &HookCall<SafeTold>,
        shown: Shown,
        context: Option<RedactedText>,
    ) -> Option<(RunId, Option<u32>)> {
        let (run_id, index) = match self.known_call(event, call, true) {
            Some(known) => known,
            None if !is_step(call) => return Some((self.run_of(event)?, None)),
            None => {
                let run = self.run_of(event).or_else(|| self.turn_without_prompt(event))?;
                match self.announce(event, run, call, None) {
                    Some(index) => (run, index),
                    None => return Some((run, None)),
                }
            }
        };
        let session = self.sessions.get(&event.session_id)?;
        let expected =
            self.proxies.serving(session, &call.tool_name, call.server.as_deref(), call.tool.as_deref());
        let is_served = expected.is_some();
        let run = self.runs.get_mut(&run_id)?;
        run.heard_of(event.at, self.now);
        if let Some(open) = run.open.get_mut(&index) {
            if !open.hooked {
                open.announced(call, event.agent_id.as_deref());
            }
            // An end may name the tool alone.
            open.expects_proxy = is_served
                || open.over_mcp() && session.awaits_proxy(open.server.as_deref().unwrap_or(&open.tool_name));
            open.context = open.context.take().or(context);
            if open.shown.as_ref().is_none_or(|before| before.certainty < shown.certainty) {
                open.shown = Some(shown);
            }
            self.settle_call(run_id, index);
        }
        Some((run_id, Some(index)))
    }

    /// A message of the model is done with; this was one of its calls.
    fn batch(&mut self, event: &Event, listed: &BatchCall<SafeTold>) {
        let known = self.known_call(event, &listed.call, true);
        if known.is_none() && listed.call.call_id.is_none() {
            // Nothing tells it from one that is over.
            return;
        }
        if let Some((run, index)) = known
            && let Some(open) = self.runs.get_mut(&run).and_then(|run| run.open.get_mut(&index))
        {
            open.message_over = true;
            open.context = open.context.take().or_else(|| listed.context.as_ref().map(SafeTold::text));
        }
        let text = listed.shown.as_ref().map(SafeTold::json);
        let outcome = match (listed.verdict, known) {
            (Some(verdict), _) => verdict,
            (None, Some(_)) => Outcome::Denied,
            (None, None) => Outcome::Unknown,
        };
        let mut shown = refused(outcome, event);
        if listed.verdict.is_none() {
            shown.certainty = Certainty::Guessed;
        }
        if outcome == Outcome::Ok {
            shown.output = text;
        } else {
            shown.error = text;
        }
        self.shown(event, &listed.call, shown, None);
    }

    fn stop(
        &mut self,
        run_id: RunId,
        event: &Event,
        answer: Option<&SafeTold>,
        error: Option<&str>,
        background: u32,
    ) {
        let soon = self.now.saturating_add(LINGER);
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        if run.phase == Phase::Ended && run.finished != Some(EndReason::Abandoned) {
            return;
        }
        run.heard_of(event.at, self.now);
        if run.phase == Phase::Ended {
            run.phase = Phase::Open;
        }
        run.stopped = true;
        run.background = background;
        run.notifies = background > 0;
        run.answer = answer.map(SafeTold::text).or(run.answer.take());
        run.ends_at = Some(soon).filter(|_| background == 0);
        if let Some(error) = error {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let named = error.len() <= LONGEST_ERROR && error.chars().all(is_name);
            run.error = Some(if named { error } else { "error" }.to_owned());
            return self.end_run(run_id, EndReason::Closed);
        }
        self.wake(run_id);
    }

    fn agent_stop(&mut self, run_id: RunId, event: &Event, transcript: Option<std::path::PathBuf>) {
        let soon = self.now.saturating_add(NOTIFIES);
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        run.heard_of(event.at, self.now);
        run.transcribed(transcript);
        // Compaction ends an agent that never began.
        let began = event.agent_id.as_ref().is_some_and(|agent| run.agents.remove(agent));
        if began && run.stopped && run.background > 0 {
            run.background -= 1;
            if run.background == 0 && run.agents.is_empty() {
                run.ends_at = Some(soon);
            }
        }
        self.wake(run_id);
    }

    fn inject(&mut self, event: &Event, run_id: RunId, index: u32) -> Option<bir_model::control::Inject> {
        let session = self.sessions.get(&event.session_id)?;
        let run = self.runs.get_mut(&run_id)?;
        let call = run.open.get(&index).filter(|call| call.wire.is_none())?;
        let inject = inject::id_for(self.options.injection, event, call, session, &self.proxies)?;
        run.know(&inject.call_id, index);
        if let Some(call) = run.open.get_mut(&index) {
            call.injected = Some(inject.call_id.clone());
        }
        Some(inject)
    }

    /// Runs of a session that are not over.
    pub(super) fn open_runs(&self, session: &str) -> Vec<RunId> {
        let Some(session) = self.sessions.get(session) else { return Vec::new() };
        let open = |id: &&RunId| self.runs.get(id).is_some_and(|run| run.phase != Phase::Ended);
        session.runs.iter().filter(open).copied().collect()
    }

    /// Those of them that began before and in which nothing goes on in the background: the next turn ends them.
    fn foreground_runs(&self, session: &str, before: u64) -> Vec<RunId> {
        let foreground = |id: &RunId| {
            self.runs.get(id).is_some_and(|run: &Run| run.background == 0 && run.started_at <= before)
        };
        self.open_runs(session).into_iter().filter(foreground).collect()
    }

    /// Takes a proxy's call that waits for the hook which now speaks.
    fn claim(&mut self, event: &Event, call: &HookCall<SafeTold>) -> Option<Wire> {
        let key = self.waiting_for(event, call)?;
        self.learn(&key.0, &event.session_id);
        self.waiting.remove(&key).map(|waiting| waiting.wire)
    }

    /// The call that waits for this hook: the one with its id, else the oldest one without an id that is of its tool and arguments.
    fn waiting_for(&self, event: &Event, call: &HookCall<SafeTold>) -> Option<(String, u64)> {
        let session = self.sessions.get(&event.session_id)?;
        let of_session = |(proxy, _): &(String, u64)| {
            self.proxies.0.get(proxy).is_some_and(|proxy| proxy.may_serve(session, &self.sessions))
        };
        let id = call.call_id.as_deref().map(short);
        let named = |waiting: &Waiting| id.is_some() && waiting.call_id == id;
        let by_id = self.waiting.iter().find(|(key, waiting)| named(waiting) && of_session(key));
        let equal = |waiting: &Waiting| {
            let may_be = waiting.call_id.is_none() && (id.is_none() || event.join == Join::Fingerprint);
            may_be && is_proxys(&waiting.wire, call, event.at)
        };
        let equal = || {
            let equal = self.waiting.iter().filter(|(key, waiting)| equal(waiting) && of_session(key));
            equal.min_by_key(|(_, waiting)| waiting.wire.at)
        };
        by_id.or_else(equal).map(|(key, _)| key.clone())
    }
}

/// Whether the host writes down what the model says, and tells when a message is done with.
fn writes_texts(event: &Event) -> bool {
    event.host.app == "claude-code" && event.transcript.is_some()
}

fn is_step(call: &HookCall<SafeTold>) -> bool {
    let input = call.input.as_ref().map(SafeTold::as_str);
    own_calls::is_step(&call.tool_name, call.server.as_deref(), call.tool.as_deref(), input)
}

/// A call that was not made.
fn refused(outcome: Outcome, event: &Event) -> Shown {
    Shown {
        certainty: Certainty::Refused,
        outcome,
        output: None,
        error: None,
        duration_us: None,
        at: event.at,
        fingerprint: None,
        input: None,
    }
}

/// Whether a call that its proxy alone has told of may be the one of which a hook speaks, as far as tool and arguments tell.
fn is_proxys(wire: &Wire, call: &HookCall<SafeTold>, at: u64) -> bool {
    wire.fingerprint.is_some()
        && wire.fingerprint == call.fingerprint
        && wire.at.abs_diff(at) <= WINDOW
        && same_tool(&call.tool_name, call.server.as_deref(), &wire.server, &wire.tool)
}
