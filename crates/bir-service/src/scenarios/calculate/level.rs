//! How far a scenario runs by itself after a calculation, and what takes that away.

use super::super::executions::demotes;
use super::super::load::Whole;
use super::super::standing;
use super::count;
use crate::state::State;
use bir_calc::calculate::Calculated;
use bir_calc::level::{Event, Standing};
use bir_calc::proposed::without;
use bir_model::{RunId, ScenarioId};
use bir_store::StoreError;
use bir_store::model::{Page, ScenarioRun, ScenarioSummary, View};

/// Executions that are looked at for when a level was last taken away.
const TOLD: u32 = 100;

/// When a level was last taken away, as far as executions tell it; 0: never.
async fn demoted_at(state: &State, who: &View, id: ScenarioId) -> Result<u64, StoreError> {
    let page = Page { limit: TOLD, cursor: None };
    let told = state.store.executions(who, Some(id), &page).await?.executions;
    Ok(told.iter().find(|one| demotes(&one.report).is_some()).map_or(0, |one| one.claimed_at))
}

/// How far a scenario runs after it was calculated anew.
pub(super) async fn stands(
    state: &State,
    who: &View,
    whole: &Whole,
    calculated: &Calculated,
    runs: &[ScenarioRun],
    new: Option<RunId>,
) -> Result<Standing, StoreError> {
    let since = demoted_at(state, who, whole.id()).await?;
    let fresh = runs.iter().filter(|run| calculated.agreeing.contains(&run.run) && run.started_at > since);
    let agreeing = count(fresh.count() + usize::from(new.is_some()));
    // What a model endpoint proposed since is no part of what was calculated.
    let same = whole.stored.as_ref().is_some_and(|stored| without(stored) == calculated.stored.plan.steps);
    // Changes by hand that there were are given up by whoever calculates anew.
    let before = standing::of(whole.row(), agreeing.saturating_sub(u32::from(new.is_some())));
    let before = before.after(Event::Restored);
    Ok(match (same, new) {
        (true, Some(_)) => before.after(Event::RunAgreed),
        (true, None) => before,
        (false, _) => before.after(Event::Changed { agreeing }),
    })
}

/// Takes a level away.
pub(crate) async fn demote(
    state: &State,
    who: &View,
    row: &ScenarioSummary,
    event: Event,
    why: &str,
) -> Result<(), StoreError> {
    let Some((now, after)) = standing::happened(state, who, row.id, event, Some(why)).await? else {
        return Ok(());
    };
    if after.level < row.level {
        tracing::warn!(target: "scenarios", scenario = %row.id, from = %row.level, to = %now.level, why, "a level was taken away");
    }
    Ok(())
}
