//! What the demo does with the server: a few calls of each kind that a recording should keep.

use super::client::{Client, Response};
use serde_json::{Value, json};

/// No secret of anybody: made up, in the shape of one, so that it can be seen what the recorder does with it.
const FAKE_SECRET: &str = concat!("ghp_", "0123456789abcdefghijklmnopqrstuvwxyz");

/// A call that is to be made.
#[derive(Debug, PartialEq)]
struct Planned {
    tool: String,
    arguments: Value,
    /// For the person who looks on.
    note: &'static str,
    /// It is asked to tell its progress.
    progress: bool,
}

/// Plays it; tells each call, and returns how many there were.
pub(super) fn play(client: &mut Client, tell: impl Fn(&str)) -> Result<u32, String> {
    let listed = client.request("tools/list", json!({}))?;
    let listed = listed.map_err(|error| format!("tools/list is refused: {error}"))?;
    let tools: Vec<String> = listed["tools"]
        .as_array()
        .map(|tools| tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let mut calls = 0;
    for planned in plan(&tools) {
        tell(&format!("{} {}", planned.tool, planned.note));
        let result = call(client, &planned)?;
        calls += 1;
        // What one call gives, the next one takes.
        if planned.tool == "lookup"
            && let Some(id) = first_id(&result)
            && tools.iter().any(|tool| tool == "describe")
        {
            tell("describe with an id of that result");
            let next = Planned {
                tool: "describe".into(),
                arguments: json!({ "id": id }),
                note: "",
                progress: false,
            };
            let _ = call(client, &next)?;
            calls += 1;
        }
    }
    if calls == 0 {
        return Err("it has no tool that this demo knows".into());
    }
    Ok(calls)
}

fn call(client: &mut Client, planned: &Planned) -> Result<Response, String> {
    let mut params = json!({ "name": planned.tool, "arguments": planned.arguments });
    if planned.progress {
        params["_meta"] = json!({ "progressToken": "bir-demo" });
    }
    client.request("tools/call", params)
}

/// The calls, as far as the server has the tools.
fn plan(tools: &[String]) -> Vec<Planned> {
    let there = |names: &[&str]| {
        names.iter().find(|name| tools.iter().any(|tool| tool == *name)).map(|name| (*name).to_owned())
    };
    let planned = |tool: Option<String>, arguments: Value, note| {
        tool.map(|tool| Planned { tool, arguments, note, progress: false })
    };
    let add = there(&["get-sum", "add"]);
    let slow = there(&["trigger-long-running-operation", "longRunningOperation", "slow"]);
    let slow_arguments = match slow.as_deref() {
        Some("slow") => json!({ "seconds": 2, "steps": 4 }),
        _ => json!({ "duration": 2, "steps": 4 }),
    };
    let secret = format!("deploy with the token {FAKE_SECRET}");
    [
        planned(there(&["echo"]), json!({ "message": "Hello from bir" }), "with a greeting"),
        planned(add.clone(), json!({ "a": 2, "b": 40 }), "two numbers"),
        planned(there(&["lookup"]), json!({ "city": "Paris" }), "a city"),
        planned(
            there(&["echo"]),
            json!({ "message": secret }),
            "with a made-up secret, which is not recorded",
        ),
        there(&["fail"]).map_or_else(
            || planned(add, json!({ "a": "two", "b": 40 }), "something that is no number, which fails"),
            |fail| planned(Some(fail), json!({ "reason": "the demo wants to see a failure" }), "which fails"),
        ),
        planned(slow, slow_arguments, "for two seconds").map(|call| Planned { progress: true, ..call }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_id(response: &Response) -> Option<String> {
    let found = &response.as_ref().ok()?["structuredContent"]["airports"];
    found[0]["id"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str]) -> Vec<String> {
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        plan(&tools).into_iter().map(|planned| planned.tool).collect()
    }

    #[test]
    fn the_calls_follow_what_the_server_has() {
        let cases: [(&[&str], &[&str]); 4] = [
            (
                &["echo", "add", "fail", "lookup", "describe", "slow"],
                &["echo", "add", "lookup", "echo", "fail", "slow"],
            ),
            (
                &["echo", "get-sum", "trigger-long-running-operation"],
                &["echo", "get-sum", "echo", "get-sum", "trigger-long-running-operation"],
            ),
            (
                &["echo", "add", "longRunningOperation"],
                &["echo", "add", "echo", "add", "longRunningOperation"],
            ),
            (&["other"], &[]),
        ];
        for (tools, expected) in cases {
            assert_eq!(names(tools), expected);
        }
    }

    #[test]
    fn the_made_up_secret_has_the_shape_of_one() {
        assert_eq!(FAKE_SECRET.len(), 40);
    }
}
