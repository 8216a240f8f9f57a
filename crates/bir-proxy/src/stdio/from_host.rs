//! What the pump from the host to the upstream does with each message.

use super::Event;
use super::flow::{Long, Sink, Verdict};
use super::handshake::Opening;
use super::shared::Shared;
use crate::call_ids::{MOST_HELD, Stripped};
use crate::{answer, log};
use bir_model::Direction;
use bir_wire::{Field, Kind, Limits, Message, Scanner};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};

/// The pump from the host to the upstream.
pub(super) struct FromHost<'a> {
    shared: &'a Shared,
    answers: Scanner,
    /// Of the message that is passing.
    generation: u32,
    /// A long message is passing, and its beginning went to the child of this generation.
    streaming: Option<u32>,
    /// What goes on in place of the message that is passing.
    edited: Option<Vec<u8>>,
}

impl<'a> FromHost<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            answers: Scanner::new(Limits::default()),
            generation: 0,
            streaming: None,
            edited: None,
        }
    }

    /// While the upstream sleeps: answers an opening from the cache, and wakes the upstream for anything else.
    fn before_start(&mut self, message: &Message<'_>, opening: Option<&Opening>) -> Verdict {
        if message.kind() == Kind::Blank {
            return Verdict::Swallow;
        }
        if let Some(opening) = opening {
            if let Some(member) = self.shared.cached_answer(opening) {
                self.shared.told_from_cache.store(true, Ordering::Relaxed);
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

    fn pass(&mut self, message: &Message<'_>, ids: Vec<Option<String>>) -> Verdict {
        let shared = self.shared;
        if shared.conversation().is_orphan(message) {
            return Verdict::Swallow;
        }
        if let Some(own) = &shared.own {
            own.saw_host(message);
        }
        let (_, generation) = shared.observe_named(Direction::HostToUpstream, message, ids);
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
                memory.initialized = message.is_whole().then(|| message.head().to_vec());
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

    fn wake(&self, opening: bool) {
        wake(self.shared, opening);
    }
}

/// Has a sleeping upstream started, and waits until it is.
pub(super) fn wake(shared: &Shared, opening: bool) {
    let (started, wait) = sync_channel(1);
    shared.tell(Event::Wake(Wake { opening, started }));
    // The supervisor answers within its own budget or ends the process.
    let _ = wait.recv();
}

/// The pump asks the supervisor to start a sleeping upstream.
pub(super) struct Wake {
    /// The message that needs it is an opening itself, so none is repeated before it.
    pub(super) opening: bool,
    pub(super) started: SyncSender<()>,
}

impl Sink for FromHost<'_> {
    fn message(&mut self, message: &Message<'_>) -> Verdict {
        // The beginning of a message that streams has gone already.
        let call_ids = self.shared.call_ids.as_ref().filter(|_| self.streaming.is_none());
        let Some(Stripped { line, ids }) = call_ids.and_then(|call_ids| call_ids.strip(message)) else {
            return self.pass(message, Vec::new());
        };
        let verdict = self.pass(&Scanner::default().finish_whole(&line), ids);
        self.edited = (verdict != Verdict::Swallow).then_some(line);
        verdict
    }

    fn edited(&mut self) -> Option<Vec<u8>> {
        self.edited.take()
    }

    fn holds(&self, length: usize) -> bool {
        self.shared.call_ids.is_some() && length <= MOST_HELD
    }

    fn long(&mut self, _so_far: &[u8]) -> Long {
        if self.shared.sleeping.load(Ordering::Acquire) {
            self.wake(false);
        }
        self.generation = self.shared.generation();
        self.streaming = Some(self.generation);
        Long::Stream
    }

    fn forward(&mut self, bytes: &[u8]) -> io::Result<()> {
        // An upstream that reads no more is about to exit, and its exit is what counts.
        if let Err(e) = self.shared.upstream.forward(bytes, self.generation) {
            log::debug!("{}: {e}", Direction::HostToUpstream);
            self.shared.tell(Event::UpstreamDeaf);
        }
        self.shared.seen.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn noise(&mut self, _bytes: &[u8], _end: bool) {}

    fn oversized(&mut self, _message: &Message<'_>) {}
}
