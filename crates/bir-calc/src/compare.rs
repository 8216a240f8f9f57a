//! Where two JSON values differ. Numbers are compared by their size, since a body of logic has doubles alone.

use bir_model::scenario::Divergence;
use serde_json::{Number, Value};

/// So many differences are told.
pub(crate) const MOST: usize = 32;
/// Values are compared down to this depth; what is deeper is compared as a whole.
const DEEPEST: usize = 64;

/// Whether two values are the same, whatever the order of members.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// `1` is `1.0`; of whole numbers that doubles cannot tell apart each is another one.
fn same_number(a: &Number, b: &Number) -> bool {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b || a.as_f64() == b.as_f64(),
    }
}

/// The places in which a made value differs from the recorded one, at most [`MOST`].
pub(crate) fn differences(recorded: &Value, made: &Value) -> Vec<Divergence> {
    let mut out = Vec::new();
    walk(Some(recorded), Some(made), "", 0, &mut out);
    out
}

fn walk(recorded: Option<&Value>, made: Option<&Value>, at: &str, depth: usize, out: &mut Vec<Divergence>) {
    if out.len() >= MOST {
        return;
    }
    let under = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match (recorded, made) {
        (Some(a), Some(b)) if same(a, b) => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) if depth < DEEPEST => {
            for (key, a) in a {
                walk(Some(a), b.get(key), &under(key), depth + 1, out);
            }
            for (key, b) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                walk(None, Some(b), &under(key), depth + 1, out);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if depth < DEEPEST => {
            for n in 0..a.len().max(b.len()) {
                walk(a.get(n), b.get(n), &under(&n.to_string()), depth + 1, out);
            }
        }
        (recorded, made) => {
            out.push(Divergence { path: at.to_owned(), recorded: recorded.cloned(), made: made.cloned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_differ_where_they_do() {
        for (a, b, paths) in [
            (json!({"a": 1, "b": [1, 2]}), json!({"b": [1, 2.0], "a": 1.0}), vec![]),
            (json!({"a": 1}), json!({"a": "1"}), vec!["a"]),
            (
                json!({"a": {"b": [1, {"c": 2}]}}),
                json!({"a": {"b": [1, {"c": 3}], "d": 1}}),
                vec!["a.b.1.c", "a.d"],
            ),
            (json!([1, 2]), json!([1]), vec!["1"]),
            (json!({}), json!(null), vec![""]),
            (json!({"a": null}), json!({}), vec!["a"]),
            (json!([1, -0.0, 1e3]), json!([1.0, 0, 1000]), vec![]),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), vec![""]),
            (json!(u64::MAX), json!(-1), vec![""]),
        ] {
            let found = differences(&a, &b);
            assert_eq!(found.iter().map(|d| d.path.as_str()).collect::<Vec<_>>(), paths, "{a} {b}");
            assert_eq!(same(&a, &b), paths.is_empty());
        }
        assert_eq!(differences(&json!(vec![0; 100]), &json!(vec![1; 100])).len(), MOST);
    }
}
