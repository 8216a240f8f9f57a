//! From a message to an entry, or to a refusal.

use super::clean::Cleaner;
use super::{Core, Known, MOST_PROXIES, Message, Proxy, Reply};
use crate::book::{Answer, EntryWhat};
use crate::journal::Place;
use crate::ledger::{Ledger, Transcripts};
use crate::projects::Who;
use crate::server::{Health, Problem};
use bir_control_client::Inbox;
use bir_model::control::{
    API_VERSION, Envelope, HookCall, HookEvent, HookReply, HookWhat, Registered, Registration, StepAnswer,
    StepReports,
};
use bir_record::SafeTold;
use serde::Serialize;
use std::path::Path;
use tokio::sync::oneshot;

/// Processes whose session is remembered.
const MOST_PIDS: usize = 8192;

impl<L: Ledger, T: Transcripts> Core<L, T> {
    /// Takes a message and answers it. The rows that follow from a hook event are written after the answer: the event is in the
    /// journal, and the host waits.
    pub(super) fn message(&mut self, message: Message, who: &Who, reply: oneshot::Sender<Reply>) {
        match message {
            Message::Hook(event) => {
                // What was left in the inbox was said before.
                self.drain_inbox();
                if !who.may_speak_of(self.home_of(&event)) {
                    let _ = reply.send(Err(Problem::ForeignDirectory));
                    return;
                }
                let (answer, effects) = self.hook(*event);
                let _ = reply.send(json(&answer));
                self.apply(effects);
            }
            Message::Register(registration) => {
                let allowed = who.may_speak_of(&registration.cwd);
                let answer = if allowed {
                    json(&self.register(*registration))
                } else {
                    Err(Problem::ForeignDirectory)
                };
                let _ = reply.send(answer);
            }
            Message::Steps(reports) => {
                let _ = reply.send(self.steps(*reports, Some(who)).and_then(|answer| json(&answer)));
            }
        }
    }

    /// Where a session began: it stays the session of that project, wherever it goes, and no other project speaks of it.
    fn home_of<'a>(&'a self, event: &'a HookEvent) -> &'a Path {
        self.of_session.get(&event.session_id).map_or(&event.cwd, |known| &known.home)
    }

    fn hook(&mut self, event: HookEvent) -> (HookReply, Vec<crate::book::Effect>) {
        let version = self.around.version.clone();
        let nothing = |version| (HookReply { version, ..HookReply::default() }, Vec::new());
        let Some((event, context)) = self.hook_entry(event) else { return nothing(version) };
        let place = Place::session(&event.host.app, &event.session_id);
        self.note_session(&event);
        self.heard_of(&event, &place);
        match self.take(&place, EntryWhat::Hook { event: Box::new(event), context }) {
            (Answer::Hook(reply), effects) => (HookReply { version, ..reply }, effects),
            (_, effects) => (nothing(version).0, effects),
        }
    }

    /// The event as it may be kept. None: nothing of it is.
    fn hook_entry(&mut self, mut event: HookEvent) -> Option<(HookEvent<SafeTold>, Option<SafeTold>)> {
        let cwd = event.cwd.clone();
        let open = self.open.as_ref().filter(|_| !self.off.is_off(&cwd))?;
        let store = &open.store;
        let excludes = |call: &HookCall| {
            let tool = call.tool.as_deref().unwrap_or(&call.tool_name);
            store.excludes(call.server.as_deref(), tool, &cwd)
        };
        let is_excluded = store.excludes_dir(&cwd)
            || match &mut event.what {
                HookWhat::Pre { call }
                | HookWhat::Post { call, .. }
                | HookWhat::PermissionRequest { call }
                | HookWhat::PermissionDenied { call, .. } => excludes(call),
                HookWhat::Batch { calls } => {
                    calls.retain(|one| !excludes(&one.call));
                    false
                }
                _ => false,
            };
        if is_excluded {
            return None;
        }
        let mut event = Cleaner(&store.redactor).event(event);
        self.spoken_before(&mut event);
        let context = match &event.what {
            HookWhat::Pre { call }
            | HookWhat::Post { call, .. }
            | HookWhat::PermissionRequest { call }
            | HookWhat::PermissionDenied { call, .. } => self.context(&event, call.call_id.as_deref()),
            _ => None,
        };
        Some((event, context))
    }

