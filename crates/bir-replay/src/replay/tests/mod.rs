//! The machine, told what hooks, proxies and time would tell it.

mod attack;
mod model;
mod run;
mod steer;

use super::Replay;
use crate::action::{Action, Reply};
use crate::budget::Budgets;
use crate::channel::InPlace;
use crate::event::{AskId, Ended, Event, Pre, Ran, ToolRef};
use crate::expect::Expected;
use crate::gate::{Code, Decision, Found, Place, Question, Ready, Tools, decide};
use crate::inputs::{Bodies, NoBodies};
use crate::intent::{Entry, What};
use crate::policy::Policy;
use crate::script::Now;
use crate::tests::matched;
use bir_model::scenario::Level;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A plan, and everything that it did.
struct Bed {
    plan: Replay,
    at: u64,
    asks: u64,
    entries: Vec<Entry>,
    last: Vec<Action>,
    all: Vec<Action>,
}

struct Setting {
    policy: Policy,
    wrapped: BTreeSet<String>,
    level: Level,
    approved: bool,
    delivers: bool,
    budgets: Budgets,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            wrapped: ["s", "t"].map(str::to_owned).into(),
            level: Level::L3,
            approved: true,
            delivers: true,
            budgets: Budgets::default(),
        }
    }
}

impl Setting {
    fn ready(&self, steps: Value, params: Value) -> Result<Ready, Code> {
        let question = Question {
            at: 1_000,
            now: Now { text: "2026-11-30T08:00".into(), ms: 1_796_025_600_000 },
            found: Found::Match(Box::new(matched(steps, self.level, params))),
            planning: false,
            on: true,
            cooling: false,
            held: false,
            policy: &self.policy,
            wrapped: &self.wrapped,
            tools: Tools::default(),
            here: Place::default(),
            there: Place::default(),
            approved: self.approved,
            delivers: self.delivers,
            expected: Expected::default(),
        };
        match decide(question) {
            Decision::Arm(ready) => Ok(*ready),
            Decision::Decline(declined) => Err(declined.code),
        }
    }

    fn bed(&self, steps: Value) -> Bed {
        let ready = self.ready(steps, json!({"p": "dev", "q": "x"})).expect("armed");
        let (plan, actions) =
            Replay::arm("plan".into(), ready, &self.policy, self.budgets, 1_000, &mut NoBodies);
        let mut bed =
            Bed { plan, at: 1_000, asks: 0, entries: Vec::new(), last: Vec::new(), all: Vec::new() };
        bed.take(actions);
        bed
    }
}

impl Bed {
    fn of(steps: Value) -> Self {
        Setting::default().bed(steps)
    }

    fn take(&mut self, actions: Vec<Action>) {
        for action in &actions {
            if let Action::Record(entry) = action {
                self.entries.push(entry.clone());
            }
        }
        self.all.extend(actions.iter().cloned());
        self.last = actions;
    }

    fn hear(&mut self, event: Event) -> &mut Self {
        self.hear_with(event, &mut NoBodies)
    }

    fn hear_with(&mut self, event: Event, bodies: &mut dyn Bodies) -> &mut Self {
        let actions = self.plan.hear(self.at, event, bodies);
        self.take(actions);
        self
    }

    fn after(&mut self, ms: u64) -> &mut Self {
        self.at += ms;
        self.hear(Event::Tick)
    }

    fn ask(&mut self) -> AskId {
        self.asks += 1;
        AskId(self.asks)
    }

    /// `run_scenario` is called, and comes here.
    fn run_scenario(&mut self) -> &mut Self {
        let ask = self.ask();
        self.hear(Event::ScenarioPre { ask, call: Some("c".into()), planning: false });
        let ask = self.ask();
        self.hear(Event::ScenarioRun { ask, call: Some("c".into()) })
    }

