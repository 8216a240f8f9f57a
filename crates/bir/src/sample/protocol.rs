//! The protocol of the sample server: from a line to what is answered, as values.

use super::tools;
use bir_model::Era;
use serde_json::{Value, json};
use std::time::Duration;

/// Revisions, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const MODERN: &str = "2026-07-28";

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// What is done next.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// A line on stdout.
    Line(Value),
    /// Nothing, for so long.
    Pause(Duration),
}

/// What a line is answered with.
pub(super) fn answer(line: &[u8]) -> Vec<Answer> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return vec![error(&Value::Null, PARSE_ERROR, "this line is no JSON")];
    };
    let id = match message.get("id") {
        Some(id) if id.is_string() || id.is_number() => id.clone(),
        // A notification; the only ones that come need no answer.
        None if message["method"].is_string() => return Vec::new(),
        _ => return vec![error(&Value::Null, INVALID_REQUEST, "this is no request of JSON-RPC 2.0")],
    };
    let Some(method) = message["method"].as_str() else {
        // The answer to a request; this server makes none.
        return if message.get("result").or(message.get("error")).is_some() {
            Vec::new()
        } else {
            vec![error(&id, INVALID_REQUEST, "this is no request of JSON-RPC 2.0")]
        };
    };
    let params = &message["params"];
    let era = match era(params, method) {
        Ok(era) => era,
        Err(requested) => {
            let data = json!({ "supported": [MODERN], "requested": requested });
            let body = json!({ "code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data });
            return vec![Answer::Line(json!({ "jsonrpc": "2.0", "id": id, "error": body }))];
        }
    };
    let result =
        |value: Value| Answer::Line(json!({ "jsonrpc": "2.0", "id": id, "result": complete(value, era) }));
    match method {
        "initialize" => vec![result(initialize(params))],
        "server/discover" => vec![result(discover())],
        "ping" => vec![result(json!({}))],
        "tools/list" if params.get("cursor").is_some() => {
            vec![error(&id, INVALID_PARAMS, "there is one page; no cursor was given out")]
        }
        "tools/list" => {
            let mut list = json!({ "tools": tools::list() });
            if era == Era::Modern {
                list["ttlMs"] = 3_600_000.into();
                list["cacheScope"] = "public".into();
            }
            vec![result(list)]
        }
        "tools/call" => call(&id, params, &result),
        _ => vec![error(&id, METHOD_NOT_FOUND, &format!("this server does not know `{method}`"))],
    }
}

/// The era of a request; the version that is asked for and not spoken.
fn era(params: &Value, method: &str) -> Result<Era, Value> {
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    match version.as_str() {
        Some(MODERN) => Ok(Era::Modern),
        // It is asked to find the version out.
        None if method == "server/discover" => Ok(Era::Modern),
        None => Ok(Era::Legacy),
        Some(_) => Err(version.clone()),
    }
}

fn info() -> Value {
    json!({ "name": "bir-sample", "title": "Sample server of bir", "version": env!("CARGO_PKG_VERSION") })
}

fn initialize(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let version = LEGACY.iter().find(|version| **version == asked).unwrap_or(&LEGACY[0]);
    json!({
        "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": info(),
        "instructions": "Tools to try things out with. lookup names the ids that describe takes.",
    })
}

fn discover() -> Value {
    json!({
        "supportedVersions": [MODERN], "capabilities": { "tools": {} },
        "instructions": "Tools to try things out with. lookup names the ids that describe takes.",
        "ttlMs": 3_600_000, "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": info() },
    })
}

/// What a result of the modern era carries on top.
fn complete(mut value: Value, era: Era) -> Value {
    if era == Era::Modern
        && let Some(object) = value.as_object_mut()
    {
        object.insert("resultType".into(), "complete".into());
    }
    value
}

fn call(id: &Value, params: &Value, result: &dyn Fn(Value) -> Answer) -> Vec<Answer> {
    let name = params["name"].as_str().unwrap_or_default();
    let nothing = json!({});
    let arguments = params.get("arguments").unwrap_or(&nothing);
    let Some(called) = tools::call(name, arguments) else {
        return vec![error(id, INVALID_PARAMS, &format!("there is no tool `{name}`"))];
    };
    let mut answers = Vec::new();
    let token = params["_meta"].get("progressToken");
    for step in 1..=called.steps {
        answers.push(Answer::Pause(called.pause));
        answers.extend(token.map(|token| {
            let params = json!({ "progressToken": token, "progress": step, "total": called.steps });
            Answer::Line(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
        }));
    }
    answers.push(result(called.result));
    answers
}

fn error(id: &Value, code: i64, message: &str) -> Answer {
    Answer::Line(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(message: &Value) -> Vec<Answer> {
        answer(message.to_string().as_bytes())
    }

    fn one(message: &Value) -> Value {
        match ask(message).pop() {
            Some(Answer::Line(value)) => value,
            other => panic!("{other:?}"),
        }
    }

    fn modern(method: &str, mut params: Value, version: &str) -> Value {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {} });
        json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params })
    }

    #[test]
    fn the_legacy_handshake_takes_the_version_that_both_speak() {
        for (asked, spoken) in
            [("2025-06-18", "2025-06-18"), ("2999-01-01", "2025-11-25"), ("", "2025-11-25")]
        {
            let m = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": asked } });
            let answer = one(&m);
            assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(1), &json!(spoken)));
            assert!(answer["result"].get("resultType").is_none());
        }
        assert!(ask(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).is_empty());
    }

    #[test]
    fn the_modern_era_has_no_handshake() {
        let found = one(&modern("server/discover", json!({}), MODERN));
        assert_eq!(found["result"]["supportedVersions"], json!([MODERN]));
        let list = one(&modern("tools/list", json!({}), MODERN));
        assert_eq!(list["result"]["resultType"], "complete");
        let refused = one(&modern("tools/list", json!({}), "2030-01-01"));
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["data"]["requested"]),
            (&json!(-32022), &json!("2030-01-01"))
        );
    }

    #[test]
    fn progress_comes_before_the_result_and_only_where_it_is_asked_for() {
        let call = |meta: Value| json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "slow", "arguments": { "steps": 2, "seconds": 1 }, "_meta": meta } });
        let lines = |answers: Vec<Answer>| answers.iter().filter(|a| matches!(a, Answer::Line(_))).count();
        assert_eq!(lines(ask(&call(json!({ "progressToken": "t" })))), 3);
        assert_eq!(lines(ask(&call(json!({})))), 1);
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        for (line, code) in [
            ("{", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("{\"id\":1}", INVALID_REQUEST),
            ("{\"id\":null,\"method\":\"ping\"}", INVALID_REQUEST),
            ("{\"id\":1,\"method\":\"resources/list\"}", METHOD_NOT_FOUND),
            ("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nope\"}}", INVALID_PARAMS),
            ("{\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", INVALID_PARAMS),
        ] {
            let answers = answer(line.as_bytes());
            assert!(
                matches!(answers.as_slice(), [Answer::Line(value)] if value["error"]["code"] == code),
                "{}: {answers:?}",
                line
            );
        }
        assert!(answer(b"{\"id\":1,\"result\":{}}").is_empty());
    }
}
