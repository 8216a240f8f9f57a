//! Random orders of events against servers that keep what was done: late results, duplicates, cancels, timeouts, calls off the script,
//! crashes at every point.
//!
//! Asserted: nothing is done twice, nothing begins after a fault, what was done is a prefix of one honest execution with its very arguments,
//! a note says the truth of each step, and so does a record after a crash.

use super::*;
use crate::intent::{Fate, recover};
use crate::note::BEGIN;
use crate::state::State;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A step of a random plan.
#[derive(Debug, Clone)]
struct Shape {
    /// 0 and 1: wrapped servers; 2: one that nobody wrapped; 3: a built-in tool.
    place: u8,
    writes: bool,
    /// It is made of the result of the step before.
    chained: bool,
    /// It keeps something of its result.
    keeps: bool,
}

fn steps(shapes: &[Shape]) -> Value {
    let mut kept = None;
    let mut out = Vec::new();
    for (n, shape) in shapes.iter().enumerate() {
        let server = ["s", "t", "u"].get(usize::from(shape.place));
        let input = match kept.filter(|_| shape.chained) {
            Some(from) => json!({"v": {"kept": format!("k{from}")}, "n": {"const": n}}),
            None => json!({"v": {"const": "c"}, "n": {"const": n}}),
        };
        let keeps = if shape.keeps {
            json!([{"key": format!("k{n}"), "expr": {"result": ["v"]}}])
        } else {
            json!([])
        };
        if shape.keeps {
            kept = Some(n);
        }
        let effect = if shape.writes { "write" } else { "read" };
        let tool = if server.is_some() { format!("tool{n}") } else { "Other".into() };
        out.push(json!({"server": server, "tool": tool, "effect": effect, "input": input, "keeps": keeps}));
    }
    json!(out)
}

/// What each step runs with in an honest execution.
fn honest(shapes: &[Shape]) -> Vec<Value> {
    let mut kept = None;
    let mut out = Vec::new();
    for (n, shape) in shapes.iter().enumerate() {
        out.push(match kept.filter(|_| shape.chained) {
            Some(from) => json!({"v": format!("r{from}"), "n": n}),
            None => json!({"v": "c", "n": n}),
        });
        if shape.keeps {
            kept = Some(n);
        }
    }
    out
}

fn good(step: usize) -> Value {
    json!({"v": format!("r{step}")})
}

/// The servers, and what they have done for the plan.
#[derive(Debug, Default)]
struct World {
    /// Steps in the order in which they were done, with their arguments.
    applied: Vec<(usize, Value)>,
    /// Sent, and not heard of: by its name the step, the arguments, whether it was done.
    out: BTreeMap<String, (usize, Value, bool)>,
    /// Pinned calls that the host is about to make or has made, by id.
    pinned: BTreeMap<String, (usize, Value)>,
    /// Steps that a pinned call did with other arguments.
    other: BTreeSet<usize>,
    /// Steps of which a note has said that nothing happened.
    said_not: BTreeSet<usize>,
}

impl World {
    fn times(&self, step: usize) -> usize {
        self.applied.iter().filter(|(of, _)| *of == step).count()
    }

    fn apply(&mut self, work: &str) {
        if let Some((step, input, done)) = self.out.get_mut(work)
            && !*done
        {
            *done = true;
            let (step, input) = (*step, input.clone());
            self.applied.push((step, input));
        }
    }
}

struct Run {
    bed: Bed,
    world: World,
    shapes: Vec<Shape>,
    calls: u32,
    stopped: bool,
    past: Vec<(String, Ended)>,
    /// Asks of which the plan was told that nobody waits for them.
    lost: BTreeSet<AskId>,
}

impl Run {
    fn new(shapes: Vec<Shape>, level: Level, approved: bool) -> Self {
        let bed = Setting { level, approved, ..Setting::default() }.bed(steps(&shapes));
        Self {
            bed,
            world: World::default(),
            shapes,
            calls: 0,
            stopped: false,
            past: Vec::new(),
            lost: BTreeSet::new(),
        }
    }

