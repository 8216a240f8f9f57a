//! The recorder's thread.
//!
//! ```text
//!   park ─▶ nap ─▶ take everything ─▶ exclude · redact · rows ─▶ one write ─▶ nap ─▶ …
//!     ▲                                                             │ nothing came meanwhile
//!     └──────────────────────── rest (fsync) ◀──────────────────────┘
//! ```
//!
//! While the stance is undecided nothing is taken: the events wait in the queue, whose bound is the bound of the memory. A
//! passthrough and a recorder that is switched off make the queue deaf, so that the relay does not even copy.

use super::keep::{Keep, Open};
use super::negotiation::{Negotiation, News, Sighting, Stance};
use super::queue::{Queue, Wake};
use super::runs::Runs;
use super::store::Store;
use super::told::{Told, What};
use super::{Farewell, LAST_SHIPMENT, Level, NAP, Options, Say, Surroundings};
use bir_model::record::EndReason;
use bir_tap::{Clock, Moment, SystemClock};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
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

/// Starts the thread. Called on the relay's path, once.
pub(super) fn start(queue: Arc<Queue>, options: Options) {
    let Options { server, standalone, scope, state_dir, surroundings, say } = options;
    let store = state_dir.map(|dir| Store::new(dir, server.clone(), Arc::clone(&say)));
    let negotiate = move |now| Negotiation::new(standalone, scope, now);
    run_on_thread(queue, server, surroundings, say, store, negotiate);
}

