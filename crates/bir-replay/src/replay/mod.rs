//! One armed plan, from the prompt to the end of its turn.
//!
//! ```text
//!             ┌─ run_scenario ─▶ Called ─▶ Running ─┬─ every step done ───────────────────▶ Over
//!  Announced ─┤                                     └─ the lead is done ─▶ Steering
//!             └─ any other call ─▶ Over (retired: nothing ran)                │  ▲
//!  Steering ── the call is the step ─▶ pinned ─▶ its result threads ──────────┘  │ waits for a pin
//!     │  └──── another call beside a pin ────────────────────────────────────────┘
//!     └─ a call off the script ─▶ Running (what is left, inside of that hook) ─▶ Over
//!  anything that goes wrong ─▶ stop: nothing more is begun; what is under way may still answer ─▶ Over, and a note is owed
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `run` | steps that the plan carries out |
//! | `steer` | calls of the model that are pinned, wait, or go off the script |
//! | `called` | `run_scenario` |
//! | `end` | what a plan leaves: notes, results, records, the report |

mod called;
mod end;
mod run;
mod steer;
#[cfg(test)]
mod tests;

use crate::action::{Action, Reply};
use crate::budget::Budgets;
use crate::coverage::Coverage;
use crate::directive::{self, Announced};
use crate::event::{AskId, Ended, Event, Pre};
use crate::expect::Expected;
use crate::gate::{Consent, Ready};
use crate::inputs::{Bodies, Values};
use crate::intent::{By, Entry, What};
use crate::order::Order;
use crate::outcome::{Account, Standing};
use crate::policy::Policy;
use crate::script::{Now, Script};
use crate::state::{State, Stop, StopKind};
use bir_model::ScenarioId;
use bir_model::scenario::{Mode, Outcome};
use bir_plan::result;
use bir_plan::trace::Output;
use serde_json::{Map, Value};

/// What is told of a plan that is not carried on, beside the call that goes on as it was written.
pub(crate) const RETIRED: &str = "[BaseInstRunner calculated replay] The recorded scenario is not being run for this request. Do the task with your own tools and your own arguments.";

/// An armed plan.
#[derive(Debug)]
pub struct Replay {
    id: String,
    scenario: ScenarioId,
    script: Script,
    params: Map<String, Value>,
    now: Now,
    coverage: Coverage,
    order: Order,
    policy: Policy,
    expected: Expected,
    budgets: Budgets,
    consent: Consent,
    /// The tools, as the host renders them.
    tools: Vec<String>,
    kept: Map<String, Value>,
    states: Vec<State>,
    /// What each step ran with.
    inputs: Vec<Option<Value>>,
    phase: Phase,
    stop: Option<Stop>,
    account: Account,
    /// It has tried to carry out something.
    tried: bool,
    /// The model has to be told why it stopped.
    owed: bool,
    /// Something ran of which the model has not seen the result.
    unseen: bool,
    /// The end stands in the record.
    closed: bool,
    pins: Vec<Pin>,
    held: Vec<Held>,
    /// The model made a call of the expected tool that was not the step.
    declined: bool,
    at: u64,
    out: Vec<Action>,
}

/// Where a plan is.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// The model was told to call `run_scenario`.
    Announced,
    /// It is about to.
    Called(Option<String>),
    /// Steps are being carried out.
    Running(Run),
    /// The model calls, and its calls are pinned.
    Steering,
    /// Nothing more is begun.
    Over,
}

/// Steps that are being carried out, for somebody who waits.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    whom: Whom,
    /// Nothing begins after it, ms since the Unix epoch.
    until: u64,
    /// Steps before this one.
    limit: usize,
    /// Those that were begun.
    begun: Vec<usize>,
}

/// Who waits for a [`Run`].
#[derive(Debug, Clone, PartialEq)]
enum Whom {
    /// `run_scenario`.
    Scenario(AskId),
    /// The hook of a call that went off the script.
    Hook(Box<Pre>),
    /// Nobody any more.
    Nobody,
}

/// A call of the model that runs with the plan's arguments.
#[derive(Debug, Clone, PartialEq)]
struct Pin {
    step: usize,
    call: String,
    inject: Option<String>,
    pinned: Value,
    /// The host has said that it ended, and how; its proxy is still waited for.
    posted: Option<(u64, crate::event::Ran, Ended)>,
}

/// A call of the model that waits for a pinned one.
#[derive(Debug, Clone, PartialEq)]
struct Held {
    pre: Pre,
    until: u64,
}