    /// After an event: its actions reach the world, and everything is looked at.
    fn look(&mut self) -> Result<(), TestCaseError> {
        let actions = std::mem::take(&mut self.bed.last);
        self.crashes(&actions)?;
        for action in &actions {
            match action {
                Action::Call(call) => {
                    prop_assert!(!self.stopped, "step {} begins after a fault", call.step);
                    let entry = (call.step, call.arguments.clone(), false);
                    prop_assert!(self.world.out.insert(call.work.clone(), entry).is_none(), "sent twice");
                }
                Action::Reply { reply: Reply::Pin { pinned, .. }, .. } => {
                    prop_assert!(!self.stopped, "a pin after a fault");
                    let step = pinned["n"].as_u64().unwrap() as usize;
                    self.world.pinned.insert(format!("call{}", self.calls), (step, pinned.clone()));
                }
                Action::Reply { reply, .. } => self.told(reply)?,
                _ => {}
            }
        }
        self.stopped |= self.bed.plan.stopped().is_some() || self.bed.plan.is_over();
        self.honest()
    }

    /// At every point between two actions: the record says the truth, and what is said not to have begun never happens.
    fn crashes(&self, actions: &[Action]) -> Result<(), TestCaseError> {
        let new = actions.iter().filter(|action| matches!(action, Action::Record(_))).count();
        let before = self.bed.entries.len() - new;
        let mut stand = before;
        let mut reached: BTreeSet<usize> = self.world.out.values().map(|(step, ..)| *step).collect();
        reached.extend(self.world.pinned.values().map(|(step, _)| *step));
        for action in std::iter::once(None).chain(actions.iter().map(Some)) {
            match action {
                Some(Action::Record(_)) => stand += 1,
                Some(Action::Call(call)) => {
                    reached.insert(call.step);
                }
                Some(Action::Reply { reply: Reply::Pin { pinned, .. }, .. }) => {
                    reached.insert(pinned["n"].as_u64().unwrap() as usize);
                }
                _ => {}
            }
            let Some(plan) = recover(&self.bed.entries[..stand]).into_iter().next() else { continue };
            for (n, (_, fate, _)) in plan.steps.iter().enumerate() {
                match fate {
                    Fate::NotStarted => {
                        prop_assert!(self.world.times(n) == 0 && !reached.contains(&n), "step {n} was begun");
                    }
                    Fate::Done => prop_assert_eq!(self.world.times(n), 1, "step {} was not done", n),
                    Fate::Error | Fate::Unknown => {}
                }
            }
        }
        Ok(())
    }

    /// What was done is a prefix of one honest execution.
    fn honest(&self) -> Result<(), TestCaseError> {
        let honest = honest(&self.shapes);
        for (at, (step, input)) in self.world.applied.iter().enumerate() {
            prop_assert_eq!(input, &honest[*step], "step {} ran with other arguments", step);
            prop_assert_eq!(self.world.times(*step), 1, "step {} was done twice", step);
            prop_assert!(!self.world.said_not.contains(step), "step {} was said not to have begun", step);
            if self.shapes[*step].writes {
                let before: BTreeSet<usize> =
                    self.world.applied[..at].iter().map(|(step, _)| *step).collect();
                prop_assert!((0..*step).all(|n| before.contains(&n)), "write {} before its turn", step);
            }
        }
        Ok(())
    }

