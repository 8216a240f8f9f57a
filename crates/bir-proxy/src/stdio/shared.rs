//! What the two pumps and the supervisor share, and what a pump does with each message.

use super::ends::{HostEnd, UpstreamEnd};
use super::flow::{Sink, Verdict};
use super::handshake::{Cache, Memory, Opening, answer_member};
use super::noise::LineLog;
use super::{Event, OWN_IDS};
use crate::{answer, log};
use bir_model::{Direction, ServerName};
use bir_tap::{Asked, Conversation, SystemClock};
use bir_wire::{Envelope, Field, Kind, Limits, Message, Scanner};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    /// The host's handshake is kept, to be repeated.
    pub(super) keeps_handshake: bool,
    /// The upstream waits to be started by the first message that needs it.
    pub(super) sleeping: AtomicBool,
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
        keeps_handshake: bool,
        events: Sender<Event>,
    ) -> Self {
        Self {
            server_name,
            host,
            upstream: UpstreamEnd::closed(),
            seen: Seen::default(),
            gone: AtomicBool::new(false),
            keeps_handshake,
            sleeping: AtomicBool::new(cache.is_some()),
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
            conversation.take_unanswered()
        };
        let text = answer::not_available(self.server_name.as_str());
        unanswered.iter().try_for_each(|request| self.host.say(&answer::line(request, &text)))
    }

    /// A request of our own is about to go out.
    pub(super) fn asks(&self, id: &[u8]) {
        *lock(&self.own_request) = Some(id.to_vec());
    }

    /// Whether this is the answer to our own request. The host may use ids like ours, so it counts once, and only while
    /// we wait for it.
    fn is_own_answer(&self, envelope: &Envelope) -> bool {
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

    /// Keeps the answer to an opening for later starts.
    pub(super) fn keep_answer(&self, opening: &Opening, member: &str) {
        let mut cache = lock(&self.cache);
        let Some(cache) = &mut *cache else { return };
        match cache.keep(opening, member) {
            Ok(true) => log::info!("the handshake of this start is kept for `--lazy`"),
            Ok(false) => {}
            Err(e) => log::warn!("the handshake could not be kept for `--lazy`: {e}"),
        }
    }

    /// Shows a message to the conversation.
    fn observe(&self, direction: Direction, message: &Message<'_>) -> (Option<Asked>, u32) {
        let mut conversation = self.conversation();
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

/// The pump from the host to the upstream.
pub(super) struct FromHost<'a> {
    shared: &'a Shared,
    answers: Scanner,
    /// Of the message that is passing.
    generation: u32,
    /// A long message is passing, and its beginning went to the child of this generation.
    streaming: Option<u32>,
}

impl<'a> FromHost<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, answers: Scanner::new(Limits::default()), generation: 0, streaming: None }
    }

    /// While the upstream sleeps: answers an opening from the cache, and wakes the upstream for anything else.
    fn before_start(&mut self, message: &Message<'_>, opening: Option<&Opening>) -> Verdict {
        if message.kind() == Kind::Blank {
            return Verdict::Swallow;
        }
        if let Some(opening) = opening {
            let cached = lock(&self.shared.cache).as_ref().and_then(|c| c.answer(opening).map(str::to_owned));
            if let Some(member) = cached {
                let line = answer::envelope(opening.id(), &member);
                self.answers.reset();
                self.shared.observe(Direction::UpstreamToHost, &self.answers.finish_whole(&line));
                if member.starts_with("\"result\"") {
                    self.shared.memory().accepted(opening.asked);
                }
                if self.shared.host.say(&line).is_err() {
                    self.shared.tell(Event::HostGone);
                }
                return Verdict::Swallow;
            }
        } else if message.envelope().text_is(Field::Method, "notifications/initialized") {
            return Verdict::Swallow;
        }
        self.wake(opening.is_some());
        Verdict::Forward
    }

    fn wake(&self, opening: bool) {
        let (started, wait) = sync_channel(1);
        self.shared.tell(Event::Wake(Wake { opening, started }));
        // The supervisor answers within its own budget or ends the process.
        let _ = wait.recv();
    }
}

/// The pump asks the supervisor to start a sleeping upstream.
pub(super) struct Wake {
    /// The message that needs it is an opening itself, so none is repeated before it.
    pub(super) opening: bool,
    pub(super) started: SyncSender<()>,
}

