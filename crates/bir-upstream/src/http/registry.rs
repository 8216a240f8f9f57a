//! Requests that wait for an answer.
//!
//! Answers are matched by the id as written first, so `1`, `1.0` and `"1"` are different requests while each is
//! answered as it asked; what matches none that way is matched by value. Where an id is in flight twice, the older
//! one is meant.
//!
//! A legacy request that the host cancelled may still be answered, and often never is, with its stream left
//! open. It has [`LATE_ANSWER`] for that, then its connection and its place among the requests in flight are free.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::task::AbortHandle;

use super::ids::same_value;

/// How long after its cancellation a legacy request is still listened to.
const LATE_ANSWER: Duration = Duration::from_secs(2);

/// All requests in flight.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: Mutex<VecDeque<Arc<State>>>,
    writing: AtomicUsize,
}

/// One POST with requests in it. Dropping it takes it out of the registry.
#[derive(Debug)]
pub(crate) struct Entry {
    registry: Arc<Registry>,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    modern: bool,
    inner: Mutex<Inner>,
    changed: Notify,
    given_up: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    open: Vec<Open>,
    /// Whether there ever was an id to answer.
    wants_answer: bool,
    /// The message is not complete yet, so that its ids are not known.
    undecided: bool,
    sent: bool,
    /// Nobody waits for this any more, and its task is to end.
    aborted: bool,
    lasting: bool,
    task: Option<AbortHandle>,
    permit: Option<OwnedSemaphorePermit>,
}

/// An id without an answer.
#[derive(Debug)]
struct Open {
    id: Bytes,
    cancelled: bool,
}

/// What became of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// A modern request: its stream was closed, which is the cancellation.
    StreamClosed,
    /// A request that had not been sent yet: it never will be.
    NeverSent,
    /// A legacy request: the notification must be sent.
    MustBeSent,
    /// No request with this id is in flight.
    Unknown,
}