    /// A text that the model is told: each step that it names is what it is said to be.
    fn told(&mut self, reply: &Reply) -> Result<(), TestCaseError> {
        let text = match reply {
            Reply::Results { text, .. } | Reply::Nothing { text, note: true } => text,
            Reply::InPlace(InPlace::Command(text) | InPlace::Deny(text) | InPlace::File { text, .. }) => text,
            Reply::AsWritten { context: Some(text) } => text,
            _ => return Ok(()),
        };
        if !text.contains("stopped before finishing") {
            return Ok(());
        }
        prop_assert!(text.contains(BEGIN));
        let mut named = BTreeSet::new();
        for line in text.lines().filter(|line| line.starts_with("Step ") || line.starts_with("Steps ")) {
            let Some((head, class)) = line.split_once(": ") else { continue };
            let head = head.split(" (").next().unwrap_or(head);
            let head = head.trim_start_matches("Steps ").trim_start_matches("Step ");
            let mut ends = head.split('–').map(|n| n.parse::<usize>());
            let (Some(Ok(first)), last) = (ends.next(), ends.next()) else { continue };
            let last = last.and_then(Result::ok).unwrap_or(first);
            for n in first - 1..last {
                named.insert(n);
                if class.starts_with("not started") {
                    prop_assert!(self.world.times(n) == 0 && !self.world.other.contains(&n), "{}", text);
                    self.world.said_not.insert(n);
                } else if class.starts_with("done") {
                    prop_assert_eq!(self.world.times(n), 1, "{}", text);
                } else if class.starts_with("called with other") {
                    prop_assert!(self.world.times(n) == 0, "{}", text);
                } else {
                    prop_assert!(class.starts_with("unknown") || class.starts_with("answered"), "{}", line);
                }
            }
        }
        prop_assert_eq!(named.len(), self.shapes.len(), "every step is named: {}", text);
        Ok(())
    }

    fn model_calls(&mut self, step: Option<usize>) {
        self.calls += 1;
        let call = format!("call{}", self.calls);
        match step.map(|n| (n, self.shapes[n].place)) {
            Some((n, place)) => {
                let server = ["s", "t", "u"].get(usize::from(place)).copied();
                let tool = if server.is_some() { format!("tool{n}") } else { "Other".into() };
                self.bed.pre(&call, server, &tool, json!({}));
            }
            None => {
                self.bed.pre(&call, None, "Bash", json!({"command": "ls"}));
            }
        }
    }

    /// Something becomes of work that was sent.
    fn resolve(&mut self, pick: usize, how: u8) {
        let keys: Vec<String> = self.world.out.keys().cloned().collect();
        let Some(work) = keys.get(pick % keys.len().max(1)).cloned() else { return };
        let Some((step, _, done)) = self.world.out.get(&work).cloned() else { return };
        let ended = match how % 20 {
            0 => ok(json!({"strange": true})),
            1 => ok(json!({"isError": true, "content": []})),
            2 => Ended::Unknown("cut off".into()),
            4.. => ok(good(step)),
            // Only what was not done was not made.
            3 if !done => Ended::NotMade("no proxy".into()),
            _ => Ended::Error("no".into()),
        };
        match &ended {
            Ended::Result(_) => self.world.apply(&work),
            Ended::Unknown(_) if pick.is_multiple_of(2) => self.world.apply(&work),
            // It says that nobody has it, and nobody has.
            Ended::NotMade(_) => {
                self.world.out.remove(&work);
            }
            _ => {}
        }
        self.past.push((work.clone(), ended.clone()));
        self.bed.hear(Event::Worked { work, ended });
    }

