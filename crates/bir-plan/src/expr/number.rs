//! Numbers as JavaScript has them: doubles, and how they are spelled.

use serde_json::{Number, Value};

/// A number of a value: itself, or a text that spells one (`-12`, `3.50`; no exponent, no white space).
#[must_use]
pub fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => spelled(text),
        _ => None,
    }
}

fn spelled(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (all(whole) && all(fraction) && text.len() <= 40).then(|| text.parse().ok()).flatten()
}

/// A number as a value: whole where it is whole and exact.
#[must_use]
pub fn number(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole, and within what a double holds exactly"
        )]
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}

/// How JavaScript spells a number.
#[must_use]
pub fn shown(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let magnitude = number.abs();
    if (1e-6..1e21).contains(&magnitude) {
        return format!("{number}");
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_and_spelled_as_javascript_does_it() {
        for (value, expected) in [
            (json!(1), Some(1.0)),
            (json!("3.50"), Some(3.5)),
            (json!("-0"), Some(-0.0)),
            (json!("1e3"), None),
            (json!(" 1"), None),
            (json!(""), None),
            (json!("."), None),
            (json!("1."), None),
            (json!(true), None),
        ] {
            assert_eq!(as_number(&value), expected, "{value}");
        }
        for (value, expected) in [
            (1.0, "1"),
            (0.1, "0.1"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-7"),
            (123_456_789.5, "123456789.5"),
            (1e20, "100000000000000000000"),
        ] {
            assert_eq!(shown(value), expected);
        }
        assert_eq!(number(2.0), Some(json!(2)));
        assert_eq!(number(2.5), Some(json!(2.5)));
        assert_eq!(number(f64::NAN), None);
    }
}
