//! What is told the hub of a plan: what became of it, what each step did, who is to blame, what it cost (seed 02 §11).
//!
//! | what happened | outcome |
//! |---|---|
//! | declined, or ended before anything ran and before it tried | `not_steered` |
//! | it tried, and no step did its work | `failed` |
//! | some steps did their work, then the task was handed over | `fell_back` |
//! | some steps did their work, and the model went its own way or a budget ended | `diverged` |
//! | every step ran as planned | `steered_full` |

use crate::event::Seal;
use crate::intent::{Fate, Recovered};
use crate::quote::cut;
use crate::state::{State, Stop, StopKind};
use bir_model::TicketId;
use bir_model::scenario::{ExecutionReport, Level, Mode, Outcome, Stage, StepResult, StepVerdict};

/// Messages are cut to that.
const MESSAGE: usize = 500;

/// The account of one plan: its ticket is redeemed once, its outcome only rises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    ticket: Option<TicketId>,
    mode: Mode,
    level: Option<Level>,
    steps_planned: u32,
    began: u64,
    outcome: Outcome,
    told: bool,
}

/// What stands at the end of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The tools, as the host renders them.
    pub tools: &'a [String],
    /// What is known of each step.
    pub states: &'a [State],
    /// Why it stopped, where it did.
    pub stop: Option<&'a Stop>,
    /// It tried to carry out something.
    pub tried: bool,
}

impl Account {
    /// Of a plan that was armed, or declined.
    #[must_use]
    pub fn new(ticket: Option<TicketId>, mode: Mode, level: Option<Level>, steps: usize, began: u64) -> Self {
        Self {
            ticket,
            mode,
            level,
            steps_planned: u32::try_from(steps).unwrap_or(u32::MAX),
            began,
            outcome: Outcome::NotSteered,
            told: false,
        }
    }

    /// What is known now. An outcome that was higher stays.
    pub fn standing(&mut self, standing: &Standing<'_>) -> Outcome {
        self.outcome = self.outcome.max(outcome(standing));
        self.outcome
    }

    /// The report, the first time; nothing after it, and nothing where there is nothing to say.
    pub fn report(&mut self, standing: &Standing<'_>, seal: &Seal, now: u64) -> Option<ExecutionReport> {
        if std::mem::replace(&mut self.told, true) {
            return None;
        }
        let outcome = self.standing(standing);
        let spent = seal.spent.clone();
        let cancelled = standing.stop.is_some_and(|stop| stop.kind == StopKind::Cancelled);
        let measured = spent.is_some() && !seal.background && !cancelled;
        let spent = spent.unwrap_or_default();
        let mut report = ExecutionReport {
            ticket: self.ticket.take(),
            outcome,
            mode: Some(self.mode),
            level: self.level,
            derive_cost_usd: spent.derive_usd,
            session_cost_usd: spent.session_usd,
            // Direct execution spends no token.
            fallback_cost_usd: bir_model::Usd::ZERO,
            tokens: spent.tokens,
            model: spent.model,
            duration_ms: now.saturating_sub(self.began),
            steps_planned: self.steps_planned,
            steps_pinned: u32::try_from(standing.states.iter().filter(|state| state.worked()).count())
                .unwrap_or(u32::MAX),
            measured,
            pricing_version: seal.pricing_version.clone(),
            prompt: seal.prompt.clone(),
            steps: verdicts(standing),
            error: None,
            error_stage: None,
            error_step_index: None,
            error_tool_name: None,
        };
        report.blame_first_failed_step();
        report.says_something().then_some(report)
    }
}

fn outcome(standing: &Standing<'_>) -> Outcome {
    let worked = standing.states.iter().filter(|state| state.worked()).count();
    let all = !standing.states.is_empty() && standing.states.iter().all(State::is_done);
    let kind = standing.stop.map(|stop| stop.kind);
    match kind {
        // The model went its own way, and a bundle answered.
        Some(StopKind::OffScript) if worked > 0 => Outcome::Diverged,
        _ if all => Outcome::SteeredFull,
        _ if worked == 0 && !standing.tried => Outcome::NotSteered,
        _ if worked == 0 => Outcome::Failed,
        Some(StopKind::OutOfReach | StopKind::Budget) => Outcome::Diverged,
        _ => Outcome::FellBack,
    }
}

