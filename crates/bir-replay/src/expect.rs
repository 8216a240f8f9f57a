//! What the recording's results looked like: a kept value of another kind stops the plan.
//!
//! Without the recorded results, what is expected is that a kept value is there: what was never null in a calculation is a fault when it is.

use crate::inputs::{NoBodies, Values};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool,
    /// A number.
    Number,
    /// A text with something in it.
    Text,
    /// A text with nothing in it.
    NoText,
    /// A list with something in it.
    List,
    /// A list with nothing in it.
    NoList,
    /// An object.
    Object,
}

impl Kind {
    /// Of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(_) => Self::Number,
            Value::String(text) if text.is_empty() => Self::NoText,
            Value::String(_) => Self::Text,
            Value::Array(elements) if elements.is_empty() => Self::NoList,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    fn said(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::NoText => "an empty text",
            Self::List => "a list",
            Self::NoList => "an empty list",
            Self::Object => "an object",
        }
    }
}

/// For each step the kinds of what it kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<usize, BTreeMap<String, Kind>>);

impl Expected {
    /// From the recorded results, one for each step where it is known. Steps with edited bodies expect nothing.
    #[must_use]
    pub fn of_recording(values: &Values<'_>, outputs: &[Option<Value>]) -> Self {
        let mut kept = values.kept.clone();
        let mut out = BTreeMap::new();
        for (n, output) in outputs.iter().enumerate() {
            let nothing = Self::default();
            let now = Values { kept: &kept, expected: &nothing, ..*values };
            let Some(more) = output.as_ref().and_then(|output| now.keep(n, output, &mut NoBodies).ok())
            else {
                continue;
            };
            out.insert(n, more.iter().map(|(key, value)| (key.clone(), Kind::of(value))).collect());
            kept.extend(more);
        }
        Self(out)
    }

    /// Whether what a step kept is what was to be expected.
    ///
    /// # Errors
    ///
    /// What is otherwise, without a value.
    pub fn check(&self, step: usize, kept: &Map<String, Value>) -> Result<(), String> {
        let known = self.0.get(&step);
        for (key, value) in kept {
            let (is, was) = (Kind::of(value), known.and_then(|known| known.get(key)).copied());
            let fits = match was {
                Some(was) => {
                    is == was
                        || (was == Kind::NoList && is == Kind::List)
                        || (was == Kind::NoText && is == Kind::Text)
                }
                None => is != Kind::Null,
            };
            if !fits {
                let was = was.map(|was| format!(", and was {}", was.said())).unwrap_or_default();
                return Err(format!("`{key}` is {}{was}", is.said()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_kind_is_a_fault() {
        let expected =
            |was: Value| Expected(BTreeMap::from([(0, BTreeMap::from([("k".to_owned(), Kind::of(&was))]))]));
        for (was, is, fits) in [
            (json!(1), json!(2.5), true),
            (json!(1), json!("1"), false),
            (json!("a"), json!(""), false),
            (json!(""), json!("a"), true),
            (json!([1]), json!([]), false),
            (json!([]), json!([1]), true),
            (json!([1]), json!({}), false),
            (json!(null), json!(null), true),
            (json!("a"), json!(null), false),
        ] {
            let kept = json!({"k": is}).as_object().cloned().unwrap();
            assert_eq!(expected(was.clone()).check(0, &kept).is_ok(), fits, "{was} {is}");
        }
        let null = json!({"k": null}).as_object().cloned().unwrap();
        assert_eq!(Expected::default().check(0, &null), Err("`k` is null".into()));
        assert!(Expected::default().check(0, &json!({"k": []}).as_object().cloned().unwrap()).is_ok());
    }
}
