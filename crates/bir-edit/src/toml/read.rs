//! What a TOML text says.

use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, TableLike, TomlError};

use crate::EditError;
use crate::splice::line_and_column;

/// Reads a text. Dates, and floats that JSON does not have, are strings.
///
/// # Errors
///
/// [`EditError::Syntax`]; nesting beyond what `toml_edit` takes (80) is one.
pub(super) fn read(text: &str) -> Result<Value, EditError> {
    let document = Document::parse(text).map_err(|error| syntax(text, &error))?;
    Ok(table(document.as_table()))
}

fn syntax(text: &str, error: &TomlError) -> EditError {
    let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
    EditError::Syntax(format!("not valid TOML at line {line}, column {column}"))
}

fn table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, member)| (key.to_owned(), item(member))).collect::<Map<_, _>>())
}

fn item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => self::value(value),
        Item::Table(members) => table(members),
        Item::ArrayOfTables(tables) => tables.iter().map(|members| table(members)).collect(),
    }
}

fn value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(integer) => Value::Number((*integer.value()).into()),
        toml_edit::Value::Float(float) => match Number::from_f64(*float.value()) {
            Some(number) => Value::Number(number),
            None => Value::String(float.value().to_string()),
        },
        toml_edit::Value::Boolean(boolean) => Value::Bool(*boolean.value()),
        toml_edit::Value::Datetime(date) => Value::String(date.value().to_string()),
        toml_edit::Value::Array(values) => values.iter().map(self::value).collect(),
        toml_edit::Value::InlineTable(members) => table(members),
    }
}
