//! A stored scenario, put together from its row and its steps, and taken apart again.

use crate::problem::{Code, Problem};
use crate::state::State;
use bir_calc::Stored;
use bir_calc::stored::effect;
use bir_model::ScenarioId;
use bir_model::scenario::{ScenarioState, StepEdits, Trust};
use bir_store::StoreError;
use bir_store::model::{ScenarioDetail, ScenarioStep, ScenarioSummary, View};
use serde_json::{Map, Value};

/// Steps of one part.
const PART: u32 = 1_000;
/// A scenario that is changed while it is read is read again, so often.
const TRIES: u32 = 4;

/// A scenario with its steps.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) detail: ScenarioDetail,
    /// None: it has no plan, or one that cannot be read.
    pub(crate) stored: Option<Stored>,
    /// The steps as they are kept.
    pub(crate) steps: Vec<ScenarioStep>,
}

impl Whole {
    pub(crate) fn id(&self) -> ScenarioId {
        self.detail.summary.id
    }

    pub(crate) fn row(&self) -> &ScenarioSummary {
        &self.detail.summary
    }

    /// Its plan, where it has one that may be run.
    pub(crate) fn ready(&self) -> Result<&Stored, Problem> {
        let row = self.row();
        match (&self.stored, row.state) {
            (Some(stored), ScenarioState::Ready) => Ok(stored),
            (_, ScenarioState::Pending) => {
                let detail = "the scenario is not calculated yet; ask again in a moment";
                Err(Problem::new(Code::ScenarioNotReady, detail).after(1))
            }
            _ => {
                let why = row
                    .reason
                    .clone()
                    .unwrap_or_else(|| "its plan cannot be read; calculate it again".into());
                Err(Problem::new(Code::ScenarioNotReady, format!("the scenario has no plan: {why}")))
            }
        }
    }

    /// Whether some step was changed by hand.
    pub(crate) fn has_edits(&self) -> bool {
        use bir_model::scenario::Mark;
        let by_hand = |edits: &StepEdits| {
            edits.input_logic.is_some() || edits.output_logic.is_some() || edits.mark == Some(Mark::ByHand)
        };
        self.steps.iter().any(|step| by_hand(&step.edits))
    }
}

/// Reads one; None: it is not there.
pub(crate) async fn find(state: &State, who: &View, id: ScenarioId) -> Result<Option<Whole>, StoreError> {
    for _ in 0..TRIES {
        let Some(detail) = state.store.scenario(who, id).await? else { return Ok(None) };
        let mut steps: Vec<ScenarioStep> = Vec::new();
        loop {
            let from = steps.last().map_or(0, |step| step.index.saturating_add(1));
            let part = state.store.scenario_steps(who, id, from, PART).await?;
            if part.is_empty() {
                break;
            }
            steps.extend(part);
            if steps.len() >= detail.summary.steps as usize {
                break;
            }
        }
        // Rows and steps are read one after the other: both have to be of one revision.
        let Some(again) = state.store.scenario(who, id).await? else { return Ok(None) };
        if again.summary.revision == detail.summary.revision {
            let mut stored = detail.plan.as_deref().and_then(|plan| put_together(&detail, plan, &steps));
            if let Some(stored) = &mut stored {
                super::tools::distrust(state, who, stored).await?;
            }
            return Ok(Some(Whole { detail: again, stored, steps }));
        }
    }
    Err(StoreError::Unavailable("the scenario is changed all the time; try again".into()))
}

/// The same, where its absence is a problem.
pub(crate) async fn whole(state: &State, who: &View, id: ScenarioId) -> Result<Whole, Problem> {
    find(state, who, id).await?.ok_or_else(|| Problem::not_found("scenario"))
}

fn value(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn put_together(detail: &ScenarioDetail, plan: &str, steps: &[ScenarioStep]) -> Option<Stored> {
    let row = &detail.summary;
    let said = |error: &dyn std::fmt::Display| {
        tracing::error!(scenario = %row.id, %error, "a stored plan cannot be read; calculate it again");
    };
    let mut stored: Stored = serde_json::from_str(plan).inspect_err(|error| said(error)).ok()?;
    for (step, kept) in stored.steps.iter_mut().zip(steps) {
        step.recorded_input = value(kept.recorded_input.as_deref());
        step.recorded_output = value(kept.recorded_output.as_deref());
        step.edits = kept.edits.clone();
        step.reasoning.clone_from(&kept.reasoning);
    }
    if stored.steps.len() != steps.len() {
        said(&format!("it has {} steps, and {} are stored", stored.steps.len(), steps.len()));
        return None;
    }
    stored.level = row.level;
    stored.level_reason = row.level_reason.clone().unwrap_or_default();
    stored.checked().inspect_err(|error| said(error)).ok()
}

/// The steps as they are kept, and the plan without what stands in them.
pub(crate) fn take_apart(stored: &Stored) -> Result<(String, Vec<ScenarioStep>), StoreError> {
    let text = |value: &Value| Some(value.to_string()).filter(|_| !value.is_null());
    let mut bare = stored.clone();
    let mut steps = Vec::new();
    for (index, (step, plan)) in bare.steps.iter_mut().zip(&stored.plan.steps).enumerate() {
        steps.push(ScenarioStep {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            server: plan.server.clone(),
            tool: plan.tool.clone(),
            effect: effect(plan.effect),
            reasoning: step.reasoning.take(),
            edits: std::mem::take(&mut step.edits),
            recorded_input: text(&std::mem::take(&mut step.recorded_input)),
            recorded_output: text(&std::mem::take(&mut step.recorded_output)),
        });
    }
    let plan =
        serde_json::to_string(&bare).map_err(|e| StoreError::Failed(format!("a plan is no JSON: {e}")))?;
    Ok((plan, steps))
}

/// A scenario as its owner sees it.
pub(crate) fn view(whole: &Whole) -> bir_model::scenario::View {
    let row = whole.row();
    let stored = whole.stored.as_ref();
    bir_model::scenario::View {
        scenario_id: row.id,
        source_run_id: row.source_run,
        family: row.family.clone(),
        project: row.project.clone(),
        cwd: row.cwd.clone(),
        prompt: row.prompt.clone(),
        intent: stored.map(|stored| stored.intent.clone()).or_else(|| row.intent.clone()).unwrap_or_default(),
        state: row.state,
        reason: row.reason.clone(),
        level: row.level,
        level_reason: row.level_reason.clone(),
        confidence: if stored.is_some() { row.confidence } else { Trust::None },
        runs: row.calculated_from,
        revision: row.revision,
        approved: row.approved_at.is_some(),
        params: stored.map_or_else(Map::new, Stored::params_object),
        params_logic: stored.map(Stored::params_logic).unwrap_or_default(),
        response_params_logic: stored.map(Stored::response_params_logic).unwrap_or_default(),
        steps: stored
            .map(|stored| (0..stored.steps.len()).filter_map(|n| stored.step_view(n)).collect())
            .unwrap_or_default(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

/// Whether there is such a scenario of theirs.
pub(crate) async fn there(state: &State, who: &View, id: ScenarioId) -> Result<(), Problem> {
    let found = state.store.scenario(who, id).await?;
    found.map(|_| ()).ok_or_else(|| Problem::not_found("scenario"))
}
