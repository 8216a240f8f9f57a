//! Calls of our own over stdio: how they leave, and which long messages may be answers to them.
//!
//! They leave on a thread of their own, which is started by the first one: a child that does not read its stdin must hold back
//! neither the pump that reads its stdout nor whoever ordered the call.

use super::Event;
use super::flow::Long;
use super::from_host::wake;
use super::shared::Shared;
use crate::log;
use crate::replay::{Line, OwnCalls, Sendable};
use bir_model::Direction;
use bir_model::control::LONGEST_RESULT;
use bir_tap::{Conversation, SystemClock};
use bir_wire::{Field, Limits, Scanner};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

/// Bytes of an answer beside its result.
const ENVELOPE: usize = 64 * 1024;
/// Bytes that are held of a message which does not tell whom it answers: 64 MiB.
const MOST_UNCLEAR: usize = 64 * 1024 * 1024;

/// Whose a long message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Hosts,
    Ours,
    /// Its id has not come yet.
    Unclear,
}

impl Whose {
    /// What becomes of it. `alone` says whether nothing of the host's is open.
    pub(super) fn long(self, length: usize, alone: impl FnOnce() -> bool) -> Long {
        match self {
            Self::Hosts => Long::Stream,
            Self::Ours if length <= LONGEST_RESULT + ENVELOPE => Long::Hold,
            Self::Ours => Long::Leave,
            Self::Unclear if length <= MOST_UNCLEAR => Long::Hold,
            Self::Unclear if alone() => Long::Leave,
            Self::Unclear => Long::Stream,
        }
    }
}

/// Whose a message is, by its beginning.
pub(super) fn whose(own: &OwnCalls, so_far: &[u8]) -> Whose {
    let mut scanner = Scanner::new(Limits { keep: 0, ..Limits::default() });
    scanner.push(so_far);
    let envelope = scanner.so_far();
    let is_batch = so_far.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    match envelope.raw(Field::Id) {
        _ if is_batch || envelope.has(Field::Method) => Whose::Hosts,
        Some(id) if own.number(id).is_some() => Whose::Ours,
        Some(_) => Whose::Hosts,
        None => Whose::Unclear,
    }
}

/// The way to the child.
pub(super) struct OwnLine {
    shared: Arc<Shared>,
    turns: OnceLock<Sender<Sendable>>,
}

impl OwnLine {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), turns: OnceLock::new() }
    }
}

impl Line for OwnLine {
    fn send(&self, line: Sendable) -> bool {
        let turns = self.turns.get_or_init(|| {
            let (turns, come) = channel();
            let shared = Arc::clone(&self.shared);
            if let Err(e) = super::start::thread("replay lines", move || write(&shared, &come)) {
                log::warn!("replay: there is no thread: {e}");
            }
            turns
        });
        turns.send(line).is_ok()
    }

    fn conversation(&self, see: &mut dyn FnMut(&mut Conversation<SystemClock>)) {
        see(&mut self.shared.conversation());
    }
}

fn write(shared: &Shared, come: &Receiver<Sendable>) {
    let Some(own) = &shared.own else { return };
    for Sendable { line, begins } in come {
        let Some(number) = begins else {
            if let Err(e) = shared.upstream.say_if_there(&line) {
                log::debug!("{}: {e}", Direction::HostToUpstream);
            }
            continue;
        };
        if shared.sleeping.load(Ordering::Acquire) {
            wake(shared, false);
        }
        let is_gone = shared.gone.load(Ordering::Acquire);
        {
            let mut conversation = shared.conversation();
            if is_gone {
                own.not_sent(number, "the server has ended", &mut conversation);
                continue;
            }
            if !own.leaves(number, &line, &mut conversation) {
                continue;
            }
        }
        match shared.upstream.say_if_there(&line) {
            Ok(true) => {}
            Ok(false) => own.not_sent(number, "the server has ended", &mut shared.conversation()),
            Err(e) => {
                log::debug!("{}: {e}", Direction::HostToUpstream);
                own.failed(number, "the server took only a part of the call", &mut shared.conversation());
                shared.tell(Event::UpstreamDeaf);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_whose_id_it_has_wherever_that_stands() {
        let own = OwnCalls::new();
        let id = own.next_id();
        let ours = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"result\":{{\"x\":\"");
        let late = format!("{{\"result\":{{\"x\":\"\"}},\"id\":\"{id}\"");
        for (so_far, expected) in [
            (ours.as_str(), Whose::Ours),
            (late.as_str(), Whose::Ours),
            (r#"{"id":"bir:1","result":{"#, Whose::Hosts),
            (r#"{"id":7,"result":{"#, Whose::Hosts),
            (r#"{"method":"notifications/message","params":{"#, Whose::Hosts),
            (r#" [{"id":1,"#, Whose::Hosts),
            (r#"{"result":{"x":"#, Whose::Unclear),
            (r#"{"id":"bi"#, Whose::Unclear),
        ] {
            assert_eq!(whose(&own, so_far.as_bytes()), expected, "{so_far}");
        }
    }

    #[test]
    fn what_is_ours_is_held_up_to_a_result_and_what_is_unclear_up_to_a_bound() {
        let long = |whose: Whose, length, alone: bool| whose.long(length, || alone);
        assert_eq!(long(Whose::Hosts, 1, true), Long::Stream);
        assert_eq!(long(Whose::Ours, LONGEST_RESULT + ENVELOPE, false), Long::Hold);
        assert_eq!(long(Whose::Ours, LONGEST_RESULT + ENVELOPE + 1, false), Long::Leave);
        assert_eq!(long(Whose::Unclear, MOST_UNCLEAR, false), Long::Hold);
        assert_eq!(long(Whose::Unclear, MOST_UNCLEAR + 1, false), Long::Stream);
        assert_eq!(long(Whose::Unclear, MOST_UNCLEAR + 1, true), Long::Leave);
    }
}
