//! The calls of our own that are under way, shared by whoever orders them and by the relay that sees their answers.

use super::line;
use bir_model::Era;
use bir_model::control::{WorkEnd, WorkOrder};
use bir_tap::{CallKey, Conversation, SystemClock};
use bir_wire::{Envelope, Field, Message, Scanner, text};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::oneshot;

/// What the id of every such call begins with. Hosts may have ids that begin so, too.
const PREFIX: &str = "bir:";
/// Requests of a server that ask for input, or for what only the host knows.
const ASKS: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

/// A line of ours that is to go out after everything that is going out already.
pub(crate) struct Sendable {
    pub(crate) line: Vec<u8>,
    /// The call that it begins; absent for a cancellation.
    pub(crate) begins: Option<u64>,
}

/// The relay's side: the way to the upstream.
pub(crate) trait Line: Send + Sync {
    /// Puts a line in its turn; waits for nothing. False: nothing can be sent any more.
    fn send(&self, line: Sendable) -> bool;
    /// The conversation with the upstream, for a moment.
    fn conversation(&self, see: &mut dyn FnMut(&mut Conversation<SystemClock>));
}

/// All of them.
pub(crate) struct OwnCalls {
    prefix: String,
    /// There was one: before that no message of the upstream is looked at.
    used: AtomicBool,
    next: AtomicU64,
    under_way: Mutex<BTreeMap<u64, Call>>,
    /// The host's `_meta` in the modern era.
    meta: OnceLock<Vec<u8>>,
    line: OnceLock<Box<dyn Line>>,
}

struct Call {
    /// As it is told to the recorder, once it is sent.
    sent: Option<CallKey>,
    tell: oneshot::Sender<WorkEnd>,
}

/// A call that was ordered. Dropping it withdraws the call.
pub(super) struct Begun {
    own: Arc<OwnCalls>,
    number: u64,
    pub(super) end: oneshot::Receiver<WorkEnd>,
}

impl OwnCalls {
    pub(crate) fn new() -> Arc<Self> {
        let unlike = RandomState::new().build_hasher().finish();
        Arc::new(Self {
            prefix: format!("{PREFIX}{unlike:016x}-"),
            used: AtomicBool::new(false),
            next: AtomicU64::new(1),
            under_way: Mutex::default(),
            meta: OnceLock::new(),
            line: OnceLock::new(),
        })
    }

    /// The relay is there.
    pub(crate) fn connect(&self, line: Box<dyn Line>) {
        let _ = self.line.set(line);
    }

    /// A message of the host is passing: it may tell how the host speaks.
    pub(crate) fn saw_host(&self, message: &Message<'_>) {
        if self.meta.get().is_none()
            && let Some(meta) = line::meta(message)
        {
            let _ = self.meta.set(meta);
        }
    }

    /// Whether there was any call of ours.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether any is under way.
    pub(crate) fn any(&self) -> bool {
        self.is_used() && !self.calls().is_empty()
    }

    /// The call of ours that a message answers, also one that is over. The id may be spelled anew.
    pub(crate) fn answered_by(&self, envelope: &Envelope) -> Option<u64> {
        if !self.is_used() || envelope.has(Field::Method) {
            return None;
        }
        self.number(envelope.raw(Field::Id)?)
    }

    /// The number behind an id, as it is written, where it is one of ours.
    pub(crate) fn number(&self, id: &[u8]) -> Option<u64> {
        if id.first() != Some(&b'"') {
            return None;
        }
        text::decode(id)?.strip_prefix(&self.prefix)?.parse().ok()
    }

    /// An answer has come. `whole` is all of the message, where it was kept.
    pub(crate) fn answer(
        &self,
        number: u64,
        message: &Message<'_>,
        whole: Option<&[u8]>,
        conversation: &mut Conversation<SystemClock>,
    ) {
        // One that is over is answered too late; nobody is told.
        let Some(call) = self.calls().remove(&number) else { return };
        if let Some(key) = call.sent {
            conversation.replay_answered(key, message);
        }
        let _ = call.tell.send(line::end(message, whole));
    }

    /// The relay itself has answered in the upstream's place, which says nothing of what became of the call.
    pub(crate) fn failed(&self, number: u64, why: &str, conversation: &mut Conversation<SystemClock>) {
        let Some(call) = self.calls().remove(&number) else { return };
        if let Some(key) = call.sent {
            conversation.replay_lost(key);
        }
        let _ = call.tell.send(WorkEnd::Unknown { why: why.to_owned() });
    }

    /// Its answer was longer than what is let through.
    pub(crate) fn too_large(&self, number: u64, conversation: &mut Conversation<SystemClock>) {
        let Some(call) = self.calls().remove(&number) else { return };
        if let Some(key) = call.sent {
            conversation.replay_lost(key);
        }
        let _ = call.tell.send(WorkEnd::TooLarge { bytes: 0 });
    }

    /// The upstream is gone: nobody answers any more what was sent. What waits for its turn goes to the next one.
    pub(crate) fn lose_all(&self, conversation: &mut Conversation<SystemClock>) {
        let mut calls = self.calls();
        let sent: Vec<_> = calls.iter().filter(|(_, call)| call.sent.is_some()).map(|(n, _)| *n).collect();
        for number in sent {
            let Some(call) = calls.remove(&number) else { continue };
            if let Some(key) = call.sent {
                conversation.replay_lost(key);
            }
            let _ =
                call.tell.send(WorkEnd::Unknown { why: "the server has ended before it answered".into() });
        }
    }

