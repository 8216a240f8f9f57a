//! Requests that wait for an answer.
//!
//! Answers are matched by the id exactly as written, so `1`, `1.0` and `"1"` are different requests. Where an id is in flight twice, the older one is meant.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// All requests in flight.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: Mutex<VecDeque<Arc<State>>>,
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
}

#[derive(Debug, Default)]
struct Inner {
    unanswered: Vec<Bytes>,
    sent: bool,
    cancelled: bool,
    lasting: bool,
    task: Option<AbortHandle>,
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

impl Registry {
    pub(crate) fn enter(self: &Arc<Self>, ids: Vec<Bytes>, modern: bool) -> Entry {
        let inner = Inner { unanswered: ids, ..Inner::default() };
        let state = Arc::new(State { modern, inner: Mutex::new(inner), changed: Notify::new() });
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

    /// Whether nothing is unanswered but what lasts as long as the session.
    pub(crate) fn is_settled(&self) -> bool {
        self.lock().iter().all(|state| {
            let inner = state.lock();
            inner.lasting || (inner.unanswered.is_empty() && inner.sent)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<State>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a request as answered that some other stream than its own answered.
    pub(crate) fn answered_elsewhere(&self, id: &[u8]) {
        for state in self.lock().iter() {
            if state.answered(id) {
                return;
            }
        }
    }

    pub(crate) fn cancel(&self, id: &[u8]) -> Cancelled {
        let entries = self.lock();
        let found = entries.iter().find(|state| state.lock().unanswered.iter().any(|open| open == id));
        let Some(state) = found else { return Cancelled::Unknown };
        let mut inner = state.lock();
        if inner.sent && !state.modern {
            inner.cancelled = true;
            return Cancelled::MustBeSent;
        }
        inner.cancelled = true;
        inner.unanswered.clear();
        if let Some(task) = inner.task.take() {
            task.abort();
        }
        if inner.sent { Cancelled::StreamClosed } else { Cancelled::NeverSent }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, id: &[u8]) -> bool {
        let mut inner = self.lock();
        let Some(at) = inner.unanswered.iter().position(|open| open == id) else { return false };
        inner.unanswered.remove(at);
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
        if inner.cancelled && inner.unanswered.is_empty() && !inner.sent {
            task.abort();
        }
        inner.task = Some(task);
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

    /// Adds ids that became known only when the message was complete.
    pub(crate) fn expect(&self, ids: &[Bytes]) {
        self.state.lock().unanswered.extend_from_slice(ids);
    }

    /// The message is being written now; from here on it is out of our hands.
    pub(crate) fn sent(&self) {
        self.state.lock().sent = true;
    }

    /// Marks one id as answered. `false` when it is not waited for here.
    pub(crate) fn answered(&self, id: &[u8]) -> bool {
        self.state.answered(id)
    }

    /// Marks everything as answered.
    pub(crate) fn all_answered(&self) {
        self.state.lock().unanswered.clear();
        self.state.changed.notify_one();
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.state.lock().unanswered.is_empty()
    }

    /// The id that waits for an answer, when it is the only one.
    pub(crate) fn only_unanswered(&self) -> Option<Bytes> {
        match self.state.lock().unanswered.as_slice() {
            [id] => Some(id.clone()),
            _ => None,
        }
    }

    /// The ids without an answer, which count as answered from now on.
    pub(crate) fn take_unanswered(&self) -> Vec<Bytes> {
        std::mem::take(&mut self.state.lock().unanswered)
    }

    /// Whether the host said that it no longer wants the answer.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.lock().cancelled
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
        let number = registry.enter(ids(&["1"]), false);
        let text = registry.enter(ids(&["\"1\""]), false);
        let again = registry.enter(ids(&["1"]), false);
        registry.answered_elsewhere(b"1.0");
        registry.answered_elsewhere(b"1");
        assert!(number.is_answered() && !text.is_answered() && !again.is_answered());
        drop(number);
        registry.answered_elsewhere(b"1");
        assert!(again.is_answered());
    }

    #[test]
    fn cancelling_depends_on_era_and_progress() {
        let registry = Arc::new(Registry::default());
        let (legacy, modern, waiting) = (
            registry.enter(ids(&["1"]), false),
            registry.enter(ids(&["2"]), true),
            registry.enter(ids(&["3"]), false),
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
}
