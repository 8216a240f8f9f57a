//! The bounded queue between the relay and the recorder's thread.
//!
//! Its lock is held for nanoseconds on both sides. While it is undecided whether anything may be kept, 250 events wait; once it
//! is decided they are taken as fast as they come, and there is room for what comes while the thread opens its files or does
//! not get a processor. Too many bytes cost what of a value would not be kept anyway, then the oldest call. Too many events cost
//! the oldest call at once, with everything of it, and it is counted: what is new says more about what goes on.

use super::Farewell;
use super::MAX_COPY;
use super::told::{Opening, Told, What};
use crate::tools::Listing;
use bir_tap::CallKey;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Most events that wait while it is undecided whether they may be kept (seed 01 §5).
pub(super) const MAX_UNDECIDED: usize = 250;
/// Most events that wait to be taken.
pub(super) const MAX_EVENTS: usize = 8192;
/// Events at which the thread is woken from a nap.
const GROUP: usize = 62;
/// Most bytes of payload that wait: 4 MiB.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Bytes of a value that are left when there are too many bytes: what is kept of it at most. What could have been saved by taking
/// base64 blocks out of a longer one is lost.
const KEPT: usize = crate::redact::MAX_PAYLOAD;

/// When a parked recorder is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// By the next event.
    Next,
    /// When the queue is a quarter full.
    Quarter,
    /// By the end alone.
    End,
}

/// What did not fit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    /// Calls of which something is missing.
    pub(super) calls: u64,
    /// Those of them that had begun before: what follows of them is missing.
    pub(super) cut: Vec<CallKey>,
}

pub(super) struct Queue {
    inner: Mutex<Inner>,
    /// Nobody wants to know: the tap does not even copy.
    deaf: AtomicBool,
    done: Mutex<Done>,
    is_done: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// There is no thread.
    Idle,
    Running,
    Over,
}

