//! How a JSON text is written, and new values written like it.

use serde_json::Value;

use super::layout;
use super::tree::{Kind, Node};

/// How a text is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// One step of indentation.
    pub(super) unit: String,
    /// How lines end.
    pub(super) end: &'static str,
    /// What stands between a key and its value.
    colon: String,
    /// What stands between the items of one line.
    comma: &'static str,
    /// Whether braces of one line have spaces inside.
    padded: bool,
    /// Whether arrays without objects and arrays in them are on one line.
    short_arrays: bool,
}

/// How a value is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// On one line.
    Flat,
    /// Each member on a line.
    Tall,
    /// As the text's other values.
    Usual,
}

impl Style {
    /// The style of a text; what stands near counts more than what stands first.
    pub(super) fn of(text: &str, root: Option<&Node>, near: Option<&Node>) -> Self {
        let mut seen = Seen::default();
        for node in near.into_iter().chain(root) {
            seen.look(text, node);
        }
        let colon = seen.colon.unwrap_or_else(|| ": ".to_owned());
        let tight = !colon.ends_with(char::is_whitespace);
        Self {
            unit: seen.unit.unwrap_or_else(|| "  ".to_owned()),
            end: match text.find('\n') {
                Some(found) if text.as_bytes().get(found.wrapping_sub(1)) == Some(&b'\r') => "\r\n",
                _ => "\n",
            },
            comma: if seen.tight_comma.unwrap_or(tight) { "," } else { ", " },
            padded: seen.padded.unwrap_or(false),
            short_arrays: seen.short_arrays.unwrap_or(false),
            colon,
        }
    }

    /// What goes before an item that is not the first of its line.
    pub(super) fn comma(&self) -> &'static str {
        self.comma
    }

    /// What goes between a comma that is there and the next item of the line.
    pub(super) fn gap(&self) -> &'static str {
        self.comma.strip_prefix(',').unwrap_or_default()
    }

    /// An item: a value, with its key in an object.
    pub(super) fn item(&self, key: Option<&str>, value: &Value, indentation: &str, shape: Shape) -> String {
        let mut out = String::new();
        if let Some(key) = key {
            self.key(key, &mut out);
        }
        self.write(value, indentation, shape, &mut out);
        out
    }

    fn key(&self, key: &str, out: &mut String) {
        out.push_str(&Value::from(key).to_string());
        out.push_str(&self.colon);
    }

    fn write(&self, value: &Value, indentation: &str, shape: Shape, out: &mut String) {
        let items: Vec<(Option<&str>, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect()
            }
            Value::Array(elements) => elements.iter().map(|element| (None, element)).collect(),
            scalar => {
                out.push_str(&scalar.to_string());
                return;
            }
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        let short = value.is_array()
            && self.short_arrays
            && items.iter().all(|(_, item)| !item.is_array() && !item.is_object());
        let flat = items.is_empty() || shape == Shape::Flat || (shape == Shape::Usual && short);
        out.push(open);
        let inner = format!("{indentation}{}", self.unit);
        let padding = if flat && self.padded && value.is_object() && !items.is_empty() { " " } else { "" };
        out.push_str(padding);
        for (index, (key, item)) in items.iter().enumerate() {
            if index > 0 {
                out.push_str(if flat { self.comma } else { "," });
            }
            if !flat {
                out.push_str(self.end);
                out.push_str(&inner);
            }
            if let Some(key) = key {
                self.key(key, out);
            }
            self.write(item, &inner, if flat { Shape::Flat } else { Shape::Usual }, out);
        }
        if !flat {
            out.push_str(self.end);
            out.push_str(indentation);
        }
        out.push_str(padding);
        out.push(close);
    }
}

/// What was seen of a style.
#[derive(Debug, Default)]
struct Seen {
    unit: Option<String>,
    colon: Option<String>,
    tight_comma: Option<bool>,
    padded: Option<bool>,
    short_arrays: Option<bool>,
}

impl Seen {
    fn look(&mut self, text: &str, node: &Node) {
        let items = node.items();
        let flat = layout::one_line(text, &node.span);
        if let Some(first) = items.first() {
            if self.unit.is_none() && layout::begins_line(text, first.start) {
                let outer = layout::indentation(text, node.span.start);
                self.unit = layout::indentation(text, first.start)
                    .strip_prefix(outer)
                    .filter(|unit| !unit.is_empty())
                    .map(str::to_owned);
            }
            match &node.kind {
                Kind::Object(members) => {
                    if let (None, Some(member)) = (&self.colon, members.first()) {
                        self.colon = text
                            .get(member.key_end..member.value.span.start)
                            .filter(|colon| matches!(*colon, ":" | ": " | " : " | " :"))
                            .map(str::to_owned);
                    }
                    if flat && self.padded.is_none() {
                        self.padded = Some(text.as_bytes().get(node.span.start + 1) == Some(&b' '));
                    }
                }
                Kind::Array(elements) => {
                    if self.short_arrays.is_none()
                        && elements.iter().all(|one| matches!(one.kind, Kind::Scalar))
                    {
                        self.short_arrays = Some(flat);
                    }
                }
                Kind::Scalar => {}
            }
        }
        if let (true, None, [first, second, ..]) = (flat, self.tight_comma, items.as_slice()) {
            self.tight_comma = match text.get(first.end..second.start) {
                Some(",") => Some(true),
                Some(", ") => Some(false),
                _ => None,
            };
        }
        for child in node.children() {
            self.look(text, child);
        }
    }
}
