//! How long things may take, and how long texts may be: every number of replay with its name and its source (seed 02 §§7, 8, 10).

/// From the first step to the last of a plan that runs by itself, ms (`BIR_REPLAY_PLAN_BUDGET_MS`).
pub const PLAN_MS: u64 = 100_000;
/// One step, ms (`BIR_STEP_TIMEOUT_MS`); clipped to what the plan has left.
pub const STEP_MS: u64 = 60_000;
/// All replay work inside one hook before a call, ms (`BIR_PRETOOL_REPLAY_BUDGET_MS`).
pub const PRETOOL_MS: u64 = 9_000;
/// The ceiling of [`PRETOOL_MS`]: the hook's route answers after 12 s whatever happens.
pub const MOST_PRETOOL_MS: u64 = 10_000;
/// A run by itself is held under that, ms: whoever asked for it waits 290 s.
pub const MOST_PLAN_MS: u64 = 258_000;
/// A wrapped server's own report of a call comes within so long after the host's word, ms (`PROXY_REPORT_GRACE_MS`).
pub const REPORT_GRACE_MS: u64 = 1_500;
/// A call waits for a pinned one that the host has reported as finished, ms.
pub const WAIT_REPORTED_MS: u64 = 1_750;
/// And for one of which nobody has reported anything, ms.
pub const WAIT_RUNNING_MS: u64 = 200;
/// After something went wrong, calls that were sent already may still answer for so long, ms.
pub const SETTLE_MS: u64 = 1_000;

/// Characters of a text that is given as the reason of a denial.
pub const MAX_REPLAY_REASON: usize = 60_000;
/// Characters of a text that a shell command prints: hosts cut long output.
pub const BASH_CHANNEL_MAX: usize = 25_000;
/// Characters of such a text that ride inside of the command; longer ones go through a file.
pub const BASH_INLINE_MAX: usize = 6_000;
/// Characters of a hand-over note without its results.
pub const NOTE_MAX: usize = 4_000;
/// Characters of arguments that a directive shows.
pub const SHOWN_MAX: usize = 240;
/// Bytes of the arguments of one call; what is longer is not sent.
pub const ARGUMENTS_MAX: usize = 1 << 20;

/// The budgets of one plan, each brought under its ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// [`PLAN_MS`]
    pub plan_ms: u64,
    /// [`STEP_MS`]
    pub step_ms: u64,
    /// [`PRETOOL_MS`]
    pub pretool_ms: u64,
    /// What a body of logic may take, ms (`BIR_LOGIC_TIMEOUT_MS`).
    pub logic_ms: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            plan_ms: PLAN_MS,
            step_ms: STEP_MS,
            pretool_ms: PRETOOL_MS,
            logic_ms: bir_plan::sandbox::Limits::TIME_MS,
        }
    }
}

impl Budgets {
    /// The budgets as they count, and the names of those that were brought back (`replay.budget_clamped`).
    #[must_use]
    pub fn clamped(self) -> (Self, Vec<&'static str>) {
        let logic = bir_plan::sandbox::Limits::MOST_TIME_MS;
        let mut clamped = Vec::new();
        let mut under = |value: u64, most: u64, name: &'static str| {
            let counts = value.clamp(1, most);
            if counts != value {
                clamped.push(name);
            }
            counts
        };
        let counts = Self {
            plan_ms: under(self.plan_ms, MOST_PLAN_MS, "BIR_REPLAY_PLAN_BUDGET_MS"),
            step_ms: under(self.step_ms, MOST_PLAN_MS, "BIR_STEP_TIMEOUT_MS"),
            pretool_ms: under(self.pretool_ms, MOST_PRETOOL_MS, "BIR_PRETOOL_REPLAY_BUDGET_MS"),
            logic_ms: under(self.logic_ms, logic, "BIR_LOGIC_TIMEOUT_MS"),
        };
        (counts, clamped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_past_a_ceiling_is_brought_back_and_named() {
        assert_eq!(Budgets::default().clamped(), (Budgets::default(), Vec::new()));
        let (counts, named) =
            Budgets { plan_ms: 900_000, pretool_ms: 60_000, ..Budgets::default() }.clamped();
        assert_eq!((counts.plan_ms, counts.pretool_ms), (MOST_PLAN_MS, MOST_PRETOOL_MS));
        assert_eq!(named, ["BIR_REPLAY_PLAN_BUDGET_MS", "BIR_PRETOOL_REPLAY_BUDGET_MS"]);
        assert_eq!(
            Budgets { step_ms: 0, ..Budgets::default() }.clamped().0.step_ms,
            1,
            "no budget is endless"
        );
    }
}