struct Inner {
    /// Most events.
    most: usize,
    told: VecDeque<Told>,
    bytes: usize,
    losses: Losses,
    opening: Option<Opening>,
    /// Which tools there are, as far as the host has asked, and whether that is news.
    listing: Listing,
    listed: bool,
    wake: Option<Wake>,
    thread: Option<Thread>,
    farewell: Option<Farewell>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::new(Inner {
                most: MAX_UNDECIDED,
                told: VecDeque::new(),
                bytes: 0,
                losses: Losses::default(),
                opening: None,
                listing: Listing::default(),
                listed: false,
                wake: None,
                thread: None,
                farewell: None,
            }),
            deaf: AtomicBool::new(false),
            done: Mutex::new(Done::Idle),
            is_done: Condvar::new(),
        }
    }

    pub(super) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    /// Nothing more is wanted, and what waits is dropped; or everything is again.
    pub(super) fn set_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::Relaxed);
        if deaf {
            let mut inner = self.lock();
            (inner.told, inner.bytes, inner.losses) = (VecDeque::new(), 0, Losses::default());
            (inner.listing, inner.listed) = (Listing::default(), false);
        }
    }

    /// What comes may be kept, so more of it may wait.
    pub(super) fn is_decided(&self) {
        self.lock().most = MAX_EVENTS;
    }

    /// Adds an event. Never waits.
    pub(super) fn push(&self, mut told: Told) {
        let mut inner = self.lock();
        let mut bytes = told.bytes();
        if inner.bytes + bytes > MAX_BYTES {
            inner.cut();
            told.cut(KEPT);
            bytes = told.bytes();
        }
        while inner.told.len() >= inner.most || (inner.bytes + bytes > MAX_BYTES && !inner.told.is_empty()) {
            inner.drop_oldest();
        }
        inner.bytes += bytes;
        inner.told.push_back(told);
        let is_due = match inner.wake {
            Some(Wake::Next) => true,
            Some(Wake::Quarter) => inner.told.len() >= GROUP || inner.bytes >= MAX_BYTES / 4,
            Some(Wake::End) | None => false,
        };
        if is_due {
            inner.wake = None;
            let thread = inner.thread.clone();
            drop(inner);
            thread.inspect(Thread::unpark);
        }
    }

    /// Whoever opened the connection last is who speaks.
    pub(super) fn opened(&self, opening: Opening) {
        self.lock().opening = Some(opening);
    }

    /// An answer to `tools/list`: the request's `params`, the first bytes of the result, and whether those are all. It wakes
    /// nobody: it counts with the next call.
    pub(super) fn listed(&self, params: Option<&[u8]>, head: &[u8], whole: bool) {
        let most = head.len().min(MAX_COPY);
        let mut inner = self.lock();
        inner.listing.add(params, &head[..most], whole && most == head.len());
        inner.listed = true;
    }

    /// Which tools there are, if that is news. A list that may go on stays here for its next page.
    pub(super) fn take_listing(&self) -> Option<Listing> {
        let mut inner = self.lock();
        std::mem::take(&mut inner.listed).then(|| inner.listing.clone())
    }

    pub(super) fn take_opening(&self) -> Option<Opening> {
        self.lock().opening.take()
    }

    /// Takes everything that waits; `into` must be empty, and its buffer is used next.
    pub(super) fn take(&self, into: &mut VecDeque<Told>) -> Losses {
        let mut inner = self.lock();
        std::mem::swap(&mut inner.told, into);
        inner.bytes = 0;
        std::mem::take(&mut inner.losses)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().told.is_empty()
    }

    /// The recorder's thread waits until the deadline, or until it is woken.
    pub(super) fn park(&self, deadline: Option<Instant>, wake: Wake) {
        let mut inner = self.lock();
        let is_due = match wake {
            Wake::Next => !inner.told.is_empty(),
            Wake::Quarter => inner.told.len() >= GROUP || inner.bytes >= MAX_BYTES / 4,
            Wake::End => false,
        };
        if is_due || inner.farewell.is_some() {
            return;
        }
        inner.wake = Some(wake);
        inner.thread.get_or_insert_with(std::thread::current);
        drop(inner);
        match deadline {
            Some(at) => std::thread::park_timeout(at.saturating_duration_since(Instant::now())),
            None => std::thread::park(),
        }
        self.lock().wake = None;
    }

    /// How the relay has ended, once it has.
    pub(super) fn farewell(&self) -> Option<Farewell> {
        self.lock().farewell
    }

    /// The relay has ended.
    pub(super) fn close(&self, farewell: Farewell) {
        let thread = {
            let mut inner = self.lock();
            inner.farewell = Some(farewell);
            inner.thread.clone()
        };
        thread.inspect(Thread::unpark);
    }

    /// A thread is about to be started.
    pub(super) fn begins(&self) {
        *self.done() = Done::Running;
    }

    /// The thread is over, or was never to be had.
    pub(super) fn is_over(&self) {
        *self.done() = Done::Over;
        self.is_done.notify_all();
    }

    /// Waits for the end of the thread, if there is one.
    pub(super) fn wait_done(&self, budget: Duration) {
        let running = |done: &mut Done| *done == Done::Running;
        drop(self.is_done.wait_timeout_while(self.done(), budget, running));
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Makes room without a loss, as far as that goes. Once a value is cut it costs nothing more here.
    fn cut(&mut self) {
        self.told.iter_mut().for_each(|told| told.cut(KEPT));
        self.bytes = self.told.iter().map(Told::bytes).sum();
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.told.front() else { return };
        let call = oldest.call;
        self.losses.calls += 1;
        if !matches!(oldest.what, What::Began { .. }) {
            self.losses.cut.push(call);
        }
        self.told.retain(|told| told.call != call);
        self.bytes = self.told.iter().map(Told::bytes).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_model::Outcome;
    use bir_tap::{Moment, Payload};

    use super::super::told::Value;

    fn at() -> Moment {
        Moment { epoch_ms: 0, instant: Instant::now() }
    }

    fn began(call: u64) -> Told {
        let what = What::Began { tool: String::new(), host_call_id: None, arguments: None, replayed: false };
        Told { call: CallKey(call), at: at(), what }
    }

    fn ended(call: u64, bytes: usize) -> Told {
        let answer = Value::of(Payload { head: &vec![b' '; bytes], len: bytes as u64 });
        let what = What::Ended { outcome: Outcome::Ok, answer, ambiguous: false };
        Told { call: CallKey(call), at: at(), what }
    }

    fn calls(queue: &Queue) -> (Vec<u64>, Losses) {
        let mut into = VecDeque::new();
        let losses = queue.take(&mut into);
        (into.iter().map(|told| told.call.0).collect(), losses)
    }

    #[test]
    fn the_oldest_call_makes_room_with_all_that_is_known_of_it() {
        let queue = Queue::new();
        for call in 0..125 {
            queue.push(began(call));
            queue.push(ended(call, 0));
        }
        queue.push(began(125));
        queue.push(ended(125, 0));
        let (kept, losses) = calls(&queue);
        assert_eq!((kept.len(), kept[0], kept[249]), (250, 1, 125));
        assert_eq!(losses, Losses { calls: 1, cut: vec![] });
        assert_eq!(calls(&queue), (vec![], Losses::default()));
    }

    #[test]
    fn what_is_missing_of_a_call_that_had_begun_is_named() {
        let queue = Queue::new();
        queue.push(ended(7, 0));
        for call in 10..260 {
            queue.push(began(call));
        }
        let (kept, losses) = calls(&queue);
        assert_eq!((kept.len(), kept[0]), (250, 10));
        assert_eq!(losses, Losses { calls: 1, cut: vec![CallKey(7)] });
    }

    #[test]
    fn payload_is_bounded_in_bytes_and_is_cut_before_a_call_goes() {
        let queue = Queue::new();
        for call in 0..60 {
            queue.push(ended(call, 1 << 20));
        }
        assert!(queue.lock().bytes <= MAX_BYTES);
        let (kept, losses) = calls(&queue);
        assert_eq!((kept.len(), losses), (60, Losses::default()));
        let most = (MAX_BYTES / KEPT) as u64;
        for call in 0..most + 3 {
            queue.push(ended(call, 1 << 20));
        }
        let (kept, losses) = calls(&queue);
        assert_eq!((kept.len() as u64, kept[0], losses.calls), (most, 3, 3));
        queue.push(ended(9, MAX_BYTES));
        assert_eq!(calls(&queue).0, [9], "one that fits alone is kept");
    }

    #[test]
    fn what_is_decided_may_wait_in_larger_numbers() {
        let queue = Queue::new();
        for call in 0..1_000 {
            queue.push(began(call));
        }
        let (kept, losses) = calls(&queue);
        assert_eq!((kept.len(), losses.calls), (MAX_UNDECIDED, 750));
        queue.is_decided();
        for call in 0..MAX_EVENTS as u64 + 10 {
            queue.push(began(call));
        }
        let (kept, losses) = calls(&queue);
        assert_eq!((kept.len(), losses.calls), (MAX_EVENTS, 10));
    }

    #[test]
    fn a_deaf_queue_is_empty_and_hears_again() {
        let queue = Queue::new();
        queue.push(began(1));
        queue.set_deaf(true);
        assert!(queue.is_deaf() && queue.is_empty());
        queue.set_deaf(false);
        queue.push(began(2));
        assert_eq!(calls(&queue).0, [2]);
    }

    #[test]
    fn the_thread_is_woken_by_what_it_waits_for() {
        for (wake, events) in [(Wake::Next, 1), (Wake::Quarter, 62), (Wake::End, 0)] {
            let queue = std::sync::Arc::new(Queue::new());
            let parked = queue.clone();
            let thread = std::thread::spawn(move || parked.park(None, wake));
            while queue.lock().wake.is_none() {
                std::thread::yield_now();
            }
            for call in 0..events {
                assert!(queue.lock().wake.is_some(), "woken too early");
                queue.push(began(call));
            }
            if wake == Wake::End {
                queue.close(Farewell::Clean);
            }
            thread.join().unwrap();
        }
    }
}