    /// Adds to the calls of a message what the model said before them, where no earlier event found it.
    fn spoken_before(&mut self, event: &mut HookEvent<SafeTold>) {
        let HookWhat::Batch { calls } = &event.what else { return };
        let ids: Vec<_> = calls.iter().map(|one| one.call.call_id.clone()).collect();
        let said: Vec<_> = ids.iter().map(|id| self.context(event, id.as_deref())).collect();
        if let HookWhat::Batch { calls } = &mut event.what {
            calls.iter_mut().zip(said).for_each(|(one, context)| one.context = context);
        }
    }

    fn context(&mut self, event: &HookEvent<SafeTold>, call: Option<&str>) -> Option<SafeTold> {
        let transcript = event.transcript.as_deref().filter(|path| path.is_file())?;
        let context = self.transcripts.context_before(transcript, call?)?;
        self.safe_text(context)
    }

    /// Notes where entries of a session go, and those of its host's proxies.
    pub(super) fn heard_of(&mut self, event: &HookEvent<SafeTold>, place: &Place) {
        if self.of_pid.len() > MOST_PIDS {
            self.of_pid.clear();
        }
        for pid in &event.host_pids {
            self.of_pid.insert(*pid, place.clone());
        }
        let known = self.of_session.entry(event.session_id.clone()).or_insert_with(|| Known {
            place: place.clone(),
            transcript: None,
            home: event.cwd.clone(),
        });
        known.place.clone_from(place);
        known.transcript.clone_from(&event.transcript);
    }

    fn register(&mut self, mut registration: Registration) -> Registered {
        let answer = Registered {
            api_version: API_VERSION,
            version: self.around.version.clone(),
            ..Registered::default()
        };
        let cwd = registration.cwd.clone();
        let Some(open) = &self.open else { return answer };
        Cleaner(&open.store.redactor).registration(&mut registration);
        let muted = open.store.excludes(Some(&registration.server.name), "", &registration.cwd);
        self.knows(&registration, muted);
        self.note_proxy(&registration);
        if muted {
            return answer;
        }
        let place = Place::proxies_of(registration.parent_pid);
        let (given, effects) = self.take(&place, EntryWhat::Register(Box::new(registration)));
        self.apply(effects);
        match given {
            Answer::Registered(registered) => {
                let replay = self.around.replay.is_on(&self.around.state_dir, &cwd) && !self.off.is_off(&cwd);
                Registered {
                    api_version: answer.api_version,
                    version: answer.version,
                    replay,
                    poll_hold_ms: replay.then_some(crate::work::POLL_HOLD_MS),
                    ..registered
                }
            }
            _ => answer,
        }
    }

    /// Notes a proxy.
    pub(super) fn knows(&mut self, registration: &Registration, muted: bool) {
        if self.proxies.len() >= MOST_PROXIES {
            self.proxies.clear();
        }
        let mut registration = registration.clone();
        registration.tools = None;
        let proxy = Proxy { registration, muted };
        self.proxies.insert(proxy.registration.proxy_id.clone(), proxy);
    }

    /// `who` sends them; nobody does where they come from the inbox.
    fn steps(&mut self, mut reports: StepReports, who: Option<&Who>) -> Result<StepAnswer, Problem> {
        let taken = StepAnswer { taken: reports.reports.len() as u64 };
        let Some(open) = &self.open else { return Ok(taken) };
        Cleaner(&open.store.redactor).proxy(&mut reports);
        let proxy = self.proxies.get(&reports.proxy_id).ok_or(Problem::UnknownProxy)?;
        let cwd = proxy.registration.cwd.clone();
        if who.is_some_and(|who| !who.may_speak_of(&cwd)) {
            return Err(Problem::ForeignDirectory);
        }
        if proxy.muted || self.off.is_off(&cwd) {
            return Ok(taken);
        }
        let (server, parent) = (proxy.registration.server.name.clone(), proxy.registration.parent_pid);
        for report in reports.reports {
            let Some(open) = &self.open else { break };
            if open.store.excludes(Some(&server), &report.tool, &cwd) {
                continue;
            }
            let report = Box::new(Cleaner(&open.store.redactor).report(report));
            let proxy_id = reports.proxy_id.clone();
            let session = self.ledger.session_of(&proxy_id).and_then(|session| self.of_session.get(&session));
            let place = session.map(|known| known.place.clone()).unwrap_or_else(|| {
                self.early.insert(parent);
                Place::proxies_of(parent)
            });
            let (answer, effects) = self.take(&place, EntryWhat::Report { proxy_id, report });
            self.apply(effects);
            if answer == Answer::UnknownProxy {
                return Err(Problem::UnknownProxy);
            }
        }
        Ok(taken)
    }

