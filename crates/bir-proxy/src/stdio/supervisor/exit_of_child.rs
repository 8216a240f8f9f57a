//! What follows when the child has exited: its last words, answers in its place, another start, or our own end.

use super::Supervisor;
use super::opening::Opened;
use crate::stdio::ending::Cause;
use crate::stdio::start;
use crate::{exit, log};
use bir_model::Direction;
use bir_tap::Asked;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// How long what an exited upstream has written to stdout and stderr may take to arrive. What it left running may hold the pipe for ever.
const DRAIN: Duration = Duration::from_millis(300);
/// How long the host may take to read some more of it: without us it would lie in the pipe for as long as the host likes.
const READ_LATE: Duration = Duration::from_secs(30);
/// From SIGTERM to SIGKILL for what an exited upstream left running.
const LEFT_BEHIND: Duration = Duration::from_millis(300);
/// How long answers in the place of a dead upstream may take to be written.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// An exit so soon after SIGINT is its consequence, whatever the status.
const INTERRUPT: Duration = Duration::from_secs(5);

impl Supervisor {
    /// The child has exited. `None` when the session goes on.
    pub(super) fn on_exit(&mut self) -> Option<u8> {
        self.drain();
        let Some(mut child) = self.child.take() else { return Some(exit::UPSTREAM) };
        self.half_closed_at = None;
        let status = child.reap(LEFT_BEHIND);
        let unusable = self.shared.seen.unusable.load(Ordering::Relaxed);
        let code = status.as_ref().ok().filter(|_| !unusable).map_or(exit::UPSTREAM, |s| exit::of(*s));
        if self.ending.is_running() {
            log::warn!("the server has exited: {}", describe(&status));
        }
        if !self.shared.stays_up && !self.shared.conversation().is_established() {
            // The host starts a server again that died in its handshake; an answer from us would stop it.
            return Some(code);
        }
        if self.ended_as_asked(&status) {
            // Without us the host would get no further answer either.
            return Some(code);
        }
        if !self.ending.is_running() {
            self.last_answers();
            return Some(code);
        }
        if self.restarts_left == 0 {
            return self.upstream_is_gone(code);
        }
        self.restarts_left -= 1;
        log::warn!("the server is started once more");
        // What the host asks once it has read the answers is for the next child, and waits for it.
        let shared = Arc::clone(&self.shared);
        let mut end = shared.upstream.lock();
        self.last_answers();
        if let Err(e) = self.shared.host.end_line() {
            log::debug!("{}: {e}", Direction::UpstreamToHost);
        }
        // The modern era has no handshake: a probe that was answered once needs no second answer.
        let opened = self.start_and_open(&mut end, |opening| opening.asked == Asked::Initialize);
        drop(end);
        match opened {
            Ok(Opened::Ready) => None,
            Ok(Opened::Exited) => self.on_exit(),
            Err(e) => {
                log::error!("{e}");
                self.upstream_is_gone(code)
            }
        }
    }

    /// Whether the upstream's end is what the host wanted: nothing is said for it then, and nothing is started again.
    fn ended_as_asked(&self, status: &std::io::Result<ExitStatus>) -> bool {
        let succeeded = status.as_ref().is_ok_and(ExitStatus::success);
        match self.ending.cause() {
            Some(Cause::HostGone | Cause::Signal(_)) => true,
            // The host reads on: a crash is worth a word, an orderly end is the upstream's own affair.
            Some(Cause::HostClosed) => succeeded,
            Some(Cause::Unusable | Cause::UpstreamClosed) => false,
            None => self.interrupted_at.is_some_and(|at| at.elapsed() < INTERRUPT),
        }
    }

    /// No more upstream: answer for it, and end unless we are to stay.
    pub(super) fn upstream_is_gone(&mut self, code: u8) -> Option<u8> {
        self.shared.gone.store(true, Ordering::Release);
        self.last_answers();
        if self.shared.stays_up { self.nothing_left() } else { Some(code) }
    }

    /// Answers what is in flight. A host that does not read gets a moment and no more.
    fn last_answers(&self) {
        let shared = Arc::clone(&self.shared);
        let (done, wait) = sync_channel(1);
        let answer = move || {
            if let Err(e) = shared.answer_for_upstream() {
                log::debug!("{}: {e}", Direction::UpstreamToHost);
            }
            let _ = done.send(());
        };
        if start::thread("answers", answer).is_ok() {
            let _ = wait.recv_timeout(LAST_ANSWERS);
        }
    }

    /// Waits until what the child has written has been forwarded, its last words on stderr included.
    fn drain(&mut self) {
        let mut deadline = Instant::now() + DRAIN;
        let (mut moved_at, mut taken) = (Instant::now(), None);
        while self.drained.min(self.silent) < self.start {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => self.on_outside(event),
                Err(_) => {
                    let behind = self.host_is_behind();
                    if behind.is_none() {
                        return;
                    }
                    if behind != taken {
                        (moved_at, taken) = (Instant::now(), behind);
                    }
                    if moved_at.elapsed() >= READ_LATE {
                        let limit = READ_LATE.as_secs();
                        log::warn!(
                            "the host has read nothing for {limit} s; what the server said last is lost"
                        );
                        return;
                    }
                    deadline = Instant::now() + DRAIN;
                }
            }
        }
    }

    /// A host that is there has not yet taken what the upstream said: how much it has taken.
    fn host_is_behind(&self) -> Option<u64> {
        let host_is_there =
            matches!(self.ending.cause(), None | Some(Cause::HostClosed | Cause::UpstreamClosed));
        self.shared.host.is_behind().filter(|_| host_is_there)
    }
}

fn describe(status: &std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(e) => format!("its status cannot be read: {e}"),
    }
}