    /// Something becomes of a pinned call.
    fn settle(&mut self, pick: usize, how: u8) -> Result<(), TestCaseError> {
        let keys: Vec<String> = self.world.pinned.keys().cloned().collect();
        let Some(call) = keys.get(pick % keys.len().max(1)).cloned() else { return Ok(()) };
        let Some((step, input)) = self.world.pinned.remove(&call) else { return Ok(()) };
        let wrapped = self.shapes[step].place < 2;
        let (ran, ended) = match how % 12 {
            3 => (json!({"changed": true}), ok(good(step))),
            4 => (input.clone(), Ended::Error("no".into())),
            5 => (input.clone(), Ended::NotMade("denied".into())),
            _ => (input.clone(), ok(good(step))),
        };
        match (&ended, how % 12) {
            (Ended::Result(_), 3) => {
                self.world.other.insert(step);
            }
            (Ended::Result(_), _) => self.world.applied.push((step, input)),
            _ => {}
        }
        if wrapped && pick.is_multiple_of(2) {
            self.bed.report(&call, ran.clone(), ended.clone());
            self.look()?;
        }
        self.bed.post(&call, ran.clone(), ended.clone());
        self.look()?;
        if wrapped && pick.is_multiple_of(3) {
            self.bed.report(&call, ran, ended);
        }
        Ok(())
    }
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let shape = (0..4_u8, prop::bool::weighted(0.4), any::<bool>(), any::<bool>());
    let shape = shape.prop_map(|(place, writes, chained, keeps)| Shape { place, writes, chained, keeps });
    let wrapped = (0..2_u8, prop::bool::weighted(0.4), any::<bool>(), any::<bool>());
    let wrapped = wrapped.prop_map(|(place, writes, chained, keeps)| Shape { place, writes, chained, keeps });
    prop_oneof![prop::collection::vec(shape, 1..6), prop::collection::vec(wrapped, 1..6)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_is_done_twice_or_after_a_fault_and_every_note_is_true(
        shapes in shapes(),
        level in prop::sample::select(vec![Level::L1, Level::L3, Level::L3]),
        approved in prop::bool::weighted(0.8),
        called in any::<bool>(),
        events in prop::collection::vec((0..12_u8, any::<u8>(), any::<u8>()), 1..50),
    ) {
        let mut run = Run::new(shapes, level, approved);
        run.look()?;
        if called {
            run.bed.run_scenario();
            run.look()?;
        }
        for (what, pick, how) in events {
            let pick = usize::from(pick);
            match what {
                0 => {
                    run.bed.run_scenario();
                }
                1 | 2 => {
                    let next = run.bed.plan.states().iter().position(|state| *state == State::Waiting);
                    run.model_calls(next);
                }
                3 => run.model_calls(None),
                4..=6 => run.resolve(pick, how),
                7 | 8 => run.settle(pick, how)?,
                9 => {
                    run.bed.after([10, 199, 1_000, 1_600, 61_000][pick % 5]);
                }
                10 => match pick % 4 {
                    0 => {
                        let asks = run.bed.asks;
                        run.lost.insert(AskId(asks));
                        run.bed.hear(Event::ScenarioCancelled { ask: AskId(asks) });
                    }
                    1 => {
                        let asks = run.bed.asks;
                        run.lost.insert(AskId(asks));
                        run.bed.hear(Event::AskLost(AskId(asks)));
                    }
                    2 => {
                        let past = run.past.last().cloned();
                        if let Some((work, ended)) = past {
                            run.bed.hear(Event::Worked { work, ended });
                        }
                    }
                    _ => {
                        run.bed.hear(Event::ScenarioRun { ask: AskId(7_777), call: None });
                    }
                },
                _ if how % 8 == 0 => {
                    run.bed.seal();
                }
                _ => {
                    run.bed.hear(Event::Tick);
                }
            }
            run.look()?;
        }
        // What is still out there may be done at any time.
        let out: Vec<String> = run.world.out.keys().cloned().collect();
        for work in out {
            run.world.apply(&work);
        }
        run.honest()?;
        run.bed.after(700_000);
        run.look()?;
        run.bed.seal();
        run.look()?;
        prop_assert!(run.bed.plan.is_over() && run.bed.plan.due_at().is_none(), "nothing is waited for at the end");
        prop_assert!(run.bed.seal().is_none(), "told once");
        journal_is_sound(&run.bed.all);
        // Whoever waited was answered, once.
        let mut answered = BTreeSet::new();
        for action in &run.bed.all {
            if let Action::Reply { to, .. } = action && to.0 < 7_777 {
                prop_assert!(answered.insert(*to), "answered twice: {to:?}");
            }
        }
        for ask in (1..=run.bed.asks).map(AskId) {
            prop_assert!(answered.contains(&ask) || run.lost.contains(&ask), "never answered: {ask:?}");
        }
        let outcome = run.bed.plan.outcome();
        let worked = run.bed.plan.states().iter().filter(|state| state.worked()).count();
        prop_assert_eq!(outcome.is_baseline(), worked == 0, "{} with {} steps", outcome, worked);
    }
}
