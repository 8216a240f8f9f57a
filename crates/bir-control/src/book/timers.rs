//! When something is to be looked at again, in order. A timer that rings too early does no harm: whoever it wakes looks for
//! itself whether its time has come.

use bir_model::RunId;
use std::collections::BTreeSet;

/// Who is woken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A proxy's call that waits for its hook.
    Waiting { proxy: String, call: u64 },
    /// A call that waits for its other half.
    Call { run: RunId, index: u32 },
    /// A run that is about to end.
    Run(RunId),
}

/// All timers.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(u64, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, due: u64, timer: Timer) {
        self.0.insert((due, timer));
    }

    /// The next one that is due, with its time.
    pub(super) fn pop(&mut self, now: u64) -> Option<(u64, Timer)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first()
    }

    pub(super) fn next(&self) -> Option<u64> {
        self.0.first().map(|(due, _)| *due)
    }
}
