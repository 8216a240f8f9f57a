//! How far a scenario runs by itself, and what changes that (docs/decisions/0009).
//!
//! ```text
//!        two runs agree, or          the owner allows,            the owner allows,
//!        three predictions came true and two runs agree           and two runs agree
//!  L0 ───────────────────────▶ L1 ─────────────────────▶ L2 ──────────────────────▶ L3
//!   ◀──────────────────────────────────────────────────────────────────────────────
//!     a failed guard, a rejection, a failed step, a prediction that did not come true: one level at once
//! ```
//!
//! What was counted before a level was taken away counts no longer; to go up again takes new evidence.
//!
//! An approval that is taken back gives the level that the scenario would have without it, and so do changes by hand
//! that are all taken back: a standing knows both, and what takes a level away takes it from those, too.

use bir_model::scenario::{Act, Level, Mark};
use bir_plan::effect::Effect;
use bir_plan::template::Confidence;
use serde::{Deserialize, Serialize};

/// So many runs have to agree.
pub const RUNS: u32 = 2;
/// Or so many predictions of the model's next input have to have come true, without one between them that did not.
pub const PREDICTIONS: u32 = 3;

/// What is known of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// How far it runs.
    pub level: Level,
    /// Runs that it explains, since a level was last taken away.
    pub agreeing: u32,
    /// Predictions that came true one after the other, since a level was last taken away.
    pub predicted: u32,
    /// How far its owner lets it run: L1 unless more was allowed.
    pub allowed: Level,
    /// The level that it would have, had its owner not approved it; none: it is not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<Level>,
    /// How it would stand, had nobody changed a body by hand; none: nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unedited: Option<Unedited>,
}

/// How a scenario would stand as it was calculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unedited {
    /// How far it would run.
    pub level: Level,
    /// Runs that it explains.
    #[serde(default)]
    pub agreeing: u32,
    /// Predictions that came true.
    #[serde(default)]
    pub predicted: u32,
    /// How far its owner lets that run.
    pub allowed: Level,
    /// As [`Standing::unapproved`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<Level>,
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A further run agreed with it.
    RunAgreed,
    /// A further run did the task, and did it otherwise.
    RunDisagreed,
    /// What it predicted is what the model did.
    PredictionTrue,
    /// And is not.
    PredictionFalse,
    /// A guard failed in an execution.
    GuardFailed,
    /// A step of its own logic failed in an execution.
    StepFailed,
    /// Its owner rejected what it did.
    Rejected,
    /// Its owner lets it run so far; at L0 it steers.
    Allowed(Level),
    /// Its owner takes that back.
    Withdrawn,
    /// It was calculated anew, from so many runs.
    Changed {
        /// The runs that agree with what it is now.
        agreeing: u32,
    },
    /// A body was changed by hand. What it does now is known of one recording.
    Edited {
        /// In spite of the report: of none.
        forced: bool,
    },
    /// The last change of a body by hand was taken back: it does what was calculated.
    Restored,
}

/// Why a level is what it is, in words for its owner.
pub type Reason = &'static str;

impl Standing {
    /// Of a scenario that was just calculated from so many runs that agree.
    #[must_use]
    pub fn new(agreeing: u32) -> Self {
        let standing = Self {
            level: Level::L0,
            agreeing,
            predicted: 0,
            allowed: Level::L1,
            unapproved: None,
            unedited: None,
        };
        standing.promoted()
    }

