//! Records as columns, and back. What is rare or only shown stands in one JSON text, `more`.

use crate::StoreError;
use crate::model::RunSummary;
use crate::sql::{Row, Value, name_of, values};
use bir_model::record::{
    FinalAnswer, HostInfo, Leg, Lost, Record, RunStart, ServerInfo, Source, Step, StepType,
};
use bir_model::{RunId, StepId, TenantId, UserId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `step_type` of a final answer.
pub(crate) const FINAL: &str = "final";

/// Columns of a row as they are read, in this order.
pub(crate) const STEP: &str = "s.id, s.run_id, s.step_index, s.step_type, s.tool_name, s.server, s.tool, s.outcome, s.at, \
                               s.duration_us, s.tool_input, s.tool_output, s.tool_error, s.more";
/// Columns of a row as they are written, in this order.
pub(crate) const STEP_WRITTEN: [&str; 15] = [
    "tenant_id",
    "id",
    "run_id",
    "step_index",
    "step_type",
    "tool_name",
    "server",
    "tool",
    "outcome",
    "at",
    "duration_us",
    "tool_input",
    "tool_output",
    "tool_error",
    "more",
];

/// What few rows have.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StepMore {
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_bytes: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ambiguous: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bypassed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    legs: Vec<Leg>,
}

/// What is kept of a run's beginning beside its columns.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RunMore {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) framework: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metadata: BTreeMap<String, serde_json::Value>,
}

/// JSON of a value; None for one that says nothing.
fn json<T: Serialize + Default + PartialEq>(value: &T) -> Result<Option<String>, StoreError> {
    if *value == T::default() {
        return Ok(None);
    }
    serde_json::to_string(value).map(Some).map_err(|e| StoreError::Failed(format!("a value is no JSON: {e}")))
}

/// The values of a row, as [`STEP_WRITTEN`] names them.
pub(crate) fn of_step(tenant: TenantId, step: &Step) -> Result<Vec<Value>, StoreError> {
    let more = StepMore {
        call_id: step.call_id.clone(),
        agent_id: step.agent_id.clone(),
        sources: step.sources.clone(),
        model_input: step.model_input.clone(),
        context: step.context.clone(),
        original_bytes: step.original_bytes,
        truncated: step.truncated,
        ambiguous: step.ambiguous,
        bypassed: step.bypassed,
        replayed: step.replayed,
        legs: step.legs.clone(),
    };
    Ok(values![
        tenant,
        step.id,
        step.run_id,
        step.step_index,
        step.step_type.as_str(),
        &step.tool_name,
        &step.server,
        &step.tool,
        step.outcome.map(bir_model::Outcome::as_str),
        step.at,
        step.duration_us,
        &step.tool_input,
        &step.tool_output,
        &step.tool_error,
        json(&more)?,
    ])
}

/// The values of a final answer, as [`STEP_WRITTEN`] names them.
pub(crate) fn of_final(tenant: TenantId, answer: &FinalAnswer) -> Vec<Value> {
    values![
        tenant,
        answer.id,
        answer.run_id,
        answer.step_index,
        FINAL,
        "",
        None::<&str>,
        None::<&str>,
        None::<&str>,
        answer.at,
        None::<u64>,
        None::<&str>,
        &answer.answer,
        None::<&str>,
        None::<&str>,
    ]
}

/// A step or a final answer, from the columns [`STEP`].
pub(crate) fn record(row: &Row) -> Result<Record, StoreError> {
    let id = StepId::from_uuid(row.uuid(0)?);
    let run_id = RunId::from_uuid(row.uuid(1)?);
    let step_index = row.number32(2)?;
    let step_type = row.text(3)?;
    let at = row.number(8)?;
    let step_type = match step_type.as_str() {
        FINAL => {
            let answer = row.opt_text(11)?.unwrap_or_default();
            return Ok(Record::Final(FinalAnswer { run_id, id, step_index, answer, at }));
        }
        "tool_selected" => StepType::ToolSelected,
        "tool_response" => StepType::ToolResponse,
        other => return Err(StoreError::Failed(format!("a stored row has the unknown type `{other}`"))),
    };
    let more: StepMore = row.json(13)?.unwrap_or_default();
    Ok(Record::Step(Step {
        id,
        run_id,
        step_index,
        step_type,
        tool_name: row.text(4)?,
        server: row.opt_text(5)?,
        tool: row.opt_text(6)?,
        call_id: more.call_id,
        agent_id: more.agent_id,
        sources: more.sources,
        tool_input: row.opt_text(10)?,
        model_input: more.model_input,
        context: more.context,
        tool_output: row.opt_text(11)?,
        tool_error: row.opt_text(12)?,
        outcome: row.opt_named(7)?,
        at,
        duration_us: row.opt_number(9)?,
        original_bytes: more.original_bytes,
        truncated: more.truncated,
        ambiguous: more.ambiguous,
        bypassed: more.bypassed,
        replayed: more.replayed,
        legs: more.legs,
    }))
}