impl Replay {
    /// Arms a plan under a name that nothing else has, and says so before anything runs. `budgets` are clamped already.
    #[must_use]
    pub fn arm(
        id: String,
        ready: Ready,
        policy: &Policy,
        budgets: Budgets,
        at: u64,
        bodies: &mut dyn Bodies,
    ) -> (Self, Vec<Action>) {
        let steps = ready.script.steps.len();
        let tools: Vec<String> = ready.script.steps.iter().map(|step| step.tool_name.clone()).collect();
        let mode = ready.coverage.mode;
        let mut plan = Self {
            order: Order::of(&ready.script, policy),
            account: Account::new(ready.ticket, mode, Some(ready.script.level), steps, at),
            id,
            scenario: ready.scenario,
            params: ready.params,
            now: ready.now,
            coverage: ready.coverage,
            policy: policy.clone(),
            expected: ready.expected,
            budgets,
            consent: ready.consent,
            kept: Map::new(),
            states: vec![State::Waiting; steps],
            inputs: vec![None; steps],
            phase: if ready.delivers { Phase::Announced } else { Phase::Steering },
            stop: None,
            tried: false,
            owed: false,
            unseen: false,
            closed: false,
            pins: Vec::new(),
            held: Vec::new(),
            declined: false,
            at,
            out: Vec::new(),
            tools,
            script: ready.script,
        };
        plan.record(What::Armed {
            scenario: plan.scenario,
            revision: plan.script.revision,
            mode,
            ticket: ready.ticket,
            tools: plan.tools.clone(),
        });
        let named: Vec<String> = plan.tools.iter().map(|tool| crate::note::name(tool)).collect();
        let why = format!("{} {mode}, {} steps: {}", plan.scenario, steps, named.join(", "));
        plan.log("plan.armed", None, why);
        let text = plan.directive(bodies);
        plan.out.push(Action::Announce(text));
        let out = std::mem::take(&mut plan.out);
        (plan, out)
    }

    /// Takes one event. What had to happen until then happens first.
    pub fn hear(&mut self, at: u64, event: Event, bodies: &mut dyn Bodies) -> Vec<Action> {
        self.at = self.at.max(at);
        self.pass(bodies);
        match event {
            Event::Unannounced => self.retire("replay.arm_unannounced", "the prompt was answered without it"),
            Event::ScenarioPre { ask, call, planning } => self.scenario_pre(ask, call, planning),
            Event::ScenarioRun { ask, call } => self.scenario_run(ask, call.as_deref(), bodies),
            Event::ScenarioPost { ask, call } => self.scenario_post(ask, call.as_deref()),
            Event::ScenarioCancelled { ask } => self.scenario_cancelled(ask),
            Event::Pre(pre) => self.pre(pre, bodies),
            Event::Post { ask, call, ran, ended } => self.post(ask, call.as_deref(), ran, ended, bodies),
            Event::Report { call, ran, ended } => self.report(&call, &ran, ended, bodies),
            Event::Worked { work, ended } => self.worked(&work, ended, bodies),
            Event::AskLost(ask) => self.ask_lost(ask),
            Event::Sealed(seal) => self.seal(&seal),
            Event::Tick => {}
        }
        self.advance(bodies);
        std::mem::take(&mut self.out)
    }

    /// When a tick may change something, ms since the Unix epoch.
    #[must_use]
    pub fn due_at(&self) -> Option<u64> {
        let sent = self.states.iter().filter_map(|state| match state {
            State::Sent { due, .. } => *due,
            _ => None,
        });
        let until = match &self.phase {
            Phase::Running(run) => Some(run.until),
            _ => None,
        };
        let pins = self.pins.iter().filter_map(Pin::due);
        sent.chain(until).chain(pins).chain(self.held.iter().map(|held| held.until)).min()
    }