    fn pre(&mut self, call: &str, server: Option<&str>, tool: &str, input: Value) -> &mut Self {
        let ask = self.ask();
        let name = server.map_or(tool.to_owned(), |server| format!("mcp__{server}__{tool}"));
        let tool = ToolRef { name, server: server.map(str::to_owned), tool: server.map(|_| tool.to_owned()) };
        self.hear(Event::Pre(Pre {
            ask,
            call: Some(call.into()),
            tool,
            input,
            agent: false,
            planning: false,
            inject: None,
        }))
    }

    fn post(&mut self, call: &str, ran: Value, ended: Ended) -> &mut Self {
        let ask = Some(self.ask());
        self.hear(Event::Post { ask, call: Some(call.into()), ran: Ran::With(ran), ended })
    }

    fn report(&mut self, call: &str, ran: Value, ended: Ended) -> &mut Self {
        self.hear(Event::Report { call: call.into(), ran: Ran::With(ran), ended })
    }

    fn worked(&mut self, step: usize, ended: Ended) -> &mut Self {
        self.hear(Event::Worked { work: format!("plan.{step}"), ended })
    }

    /// The steps that the last event has sent, with their arguments.
    fn sent(&self) -> Vec<(usize, Value)> {
        let call = |action: &Action| match action {
            Action::Call(call) => Some((call.step, call.arguments.clone())),
            _ => None,
        };
        self.last.iter().filter_map(call).collect()
    }

    fn steps_sent(&self) -> Vec<usize> {
        self.sent().into_iter().map(|(step, _)| step).collect()
    }

    fn cancelled(&self) -> usize {
        self.last.iter().filter(|action| matches!(action, Action::Cancel { .. })).count()
    }

    fn replies(&self) -> Vec<&Reply> {
        fn of(action: &Action) -> Option<&Reply> {
            if let Action::Reply { reply, .. } = action { Some(reply) } else { None }
        }
        self.last.iter().filter_map(of).collect()
    }

    fn replied(&self) -> &Reply {
        match self.replies().as_slice() {
            [reply] => reply,
            others => panic!("not one reply: {others:?}"),
        }
    }

    /// The text of the only reply.
    fn text(&self) -> String {
        match self.replied() {
            Reply::Results { text, .. } | Reply::Nothing { text, .. } => text.clone(),
            Reply::InPlace(InPlace::Command(text) | InPlace::Deny(text) | InPlace::File { text, .. }) => {
                text.clone()
            }
            Reply::AsWritten { context } => context.clone().unwrap_or_default(),
            other => panic!("no text: {other:?}"),
        }
    }

    fn pinned(&self) -> Option<Value> {
        match self.replied() {
            Reply::Pin { input, .. } => Some(input.clone()),
            _ => None,
        }
    }

    fn is_as_written(&self) -> bool {
        matches!(self.replied(), Reply::AsWritten { .. })
    }

    fn logged(&self, name: &str) -> bool {
        self.all.iter().any(|action| matches!(action, Action::Log(line) if line.name == name))
    }

    fn seal(&mut self) -> Option<bir_model::scenario::ExecutionReport> {
        let seal = crate::event::Seal { spent: Some(crate::usage::Spent::default()), ..Default::default() };
        self.hear(Event::Sealed(seal));
        let report = |action: &Action| match action {
            Action::Report(report) => Some((**report).clone()),
            _ => None,
        };
        self.last.iter().find_map(report)
    }

    fn outcome(&mut self) -> String {
        self.plan.outcome().to_string()
    }
}

fn ok(value: Value) -> Ended {
    Ended::Result(value)
}

/// Every intent stands before what it is for, and there is never a second one.
fn journal_is_sound(actions: &[Action]) {
    let mut intents = BTreeSet::new();
    for (at, action) in actions.iter().enumerate() {
        match action {
            Action::Record(Entry { what: What::Intent { step, .. }, .. }) => {
                assert!(intents.insert(*step), "step {step} was intended twice");
            }
            Action::Call(call) => {
                let before = at.checked_sub(1).and_then(|at| actions.get(at));
                let intent = matches!(before, Some(Action::Record(Entry { what: What::Intent { step, .. }, .. })) if *step == call.step);
                assert!(intent, "step {} was sent before its intent stood", call.step);
            }
            _ => {}
        }
    }
}