/// An answer is being written to the host: until this is dropped nothing is settled.
#[derive(Debug)]
pub(crate) struct Writing(Arc<Registry>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.writing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Registry {
    pub(crate) fn enter(self: &Arc<Self>, ids: &[Bytes], modern: bool) -> Entry {
        let mut inner = Inner::default();
        inner.expect(ids);
        self.add(inner, modern)
    }

    /// A message whose ids [`Entry::expect`] will name.
    pub(crate) fn enter_undecided(self: &Arc<Self>, modern: bool) -> Entry {
        self.add(Inner { undecided: true, ..Inner::default() }, modern)
    }

    fn add(self: &Arc<Self>, inner: Inner, modern: bool) -> Entry {
        let inner = Mutex::new(inner);
        let state = Arc::new(State { modern, inner, changed: Notify::new(), given_up: Notify::new() });
        self.lock().push_back(state.clone());
        Entry { registry: self.clone(), state }
    }

    /// Ends every task.
    pub(crate) fn end_all(&self) {
        for state in self.lock().iter() {
            if let Some(task) = state.lock().task.take() {
                task.abort();
            }
        }
    }

    /// Must be taken before an answer is booked, and kept until it is written.
    pub(crate) fn writing(self: &Arc<Self>) -> Writing {
        self.writing.fetch_add(1, Ordering::Relaxed);
        Writing(self.clone())
    }

    /// Whether every request has its answer, and that is written. What lasts as long as the session does not
    /// count, nor does what the host cancelled. With `delivered`, messages that want no answer must have been
    /// taken by the upstream as well.
    pub(crate) fn is_settled(&self, delivered: bool) -> bool {
        self.writing.load(Ordering::Relaxed) == 0
            && self.lock().iter().all(|state| {
                let inner = state.lock();
                inner.lasting
                    || (inner.sent
                        && !inner.undecided
                        && (inner.wants_answer || !delivered)
                        && inner.open.iter().all(|open| open.cancelled))
            })
    }

    /// How many requests have no answer yet that the host waits for.
    pub(crate) fn open_requests(&self) -> usize {
        let open = |state: &Arc<State>| {
            let inner = state.lock();
            if inner.lasting { 0 } else { inner.open.iter().filter(|open| !open.cancelled).count() }
        };
        self.lock().iter().map(open).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<State>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a request as answered that some other stream than its own answered. `false` when none has this id.
    pub(crate) fn answered_elsewhere(&self, id: &[u8]) -> bool {
        let entries = self.lock();
        entries.iter().any(|state| state.answered(|open| open == id))
            || entries.iter().any(|state| state.answered(|open| same_value(open, id)))
    }

    pub(crate) fn cancel(&self, id: &[u8]) -> Cancelled {
        let entries = self.lock();
        let holder = |matches: &dyn Fn(&[u8]) -> bool| {
            entries.iter().find(|state| state.lock().open.iter().any(|open| matches(&open.id)))
        };
        let found = holder(&|open| open == id).or_else(|| holder(&|open| same_value(open, id)));
        let Some(state) = found else { return Cancelled::Unknown };
        let mut inner = state.lock();
        if inner.sent && !state.modern {
            if let Some(open) = inner.open.iter_mut().find(|open| same_value(&open.id, id)) {
                open.cancelled = true;
            }
            if inner.is_cancelled() {
                state.given_up.notify_one();
            }
            return Cancelled::MustBeSent;
        }
        inner.aborted = true;
        inner.open.clear();
        inner.permit = None;
        if let Some(task) = inner.task.take() {
            task.abort();
        }
        if inner.sent { Cancelled::StreamClosed } else { Cancelled::NeverSent }
    }
}

impl Inner {
    fn expect(&mut self, ids: &[Bytes]) {
        self.wants_answer |= !ids.is_empty();
        self.open.extend(ids.iter().map(|id| Open { id: id.clone(), cancelled: false }));
    }

    fn is_cancelled(&self) -> bool {
        self.aborted || (!self.open.is_empty() && self.open.iter().all(|open| open.cancelled))
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, matches: impl Fn(&[u8]) -> bool) -> bool {
        let mut inner = self.lock();
        let Some(at) = inner.open.iter().position(|open| matches(&open.id)) else { return false };
        inner.open.remove(at);
        if inner.open.is_empty() {
            inner.permit = None;
        }
        drop(inner);
        self.changed.notify_one();
        true
    }
}

/// What the task that runs a request needs from outside: the means to end it.
#[derive(Debug)]
pub(crate) struct Handle(Arc<State>);

impl Handle {
    /// Sets the task that a cancellation ends.
    pub(crate) fn set_task(&self, task: AbortHandle) {
        let mut inner = self.0.lock();
        if inner.aborted {
            task.abort();
        }
        inner.task = Some(task);
    }

    /// Waits until the host has cancelled all of this and a late answer has had its time.
    pub(crate) async fn given_up(&self) {
        self.0.given_up.notified().await;
        tokio::time::sleep(LATE_ANSWER).await;
    }
}

impl Entry {
    pub(crate) fn handle(&self) -> Handle {
        Handle(self.state.clone())
    }

    /// The request is open as long as the session.
    pub(crate) fn lasts(&self) {
        self.state.lock().lasting = true;
    }

    /// Keeps a place among the requests in flight until all is answered or given up.
    pub(crate) fn hold(&self, permit: Option<OwnedSemaphorePermit>) {
        let mut inner = self.state.lock();
        if !inner.open.is_empty() {
            inner.permit = permit;
        }
    }

    /// Names the ids of a message that is complete now.
    pub(crate) fn expect(&self, ids: &[Bytes]) {
        let mut inner = self.state.lock();
        inner.undecided = false;
        inner.expect(ids);
    }

    /// The message is being written now; from here on it is out of our hands.
    pub(crate) fn sent(&self) {
        self.state.lock().sent = true;
    }

    /// Marks one id as answered. `false` when it is not waited for here.
    pub(crate) fn answered(&self, id: &[u8]) -> bool {
        self.state.answered(|open| open == id) || self.state.answered(|open| same_value(open, id))
    }

    /// Marks everything as answered.
    pub(crate) fn all_answered(&self) {
        drop(self.take_all());
        self.state.changed.notify_one();
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.state.lock().open.is_empty()
    }

    /// The id that waits for an answer, when it is the only one.
    pub(crate) fn only_unanswered(&self) -> Option<Bytes> {
        match self.state.lock().open.as_slice() {
            [open] => Some(open.id.clone()),
            _ => None,
        }
    }

    /// The ids without an answer that the host waits for. All count as answered from now on.
    pub(crate) fn take_unanswered(&self) -> Vec<Bytes> {
        self.take_all().into_iter().filter(|open| !open.cancelled).map(|open| open.id).collect()
    }

    fn take_all(&self) -> Vec<Open> {
        let mut inner = self.state.lock();
        inner.permit = None;
        std::mem::take(&mut inner.open)
    }

    /// Whether the host said that it no longer wants the answer.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.lock().is_cancelled()
    }

    /// Waits until everything is answered.
    pub(crate) async fn until_answered(&self) {
        while !self.is_answered() {
            self.state.changed.notified().await;
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().retain(|state| !Arc::ptr_eq(state, &self.state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&'static str]) -> Vec<Bytes> {
        ids.iter().map(|id| Bytes::from_static(id.as_bytes())).collect()
    }

    #[test]
    fn ids_match_as_written_and_the_older_one_first() {
        let registry = Arc::new(Registry::default());
        let number = registry.enter(&ids(&["1"]), false);
        let text = registry.enter(&ids(&["\"1\""]), false);
        let again = registry.enter(&ids(&["1"]), false);
        assert!(!registry.answered_elsewhere(b"2"));
        assert!(registry.answered_elsewhere(b"1"));
        assert!(number.is_answered() && !text.is_answered() && !again.is_answered());
        drop(number);
        registry.answered_elsewhere(b"1");
        assert!(again.is_answered() && !text.is_answered());
    }

    #[test]
    fn an_id_as_written_comes_before_one_of_the_same_value() {
        let registry = Arc::new(Registry::default());
        let (fraction, whole) = (registry.enter(&ids(&["1.0"]), false), registry.enter(&ids(&["1"]), false));
        registry.answered_elsewhere(b"1");
        assert!(whole.is_answered() && !fraction.is_answered());
        registry.answered_elsewhere(b"1");
        assert!(fraction.is_answered());
    }

    #[test]
    fn cancelling_depends_on_era_and_progress() {
        let registry = Arc::new(Registry::default());
        let (legacy, modern, waiting) = (
            registry.enter(&ids(&["1"]), false),
            registry.enter(&ids(&["2"]), true),
            registry.enter(&ids(&["3"]), false),
        );
        legacy.sent();
        modern.sent();
        assert_eq!(registry.cancel(b"1"), Cancelled::MustBeSent);
        assert!(!legacy.is_answered() && legacy.is_cancelled());
        assert_eq!(registry.cancel(b"2"), Cancelled::StreamClosed);
        assert_eq!(registry.cancel(b"3"), Cancelled::NeverSent);
        assert!(waiting.is_answered());
        assert_eq!(registry.cancel(b"4"), Cancelled::Unknown);
    }

    #[test]
    fn one_cancelled_request_of_a_batch_leaves_the_others_open() {
        let registry = Arc::new(Registry::default());
        let batch = registry.enter(&ids(&["1", "2"]), false);
        batch.sent();
        assert_eq!(registry.cancel(b"1"), Cancelled::MustBeSent);
        assert!(!batch.is_cancelled() && !registry.is_settled(false));
        assert_eq!(registry.open_requests(), 1);
        assert_eq!(batch.take_unanswered(), ids(&["2"]));
    }

    #[test]
    fn settled_means_sent_answered_and_written() {
        let registry = Arc::new(Registry::default());
        let request = registry.enter(&ids(&["1"]), false);
        assert!(!registry.is_settled(false));
        request.sent();
        assert!(!registry.is_settled(false));
        let writing = registry.writing();
        assert!(request.answered(b"1"));
        assert!(!registry.is_settled(false), "the answer is not written yet");
        drop(writing);
        assert!(registry.is_settled(true));
        let notification = registry.enter(&[], false);
        notification.sent();
        assert!(registry.is_settled(false) && !registry.is_settled(true));
        let upload = registry.enter_undecided(false);
        upload.sent();
        assert!(!registry.is_settled(false), "what is not complete may want an answer");
        upload.expect(&ids(&["2"]));
        assert!(!registry.is_settled(false));
        registry.cancel(b"2");
        assert!(registry.is_settled(false), "nobody waits for what was cancelled");
    }
}
