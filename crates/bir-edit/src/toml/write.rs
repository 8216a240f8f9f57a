//! Values as TOML: behind `=`, or as sections with headers.

use bir_model::{Place, Step};
use serde_json::{Number, Value};

use crate::EditError;

/// A key: bare where it may be.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.to_owned() } else { string(name) }
}

/// A value on one line.
///
/// # Errors
///
/// [`EditError::Place`]: TOML has no null, and no integer above 2^63.
pub(super) fn inline(value: &Value) -> Result<String, EditError> {
    Ok(match value {
        Value::Null => return Err(EditError::Place("TOML has no null".to_owned())),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => scalar_number(number)?,
        Value::String(text) => string(text),
        Value::Array(values) => {
            let items = values.iter().map(inline).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let pairs =
                members.iter().map(|(name, value)| pair(name, value)).collect::<Result<Vec<_>, _>>()?;
            format!("{{ {} }}", pairs.join(", "))
        }
    })
}

/// `key = value`.
pub(super) fn pair(name: &str, value: &Value) -> Result<String, EditError> {
    Ok(format!("{} = {}", key(name), inline(value)?))
}

fn scalar_number(number: &Number) -> Result<String, EditError> {
    if let Some(integer) = number.as_i64() {
        return Ok(integer.to_string());
    }
    match number.as_f64() {
        Some(float) if number.is_f64() => Ok(toml_edit::Value::from(float).to_string()),
        _ => Err(EditError::Place("TOML has no integer of that size".to_owned())),
    }
}

/// One line, whatever it holds; literal where that spares escapes.
fn string(text: &str) -> String {
    let literal = text.contains(['\\', '"']) && !text.contains('\'') && !text.contains(char::is_control);
    if literal {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a value is written with headers where its neighbours are: a table, or an array of nothing but tables.
pub(super) fn is_sections(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(values) => !values.is_empty() && values.iter().all(Value::is_object),
        _ => false,
    }
}

/// A table or an array of tables as sections, with a blank line between two.
pub(super) fn sections(place: &Place, value: &Value) -> Result<String, EditError> {
    let mut out = Vec::new();
    match value {
        Value::Array(values) => {
            for value in values {
                section(place, value, true, &mut out)?;
            }
        }
        value => section(place, value, false, &mut out)?,
    }
    Ok(out.join("\n"))
}

fn section(place: &Place, value: &Value, element: bool, out: &mut Vec<String>) -> Result<(), EditError> {
    let Value::Object(members) = value else { return Err(EditError::Unfaithful) };
    let plain: Vec<_> = members.iter().filter(|(_, value)| !is_sections(value)).collect();
    // A table that holds nothing but tables is made by their headers; an element never is.
    if element || members.is_empty() || !plain.is_empty() {
        let mut text = header(place, element) + "\n";
        for (name, value) in plain {
            text += &pair(name, value)?;
            text.push('\n');
        }
        out.push(text);
    }
    for (name, value) in members.iter().filter(|(_, value)| is_sections(value)) {
        out.push(sections(&place.key(name), value)?);
    }
    Ok(())
}

/// `[a.b]` or `[[a.b]]`.
pub(super) fn header(place: &Place, element: bool) -> String {
    let keys: Vec<String> = place
        .0
        .iter()
        .filter_map(|step| match step {
            Step::Key(name) => Some(key(name)),
            Step::Index(_) => None,
        })
        .collect();
    let keys = keys.join(".");
    if element { format!("[[{keys}]]") } else { format!("[{keys}]") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_on_one_line() {
        for (value, text) in [
            (json!("a b"), r#""a b""#),
            (json!(r"C:\dir"), r"'C:\dir'"),
            (json!("it's \"x\""), r#""it's \"x\"""#),
            (json!("a\n\u{7f}é"), "\"a\\n\\u007Fé\""),
            (json!([1, 2.0, true, []]), "[1, 2.0, true, []]"),
            (json!({"a": {"b c": 1}, "d": {}}), r#"{ a = { "b c" = 1 }, d = {} }"#),
        ] {
            assert_eq!(inline(&value).unwrap(), text);
        }
        assert!(inline(&json!([null])).is_err());
        assert!(inline(&json!(u64::MAX)).is_err());
    }

    #[test]
    fn tables_are_written_as_sections() {
        let value = json!({"Stop": [{"matcher": "x", "hooks": [{"type": "command"}, {"type": "b"}]}]});
        let text = "[[hooks.Stop]]\nmatcher = \"x\"\n\n[[hooks.Stop.hooks]]\ntype = \"command\"\n\n\
                    [[hooks.Stop.hooks]]\ntype = \"b\"\n";
        assert_eq!(sections(&Place::keys(["hooks"]), &value).unwrap(), text);
        assert_eq!(sections(&Place::keys(["a.b"]), &json!({})).unwrap(), "[\"a.b\"]\n");
    }
}