    /// The server asks for input. `of`: the call on whose stream it does; without one it may be any. The request is the
    /// host's to answer; our calls are withdrawn.
    pub(crate) fn asked_for_input(
        &self,
        envelope: &Envelope,
        of: Option<u64>,
        conversation: &mut Conversation<SystemClock>,
    ) {
        let Some(asked) = ASKS.into_iter().find(|method| envelope.text_is(Field::Method, method)) else {
            return;
        };
        if !envelope.has(Field::Id) {
            return;
        }
        let meta = self.meta_now(conversation);
        let mut calls = self.calls();
        let concerned: Vec<_> = calls
            .iter()
            .filter(|(number, call)| call.sent.is_some() && of.is_none_or(|of| of == **number))
            .map(|(number, _)| *number)
            .collect();
        for number in concerned {
            let Some(call) = calls.remove(&number) else { continue };
            if let Some(key) = call.sent {
                conversation.replay_cancelled(key);
            }
            self.say(self.cancellation(number, "input is required", meta.as_deref()));
            let _ = call.tell.send(WorkEnd::InputRequired { asked: asked.to_owned() });
        }
    }

    /// The turn of a call has come: it is written next. False: it was withdrawn meanwhile, and is not sent.
    pub(crate) fn leaves(
        &self,
        number: u64,
        request: &[u8],
        conversation: &mut Conversation<SystemClock>,
    ) -> bool {
        let mut calls = self.calls();
        let Some(call) = calls.get_mut(&number) else { return false };
        let key = conversation.replay_began(&self.id(number), &Scanner::default().finish_whole(request));
        call.sent = Some(key);
        true
    }

    /// It could not be sent: nothing of it happened.
    pub(crate) fn not_sent(&self, number: u64, why: &str, conversation: &mut Conversation<SystemClock>) {
        let Some(call) = self.calls().remove(&number) else { return };
        if let Some(key) = call.sent {
            conversation.replay_lost(key);
        }
        let _ = call.tell.send(WorkEnd::NotSent { why: why.to_owned() });
    }

    /// Orders a call.
    ///
    /// # Errors
    ///
    /// It was not sent, and why.
    pub(super) fn begin(self: &Arc<Self>, order: &WorkOrder) -> Result<Begun, String> {
        let line = self.line.get().ok_or("the relay has not begun")?;
        let mut era = None;
        line.conversation(&mut |conversation| era = self.era(conversation));
        let era = era.ok_or("the host has not opened the connection")?;
        let meta = line::meta_for(era, self.meta.get().cloned());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let bytes = line::call(&self.id(number), &order.tool_name, &order.arguments, meta.as_deref());
        let (tell, end) = oneshot::channel();
        self.calls().insert(number, Call { sent: None, tell });
        // Before it is sent: its answer may be quick.
        self.used.store(true, Ordering::Release);
        let begun = Begun { own: Arc::clone(self), number, end };
        if line.send(Sendable { line: bytes, begins: Some(number) }) {
            Ok(begun)
        } else {
            Err("the relay has ended".into())
        }
    }

    /// Withdraws a call. Says how it stands: `None` where it is over already.
    fn withdraw(&self, number: u64, reason: &str) -> Option<bool> {
        let line = self.line.get()?;
        let mut sent = None;
        let mut meta = None;
        line.conversation(&mut |conversation| {
            let Some(call) = self.calls().remove(&number) else { return };
            sent = Some(call.sent.is_some());
            if let Some(key) = call.sent {
                conversation.replay_cancelled(key);
            }
            meta = self.meta_now(conversation);
        });
        if sent == Some(true) {
            self.say(self.cancellation(number, reason, meta.as_deref()));
        }
        sent
    }

    fn era(&self, conversation: &Conversation<SystemClock>) -> Option<Era> {
        // A host of the modern era may call without an opening.
        let unopened = || (self.meta.get().is_some() && conversation.is_established()).then_some(Era::Modern);
        conversation.era().or_else(unopened)
    }

    fn meta_now(&self, conversation: &Conversation<SystemClock>) -> Option<Vec<u8>> {
        line::meta_for(self.era(conversation)?, self.meta.get().cloned())
    }

    fn cancellation(&self, number: u64, reason: &str, meta: Option<&[u8]>) -> Sendable {
        Sendable { line: line::cancel(&self.id(number), reason, meta), begins: None }
    }

    fn say(&self, line: Sendable) {
        if let Some(to) = self.line.get() {
            to.send(line);
        }
    }

    fn id(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    /// As the next call would have it.
    #[cfg(test)]
    pub(crate) fn next_id(&self) -> String {
        self.used.store(true, Ordering::Relaxed);
        self.id(self.next.load(Ordering::Relaxed))
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Call>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    /// Withdraws it. Says whether it had been sent; `None`: it has an end already.
    pub(super) fn withdraw(&self, reason: &str) -> Option<bool> {
        self.own.withdraw(self.number, reason)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.own.withdraw(self.number, "it is not wanted any more");
    }
}
