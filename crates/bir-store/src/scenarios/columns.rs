//! Between the tables of scenarios and their values.

use crate::StoreError;
use crate::model::{Candidate, EditRow, Execution, ScenarioRun, ScenarioStep, ScenarioSummary};
use crate::sql::Row;
use bir_model::scenario::{ExecutionReport, StepEdits};
use bir_model::{EditId, RunId, ScenarioId, TicketId, Usd, UserId};

/// Columns of a scenario in a list, in this order; the prompt comes after them, because lists cut it.
pub(super) const SUMMARY: &str = "s.id, s.source_run_id, s.family, s.project, s.cwd, s.state, s.level, s.level_reason, \
                                  s.confidence, s.run_count, s.step_count, s.iterations, s.revision, s.approved_at, \
                                  s.created_at, s.updated_at, s.reason, s.intent, s.standing, \
                                  (SELECT max(u.claimed_at) FROM executions u WHERE u.tenant_id = s.tenant_id \
                                   AND u.scenario_id = s.id AND u.claimed_at IS NOT NULL)";
/// How many columns that is.
pub(super) const SUMMARY_COLUMNS: usize = 20;

/// From the columns [`SUMMARY`] and the prompt after them.
pub(super) fn summary(row: &Row) -> Result<ScenarioSummary, StoreError> {
    Ok(ScenarioSummary {
        id: ScenarioId::from_uuid(row.uuid(0)?),
        source_run: row.opt_uuid(1)?.map(RunId::from_uuid),
        family: row.text(2)?,
        project: row.opt_text(3)?,
        cwd: row.opt_text(4)?,
        state: row.named(5)?,
        level: row.named(6)?,
        level_reason: row.opt_text(7)?,
        confidence: row.named(8)?,
        calculated_from: row.number32(9)?,
        steps: row.number32(10)?,
        matches: row.number(11)?,
        revision: row.number(12)?,
        approved_at: row.opt_number(13)?,
        created_at: row.number(14)?,
        updated_at: row.number(15)?,
        reason: row.opt_text(16)?,
        intent: row.opt_text(17)?,
        standing: row.opt_text(18)?,
        last_used_at: row.opt_number(19)?,
        prompt: row.text(SUMMARY_COLUMNS)?,
    })
}

/// Columns of a scenario for matching, in this order.
pub(super) const CANDIDATE: &str = "s.id, s.state, s.revision, s.level, s.approved_at, s.source_run_id, s.family, \
                                    s.project, s.cwd, s.updated_at, s.prompt, CASE WHEN s.state = 'ready' THEN s.plan END";

/// From the columns [`CANDIDATE`].
pub(super) fn candidate(row: &Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: ScenarioId::from_uuid(row.uuid(0)?),
        state: row.named(1)?,
        revision: row.number(2)?,
        level: row.named(3)?,
        approved: row.opt_number(4)?.is_some(),
        source_run: row.opt_uuid(5)?.map(RunId::from_uuid),
        family: row.text(6)?,
        project: row.opt_text(7)?,
        cwd: row.opt_text(8)?,
        updated_at: row.number(9)?,
        prompt: row.text(10)?,
        plan: row.opt_text(11)?,
    })
}

/// Columns of a step as they are written, in this order.
pub(super) const STEP_WRITTEN: [&str; 12] = [
    "tenant_id",
    "scenario_id",
    "step_index",
    "server",
    "tool",
    "effect",
    "mark",
    "reasoning",
    "input_logic",
    "output_logic",
    "recorded_input",
    "recorded_output",
];
/// Columns of a step as they are read, in this order.
pub(super) const STEP: &str = "step_index, server, tool, effect, mark, reasoning, input_logic, output_logic, \
                               recorded_input, recorded_output";

/// From the columns [`STEP`].
pub(super) fn step(row: &Row) -> Result<ScenarioStep, StoreError> {
    Ok(ScenarioStep {
        index: row.number32(0)?,
        server: row.opt_text(1)?,
        tool: row.text(2)?,
        effect: row.named(3)?,
        reasoning: row.opt_text(5)?,
        edits: StepEdits {
            input_logic: row.opt_text(6)?,
            output_logic: row.opt_text(7)?,
            mark: row.opt_named(4)?,
        },
        recorded_input: row.opt_text(8)?,
        recorded_output: row.opt_text(9)?,
    })
}

