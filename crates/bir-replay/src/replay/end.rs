//! What a plan leaves: the reply to whoever waits, the note that is owed, the end in the record, the report.

use super::{Phase, RETIRED, Replay, Whom};
use crate::action::{Action, Reply};
use crate::budget::MAX_REPLAY_REASON;
use crate::bundle::{Shown, lay_out};
use crate::channel::room;
use crate::directive;
use crate::event::{Pre, Seal};
use crate::inputs::Bodies;
use crate::intent::{By, Fate, What};
use crate::note::{self, BEGIN, Told};
use crate::outcome::Standing;
use crate::quote::cut;
use crate::state::{State, Stop, StopKind};
use serde_json::Value;

/// What a bundle ends with that the time has cut short.
const PARTIAL: &str = "(partial: the scenario stopped before all of its steps ran)";

impl Replay {
    /// A run has ended: nothing of it is under way.
    pub(super) fn finish(&mut self, bodies: &mut dyn Bodies) {
        let Phase::Running(run) = std::mem::replace(&mut self.phase, Phase::Over) else { return };
        let ran = run.begun.iter().any(|n| {
            self.states.get(*n).is_some_and(|state| !matches!(state, State::Waiting | State::NotSent))
        });
        match run.whom {
            Whom::Scenario(ask) if self.stop.is_none() && run.limit < self.states.len() => {
                self.phase = Phase::Steering;
                let steps = self.announced(run.limit, self.coverage.reached, bodies);
                let rest = directive::steer(&self.script.intent, &steps, run.limit, true);
                let text = self.results(&run.begun, &rest, MAX_REPLAY_REASON);
                let reply = Reply::Results {
                    text,
                    response: self.response(),
                    steps: run.begun.len(),
                    partial: false,
                };
                self.reply(ask, reply);
                // Where the next step is one that no plan carries out, there is nothing to steer through.
                if self.coverage.reached <= run.limit {
                    let why = self.bar(run.limit);
                    self.stop_for(Stop::new(StopKind::Input, run.limit, why));
                    self.over(true);
                }
            }
            Whom::Scenario(ask) => {
                self.close();
                let worked = self.states.iter().filter(|state| state.worked()).count();
                let partial = self.stop.is_some();
                let reply = match (&self.stop, ran) {
                    (None, _) => {
                        let done = format!("{BEGIN} All {worked} steps of the recorded scenario ran.");
                        let after = directive::afterword(&self.scenario.to_string(), self.consent);
                        let text = self.results(&run.begun, &format!("{done} {after}"), MAX_REPLAY_REASON);
                        Reply::Results { text, response: self.response(), steps: worked, partial }
                    }
                    (Some(_), true) => {
                        let mut text = self.owed_text(MAX_REPLAY_REASON - PARTIAL.len() - 2);
                        text.push_str("\n\n");
                        text.push_str(PARTIAL);
                        Reply::Results { text, response: self.response(), steps: worked, partial }
                    }
                    (Some(_), false) => Reply::Nothing { text: self.note(false), note: true },
                };
                self.reply(ask, reply);
            }
            Whom::Hook(pre) => {
                let whole = self.stop.is_none();
                self.stop_for(Stop::new(StopKind::OffScript, None, "the model went its own way"));
                self.close();
                if !ran {
                    self.as_written(pre.ask, Some(RETIRED.to_owned()));
                } else if whole {
                    let done = format!(
                        "{BEGIN} The remaining steps of the recorded scenario ran in place of this call. Go on from their results."
                    );
                    let after = directive::afterword(&self.scenario.to_string(), self.consent);
                    let text = self.results(&run.begun, &format!("{done} {after}"), room(&pre.tool));
                    self.in_place(&pre, &text);
                } else {
                    let text = self.owed_text(room(&pre.tool));
                    self.in_place(&pre, &text);
                }
                self.answer_held(ran);
            }
            Whom::Nobody => {
                self.unseen |= ran;
                self.owed = ran;
                self.answer_held(ran);
            }
        }
    }

    /// Nothing more is begun. `owed`: the model is to be told why.
    pub(super) fn over(&mut self, owed: bool) {
        self.phase = Phase::Over;
        self.owed = owed;
    }

    /// Ends a plan of which the model need not be told anything: it goes on by itself.
    pub(super) fn retire(&mut self, name: &'static str, why: &str) {
        if self.phase == Phase::Over {
            return;
        }
        let next = self.next_waiting();
        self.log(name, next, why);
        self.over(false);
        self.close();
    }