/// As [`start`], with any store.
pub(super) fn run_on_thread<O: Open + Send + 'static>(
    queue: Arc<Queue>,
    server: String,
    mut surroundings: Box<dyn Surroundings>,
    say: Say,
    store: Option<O>,
    negotiate: impl FnOnce(Instant) -> Negotiation + Send + 'static,
) {
    queue.begins();
    let for_thread = Arc::clone(&queue);
    let work = move || {
        let queue = for_thread;
        let worked = catch_unwind(AssertUnwindSafe(|| match store {
            Some(store) => Worker::new(&queue, server, &mut *surroundings, &say, store, negotiate).run(),
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
    off: bool,
    look_at_switch: Instant,
    /// Of the last group; its buffer is used again.
    group: VecDeque<Told>,
}

impl<'a, O: Open> Worker<'a, O> {
    fn new(
        queue: &'a Queue,
        server: String,
        around: &'a mut dyn Surroundings,
        say: &'a Say,
        store: O,
        negotiate: impl FnOnce(Instant) -> Negotiation,
    ) -> Self {
        let now = Instant::now();
        let project = around.project().map(|path| path.to_string_lossy().into_owned());
        Self {
            queue,
            around,
            say,
            store,
            opened: None,
            reopen_at: None,
            negotiation: negotiate(now),
            runs: Runs::new(server, project),
            off: false,
            look_at_switch: now,
            group: VecDeque::new(),
        }
    }

    fn run(mut self) {
        let mut busy = false;
        loop {
            if let Some(farewell) = self.queue.farewell() {
                return self.end(farewell);
            }
            let now = Instant::now();
            self.look_around(now);
            if self.off {
                self.look_at_switch(now);
            }
            if !self.takes() {
                busy = false;
                self.queue.park(self.due_at(), Wake::End);
                continue;
            }
            if !busy && self.queue.is_empty() {
                self.runs_end_if_idle();
                self.queue.park(self.due_at(), Wake::Next);
                // The switch is looked at before what came is taken.
                continue;
            }
            self.queue.park(Some(Instant::now() + NAP), Wake::Quarter);
            self.look_at_switch(Instant::now());
            busy = self.takes() && self.take();
            if !busy && let Some((_, keep)) = &mut self.opened {
                keep.rest();
            }
        }
    }

    fn takes(&self) -> bool {
        self.negotiation.stance() == Stance::Recording && !self.off
    }

    /// Records what waits. False when there was nothing.
    fn take(&mut self) -> bool {
        let losses = self.queue.take(&mut self.group);
        if let Some(opening) = self.queue.take_opening() {
            self.runs.opened(opening);
        }
        if self.group.is_empty() && losses.calls == 0 {
            return false;
        }
        if !self.is_open() {
            let began = |told: &Told| matches!(told.what, What::Began { .. });
            let calls = self.group.drain(..).filter(began).count() as u64;
            self.runs.unkept(calls + losses.calls);
            return true;
        }
        let Some((scrub, keep)) = &mut self.opened else { return true };
        let run = self.runs.current();
        // What did not fit is older than what did.
        let at = self.group.front().map_or_else(|| SystemClock.now(), |told| told.at);
        self.runs.lost(losses.calls, &losses.cut, at, keep);
        for told in self.group.drain(..) {
            self.runs.told(told, scrub, keep);
        }
        keep.flush();
        if let Some(id) = self.runs.current().filter(|id| Some(*id) != run) {
            (self.say)(Level::Info, &format!("tier standalone, run {id}"));
        }
        true
    }

    /// Whether there is something to keep records in; made now if need be.
    fn is_open(&mut self) -> bool {
        let now = Instant::now();
        if self.opened.is_none() && self.reopen_at.is_none_or(|at| now >= at) {
            let say = self.say;
            match self.store.open(&mut |warning| say(Level::Warn, warning)) {
                Ok((scrub, mut keep)) => {
                    if self.negotiation.ships() {
                        keep.ship();
                    }
                    self.opened = Some((scrub, keep));
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

    fn look_around(&mut self, now: Instant) {
        let news = if self.negotiation.is_look_due(now) {
            let found = self.around.look();
            if found != Sighting::Nothing {
                (self.say)(Level::Debug, &format!("a look for a control server found: {found:?}"));
            }
            self.negotiation.looked(&found, now)
        } else {
            self.negotiation.passed(now)
        };
        for news in news {
            match news {
                News::Stance(Stance::Passthrough) => {
                    self.queue.set_deaf(true);
                    (self.say)(Level::Info, PASSTHROUGH);
                }
                News::Stance(_) => {
                    self.queue.is_decided();
                    self.queue.set_deaf(self.off);
                }
                News::Ship => {
                    if let Some((_, keep)) = &mut self.opened {
                        keep.ship();
                    }
                }
                News::Newer { api_version } => {
                    let version = api_version.map_or_else(|| "unknown".into(), |v| v.to_string());
                    (self.say)(
                        Level::Warn,
                        &format!(
                            "a control server answers (API version {version}), and this release cannot report to one; the \
                             session is recorded as standalone. Update bir-proxy to have one run with the host's own tools"
                        ),
                    );
                }
            }
        }
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

    fn due_at(&self) -> Option<Instant> {
        let switch = self.off.then_some(self.look_at_switch);
        [self.negotiation.due_at(), self.runs.idle_at(), switch].into_iter().flatten().min()
    }

    fn finish(&mut self, reason: EndReason) {
        if let Some((_, keep)) = &mut self.opened {
            let at: Moment = SystemClock.now();
            self.runs.finish(reason, at, keep);
            keep.flush();
        }
    }

    fn end(mut self, farewell: Farewell) {
        // A session may be over before there was a first look.
        let now = Instant::now();
        self.look_around(now);
        self.look_at_switch(now);
        if self.takes() {
            self.take();
            self.finish(EndReason::Closed);
        }
        // There is no run that could say so.
        let unsaid = self.runs.unsaid();
        if unsaid > 0 {
            (self.say)(
                Level::Warn,
                &format!("{unsaid} calls of this session are in no run: nothing could be written for them"),
            );
        }
        if let Some((_, keep)) = &mut self.opened {
            // Nobody else can claim the run any more.
            keep.ship();
            keep.close(if farewell == Farewell::Clean { LAST_SHIPMENT } else { Duration::ZERO });
        }
    }
}
