//! Who can carry out which step, and how the plan runs by that (seed 02 §5, DESIGN.md §9).
//!
//! | step | reach | act |
//! |---|---|---|
//! | of a wrapped server | direct: its proxy holds the connection | |
//! | of a built-in tool, of a server that nobody wrapped | live: only the session reaches it | |
//! | its effect is within the level, its values are trusted | | run |
//! | its effect is above the level, a value may be a coincidence, it follows such a one and writes | | steer: pinned, the host asks |
//! | frozen, a value without an explanation, a result would reach a sink | | hand over: the plan ends before it |
//!
//! A plan is `direct` when every step runs by itself. Else the session is steered; steps at its beginning that run by themselves may run
//! in one call before ([`Coverage::lead`]).

use crate::policy::Policy;
use crate::script::{Script, Step};
use crate::taint;
use bir_model::scenario::{Act, Effect, Level, Mark, Mode};
use bir_plan::template::Confidence;
use std::collections::BTreeSet;

/// Who reaches a step's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// A proxy, on the connection that it holds.
    Direct,
    /// The live session alone.
    Live,
}

/// Why a step does not run by itself, or is not pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bar {
    /// Its effect is above the scenario's level.
    Level,
    /// One of its values may be a coincidence.
    Confidence,
    /// It writes, and a step before it is not sure of its values.
    AfterUnsure,
    /// Only the session reaches its tool.
    Live,
    /// Its server is not on the list of those that a plan calls by itself.
    OffAllowlist,
    /// Its owner, or the calculation, has frozen it.
    Frozen,
    /// Nothing explains one of its values.
    Unexplained,
    /// A result would reach this place of its input, which decides where it acts.
    Tainted(String),
}

/// What is done with a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// Who reaches its tool.
    pub reach: Reach,
    /// What its level and values allow.
    pub act: Act,
    /// Whether the plan may call it by itself: it runs, is reached directly, and its server is allowed.
    pub executes: bool,
    /// Why it does not execute.
    pub bar: Option<Bar>,
}

/// What is done with a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// How it runs.
    pub mode: Mode,
    /// So many steps at its beginning execute by themselves; all of them where the mode is `direct`.
    pub lead: usize,
    /// So many steps at its beginning are executed or pinned; before the next one the plan hands over.
    pub reached: usize,
    /// For each step.
    pub steps: Vec<Cover>,
}

impl Coverage {
    /// Of a scenario, with the servers that have a proxy here.
    #[must_use]
    pub fn of(script: &Script, wrapped: &BTreeSet<String>, policy: &Policy) -> Self {
        let mut sure = true;
        let steps: Vec<Cover> =
            (0..script.steps.len()).filter_map(|n| cover(script, n, wrapped, policy, &mut sure)).collect();
        let reached = steps.iter().take_while(|cover| cover.act != Act::HandOver).count();
        let lead = steps.iter().take_while(|cover| cover.executes).count();
        let mode = match steps.len() {
            0 => Mode::None,
            _ if reached == 0 => Mode::None,
            all if lead == all => Mode::Direct,
            _ => Mode::Steer,
        };
        Self { mode, lead, reached, steps }
    }

    /// Whether a plan may call a step by itself.
    #[must_use]
    pub fn executes(&self, step: usize) -> bool {
        self.steps.get(step).is_some_and(|cover| cover.executes)
    }

    /// Whether a pinned call of a step may run without a question to the user.
    #[must_use]
    pub fn runs(&self, step: usize) -> bool {
        self.steps.get(step).is_some_and(|cover| cover.act == Act::Run)
    }
}

fn cover(
    script: &Script,
    n: usize,
    wrapped: &BTreeSet<String>,
    policy: &Policy,
    sure: &mut bool,
) -> Option<Cover> {
    let (step, of_plan) = (script.steps.get(n)?, script.plan.steps.get(n)?);
    let reach = reach(step, wrapped);
    let edited = step.input_body.is_some();
    let confidence = of_plan.confidence();
    let mut act = act(script.level, step.effect, confidence, step.mark, edited);
    let mut bar = match act {
        Act::Run => None,
        Act::Steer if confidence < Confidence::Medium && !edited => Some(Bar::Confidence),
        Act::Steer => Some(Bar::Level),
        Act::HandOver if step.mark.is_some() => Some(Bar::Frozen),
        Act::HandOver => Some(Bar::Unexplained),
    };
    if act != Act::HandOver
        && let Some(place) = taint::of_step(script, n, policy)
    {
        (act, bar) = (Act::HandOver, Some(Bar::Tainted(place)));
    }
    if act == Act::Run && step.writes() && !*sure {
        (act, bar) = (Act::Steer, Some(Bar::AfterUnsure));
    }
    *sure &= matches!(bar, None | Some(Bar::Level | Bar::AfterUnsure));
    let allowed = step.server.as_ref().is_some_and(|server| policy.allows(server));
    let executes = act == Act::Run && reach == Reach::Direct && allowed;
    if bar.is_none() && !executes {
        bar = Some(if reach == Reach::Live { Bar::Live } else { Bar::OffAllowlist });
    }
    Some(Cover { reach, act, executes, bar })
}

