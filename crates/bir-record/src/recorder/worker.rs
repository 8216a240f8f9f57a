//! The recorder's thread.
//!
//! ```text
//!   park ─▶ nap ─▶ take everything ─▶ exclude · redact ─┬─ rows ─▶ one write ──┬─▶ nap ─▶ …
//!     ▲                                                 └─ reports ─▶ one POST ─┤
//!     └──────────────────────── rest (fsync) ◀──────────────────────────────────┘ nothing came meanwhile
//! ```
//!
//! While it is open who owns the run nothing is taken: the events wait in the queue, whose bound is the bound of the memory. A
//! passthrough and a recorder that is switched off make the queue deaf, so that the relay does not even copy. The thread waits
//! for no answer of a control server: that wakes it.

use super::bound::Bound;
use super::keep::{Cleaner, Keep, Open};
use super::link::{Fate, Heard};
use super::negotiation::{Negotiation, News, Sighting, Stance};
use super::queue::{Queue, Wake};
use super::runs::Runs;
use super::store::Store;
use super::told::{Told, What};
use super::{Farewell, LAST_SHIPMENT, Level, NAP, Options, Say, Surroundings};
use crate::tools::Listing;
use bir_model::record::EndReason;
use bir_tap::{Clock as _, SystemClock};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the off switch is looked at while there are calls.
const OFF_EVERY: Duration = Duration::from_secs(1);
/// How long a store that could not be opened is left alone.
pub(super) const REOPEN_EVERY: Duration = Duration::from_secs(5);

/// Said when the thread panicked.
const FAILED: &str = "recording failed and is off for this session; the relay goes on";
/// Said where no directory is known.
const NO_HOME: &str = "nothing is recorded: neither BIR_HOME nor HOME names a directory to keep it in";
/// Said in a passthrough.
const PASSTHROUGH: &str =
    "tier passthrough: this project is not set up for recording, and nothing of this session is kept";
/// Said when a control server was found.
const BOUND: &str = "tier.bound: calls are reported to the control server";
/// Said when it is gone.
const DOWNGRADE: &str = "tier.downgrade: the control server is gone; until one answers again, calls are recorded as \
                         standalone";

/// What the thread works with.
pub(super) struct Parts<O> {
    pub(super) server: String,
    pub(super) surroundings: Box<dyn Surroundings>,
    pub(super) say: Say,
    pub(super) store: Option<O>,
    pub(super) bound: Bound,
    pub(super) takes_call_ids: Option<Arc<AtomicBool>>,
    pub(super) introduces: bool,
}

/// Starts the thread. Called on the relay's path, once.
pub(super) fn start(queue: Arc<Queue>, options: Options) {
    let Options { server, standalone, scope, state_dir, surroundings, say, .. } = options;
    let (registration, takes_call_ids, link) = (options.registration, options.takes_call_ids, options.link);
    let introduces = takes_call_ids.is_some() || options.introduces;
    let store = state_dir.map(|dir| Store::new(dir, server.clone(), Arc::clone(&say)));
    let negotiate = move |now| Negotiation::new(standalone, scope, now);
    let bound = Bound::new(link, registration);
    run_on_thread(
        queue,
        Parts { server, surroundings, say, store, bound, takes_call_ids, introduces },
        negotiate,
    );
}

/// As [`start`], with any store.
pub(super) fn run_on_thread<O: Open + Send + 'static>(
    queue: Arc<Queue>,
    parts: Parts<O>,
    negotiate: impl FnOnce(Instant) -> Negotiation + Send + 'static,
) {
    queue.begins();
    let for_thread = Arc::clone(&queue);
    let work = move || {
        let queue = for_thread;
        let Parts { server, mut surroundings, say, store, bound, takes_call_ids, introduces } = parts;
        let worked = catch_unwind(AssertUnwindSafe(|| match store {
            Some(store) => {
                let project = surroundings.project().map(|path| path.to_string_lossy().into_owned());
                let now = Instant::now();
                let worker = Worker {
                    queue: &queue,
                    around: &mut *surroundings,
                    say: &say,
                    store,
                    opened: None,
                    reopen_at: None,
                    negotiation: negotiate(now),
                    runs: Runs::new(server, project),
                    bound,
                    takes_call_ids,
                    introduces,
                    off: false,
                    look_at_switch: now,
                    held_until: None,
                    listing: None,
                    group: VecDeque::new(),
                };
                worker.run();
            }
            None => say(Level::Warn, NO_HOME),
        }));
        queue.set_deaf(true);
        if worked.is_err() {
            // The log may be what failed.
            let _ = catch_unwind(AssertUnwindSafe(|| say(Level::Warn, FAILED)));
        }
        queue.is_over();
    };
    if std::thread::Builder::new().name("recorder".into()).spawn(work).is_err() {
        queue.set_deaf(true);
        queue.is_over();
    }
}

