//! What the reports of proxies do.
//!
//! ```text
//!   began ─┬─ its id is known ──────────────────▶ one call
//!          ├─ a call with its arguments is open ▶ one call (a guess where there are several)
//!          ├─ a hook may come ▶ it is waited for ▶ one call, or
//!          └─ nobody announced it ──────────────▶ a call of the session's run, else of a standalone run
//! ```

use super::call::{Call, Wire, WireEnd};
use super::join::{Sought, short};
use super::state::{Book, Waiting};
use super::timers::Timer;
use super::{Answer, ids};
use bir_model::RunId;
use bir_model::control::{Join, ProxyReport, ProxyWhat, ToldLeg};
use bir_model::own_calls;
use bir_model::record::Lost;
use bir_record::{SafeLeg, SafeRecord, SafeTold};

/// A report waits so long for its hook, ms. The hook comes first but where it found nobody, or where the host does not wait for it.
const HOOK_COMES: u64 = 2000;
/// Calls that wait for their hook; more do not wait.
const WAITING: usize = 10_000;

type Report = ProxyReport<SafeTold>;

impl Book {
    /// Takes a proxy's report.
    pub(super) fn report(&mut self, proxy_id: &str, report: &Report) -> Answer {
        let Some(proxy) = self.proxies.spoke(proxy_id, self.number) else { return Answer::UnknownProxy };
        if proxy.has_ended(report.call) {
            return Answer::Taken;
        }
        let open = proxy.open.get(&report.call).copied();
        let waiting = self.waiting.get_mut(&(proxy_id.to_owned(), report.call));
        match (&report.what, open, waiting) {
            (ProxyWhat::Lost { calls, reason }, ..) => self.lost(proxy_id, report, *calls, reason),
            (ProxyWhat::Began { .. }, None, None) => self.began(proxy_id, report, None),
            (ProxyWhat::Began { .. }, ..) => {}
            (ProxyWhat::Ended { .. }, Some((run, index)), _) => {
                if let Some(end) = end(report) {
                    self.wire_ended(run, index, end);
                }
            }
            (ProxyWhat::Ended { .. }, None, Some(waiting)) => {
                waiting.wire.ended = waiting.wire.ended.take().or_else(|| end(report));
            }
            (ProxyWhat::Ended { .. }, None, None) => self.began(proxy_id, report, end(report)),
        }
        Answer::Taken
    }

    /// A call that this proxy has not told of before.
    fn began(&mut self, proxy_id: &str, report: &Report, ended: Option<WireEnd>) {
        let Some(proxy) = self.proxies.0.get_mut(proxy_id) else { return };
        let server = short(&proxy.registration.server.name);
        if !own_calls::is_step(&report.tool, Some(&server), Some(&report.tool), None) {
            return proxy.ended(report.call);
        }
        let input = match &report.what {
            ProxyWhat::Began { input } => input.as_ref().map(SafeTold::json),
            _ => None,
        };
        let mut wire = Wire {
            proxy: proxy_id.to_owned(),
            call: report.call,
            server,
            tool: short(&report.tool),
            at: report.at,
            fingerprint: report.fingerprint.clone(),
            input,
            ambiguous: false,
            replayed: report.replayed,
            ended,
        };
        if report.replayed {
            // No hook announces it, and no call that a hook announced is this one.
            return self.alone(wire, report.call_id.as_deref().map(short).as_deref());
        }
        let candidates = proxy.candidates(&self.sessions);
        let call_id = report.call_id.as_deref().map(short);
        if let Some(id) = &call_id
            && let Some((session, run, index)) = self.find_by_id(&candidates, id)
        {
            self.learn(proxy_id, &session);
            self.heeds_ids(&session, run, index, &wire, Some(id));
            return self.join(run, index, wire);
        }
        if let Some((session, run, index, several)) = self.find_equal(&candidates, &wire, call_id.as_deref())
        {
            wire.ambiguous = several;
            self.heeds_ids(&session, run, index, &wire, call_id.as_deref());
            return self.join(run, index, wire);
        }
        let may_come =
            call_id.is_some() || self.joins_by_fingerprint(&candidates) && wire.fingerprint.is_some();
        if !may_come || self.waiting.len() >= WAITING {
            return self.alone(wire, call_id.as_deref());
        }
        let due = self.now.saturating_add(HOOK_COMES);
        let key = (proxy_id.to_owned(), report.call);
        self.timers.set(due, Timer::Waiting { proxy: key.0.clone(), call: key.1 });
        self.waiting.insert(key, Waiting { call_id, wire, due });
    }

    /// Whether hooks of one of these sessions announce calls whose requests have no id.
    fn joins_by_fingerprint(&self, sessions: &[String]) -> bool {
        let joins = |session: &String| self.sessions.get(session).map(|session| session.join);
        sessions.iter().any(|session| joins(session) == Some(Join::Fingerprint))
    }

