//! The leaves of values, and which of them may be witnesses: what redaction or truncation has put in a value's place says nothing.

use bir_plan::expr::{At, Path};
use serde_json::Value;

/// So deep.
const DEEPEST: usize = 24;
/// So many of one value; what is behind them is not looked at.
pub(crate) const MOST: usize = 60_000;

/// A single value inside of another, and the way to it. Empty lists and objects are leaves.
pub(crate) fn leaves(value: &Value) -> Vec<(Path, &Value)> {
    let mut out = Vec::new();
    walk(value, &mut Vec::new(), &mut out);
    out
}

fn walk<'v>(value: &'v Value, at: &mut Path, out: &mut Vec<(Path, &'v Value)>) {
    if out.len() >= MOST || at.len() > DEEPEST {
        return;
    }
    match value {
        Value::Object(members) if !members.is_empty() => {
            if is_cut(value) {
                return;
            }
            for (key, member) in members {
                at.push(At::Key(key.clone()));
                walk(member, at, out);
                at.pop();
            }
        }
        Value::Array(elements) if !elements.is_empty() => {
            for (n, element) in elements.iter().enumerate() {
                at.push(At::Index(n));
                walk(element, at, out);
                at.pop();
            }
        }
        leaf => out.push((at.clone(), leaf)),
    }
}

/// What stands for something that was cut off: `{"truncated":true,"originalBytes":…}`.
pub(crate) fn is_cut(value: &Value) -> bool {
    value.get("truncated") == Some(&Value::Bool(true)) && value.get("originalBytes").is_some()
}

/// Whether redaction has been in a text.
pub(crate) fn is_redacted(text: &str) -> bool {
    text.contains("[redacted:") || text.contains("[REDACTED")
}

/// Whether a leaf may explain anything.
pub(crate) fn is_witness(leaf: &Value) -> bool {
    match leaf {
        Value::String(text) => !text.is_empty() && !is_redacted(text),
        Value::Number(_) => true,
        _ => false,
    }
}

/// What a path leads to.
pub(crate) fn at<'v>(value: &'v Value, path: &[At]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        At::Key(key) => value.get(key),
        At::Index(index) => value.get(*index),
    })
}

/// Whether two values are the same; numbers may differ in what printing a double and reading it again may lose.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a == b || (a - b).abs() <= 2.0 * f64::EPSILON * a.abs().max(b.abs()),
            _ => a == b,
        },
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_cut_off_or_redacted_is_no_witness() {
        let value = json!({"a": [1, {"truncated": true, "originalBytes": 9, "head": "secret"}], "b": "[redacted:key:0123456789ab]", "c": {}});
        let found: Vec<_> = leaves(&value);
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().filter(|(_, leaf)| is_witness(leaf)).count(), 1);
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        assert!(leaves(&deep).is_empty());
        let wide = Value::from(vec![0; MOST + 5]);
        assert_eq!(leaves(&wide).len(), MOST);
    }
}
