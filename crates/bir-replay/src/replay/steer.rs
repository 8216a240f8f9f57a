//! Calls of the model: pinned where they are the step, held beside a pin, as they were written where they are none, and what is done when
//! the model goes its own way.

use super::{Held, Phase, Pin, RETIRED, Replay, Whom};
use crate::action::{Action, Permission, Reply};
use crate::budget::{REPORT_GRACE_MS, WAIT_REPORTED_MS, WAIT_RUNNING_MS};
use crate::channel::InPlace;
use crate::coverage::Reach;
use crate::event::{AskId, Ended, Pre, Ran};
use crate::gate::Consent;
use crate::inputs::Bodies;
use crate::intent::{By, What};
use crate::pin;
use crate::state::{State, Stop, StopKind};
use bir_model::own_calls;
use serde_json::Value;

/// The server that serves `run_scenario`.
const OWN_SERVER: &str = "bir";
/// What a call beside a running `run_scenario` is answered.
const RUNNING: &str = "[BaseInstRunner calculated replay] The prepared results for this request are being produced by an earlier run_scenario call, and they come back there. Wait for them before you call another tool, and do not repeat their steps.";
/// What a call is answered beside which another one was taken for the rest of the plan.
const BESIDE: &str = "[BaseInstRunner calculated replay] Steps of the recorded scenario ran in place of another call of this message; read its result before you go on.";

impl Pin {
    /// Until when its proxy's report is waited for.
    pub(super) fn due(&self) -> Option<u64> {
        self.posted.as_ref().map(|(at, _, _)| at.saturating_add(REPORT_GRACE_MS))
    }
}

impl Replay {
    pub(super) fn pre(&mut self, pre: Pre, bodies: &mut dyn Bodies) {
        let text = pre.input.to_string();
        let step = own_calls::is_step(
            &pre.tool.name,
            pre.tool.server.as_deref(),
            pre.tool.tool.as_deref(),
            Some(text.as_str()),
        );
        if pre.planning || pre.agent || !step {
            return self.as_written(pre.ask, None);
        }
        // The only tool of ours that stands for work of the agent.
        if pre.tool.server.as_deref() == Some(OWN_SERVER) {
            return self.scenario_pre(pre.ask, pre.call, pre.planning);
        }
        match &self.phase {
            Phase::Over => self.deliver(&pre),
            Phase::Announced | Phase::Called(_) => {
                self.retire(
                    "replay.vetoed",
                    "the first call was not `run_scenario`, or that one did not come here",
                );
                self.as_written(pre.ask, Some(RETIRED.to_owned()));
            }
            Phase::Running(run) => match run.whom {
                Whom::Scenario(_) => self.in_place(&pre, RUNNING),
                Whom::Hook(_) | Whom::Nobody => {
                    let until = run.until;
                    self.held.push(Held { pre, until });
                }
            },
            Phase::Steering => self.steer(pre, false, bodies),
        }
    }

    /// `waited`: it has waited for a pin already.
    pub(super) fn steer(&mut self, pre: Pre, waited: bool, bodies: &mut dyn Bodies) {
        let Some(call) = pre.call.clone() else { return self.diverge(pre) };
        let may_begin: Vec<usize> = (0..self.coverage.reached)
            .filter(|n| self.states.get(*n) == Some(&State::Waiting))
            .filter(|n| self.order.may_begin(*n, |step| self.is_done(step)))
            .collect();
        let is_of = |n: &usize| self.script.steps.get(*n).is_some_and(|step| step.is_of(&pre.tool));
        let of_tool: Vec<usize> = may_begin.into_iter().filter(is_of).collect();
        for n in &of_tool {
            let Some(input) = self.input(*n, bodies) else {
                // The note takes the place of the call.
                self.over(true);
                return self.deliver_in_place(&pre);
            };
            let fits = self.script.steps.get(*n).map(|step| pin::is_the_step(step, &pre.input, &input));
            match fits {
                Some(Ok(())) => return self.pin(*n, call, input, &pre),
                Some(Err(why)) => self.log("replay.pin_declined", *n, why),
                None => {}
            }
        }
        if self.pins.iter().any(|pin| self.states.get(pin.step).is_some_and(State::is_sent)) {
            return self.beside(pre, waited);
        }
        if !of_tool.is_empty() {
            self.declined = true;
            return self.as_written(pre.ask, None);
        }
        if self.declined {
            self.retire("replay.pin_abandoned", "the model did the step its own way");
            return self.as_written(pre.ask, Some(RETIRED.to_owned()));
        }
        self.diverge(pre);
    }

