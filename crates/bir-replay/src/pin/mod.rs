//! Whether a call of the model plausibly is a step of the plan, and what it runs with if it is (seed 02 §7).
//!
//! A pin puts the plan's arguments in the place of the model's. It is kept for a call that is the step: a harmless call never becomes another one.
//!
//! | tool | the call is the step when |
//! |---|---|
//! | a shell | the same commands are chained the same way, each with the same head ([`shell`]) |
//! | writes a file of the session | it is the same file; the path is given |
//! | reads files of the session | always |
//! | a tool whose input is run | every statement is given, with the same verbs ([`statement`]); or nothing is given |
//! | any other | one argument is the same, and none that says where it acts is another; or nothing is given |

pub mod shell;
pub mod statement;

use crate::event::Ran;
use crate::script::Step;
use crate::sink::{FILE_READERS, is_file_write, is_run, is_where};
use serde_json::{Map, Value};

/// The argument by which a proxy's report finds its call.
pub const CALL_ID: &str = "__bir_call_id__";
/// Arguments that name the file of a host's tool.
const FILES: [&str; 5] = ["file_path", "notebook_path", "path", "filePath", "absolute_path"];

/// Whether a call with these arguments is the step, which would run with `input`.
///
/// # Errors
///
/// Why not, without a value.
pub fn is_the_step(step: &Step, called: &Value, input: &Value) -> Result<(), &'static str> {
    let nothing = Map::new();
    let called = called.as_object().unwrap_or(&nothing);
    let Some(input) = input.as_object() else { return Err("the step's input is no object") };
    if step.server.is_none() && is_run(step) {
        let text = |of: &Map<String, Value>| of.get("command").or_else(|| of.get("cmd")).cloned();
        return match (text(called), text(input)) {
            (Some(Value::String(called)), Some(Value::String(input))) if shell::same(&called, &input) => {
                Ok(())
            }
            (Some(called), Some(input)) if called == input => Ok(()),
            _ => Err("it runs other commands"),
        };
    }
    if is_file_write(step) {
        let file = |of: &Map<String, Value>| FILES.iter().find_map(|name| of.get(*name)).cloned();
        return match (file(called), file(input)) {
            (Some(called), Some(input)) if called == input => Ok(()),
            _ => Err("it writes another file"),
        };
    }
    if step.server.is_none() && FILE_READERS.contains(&step.tool_name.as_str()) {
        return Ok(());
    }
    if step.server.is_some() && is_run(step) {
        return statement::same(called, input);
    }
    of_any(called, input)
}

fn of_any(called: &Map<String, Value>, input: &Map<String, Value>) -> Result<(), &'static str> {
    if called.is_empty() {
        return Ok(());
    }
    let elsewhere = called.iter().any(|(name, value)| is_where(name) && input.get(name) != Some(value));
    if elsewhere {
        return Err("it acts somewhere else");
    }
    if called.iter().any(|(name, value)| input.get(name) == Some(value)) {
        Ok(())
    } else {
        Err("no argument of it is the step's")
    }
}

/// The arguments with the id by which a proxy's report finds them.
#[must_use]
pub fn with_call_id(pinned: &Value, id: Option<&str>) -> Value {
    let mut out = pinned.clone();
    if let (Some(id), Some(members)) = (id, out.as_object_mut()) {
        members.insert(CALL_ID.to_owned(), id.into());
    }
    out
}

/// Whether a call ran with what was pinned. None: nobody says.
#[must_use]
pub fn ran_as_pinned(ran: &Ran, pinned: &Value) -> Option<bool> {
    match ran {
        Ran::Untold => None,
        Ran::AsPinned(same) => Some(*same),
        Ran::With(value) => {
            let mut value = value.clone();
            if let Some(members) = value.as_object_mut() {
                members.shift_remove(CALL_ID);
            }
            Some(same(&value, pinned))
        }
    }
}

/// Equal, whatever the order of members and the spelling of numbers.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Number(a), Value::Number(b)) => {
            let whole =
                |n: &serde_json::Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
            match (whole(a), whole(b)) {
                (Some(a), Some(b)) => a == b,
                _ => a == b || a.as_f64() == b.as_f64(),
            }
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::script;
    use serde_json::json;

    fn step(server: Option<&str>, tool: &str) -> Step {
        script(json!([{"server": server, "tool": tool, "effect": "destructive"}])).steps.remove(0)
    }

    #[test]
    fn a_call_is_the_step_or_it_is_not() {
        let (bash, edit, read) = (step(None, "Bash"), step(None, "Edit"), step(None, "Read"));
        let (web, sql) = (step(Some("web"), "open"), step(Some("db"), "run_sql"));
        for (step, called, input, is) in [
            (&bash, json!({"command": "git push"}), json!({"command": "git push origin x"}), true),
            (&bash, json!({"command": "ls"}), json!({"command": "git push"}), false),
            (&bash, json!({}), json!({"command": "git push"}), false),
            (
                &edit,
                json!({"file_path": "/a", "old_string": "x"}),
                json!({"file_path": "/a", "old_string": "y"}),
                true,
            ),
            (&edit, json!({"file_path": "/b"}), json!({"file_path": "/a"}), false),
            (&edit, json!({}), json!({"file_path": "/a"}), false),
            (&read, json!({"file_path": "/b"}), json!({"file_path": "/a"}), true),
            (&web, json!({}), json!({"url": "u"}), true),
            (&web, json!({"url": "u", "x": 1}), json!({"url": "u", "x": 2}), true),
            (&web, json!({"url": "v", "x": 2}), json!({"url": "u", "x": 2}), false),
            (&web, json!({"x": 1}), json!({"x": 2}), false),
            (&web, json!({"x": 1}), json!({}), false),
            (&sql, json!({"query": "SELECT 1"}), json!({"query": "select a from b"}), true),
            (&sql, json!({"query": "DELETE FROM b"}), json!({"query": "select a from b"}), false),
            (&sql, json!({}), json!({"query": "select a from b"}), true),
        ] {
            assert_eq!(is_the_step(step, &called, &input).is_ok(), is, "{} {called} {input}", step.tool);
        }
    }

    #[test]
    fn the_id_of_a_call_is_merged_and_taken_out_again() {
        let pinned = json!({"a": 1});
        let sent = with_call_id(&pinned, Some("c"));
        assert_eq!(sent, json!({"a": 1, "__bir_call_id__": "c"}));
        assert_eq!(with_call_id(&pinned, None), pinned);
        for (ran, as_pinned) in [
            (Ran::With(sent), Some(true)),
            (Ran::With(json!({"a": 1.0})), Some(true)),
            (Ran::With(json!({"a": 2})), Some(false)),
            (Ran::With(json!({"a": 1, "b": 1})), Some(false)),
            (Ran::AsPinned(true), Some(true)),
            (Ran::AsPinned(false), Some(false)),
            (Ran::Untold, None),
        ] {
            assert_eq!(ran_as_pinned(&ran, &pinned), as_pinned, "{ran:?}");
        }
    }
}
