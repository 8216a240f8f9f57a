//! What a configuration says, read without any code of ours: order and numbers as they are written.

use bir_model::Format;
use jsonc_parser::ast;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// As it is written in JSON, else as it is understood.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    /// Members in their order; of a key that is there twice, both.
    Map(Vec<(String, Tree)>),
}

impl Tree {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(list) = self { list } else { &[] }
    }

    pub(crate) fn members(&self) -> &[(String, Self)] {
        if let Self::Map(map) = self { map } else { &[] }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        // The last one counts, as parsers have it.
        self.members().iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// What stands at a path of keys.
    pub(crate) fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, key| tree.get(key.as_ref()))
    }

    /// The same to be changed; what is missing is made.
    pub(crate) fn make<S: AsRef<str>>(&mut self, path: &[S]) -> &mut Self {
        let Some((key, rest)) = path.split_first() else { return self };
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(Vec::new());
        }
        let Self::Map(map) = self else { unreachable!("it was just made one") };
        let at = map.iter().rposition(|(name, _)| name == key.as_ref()).unwrap_or_else(|| {
            map.push((key.as_ref().to_owned(), Self::Map(Vec::new())));
            map.len() - 1
        });
        map[at].1.make(rest)
    }

    /// As JSON of another hand: its own indentation, no comments.
    pub(crate) fn json(&self, indent: usize) -> String {
        let (inner, outer) = ("\t".repeat(indent + 1), "\t".repeat(indent));
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::List(list) if list.is_empty() => "[]".into(),
            Self::Map(map) if map.is_empty() => "{}".into(),
            Self::List(list) => {
                let parts: Vec<_> =
                    list.iter().map(|value| format!("{inner}{}", value.json(indent + 1))).collect();
                format!("[\n{}\n{outer}]", parts.join(",\n"))
            }
            Self::Map(map) => {
                let parts: Vec<_> = map
                    .iter()
                    .map(|(key, value)| format!("{inner}{} : {}", quoted(key), value.json(indent + 1)))
                    .collect();
                format!("{{\n{}\n{outer}}}", parts.join(",\n"))
            }
        }
    }
}

/// Reads a text; an empty one is a map without members.
pub(crate) fn read(bytes: &[u8], format: Format) -> Result<Tree, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        Format::Json | Format::Jsonc => {
            let parsed =
                jsonc_parser::parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &strict())
                    .map_err(|e| e.to_string())?;
            Ok(parsed.value.map_or(Tree::Map(Vec::new()), |value| of_json(&value)))
        }
        Format::Toml => toml::from_str(text).map_err(|e| e.to_string()),
        Format::Yaml if text.trim().is_empty() => Ok(Tree::Map(Vec::new())),
        Format::Yaml => {
            let options = serde_saphyr::options! {
                non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
            };
            serde_saphyr::from_str_with_options(text, options).map_err(|e| e.to_string())
        }
    }
}

/// Comments and trailing commas; nothing else that JSON does not have.
fn strict() -> jsonc_parser::ParseOptions {
    jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn of_json(value: &ast::Value<'_>) -> Tree {
    match value {
        ast::Value::NullKeyword(_) => Tree::Null,
        ast::Value::BooleanLit(lit) => Tree::Bool(lit.value),
        ast::Value::NumberLit(lit) => Tree::Number(lit.value.to_string()),
        ast::Value::StringLit(lit) => Tree::text(lit.value.as_ref()),
        ast::Value::Array(array) => Tree::List(array.elements.iter().map(of_json).collect()),
        ast::Value::Object(object) => Tree::Map(
            object
                .properties
                .iter()
                .map(|property| (property.name.as_str().to_owned(), of_json(&property.value)))
                .collect(),
        ),
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Tree, E> {
        Ok(Tree::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(format!("{value:?}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<Tree, Tree>()? {
            let key = match key {
                Tree::Text(text) => text,
                // A key that is no string is told from the string that looks like it.
                other => format!("{other:?}"),
            };
            members.push((key, value));
        }
        Ok(Tree::Map(members))
    }
}
