//! What the pump from the upstream to the host does with each message.

use super::Event;
use super::flow::{Long, Sink, Verdict};
use super::handshake::answer_member;
use super::noise::LineLog;
use super::own_line::{Whose, whose};
use super::shared::Shared;
use crate::call_ids::MOST_HELD;
use crate::{answer, log};
use bir_model::Direction;
use bir_tap::Asked;
use bir_wire::{Envelope, Field, Kind, Message};
use std::io;
use std::sync::atomic::Ordering;

/// The pump from the upstream to the host.
pub(super) struct FromUpstream<'a> {
    shared: &'a Shared,
    noise: LineLog,
    /// A long message is passing.
    streaming: bool,
    /// What goes on in place of the message that is passing.
    edited: Option<Vec<u8>>,
    /// Whose answer a long message is, as far as that was looked for, and at which length it is looked for again.
    whose: (Whose, usize),
}

impl<'a> FromUpstream<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        let noise = LineLog::new(format!("[{} stdout] ", shared.server_name));
        Self { shared, noise, streaming: false, edited: None, whose: (Whose::Unclear, 0) }
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
        if !is_worth_keeping(asked, envelope) {
            return;
        }
        if let (Some(opening), Some(member)) = (opening, answer_member(message, envelope)) {
            self.shared.keep_answer(&opening, &member);
        }
    }

    /// Whether a message is the answer to a call of our own. What the server asks while nothing of the host's is open, it asks
    /// for our calls: the host answers that, and they are over.
    fn is_for_own_call(&self, message: &Message<'_>) -> bool {
        let shared = self.shared;
        let Some(own) = shared.own.as_ref().filter(|own| own.is_used()) else { return false };
        let envelope = message.envelope();
        if let Some(number) = own.answered_by(envelope) {
            let whole = message.is_whole().then(|| message.head());
            own.answer(number, message, whole, &mut shared.conversation());
            return true;
        }
        if message.kind() == Kind::Request && own.any() {
            let mut conversation = shared.conversation();
            if conversation.open_requests() == 0 {
                own.asked_for_input(envelope, None, &mut conversation);
            }
        }
        false
    }

    fn say_to_host(&self, line: &[u8]) {
        if self.shared.host.say(line).is_err() {
            self.shared.tell(Event::HostGone);
        }
    }
}

/// What a later start may be answered with: a result, and that a probe is not known. Any other error may be gone then.
fn is_worth_keeping(asked: Asked, envelope: &Envelope) -> bool {
    let is_unknown_method = || envelope.raw(Field::ErrorCode) == Some(b"-32601");
    envelope.has(Field::Result) || (asked == Asked::Discover && is_unknown_method())
}

impl Sink for FromUpstream<'_> {
    fn message(&mut self, message: &Message<'_>) -> Verdict {
        let shared = self.shared;
        let streamed = std::mem::take(&mut self.streaming);
        self.whose = (Whose::Unclear, 0);
        if shared.seen.unusable.load(Ordering::Relaxed) {
            return Verdict::Swallow;
        }
        let envelope = message.envelope();
        if shared.is_own_answer(envelope) {
            let id = envelope.raw(Field::Id).unwrap_or_default().to_vec();
            shared.tell(Event::OwnAnswer { id, member: answer_member(message, envelope) });
            return Verdict::Swallow;
        }
        if shared.awaits_own_answer()
            && envelope.text_is(Field::Method, "ping")
            && let Some(id) = envelope.raw(Field::Id)
        {
            shared.tell(Event::Ping { id: id.to_vec() });
            return Verdict::Swallow;
        }
        if self.is_for_own_call(message) {
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
        if let Some(asked) = answered.filter(|asked| asked.is_opening()) {
            log::opening_answered(asked, message);
        }
        if let Some(asked @ (Asked::Initialize | Asked::Discover)) = answered
            && shared.keeps_handshake
        {
            self.keep_handshake(asked, message);
        }
        if answered == Some(Asked::ToolsList) && !streamed && message.is_whole() {
            self.edited = shared.call_ids.as_ref().and_then(|call_ids| call_ids.declare(message.head()));
        }
        Verdict::Forward
    }

    fn edited(&mut self) -> Option<Vec<u8>> {
        self.edited.take()
    }

    fn holds(&self, length: usize) -> bool {
        self.shared.call_ids.is_some() && length <= MOST_HELD
    }

    /// The answer to a request of our own must not reach the host, however long it is.
    fn long(&mut self, so_far: &[u8]) -> Long {
        let shared = self.shared;
        if shared.awaits_own_answer() {
            return Long::Hold;
        }
        let long = match shared.own.as_ref().filter(|own| own.any()) {
            None => Long::Stream,
            Some(own) => {
                let (known, next_look) = &mut self.whose;
                if *known == Whose::Unclear && so_far.len() >= *next_look {
                    (*known, *next_look) = (whose(own, so_far), so_far.len() * 2);
                }
                known.long(so_far.len(), || shared.conversation().open_requests() == 0)
            }
        };
        self.streaming = long == Long::Stream;
        long
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
        self.whose = (Whose::Unclear, 0);
        if self.is_for_own_call(message) {
            return;
        }
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
