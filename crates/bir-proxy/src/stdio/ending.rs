//! How a relay ends: which signal the upstream gets when, and when the wait for it is over.
//!
//! ```text
//!   the host closed stdin ─▶ (requests in flight: wait for answers) ─▶ 2 s ─▶ TERM ─▶ 1.5 s ─▶ KILL
//!   the host is gone      ─▶ 2 s ─▶ TERM ─▶ 1.5 s ─▶ KILL
//!   SIGTERM, SIGHUP       ─▶ passed on ─▶ 1.8 s ─▶ KILL
//!   SIGINT                ─▶ passed on; the upstream decides
//! ```
//!
//! Pure: the clock is passed in. The numbers fit the hosts: the official SDKs close stdin, send SIGTERM after 2 s and SIGKILL
//! after 2 s more; Codex sends SIGKILL 2 s after SIGTERM; Claude Code sends it 0.4 s after SIGINT, and then the
//! parent-death signal ends the upstream.

use bir_upstream::child::Signal;
use std::time::{Duration, Instant};

/// From the end of the host's input to SIGTERM.
pub(super) const EOF_GRACE: Duration = Duration::from_secs(2);
/// From SIGTERM of our own to SIGKILL.
pub(super) const TERM_GRACE: Duration = Duration::from_millis(1500);
/// From the host's SIGTERM to SIGKILL.
pub(super) const SIGNAL_GRACE: Duration = Duration::from_millis(1800);
/// Longest wait for answers after the host closed its input and goes on reading.
pub(super) const ANSWER_GRACE: Duration = Duration::from_secs(30);
/// How often a wait for answers looks whether they have come.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why a relay is ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// End of file on stdin. The host may still read.
    HostClosed,
    /// The host's process is gone, or reads no more.
    HostGone,
    /// A signal that was passed on.
    Signal(Signal),
    /// The upstream does not speak the protocol.
    Unusable,
    /// The upstream has closed a pipe and lives on.
    UpstreamClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The host reads on: answers may come until the limit.
    Answers {
        until: Instant,
    },
    Term {
        at: Instant,
    },
    Kill {
        at: Instant,
    },
    Killed,
}

#[derive(Debug)]
pub(super) struct Ending {
    phase: Phase,
    cause: Option<Cause>,
}

impl Ending {
    pub(super) fn new() -> Self {
        Self { phase: Phase::Running, cause: None }
    }

    /// Something asks for the end. What ends sooner wins.
    pub(super) fn begin(&mut self, cause: Cause, open_requests: usize, now: Instant) {
        let next = match cause {
            Cause::HostClosed if open_requests > 0 => Phase::Answers { until: now + ANSWER_GRACE },
            Cause::HostClosed | Cause::HostGone => Phase::Term { at: now + EOF_GRACE },
            Cause::Signal(Signal::Interrupt) => return,
            Cause::Signal(_) => Phase::Kill { at: now + SIGNAL_GRACE },
            Cause::Unusable | Cause::UpstreamClosed => Phase::Term { at: now },
        };
        if self.phase == Phase::Running || next.kill_at(now) < self.phase.kill_at(now) {
            self.phase = next;
            self.cause = Some(cause);
        }
    }

    /// What decides the end; `None` while nothing has asked for it.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.cause
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// The signal that is due, when one is.
    pub(super) fn due(&mut self, open_requests: usize, now: Instant) -> Option<Signal> {
        match self.phase {
            Phase::Answers { until } if open_requests == 0 || now >= until => {
                self.phase = Phase::Term { at: now + EOF_GRACE };
                None
            }
            Phase::Term { at } if now >= at => {
                self.phase = Phase::Kill { at: now + TERM_GRACE };
                Some(Signal::Terminate)
            }
            Phase::Kill { at } if now >= at => {
                self.phase = Phase::Killed;
                Some(Signal::Kill)
            }
            _ => None,
        }
    }

    /// When to look again; `None` while nothing is due.
    pub(super) fn wake_at(&self, now: Instant) -> Option<Instant> {
        match self.phase {
            Phase::Running | Phase::Killed => None,
            Phase::Answers { until } => Some(until.min(now + LOOK_EVERY)),
            Phase::Term { at } | Phase::Kill { at } => Some(at),
        }
    }
}

impl Phase {
    fn kill_at(self, now: Instant) -> Instant {
        match self {
            Self::Running => now + ANSWER_GRACE * 2,
            Self::Answers { until } => until + EOF_GRACE + TERM_GRACE,
            Self::Term { at } => at + TERM_GRACE,
            Self::Kill { at } => at,
            Self::Killed => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(cause: Cause, open: impl Fn(Duration) -> usize) -> Vec<(u128, Signal)> {
        let start = Instant::now();
        let mut ending = Ending::new();
        ending.begin(cause, open(Duration::ZERO), start);
        let (mut now, mut seen) = (start, Vec::new());
        for _ in 0..10_000 {
            let Some(at) = ending.wake_at(now) else { break };
            now = at;
            if let Some(signal) = ending.due(open(now - start), now) {
                seen.push(((now - start).as_millis(), signal));
            }
        }
        seen
    }

    #[test]
    fn an_upstream_that_will_not_go_is_killed_before_the_host_kills_us() {
        let tail = [(2000, Signal::Terminate), (3500, Signal::Kill)];
        assert_eq!(signals(Cause::HostClosed, |_| 0), tail);
        assert_eq!(signals(Cause::HostGone, |_| 3), tail);
        assert_eq!(signals(Cause::Signal(Signal::Terminate), |_| 3), [(1800, Signal::Kill)]);
        assert_eq!(signals(Cause::Signal(Signal::Interrupt), |_| 3), []);
        assert_eq!(signals(Cause::Unusable, |_| 1), [(0, Signal::Terminate), (1500, Signal::Kill)]);
    }

    #[test]
    fn answers_that_are_due_are_waited_for() {
        let open = |t: Duration| usize::from(t < Duration::from_secs(10));
        assert_eq!(signals(Cause::HostClosed, open), [(12_000, Signal::Terminate), (13_500, Signal::Kill)]);
        let never = |_| 1;
        assert_eq!(signals(Cause::HostClosed, never), [(32_000, Signal::Terminate), (33_500, Signal::Kill)]);
    }

    #[test]
    fn the_sooner_end_wins() {
        let start = Instant::now();
        let mut ending = Ending::new();
        ending.begin(Cause::HostClosed, 1, start);
        ending.begin(Cause::Signal(Signal::Terminate), 1, start);
        assert_eq!(ending.wake_at(start), Some(start + SIGNAL_GRACE));
        ending.begin(Cause::HostGone, 1, start);
        assert_eq!(ending.wake_at(start), Some(start + SIGNAL_GRACE));
    }
}
