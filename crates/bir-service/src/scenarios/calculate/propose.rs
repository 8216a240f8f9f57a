//! Explanations of a model endpoint for values that a calculation left unexplained. Nobody waits for them.
//!
//! ```text
//!  a scenario was put ─▶ unexplained values, no edits ─▶ what stood the tests before ─▶ asked, once for each set of values and runs
//!                                                                                     ─▶ tested on all runs ─▶ put, at the same level
//! ```

use super::super::help::{self, Asked};
use super::super::load::{self, Whole, take_apart};
use super::super::logic;
use super::Fault;
use super::read::{Read, read, runs_of};
use crate::state::State;
use bir_calc::Stored;
use bir_calc::proposed::{Proved, explained, prove, unexplained};
use bir_calc::stored::trust;
use bir_calc::trace::Recorded;
use bir_derive::propose::{Seen, Unexplained, proposals, question};
use bir_model::ScenarioId;
use bir_model::scenario::{Effect, ScenarioState};
use bir_plan::proposal::Proposal;
use bir_plan::result;
use bir_store::model::{NewScenario, PutAs, View};
use serde_json::{Map, Value};

/// Asks about a scenario in the background, where anybody may be asked.
pub(super) fn soon(state: &State, who: &View, id: ScenarioId) {
    if !state.help.config().is_some_and(|config| config.propose) || !state.help.enter(id) {
        return;
    }
    let (state, who) = (state.clone(), *who);
    tokio::spawn(async move {
        let mut ending = state.ending();
        tokio::select! {
            () = crate::state::told(&mut ending) => {}
            () = one(&state, &who, id) => {}
        }
        state.help.leave(id);
    });
}

async fn one(state: &State, who: &View, id: ScenarioId) {
    let Ok(_turn) = state.help.turn.acquire().await else { return };
    match help(state, who, id).await {
        Ok(()) => {}
        Err(Fault::Later(why)) => {
            tracing::debug!(target: "help", scenario = %id, why, "nothing is proposed now")
        }
        Err(Fault::Beside(other)) => {
            tracing::debug!(target: "help", scenario = %id, %other, "another scenario of the task is there; nothing is proposed now");
        }
        Err(Fault::Problem(problem)) => {
            tracing::warn!(target: "help", scenario = %id, code = problem.code.as_str(), detail = %problem.detail, "nothing can be proposed");
        }
    }
}

async fn help(state: &State, who: &View, id: ScenarioId) -> Result<(), Fault> {
    let Some(endpoint) = help::allowed(state, who.tenant).await else { return Ok(()) };
    let Some(whole) = load::find(state, who, id).await? else { return Ok(()) };
    let Ok(stored) = whole.ready().cloned() else { return Ok(()) };
    let open = unexplained(&stored);
    // Nobody's changes are put over.
    if open.is_empty() || whole.has_edits() {
        return Ok(());
    }
    let mut recorded = Vec::new();
    for run in runs_of(state, who, &whole).await? {
        if let Read::Run(run) = read(state, who, run.run).await? {
            recorded.push(*run);
        }
    }
    let Some(runs) = explained(&stored, recorded) else { return Ok(()) };
    if runs.is_empty() || runs.len() < whole.row().calculated_from as usize {
        return Ok(());
    }
    let before = state.help.asked(id).unwrap_or_default();
    let mut accepted = before.accepted.clone();
    let (mut now, runs) = (stored, runs);
    if !accepted.is_empty() {
        let proved = tested(state, &now, &runs, std::mem::take(&mut accepted)).await?;
        (now, accepted) = (proved.stored, proved.accepted);
    }
    let left = unexplained(&now);
    let about = (open, whole.row().calculated_from);
    if !left.is_empty() && before.about != about {
        let Some(brief) = brief(state, &now, &runs, &left) else { return Ok(()) };
        // Before it is asked: what failed is not asked again before something is new.
        state.help.remember(id, Asked { about: about.clone(), accepted: accepted.clone() });
        let answer = endpoint.ask(&brief, endpoint.config().max_tokens).await;
        help::book(state, who, id, "propose", &answer).await;
        if let Ok(text) = answer.text {
            let proved = tested(state, &now, &runs, proposals(&text)).await?;
            for (step, argument, why) in &proved.dropped {
                tracing::debug!(target: "help", scenario = %id, step, argument, %why, "a proposal was dropped");
            }
            now = proved.stored;
            accepted.extend(proved.accepted);
        }
    }
    state.help.remember(id, Asked { about, accepted: accepted.clone() });
    if accepted.is_empty() { Ok(()) } else { put(state, who, &whole, &now).await }
}