    /// Hears what nobody took, oldest first, and takes it away.
    pub(super) fn drain_inbox(&mut self) {
        // Entries of the inbox pass the time, too.
        if self.open.is_none() || self.draining {
            return;
        }
        self.draining = true;
        for file in self.inbox.files() {
            match Inbox::read(&file) {
                Ok((messages, damaged)) => {
                    messages.into_iter().for_each(|message| self.envelope(message));
                    self.lost(0, damaged as u64, "damaged");
                }
                Err(e) => self.around.log.warn(&format!("a file of the inbox is not read: {e}")),
            }
            if let Err(e) = std::fs::remove_file(&file) {
                self.around.log.warn(&format!("a file of the inbox stays: {e}"));
                break;
            }
        }
        let dropped = self.inbox.take_dropped();
        self.lost(0, dropped, "backlog");
        self.draining = false;
    }

    fn envelope(&mut self, envelope: Envelope) {
        match envelope {
            Envelope::Hook(event) if self.is_ours(self.home_of(&event)) => {
                let (_, effects) = self.hook(*event);
                self.apply(effects);
            }
            Envelope::Proxy { registration, reports } if self.is_ours(&registration.cwd) => {
                if !self.proxies.contains_key(&registration.proxy_id) {
                    self.register(*registration);
                }
                if let Err(problem) = self.steps(reports, None) {
                    self.around.log.warn(&format!("reports of the inbox are not taken: {}", problem.code()));
                }
            }
            _ => self.around.log.info("a message of the inbox is of no project that is set up"),
        }
    }

    /// Whether a directory lies in a project that is set up: by now, since a message may be quicker than the list of projects.
    fn is_ours(&self, dir: &Path) -> bool {
        let Some(dir) = crate::projects::resolved(dir) else { return false };
        self.around.projects.iter().any(|one| dir.starts_with(one))
            || bir_control_client::projects::nearest(&self.around.state_dir, &dir).is_some()
    }

    /// Notes a loss in the runs that are open.
    pub(super) fn lost(&mut self, calls: u64, records: u64, reason: &str) {
        if records == 0 {
            return;
        }
        let at = crate::now();
        let told = self.open.as_mut().map_or(0, |open| open.keeper.lose(None, calls, records, reason, at));
        self.around.log.warn(&format!("{records} messages were lost ({reason}), noted in {told} runs"));
    }

    /// What goes on, as far as it concerns who asks.
    pub(super) fn health(&self, who: &Who) -> Reply {
        let within = |dir: &Path| *who == Who::Successor || who.may_speak_of(dir);
        let mut census = self.ledger.census(&within);
        let concerns = |id: &str| self.proxies.get(id).is_some_and(|proxy| within(&proxy.registration.cwd));
        census.proxies.retain(|proxy| concerns(&proxy.id));
        json(&Health {
            status: if self.open.is_some() { "ok" } else { "not_recording" },
            api_version: API_VERSION,
            version: &self.around.version,
            pid: std::process::id(),
            started_at: self.around.started_at,
            census: &census,
            spooled_runs: self.open.as_ref().map_or(0, |open| open.keeper.waiting()),
        })
    }
}

fn json(answer: &impl Serialize) -> Reply {
    serde_json::to_vec(answer).map_err(|_| Problem::Internal)
}
