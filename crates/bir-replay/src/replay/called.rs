//! `run_scenario`: the call that the model makes, and the request that it becomes.

use super::{Phase, RETIRED, Replay, Whom};
use crate::action::{Action, Permission, Reply};
use crate::event::AskId;
use crate::gate::Consent;
use crate::inputs::Bodies;
use crate::intent::{By, What};
use crate::state::{State, Stop, StopKind};

/// What is answered where there is nothing to run.
pub(super) const NOTHING: &str = "Nothing to run for this request; continue normally.";
/// What a second call is answered while the first one runs.
pub(super) const ALREADY: &str = "The prepared results for this request are already being produced for an earlier run_scenario call, and they come back there. Do not call run_scenario again, and do not repeat its steps.";

impl Replay {
    pub(super) fn scenario_pre(&mut self, ask: AskId, call: Option<String>, planning: bool) {
        if planning || self.phase != Phase::Announced {
            return self.as_written(ask, None);
        }
        self.phase = Phase::Called(call);
        let permission = match self.consent {
            Consent::Given => Permission::Allow,
            Consent::Ask => Permission::Ask,
        };
        self.reply(ask, Reply::Scenario(permission));
    }

    pub(super) fn scenario_run(&mut self, ask: AskId, call: Option<&str>, bodies: &mut dyn Bodies) {
        let nothing = |text: &str| Reply::Nothing { text: text.to_owned(), note: false };
        match &self.phase {
            Phase::Called(called) if called.is_none() || call.is_none() || called.as_deref() == call => {
                if self.consent == Consent::Ask {
                    self.consent = Consent::Given;
                    self.out.push(Action::Approved);
                }
                let (budget, limit) = (self.budgets.plan_ms, self.coverage.lead);
                self.begin(Whom::Scenario(ask), budget, limit);
                self.advance(bodies);
            }
            Phase::Running(_) => self.reply(ask, nothing(ALREADY)),
            Phase::Over if self.owed => {
                let text = self.owed_text(crate::budget::MAX_REPLAY_REASON);
                self.told();
                self.reply(ask, Reply::Nothing { text, note: true });
            }
            _ => self.reply(ask, nothing(NOTHING)),
        }
    }

    /// The call has ended. One that never came here was refused, and is not gone around.
    pub(super) fn scenario_post(&mut self, ask: AskId, call: Option<&str>) {
        let is = |called: &Option<String>| called.is_none() || call.is_none() || called.as_deref() == call;
        let context = match &self.phase {
            Phase::Called(called) if is(called) => {
                self.retire("replay.vetoed", "the call of `run_scenario` did not come here");
                Some(RETIRED.to_owned())
            }
            _ => None,
        };
        self.as_written(ask, context);
    }

    /// Whoever called waits no longer: nothing more begins, and what is under way is cancelled.
    pub(super) fn scenario_cancelled(&mut self, ask: AskId) {
        let waits = matches!(&self.phase, Phase::Running(run) if run.whom == Whom::Scenario(ask));
        if waits {
            self.cut_off();
        }
    }

    pub(super) fn cut_off(&mut self) {
        let next = self.next_waiting();
        self.stop_for(Stop::new(StopKind::Cancelled, next, "the scenario run was cancelled"));
        for n in 0..self.states.len() {
            if !matches!(self.states.get(n), Some(State::Sent { by: By::Plan, .. })) {
                continue;
            }
            let work = self.work(n);
            if !self.out.contains(&Action::Cancel { work: work.clone() }) {
                self.out.push(Action::Cancel { work });
            }
            if let Some(state) = self.states.get_mut(n) {
                *state = State::Unknown { by: By::Plan };
            }
            self.record(What::Outcome { step: n, fate: crate::intent::Fate::Unknown });
        }
        let begun = self.states.iter().any(|state| *state != State::Waiting);
        self.unseen |= begun;
        self.over(begun);
    }
}
