//! How far a scenario runs, kept with what that stands on, so that an approval or a change by hand can be taken back.

use super::load::Whole;
use crate::state::State;
use bir_calc::level::{Event, Standing};
use bir_model::ScenarioId;
use bir_model::scenario::Level;
use bir_store::StoreError;
use bir_store::model::{ScenarioChange, ScenarioSummary, View};

/// A level that others change at the same time is looked at again, so often.
const TRIES: u32 = 8;

/// How a scenario stands, with so many runs that agree by what is known now.
pub(crate) fn of(row: &ScenarioSummary, agreeing: u32) -> Standing {
    let kept = row.standing.as_deref().and_then(|text| serde_json::from_str::<Standing>(text).ok());
    let Some(kept) = kept.filter(|kept| kept.level == row.level) else {
        // Kept before standings were: above L1 nothing goes without its owner's word.
        let unapproved = row.approved_at.map(|_| row.level.min(Level::L1));
        let allowed = row.level.max(Level::L1);
        return Standing { level: row.level, agreeing, allowed, unapproved, ..Standing::new(0) };
    };
    Standing { agreeing, predicted: 0, ..kept }
}

/// As it is kept.
pub(crate) fn text(standing: &Standing) -> Result<String, StoreError> {
    serde_json::to_string(standing).map_err(|e| StoreError::Failed(format!("a standing is no JSON: {e}")))
}

/// What an event makes of a level. `why` goes before the words for what it is then. None: the scenario is not there.
pub(crate) async fn happened(
    state: &State,
    who: &View,
    id: ScenarioId,
    event: Event,
    why: Option<&str>,
) -> Result<Option<(ScenarioSummary, Standing)>, StoreError> {
    for _ in 0..TRIES {
        let Some(detail) = state.store.scenario(who, id).await? else { return Ok(None) };
        let row = detail.summary;
        let before = of(&row, 0);
        let after = before.after(event);
        if after == before {
            return Ok(Some((row, after)));
        }
        let said = match why.filter(|_| after.level < before.level) {
            Some(why) => format!("{why}; {}", after.reason()),
            None => after.reason().to_owned(),
        };
        if let Some(row) = keep(state, who, &row, &after, said).await? {
            return Ok(Some((row, after)));
        }
    }
    Err(StoreError::Unavailable("the level of the scenario is changed all the time; try again".into()))
}

/// Keeps a standing in the place of the one that was read. None: it was another one by then, or the scenario is gone.
pub(crate) async fn keep(
    state: &State,
    who: &View,
    row: &ScenarioSummary,
    after: &Standing,
    reason: String,
) -> Result<Option<ScenarioSummary>, StoreError> {
    let standing = text(after)?;
    let change = ScenarioChange {
        level: Some((after.level, Some(reason))),
        standing: Some(standing.clone()),
        only_from: Some((row.level, row.standing.clone())),
        approved: Some(after.is_approved()),
    };
    let now = state.store.change_scenario(who, row.id, &change).await?;
    Ok(now.filter(|now| now.standing.as_ref() == Some(&standing)))
}

/// What a change by hand that was just saved makes of the level: bodies that were changed, or are as calculated again.
pub(crate) async fn edited(
    state: &State,
    who: &View,
    whole: &Whole,
    step: u32,
    after: &bir_model::scenario::StepEdits,
    forced: bool,
) -> Result<(), StoreError> {
    let others = whole.steps.iter().filter(|other| other.index != step).map(|other| &other.edits);
    let bodies =
        others.chain([after]).any(|edits| edits.input_logic.is_some() || edits.output_logic.is_some());
    let event = if bodies { Event::Edited { forced } } else { Event::Restored };
    happened(state, who, whole.id(), event, None).await.map(|_| ())
}