/// What each step did. One that was never reached is absent.
fn verdicts(standing: &Standing<'_>) -> Vec<StepResult> {
    let one = |(n, state): (usize, &State)| {
        let stop = standing.stop.filter(|stop| stop.step == Some(n));
        let own = stop.and_then(|stop| stop.stage).filter(|stage| *stage != Stage::Call);
        let (status, stage, error) = match state {
            State::Done { .. } => (StepVerdict::Ok, None, None),
            // The scenario's own logic is to blame.
            State::Unread { .. } => (StepVerdict::Failed, Some(Stage::Output), stop),
            State::Waiting if own.is_some() => (StepVerdict::Failed, own, stop),
            State::Error { .. }
            | State::Unknown { .. }
            | State::Overridden
            | State::NotSent
            | State::Sent { .. } => (StepVerdict::Skipped, Some(Stage::Call), stop),
            State::Waiting => return None,
        };
        let error = error.map(|stop| match &stop.said {
            Some(said) => cut(&format!("{}: {said}", stop.why), MESSAGE),
            None => cut(&stop.why, MESSAGE),
        });
        let duration_ms = match state {
            State::Done { took, .. } => Some(*took),
            _ => None,
        };
        Some(StepResult {
            step_index: u32::try_from(n).unwrap_or(u32::MAX),
            tool_name: standing.tools.get(n).cloned().unwrap_or_default(),
            status,
            stage,
            error,
            duration_ms,
        })
    };
    standing.states.iter().enumerate().filter_map(one).collect()
}

