//! What redaction or truncation has put in the place of a value is not that value: a step whose input would hold it hands over.

use crate::budget::ARGUMENTS_MAX;
use serde_json::Value;

/// Values are looked at down to this depth.
const DEEPEST: usize = 64;

/// Why a value may not be sent.
#[must_use]
pub fn unfit(value: &Value) -> Option<&'static str> {
    if value.to_string().len() > ARGUMENTS_MAX {
        return Some("it would be longer than a megabyte");
    }
    look(value, 0)
}

fn look(value: &Value, depth: usize) -> Option<&'static str> {
    match value {
        Value::String(text) if text.contains("[redacted:") || text.contains("[REDACTED") => {
            Some("it would hold the placeholder of a secret")
        }
        Value::Object(members)
            if members.get("truncated") == Some(&Value::Bool(true))
                && members.contains_key("originalBytes") =>
        {
            Some("it would hold the mark of something that was cut off")
        }
        Value::Object(_) | Value::Array(_) if depth >= DEEPEST => Some("it is nested too deeply"),
        Value::Object(members) => members.values().find_map(|value| look(value, depth + 1)),
        Value::Array(elements) => elements.iter().find_map(|element| look(element, depth + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_and_marks_are_found_wherever_they_stand() {
        for (value, fits) in [
            (json!({"a": ["b"]}), true),
            (json!({"a": ["x [redacted:token:1f] y"]}), false),
            (json!({"a": "[REDACTED]"}), false),
            (json!({"a": {"truncated": true, "originalBytes": 9, "head": "x"}}), false),
            (json!({"truncated": true}), true),
            ((0..100).fold(json!("[redacted:x]"), |inner, _| json!([inner])), false),
            (json!("x".repeat(ARGUMENTS_MAX)), false),
        ] {
            assert_eq!(
                unfit(&value).is_none(),
                fits,
                "{}",
                &value.to_string()[..20.min(value.to_string().len())]
            );
        }
    }
}
