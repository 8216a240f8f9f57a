//! The thread's way of telling the control server: what is to be told, what waits to be told, and what becomes of what nobody
//! takes.

use super::backlog::{self, Backlog};
use super::keep::Scrub;
use super::link::{Fate, Heard, Link, Parcel};
use super::reports::Reports;
use super::told::Told;
use super::{Level, Say};
use crate::tools::SafeTools;
use bir_model::Outcome;
use bir_model::control::{ProxyReport, Registration};
use bir_model::record::{HostInfo, ServerInfo};
use bir_tap::{CallKey, Clock as _, Moment, SystemClock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A fate is told by then; the thread looks again in any case.
const FATE: Duration = Duration::from_secs(1);

pub(super) struct Bound {
    link: Box<dyn Link>,
    registration: Arc<Registration>,
    reports: Reports,
    backlog: Backlog,
    /// The hash of the tools that were last left in the inbox.
    left_tools: Option<String>,
    /// A parcel is on its way.
    is_busy: bool,
    /// Who reports is to be shown, whether or not there is something to report.
    introduces: bool,
    /// It is known who speaks with whom, as far as it ever will be.
    knows_parties: bool,
    /// Calls that were lost and have not been told yet, by why.
    unsaid: BTreeMap<&'static str, u64>,
    /// The inbox refused, and that was said.
    told_refusal: bool,
}

impl Bound {
    pub(super) fn new(link: Box<dyn Link>, mut registration: Registration) -> Self {
        registration.proxy_id = uuid::Uuid::now_v7().to_string();
        Self {
            link,
            registration: Arc::new(registration),
            reports: Reports::default(),
            backlog: Backlog::default(),
            left_tools: None,
            is_busy: false,
            introduces: false,
            knows_parties: false,
            unsaid: BTreeMap::new(),
            told_refusal: false,
        }
    }

    pub(super) fn link(&mut self) -> &mut dyn Link {
        &mut *self.link
    }

    /// Who speaks with whom is known now, or better than before.
    pub(super) fn parties(&mut self, (host, server): (Option<HostInfo>, ServerInfo)) {
        self.knows_parties = true;
        let known = &*self.registration;
        if (&known.host, &known.server) != (&host, &server) {
            self.registration = Arc::new(Registration { host, server, ..known.clone() });
        }
    }

    /// Which tools the server declares; who speaks with whom names them by their hash.
    pub(super) fn declared(&mut self, tools: &SafeTools) {
        let known = &*self.registration;
        if known.tools.as_deref() != Some(tools.set()) {
            let tools = Some(Box::new(tools.set().clone()));
            self.registration = Arc::new(Registration { tools, ..known.clone() });
        }
    }

    /// Leaves reports in the inbox, with the tools only where they were not left before.
    fn leave(&mut self, reports: Vec<ProxyReport>) -> Result<(), String> {
        let hash = self.registration.server.tools.clone();
        if self.registration.tools.is_none() || self.left_tools == hash {
            let bare = Registration { tools: None, ..(*self.registration).clone() };
            return self.link.leave(&bare, reports);
        }
        let left = self.link.leave(&self.registration, reports);
        if left.is_ok() {
            self.left_tools = hash;
        }
        left
    }

    pub(super) fn knows_parties(&self) -> bool {
        self.knows_parties
    }

    /// A control server answers that may not know us.
    pub(super) fn introduce(&mut self) {
        self.introduces = true;
    }

    pub(super) fn has(&self, call: CallKey) -> bool {
        self.reports.has(call)
    }

    pub(super) fn told(&mut self, event: Told, scrub: &impl Scrub) {
        if let Some(report) = self.reports.told(event, scrub) {
            self.backlog.add(report);
        }
    }

    /// A call of which the rest did not fit.
    pub(super) fn cut(&mut self, call: CallKey, at: Moment) {
        if let Some(report) = self.reports.ends(call, at, Outcome::Unknown) {
            self.backlog.add(report);
        }
    }

    /// Nothing more will be heard of the calls that are open.
    pub(super) fn end_all(&mut self, at: Moment) {
        self.reports.end_all(at).for_each(|report| self.backlog.add(report));
    }

    pub(super) fn lost(&mut self, calls: u64, why: &'static str) {
        if calls > 0 {
            *self.unsaid.entry(why).or_default() += calls;
        }
    }

    /// Calls that were lost, and nobody was told.
    pub(super) fn unsaid(&self) -> u64 {
        self.unsaid.values().sum()
    }

    /// When the thread has to look here again.
    pub(super) fn due_at(&self, now: Instant) -> Option<Instant> {
        self.is_busy.then_some(now + FATE)
    }

    /// What was heard from the other side. What was refused is counted here; of what nobody took the caller decides.
    pub(super) fn heard(&mut self) -> Option<Heard> {
        let heard = self.link.heard()?;
        if let Heard::Brought(fate) = heard {
            self.is_busy = false;
            match fate {
                Fate::Taken => self.backlog.taken(),
                Fate::Refused => {
                    let lost = self.backlog.refused();
                    self.lost(lost, "refused");
                }
                Fate::Gone => self.backlog.put_back(),
            }
        }
        Some(heard)
    }

    /// Sends what waits, if nothing is on its way; what is too much goes to the inbox.
    pub(super) fn deliver(&mut self, somebody_is_there: bool, say: &Say) {
        if somebody_is_there && !self.is_busy && self.knows_parties {
            self.say_losses();
            if self.introduces || self.backlog.is_waiting() {
                self.send();
            }
        }
        if self.backlog.is_full() {
            self.spill(say);
        }
    }

    /// Everything that waits goes to the inbox.
    pub(super) fn spill(&mut self, say: &Say) {
        let reports = self.backlog.waiting();
        if reports.is_empty() {
            return;
        }
        let calls = backlog::calls(&reports);
        match self.leave(reports) {
            Ok(()) => self.told_refusal = false,
            Err(why) => {
                if !std::mem::replace(&mut self.told_refusal, true) {
                    say(Level::Warn, &format!("reports are lost: the inbox takes none: {why}"));
                }
                self.lost(calls, "disk");
            }
        }
    }

    /// The end. What is not taken goes to the inbox first, and where there is time it is told as well: who is told twice
    /// books once, and who watches sees the end at once.
    pub(super) fn close(&mut self, somebody_is_there: bool, budget: Duration, say: &Say) {
        self.backlog.put_back();
        if self.backlog.is_waiting() || self.unsaid() > 0 {
            self.say_losses();
        }
        let reports = self.backlog.waiting();
        if reports.is_empty() {
            return;
        }
        let tells = somebody_is_there && !budget.is_zero();
        let again = if tells { reports.clone() } else { Vec::new() };
        let calls = backlog::calls(&reports);
        if let Err(why) = self.leave(reports) {
            say(Level::Warn, &format!("reports of {calls} calls are not in the inbox: {why}"));
        }
        again.into_iter().for_each(|report| self.backlog.add(report));
        self.tell_until(Instant::now() + budget);
    }

    /// Tells what waits, and waits for its fate.
    fn tell_until(&mut self, deadline: Instant) {
        loop {
            while let Some(heard) = self.heard() {
                if heard == Heard::Brought(Fate::Gone) {
                    return;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || (!self.is_busy && !self.backlog.is_waiting()) {
                return;
            }
            if !self.is_busy {
                self.send();
            }
            std::thread::park_timeout(left);
        }
    }

    fn send(&mut self) {
        self.introduces = false;
        self.is_busy = true;
        let reports = self.backlog.next(&self.registration.proxy_id);
        self.link.send(Parcel { registration: Arc::clone(&self.registration), reports });
    }

    fn say_losses(&mut self) {
        let at = SystemClock.now();
        for (why, calls) in std::mem::take(&mut self.unsaid) {
            let report = self.reports.lost(calls, why, at);
            self.backlog.add(report);
        }
    }
}