    /// What is known of each step.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// Why it stopped, where it did.
    #[must_use]
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Whether nothing more is begun.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// How it was armed.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.coverage.mode
    }

    /// What became of it, as far as is known.
    pub fn outcome(&mut self) -> Outcome {
        let standing = Standing {
            tools: &self.tools,
            states: &self.states,
            stop: self.stop.as_ref(),
            tried: self.tried,
        };
        self.account.standing(&standing)
    }

    fn directive(&self, bodies: &mut dyn Bodies) -> String {
        let announced: Vec<Announced<'_>> = self.announced(0, self.coverage.reached, bodies);
        match &self.phase {
            Phase::Announced if self.coverage.mode == Mode::Direct => {
                directive::direct(&self.script.intent, &announced)
            }
            Phase::Announced => directive::lead(&self.script.intent, &announced, self.coverage.lead),
            _ => directive::steer(&self.script.intent, &announced, 0, true),
        }
    }

    /// Steps as they are told to the model, with the inputs that are known already.
    fn announced(&self, from: usize, to: usize, bodies: &mut dyn Bodies) -> Vec<Announced<'_>> {
        let steps = self.script.steps.iter().enumerate().take(to).skip(from);
        let mut out = Vec::new();
        for (n, step) in steps {
            // What waits for a result is not known, and a body is not evaluated for a preview.
            let input = match step.input_body {
                None => self.values().input(n, bodies).ok(),
                Some(_) => None,
            };
            out.push(Announced { tool: &step.tool_name, reasoning: step.reasoning.as_deref(), input });
        }
        out
    }

    fn values(&self) -> Values<'_> {
        Values {
            script: &self.script,
            params: &self.params,
            kept: &self.kept,
            now: &self.now,
            policy: &self.policy,
            expected: &self.expected,
            budgets: &self.budgets,
        }
    }

    /// Meets what is due.
    fn pass(&mut self, bodies: &mut dyn Bodies) {
        for n in 0..self.states.len() {
            let overdue =
                matches!(self.states.get(n), Some(State::Sent { due: Some(due), .. }) if *due <= self.at);
            if overdue {
                self.out.push(Action::Cancel { work: self.work(n) });
                self.log("replay.step_timeout", Some(n), "it did not answer in its time");
                self.absorb(n, By::Plan, Ended::Unknown("it did not answer in its time".into()), bodies);
            }
        }
        self.advance(bodies);
        self.pass_pins(bodies);
        self.pass_held(bodies);
        self.advance(bodies);
    }

    /// Takes in how a step ended.
    fn absorb(&mut self, n: usize, by: By, ended: Ended, bodies: &mut dyn Bodies) {
        let began = match self.states.get(n) {
            Some(State::Sent { at, .. }) => *at,
            _ => self.at,
        };
        let (state, stop) = match ended {
            Ended::Result(output) if result::of_value(output.clone(), false) == Output::Failed => {
                let said = output.get("content").unwrap_or(&output).to_string();
                let stop =
                    Stop::new(StopKind::ToolError, n, "the tool answered with an error").saying(said.clone());
                (State::Error { by, text: said }, Some(stop))
            }
            Ended::Result(output) => match self.values().keep(n, &output, bodies) {
                Ok(more) => {
                    self.kept.extend(more);
                    (State::Done { by, output, took: self.at.saturating_sub(began) }, None)
                }
                Err(fault) => {
                    let mut stop = Stop::new(StopKind::Output, n, fault.why).at(fault.stage);
                    stop.said = fault.said;
                    (State::Unread { by, output }, Some(stop))
                }
            },
            Ended::Error(text) => {
                let stop =
                    Stop::new(StopKind::ToolError, n, "the tool answered with an error").saying(text.clone());
                (State::Error { by, text }, Some(stop))
            }
            Ended::Unknown(why) => {
                let stop = Stop::new(StopKind::Unanswered, n, crate::quote::inline(&why, 120));
                (State::Unknown { by }, Some(stop))
            }
            Ended::NotMade(why) => {
                let (kind, ours) = match by {
                    By::Plan => (StopKind::NotSent, "nobody took the call"),
                    By::Session => (StopKind::Refused, "the call was refused"),
                };
                (State::NotSent, Some(Stop::new(kind, n, ours).saying(why)))
            }
        };
        let fate = state.fate();
        if let Some(slot) = self.states.get_mut(n) {
            *slot = state;
        }
        self.record(What::Outcome { step: n, fate });
        if let Some(stop) = stop {
            self.stop_for(stop);
        }
    }

    /// Nothing more is begun. What is under way may still answer: reads are cancelled, and waited for a little; writes have their time.
    fn stop_for(&mut self, stop: Stop) {
        if self.stop.is_some() {
            return;
        }
        self.log("replay.stopped", stop.step, format!("{:?}: {}", stop.kind, stop.why));
        self.stop = Some(stop);
        for n in 0..self.states.len() {
            let reads = self.script.steps.get(n).is_some_and(|step| !step.writes());
            let soon = self.at.saturating_add(crate::budget::SETTLE_MS);
            if reads && let Some(State::Sent { due: Some(due), .. }) = self.states.get_mut(n) {
                *due = (*due).min(soon);
                let work = self.work(n);
                self.out.push(Action::Cancel { work });
            }
        }
    }

    /// The first step of which nothing was begun.
    fn next_waiting(&self) -> Option<usize> {
        self.states.iter().position(|state| *state == State::Waiting)
    }

    fn is_done(&self, n: usize) -> bool {
        self.states.get(n).is_some_and(State::is_done)
    }

    /// The name of a step's work.
    fn work(&self, n: usize) -> String {
        format!("{}.{n}", self.id)
    }

    fn record(&mut self, what: What) {
        self.out.push(Action::Record(Entry { plan: self.id.clone(), at: self.at, what }));
    }

    fn log(&mut self, name: &'static str, step: impl Into<Option<usize>>, why: impl Into<String>) {
        self.out.push(Action::log(name, step.into(), why));
    }

    fn reply(&mut self, to: AskId, reply: Reply) {
        self.out.push(Action::Reply { to, reply });
    }

    fn as_written(&mut self, to: AskId, context: Option<String>) {
        self.reply(to, Reply::AsWritten { context });
    }
}