impl Sink for FromHost<'_> {
    fn message(&mut self, message: &Message<'_>) -> Verdict {
        let shared = self.shared;
        let (_, generation) = shared.observe(Direction::HostToUpstream, message);
        let began = self.streaming.take();
        let before = std::mem::replace(&mut self.generation, began.unwrap_or(generation));
        if message.kind() == Kind::Request && !shared.seen.asked.swap(true, Ordering::Relaxed) {
            shared.tell(Event::FirstRequest);
        }
        if shared.keeps_handshake {
            let opening = Opening::of(message);
            let sleeping = shared.sleeping.load(Ordering::Acquire);
            let verdict =
                if sleeping { self.before_start(message, opening.as_ref()) } else { Verdict::Forward };
            let mut memory = shared.memory();
            if let Some(opening) = opening {
                memory.opened(opening);
            } else if message.envelope().text_is(Field::Method, "notifications/initialized") {
                memory.initialized = Some(message.head().to_vec());
            }
            drop(memory);
            if verdict == Verdict::Swallow {
                return Verdict::Swallow;
            }
        }
        // A long message whose child died under it has reached nobody as a whole. No other can be in flight since then.
        if shared.gone.load(Ordering::Acquire) || self.generation != generation {
            if shared.answer_for_upstream().is_err() {
                shared.tell(Event::HostGone);
            }
            return Verdict::Swallow;
        }
        // What was read in one piece is not always for one child.
        if before == generation { Verdict::Forward } else { Verdict::ForwardAlone }
    }

    fn streams(&mut self) -> bool {
        if self.shared.sleeping.load(Ordering::Acquire) {
            self.wake(false);
        }
        self.generation = self.shared.generation();
        self.streaming = Some(self.generation);
        true
    }

    fn forward(&mut self, bytes: &[u8]) -> io::Result<()> {
        // An upstream that reads no more is about to exit, and its exit is what counts.
        if let Err(e) = self.shared.upstream.forward(bytes, self.generation) {
            log::debug!("{}: {e}", Direction::HostToUpstream);
        }
        self.shared.seen.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn noise(&mut self, _bytes: &[u8], _end: bool) {}

    fn oversized(&mut self, _message: &Message<'_>) {}
}

/// The pump from the upstream to the host.
pub(super) struct FromUpstream<'a> {
    shared: &'a Shared,
    noise: LineLog,
}

impl<'a> FromUpstream<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, noise: LineLog::new(format!("[{} stdout] ", shared.server_name)) }
    }

    /// An opening was answered: the answer is for later starts, and what was accepted for a restart.
    fn keep_handshake(&self, asked: Asked, message: &Message<'_>) {
        let envelope = message.envelope();
        let mut memory = self.shared.memory();
        if envelope.has(Field::Result) {
            memory.accepted(asked);
        }
        let opening = memory.opening(asked).cloned();
        drop(memory);
        if let (Some(opening), Some(member)) = (opening, answer_member(message, envelope)) {
            self.shared.keep_answer(&opening, &member);
        }
    }

    fn say_to_host(&self, line: &[u8]) {
        if self.shared.host.say(line).is_err() {
            self.shared.tell(Event::HostGone);
        }
    }
}