    /// A call comes after the end: the note goes with it, or in its place where it says what the call may repeat.
    pub(super) fn deliver(&mut self, pre: &Pre) {
        if self.owed && self.unseen {
            return self.deliver_in_place(pre);
        }
        let context = self.owed_beside();
        self.as_written(pre.ask, context);
    }

    pub(super) fn deliver_in_place(&mut self, pre: &Pre) {
        let text = self.owed_text(room(&pre.tool));
        self.told();
        self.in_place(pre, &text);
    }

    /// The note that is owed, beside something else; results that the model has not seen do not fit there.
    pub(super) fn owed_beside(&mut self) -> Option<String> {
        (self.owed && !self.unseen).then(|| {
            self.told();
            self.note(false)
        })
    }

    /// The note that is owed, once: it may go with the session's next prompt.
    pub fn take_note(&mut self) -> Option<String> {
        self.owed.then(|| {
            let text = self.owed_text(MAX_REPLAY_REASON);
            self.owed = false;
            text
        })
    }

    pub(super) fn told(&mut self) {
        self.owed = false;
        self.close();
    }

    /// The note, and the results that the model has not seen.
    pub(super) fn owed_text(&self, most: usize) -> String {
        let own: Vec<usize> = (0..self.states.len())
            .filter(|n| {
                self.states.get(*n).is_some_and(|state| state.by() == Some(By::Plan) && state.worked())
            })
            .collect();
        let note = self.note(!own.is_empty());
        self.results(&own, &note, most)
    }

    fn note(&self, below: bool) -> String {
        let none = Stop::new(StopKind::OffScript, None, "the model went its own way");
        note::note(&Told {
            tools: &self.tools,
            states: &self.states,
            stop: self.stop.as_ref().unwrap_or(&none),
            params: &self.params,
            below,
        })
    }

    /// Words of ours, and results of these steps below them.
    fn results(&self, of: &[usize], begin: &str, most: usize) -> String {
        let all = self.states.len();
        let shown = of.iter().filter_map(|n| {
            let output = match self.states.get(*n)? {
                State::Done { output, .. } | State::Unread { output, .. } => output.clone(),
                _ => return None,
            };
            let tool = note::name(self.tools.get(*n)?);
            let input = self.inputs.get(*n).cloned().flatten();
            Some(Shown { heading: format!("Step {} of {all}, {tool}", n + 1), input, output })
        });
        let shown: Vec<Shown> = shown.collect();
        if shown.is_empty() {
            return cut(begin, most);
        }
        let left = most.saturating_sub(begin.chars().count() + 2);
        cut(&format!("{begin}\n\n{}", lay_out(&shown, left)), most)
    }

    /// What the answer is made of: all that the steps kept.
    fn response(&self) -> Value {
        Value::Object(self.kept.clone())
    }

    /// The end stands in the record, once.
    pub(super) fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let outcome = self.outcome();
        self.record(What::Ended { outcome });
    }

    /// The turn is over.
    pub(super) fn seal(&mut self, seal: &Seal) {
        if let Phase::Running(run) = &self.phase {
            let whom = run.whom.clone();
            self.cut_off();
            // Nobody may be there any more: the note stays owed.
            let text = self.owed.then(|| self.owed_text(crate::budget::BASH_CHANNEL_MAX));
            match (whom, text) {
                (Whom::Scenario(ask), text) => {
                    let note = text.is_some();
                    let text = text.unwrap_or_else(|| super::called::NOTHING.to_owned());
                    self.reply(ask, Reply::Nothing { text, note });
                }
                (Whom::Hook(pre), Some(text)) => self.in_place(&pre, &text),
                (Whom::Hook(pre), None) => self.as_written(pre.ask, None),
                (Whom::Nobody, _) => {}
            }
        }
        self.answer_held(false);
        for pin in std::mem::take(&mut self.pins) {
            if let Some(state) = self.states.get_mut(pin.step).filter(|state| state.is_sent()) {
                *state = State::Unknown { by: By::Session };
                self.record(What::Outcome { step: pin.step, fate: Fate::Unknown });
            }
        }
        self.phase = Phase::Over;
        let closed = self.closed;
        if !closed {
            self.close();
        }
        let standing = Standing {
            tools: &self.tools,
            states: &self.states,
            stop: self.stop.as_ref(),
            tried: self.tried,
        };
        if let Some(report) = self.account.report(&standing, seal, self.at) {
            self.out.push(Action::Report(Box::new(report)));
        }
    }
}
