//! Values of calls and of recordings as they are shown: short, on one line.

use crate::out::safe;
use console::truncate_str;
use serde_json::Value;

/// A value as JSON on one line, cut.
pub(super) fn short(value: &Value, width: usize) -> String {
    truncate_str(&safe::line(&value.to_string()), width.max(4), "…").into_owned()
}

/// A text on one line, cut.
pub(super) fn line(text: &str, width: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_str(&safe::line(&folded), width.max(4), "…").into_owned()
}

/// What stands at a way into a value, `a.b.0`; a name may have points in it.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    match value {
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let rest = path.strip_prefix(name.as_str())?;
            if rest.is_empty() { Some(member) } else { at(member, rest.strip_prefix('.')?) }
        }),
        Value::Array(elements) => {
            let (index, rest) = path.split_once('.').unwrap_or((path, ""));
            at(elements.get(index.parse::<usize>().ok()?)?, rest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_way_leads_to_its_value() {
        let value = json!({"a": {"b": [1, {"c.d": "x"}]}, "a.b": 7, "": 8});
        for (path, found) in [
            ("a.b.0", Some(json!(1))),
            ("a.b.1.c.d", Some(json!("x"))),
            ("a.c", None),
            ("a.b.9", None),
            ("a.b.x", None),
            ("z", None),
        ] {
            assert_eq!(at(&value, path).cloned(), found, "{path}");
        }
    }

    #[test]
    fn a_value_is_one_harmless_line() {
        assert_eq!(short(&json!({"a": "\u{1b}[2J\n"}), 40), r#"{"a":"\u001b[2J\n"}"#);
        assert_eq!(short(&json!("long enough to be cut"), 10), "\"long eno…");
        assert_eq!(line("a\n b\u{1b}", 10), "a b␛");
    }
}
