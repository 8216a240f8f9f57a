//! The second parsers: serde_json on a text without comments, `toml`, and serde-saphyr.

use std::borrow::Cow;
use std::ops::Range;

use bir_model::Format;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::MergeKeyPolicy;
use toml::de::{DeTable, DeValue};

use super::Exact;
use crate::EditError;
use crate::json::{comment_end, tamed};
use crate::yaml::yaml_options;

/// What a text says.
pub(crate) fn exact(text: &str, format: Format) -> Result<Exact, EditError> {
    match format {
        Format::Json | Format::Jsonc => json_exact(text),
        Format::Toml => toml_exact(text),
        Format::Yaml => yaml_exact(text),
    }
}

/// A JSON text as a value; a text without one is an empty object.
pub(crate) fn json(text: &str) -> Result<Value, EditError> {
    let (plain, _) = plain(text);
    if plain.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(&plain).map_err(|error| syntax(&error))
}

/// A JSON text; a text without a value is an empty object.
pub(crate) fn json_exact(text: &str) -> Result<Exact, EditError> {
    let (plain, numbers) = plain(text);
    if plain.trim().is_empty() {
        return Ok(Exact::Object(Vec::new()));
    }
    let mut exact: Exact = serde_json::from_str(&plain).map_err(|error| syntax(&error))?;
    let mut numbers = numbers.into_iter().map(|number| plain.get(number).unwrap_or_default());
    as_written(&mut exact, &mut numbers);
    if numbers.next().is_some() {
        return Err(EditError::Unfaithful);
    }
    Ok(exact)
}

/// Gives each number the text that it has; serde_json tells its value alone.
fn as_written<'t>(exact: &mut Exact, numbers: &mut impl Iterator<Item = &'t str>) {
    match exact {
        Exact::Number(number) => numbers.next().unwrap_or_default().clone_into(number),
        Exact::Array(elements) => elements.iter_mut().for_each(|element| as_written(element, numbers)),
        Exact::Object(members) => members.iter_mut().for_each(|(_, value)| as_written(value, numbers)),
        _ => {}
    }
}

/// A text with spaces in place of comments and of commas behind the last item, and where its numbers stand in it. Lines and
/// columns stay.
fn plain(text: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    let text = tamed(text);
    let bytes = text.as_bytes();
    let mut out: Option<Vec<u8>> = None;
    let mut numbers = Vec::new();
    let mut comma = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                comma = None;
                at = string_end(bytes, at);
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                let end = comment_end(&text, at);
                let out = out.get_or_insert_with(|| bytes.to_vec());
                for byte in out.get_mut(at..end).unwrap_or_default() {
                    if !matches!(byte, b'\n' | b'\r') {
                        *byte = b' ';
                    }
                }
                at = end;
            }
            b',' => {
                comma = Some(at);
                at += 1;
            }
            b'}' | b']' => {
                if let Some(comma) = comma.take()
                    && let Some(comma) = out.get_or_insert_with(|| bytes.to_vec()).get_mut(comma)
                {
                    *comma = b' ';
                }
                at += 1;
            }
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'-' | b'0'..=b'9' => {
                comma = None;
                let length = bytes
                    .iter()
                    .skip(at)
                    .take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
                let end = at + length.count();
                numbers.push(at..end);
                at = end;
            }
            _ => {
                comma = None;
                at += 1;
            }
        }
    }
    // Whole characters alone were written over, so this is UTF-8.
    let plain = match out.map(String::from_utf8) {
        Some(Ok(out)) => Cow::Owned(out),
        _ => text,
    };
    (plain, numbers)
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            None => return at,
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// serde_json names what it expected and where; for texts without a type to fit it quotes nothing.
fn syntax(error: &serde_json::Error) -> EditError {
    let why = match error.to_string().starts_with("number out of range") {
        true => "a number is too large to be read (the largest is about 1.8e308)",
        false => "no JSON as RFC 8259 has it",
    };
    EditError::Syntax(format!("line {}, column {}: {why}", error.line(), error.column()))
}

fn toml_exact(text: &str) -> Result<Exact, EditError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        EditError::Syntax(format!("line {line}: no TOML"))
    })?;
    Ok(toml_table(table.get_ref()))
}

fn toml_table(table: &DeTable<'_>) -> Exact {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(key, _)| key.span().start);
    Exact::Object(
        members
            .into_iter()
            .map(|(key, value)| (Exact::Text(key.get_ref().to_string()), toml_value(value.get_ref())))
            .collect(),
    )
}

fn toml_value(value: &DeValue<'_>) -> Exact {
    match value {
        DeValue::String(text) => Exact::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Exact::Number(number.as_str().to_owned()),
        DeValue::Integer(number) => Exact::Number(format!("{} of {}", number.as_str(), number.radix())),
        DeValue::Float(number) => Exact::Number(number.as_str().to_owned()),
        DeValue::Boolean(value) => Exact::Bool(*value),
        DeValue::Datetime(date) => Exact::Other(date.to_string()),
        DeValue::Array(elements) => {
            Exact::Array(elements.iter().map(|element| toml_value(element.get_ref())).collect())
        }
        DeValue::Table(table) => toml_table(table),
    }
}

fn yaml_exact(text: &str) -> Result<Exact, EditError> {
    if text.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Exact::Object(Vec::new()));
    }
    // Merges stay as they are written: what they supply would stand behind a member that is added.
    let mut options = yaml_options();
    options.merge_keys = MergeKeyPolicy::AsOrdinary;
    match serde_saphyr::from_str_with_options(text, options) {
        Ok(Exact::Null) => Ok(Exact::Object(Vec::new())),
        Ok(found) => Ok(found),
        Err(error) => {
            let line = error.location().map_or(1, |location| location.line());
            Err(EditError::Syntax(format!("line {line}: no YAML that bir reads")))
        }
    }
}

/// YAML in the words of serde: numbers come as they were understood.
impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Exact;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a value")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Exact, E> {
                Ok(Exact::Null)
            }
            fn visit_none<E: de::Error>(self) -> Result<Exact, E> {
                Ok(Exact::Null)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Exact, D::Error> {
                Exact::deserialize(deserializer)
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Exact, E> {
                Ok(Exact::Bool(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Exact, E> {
                Ok(Exact::Number(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Exact, E> {
                Ok(Exact::Number(value.to_string()))
            }
            fn visit_i128<E: de::Error>(self, value: i128) -> Result<Exact, E> {
                Ok(Exact::Number(value.to_string()))
            }
            fn visit_u128<E: de::Error>(self, value: u128) -> Result<Exact, E> {
                Ok(Exact::Number(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Exact, E> {
                Ok(Exact::Number(format!("{value:?}")))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Exact, E> {
                Ok(Exact::Text(value.to_owned()))
            }
            fn visit_bytes<E: de::Error>(self, value: &[u8]) -> Result<Exact, E> {
                Ok(Exact::Other(format!("{value:?}")))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Exact, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = sequence.next_element()? {
                    elements.push(element);
                }
                Ok(Exact::Array(elements))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Exact, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Exact::Object(members))
            }
        }
        deserializer.deserialize_any(Read)
    }
}
