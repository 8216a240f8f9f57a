//! The tools of the sample server, as functions over values.

use serde_json::{Value, json};
use std::time::Duration;

/// Airports, so that what `lookup` gives is what `describe` takes.
const AIRPORTS: [(&str, &str, &str, i64); 6] = [
    ("CDG", "Paris", "Charles de Gaulle", 119),
    ("ORY", "Paris", "Orly", 89),
    ("FCO", "Rome", "Fiumicino", 5),
    ("BER", "Berlin", "Brandenburg", 48),
    ("LHR", "London", "Heathrow", 25),
    ("LCY", "London", "City", 6),
];

/// Progress of `slow`: so many steps at most, and so many seconds.
const MOST: (u64, f64) = (20, 30.0);

/// A call, as it is to be answered.
pub(super) struct Called {
    pub(super) result: Value,
    /// Steps of progress before the answer.
    pub(super) steps: u64,
    /// Before each of them.
    pub(super) pause: Duration,
}

/// What `tools/list` says.
pub(super) fn list() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str], reads: bool| {
        json!({
            "name": name, "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": reads, "idempotentHint": true, "openWorldHint": false },
        })
    };
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number = |description: &str| json!({ "type": "number", "description": description });
    json!([
        tool(
            "echo",
            "Says what it is told.",
            json!({ "message": text("What it says.") }),
            &["message"],
            true
        ),
        tool(
            "add",
            "Adds two numbers.",
            json!({ "a": number("One."), "b": number("The other.") }),
            &["a", "b"],
            true
        ),
        tool("fail", "Fails, always.", json!({ "reason": text("Why.") }), &[], true),
        tool(
            "lookup",
            "Finds the airports of a city.",
            json!({ "city": text("Paris, Rome, Berlin or London.") }),
            &["city"],
            true
        ),
        tool(
            "describe",
            "Describes an airport that lookup found.",
            json!({ "id": text("Its id.") }),
            &["id"],
            true
        ),
        tool(
            "slow",
            "Takes its time, and tells its progress.",
            json!({ "seconds": number("How long, 30 at most."), "steps": number("Steps of progress, 20 at most.") }),
            &[],
            true
        ),
    ])
}

/// Calls a tool. None: there is none of this name.
pub(super) fn call(name: &str, arguments: &Value) -> Option<Called> {
    let (mut steps, mut pause) = (0, Duration::ZERO);
    let text = |key: &str| arguments[key].as_str().ok_or_else(|| format!("`{key}` is to be a text"));
    let number = |key: &str| arguments[key].as_f64().ok_or_else(|| format!("`{key}` is to be a number"));
    let outcome = match name {
        "echo" => text("message").map(|message| said(&format!("Echo: {message}"))),
        "add" => number("a").and_then(|a| Ok(sum(arguments, a + number("b")?))),
        "fail" => Err(arguments["reason"].as_str().unwrap_or("this tool always fails").to_owned()),
        "lookup" => text("city").map(lookup),
        "describe" => text("id").and_then(describe),
        "slow" => {
            let seconds = arguments["seconds"].as_f64().unwrap_or(1.0).clamp(0.0, MOST.1);
            steps = arguments["steps"].as_u64().unwrap_or(5).clamp(1, MOST.0);
            pause = Duration::from_secs_f64(seconds / steps as f64);
            Ok(said(&format!("Done after {seconds} s in {steps} steps.")))
        }
        _ => return None,
    };
    let result = outcome
        .unwrap_or_else(|why| json!({ "content": [{ "type": "text", "text": why }], "isError": true }));
    Some(Called { result, steps, pause })
}

fn said(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn structured(value: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": value.to_string() }], "structuredContent": value })
}

/// Whole numbers stay whole.
fn sum(arguments: &Value, of_floats: f64) -> Value {
    let whole = arguments["a"].as_i64().zip(arguments["b"].as_i64()).and_then(|(a, b)| a.checked_add(b));
    structured(&whole.map_or_else(|| json!({ "sum": of_floats }), |sum| json!({ "sum": sum })))
}

fn lookup(city: &str) -> Value {
    let of_city = AIRPORTS.iter().filter(|(_, of, _, _)| of.eq_ignore_ascii_case(city));
    let found: Vec<Value> = of_city.map(|(id, _, name, _)| json!({ "id": id, "name": name })).collect();
    structured(&json!({ "city": city, "airports": found }))
}

fn describe(id: &str) -> Result<Value, String> {
    let found = AIRPORTS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(id));
    let (id, city, name, elevation) = found.ok_or_else(|| format!("no airport has the id `{id}`"))?;
    Ok(structured(&json!({ "id": id, "city": city, "name": name, "elevationMetres": elevation })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_do_what_they_say() {
        for (name, arguments, text, fails) in [
            ("echo", json!({ "message": "hi" }), "Echo: hi", false),
            ("echo", json!({}), "`message` is to be a text", true),
            ("add", json!({ "a": 2, "b": 40 }), "{\"sum\":42}", false),
            ("add", json!({ "a": 0.5, "b": 1 }), "{\"sum\":1.5}", false),
            ("add", json!({ "a": "2", "b": 1 }), "`a` is to be a number", true),
            ("fail", json!({}), "this tool always fails", true),
            (
                "lookup",
                json!({ "city": "rome" }),
                "{\"city\":\"rome\",\"airports\":[{\"id\":\"FCO\",\"name\":\"Fiumicino\"}]}",
                false,
            ),
            (
                "describe",
                json!({ "id": "LCY" }),
                "{\"id\":\"LCY\",\"city\":\"London\",\"name\":\"City\",\"elevationMetres\":6}",
                false,
            ),
            ("describe", json!({ "id": "XXX" }), "no airport has the id `XXX`", true),
            ("slow", json!({ "seconds": 0 }), "Done after 0 s in 5 steps.", false),
        ] {
            let result = call(name, &arguments).unwrap().result;
            assert_eq!(result["content"][0]["text"], text, "{name} {arguments}");
            assert_eq!(result["isError"] == true, fails, "{name} {arguments}");
        }
        assert!(call("nope", &json!({})).is_none());
        let slow = call("slow", &json!({ "seconds": 1e9, "steps": 1_000_000 })).unwrap();
        assert_eq!((slow.steps, slow.pause), (20, Duration::from_secs_f64(1.5)));
    }

    #[test]
    fn every_listed_tool_can_be_called() {
        let tools = list();
        assert!(
            tools
                .as_array()
                .unwrap()
                .iter()
                .all(|tool| call(tool["name"].as_str().unwrap(), &json!({})).is_some())
        );
    }
}