    fn pin(&mut self, n: usize, call: String, input: Value, pre: &Pre) {
        self.tried = true;
        self.declined = false;
        self.record(What::Intent { step: n, by: By::Session });
        if let (Some(state), Some(slot)) = (self.states.get_mut(n), self.inputs.get_mut(n)) {
            *state = State::Sent { by: By::Session, at: self.at, due: None };
            *slot = Some(input.clone());
        }
        let inject = pre.inject.clone().filter(|_| self.is_wrapped(n));
        let permission =
            (self.coverage.runs(n) && self.consent == Consent::Given).then_some(Permission::Allow);
        let reply = Reply::Pin {
            input: pin::with_call_id(&input, inject.as_deref()),
            pinned: input.clone(),
            permission,
        };
        self.pins.push(Pin { step: n, call, inject, pinned: input, posted: None });
        self.reply(pre.ask, reply);
    }

    /// A call beside a pinned one.
    fn beside(&mut self, pre: Pre, waited: bool) {
        let last = self.next_waiting().is_none_or(|n| n >= self.coverage.reached);
        if !waited && !last {
            let until = self.until_threaded().unwrap_or_else(|| self.at.saturating_add(WAIT_RUNNING_MS));
            return self.held.push(Held { pre, until });
        }
        let step = self.states.iter().position(State::is_sent);
        self.log("replay.concurrent_call", step, "another call runs beside a pinned one");
        self.stop_for(Stop::new(StopKind::Concurrent, step, "another call runs beside a pinned one"));
        self.over(true);
        self.deliver_in_place(&pre);
    }

    /// Until when a pin of which the host has told may still thread.
    fn until_threaded(&self) -> Option<u64> {
        let posted = self.pins.iter().filter_map(|pin| pin.posted.as_ref().map(|(at, _, _)| *at));
        posted.max().map(|at| at.saturating_add(WAIT_REPORTED_MS))
    }

    /// The model went off the script: what is left runs here, as far as it may.
    fn diverge(&mut self, pre: Pre) {
        let next = self.next_waiting();
        self.log("replay.diverged", next, "the model called something else");
        let (budget, all) = (self.budgets.pretool_ms, self.states.len());
        self.begin(Whom::Hook(Box::new(pre)), budget, all);
    }

    pub(super) fn post(
        &mut self,
        ask: Option<AskId>,
        call: Option<&str>,
        ran: Ran,
        ended: Ended,
        bodies: &mut dyn Bodies,
    ) {
        if let Some(at) = self.pins.iter().position(|pin| call == Some(pin.call.as_str())) {
            let now = self.at;
            let (step, overridden) = self
                .pins
                .get(at)
                .map_or((0, false), |pin| (pin.step, pin::ran_as_pinned(&ran, &pin.pinned) == Some(false)));
            let waits = self.is_wrapped(step) && matches!(ended, Ended::Result(_)) && !overridden;
            if waits {
                // The recording has the proxy's view of it: that one is waited for.
                if let Some(pin) = self.pins.get_mut(at) {
                    pin.posted.get_or_insert((now, ran, ended));
                }
                let until = now.saturating_add(WAIT_REPORTED_MS);
                self.held.iter_mut().for_each(|held| held.until = held.until.max(until));
            } else {
                self.settle(at, &ran, ended, bodies);
            }
        }
        if let Some(ask) = ask {
            let context = self.owed_beside();
            self.as_written(ask, context);
        }
    }

    pub(super) fn report(&mut self, call: &str, ran: &Ran, ended: Ended, bodies: &mut dyn Bodies) {
        let is = |pin: &Pin| pin.call == call || pin.inject.as_deref() == Some(call);
        if let Some(at) = self.pins.iter().position(is) {
            self.settle(at, ran, ended, bodies);
        }
    }

