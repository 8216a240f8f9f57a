//! What is done without being asked: opening what records are kept in, hearing journals again, and a look around once a second.

use super::keeper::Keeper;
use super::store::Store;
use super::{Core, Open, WRITTEN_AGAIN};
use crate::book::{Effect, EntryWhat};
use crate::journal::{Journal, Place};
use crate::ledger::{Ledger, Transcripts};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long what could not be opened is left alone.
const REOPEN_EVERY: Duration = Duration::from_secs(5);

/// What [`Effect::Ask`] asked, kept until it is known whether the journal has the answer.
type Asked = HashMap<bir_model::RunId, Effect>;

impl<L: Ledger, T: Transcripts> Core<L, T> {
    /// Opens redactor, spool and journal, and hears the journals again.
    pub(super) fn try_open(&mut self) {
        let (state_dir, log) = (&self.around.state_dir, &self.around.log);
        let opened = Store::open(state_dir, log).and_then(|store| {
            let journal = Journal::open(state_dir).map_err(|e| format!("there can be no journal: {e}"))?;
            Ok((store, journal))
        });
        let (store, journal) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                if self.told.as_ref() != Some(&why) {
                    log.error(&format!("nothing is recorded for now: {why}"));
                    self.told = Some(why);
                }
                return;
            }
        };
        if self.told.take().is_some() {
            log.warn("recording goes on");
        }
        let keeper = Keeper::new(state_dir, store.spool_limit, log);
        let hub = store.hub.clone();
        self.open = Some(Open { store, keeper, journal, syncing: None, gap_told: false });
        self.replay();
        if let Some(open) = &mut self.open {
            open.keeper.ship(&self.around.state_dir, hub);
        }
    }

    fn replay(&mut self) {
        let Some(open) = &mut self.open else { return };
        let mut replay = open.journal.replay();
        let had_gap = open.journal.take_gap();
        let newest = open.journal.newest();
        open.keeper.quiet(true);
        let (mut asked, mut settled) = (Asked::new(), HashSet::new());
        let mut heard = 0_u64;
        loop {
            let Some(open) = &mut self.open else { return };
            let Some(found) = replay.next(&open.store.redactor) else { break };
            open.journal.passed(found.number);
            let entry = found.entry;
            open.keeper.quiet(entry.taken_at.saturating_add(WRITTEN_AGAIN) < newest);
            heard += 1;
            self.last = self.last.max(entry.taken_at);
            while let Some(due) = self.ledger.due_at().filter(|due| *due <= entry.taken_at) {
                self.last = self.last.max(due);
                let effects = self.ledger.tick(due);
                self.apply_again(effects, &mut asked, &mut settled);
            }
            match &entry.what {
                EntryWhat::Hook { event, .. } => {
                    settled.remove(&event.session_id);
                    self.heard_of(event, &Place::session(&event.host.app, &event.session_id));
                }
                EntryWhat::Register(registration) => self.knows(registration, false),
                EntryWhat::Report { proxy_id, .. } => {
                    let parent = self.proxies.get(proxy_id).map(|proxy| proxy.registration.parent_pid);
                    self.here = parent.map_or_else(Place::other, Place::proxies_of);
                    self.early.extend(parent);
                }
                EntryWhat::Transcript { run, .. } => drop(asked.remove(run)),
                EntryWhat::HostGone { .. } => {}
            }
            let (_, effects) = self.ledger.hear(&entry);
            self.apply_again(effects, &mut asked, &mut settled);
        }
        let damaged = replay.damaged + u64::from(had_gap);
        let Some(open) = &mut self.open else { return };
        open.keeper.quiet(false);
        open.keeper.settle();
        if !open.journal.has_any() {
            let _ = open.journal.settle(&Place::other(), &[]);
        }
        self.lost(0, damaged, "damaged");
        for ask in asked.into_values() {
            self.effect(ask);
        }
        for session in settled {
            self.settled(&session);
        }
        if heard > 0 {
            self.around.log.info(&format!("{heard} entries of the journals were heard again"));
        }
    }

    /// As [`Core::apply`], while what follows is read from a journal.
    fn apply_again(&mut self, effects: Vec<Effect>, asked: &mut Asked, settled: &mut HashSet<String>) {
        for effect in effects {
            match effect {
                Effect::Ask { run, .. } => drop(asked.insert(run, effect)),
                Effect::Settled { session } => drop(settled.insert(session)),
                other => self.kept(other),
            }
        }
    }

    /// Once a second.
    pub(super) fn round(&mut self) {
        let stale = self.open.as_ref().is_some_and(|open| open.store.is_stale());
        if stale {
            self.reconsider();
        } else if self.open.is_none() && self.reopen_at.is_none_or(|at| Instant::now() >= at) {
            self.try_open();
            self.reopen_at = Some(Instant::now() + REOPEN_EVERY);
        }
        self.drain_inbox();
        self.look_at_hosts();
        self.noted.write(&self.around.state_dir);
        if let Some(open) = &mut self.open {
            open.keeper.settle();
            open.sync();
        }
    }

    /// The configuration says something else: it counts from now on.
    fn reconsider(&mut self) {
        match Store::open(&self.around.state_dir, &self.around.log) {
            Ok(store) => {
                if let Some(open) = &mut self.open {
                    open.store = store;
                }
            }
            Err(why) => {
                self.around.log.error(&format!("nothing is recorded from now on: {why}"));
                self.told = Some(why);
                // The book goes on when it is clear again: it hears its journals then.
                if let Some(open) = self.open.take() {
                    open.close();
                }
                self.ledger = self.ledger.anew();
            }
        }
    }

    /// Tells of hosts that are gone.
    pub(super) fn look_at_hosts(&mut self) {
        if self.open.is_some() {
            let known_at = if self.last == 0 { crate::now() } else { self.last };
            for pid in self.hosts.look(&self.ledger.watched(), known_at, Instant::now()) {
                let has_proxies = self.proxies.values().any(|proxy| proxy.registration.parent_pid == pid);
                let elsewhere = if has_proxies { Place::proxies_of(pid) } else { Place::other() };
                let place = self.of_pid.remove(&pid).unwrap_or(elsewhere);
                let (_, effects) = self.take(&place, EntryWhat::HostGone { pid });
                self.apply(effects);
                self.proxies.retain(|_, proxy| proxy.registration.parent_pid != pid);
                self.early.remove(&pid);
                if let Some(open) = &mut self.open {
                    let _ = open.journal.settle(&Place::proxies_of(pid), &[]);
                }
            }
        }
        self.around.hosts_alive.store(self.hosts.any_alive(), Ordering::Relaxed);
    }
}

impl Open {
    /// Brings what was written to the disk itself, where nothing waits for it.
    fn sync(&mut self) {
        if self.syncing.as_ref().is_some_and(|syncing| !syncing.is_finished()) {
            return;
        }
        let key = self.store.unsynced_key.take();
        let mut files = self.journal.take_unsynced();
        files.extend(self.keeper.take_unsynced());
        if key.is_none() && files.is_empty() {
            return;
        }
        let sync = move || {
            if let Some(key) = key {
                key.sync();
            }
            files.iter().for_each(|file| drop(file.sync_data()));
        };
        self.syncing = std::thread::Builder::new().name("sync".into()).spawn(sync).ok();
    }
}
