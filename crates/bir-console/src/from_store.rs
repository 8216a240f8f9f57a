//! From what a store gives to what a page is told.

use crate::{Filter, Run, RunView, RunsView, Since, Viewer};
use bir_store::model::{RunDetail, RunFilter, RunPage, RunSummary, StepPage};

impl From<RunSummary> for Run {
    fn from(s: RunSummary) -> Self {
        Self {
            id: s.id,
            tier: s.tier,
            lossy: s.lossy,
            lost_calls: s.lost_calls,
            input: s.input,
            project: s.project,
            host: s.host,
            servers: s.servers,
            started_at: s.started_at,
            ended_at: s.ended_at,
            end_reason: s.end_reason,
            last_at: s.last_at,
            calls: s.calls,
            failed_calls: s.failed_calls,
        }
    }
}

impl Filter {
    /// What a store is asked for.
    #[must_use]
    pub fn to_store(&self, now: u64) -> RunFilter {
        RunFilter {
            tier: self.tier,
            server: self.server.clone(),
            tool: self.tool.clone(),
            outcome: self.outcome,
            project: self.project.clone(),
            since: self.since.map(|s: Since| now.saturating_sub(s.ms())),
            ..RunFilter::default()
        }
    }
}

impl RunsView {
    /// From a page of runs.
    #[must_use]
    pub fn from_store(viewer: Option<Viewer>, filter: Filter, page: RunPage, now: u64) -> Self {
        let runs = page.runs.into_iter().map(Into::into).collect();
        Self { viewer, runs, filter, next: page.next, now }
    }
}

impl RunView {
    /// From a run and a page of its rows, which were asked for from the index `from`.
    #[must_use]
    pub fn from_store(viewer: Option<Viewer>, run: RunDetail, rows: StepPage, from: u32, now: u64) -> Self {
        let RunDetail { summary, final_output, session_id, metadata, metrics, losses } = run;
        let object = |value: &serde_json::Value| value.as_object().is_some_and(|o| !o.is_empty());
        let metadata = Some(metadata).filter(object).map(|m| m.to_string());
        let metrics = metrics.filter(object).map(|m| m.to_string());
        let (run, steps, next) = (summary.into(), rows.steps, rows.next);
        Self { viewer, run, final_output, session_id, metadata, metrics, losses, steps, from, next, now }
    }
}
