//! Where two JSON values differ.

use serde_json::Value;
use std::fmt::Write;

/// Changes that are kept; two values that differ more are different things.
const MOST: usize = 200;

/// One place where they differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// `content[0].text`; empty for the whole.
    pub(crate) path: String,
    /// What stands in the first; None: nothing.
    pub(crate) before: Option<Value>,
    /// What stands in the second; None: nothing.
    pub(crate) after: Option<Value>,
}

/// The places where they differ. Texts that hold JSON themselves are compared as JSON.
pub(crate) fn diff(a: &Value, b: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    walk(a, b, "", &mut changes);
    changes
}

/// The same of texts that hold JSON, or do not.
pub(crate) fn diff_texts(a: Option<&str>, b: Option<&str>) -> Vec<Change> {
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()));
    match (a, b) {
        (None, None) => Vec::new(),
        (Some(a), Some(b)) => diff(&value(a), &value(b)),
        (a, b) => vec![Change { path: String::new(), before: a.map(value), after: b.map(value) }],
    }
}

fn walk(a: &Value, b: &Value, path: &str, changes: &mut Vec<Change>) {
    if a == b || changes.len() >= MOST {
        return;
    }
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for (key, value) in x {
                match y.get(key) {
                    Some(other) => walk(value, other, &member(path, key), changes),
                    None => note(member(path, key), Some(value), None, changes),
                }
            }
            for (key, value) in y.iter().filter(|(key, _)| !x.contains_key(*key)) {
                note(member(path, key), None, Some(value), changes);
            }
        }
        (Value::Array(x), Value::Array(y)) => arrays(x, y, path, changes),
        (Value::String(x), Value::String(y)) => match (inner(x), inner(y)) {
            (Some(x), Some(y)) => walk(&x, &y, path, changes),
            _ => note(path.into(), Some(a), Some(b), changes),
        },
        _ => note(path.into(), Some(a), Some(b), changes),
    }
}

/// What is the same at both ends is passed over, so that something put in between is one change and not many.
fn arrays(x: &[Value], y: &[Value], path: &str, changes: &mut Vec<Change>) {
    let start = x.iter().zip(y).take_while(|(a, b)| a == b).count();
    let (x_rest, y_rest) = (&x[start..], &y[start..]);
    let end = x_rest.iter().rev().zip(y_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (x_mid, y_mid) = (&x_rest[..x_rest.len() - end], &y_rest[..y_rest.len() - end]);
    for i in 0..x_mid.len().max(y_mid.len()) {
        let place = format!("{path}[{}]", start + i);
        match (x_mid.get(i), y_mid.get(i)) {
            (Some(a), Some(b)) => walk(a, b, &place, changes),
            (a, b) => note(place, a, b, changes),
        }
    }
}

fn note(path: String, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    if changes.len() < MOST {
        changes.push(Change { path, before: before.cloned(), after: after.cloned() });
    }
}

fn member(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let mut out = path.to_owned();
    match (plain, path.is_empty()) {
        (true, true) => out.push_str(key),
        (true, false) => {
            let _ = write!(out, ".{key}");
        }
        (false, _) => {
            let _ = write!(out, "[{}]", Value::String(key.into()));
        }
    }
    out
}

/// An object or a list inside a text.
fn inner(text: &str) -> Option<Value> {
    let text = text.trim();
    let value = if text.starts_with(['{', '[']) { serde_json::from_str::<Value>(text).ok() } else { None };
    value.filter(|value| value.is_object() || value.is_array())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn differences_are_named_by_their_place() {
        for (a, b, expected) in [
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), vec![]),
            (json!({"a": 1}), json!({"a": 2}), vec![("a", Some(json!(1)), Some(json!(2)))]),
            (
                json!({"a": 1}),
                json!({"c d": 1}),
                vec![("a", Some(json!(1)), None), ("[\"c d\"]", None, Some(json!(1)))],
            ),
            (json!([1, 2, 3]), json!([1, 9, 2, 3]), vec![("[1]", None, Some(json!(9)))]),
            (
                json!({"x": [1, {"y": 1}]}),
                json!({"x": [1, {"y": 2}]}),
                vec![("x[1].y", Some(json!(1)), Some(json!(2)))],
            ),
            (
                json!({"t": "{\"k\": 1}"}),
                json!({"t": "{ \"k\":2 }"}),
                vec![("t.k", Some(json!(1)), Some(json!(2)))],
            ),
            (json!({"t": "{\"k\": 1}"}), json!({"t": "{\"k\":1}"}), vec![]),
            (json!(1), json!("1"), vec![("", Some(json!(1)), Some(json!("1")))]),
        ] {
            let found: Vec<_> = diff(&a, &b);
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(path, before, after)| Change { path: path.into(), before, after })
                .collect();
            assert_eq!(found, expected, "{a} {b}");
        }
        assert_eq!(
            diff_texts(Some("x"), None),
            [Change { path: String::new(), before: Some(json!("x")), after: None }]
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..5i64).prop_map(Value::from),
            "[ab{}]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn equal_values_do_not_differ_and_others_do(a in value(), b in value()) {
            prop_assert!(diff(&a, &a).is_empty());
            let same = diff(&a, &b).is_empty();
            prop_assert!(same || a != b);
            // A text that holds JSON may be written otherwise and mean the same.
            if !a.to_string().contains("{}") && !b.to_string().contains("{}") {
                prop_assert_eq!(same, a == b);
            }
        }
    }
}
