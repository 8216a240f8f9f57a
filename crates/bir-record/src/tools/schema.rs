//! A JSON Schema without what is for people, and without secrets.

use super::Clean;
use bir_model::tools::{LONGEST_SCHEMA, canonical};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Schemas within each other at most.
const MOST_DEPTH: usize = 48;

/// Their value is a schema, or a list of such.
const SCHEMAS: [&str; 15] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Their value has schemas by name.
const BY_NAME: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Their value is a number or a boolean.
const BOUNDS: [&str; 16] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "nullable",
    "uniqueItems",
    "deprecated",
];
/// Their value is a word or several.
const WORDS: [&str; 6] = ["$anchor", "$ref", "contentEncoding", "format", "pattern", "type"];

/// A schema as it is kept; None: it is none, too deep, or too long.
pub(super) fn safe(schema: &Value, clean: &dyn Clean) -> Option<Value> {
    let safe = Walk { clean }.schema(schema, "", 0)?;
    (canonical(&safe).len() <= LONGEST_SCHEMA).then_some(safe)
}

struct Walk<'a> {
    clean: &'a dyn Clean,
}

impl Walk<'_> {
    /// `name`: of the property that it describes.
    fn schema(&self, schema: &Value, name: &str, depth: usize) -> Option<Value> {
        if depth > MOST_DEPTH {
            return None;
        }
        let members = match schema {
            Value::Bool(_) => return Some(schema.clone()),
            Value::Object(members) => members,
            _ => return None,
        };
        let mut out = Map::new();
        for (key, value) in members {
            let kept = match key.as_str() {
                word if SCHEMAS.contains(&word) => match value {
                    Value::Array(several) => {
                        let each = several.iter().map(|one| self.schema(one, name, depth + 1));
                        Some(Value::Array(each.collect::<Option<Vec<_>>>()?))
                    }
                    one => Some(self.schema(one, name, depth + 1)?),
                },
                word if BY_NAME.contains(&word) => match value {
                    Value::Object(named) => {
                        let mut kept = Map::new();
                        for (name, one) in named {
                            kept.insert(self.clean.name(name), self.property(one, name, depth + 1)?);
                        }
                        Some(Value::Object(kept))
                    }
                    _ => None,
                },
                "enum" => value.as_array().map(|words| {
                    Value::Array(words.iter().filter_map(|word| self.value(word, name)).collect())
                }),
                "const" | "default" => self.value(value, name),
                "required" => value.as_array().map(|names| self.names(names)),
                "dependentRequired" => value.as_object().map(|by_name| {
                    let each = by_name.iter().filter_map(|(name, names)| {
                        Some((self.clean.name(name), self.names(names.as_array()?)))
                    });
                    Value::Object(each.collect())
                }),
                word if BOUNDS.contains(&word) => {
                    (value.is_number() || value.is_boolean()).then(|| value.clone())
                }
                word if WORDS.contains(&word) => match value {
                    Value::String(text) => Some(Value::String(self.clean.name(text))),
                    Value::Array(words) => Some(Value::Array(
                        words
                            .iter()
                            .filter_map(Value::as_str)
                            .map(|text| self.clean.name(text).into())
                            .collect(),
                    )),
                    _ => None,
                },
                _ => None,
            };
            if let Some(kept) = kept {
                out.insert(key.clone(), kept);
            }
        }
        out.sort_keys();
        Some(Value::Object(out))
    }

    /// As a schema; a map of dependencies may have lists of names in it.
    fn property(&self, schema: &Value, name: &str, depth: usize) -> Option<Value> {
        match schema {
            Value::Array(names) => Some(self.names(names)),
            schema => self.schema(schema, name, depth),
        }
    }

    /// Names in no order.
    fn names(&self, names: &[Value]) -> Value {
        let names: BTreeSet<String> =
            names.iter().filter_map(Value::as_str).map(|name| self.clean.name(name)).collect();
        names.into_iter().map(Value::String).collect()
    }

    /// A value, redacted as an argument of that name is. None: nothing could be kept of it.
    fn value(&self, value: &Value, name: &str) -> Option<Value> {
        if matches!(value, Value::Null | Value::Bool(_)) {
            return Some(value.clone());
        }
        let named = json!({ name: value }).to_string();
        let safe = self.clean.value(named.as_bytes());
        if safe.truncated() {
            return None;
        }
        let mut safe: Map<String, Value> = serde_json::from_str(safe.json()).ok()?;
        safe.shift_remove(name).or_else(|| safe.into_iter().next().map(|(_, value)| value))
    }
}
