//! Whether a prompt waits for a match at all (seed 02 §10): a service that answered slowly is not waited for, for a while.

/// A match that takes longer is slow, ms (`BIR_MATCH_SLOW_MS`).
pub const SLOW_MS: u64 = 800;
/// The first hold, ms.
pub const HOLD_MS: u64 = 5 * 60_000;
/// The longest, ms.
pub const MOST_HOLD_MS: u64 = 30 * 60_000;

/// The match gate. It is asked meanwhile, and a fast answer opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchGate {
    slow_ms: u64,
    hold_ms: u64,
    until: u64,
}

impl MatchGate {
    /// Open; a match that takes longer than `slow_ms` closes it.
    #[must_use]
    pub fn new(slow_ms: u64) -> Self {
        Self { slow_ms, hold_ms: 0, until: 0 }
    }

    /// A match was answered after so many ms; none: not in its time. True where that has closed or opened the gate
    /// (`replay.match_gate`).
    pub fn answered(&mut self, now: u64, took_ms: Option<u64>) -> bool {
        let held = self.hold_ms > 0;
        if took_ms.is_some_and(|took| took <= self.slow_ms) {
            (self.hold_ms, self.until) = (0, 0);
            return held;
        }
        // While it holds, what is slow is known to be.
        if held && now < self.until {
            return false;
        }
        self.hold_ms = if held { (self.hold_ms * 2).min(MOST_HOLD_MS) } else { HOLD_MS };
        self.until = now.saturating_add(self.hold_ms);
        true
    }

    /// Whether a prompt does not wait now.
    #[must_use]
    pub fn holds(&self, now: u64) -> bool {
        now < self.until
    }
}

impl Default for MatchGate {
    fn default() -> Self {
        Self::new(SLOW_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_answers_close_it_for_longer_and_a_fast_one_opens_it() {
        const MINUTE: u64 = 60_000;
        let mut gate = MatchGate::default();
        assert!(!gate.answered(0, Some(300)) && !gate.holds(0));
        let mut now = 0;
        for minutes in [5, 10, 20, 30, 30] {
            assert!(gate.answered(now, None));
            assert!(!gate.answered(now + 1, Some(5_000)), "it is closed already");
            assert!(
                gate.holds(now + minutes * MINUTE - 1) && !gate.holds(now + minutes * MINUTE),
                "{minutes}"
            );
            now += minutes * MINUTE;
        }
        assert!(gate.answered(now, Some(900)));
        assert!(gate.answered(now + 1, Some(SLOW_MS)) && !gate.holds(now + 1));
        assert!(
            gate.answered(now + 2, Some(SLOW_MS + 1)) && !gate.holds(now + 2 + 5 * MINUTE),
            "it begins anew"
        );
    }
}
