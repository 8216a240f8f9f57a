//! The write-ahead record of a plan, as values: what was about to be done before it is done, and what became of it.
//!
//! ```text
//!  Armed ─▶ Intent(step) ─ the call ─▶ Outcome(step) ─▶ … ─▶ Ended
//!                  └── a crash here: nobody knows whether the step ran. It is unknown, and never tried again.
//! ```
//!
//! No argument and no result is in it.

use bir_model::scenario::{Mode, Outcome};
use bir_model::{ScenarioId, TicketId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Of which plan.
    pub plan: String,
    /// When, ms since the Unix epoch.
    pub at: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum What {
    /// A plan is armed.
    Armed {
        /// Of which scenario.
        scenario: ScenarioId,
        /// Of the scenario.
        revision: u64,
        /// How it runs.
        mode: Mode,
        /// Under which its execution is booked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ticket: Option<TicketId>,
        /// Its tools, in order.
        tools: Vec<String>,
    },
    /// A step is about to be carried out.
    Intent {
        /// Which, from 0.
        step: usize,
        /// By whom.
        by: By,
    },
    /// What became of it.
    Outcome {
        /// Which, from 0.
        step: usize,
        /// How it ended.
        fate: Fate,
    },
    /// Nothing of the plan is begun any more.
    Ended {
        /// What is told the hub of it. It is told once: whoever finds this line after a crash tells nothing.
        outcome: Outcome,
    },
}

/// Who carries out a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The plan, through a proxy.
    Plan,
    /// The session, with the plan's arguments.
    Session,
}

/// What is known of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Nothing of it happened.
    NotStarted,
    /// It ran.
    Done,
    /// It was answered with an error.
    Error,
    /// It was begun, and nobody knows whether it ran.
    Unknown,
}

/// A plan that a crash has cut off, or that has ended before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// Its name.
    pub plan: String,
    /// Of which scenario.
    pub scenario: ScenarioId,
    /// Under which its execution is booked; none: it was told before the crash, or there is nothing to tell.
    pub ticket: Option<TicketId>,
    /// How it ran.
    pub mode: Mode,
    /// Its steps: the tool, what is known, and who carried it out.
    pub steps: Vec<(String, Fate, Option<By>)>,
    /// It had ended before the crash: there is nothing to hand over.
    pub ended: bool,
    told: bool,
}

/// What stands in a journal, plan by plan, in the order of their names. Lines of plans whose beginning is not there are left out: without it
/// nothing can have been begun.
#[must_use]
pub fn recover<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Vec<Recovered> {
    let mut plans: BTreeMap<&str, Recovered> = BTreeMap::new();
    for entry in entries {
        match &entry.what {
            What::Armed { scenario, mode, ticket, tools, .. } => {
                plans.entry(&entry.plan).or_insert_with(|| Recovered {
                    plan: entry.plan.clone(),
                    scenario: *scenario,
                    ticket: *ticket,
                    mode: *mode,
                    steps: tools.iter().map(|tool| (tool.clone(), Fate::NotStarted, None)).collect(),
                    ended: false,
                    told: false,
                });
            }
            What::Intent { step, by } => {
                if let Some((_, fate, who)) =
                    plans.get_mut(entry.plan.as_str()).and_then(|plan| plan.steps.get_mut(*step))
                {
                    // A second intent of a step would be a retry; there is none, and one that stands there changes nothing.
                    if *fate == Fate::NotStarted {
                        *fate = Fate::Unknown;
                    }
                    *who = Some(*by);
                }
            }
            What::Outcome { step, fate } => {
                let step = plans.get_mut(entry.plan.as_str()).and_then(|plan| plan.steps.get_mut(*step));
                if let Some((_, known, _)) = step {
                    *known = *fate;
                }
            }
            What::Ended { .. } => {
                if let Some(plan) = plans.get_mut(entry.plan.as_str()) {
                    (plan.ended, plan.ticket) = (true, None);
                }
            }
        }
    }
    plans.into_values().collect()
}

impl Recovered {
    /// Whether somebody has to be told: something was begun, and the plan did not end.
    #[must_use]
    pub fn owes_a_note(&self) -> bool {
        !self.ended && !self.told && self.steps.iter().any(|(_, fate, _)| *fate != Fate::NotStarted)
    }

    /// The note for the model, once.
    pub fn note(&mut self) -> Option<String> {
        let note = self.owes_a_note().then(|| crate::note::after_a_crash(self))?;
        self.told = true;
        Some(note)
    }

    /// What is told the hub of it, once: nobody knows what it cost.
    pub fn report(&mut self) -> Option<bir_model::scenario::ExecutionReport> {
        let ticket = self.ticket.take()?;
        Some(crate::outcome::after_a_crash(self, ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(plan: &str, what: What) -> Entry {
        Entry { plan: plan.into(), at: 1, what }
    }

    fn armed(ticket: Option<TicketId>) -> What {
        What::Armed {
            scenario: ScenarioId::new(),
            revision: 1,
            mode: Mode::Direct,
            ticket,
            tools: vec!["a".into(), "b".into(), "c".into()],
        }
    }

    #[test]
    fn what_was_begun_and_not_ended_is_unknown() {
        use Fate::{Done, NotStarted, Unknown};
        let ticket = TicketId::new();
        let all = [
            entry("p", armed(Some(ticket))),
            entry("p", What::Intent { step: 0, by: By::Plan }),
            entry("p", What::Outcome { step: 0, fate: Done }),
            entry("p", What::Intent { step: 1, by: By::Session }),
            entry("p", What::Outcome { step: 1, fate: Fate::Error }),
            entry("p", What::Ended { outcome: Outcome::FellBack }),
        ];
        for (lines, fates, ended) in [
            (1, [NotStarted, NotStarted, NotStarted], false),
            (2, [Unknown, NotStarted, NotStarted], false),
            (3, [Done, NotStarted, NotStarted], false),
            (4, [Done, Unknown, NotStarted], false),
            (5, [Done, Fate::Error, NotStarted], false),
            (6, [Done, Fate::Error, NotStarted], true),
        ] {
            let mut plans = recover(&all[..lines]);
            let plan = &mut plans[0];
            assert_eq!(
                plan.steps.iter().map(|(_, fate, _)| *fate).collect::<Vec<_>>(),
                fates,
                "{lines} lines"
            );
            assert_eq!((plan.ended, plan.owes_a_note()), (ended, !ended && lines > 1));
            assert_eq!(plan.note().is_some(), !ended && lines > 1);
            assert_eq!(plan.note(), None, "told once");
            assert_eq!(plan.report().and_then(|report| report.ticket), (!ended).then_some(ticket));
            assert_eq!(plan.report(), None, "a ticket is redeemed once");
        }
    }

    #[test]
    fn lines_that_fit_nothing_change_nothing() {
        let odd = [
            entry("q", What::Intent { step: 0, by: By::Plan }),
            entry("p", armed(None)),
            entry("p", What::Intent { step: 99, by: By::Plan }),
            entry("p", armed(None)),
        ];
        let plans = recover(&odd);
        assert_eq!(plans.len(), 1);
        assert!(plans[0].steps.iter().all(|(_, fate, _)| *fate == Fate::NotStarted));
        let line = serde_json::to_string(&odd[1]).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), odd[1], "{line}");
    }
}