impl Sink for FromUpstream<'_> {
    fn message(&mut self, message: &Message<'_>) -> Verdict {
        let shared = self.shared;
        if shared.seen.unusable.load(Ordering::Relaxed) {
            return Verdict::Swallow;
        }
        let envelope = message.envelope();
        if shared.is_own_answer(envelope) {
            let id = envelope.raw(Field::Id).unwrap_or_default().to_vec();
            shared.tell(Event::OwnAnswer { id, member: answer_member(message, envelope) });
            return Verdict::Swallow;
        }
        match message.kind() {
            Kind::Blank => return Verdict::Forward,
            Kind::NotJson(fault) if shared.seen.broken.fetch_add(1, Ordering::Relaxed) == 0 => {
                log::warn!(
                    "{}: a message is not JSON and passes as it came: {fault}",
                    Direction::UpstreamToHost
                );
            }
            _ => {}
        }
        shared.seen.answered.store(true, Ordering::Relaxed);
        let (answered, _) = shared.observe(Direction::UpstreamToHost, message);
        if let Some(asked @ (Asked::Initialize | Asked::Discover)) = answered
            && shared.keeps_handshake
        {
            self.keep_handshake(asked, message);
        }
        Verdict::Forward
    }

    /// Our own request's answer must not reach the host, however long it is.
    fn streams(&mut self) -> bool {
        lock(&self.shared.own_request).is_none()
    }

    fn forward(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.shared.host.forward(bytes)
    }

    fn noise(&mut self, bytes: &[u8], end: bool) {
        let seen = &self.shared.seen;
        // A banner may come first.
        let is_first_frame = !seen.answered.load(Ordering::Relaxed) && !seen.unusable.load(Ordering::Relaxed);
        if is_first_frame && bytes.trim_ascii_start().to_ascii_lowercase().starts_with(b"content-length:") {
            seen.unusable.store(true, Ordering::Relaxed);
            self.shared.tell(Event::ContentLengthFraming);
        }
        if end {
            seen.noise.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(line) = self.noise.take(bytes, end) {
            log::pass(line);
        }
    }

    /// What the operator's limit leaves out still ends the host's call.
    fn oversized(&mut self, message: &Message<'_>) {
        let shared = self.shared;
        let envelope = message.envelope();
        let text = format!("The result was too large to deliver ({} bytes)", message.len());
        match (envelope.raw(Field::Id), envelope.has(Field::Method)) {
            (Some(id), true) => {
                log::warn!("{}: a request of {} bytes was refused", Direction::UpstreamToHost, message.len());
                let refusal = answer::refusal(id, -32600, "The request was too large to deliver");
                if let Err(e) = shared.upstream.say(&refusal) {
                    log::debug!("{}: {e}", Direction::HostToUpstream);
                }
            }
            (Some(id), false) => {
                log::warn!("{}: an answer of {} bytes was refused", Direction::UpstreamToHost, message.len());
                let unanswered = shared.conversation().take_answered(id);
                if let Some(unanswered) = unanswered {
                    self.say_to_host(&answer::line(&unanswered, &text));
                }
            }
            (None, _) => {
                log::warn!(
                    "{}: a notification of {} bytes was dropped",
                    Direction::UpstreamToHost,
                    message.len()
                );
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdio::flow::Rules;
    use crate::stdio::pump;
    use bir_tap::Tap;
    use std::io::{Read as _, Seek as _};
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    /// A recorder with a fault, which is not mended by being dropped.
    struct Faulty(Arc<AtomicU32>);

    impl Tap for Faulty {
        fn observe(&mut self, _event: bir_tap::Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("a fault of the recorder");
        }
    }

    impl Drop for Faulty {
        fn drop(&mut self) {
            panic!("a fault of the recorder's end");
        }
    }

    #[test]
    fn t80_a_recorder_that_panics_costs_the_record_and_no_byte() {
        let told = Arc::new(AtomicU32::new(0));
        let mut conversation = Conversation::new(SystemClock);
        conversation.attach(Box::new(Faulty(Arc::clone(&told))));
        let mut stdout = tempfile::tempfile().unwrap();
        let host = HostEnd::new(stdout.try_clone().unwrap());
        let (events, _told) = channel();
        let name = ServerName::new("x").unwrap();
        let shared = Shared::new(name, host, conversation, None, false, events);

        let asked = b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";
        let mut scanner = Scanner::new(Limits::default());
        let mut from_host = FromHost::new(&shared);
        for _ in 0..2 {
            scanner.reset();
            assert_eq!(from_host.message(&scanner.finish_whole(asked)), Verdict::Forward);
        }
        let answers = b"{\"id\":1,\"result\":{}}\n{\"id\":1,\"result\":{}}\n";
        let rules = Rules { frames_only: true, max_message: None };
        assert!(matches!(
            pump::run(&answers[..], rules, &mut FromUpstream::new(&shared)),
            pump::End::Drained
        ));

        assert_eq!(told.load(Ordering::Relaxed), 1, "it is asked no second time");
        let mut said = Vec::new();
        stdout.rewind().unwrap();
        stdout.read_to_end(&mut said).unwrap();
        assert_eq!(said, answers);
    }

    #[test]
    fn what_was_answered_for_does_not_leave_with_what_is_for_the_next_child() {
        let host = HostEnd::new(tempfile::tempfile().unwrap());
        let (events, _told) = channel();
        let conversation = Conversation::new(SystemClock);
        let name = ServerName::new("x").unwrap();
        let shared = Shared::new(name, host, conversation, None, false, events);
        let mut scanner = Scanner::new(Limits::default());
        let mut from_host = FromHost::new(&shared);
        let mut verdict = |line: &[u8]| {
            scanner.reset();
            from_host.message(&scanner.finish_whole(line))
        };
        assert_eq!(verdict(b"{\"id\":1,\"method\":\"ping\"}\n"), Verdict::Forward);
        shared.answer_for_upstream().unwrap();
        assert_eq!(verdict(b"{\"id\":2,\"method\":\"ping\"}\n"), Verdict::ForwardAlone);
        assert_eq!(verdict(b"{\"id\":3,\"method\":\"ping\"}\n"), Verdict::Forward);
    }
}
