//! What passes when a recorder fails, and what is answered for while messages pass.

use super::ends::HostEnd;
use super::flow::{Rules, Sink as _, Verdict};
use super::from_host::FromHost;
use super::from_upstream::FromUpstream;
use super::patient::Patient;
use super::pump;
use super::shared::Shared;
use bir_model::ServerName;
use bir_tap::{Conversation, SystemClock, Tap};
use bir_wire::{Limits, Scanner};
use std::io::{Read as _, Seek as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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
    let host = HostEnd::new(Patient(stdout.try_clone().unwrap()));
    let (events, _told) = channel();
    let name = ServerName::new("x").unwrap();
    let shared = Shared::new(name, host, conversation, None, false, false, events);

    let asked = b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";
    let mut scanner = Scanner::new(Limits::default());
    let mut from_host = FromHost::new(&shared);
    for _ in 0..2 {
        scanner.reset();
        assert_eq!(from_host.message(&scanner.finish_whole(asked)), Verdict::Forward);
    }
    let answers = b"{\"id\":1,\"result\":{}}\n{\"id\":1,\"result\":{}}\n";
    let rules = Rules { frames_only: true, max_message: None, keep: 0 };
    assert!(matches!(pump::run(&answers[..], rules, &mut FromUpstream::new(&shared)), pump::End::Drained));

    assert_eq!(told.load(Ordering::Relaxed), 1, "it is asked no second time");
    let mut said = Vec::new();
    stdout.rewind().unwrap();
    stdout.read_to_end(&mut said).unwrap();
    assert_eq!(said, answers);
}

#[test]
fn what_was_answered_for_does_not_leave_with_what_is_for_the_next_child() {
    let host = HostEnd::new(Patient(tempfile::tempfile().unwrap()));
    let (events, _told) = channel();
    let conversation = Conversation::new(SystemClock);
    let name = ServerName::new("x").unwrap();
    let shared = Shared::new(name, host, conversation, None, false, false, events);
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