/// Of a plan that a crash has cut off: nobody knows what it cost.
#[must_use]
pub(crate) fn after_a_crash(plan: &Recovered, ticket: TicketId) -> ExecutionReport {
    let of = |(n, (tool, fate, _)): (usize, &(String, Fate, Option<crate::intent::By>))| {
        let status = match fate {
            Fate::NotStarted => return None,
            Fate::Done => StepVerdict::Ok,
            Fate::Error | Fate::Unknown => StepVerdict::Skipped,
        };
        let stage = (status == StepVerdict::Skipped).then_some(Stage::Call);
        Some(StepResult {
            step_index: u32::try_from(n).unwrap_or(u32::MAX),
            tool_name: tool.clone(),
            status,
            stage,
            error: stage.map(|_| "the program that ran it ended".to_owned()),
            duration_ms: None,
        })
    };
    let steps: Vec<StepResult> = plan.steps.iter().enumerate().filter_map(of).collect();
    let worked = steps.iter().filter(|step| step.status == StepVerdict::Ok).count();
    let outcome = match worked {
        0 if steps.is_empty() => Outcome::NotSteered,
        0 => Outcome::Failed,
        _ => Outcome::FellBack,
    };
    ExecutionReport {
        ticket: Some(ticket),
        outcome,
        mode: Some(plan.mode),
        level: None,
        derive_cost_usd: bir_model::Usd::ZERO,
        session_cost_usd: bir_model::Usd::ZERO,
        fallback_cost_usd: bir_model::Usd::ZERO,
        tokens: 0,
        model: None,
        duration_ms: 0,
        steps_planned: u32::try_from(plan.steps.len()).unwrap_or(u32::MAX),
        steps_pinned: u32::try_from(worked).unwrap_or(u32::MAX),
        measured: false,
        pricing_version: String::new(),
        prompt: None,
        steps,
        error: None,
        error_stage: None,
        error_step_index: None,
        error_tool_name: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::By;
    use crate::usage::Spent;
    use serde_json::json;

    fn done() -> State {
        State::Done { by: By::Plan, output: json!(1), took: 3 }
    }

    fn of(states: &[State], stop: Option<&Stop>, tried: bool, seal: &Seal) -> Option<ExecutionReport> {
        let tools = vec!["a".to_owned(), "b".to_owned()];
        let mut account = Account::new(Some(TicketId::new()), Mode::Direct, Some(Level::L1), 2, 10);
        let standing = Standing { tools: &tools, states, stop, tried };
        let report = account.report(&standing, seal, 60);
        assert_eq!(account.report(&standing, seal, 70), None, "a ticket is redeemed once");
        report
    }

    fn measured() -> Seal {
        let spent = Spent { tokens: 9, ..Spent::default() };
        Seal { spent: Some(spent), pricing_version: "v".into(), ..Seal::default() }
    }

    #[test]
    fn outcomes_are_a_table() {
        use State::{NotSent, Waiting};
        let unread = State::Unread { by: By::Plan, output: json!(1) };
        let unknown = State::Unknown { by: By::Plan };
        let stop = |kind| Some(Stop::new(kind, 1, "x"));
        for (states, stop, tried, expected) in [
            ([Waiting, Waiting], None, false, Outcome::NotSteered),
            ([Waiting, Waiting], stop(StopKind::Input), true, Outcome::Failed),
            ([NotSent, Waiting], stop(StopKind::NotSent), true, Outcome::Failed),
            ([unknown.clone(), Waiting], stop(StopKind::Unanswered), true, Outcome::Failed),
            ([done(), unknown], stop(StopKind::Unanswered), true, Outcome::FellBack),
            ([done(), unread], stop(StopKind::Output), true, Outcome::FellBack),
            ([done(), Waiting], stop(StopKind::Cancelled), true, Outcome::FellBack),
            ([done(), Waiting], stop(StopKind::Budget), true, Outcome::Diverged),
            ([Waiting, Waiting], stop(StopKind::Budget), true, Outcome::Failed),
            ([done(), Waiting], stop(StopKind::OffScript), true, Outcome::Diverged),
            ([Waiting, Waiting], stop(StopKind::OffScript), true, Outcome::Failed),
            ([done(), Waiting], None, true, Outcome::FellBack),
            ([done(), done()], None, true, Outcome::SteeredFull),
            ([done(), done()], stop(StopKind::OffScript), true, Outcome::Diverged),
        ] {
            let report = of(&states, stop.as_ref(), tried, &measured()).unwrap();
            assert_eq!(report.outcome, expected, "{states:?} {stop:?}");
            assert_eq!((report.duration_ms, report.steps_planned), (50, 2));
            assert_eq!(report.measured, stop.is_none_or(|stop| stop.kind != StopKind::Cancelled));
        }
    }

    #[test]
    fn the_headline_is_the_first_failed_step_and_what_was_not_reached_is_absent() {
        let stop = Stop::new(StopKind::Input, 1, "nothing explains this value").at(Stage::Input);
        let report = of(&[done(), State::Waiting], Some(&stop), true, &measured()).unwrap();
        let verdicts: Vec<_> = report.steps.iter().map(|step| (step.status, step.stage)).collect();
        assert_eq!(verdicts, [(StepVerdict::Ok, None), (StepVerdict::Failed, Some(Stage::Input))]);
        assert_eq!((report.error_step_index, report.error_tool_name.as_deref()), (Some(1), Some("b")));
        assert_eq!((report.steps_pinned, report.steps[0].duration_ms), (1, Some(3)));
        let stop = Stop::new(StopKind::Unanswered, 0, "60 s");
        let unknown = [State::Unknown { by: By::Plan }, State::Waiting];
        let report = of(&unknown, Some(&stop), true, &measured()).unwrap();
        assert_eq!(
            (report.steps.len(), report.steps[0].status, report.error),
            (1, StepVerdict::Skipped, None)
        );
    }

    #[test]
    fn what_nobody_measured_is_not_measured() {
        for (seal, expected) in [
            (measured(), true),
            (Seal { background: true, ..measured() }, false),
            (Seal { spent: None, ..measured() }, false),
        ] {
            assert_eq!(of(&[done(), done()], None, true, &seal).unwrap().measured, expected);
        }
        assert_eq!(
            of(&[State::Waiting, State::Waiting], None, false, &Seal::default()),
            None,
            "nothing to say"
        );
    }

    #[test]
    fn an_outcome_only_rises() {
        let tools = vec!["a".to_owned()];
        let mut account = Account::new(None, Mode::Direct, None, 1, 0);
        let mut seen = Vec::new();
        for states in [[done()], [State::Waiting]] {
            seen.push(account.standing(&Standing {
                tools: &tools,
                states: &states,
                stop: None,
                tried: true,
            }));
        }
        assert_eq!(seen, [Outcome::SteeredFull, Outcome::SteeredFull]);
    }
}