    /// Whether its owner lets it run unasked.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.unapproved.is_some()
    }

    /// After something has happened.
    #[must_use]
    pub fn after(self, event: Event) -> Self {
        match event {
            Event::RunAgreed => Self { agreeing: self.agreeing.saturating_add(1), ..self }.confirmed(),
            Event::PredictionTrue => Self { predicted: self.predicted.saturating_add(1), ..self }.confirmed(),
            Event::RunDisagreed
            | Event::PredictionFalse
            | Event::GuardFailed
            | Event::StepFailed
            | Event::Rejected => self.demoted(),
            Event::Allowed(level) => {
                let unapproved = Some(self.unapproved.unwrap_or(self.level));
                let allowed = level.max(Level::L1);
                let now = Self { level: self.level.min(level), allowed, unapproved, ..self };
                if level == Level::L0 { now } else { now.promoted() }
            }
            Event::Withdrawn => self.withdrawn(),
            // What was allowed was allowed for what it was.
            Event::Changed { agreeing } => Self::new(agreeing),
            Event::Edited { forced } => self.edited(forced),
            Event::Restored => self.restored(),
        }
    }

    /// The level that evidence alone gives.
    fn earned(&self) -> Level {
        if self.agreeing >= RUNS || self.predicted >= PREDICTIONS { Level::L1 } else { Level::L0 }
    }

    /// The highest level that the evidence and its owner give; never a lower one than it has.
    fn promoted(self) -> Self {
        let earned = match self.allowed {
            // One run never executes a write, whatever was predicted since.
            allowed @ (Level::L2 | Level::L3) if self.agreeing >= RUNS => allowed,
            _ => self.earned(),
        };
        Self { level: self.level.max(earned), ..self }
    }

    /// After new evidence, which counts without an approval as well.
    fn confirmed(self) -> Self {
        let earned = self.earned();
        Self { unapproved: self.unapproved.map(|level| level.max(earned)), ..self.promoted() }
    }

    fn demoted(self) -> Self {
        let level = below(self.level);
        let unedited = self.unedited.map(|was| {
            let level = below(was.level);
            Unedited {
                level,
                agreeing: 0,
                predicted: 0,
                allowed: level.max(Level::L1),
                unapproved: was.unapproved.map(below),
            }
        });
        Self {
            level,
            agreeing: 0,
            predicted: 0,
            allowed: level.max(Level::L1),
            unapproved: self.unapproved.map(below),
            unedited,
        }
    }

    fn withdrawn(self) -> Self {
        // What is changed by hand stays where that put it: an approval of what it was is no reason to run.
        let ground = self.unapproved.unwrap_or(self.level);
        let level = if self.unedited.is_some() { self.level.min(ground) } else { ground };
        let unedited = self.unedited.map(|was| Unedited {
            level: was.unapproved.unwrap_or(was.level),
            allowed: Level::L1,
            unapproved: None,
            ..was
        });
        Self { level, allowed: Level::L1, unapproved: None, unedited, ..self }
    }

    fn edited(self, forced: bool) -> Self {
        let was = Unedited {
            level: self.level,
            agreeing: self.agreeing,
            predicted: self.predicted,
            allowed: self.allowed,
            unapproved: self.unapproved,
        };
        Self {
            level: Level::L0,
            agreeing: u32::from(!forced),
            predicted: 0,
            allowed: Level::L1,
            unapproved: self.unapproved.map(|_| Level::L0),
            unedited: Some(self.unedited.unwrap_or(was)),
        }
    }

    fn restored(self) -> Self {
        match self.unedited {
            // What was seen of the changed bodies says nothing of the calculated ones.
            Some(Unedited { level, agreeing, predicted, allowed, unapproved }) => {
                Self { level, agreeing, predicted, allowed, unapproved, unedited: None }
            }
            None => self,
        }
    }

    /// Why it does not run further.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self.level {
            Level::L0 if self.unedited.is_some() => {
                "it was changed by hand, which is checked against one recording; two runs that agree and its owner's word (`approve`) let it run, or the changes taken back"
            }
            Level::L0
                if self.allowed == Level::L1 && self.unapproved.is_some_and(|level| level > Level::L0) =>
            {
                "its owner lets it steer only"
            }
            Level::L0 if self.agreeing == 1 => {
                "calculated from one run; a second one that agrees, or three predictions that come true, let it read"
            }
            Level::L0 => "two runs that agree, or three predictions that come true, let it read",
            Level::L1 if self.allowed > Level::L1 => "two runs have to agree before its writes run",
            Level::L1 => "its owner has not allowed writes",
            Level::L2 => "its owner has allowed writes that are as once when done twice",
            Level::L3 => "its owner has allowed everything",
        }
    }
}

/// One level less.
fn below(level: Level) -> Level {
    match level {
        Level::L3 => Level::L2,
        Level::L2 => Level::L1,
        Level::L1 | Level::L0 => Level::L0,
    }
}

