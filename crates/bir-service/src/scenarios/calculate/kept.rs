//! What is kept of a calculation, also where nothing can be had of a run.

use super::super::load::{Whole, take_apart};
use super::{Done, Fault, count, propose};
use crate::state::State;
use bir_calc::calculate::Calculated;
use bir_calc::level::Standing;
use bir_calc::stored::{effect, trust};
use bir_calc::trace::Recorded;
use bir_model::RunId;
use bir_model::record::RunStart;
use bir_model::scenario::{Effect, Level, ScenarioState, Trust};
use bir_store::StoreError;
use bir_store::model::{NewScenario, PutAs, RunRole, View};

/// What is kept of a calculation.
pub(super) fn kept(
    calculated: &Calculated,
    first: &Recorded,
    before: Option<(&Whole, Standing)>,
    runs: Vec<(RunId, RunRole)>,
) -> Result<NewScenario, StoreError> {
    let mut stored = calculated.stored.clone();
    let mut standing = before.map_or(calculated.standing, |(_, standing)| standing);
    // What was approved was approved for the writes that it makes.
    let approved =
        before.is_some_and(|(whole, _)| whole.row().approved_at.is_some() && same_writes(whole, calculated));
    standing.unapproved = approved.then(|| standing.unapproved.unwrap_or(standing.level));
    (stored.level, stored.level_reason) = (standing.level, standing.reason().to_owned());
    let (plan, steps) = take_apart(&stored)?;
    let row = before.map(|(whole, _)| whole.row());
    Ok(NewScenario {
        source_run: row.map_or(Some(first.run), |row| row.source_run.or(Some(first.run))),
        family: stored.family.clone(),
        project: first.project.clone(),
        cwd: first.cwd.clone(),
        prompt: stored.plan.prompt.clone(),
        intent: Some(stored.intent.clone()),
        state: ScenarioState::Ready,
        reason: None,
        level: standing.level,
        level_reason: Some(stored.level_reason.clone()),
        standing: Some(super::super::standing::text(&standing)?),
        confidence: trust(stored.confidence()),
        calculated_from: count(calculated.agreeing.len()),
        plan: Some(plan),
        approved,
        steps,
        runs,
    })
}

/// Whether the writes are given what they were given before.
fn same_writes(whole: &Whole, calculated: &Calculated) -> bool {
    let Some(before) = &whole.stored else { return false };
    let writes = |stored: &bir_calc::Stored| {
        let steps = stored.plan.steps.iter().enumerate();
        steps
            .filter(|(_, step)| effect(step.effect) != Effect::Read)
            .map(|(n, step)| (n, step.clone()))
            .collect::<Vec<_>>()
    };
    writes(before) == writes(&calculated.stored)
}

pub(super) fn start_of(run: &Recorded) -> RunStart {
    RunStart {
        id: run.run,
        tier: bir_model::Tier::Standalone,
        framework: None,
        input: Some(run.trace.prompt.clone()),
        started_at: 0,
        project: run.project.clone(),
        host: None,
        servers: Vec::new(),
        session_id: None,
        metadata: run.cwd.iter().map(|cwd| ("cwd".to_owned(), cwd.clone().into())).collect(),
    }
}

pub(super) async fn put(
    state: &State,
    who: &View,
    scenario: &NewScenario,
    put_as: PutAs,
) -> Result<Done, Fault> {
    match state.store.put_scenario(who, scenario, put_as).await {
        Ok(Some(put)) => {
            state.matchers.changed(state, who);
            if scenario.state == ScenarioState::Ready {
                propose::soon(state, who, put.id);
            }
            tracing::info!(
                target: "scenarios",
                scenario = %put.id,
                revision = put.revision,
                state = %scenario.state,
                steps = scenario.steps.len(),
                runs = scenario.calculated_from,
                level = %scenario.level,
                "a scenario was calculated"
            );
            Ok(match scenario.state {
                ScenarioState::Unusable => Done::Unusable(put.id),
                _ => Done::Ready(put.id),
            })
        }
        Ok(None) => Ok(Done::Passed),
        // Another process was faster.
        Err(StoreError::Taken { scenario, .. }) => Ok(Done::Ready(scenario)),
        Err(error) => Err(error.into()),
    }
}

/// Nothing can be had of a run: that is kept, so that nobody tries again, and its owner sees why.
pub(super) async fn unusable(
    state: &State,
    who: &View,
    start: &RunStart,
    family: String,
    why: &str,
) -> Result<Done, Fault> {
    let cwd = start.metadata.get("cwd").and_then(serde_json::Value::as_str).map(str::to_owned);
    let scenario = NewScenario {
        source_run: Some(start.id),
        family,
        project: start.project.clone(),
        cwd,
        prompt: start.input.clone().unwrap_or_default(),
        intent: None,
        state: ScenarioState::Unusable,
        reason: Some(why.to_owned()),
        plan: None,
        level: Level::L0,
        level_reason: None,
        standing: None,
        confidence: Trust::None,
        approved: false,
        calculated_from: 0,
        steps: Vec::new(),
        runs: vec![(start.id, RunRole::Source)],
    };
    put(state, who, &scenario, PutAs::New).await
}
