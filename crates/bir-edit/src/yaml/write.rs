//! Values as YAML. What is written reads the same in YAML 1.1 and 1.2: a word that either takes for something else is quoted.

use serde_json::{Map, Value};

/// How a file is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Columns from a mapping to the mapping inside of it.
    pub(super) step: usize,
    /// Columns from a key to the dashes of its sequence.
    pub(super) dash: usize,
}

/// A scalar or a collection on one line.
pub(super) fn flow(value: &Value, quoted: bool) -> String {
    match value {
        Value::String(text) => string(text, quoted),
        Value::Array(values) => {
            format!("[{}]", values.iter().map(|value| flow(value, quoted)).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            format!("{{{}}}", members.iter().map(|(k, v)| pair(k, v, quoted)).collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

/// `key: value` on one line.
pub(super) fn pair(key: &str, value: &Value, quoted: bool) -> String {
    format!("{}: {}", string(key, quoted), flow(value, quoted))
}

/// Whether a value takes lines of its own.
pub(super) fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// A collection with lines of its own, without the indentation of the first one.
pub(super) fn block(value: &Value, column: usize, layout: Layout) -> String {
    let indentation = format!("\n{}", " ".repeat(column));
    match value {
        Value::Array(values) => {
            values.iter().map(|v| item(v, column, layout)).collect::<Vec<_>>().join(&indentation)
        }
        Value::Object(members) => members_of(members, column, layout).join(&indentation),
        value => flow(value, false),
    }
}

fn members_of(members: &Map<String, Value>, column: usize, layout: Layout) -> Vec<String> {
    members.iter().map(|(key, value)| member(key, value, column, layout)).collect()
}

/// `key: value`, the value on the same line or below.
pub(super) fn member(key: &str, value: &Value, column: usize, layout: Layout) -> String {
    let key = string(key, false);
    if is_block(value) {
        format!("{key}:{}", below(value, column, layout))
    } else {
        format!("{key}: {}", flow(value, false))
    }
}

/// A collection on the lines below a key.
pub(super) fn below(value: &Value, column: usize, layout: Layout) -> String {
    let column = column + if value.is_array() { layout.dash } else { layout.step };
    format!("\n{}{}", " ".repeat(column), block(value, column, layout))
}

/// `- value`.
pub(super) fn item(value: &Value, column: usize, layout: Layout) -> String {
    if is_block(value) {
        format!("- {}", block(value, column + 2, layout))
    } else {
        format!("- {}", flow(value, false))
    }
}

/// A string: plain where nothing reads it as anything else, quoted otherwise.
pub(super) fn string(text: &str, quoted: bool) -> String {
    if !quoted && is_plain(text) { text.to_owned() } else { double(text) }
}

/// Whether nobody takes a plain scalar for anything but this string. Fewer than could be.
pub(super) fn is_plain(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_');
    let all = text.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-@+\\".contains(c));
    begins && all && !is_word(text)
}

/// Whether YAML 1.1 or 1.2 takes the word for null or a boolean.
fn is_word(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    matches!(word.as_str(), "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
}

/// A JSON string, with what YAML counts as a line break or does not print escaped as well.
fn double(text: &str) -> String {
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out += &format!("\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// In single quotes, where the text can be.
pub(super) fn single(text: &str) -> Option<String> {
    let fits =
        text.chars().all(|c| !c.is_control() && !"\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}".contains(c));
    fits.then(|| format!("'{}'", text.replace('\'', "''")))
}

/// Whether YAML 1.2 reads a plain scalar as a string.
pub(super) fn reads_as_string(text: &str) -> bool {
    let number = text.trim_start_matches(['-', '+']);
    let numeric = number.starts_with(|c: char| c.is_ascii_digit() || c == '.') && number.len() < 64;
    let word = matches!(
        text,
        "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
    );
    !word
        && !(numeric
            && (number.parse::<f64>().is_ok() || number.starts_with("0x") || number.starts_with("0o")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_that_either_version_reads_as_something_else_are_quoted() {
        for word in [
            "no",
            "NO",
            "y",
            "1",
            "~",
            "2024-01-01",
            "a: b",
            "a #b",
            "",
            "-",
            "0x1f",
            "12:30",
            "é",
            "a b",
            ".inf",
        ] {
            assert!(string(word, false).starts_with('"'), "{word}");
        }
        for word in ["/opt/bir-proxy", "npx", "_x", "note", r"C:\a".trim_start_matches("C:")] {
            assert_eq!(string(word, false) == word, is_plain(word), "{word}");
        }
        assert_eq!(string("npx", false), "npx");
        assert_eq!(single("it's").as_deref(), Some("'it''s'"));
        assert_eq!(single("a\nb"), None);
    }

    #[test]
    fn values_are_laid_out() {
        let value = json!({"a": {"b": [1, {"c": "x", "d": []}, ["y"]]}, "e": {}});
        let wide = Layout { step: 4, dash: 2 };
        let text = "a:\n    b:\n      - 1\n      - c: x\n        d: []\n      - - \"y\"\ne: {}";
        assert_eq!(block(&value, 0, wide), text);
        assert_eq!(flow(&value, true), r#"{"a": {"b": [1, {"c": "x", "d": []}, ["y"]]}, "e": {}}"#);
    }
}