/// What is done with a step. An edited step is as sure as its owner is: its confidence is that of a person's word, and
/// the level decides.
#[must_use]
pub fn act(level: Level, effect: Effect, confidence: Confidence, mark: Option<Mark>, edited: bool) -> Act {
    if mark.is_some() || (confidence == Confidence::None && !edited) {
        return Act::HandOver;
    }
    let runs = match effect {
        Effect::Read => level >= Level::L1,
        Effect::Idempotent => level >= Level::L2,
        Effect::Write | Effect::Destructive => level >= Level::L3,
    };
    // What may be a coincidence is a proposal, whatever the level.
    if runs && (edited || confidence >= Confidence::Medium) { Act::Run } else { Act::Steer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn standing(level: Level, agreeing: u32, predicted: u32, allowed: Level) -> Standing {
        Standing { level, agreeing, predicted, allowed, unapproved: None, unedited: None }
    }

    #[test]
    fn evidence_promotes_and_a_failure_demotes_at_once() {
        use Level::{L0, L1, L2, L3};
        for (before, event, after) in [
            (Standing::new(1), Event::RunAgreed, standing(L1, 2, 0, L1)),
            (Standing::new(0), Event::RunAgreed, standing(L0, 1, 0, L1)),
            (standing(L0, 1, 2, L1), Event::PredictionTrue, standing(L1, 1, 3, L1)),
            (standing(L0, 1, 1, L1), Event::PredictionTrue, standing(L0, 1, 2, L1)),
            // Predictions alone never let a write run.
            (standing(L1, 1, 3, L1), Event::Allowed(L3), standing(L1, 1, 3, L3)),
            (standing(L1, 1, 3, L3), Event::RunAgreed, standing(L3, 2, 3, L3)),
            (standing(L1, 2, 0, L1), Event::Allowed(L2), standing(L2, 2, 0, L2)),
            (standing(L3, 5, 0, L3), Event::Allowed(L1), standing(L1, 5, 0, L1)),
            (standing(L2, 2, 0, L2), Event::Allowed(L0), standing(L0, 2, 0, L1)),
            (standing(L3, 5, 3, L3), Event::GuardFailed, standing(L2, 0, 0, L2)),
            (standing(L2, 5, 3, L2), Event::Rejected, standing(L1, 0, 0, L1)),
            (standing(L1, 5, 3, L1), Event::StepFailed, standing(L0, 0, 0, L1)),
            (standing(L0, 1, 2, L1), Event::PredictionFalse, standing(L0, 0, 0, L1)),
            (standing(L1, 2, 0, L1), Event::RunDisagreed, standing(L0, 0, 0, L1)),
            (standing(L0, 0, 2, L1), Event::PredictionTrue, standing(L1, 0, 3, L1)),
            (standing(L3, 9, 0, L3), Event::Changed { agreeing: 1 }, standing(L0, 1, 0, L1)),
            (standing(L0, 0, 0, L1), Event::Changed { agreeing: 2 }, standing(L1, 2, 0, L1)),
            // Its owner's word for its writes was for what it was.
            (standing(L3, 9, 0, L3), Event::Edited { forced: false }, standing(L0, 1, 0, L1)),
            (standing(L0, 1, 2, L1), Event::Edited { forced: false }, standing(L0, 1, 0, L1)),
            (standing(L3, 9, 0, L3), Event::Edited { forced: true }, standing(L0, 0, 0, L1)),
        ] {
            let mut now = before.after(event);
            // What is remembered beside it has tests of its own.
            (now.unapproved, now.unedited) = (None, None);
            assert_eq!(now, after, "{before:?} {event:?}");
        }
    }

    #[test]
    fn an_approval_that_is_taken_back_leaves_what_was_before_it() {
        use Event::{Allowed, GuardFailed, RunAgreed, Withdrawn};
        use Level::{L0, L1, L2, L3};
        let two = Standing::new(2);
        for (events, level) in [
            (&[Allowed(L3), Withdrawn][..], L1),
            (&[Allowed(L2), Allowed(L3), Withdrawn], L1),
            (&[Allowed(L1), Withdrawn], L1),
            (&[Allowed(L0), Withdrawn], L1),
            (&[Withdrawn, Withdrawn], L1),
            // What failed in between would have failed without it.
            (&[Allowed(L3), GuardFailed, Withdrawn], L0),
            (&[Allowed(L3), GuardFailed, RunAgreed, RunAgreed, Withdrawn], L1),
            (&[Allowed(L3), Withdrawn, RunAgreed], L1),
        ] {
            let end = events.iter().fold(two, |now, event| now.after(*event));
            assert_eq!((end.level, end.is_approved()), (level, false), "{events:?}");
        }
        let one = Standing::new(1).after(Allowed(L0));
        assert_eq!(one.after(Withdrawn).level, L0);
        assert_eq!(one.after(RunAgreed).after(Withdrawn).level, L1, "evidence came in between");
        assert!(two.after(Allowed(L0)).is_approved() && two.after(Allowed(L0)).level == L0);
    }

    #[test]
    fn changes_that_are_all_taken_back_leave_what_was_before_them() {
        use Event::{Allowed, Restored, StepFailed, Withdrawn};
        use Level::{L0, L1, L2, L3};
        let edited = Event::Edited { forced: false };
        let approved = Standing::new(2).after(Allowed(L3));
        for (before, events, level, is_approved) in [
            (Standing::new(2), &[edited, Restored][..], L1, false),
            (Standing::new(1), &[edited, Restored], L0, false),
            (approved, &[edited, edited, Restored], L3, true),
            (approved, &[edited, Event::Edited { forced: true }], L0, true),
            // What failed or was taken back in between is so for what was calculated, too.
            (approved, &[edited, StepFailed, Restored], L2, true),
            (approved, &[edited, Withdrawn, Restored], L1, false),
            (approved, &[edited, Withdrawn], L0, false),
            // What was allowed for a body that is gone is gone with it.
            (Standing::new(2), &[edited, Allowed(L1), Restored], L1, false),
        ] {
            let end = events.iter().fold(before, |now, event| now.after(*event));
            assert_eq!((end.level, end.is_approved()), (level, is_approved), "{events:?}");
            assert_eq!(end.reason().contains("by hand"), end.unedited.is_some(), "{events:?}");
        }
    }

    #[test]
    fn a_standing_is_read_as_it_was_written() {
        let standing =
            Standing::new(2).after(Event::Allowed(Level::L2)).after(Event::Edited { forced: true });
        let text = serde_json::to_string(&standing).unwrap();
        assert_eq!(serde_json::from_str::<Standing>(&text).unwrap(), standing, "{text}");
        let older = r#"{"level":"L1","agreeing":2,"predicted":0,"allowed":"L1"}"#;
        assert_eq!(serde_json::from_str::<Standing>(older).unwrap(), Standing::new(2));
    }

    #[test]
    fn what_runs_is_a_table() {
        use Confidence::{High, Low, Medium, None as Nothing};
        use Effect::{Destructive, Idempotent, Read, Write};
        use Level::{L0, L1, L2, L3};
        for (level, effect, confidence, expected) in [
            (L0, Read, High, Act::Steer),
            (L1, Read, High, Act::Run),
            (L1, Read, Medium, Act::Run),
            (L1, Read, Low, Act::Steer),
            (L3, Read, Nothing, Act::HandOver),
            (L1, Idempotent, High, Act::Steer),
            (L2, Idempotent, High, Act::Run),
            (L2, Write, High, Act::Steer),
            (L2, Destructive, High, Act::Steer),
            (L3, Write, High, Act::Run),
            (L3, Destructive, Medium, Act::Run),
            (L3, Destructive, Low, Act::Steer),
        ] {
            assert_eq!(
                act(level, effect, confidence, None, false),
                expected,
                "{level} {effect:?} {confidence:?}"
            );
            for mark in Mark::ALL {
                assert_eq!(act(level, effect, confidence, Some(*mark), false), Act::HandOver);
            }
        }
        assert_eq!(act(L1, Read, Nothing, None, true), Act::Run);
        assert_eq!(act(L1, Write, Nothing, None, true), Act::Steer);
    }

    fn events() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::RunAgreed),
            Just(Event::RunDisagreed),
            Just(Event::PredictionTrue),
            Just(Event::PredictionFalse),
            Just(Event::GuardFailed),
            Just(Event::StepFailed),
            Just(Event::Rejected),
            prop::sample::select(Level::ALL).prop_map(Event::Allowed),
            (0..4_u32).prop_map(|agreeing| Event::Changed { agreeing }),
            any::<bool>().prop_map(|forced| Event::Edited { forced }),
            Just(Event::Restored),
            Just(Event::Withdrawn),
        ]
    }

    proptest! {
        #[test]
        fn no_way_leads_to_a_write_without_two_runs_and_the_owner(
            runs in 0..3_u32,
            all in prop::collection::vec(events(), 0..40),
        ) {
            let mut now = Standing::new(runs);
            // The owner's word, and the runs that agreed, since what the scenario is was last changed.
            let (mut allowed, mut agreed) = (Level::L1, runs);
            // The same of what it was before a body was changed by hand.
            let mut unedited: Option<(Level, u32)> = None;
            for event in all {
                match event {
                    Event::Allowed(level) => allowed = level,
                    Event::Withdrawn => {
                        allowed = Level::L1;
                        unedited = unedited.map(|(_, agreed)| (Level::L1, agreed));
                    }
                    Event::Changed { agreeing } => (allowed, agreed, unedited) = (Level::L1, agreeing, None),
                    Event::Edited { forced } => {
                        unedited = unedited.or(Some((allowed, agreed)));
                        (allowed, agreed) = (Level::L1, u32::from(!forced));
                    }
                    Event::Restored => (allowed, agreed) = unedited.take().unwrap_or((allowed, agreed)),
                    Event::RunAgreed => agreed += 1,
                    _ => {}
                }
                let before = now;
                now = now.after(event);
                if now.level >= Level::L2 {
                    prop_assert!(allowed >= now.level && agreed >= RUNS, "{now:?}");
                }
                let falls = matches!(event, Event::RunDisagreed | Event::PredictionFalse | Event::GuardFailed
                    | Event::StepFailed | Event::Rejected);
                if falls {
                    prop_assert!(now.level < before.level || before.level == Level::L0);
                    prop_assert!(now.agreeing == 0 && now.predicted == 0);
                }
                prop_assert!(!now.reason().is_empty());
            }
        }
    }
}
