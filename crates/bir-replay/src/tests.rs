//! What the tests of this crate share: scenarios in few words.

use crate::script::Script;
use bir_model::scenario::{Level, Payload};
use bir_plan::scenario::Scenario;
use serde_json::{Map, Value, json};

/// The plan of steps in few words: `{server, tool, effect, input: {name: expr}, keeps, confidence}`.
pub(crate) fn plan(steps: Value) -> Scenario {
    let steps: Vec<Value> = steps.as_array().unwrap().iter().map(of_plan).collect();
    let mut params = Vec::new();
    for name in ["p", "q"] {
        params
            .push(json!({"name": name, "spans": [], "reading": "text", "role": "setting", "sample": "main"}));
    }
    serde_json::from_value(json!({"prompt": "x", "params": params, "steps": steps, "runs": 2})).unwrap()
}

fn of_plan(step: &Value) -> Value {
    let confidence = step.get("confidence").cloned().unwrap_or(json!("high"));
    let member = |(name, expr): (&String, &Value)| {
        let text = expr.to_string();
        let origin = match (text.contains("\"kept\""), text.contains("\"param\"")) {
            (true, true) => "mixed",
            (true, false) => "result",
            (false, true) => "prompt",
            (false, false) => "constant",
        };
        json!([name, {"leaf": {"expr": expr, "origin": origin, "confidence": confidence}}])
    };
    let input = step.get("input").cloned().unwrap_or(json!({"n": {"const": 1}}));
    let input: Vec<Value> = input.as_object().unwrap().iter().map(member).collect();
    json!({
        "server": step.get("server"), "tool": step["tool"], "input": {"object": input},
        "effect": step.get("effect").unwrap_or(&json!("read")), "keeps": step.get("keeps").unwrap_or(&json!([])),
    })
}

/// What the hub would send of them.
pub(crate) fn payload(steps: Value, level: Level) -> Payload {
    let plan = plan(steps.clone());
    let of_payload = |(n, step): (usize, &Value)| {
        let tool = step["tool"].as_str().unwrap();
        let server = step.get("server").and_then(Value::as_str);
        let mut out = json!({
            "stepIndex": n, "tool": tool, "server": server, "toolInputLogic": "return {};", "toolOutputLogic": "return {};",
            "toolName": server.map_or(tool.to_owned(), |server| format!("mcp__{server}__{tool}")),
            "reasoning": null, "effect": step.get("effect").unwrap_or(&json!("read")),
        });
        if step.get("edited").is_some() {
            out["inputEdited"] = true.into();
        }
        if step.get("outputEdited").is_some() {
            out["outputEdited"] = true.into();
        }
        if let Some(mark) = step.get("mark") {
            out["mark"] = mark.clone();
        }
        out
    };
    let all: Vec<Value> = steps.as_array().unwrap().iter().enumerate().map(of_payload).collect();
    Payload {
        intent: "Do it".into(),
        state: bir_model::scenario::ScenarioState::Ready,
        level,
        revision: 1,
        params_object: Map::new(),
        params_logic: String::new(),
        response_params_logic: String::new(),
        steps: serde_json::from_value(json!(all)).unwrap(),
        plan: Some(serde_json::to_value(plan).unwrap()),
    }
}

pub(crate) fn script(steps: Value) -> Script {
    script_at(steps, Level::L3)
}

pub(crate) fn script_at(steps: Value, level: Level) -> Script {
    let payload = payload(steps.clone(), level);
    Script::read(&payload).unwrap_or_else(|_| Script {
        intent: String::new(),
        level,
        revision: 1,
        steps: Vec::new(),
        plan: plan(json!([])),
    })
}

/// What the hub answers where a prompt matches, with these values read.
pub(crate) fn matched(steps: Value, level: Level, params: Value) -> bir_model::scenario::Matched {
    let derived = json!({"params": params, "missing": [], "sampled": [], "derived": true, "costUsd": "0"});
    bir_model::scenario::Matched {
        run_id: bir_model::RunId::new(),
        scenario_id: Some(bir_model::ScenarioId::new()),
        similarity: None,
        execution_ticket: Some(bir_model::TicketId::new()),
        scenario: Some(payload(steps, level)),
        derived: Some(serde_json::from_value(derived).unwrap()),
        iterations: 2,
        decision: Some(bir_model::scenario::Decision::Execute),
        why: None,
    }
}
