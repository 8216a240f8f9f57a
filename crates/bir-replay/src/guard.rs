//! The injection guard (seed 02 §13.2): where something is run, a value that the prompt gave is free of what a shell or a statement
//! reads as more than a value, and has the shape of the recorded one.

use crate::script::Script;
use crate::sink::{is_file_write, is_run};
use serde_json::{Map, Value};

/// What a shell or a statement reads as more than a value.
const META: [char; 15] = [';', '&', '|', '<', '>', '$', '`', '"', '\'', '\\', '\n', '\r', '\0', '#', '%'];
/// Signs that are allowed where the recorded value has them.
const AS_SAMPLE: [char; 13] = ['*', '?', '[', ']', '{', '}', '(', ')', '!', '~', '^', '=', '@'];

/// Why a value is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsafe {
    /// Of which parameter.
    pub param: String,
    /// Why.
    pub why: &'static str,
}

/// Whether the values of this prompt may go into what is run.
///
/// # Errors
///
/// [`Unsafe`]: of the first value that may not.
pub fn check(script: &Script, params: &Map<String, Value>) -> Result<(), Unsafe> {
    let runs = script.steps.iter().any(is_run);
    if !runs && !script.steps.iter().any(is_file_write) {
        return Ok(());
    }
    for param in &script.plan.params {
        let Some(value) = params.get(&param.name).filter(|value| **value != param.sample) else { continue };
        let why = if runs { of_run(value, &param.sample) } else { of_file(value) };
        if let Some(why) = why {
            return Err(Unsafe { param: param.name.clone(), why });
        }
    }
    Ok(())
}

fn of_run(value: &Value, sample: &Value) -> Option<&'static str> {
    match (value, sample) {
        (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => None,
        (Value::String(value), Value::String(sample)) => of_text(value, sample),
        (Value::Array(values), Value::Array(samples)) => {
            let sample = samples.first().unwrap_or(&Value::Null);
            values.iter().find_map(|value| of_run(value, sample))
        }
        _ => Some("it is of another kind than the recorded one"),
    }
}

fn of_text(value: &str, sample: &str) -> Option<&'static str> {
    let has = |sign: char| value.contains(sign) && !sample.contains(sign);
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if value.contains(META) || value.chars().any(char::is_control) {
        Some("it holds a sign that a shell or a statement reads")
    } else if value.starts_with('-') {
        Some("it begins with `-`")
    } else if value.contains("--") && !sample.contains("--") {
        Some("it holds `--`")
    } else if AS_SAMPLE.into_iter().any(has) || (value.contains("/*") && !sample.contains("/*")) {
        Some("it holds a sign that the recorded one has not")
    } else if value.contains(char::is_whitespace) && !sample.contains(char::is_whitespace) {
        Some("it holds white space, and the recorded one does not")
    } else if value.trim().is_empty() && !sample.trim().is_empty() {
        Some("it is empty")
    } else if is_number(sample) && !is_number(value) {
        Some("it is no number, and the recorded one is")
    } else if value.contains("..") && !sample.contains("..") {
        Some("it holds `..`")
    } else {
        None
    }
}

fn of_file(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(text) if text.contains(['\n', '\r', '\0', '\u{2028}', '\u{2029}']) => {
            Some("it holds a line break")
        }
        Value::Array(values) => values.iter().find_map(of_file),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::script;
    use serde_json::json;

    fn checked(tool: Value, sample: Value, value: Value) -> bool {
        let mut script = script(json!([tool]));
        script.plan.params = serde_json::from_value(json!([{
            "name": "p", "spans": [], "reading": "text", "role": "target", "sample": sample
        }]))
        .unwrap();
        check(&script, json!({"p": value}).as_object().unwrap()).is_ok()
    }

    #[test]
    fn what_is_run_takes_plain_values_alone() {
        let shell = json!({"tool": "Bash", "effect": "destructive"});
        for (sample, value, good) in [
            (json!("main"), json!("dev"), true),
            (json!("main"), json!("a;b"), false),
            (json!("main"), json!("$(id)"), false),
            (json!("main"), json!("`id`"), false),
            (json!("main"), json!("a\nb"), false),
            (json!("main"), json!("-rf"), false),
            (json!("main"), json!("a b"), false),
            (json!("a c"), json!("a b"), true),
            (json!("main"), json!("*"), false),
            (json!("*.rs"), json!("*.md"), true),
            (json!("main"), json!("../x"), false),
            (json!("O'Hara"), json!("O'Brien"), false),
            (json!("O'Hara"), json!("O'Hara"), true),
            (json!("12"), json!("13"), true),
            (json!("12"), json!("1 OR 1"), false),
            (json!("12"), json!("abc"), false),
            (json!(12), json!(13), true),
            (json!(12), json!("13"), false),
            (json!("x"), json!(""), false),
            (json!(["a"]), json!(["b", "c|d"]), false),
            (json!(["a"]), json!(["b", "c"]), true),
        ] {
            assert_eq!(checked(shell.clone(), sample.clone(), value.clone()), good, "{sample} {value}");
        }
    }

    #[test]
    fn files_take_no_line_breaks_and_other_tools_take_everything() {
        let edit = json!({"tool": "Edit", "effect": "destructive"});
        assert!(checked(edit.clone(), json!("a"), json!("b; c")));
        assert!(!checked(edit, json!("a"), json!("b\nc")));
        let search = json!({"server": "web", "tool": "search", "effect": "read"});
        assert!(checked(search, json!("a"), json!("b;\nc")));
        let sql = json!({"server": "db", "tool": "run_sql", "effect": "read"});
        assert!(!checked(sql, json!("a"), json!("b'; DROP TABLE x")));
    }
}
