//! Steps that the plan carries out: in one call of `run_scenario`, or inside of the hook of a call that went off the script.

use super::{Phase, Replay, Run};
use crate::action::{Action, Call};
use crate::event::Ended;
use crate::gate::Consent;
use crate::inputs::Bodies;
use crate::intent::{By, What};
use crate::state::{State, Stop, StopKind};

impl Replay {
    pub(super) fn begin(&mut self, whom: super::Whom, budget_ms: u64, limit: usize) {
        self.tried = true;
        let until = self.at.saturating_add(budget_ms);
        self.phase = Phase::Running(Run { whom, until, limit, begun: Vec::new() });
    }

    /// Begins what may begin, and ends the run when nothing is under way any more.
    pub(super) fn advance(&mut self, bodies: &mut dyn Bodies) {
        let Phase::Running(run) = &self.phase else { return };
        let (until, limit) = (run.until, run.limit);
        if self.stop.is_none() {
            self.begin_what_may(until, limit, bodies);
        }
        let plans = |state: &State| matches!(state, State::Sent { by: By::Plan, .. });
        if !self.states.iter().any(plans) {
            self.finish(bodies);
        }
    }

    fn begin_what_may(&mut self, until: u64, limit: usize, bodies: &mut dyn Bodies) {
        for n in 0..limit.min(self.states.len()) {
            if self.states.get(n) != Some(&State::Waiting) {
                continue;
            }
            let executes = self.coverage.executes(n) && self.consent == Consent::Given;
            if !executes {
                // Nothing behind it begins. It is the end when all before it is done.
                if (0..n).all(|before| self.is_done(before)) {
                    let stop = Stop::new(StopKind::OutOfReach, n, self.bar(n));
                    self.stop_for(stop);
                }
                return;
            }
            if !self.order.may_begin(n, |step| self.is_done(step)) {
                continue;
            }
            if self.at >= until {
                self.stop_for(Stop::new(StopKind::Budget, n, "the time is over"));
                return;
            }
            if !self.send(n, until, bodies) {
                return;
            }
        }
    }

    /// Sends a step; false where the plan stops instead.
    fn send(&mut self, n: usize, until: u64, bodies: &mut dyn Bodies) -> bool {
        let Some(input) = self.input(n, bodies) else { return false };
        let Some(step) = self.script.steps.get(n) else { return false };
        let Some(server) = step.server.clone() else { return false };
        let tool = step.tool.clone();
        let timeout_ms = self.budgets.step_ms.min(until.saturating_sub(self.at));
        self.record(What::Intent { step: n, by: By::Plan });
        let work = self.work(n);
        self.out.push(Action::Call(Call {
            work,
            step: n,
            server,
            tool,
            arguments: input.clone(),
            timeout_ms,
        }));
        let due = Some(self.at.saturating_add(timeout_ms));
        if let (Some(state), Some(slot)) = (self.states.get_mut(n), self.inputs.get_mut(n)) {
            *state = State::Sent { by: By::Plan, at: self.at, due };
            *slot = Some(input);
        }
        if let Phase::Running(run) = &mut self.phase {
            run.begun.push(n);
        }
        true
    }

    /// The input of a step that is about to begin; none where the plan stops instead.
    pub(super) fn input(&mut self, n: usize, bodies: &mut dyn Bodies) -> Option<serde_json::Value> {
        let writes = self.script.steps.get(n).is_some_and(crate::script::Step::writes);
        let made = self.values().input(n, bodies);
        let ahead = if writes && made.is_ok() { self.values().ahead(n) } else { None };
        match (made, ahead) {
            (Ok(_), Some((later, fault))) => {
                let why =
                    format!("it writes, and step {} cannot be made afterwards: {}", later + 1, fault.why);
                self.stop_for(Stop::new(StopKind::Ahead, n, why));
                None
            }
            (Ok(input), None) => Some(input),
            (Err(fault), _) => {
                let mut stop = Stop::new(StopKind::Input, n, fault.why).at(fault.stage);
                // What a guard has refused is not the logic's fault.
                if matches!(fault.code, "redacted" | "tainted" | "unavailable") {
                    stop.stage = None;
                }
                stop.said = fault.said;
                self.stop_for(stop);
                None
            }
        }
    }

    pub(super) fn worked(&mut self, work: &str, ended: Ended, bodies: &mut dyn Bodies) {
        let Some(n) = (0..self.states.len()).find(|n| self.work(*n) == work) else {
            return self.log("replay.strange_result", None, "it is of no step of this plan");
        };
        match self.states.get(n) {
            Some(State::Sent { by: By::Plan, .. }) => self.absorb(n, By::Plan, ended, bodies),
            Some(State::Unknown { by: By::Plan }) => self.late(n, ended, bodies),
            _ => self.log("replay.duplicate_result", n, "the step has ended already"),
        }
    }

    /// An answer to what was given up. While nobody has been told, what is told is the truth.
    fn late(&mut self, n: usize, ended: Ended, bodies: &mut dyn Bodies) {
        self.log("replay.late_result", n, "it answered after it was given up");
        if matches!(ended, Ended::Unknown(_) | Ended::NotMade(_)) {
            return;
        }
        let told = !self.owed && !matches!(self.phase, Phase::Running(_));
        if told {
            let fate = match &ended {
                Ended::Result(output)
                    if bir_plan::result::of_value(output.clone(), false)
                        != bir_plan::trace::Output::Failed =>
                {
                    crate::intent::Fate::Done
                }
                _ => crate::intent::Fate::Error,
            };
            self.record(What::Outcome { step: n, fate });
        } else {
            self.absorb(n, By::Plan, ended, bodies);
        }
    }

    /// Why a step does not run by itself.
    pub(super) fn bar(&self, n: usize) -> String {
        use crate::coverage::Bar;
        let bar = self.coverage.steps.get(n).and_then(|step| step.bar.as_ref());
        match bar {
            Some(Bar::Level) => "the scenario's level does not let it run by itself".into(),
            Some(Bar::Confidence) => "one of its values may be a coincidence".into(),
            Some(Bar::AfterUnsure) => "it writes, and a step before it is not sure of its values".into(),
            Some(Bar::Live) => "only this session can call its tool".into(),
            Some(Bar::OffAllowlist) => {
                "its server is not on the list of those that a scenario calls by itself".into()
            }
            Some(Bar::Frozen) => "it is frozen".into(),
            Some(Bar::Unexplained) => "nothing explains one of its values".into(),
            Some(Bar::Tainted(place)) => crate::inputs::tainted(place),
            None => "its owner has not approved the scenario".into(),
        }
    }
}
