//! The seeds' routes: one run, one row, one end at a time.
//!
//! They take what older recorders send (seed 01 §7): `type` for `stepType`, payloads as texts or as JSON, tier and host in
//! `metadata`. Everything is idempotent by the client's id: 201 the first time, 200 again.

use super::run_id;
use crate::body;
use crate::guard::Caller;
use crate::ingest::{Unfit, book, check, check_change};
use crate::json;
use crate::problem::{Code, Problem};
use crate::scenarios;
use crate::state::State;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bir_model::record::{EndReason, Finish, HostInfo, Lost, Record, RunStart, ServerInfo, Step, StepType};
use bir_model::scenario::Begun;
use bir_model::{Outcome, RunId, StepId, Tier};
use bir_store::model::{Appended, StepChange, View};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Members of a step that hold a payload: a text, or JSON that becomes one.
const PAYLOADS: [&str; 4] = ["toolInput", "modelInput", "toolOutput", "toolError"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Beginning {
    id: RunId,
    #[serde(default)]
    tier: Option<Tier>,
    #[serde(default)]
    framework: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    started_at: Option<u64>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    host: Option<HostInfo>,
    #[serde(default)]
    servers: Vec<ServerInfo>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Value>>,
}

fn as_text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

impl Beginning {
    /// The record; what is not said stands in the metadata of older recorders, or is the cautious answer.
    fn into_record(self, now: u64) -> RunStart {
        let metadata = self.metadata.unwrap_or_default();
        let told = |name: &str| metadata.get(name).cloned();
        let tier = self.tier.or_else(|| told("tier").and_then(|v| serde_json::from_value(v).ok()));
        let host = self.host.or_else(|| told("host").and_then(|v| serde_json::from_value(v).ok()));
        let mut servers = self.servers;
        if servers.is_empty()
            && let Some(names) =
                told("wrappedServers").and_then(|v| serde_json::from_value::<Vec<String>>(v).ok())
        {
            servers = names.into_iter().map(|name| ServerInfo { name, ..ServerInfo::default() }).collect();
        }
        RunStart {
            id: self.id,
            // A partial record must not be taken for a complete one.
            tier: tier.unwrap_or(Tier::Standalone),
            framework: self.framework,
            input: self.input.and_then(as_text),
            started_at: self.started_at.unwrap_or(now),
            project: self.project,
            host,
            servers,
            session_id: self.session_id,
            metadata,
        }
    }
}

fn fit(mut record: Record) -> Result<Record, Problem> {
    match check(&mut record) {
        Ok(()) => Ok(record),
        Err(unfit) => Err(problem_of(unfit)),
    }
}

fn problem_of(Unfit { code, detail }: Unfit) -> Problem {
    let code = if code == "too_large" { Code::TooLarge } else { Code::Invalid };
    Problem::new(code, detail)
}

/// Booked: 201. A duplicate: 200.
fn status_of(verdict: Option<Appended>) -> Result<StatusCode, Problem> {
    match verdict {
        Some(Appended::Booked) => Ok(StatusCode::CREATED),
        Some(Appended::Duplicate) => Ok(StatusCode::OK),
        Some(Appended::Refused { code, detail }) => Err(match code.as_str() {
            "unknown_run" | "foreign_run" => Problem::not_found("run"),
            "index_taken" => Problem::new(Code::Conflict, detail),
            _ => Problem::new(Code::Invalid, detail),
        }),
        None => Err(Problem::new(Code::Internal, "the store said nothing")),
    }
}

/// `POST /recordings/runs`.
pub(crate) async fn begin(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let now = state.clock.now();
    let run = json::parse::<Beginning>(&bytes)?.into_record(now);
    let id = run.id;
    let mut records = vec![];
    let told_lossy = run.metadata.get("lossy") == Some(&Value::Bool(true));
    records.push(fit(Record::Run(run))?);
    if told_lossy {
        // `lossy` is a column, and what sets it is a loss; its id is the run's, so that it is counted once.
        let id_of_loss = StepId::from_uuid(id.uuid());
        records.push(Record::Lost(Lost {
            run_id: id,
            id: id_of_loss,
            calls: 0,
            records: 0,
            reason: "told".to_owned(),
            at: now,
        }));
    }
    let verdicts = book(&state, &caller.view(), &records).await?;
    let status = status_of(verdicts.into_iter().next())?;
    let Some(Record::Run(run)) = records.first() else {
        return json::answer(status, &Begun { id, matched: None });
    };
    // Scenarios are their owner's alone, also where the caller sees others' runs.
    let own = View { whole_tenant: false, ..caller.view() };
    match scenarios::ask::of_run(&state, &own, run).await {
        Some(matched) => json::ok(&Begun { id, matched: Some(matched) }),
        None => json::answer(status, &Begun { id, matched: None }),
    }
}

fn into_step(mut members: Map<String, Value>, run: RunId, now: u64) -> Result<Step, Problem> {
    if let Some(kind) = members.remove("type") {
        members.entry("stepType").or_insert(kind);
    }
    members.insert("runId".to_owned(), json!(run));
    members.entry("at").or_insert(json!(now));
    for name in PAYLOADS {
        if let Some(value) = members.get_mut(name)
            && !value.is_string()
            && !value.is_null()
        {
            *value = Value::String(value.to_string());
        }
    }
    let mut step: Step = json::from_value(Value::Object(members))?;
    if step.step_type == StepType::ToolResponse && step.outcome.is_none() {
        step.outcome = Some(outcome_of(&step));
    }
    Ok(step)
}

/// What an older recorder's response says about how the call ended.
fn outcome_of(step: &Step) -> Outcome {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Result {
        #[serde(default)]
        is_error: bool,
    }
    if step.tool_error.is_some() {
        let is_rpc = crate::metrics::rpc_code(step).is_some();
        return if is_rpc { Outcome::RpcError } else { Outcome::ToolError };
    }
    let result = step.tool_output.as_deref().and_then(|text| serde_json::from_str::<Result>(text).ok());
    if result.is_some_and(|r| r.is_error) { Outcome::ToolError } else { Outcome::Ok }
}

/// `POST /recordings/runs/:id/steps`.
pub(crate) async fn step(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(run): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let run = run_id(&run)?;
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let step = into_step(json::parse(&bytes)?, run, state.clock.now())?;
    let id = step.id;
    let verdicts = book(&state, &caller.view(), &[fit(Record::Step(step))?]).await?;
    json::answer(status_of(verdicts.into_iter().next())?, &json!({"id": id}))
}

/// `PATCH /recordings/runs/:id/steps/:stepId`.
pub(crate) async fn amend(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path((run, step)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Problem> {
    let run = run_id(&run)?;
    let step: StepId = step.parse().map_err(|_| Problem::not_found("step"))?;
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let mut members: Map<String, Value> = json::parse(&bytes)?;
    for name in PAYLOADS {
        if let Some(value) = members.get_mut(name)
            && !value.is_string()
            && !value.is_null()
        {
            *value = Value::String(value.to_string());
        }
    }
    let mut change: StepChange = json::from_value(Value::Object(members))?;
    check_change(&mut change).map_err(problem_of)?;
    let view = View { whole_tenant: false, ..caller.view() };
    let amended = state.store.amend(&view, run, step, &change).await?;
    let row = amended.ok_or_else(|| Problem::not_found("step"))?;
    state.live.tell_run(&*state.store, &view, run, vec![row]).await;
    json::ok(&json!({"id": step}))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ending {
    #[serde(default)]
    final_output: Option<Value>,
    #[serde(default)]
    metrics: Option<Value>,
    #[serde(default)]
    ended_at: Option<u64>,
    #[serde(default)]
    reason: Option<EndReason>,
}

/// `POST /recordings/runs/:id/finish`.
pub(crate) async fn finish(
    axum::extract::State(state): axum::extract::State<State>,
    caller: Caller,
    Path(run): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let run = run_id(&run)?;
    let limits = &state.settings.limits;
    let bytes = body::read(body, limits.body_bytes, limits.body_idle).await?;
    let bytes = if bytes.trim_ascii().is_empty() { "{}".into() } else { bytes };
    let ending: Ending = json::parse(&bytes)?;
    let record = fit(Record::Finish(Finish {
        run_id: run,
        at: ending.ended_at.unwrap_or_else(|| state.clock.now()),
        reason: ending.reason.unwrap_or(EndReason::Closed),
        final_output: ending.final_output.and_then(as_text),
        metrics: ending.metrics.filter(|m| !m.is_null()),
    }))?;
    let verdicts = book(&state, &caller.view(), &[record]).await?;
    status_of(verdicts.into_iter().next())?;
    json::ok(&json!({"id": run}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_of(text: &str) -> Result<Step, Problem> {
        into_step(serde_json::from_str(text).unwrap(), RunId::new(), 7)
    }

    #[test]
    fn the_seeds_shape_becomes_a_row() {
        let id = StepId::new();
        let step = step_of(&format!(
            r#"{{"id":"{id}","stepIndex":7,"type":"tool_selected","toolName":"mcp__a__b","toolInput":{{"url":"x"}},"context":"why"}}"#
        ))
        .unwrap();
        assert_eq!((step.id, step.step_index, step.at), (id, 7, 7));
        assert_eq!(step.tool_input.as_deref(), Some(r#"{"url":"x"}"#));
        assert_eq!((step.step_type, step.outcome), (StepType::ToolSelected, None));
    }

    #[test]
    fn how_a_call_ended_is_read_from_what_it_gave() {
        let cases = [
            (r#""toolOutput":"{\"content\":[]}""#, Outcome::Ok),
            (r#""toolOutput":"{\"content\":[],\"isError\":true}""#, Outcome::ToolError),
            (r#""toolOutput":"no json""#, Outcome::Ok),
            (r#""toolError":"boom""#, Outcome::ToolError),
            (r#""toolError":{"code":-32602,"message":"m"}"#, Outcome::RpcError),
            (r#""toolError":"x","outcome":"cancelled""#, Outcome::Cancelled),
        ];
        for (members, outcome) in cases {
            let text = format!(
                r#"{{"id":"{}","stepIndex":1,"stepType":"tool_response","toolName":"t",{members}}}"#,
                StepId::new()
            );
            assert_eq!(step_of(&text).unwrap().outcome, Some(outcome), "{members}");
        }
    }

    #[test]
    fn a_wrong_member_is_named() {
        let text =
            format!(r#"{{"id":"{}","stepIndex":"x","type":"tool_selected","toolName":"t"}}"#, StepId::new());
        let problem = step_of(&text).unwrap_err();
        assert!(problem.detail.contains("`stepIndex`"), "{}", problem.detail);
    }

    #[test]
    fn what_older_recorders_put_into_metadata_is_found_there() {
        let text = format!(
            r#"{{"id":"{}","framework":"x","input":"p","metadata":{{"tier":"bound","host":{{"app":"h"}},"wrappedServers":["a"]}}}}"#,
            RunId::new()
        );
        let run = serde_json::from_str::<Beginning>(&text).unwrap().into_record(9);
        assert_eq!((run.tier, run.started_at, run.servers.len()), (Tier::Bound, 9, 1));
        assert_eq!(run.host.unwrap().app, "h");
    }
}