    /// No hook has come for a call that waited for one.
    pub(super) fn unannounced(&mut self, key: (String, u64)) {
        if self.waiting.get(&key).is_none_or(|waiting| waiting.due > self.now) {
            return;
        }
        let Some(Waiting { call_id, wire, .. }) = self.waiting.remove(&key) else { return };
        let near = self.proxies.0.get(&key.0).map(|proxy| proxy.near(&self.sessions)).unwrap_or_default();
        match call_id.as_deref().and_then(|id| self.find_by_id(&near, id)) {
            Some((_, run, index)) => self.join(run, index, wire),
            None => self.alone(wire, call_id.as_deref()),
        }
    }

    /// A call that no hook announced.
    fn alone(&mut self, wire: Wire, call_id: Option<&str>) {
        let (proxy_id, number, at) = (wire.proxy.clone(), wire.call, wire.at);
        let index = self.run_of_proxy(&proxy_id, number, at).and_then(|run| {
            let make = |index, selected| Call::alone(index, selected, call_id, wire);
            Some((run, self.open_call(run, at, call_id, make)?))
        });
        match index {
            Some((run, index)) => {
                self.say_tools(run, &proxy_id, at);
                self.settle_call(run, index);
            }
            None => {
                if let Some(proxy) = self.proxies.0.get_mut(&proxy_id) {
                    proxy.ended(number);
                }
            }
        }
    }

    /// The run to which belongs what a proxy alone tells.
    fn run_of_proxy(&mut self, proxy: &str, call: u64, at: u64) -> Option<RunId> {
        let Some(session) = self.proxies.0.get(proxy)?.session(&self.sessions) else {
            return self.standalone_run(proxy, call, at);
        };
        let named = format!("{proxy}/{call}");
        self.run_at(&session, at).or_else(|| self.begin_turn(&session, None, &named, at, None))
    }

    fn lost(&mut self, proxy_id: &str, report: &Report, calls: u64, reason: &str) {
        if let Some(proxy) = self.proxies.0.get_mut(proxy_id) {
            proxy.ended(report.call);
        }
        let Some(run_id) = self.run_of_proxy(proxy_id, report.call, report.at) else { return };
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let id = ids::step(run_id, &["lost", proxy_id, &report.call.to_string()]);
        let lost = Lost { run_id, id, calls, records: 0, reason: short(reason), at: report.at };
        run.touched(report.at, self.now);
        run.append(SafeRecord::lost(lost), &mut self.out);
        self.after_close(run_id);
    }

    fn find_by_id(&self, sessions: &[String], id: &str) -> Option<(String, RunId, u32)> {
        sessions.iter().find_map(|session| {
            let (run, index) = self.call_by_id(session, id)?;
            Some((session.clone(), run, index))
        })
    }

    /// The oldest open call with these arguments, and whether there are several.
    fn find_equal(
        &self,
        sessions: &[String],
        wire: &Wire,
        call_id: Option<&str>,
    ) -> Option<(String, RunId, u32, bool)> {
        let fingerprint = wire.fingerprint.as_ref()?;
        let sought = Sought { server: &wire.server, tool: &wire.tool, call_id, fingerprint, at: wire.at };
        let mut fitting: Vec<(u64, RunId, u32, &String)> = Vec::new();
        for session in sessions {
            let runs = self.sessions.get(session)?.runs.iter().filter_map(|run| self.runs.get(run));
            for run in runs {
                let open = run.open.values().filter(|call| sought.fits(call));
                fitting.extend(open.map(|call| (call.began_at, run.id, call.index, session)));
            }
        }
        let several = fitting.len() > 1;
        let (_, run, index, session) = fitting.into_iter().min()?;
        Some((session.clone(), run, index, several))
    }

    /// A proxy that something stands between and its host belongs to the session of its last call with an id.
    pub(super) fn learn(&mut self, proxy_id: &str, session: &str) {
        let Some(proxy) = self.proxies.0.get_mut(proxy_id) else { return };
        if proxy.bound(&self.sessions).is_empty() {
            proxy.learned = Some(session.to_owned());
        }
    }

    /// A server whose proxy does not give an injected id back gets no more of them in this session.
    fn heeds_ids(&mut self, session: &str, run: RunId, index: u32, wire: &Wire, call_id: Option<&str>) {
        let call = self.runs.get(&run).and_then(|run| run.open.get(&index));
        let injected = call.and_then(|call| call.injected.as_deref());
        if injected.is_some_and(|injected| call_id != Some(injected))
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.deaf.insert(wire.server.clone());
        }
    }
}

fn end(report: &Report) -> Option<WireEnd> {
    let ProxyWhat::Ended { outcome, output, error, duration_us, ambiguous, legs } = &report.what else {
        return None;
    };
    let leg = |leg: &ToldLeg<SafeTold>| SafeLeg {
        leg: leg.leg,
        asked: leg.asked.json(),
        asked_at: leg.asked_at,
        answered: leg.answered.as_ref().map(SafeTold::json),
        answered_at: leg.answered_at,
    };
    Some(WireEnd {
        outcome: *outcome,
        output: output.as_ref().map(SafeTold::json),
        error: error.as_ref().map(SafeTold::json),
        duration_us: *duration_us,
        at: report.at,
        ambiguous: *ambiguous,
        legs: legs.iter().map(leg).collect(),
    })
}
