//! What a YAML text says, as `serde-saphyr` reads it: aliases and merges filled in, within bounds.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, options};

use crate::EditError;

/// Marks a key that is no string. No key can begin with it: YAML does not allow the character.
const OTHER: char = '\u{0}';

/// How YAML is read. A key that is there twice has its last value, as most hosts have it; bounds are the reader's own.
pub(crate) fn yaml_options() -> serde_saphyr::Options {
    options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// Reads a text, with keys that are no strings under names that no key has.
///
/// # Errors
///
/// [`EditError::Syntax`]; nesting and aliases beyond the reader's bounds are one.
pub(super) fn read(text: &str) -> Result<Value, EditError> {
    match serde_saphyr::from_str_with_options::<Said>(text, yaml_options()) {
        Ok(Said(Value::Null)) => Ok(Value::Object(Map::new())),
        Ok(Said(value)) => Ok(value),
        Err(error) => Err(EditError::Syntax(match error.location() {
            Some(at) => format!("not valid YAML at line {}, column {}", at.line(), at.column()),
            None => "not valid YAML".to_owned(),
        })),
    }
}

/// Without the keys that are no strings.
pub(super) fn with_strings_alone(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(key, _)| !key.starts_with(OTHER))
            .map(|(key, value)| (key, with_strings_alone(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(values) => values.into_iter().map(with_strings_alone).collect(),
        value => value,
    }
}

/// A value as JSON has it.
struct Said(Value);

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Said)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(Value::String(String::from_utf8_lossy(value).into_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(Said(value)) = values.next_element()? {
            out.push(value);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some((Said(key), Said(value))) = members.next_entry()? {
            let key = match key {
                Value::String(key) => key,
                key => format!("{OTHER}{key}"),
            };
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }
}
