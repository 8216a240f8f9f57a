//! How a run ends.
//!
//! ```text
//!   Stop + 2 s, next prompt, end of the session, host gone, silence
//!     ─▶ halves of calls are outstanding? at most 10 s
//!     ─▶ Ask the transcript ── answer, or 5 s ──▶ rows of open calls, Final, Finish, End
//! ```

use super::call::HALF;
use super::run::{LINGER, Phase, Run};
use super::session::Session;
use super::state::Book;
use super::timers::Timer;
use super::{Effect, TranscriptFacts, ids};
use bir_model::record::{EndReason, FinalAnswer, Finish};
use bir_model::{Outcome, RunId};
use bir_record::{SafeRecord, SafeTold};
use serde_json::{Map, Value as Json};

/// A transcript that was asked for is waited for so long, ms.
const ASKED: u64 = 5000;

impl Book {
    /// The run is over, once what is outstanding has come.
    pub(super) fn end_run(&mut self, run_id: RunId, reason: EndReason) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        run.wrap_up = true;
        run.background = 0;
        if run.phase != Phase::Open {
            return;
        }
        run.over.get_or_insert(reason);
        run.give_up_at.get_or_insert(self.now.saturating_add(HALF));
        if run.outstanding() { self.wake(run_id) } else { self.ask(run_id) }
    }

    /// Asks the transcript about a run that is over, where there is one and it may know more.
    fn ask(&mut self, run_id: RunId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let session = run.session.as_ref().and_then(|session| self.sessions.get(session));
        let own = session.and_then(|session| session.transcript.clone());
        let others = run.transcripts.iter().filter(|path| Some(*path) != own.as_ref()).cloned();
        let transcripts: Vec<_> = own.iter().cloned().chain(others).collect();
        let (open_calls, reason) = (run.open_calls(), run.reason());
        if transcripts.is_empty() || !run.finishes(reason) && open_calls.is_empty() {
            return self.conclude(run_id, reason, None);
        }
        run.release(&mut self.out);
        run.phase = Phase::Asked { until: self.told_now.saturating_add(ASKED) };
        self.out.push(Effect::Ask {
            run: run_id,
            transcripts,
            turns: run.turns.clone(),
            since: run.started_at,
            open_calls,
        });
        self.wake(run_id);
    }

    /// What the transcript says of a run.
    pub(super) fn transcript(&mut self, run_id: RunId, facts: &TranscriptFacts) {
        if let Some(run) = self.runs.get(&run_id).filter(|run| matches!(run.phase, Phase::Asked { .. })) {
            self.conclude(run_id, run.reason(), Some(facts));
        }
    }

    /// Writes the end of a run with what is there.
    pub(super) fn conclude(&mut self, run_id: RunId, reason: EndReason, facts: Option<&TranscriptFacts>) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        run.release(&mut self.out);
        let outcomes = facts.map(|facts| facts.outcomes.as_slice()).unwrap_or_default();
        let open: Vec<(u32, Option<Outcome>)> =
            run.open.values().map(|call| (call.index, Run::told(outcomes, call))).collect();
        for (index, transcript) in open {
            self.write_end(run_id, index, transcript);
        }
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        if run.finishes(reason) {
            let told = facts.and_then(|facts| facts.final_answer.as_ref()).map(SafeTold::text);
            let answer = run.answer.clone().or(told);
            if let Some(text) = answer.clone().filter(|_| !run.answered) {
                run.answered = true;
                let (id, step_index) = (ids::step(run_id, &["final"]), run.place_row());
                let row = FinalAnswer { run_id, id, step_index, answer: String::new(), at: run.last_at };
                run.append(SafeRecord::final_answer(row, text), &mut self.out);
            }
            let metrics = metrics(facts.and_then(|facts| facts.usage.clone()), run.error.as_deref());
            let finish = Finish { run_id, at: run.last_at, reason, final_output: None, metrics };
            run.append(SafeRecord::finish(finish, answer), &mut self.out);
            run.finished = Some(reason);
        }
        run.end(&mut self.out);
        match run.session.clone() {
            Some(session) => {
                self.settled.insert(session);
            }
            None => {
                self.runs.remove(&run_id);
                self.standalone.retain(|_, run| *run != run_id);
            }
        }
    }

    /// After a call was closed, or something else was written: the run may be over now.
    pub(super) fn after_close(&mut self, run_id: RunId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        if run.over.is_some() {
            if run.phase == Phase::Open && !run.outstanding() {
                self.ask(run_id);
            }
        } else if run.phase == Phase::Open && run.may_end() && run.ends_at.is_none() {
            run.ends_at = Some(self.now.saturating_add(LINGER));
            self.wake(run_id);
        }
    }

    /// Sees to it that the run is looked at in time.
    pub(super) fn wake(&mut self, run_id: RunId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        if let Some(due) = run.due().filter(|due| run.wakes_at.is_none_or(|wakes_at| *due < wakes_at)) {
            run.wakes_at = Some(due);
            self.timers.set(due, Timer::Run(run_id));
        }
    }

    pub(super) fn run_is_due(&mut self, run_id: RunId) {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        run.wakes_at = None;
        let reached = |time: Option<u64>| time.is_some_and(|time| time <= now);
        if reached(run.held_until()) {
            run.release(&mut self.out);
        }
        match (run.phase, run.over) {
            (Phase::Asked { until }, _) if until <= now => {
                let reason = run.reason();
                self.conclude(run_id, reason, None);
            }
            (Phase::Open, Some(_)) if reached(run.give_up_at) => self.ask(run_id),
            (Phase::Open, None) if reached(run.ends_at) => self.end_run(run_id, EndReason::Closed),
            (Phase::Open, None) if run.silent_until() <= now => self.end_run(run_id, EndReason::Idle),
            _ => {}
        }
        self.wake(run_id);
    }

    /// The session is over, and so are its runs.
    pub(super) fn session_over(&mut self, id: &str, reason: EndReason) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.ended = true;
        let open = self.open_runs(id);
        if open.is_empty() {
            self.settled.insert(id.to_owned());
        }
        for run in open {
            self.end_run(run, reason);
        }
    }

    /// A process is gone: the sessions of which it was the host are over, without a word.
    pub(super) fn host_gone(&mut self, pid: u32) {
        let over: Vec<String> = self
            .sessions
            .values()
            .filter(|session| session.watched() == Some(pid))
            .map(|session| session.id.clone())
            .collect();
        for session in over {
            self.session_over(&session, EndReason::Abandoned);
        }
        for proxy in self.proxies.0.values_mut() {
            proxy.gone |= proxy.registration.parent_pid == pid;
        }
        if let Some(run) = self.standalone.get(&pid).copied() {
            self.end_run(run, EndReason::Closed);
        }
    }

    /// Whether no run of a session is open.
    pub(super) fn is_settled(&self, session: &Session) -> bool {
        session.runs.iter().all(|id| self.runs.get(id).is_none_or(|run| run.phase == Phase::Ended))
    }

    /// Tells which sessions have become settled, and are still when all is done that an entry or the time brought.
    pub(super) fn tell_settled(&mut self) {
        for id in std::mem::take(&mut self.settled) {
            let Some(session) = self.sessions.get(&id).filter(|session| self.is_settled(session)) else {
                continue;
            };
            let waits = self.waiting.keys().any(|(proxy, _)| {
                let proxy = self.proxies.0.get(proxy);
                proxy.is_some_and(|proxy| proxy.may_serve(session, &self.sessions))
            });
            if waits {
                continue;
            }
            if let Some(session) = self.sessions.get_mut(&id).filter(|session| session.ended) {
                session.heard.forget();
            }
            self.out.push(Effect::Settled { session: id });
        }
    }
}

/// What a run cost, and the error with which its turn ended.
fn metrics(usage: Option<Json>, error: Option<&str>) -> Option<Json> {
    let Some(error) = error else { return usage };
    let mut metrics = match usage {
        Some(Json::Object(usage)) => usage,
        Some(other) => Map::from_iter([("usage".to_owned(), other)]),
        None => Map::new(),
    };
    metrics.insert("error".to_owned(), error.into());
    Some(Json::Object(metrics))
}