struct Worker<'a, O: Open> {
    queue: &'a Queue,
    around: &'a mut dyn Surroundings,
    say: &'a Say,
    store: O,
    opened: Option<(O::Scrub, O::Keep)>,
    /// When a store that could not be opened is tried again.
    reopen_at: Option<Instant>,
    negotiation: Negotiation,
    runs: Runs,
    bound: Bound,
    /// Whether ids may come in the arguments, for the relay.
    takes_call_ids: Option<Arc<AtomicBool>>,
    /// It is to be known before there is a call.
    introduces: bool,
    off: bool,
    look_at_switch: Instant,
    /// The discovery file says something else: whoever it names is asked first, and until then what comes waits.
    held_until: Option<Instant>,
    /// Which tools there are, where nobody has looked at it yet.
    listing: Option<Listing>,
    /// Of the last group; its buffer is used again.
    group: VecDeque<Told>,
}

impl<O: Open> Worker<'_, O> {
    fn run(mut self) {
        let mut busy = false;
        loop {
            if let Some(farewell) = self.queue.farewell() {
                return self.end(farewell);
            }
            let now = Instant::now();
            self.look_at_switch(now);
            self.look_at_file(now);
            self.look_around(now);
            self.introduce_early();
            self.bound.deliver(self.negotiation.is_answered(), self.say);
            if !self.takes() || self.is_held(now) {
                busy = false;
                self.queue.park(self.due_at(now), Wake::End);
                continue;
            }
            if !busy && self.queue.is_empty() {
                self.runs_end_if_idle();
                self.queue.park(self.due_at(now), Wake::Next);
                // The switch is looked at before what came is taken.
                continue;
            }
            self.queue.park(Some(Instant::now() + NAP), Wake::Quarter);
            let now = Instant::now();
            self.look_at_switch(now);
            self.look_at_file(now);
            busy = self.takes() && !self.is_held(now) && self.take();
            if !busy && let Some((_, keep)) = &mut self.opened {
                keep.rest();
            }
        }
    }

    fn takes(&self) -> bool {
        matches!(self.negotiation.stance(), Stance::Bound | Stance::Alone) && !self.off
    }

    /// Where a proxy is on its own, a control server that has just come is asked before anything more is recorded: its hooks tell of
    /// the same calls.
    fn look_at_file(&mut self, now: Instant) {
        if self.negotiation.stance() == Stance::Alone && !self.off && self.bound.link().has_moved() {
            self.negotiation.look_now(now);
            self.held_until = Some(now + super::negotiation::ASKED);
        }
    }

    fn is_held(&self, now: Instant) -> bool {
        self.negotiation.stance() == Stance::Alone && self.held_until.is_some_and(|until| now < until)
    }

    /// Records what waits. False when there was nothing.
    fn take(&mut self) -> bool {
        let losses = self.queue.take(&mut self.group);
        let opening = self.queue.take_opening();
        let opened_anew = opening.is_some();
        if let Some(opening) = opening {
            self.runs.opened(opening);
        }
        if let Some(listing) = self.queue.take_listing() {
            self.listing = Some(listing);
        }
        if self.group.is_empty() && losses.calls == 0 {
            return false;
        }
        let is_alone = self.negotiation.stance() == Stance::Alone;
        let is_first = self.opened.is_none();
        if !self.is_open() {
            let began = |told: &Told| matches!(told.what, What::Began { .. });
            let calls = self.group.drain(..).filter(began).count() as u64 + losses.calls;
            if is_alone {
                self.runs.unkept(calls)
            } else {
                self.bound.lost(calls, "disk")
            }
            return true;
        }
        let Some((scrub, keep)) = &mut self.opened else { return true };
        let listed_anew = self.listing.take().map(|listing| {
            let tools = Arc::new(listing.read(&Cleaner(&*scrub)));
            self.runs.declared(Arc::clone(&tools));
            self.bound.declared(&tools);
        });
        if is_first || opened_anew || listed_anew.is_some() {
            self.bound.parties(self.runs.parties(scrub));
        }
        let run = self.runs.current();
        // What did not fit is older than what did.
        let at = self.group.front().map_or_else(|| SystemClock.now(), |told| told.at);
        losses.cut.iter().for_each(|call| self.bound.cut(*call, at));
        self.runs.lost(if is_alone { losses.calls } else { 0 }, &losses.cut, at, keep);
        if !is_alone {
            self.bound.lost(losses.calls, "backlog");
        }
        for told in self.group.drain(..) {
            let began = matches!(told.what, What::Began { .. });
            let alone = if began { is_alone } else { !self.bound.has(told.call) };
            debug_assert!(!self.bound.has(told.call) || !self.runs.has(told.call), "a call is in one run");
            if alone { self.runs.told(told, scrub, keep) } else { self.bound.told(told, scrub) }
        }
        keep.flush();
        if is_alone {
            // Of calls that were open when the control server went.
            self.bound.spill(self.say);
        }
        if let Some(id) = self.runs.current().filter(|id| Some(*id) != run) {
            (self.say)(Level::Info, &format!("tier standalone, run {id}"));
        }
        true
    }

    /// Who takes ids out of arguments, or may be given work, is known before there is a call: none would come otherwise.
    fn introduce_early(&mut self) {
        let is_early = self.introduces && self.negotiation.is_answered() && !self.off;
        if !is_early || self.bound.knows_parties() || !self.is_open() {
            return;
        }
        if let Some(opening) = self.queue.take_opening() {
            self.runs.opened(opening);
        }
        if let Some((scrub, _)) = &self.opened {
            self.bound.parties(self.runs.parties(scrub));
        }
    }

    /// Nobody puts an id into arguments where nobody is told of the calls.
    fn say_whether_ids_may_come(&self) {
        let Some(may_come) = &self.takes_call_ids else { return };
        match self.negotiation.stance() {
            Stance::Bound | Stance::Waiting => may_come.store(!self.off, Ordering::Relaxed),
            Stance::Alone | Stance::Passthrough => may_come.store(false, Ordering::Relaxed),
            Stance::Undecided => {}
        }
    }

    /// Whether there is something to keep records in; made now if need be.
    fn is_open(&mut self) -> bool {
        let now = Instant::now();
        if self.opened.is_none() && self.reopen_at.is_none_or(|at| now >= at) {
            let say = self.say;
            match self.store.open(&mut |warning| say(Level::Warn, warning)) {
                Ok(opened) => {
                    self.opened = Some(opened);
                    self.ship_if_alone();
                }
                Err(why) => {
                    let level = if self.reopen_at.is_none() { Level::Warn } else { Level::Debug };
                    (self.say)(level, &format!("nothing is recorded for now: {why}"));
                    self.reopen_at = Some(now + REOPEN_EVERY);
                }
            }
        }
        self.opened.is_some()
    }

    /// What a control server has not claimed may leave the machine; what it has, it ships itself.
    fn ship_if_alone(&mut self) {
        if self.negotiation.stance() == Stance::Alone
            && let Some((_, keep)) = &mut self.opened
        {
            keep.ship();
        }
    }

    fn look_around(&mut self, now: Instant) {
        while let Some(heard) = self.bound.heard() {
            match heard {
                Heard::Sighted(found) => self.looked(&found, now),
                Heard::Brought(Fate::Taken | Fate::Refused) => self.negotiation.took(),
                Heard::Brought(Fate::Gone) => self.failed(now),
            }
        }
        // Who is switched off brings no control server to life.
        if !self.off && self.negotiation.is_look_due(now) {
            let found = self.bound.link().look();
            self.looked(&found, now);
        } else {
            let news = self.negotiation.passed(now);
            self.hear(news);
        }
    }

    fn looked(&mut self, found: &Sighting, now: Instant) {
        if *found != Sighting::Nothing {
            (self.say)(Level::Debug, &format!("a look for a control server found: {found:?}"));
        }
        if *found != Sighting::Asked {
            self.held_until = None;
        }
        let news = self.negotiation.looked(found, now);
        self.hear(news);
        // Who is asked may be gone for good (`bir down`): what comes of it says whether ids may come.
        if *found != Sighting::Asked {
            self.say_whether_ids_may_come();
        }
        if self.negotiation.is_answered() {
            // It may be another one than before.
            self.bound.introduce();
        } else if self.negotiation.stance() == Stance::Bound && *found != Sighting::Asked {
            self.bound.spill(self.say);
        }
    }

    /// Nobody took a parcel. Its successor may be there already; where the second one does not take it either, it is safer on
    /// a disk.
    fn failed(&mut self, now: Instant) {
        if self.negotiation.is_gone() || self.negotiation.stance() != Stance::Bound {
            self.bound.spill(self.say);
        }
        self.negotiation.failed(now);
    }

    fn hear(&mut self, news: Vec<News>) {
        for news in news {
            match news {
                News::Stance(stance) => self.takes_stance(stance),
                News::Downgrade(stance) => {
                    self.bound.spill(self.say);
                    if stance == Stance::Alone {
                        (self.say)(Level::Warn, DOWNGRADE);
                        self.runs.downgraded();
                    }
                    self.takes_stance(stance);
                }
                News::OtherApi { api_version } => {
                    let version = api_version.map_or_else(|| "unknown".into(), |v| v.to_string());
                    (self.say)(
                        Level::Warn,
                        &format!(
                            "a control server answers (API version {version}), and this release cannot report to it; the \
                             session is recorded as standalone. Update bir to have one run with the host's own tools"
                        ),
                    );
                }
            }
        }
    }

    fn takes_stance(&mut self, stance: Stance) {
        if stance != Stance::Waiting {
            self.say_whether_ids_may_come();
        }
        match stance {
            Stance::Passthrough => {
                self.queue.set_deaf(true);
                self.end_bound_calls();
                (self.say)(Level::Info, PASSTHROUGH);
                return;
            }
            // It was a passthrough or may still become one.
            Stance::Undecided => return,
            Stance::Waiting => {}
            Stance::Alone => self.ship_if_alone(),
            Stance::Bound => {
                (self.say)(Level::Info, BOUND);
                if let Some((_, keep)) = &mut self.opened {
                    self.runs.leaves(SystemClock.now(), keep);
                }
            }
        }
        self.queue.is_decided();
        self.queue.set_deaf(self.off);
    }

    /// At most once a second. It is looked at before anything is taken, so that what is off records not even one call.
    fn look_at_switch(&mut self, now: Instant) {
        if now < self.look_at_switch {
            return;
        }
        self.look_at_switch = now + OFF_EVERY;
        let off = self.around.is_off();
        if off == self.off {
            return;
        }
        self.off = off;
        self.say_whether_ids_may_come();
        if off {
            (self.say)(Level::Info, "recording is switched off");
            self.queue.set_deaf(true);
            self.finish(EndReason::Closed);
        } else {
            (self.say)(Level::Info, "recording is switched on again");
            self.queue.set_deaf(self.negotiation.stance() == Stance::Passthrough);
        }
    }

    fn runs_end_if_idle(&mut self) {
        if let Some((_, keep)) = &mut self.opened {
            self.runs.end_if_idle(SystemClock.now(), keep);
        }
    }

    fn due_at(&self, now: Instant) -> Option<Instant> {
        let own = if self.off { Some(self.look_at_switch) } else { self.negotiation.due_at() };
        let held = self.held_until.filter(|_| self.is_held(now));
        [own, self.runs.idle_at(), self.bound.due_at(now), held].into_iter().flatten().min()
    }

    /// Nothing more will be heard of what is open.
    fn finish(&mut self, reason: EndReason) {
        if let Some((_, keep)) = &mut self.opened {
            self.runs.finish(reason, SystemClock.now(), keep);
            keep.flush();
        }
        self.end_bound_calls();
    }

    fn end_bound_calls(&mut self) {
        self.bound.end_all(SystemClock.now());
        if !self.negotiation.is_answered() {
            self.bound.spill(self.say);
        }
    }

    fn end(mut self, farewell: Farewell) {
        // A session may be over before there was a first look.
        let now = Instant::now();
        self.look_at_switch(now);
        self.look_around(now);
        // Who was waited for will come later, and finds it in the inbox.
        if self.takes() || (self.negotiation.stance() == Stance::Waiting && !self.off) {
            self.take();
        }
        self.finish(EndReason::Closed);
        let budget = if farewell == Farewell::Clean { LAST_SHIPMENT } else { Duration::ZERO };
        let deadline = now + budget;
        self.bound.close(self.negotiation.is_answered(), budget, self.say);
        // There is no run that could say so.
        let unsaid = self.runs.unsaid() + self.bound.unsaid();
        if unsaid > 0 {
            (self.say)(
                Level::Warn,
                &format!("{unsaid} calls of this session are in no run: nothing could be written for them"),
            );
        }
        self.ship_if_alone();
        if let Some((_, keep)) = &mut self.opened {
            keep.close(deadline.saturating_duration_since(Instant::now()));
        }
    }
}