/// The question: values of the first run, and what its earlier calls gave.
fn brief(
    state: &State,
    stored: &Stored,
    runs: &[Recorded],
    open: &[(usize, String)],
) -> Option<bir_derive::Brief> {
    let first = runs.first()?;
    let calls = &first.trace.calls;
    let last = open.iter().map(|(step, _)| *step).max()?;
    let gave: Vec<(usize, &str, Value)> = calls
        .iter()
        .take(last)
        .enumerate()
        .filter_map(|(n, call)| Some((n, call.tool.as_str(), result::as_value(&call.output)?)))
        .collect();
    let params: Map<String, Value> = stored.samples();
    let now = first.trace.clock.now.strftime("%Y-%m-%dT%H:%M").to_string();
    // A run that has another shape there shows nothing of it.
    let values = |step: usize, path: &str| {
        let inputs = runs.iter().filter_map(|run| Some(&run.trace.calls.get(step)?.input));
        inputs.filter_map(|input| bir_calc::proposed::at(input, path).cloned()).collect::<Vec<_>>()
    };
    let wanted: Vec<(usize, &String, Vec<Value>)> =
        open.iter().map(|(step, path)| (*step, path, values(*step, path))).collect();
    let asked: Vec<Unexplained<'_>> = wanted
        .iter()
        .filter_map(|(step, argument, values)| {
            let tool = calls.get(*step)?.tool.as_str();
            Some(Unexplained { step: *step, tool, argument, values: values.iter().collect() })
        })
        .collect();
    let seen = Seen {
        task: &stored.intent,
        params: &params,
        now: &now,
        results: gave.iter().map(|(n, tool, value)| (*n, *tool, value)).collect(),
    };
    question(&seen, &asked, &state.help.redactor)
}

/// Tests proposals, with a worker for the emitted bodies where there is one.
async fn tested(
    state: &State,
    stored: &Stored,
    runs: &[Recorded],
    proposals: Vec<Proposal>,
) -> Result<Proved, Fault> {
    let worker = match state.sandboxes.calculations.is_there() {
        true => Some(state.sandboxes.calculations.take().await?),
        false => None,
    };
    let (ms, budget) = (logic::body_ms(state), state.settings.limits.scenarios.calculation);
    let (stored, runs) = (stored.clone(), runs.to_vec());
    let testing = tokio::task::spawn_blocking(move || {
        let sandbox = worker.as_ref().and_then(|worker| worker.sandbox());
        let logic = sandbox.map(|sandbox| bir_calc::Logic::new(sandbox, ms, budget));
        prove(&stored, &runs, proposals, logic)
    });
    testing.await.map_err(|error| {
        tracing::error!(%error, "proposals could not be tested");
        Fault::Later("proposals could not be tested".into())
    })
}

/// Puts a scenario with what was proposed, as it stands otherwise: at its level, with the words of its owner for writes that are the same.
async fn put(state: &State, who: &View, whole: &Whole, stored: &Stored) -> Result<(), Fault> {
    let row = whole.row();
    let (plan, steps) = take_apart(stored)?;
    let writes = |stored: &Stored| {
        let steps = stored.plan.steps.iter().enumerate();
        let writes = steps.filter(|(_, step)| bir_calc::stored::effect(step.effect) != Effect::Read);
        writes.map(|(n, step)| (n, step.clone())).collect::<Vec<_>>()
    };
    let same = whole.stored.as_ref().is_some_and(|before| writes(before) == writes(stored));
    let scenario = NewScenario {
        source_run: row.source_run,
        family: row.family.clone(),
        project: row.project.clone(),
        cwd: row.cwd.clone(),
        prompt: row.prompt.clone(),
        intent: Some(stored.intent.clone()),
        state: ScenarioState::Ready,
        reason: None,
        level: row.level,
        level_reason: row.level_reason.clone(),
        confidence: trust(stored.confidence()),
        approved: row.approved_at.is_some() && same,
        // Without its owner's word, what that word stood on is gone too.
        standing: row.standing.clone().filter(|_| same),
        calculated_from: row.calculated_from,
        plan: Some(plan),
        steps,
        runs: Vec::new(),
    };
    let put_as = PutAs::Instead { scenario: row.id, expected_revision: row.revision };
    state.store.put_scenario(who, &scenario, put_as).await?;
    state.matchers.changed(state, who);
    tracing::info!(target: "help", scenario = %row.id, "a model endpoint's explanations stood the tests; their steps steer");
    Ok(())
}
