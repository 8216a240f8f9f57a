//! What a calculation begins with: recorded runs, within their limits, and those of a scenario.

use super::super::load::Whole;
use crate::scenarios::tools::declared;
use crate::state::State;
use bir_calc::trace::{Recorded, Tools};
use bir_model::RunId;
use bir_model::record::{Record, RunStart, Step};
use bir_store::StoreError;
use bir_store::model::{Page, RunRole, ScenarioRun, View};

/// Rows of one part of a run.
const PART: u32 = 500;
/// Runs of a scenario that are looked at for those that it is calculated from.
const LOOKED: u32 = 100;

/// A run, read; or why not.
pub(super) enum Read {
    Run(Box<Recorded>),
    Gone,
    Unusable { start: Box<RunStart>, why: String },
}

pub(super) async fn read(state: &State, who: &View, run: RunId) -> Result<Read, StoreError> {
    let limits = &state.settings.limits.scenarios;
    let (mut start, mut rows, mut answer) = (None::<RunStart>, Vec::<Step>::new(), None::<String>);
    let (mut bytes, mut after, mut tools) = (0_usize, None, Vec::new());
    let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    loop {
        let part = state.store.records(who, run, after, PART).await?;
        let mut read = 0;
        for record in part {
            match record {
                Record::Run(run) => start = Some(run),
                Record::Step(step) => {
                    read += 1;
                    after = Some(step.step_index);
                    bytes += size(&step.tool_input) + size(&step.tool_output) + size(&step.context);
                    rows.push(step);
                }
                Record::Final(text) => {
                    read += 1;
                    after = Some(text.step_index);
                    answer = Some(text.answer);
                }
                Record::Finish(finish) => answer = finish.final_output.or(answer),
                Record::Tools(seen) => tools.push(seen),
                Record::Lost(_) => {}
            }
        }
        let Some(start) = &start else { return Ok(Read::Gone) };
        let calls = rows.len() / 2;
        let why = if calls > limits.calls as usize {
            Some(format!("the run has more than {} calls", limits.calls))
        } else if bytes > limits.run_bytes {
            Some(format!("the run holds more than {} MiB of inputs and results", limits.run_bytes >> 20))
        } else {
            None
        };
        if let Some(why) = why {
            return Ok(Read::Unusable { start: Box::new(start.clone()), why });
        }
        if read < PART {
            let tools = match tools.is_empty() {
                true => Tools::default(),
                false => declared(&tools, &rows, &state.store.trusted_servers(who).await?),
            };
            let recorded = Recorded::read(start, &rows, answer.as_deref(), &tools);
            return Ok(Read::Run(Box::new(recorded)));
        }
    }
}

/// The runs that a scenario is calculated from, the oldest first, its own first run before all.
pub(super) async fn runs_of(
    state: &State,
    who: &View,
    whole: &Whole,
) -> Result<Vec<ScenarioRun>, StoreError> {
    let page = Page { limit: LOOKED, cursor: None };
    let mut runs = state.store.scenario_runs(who, whole.id(), &page).await?.runs;
    runs.retain(|run| run.role != RunRole::Replayed && !run.gone && run.ended_at.is_some());
    // The newest are the ones that come first.
    let first = runs.iter().position(|run| Some(run.run) == whole.row().source_run);
    let mut source = first.map(|at| runs.remove(at));
    runs.truncate(state.settings.limits.scenarios.together.saturating_sub(1).max(1));
    if source.is_none()
        && let Some(run) = whole.row().source_run
        && let Some(detail) = state.store.run(who, run).await?
    {
        let (started_at, ended_at) = (detail.summary.started_at, detail.summary.ended_at);
        source = Some(ScenarioRun {
            run,
            role: RunRole::Source,
            gone: false,
            started_at,
            ended_at,
            metrics: None,
        });
    }
    runs.extend(source);
    runs.reverse();
    runs.sort_by_key(|run| run.role != RunRole::Source);
    Ok(runs)
}