    /// A pinned call has ended.
    fn settle(&mut self, at: usize, ran: &Ran, ended: Ended, bodies: &mut dyn Bodies) {
        if at >= self.pins.len() {
            return;
        }
        let pin = self.pins.remove(at);
        if !self.states.get(pin.step).is_some_and(State::is_sent) {
            return;
        }
        let as_pinned = match (&ended, pin::ran_as_pinned(ran, &pin.pinned)) {
            (Ended::NotMade(_), _) | (_, Some(true)) => true,
            (_, Some(false)) => false,
            // Of a failure it is enough to know that it failed.
            (Ended::Result(_), None) => false,
            (_, None) => true,
        };
        if as_pinned {
            self.absorb(pin.step, By::Session, ended, bodies);
        } else {
            let why =
                if *ran == Ran::Untold { "nobody says which" } else { "another hook may have changed them" };
            self.log("replay.pin_overridden", pin.step, why);
            if let Some(state) = self.states.get_mut(pin.step) {
                *state = State::Overridden;
            }
            self.record(What::Outcome { step: pin.step, fate: State::Overridden.fate() });
            self.stop_for(Stop::new(StopKind::Overridden, pin.step, why));
        }
        self.threaded(bodies);
    }

    /// What follows when a pin has threaded.
    fn threaded(&mut self, bodies: &mut dyn Bodies) {
        if self.phase != Phase::Steering {
            return;
        }
        let next = (0..self.coverage.reached).find(|n| self.states.get(*n) == Some(&State::Waiting));
        let sent = self.states.iter().any(State::is_sent);
        if self.stop.is_none() && next.is_none() && !sent {
            match self.next_waiting() {
                None => {
                    self.close();
                    self.over(false);
                }
                Some(n) => {
                    let why = self.bar(n);
                    self.stop_for(Stop::new(StopKind::Input, n, why));
                }
            }
        }
        if self.stop.is_some() {
            self.over(true);
        }
        self.release(bodies);
    }

    /// Calls that waited are looked at again.
    pub(super) fn release(&mut self, bodies: &mut dyn Bodies) {
        for held in std::mem::take(&mut self.held) {
            match &self.phase {
                Phase::Steering => self.steer(held.pre, false, bodies),
                _ => self.pre(held.pre, bodies),
            }
        }
    }

    pub(super) fn pass_held(&mut self, bodies: &mut dyn Bodies) {
        let now = self.at;
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|held| held.until <= now);
        self.held = held;
        for Held { pre, .. } in due {
            match &self.phase {
                Phase::Steering => self.steer(pre, true, bodies),
                Phase::Running(_) => self.as_written(pre.ask, None),
                _ => self.pre(pre, bodies),
            }
        }
    }

    pub(super) fn pass_pins(&mut self, bodies: &mut dyn Bodies) {
        let now = self.at;
        while let Some(at) = self.pins.iter().position(|pin| pin.due().is_some_and(|due| due <= now)) {
            let Some((_, ran, ended)) = self.pins.get_mut(at).and_then(|pin| pin.posted.take()) else {
                break;
            };
            let step = self.pins.get(at).map(|pin| pin.step);
            self.log(
                "replay.thread_fallback",
                step,
                "no report of its proxy: the host's view threads, and may have another shape",
            );
            self.settle(at, &ran, ended, bodies);
        }
    }

    /// Whoever asked has been answered by somebody else.
    pub(super) fn ask_lost(&mut self, ask: AskId) {
        self.held.retain(|held| held.pre.ask != ask);
        let Phase::Running(run) = &mut self.phase else { return };
        if matches!(&run.whom, Whom::Hook(pre) if pre.ask == ask) {
            run.whom = Whom::Nobody;
            let next = self.next_waiting();
            self.log("replay.diverge_overran", next, "the hook had to answer without it");
            self.stop_for(Stop::new(StopKind::Budget, next, "the hook's time is over"));
        }
    }

    /// The calls that were held while steps ran in the place of another one.
    pub(super) fn answer_held(&mut self, ran: bool) {
        for held in std::mem::take(&mut self.held) {
            if ran {
                self.in_place(&held.pre, BESIDE);
            } else {
                self.as_written(held.pre.ask, None);
            }
        }
    }

    pub(super) fn in_place(&mut self, pre: &Pre, text: &str) {
        let in_place: InPlace = crate::channel::in_place(&pre.tool, text);
        self.out.push(Action::Reply { to: pre.ask, reply: Reply::InPlace(in_place) });
    }

    /// Whether a step's server has a proxy, whose view of a result is the recorded one.
    fn is_wrapped(&self, n: usize) -> bool {
        self.coverage.steps.get(n).is_some_and(|step| step.reach == Reach::Direct)
    }
}