/// From the columns [`STEP`] of a row that is no final answer.
pub(crate) fn step(row: &Row) -> Result<Step, StoreError> {
    match record(row)? {
        Record::Step(step) => Ok(step),
        _ => Err(StoreError::Failed("a final answer stands where a call was asked for".into())),
    }
}

/// Columns of a run as they are written, in this order.
pub(crate) const RUN_WRITTEN: [&str; 11] = [
    "tenant_id",
    "id",
    "user_id",
    "tier",
    "input",
    "project",
    "host",
    "servers",
    "more",
    "started_at",
    "last_at",
];

/// The values of a run, as [`RUN_WRITTEN`] names them.
pub(crate) fn of_run(tenant: TenantId, user: UserId, run: &RunStart) -> Result<Vec<Value>, StoreError> {
    let more = RunMore {
        framework: run.framework.clone(),
        session_id: run.session_id.clone(),
        metadata: run.metadata.clone(),
    };
    let host = run.host.as_ref().map(serde_json::to_string).transpose();
    let host = host.map_err(|e| StoreError::Failed(format!("a value is no JSON: {e}")))?;
    Ok(values![
        tenant,
        run.id,
        user,
        run.tier.as_str(),
        &run.input,
        &run.project,
        host,
        json(&run.servers)?,
        json(&more)?,
        run.started_at,
        run.started_at,
    ])
}

/// Columns of a run in a list, in this order; the prompt comes first, because lists cut it.
pub(crate) const SUMMARY: &str = "r.id, r.user_id, r.tier, r.lossy, r.lost_calls, r.project, r.host, r.servers, \
                                  r.started_at, r.ended_at, r.end_reason, r.last_at, r.calls, r.failed_calls";
/// How many columns that is.
pub(crate) const SUMMARY_COLUMNS: usize = 14;

/// From the columns [`SUMMARY`] and the prompt after them.
pub(crate) fn summary(row: &Row) -> Result<RunSummary, StoreError> {
    Ok(RunSummary {
        id: RunId::from_uuid(row.uuid(0)?),
        user: UserId::from_uuid(row.uuid(1)?),
        tier: row.named(2)?,
        lossy: row.bool(3)?,
        lost_calls: row.number(4)?,
        project: row.opt_text(5)?,
        host: row.json::<HostInfo>(6)?,
        servers: row.json::<Vec<ServerInfo>>(7)?.unwrap_or_default(),
        started_at: row.number(8)?,
        ended_at: row.opt_number(9)?,
        end_reason: row.opt_named(10)?,
        last_at: row.number(11)?,
        calls: row.number32(12)?,
        failed_calls: row.number32(13)?,
        input: row.opt_text(SUMMARY_COLUMNS)?,
    })
}

/// The values of a loss: tenant_id, id, run_id, seq, calls, records, reason, at.
pub(crate) fn of_lost(tenant: TenantId, seq: i64, lost: &Lost) -> Vec<Value> {
    values![tenant, lost.id, lost.run_id, seq, lost.calls, lost.records, &lost.reason, lost.at]
}

/// From id, run_id, calls, records, reason, at.
pub(crate) fn lost(row: &Row) -> Result<Lost, StoreError> {
    Ok(Lost {
        id: StepId::from_uuid(row.uuid(0)?),
        run_id: RunId::from_uuid(row.uuid(1)?),
        calls: row.number(2)?,
        records: row.number(3)?,
        reason: row.text(4)?,
        at: row.number(5)?,
    })
}

/// The name of why a run ended.
pub(crate) fn end_reason(reason: bir_model::record::EndReason) -> String {
    name_of(&reason)
}