/// Columns of a run of a scenario, of `scenario_runs x` and, where it is there, `runs r`.
pub(super) const RUN: &str = "x.run_id, x.role, r.id, x.started_at, CASE WHEN r.id IS NULL THEN x.ended_at ELSE r.ended_at END, \
                              CASE WHEN r.id IS NULL THEN x.metrics ELSE r.metrics END";

/// From the columns [`RUN`].
pub(super) fn run(row: &Row) -> Result<ScenarioRun, StoreError> {
    Ok(ScenarioRun {
        run: RunId::from_uuid(row.uuid(0)?),
        role: row.named(1)?,
        gone: row.opt_uuid(2)?.is_none(),
        started_at: row.number(3)?,
        ended_at: row.opt_number(4)?,
        metrics: row.json(5)?,
    })
}

/// Columns of an entry of the history, in this order.
pub(super) const EDIT: &str = "e.id, e.scenario_id, e.step_index, e.at, e.user_id, e.before, e.after, e.forced, e.note, \
                               e.revision, e.reverts";

/// From the columns [`EDIT`].
pub(super) fn edit(row: &Row) -> Result<EditRow, StoreError> {
    Ok(EditRow {
        id: EditId::from_uuid(row.uuid(0)?),
        scenario: ScenarioId::from_uuid(row.uuid(1)?),
        step_index: row.number32(2)?,
        at: row.number(3)?,
        by: UserId::from_uuid(row.uuid(4)?),
        before: row.json(5)?.unwrap_or_default(),
        after: row.json(6)?.unwrap_or_default(),
        forced: row.bool(7)?,
        note: row.opt_text(8)?,
        revision: row.number(9)?,
        takes_back: row.opt_uuid(10)?.map(EditId::from_uuid),
    })
}

/// Columns of an execution that was told, in this order.
pub(super) const EXECUTION: &str = "e.id, e.scenario_id, e.run_id, e.issued_at, e.claimed_at, e.prompt, e.outcome, e.mode, e.level, \
                                    e.derive_cost_usd, e.session_cost_usd, e.fallback_cost_usd, e.tokens, e.duration_ms, \
                                    e.steps_planned, e.steps_pinned, e.measured, e.pricing_version, e.verdicts, e.error, \
                                    e.error_stage, e.error_step, e.error_tool, e.model";

/// From the columns [`EXECUTION`].
pub(super) fn execution(row: &Row) -> Result<Execution, StoreError> {
    let id = TicketId::from_uuid(row.uuid(0)?);
    let usd = |at: usize| -> Result<Usd, StoreError> {
        let text = row.text(at)?;
        text.parse()
            .map_err(|_| StoreError::Failed(format!("a stored amount is no longer understood: {text}")))
    };
    let report = ExecutionReport {
        ticket: Some(id),
        outcome: row.named(6)?,
        mode: row.opt_named(7)?,
        level: row.opt_named(8)?,
        derive_cost_usd: usd(9)?,
        session_cost_usd: usd(10)?,
        fallback_cost_usd: usd(11)?,
        tokens: row.number(12)?,
        model: row.opt_text(23)?,
        duration_ms: row.number(13)?,
        steps_planned: row.number32(14)?,
        steps_pinned: row.number32(15)?,
        measured: row.bool(16)?,
        pricing_version: row.text(17)?,
        prompt: row.opt_text(5)?,
        steps: row.json(18)?.unwrap_or_default(),
        error: row.opt_text(19)?,
        error_stage: row.opt_named(20)?,
        error_step_index: row.opt_number(21)?.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        error_tool_name: row.opt_text(22)?,
    };
    Ok(Execution {
        id,
        scenario: ScenarioId::from_uuid(row.uuid(1)?),
        run: row.opt_uuid(2)?.map(RunId::from_uuid),
        issued_at: row.number(3)?,
        claimed_at: row.number(4)?,
        report,
    })
}