/// Who reaches a step's tool.
#[must_use]
pub fn reach(step: &Step, wrapped: &BTreeSet<String>) -> Reach {
    match &step.server {
        Some(server) if wrapped.contains(server) => Reach::Direct,
        _ => Reach::Live,
    }
}

/// What is done with a step at a level. An edited step is as sure as its owner is: the level decides.
#[must_use]
pub fn act(level: Level, effect: Effect, confidence: Confidence, mark: Option<Mark>, edited: bool) -> Act {
    if mark.is_some() || (confidence == Confidence::None && !edited) {
        return Act::HandOver;
    }
    let within = match effect {
        Effect::Read => level >= Level::L1,
        Effect::Idempotent => level >= Level::L2,
        Effect::Write | Effect::Destructive => level >= Level::L3,
    };
    // What may be a coincidence is a proposal, whatever the level.
    if within && (edited || confidence >= Confidence::Medium) { Act::Run } else { Act::Steer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{script, script_at};
    use serde_json::{Value, json};

    fn of(steps: Value, level: Level, policy: &Policy) -> Coverage {
        let wrapped = ["s", "t"].map(str::to_owned).into();
        Coverage::of(&script_at(steps, level), &wrapped, policy)
    }

    #[test]
    fn coverage_is_a_table() {
        use Act::{HandOver, Run, Steer};
        let read = json!({"server": "s", "tool": "get", "effect": "read"});
        let write = json!({"server": "t", "tool": "put", "effect": "write"});
        let idempotent = json!({"server": "t", "tool": "label", "effect": "idempotent"});
        let live = json!({"tool": "Read", "effect": "read"});
        let strange = json!({"server": "u", "tool": "get", "effect": "read"});
        let frozen = json!({"server": "s", "tool": "get", "effect": "read", "mark": "by_hand"});
        let unsure = json!({"server": "s", "tool": "get", "effect": "read", "confidence": "low"});
        let dark = json!({"server": "s", "tool": "get", "effect": "read", "confidence": "none"});
        for (name, steps, level, mode, lead, reached, acts) in [
            ("nothing", json!([]), Level::L3, Mode::None, 0, 0, vec![]),
            ("reads", json!([read, read]), Level::L1, Mode::Direct, 2, 2, vec![Run, Run]),
            ("reads below their level", json!([read]), Level::L0, Mode::Steer, 0, 1, vec![Steer]),
            ("a write", json!([read, write]), Level::L1, Mode::Steer, 1, 2, vec![Run, Steer]),
            ("a write above", json!([idempotent, write]), Level::L2, Mode::Steer, 1, 2, vec![Run, Steer]),
            ("everything", json!([read, write]), Level::L3, Mode::Direct, 2, 2, vec![Run, Run]),
            ("built in", json!([live]), Level::L3, Mode::Steer, 0, 1, vec![Run]),
            ("mixed", json!([read, live, read]), Level::L1, Mode::Steer, 1, 3, vec![Run, Run, Run]),
            ("not wrapped", json!([strange]), Level::L3, Mode::Steer, 0, 1, vec![Run]),
            ("frozen", json!([read, frozen, read]), Level::L3, Mode::Steer, 1, 1, vec![Run, HandOver, Run]),
            ("frozen at once", json!([frozen]), Level::L3, Mode::None, 0, 0, vec![HandOver]),
            ("unexplained", json!([dark]), Level::L3, Mode::None, 0, 0, vec![HandOver]),
            ("a coincidence", json!([unsure]), Level::L3, Mode::Steer, 0, 1, vec![Steer]),
            ("no write after it", json!([unsure, write]), Level::L3, Mode::Steer, 0, 2, vec![Steer, Steer]),
            ("reads after it", json!([unsure, read]), Level::L3, Mode::Steer, 0, 2, vec![Steer, Run]),
        ] {
            let coverage = of(steps, level, &Policy::default());
            assert_eq!((coverage.mode, coverage.lead, coverage.reached), (mode, lead, reached), "{name}");
            assert_eq!(coverage.steps.iter().map(|c| c.act).collect::<Vec<_>>(), acts, "{name}");
            let barred = coverage.steps.iter().all(|c| c.executes == c.bar.is_none());
            assert!(barred, "{name}: what does not execute says why");
        }
    }

    #[test]
    fn a_server_off_the_list_is_pinned_alone() {
        let steps = json!([{"server": "s", "tool": "get", "effect": "read"}]);
        let policy = Policy { allow_servers: Some(Policy::servers("t")), ..Policy::default() };
        let coverage = of(steps, Level::L3, &policy);
        assert_eq!((coverage.mode, coverage.executes(0), coverage.runs(0)), (Mode::Steer, false, true));
        assert_eq!(coverage.steps[0].bar, Some(Bar::OffAllowlist));
    }

    #[test]
    fn an_edited_step_is_as_sure_as_its_level() {
        let steps =
            json!([{"server": "s", "tool": "get", "effect": "read", "confidence": "none", "edited": true}]);
        assert_eq!(of(steps.clone(), Level::L1, &Policy::default()).mode, Mode::Direct);
        assert_eq!(of(steps, Level::L0, &Policy::default()).mode, Mode::Steer);
        assert_eq!(reach(&script(json!([{"tool": "s"}])).steps[0], &["s".to_owned()].into()), Reach::Live);
    }
}
