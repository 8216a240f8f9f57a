//! What the two pumps and the supervisor share.

use super::ends::{HostEnd, UpstreamEnd};
use super::handshake::{Cache, Memory, Opening};
use super::{Event, OWN_IDS};
use crate::call_ids::CallIds;
use crate::replay::OwnCalls;
use crate::{answer, log};
use bir_model::{Direction, ServerName};
use bir_tap::{Asked, Conversation, SystemClock};
use bir_wire::{Envelope, Field, Message};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts and flags that anybody may read.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Writes to the upstream that have been completed.
    pub(super) sent: AtomicU64,
    /// The host has asked something.
    pub(super) asked: AtomicBool,
    /// The upstream has said something that is a frame.
    pub(super) answered: AtomicBool,
    /// Lines on the upstream's stdout that were no frames.
    pub(super) noise: AtomicU64,
    /// Lines that begin as frames and are not JSON.
    pub(super) broken: AtomicU64,
    /// The upstream does not speak the protocol: nothing more of it reaches the host.
    pub(super) unusable: AtomicBool,
}

pub(super) struct Shared {
    pub(super) server_name: ServerName,
    pub(super) host: HostEnd,
    pub(super) upstream: UpstreamEnd,
    pub(super) seen: Seen,
    /// The upstream will not come back; requests are answered in its place.
    pub(super) gone: AtomicBool,
    /// We outlive the upstream, and answer every request in its place.
    pub(super) stays_up: bool,
    /// The host's handshake is kept, to be repeated.
    pub(super) keeps_handshake: bool,
    /// Ids that come in the arguments are taken out.
    pub(super) call_ids: Option<CallIds>,
    /// Calls of our own, for a plan.
    pub(super) own: Option<Arc<OwnCalls>>,
    /// The upstream waits to be started by the first message that needs it.
    pub(super) sleeping: AtomicBool,
    /// The host was told the handshake of an earlier start.
    pub(super) told_from_cache: AtomicBool,
    /// How often requests were answered in the upstream's place. Read and changed under the conversation's lock, so that
    /// a request is either answered by us or sent to the next child, never both.
    generation: AtomicU32,
    conversation: Mutex<Conversation<SystemClock>>,
    memory: Mutex<Memory>,
    cache: Mutex<Option<Cache>>,
    /// The id of our own request that the upstream has not answered.
    own_request: Mutex<Option<Vec<u8>>>,
    events: Sender<Event>,
}

impl Shared {
    pub(super) fn new(
        server_name: ServerName,
        host: HostEnd,
        conversation: Conversation<SystemClock>,
        cache: Option<Cache>,
        stays_up: bool,
        keeps_handshake: bool,
        events: Sender<Event>,
    ) -> Self {
        Self {
            server_name,
            host,
            upstream: UpstreamEnd::closed(),
            seen: Seen::default(),
            gone: AtomicBool::new(false),
            stays_up,
            keeps_handshake,
            call_ids: None,
            own: None,
            sleeping: AtomicBool::new(cache.as_ref().is_some_and(|cache| !cache.is_empty())),
            told_from_cache: AtomicBool::new(false),
            generation: AtomicU32::new(0),
            conversation: Mutex::new(conversation),
            memory: Mutex::new(Memory::default()),
            cache: Mutex::new(cache),
            own_request: Mutex::new(None),
            events,
        }
    }

    pub(super) fn conversation(&self) -> MutexGuard<'_, Conversation<SystemClock>> {
        lock(&self.conversation)
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    pub(super) fn tell(&self, event: Event) {
        // The supervisor is only gone when the process ends.
        let _ = self.events.send(event);
    }

    /// Answers everything that awaits the upstream. What was asked until now never reaches another child.
    pub(super) fn answer_for_upstream(&self) -> io::Result<()> {
        let unanswered = {
            let mut conversation = self.conversation();
            self.generation.fetch_add(1, Ordering::Relaxed);
            if let Some(own) = &self.own {
                own.lose_all(&mut conversation);
            }
            conversation.take_unanswered()
        };
        let text = answer::not_available(self.server_name.as_str());
        // An opening is answered only where we stay: a host starts a server again that died in its handshake.
        let mut answered = unanswered.iter().filter(|request| self.stays_up || !request.asked.is_opening());
        answered.try_for_each(|request| self.host.say(&answer::line(request, &text)))
    }

    /// A request of our own is about to go out.
    pub(super) fn asks(&self, id: &[u8]) {
        *lock(&self.own_request) = Some(id.to_vec());
    }

    /// Whether this is the answer to our own request. The host may use ids like ours, so it counts once, and only while
    /// we wait for it.
    pub(super) fn is_own_answer(&self, envelope: &Envelope) -> bool {
        let Some(id) = envelope.raw(Field::Id).filter(|id| id.starts_with(OWN_IDS)) else { return false };
        if envelope.has(Field::Method) {
            return false;
        }
        let mut own = lock(&self.own_request);
        let is_own = own.as_deref() == Some(id);
        if is_own {
            *own = None;
        }
        is_own
    }

    /// Whether a request of our own awaits its answer.
    pub(super) fn awaits_own_answer(&self) -> bool {
        lock(&self.own_request).is_some()
    }

    /// The answer to this opening from an earlier start.
    pub(super) fn cached_answer(&self, opening: &Opening) -> Option<String> {
        lock(&self.cache).as_ref().and_then(|cache| cache.answer(opening).map(str::to_owned))
    }

    /// Keeps the answer to an opening for later starts.
    pub(super) fn keep_answer(&self, opening: &Opening, member: &str) {
        let mut cache = lock(&self.cache);
        let Some(cache) = &mut *cache else { return };
        let was_told = self.told_from_cache.load(Ordering::Relaxed);
        match cache.keep(opening, member) {
            Ok(true) if was_told => log::warn!(
                "the server's handshake has changed since its last start, and this session was opened with the old one; the \
                 next will have the new one"
            ),
            Ok(true) => log::info!("the handshake of this start is kept for `--lazy`"),
            Ok(false) => {}
            Err(e) => log::warn!("the handshake could not be kept for `--lazy`: {e}"),
        }
    }

    /// Shows a message to the conversation.
    pub(super) fn observe(&self, direction: Direction, message: &Message<'_>) -> (Option<Asked>, u32) {
        self.observe_named(direction, message, Vec::new())
    }

    /// As [`Shared::observe`], with the ids of its calls.
    pub(super) fn observe_named(
        &self,
        direction: Direction,
        message: &Message<'_>,
        ids: Vec<Option<String>>,
    ) -> (Option<Asked>, u32) {
        let mut conversation = self.conversation();
        if !ids.is_empty() {
            conversation.name_calls(ids);
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let answered = conversation.observe(direction, message);
        if conversation.lost_tap() {
            log::error!("{}", log::LOST_TAP);
        }
        (answered, generation)
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
