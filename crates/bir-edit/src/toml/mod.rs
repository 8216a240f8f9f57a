//! TOML, changed by splices of its text.
//!
//! ```text
//!  text ── toml_edit: is it valid, what does it say ──▶ value
//!   │ └─── layout: where each statement stands
//!   └── edit: splices ──▶ text, which `check` compares with what the edit means
//! ```
//!
//! `toml_edit` could write the document too, but sorts dotted keys and tables that stand apart; so it only reads here.
//!
//! Two things are TOML's own. A table that only the headers of its parts make (`[a.b]` makes `a`), and an array of tables,
//! go with the last of their parts: there is no text that could stay. And a null cannot be written.

mod add;
mod layout;
mod read;
mod write;

use bir_model::{Edit, Place, Step};
use serde_json::{Map, Value};

use crate::EditError;
use crate::editor::Editor;
use crate::splice::{Splice, blank, line_end, line_start, spliced};
use layout::{Found, Kind, Layout, Node, Shape, common};

/// A TOML document.
#[derive(Debug)]
pub(crate) struct Toml {
    text: String,
    value: Value,
}

impl Toml {
    /// Reads a text with line feeds and without a byte order mark.
    pub(crate) fn parse(text: &str) -> Result<Self, EditError> {
        Ok(Self { text: text.to_owned(), value: read::read(text)? })
    }

    fn set(&mut self, at: &Place, value: &Value) -> Result<(), EditError> {
        if at.of(&self.value) == Some(value) {
            return Ok(());
        }
        let layout = Layout::of(&self.text)?;
        match (layout.find(at), value) {
            (
                Found::Value(Node { shape: Shape::Table(_), .. }) | Found::Table | Found::Dotted,
                Value::Object(_),
            ) => self.set_members(at, value),
            (Found::Value(node), value) => {
                let text = replacement(&self.text, node, value)?;
                self.splice(vec![Splice::replace(node.span.clone(), text)])
            }
            (Found::Tables(count), Value::Array(values)) if write::is_sections(value) => {
                for index in (values.len()..count).rev() {
                    self.remove(&at.index(index))?;
                }
                for (index, value) in values.iter().enumerate() {
                    match index < count {
                        true => self.set(&at.index(index), value)?,
                        false => self.append(at, value)?,
                    }
                }
                Ok(())
            }
            (Found::Nothing, value) => self.add(at, value),
            (Found::Table | Found::Tables(_) | Found::Dotted, value) => {
                self.remove(at)?;
                self.add(at, value)
            }
        }
    }

    /// Makes a table hold these members and no others; what is the same stays as it is written.
    fn set_members(&mut self, at: &Place, value: &Value) -> Result<(), EditError> {
        let (Some(Value::Object(old)), Value::Object(new)) = (at.of(&self.value), value) else {
            return Err(EditError::Unfaithful);
        };
        let gone: Vec<String> = old.keys().filter(|key| !new.contains_key(*key)).cloned().collect();
        for (key, value) in new {
            self.set(&at.key(key), value)?;
        }
        for key in gone {
            self.remove(&at.key(key))?;
        }
        if at.of(&self.value).is_none() {
            self.add(at, &Value::Object(Map::new()))?;
        }
        Ok(())
    }

    fn append(&mut self, to: &Place, value: &Value) -> Result<(), EditError> {
        let layout = Layout::of(&self.text)?;
        match layout.find(to) {
            Found::Value(node) if matches!(node.shape, Shape::Array(_)) => {
                let item = write::inline(value)?;
                let splices = node.flow().push(&self.text, &item, "");
                self.splice(splices)
            }
            Found::Tables(_) if value.is_object() => {
                let splice = add::element(&self.text, &layout, to, value)?;
                self.splice(vec![splice])
            }
            Found::Nothing => self.add(to, &Value::Array(vec![value.clone()])),
            Found::Tables(_) => Err(EditError::Place("an array of tables takes tables alone".to_owned())),
            _ => Err(EditError::Place("there is no array at the place".to_owned())),
        }
    }

    fn insert(&mut self, into: &Place, at: usize, values: &[Value]) -> Result<(), EditError> {
        let layout = Layout::of(&self.text)?;
        match layout.find(into) {
            Found::Value(node) if matches!(node.shape, Shape::Array(_)) => {
                let items = values.iter().map(write::inline).collect::<Result<Vec<_>, _>>()?;
                let splices = node.flow().insert(&self.text, at, &items);
                self.splice(splices)
            }
            Found::Nothing => self.add(into, &values.to_vec().into()),
            _ => Err(EditError::Place("there is no array of values at the place".to_owned())),
        }
    }

    fn cut(&mut self, from: &Place, at: usize, count: usize) -> Result<(), EditError> {
        let layout = Layout::of(&self.text)?;
        if let Found::Value(node) = layout.find(from)
            && matches!(node.shape, Shape::Array(_))
            && let Some(cut) = node.flow().cut(&self.text, at, count)
        {
            return self.splice(vec![cut]);
        }
        (0..count).rev().try_for_each(|n| self.remove(&from.index(at + n)))
    }

    fn add(&mut self, at: &Place, value: &Value) -> Result<(), EditError> {
        let layout = Layout::of(&self.text)?;
        let splices = add::member(&self.text, &layout, at, value)?;
        self.splice(splices)
    }

    fn remove(&mut self, at: &Place) -> Result<(), EditError> {
        let layout = Layout::of(&self.text)?;
        let splices = removal(&self.text, &layout, at)?;
        self.splice(splices)
    }

    fn splice(&mut self, splices: Vec<Splice>) -> Result<(), EditError> {
        let text = spliced(&self.text, splices)?;
        self.value = read::read(&text).map_err(|_| EditError::Unfaithful)?;
        self.text = text;
        Ok(())
    }
}

impl Editor for Toml {
    fn value(&self) -> Result<Value, EditError> {
        Ok(self.value.clone())
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        if edit.place().0.is_empty() {
            return Err(EditError::Place("the document itself cannot be replaced".to_owned()));
        }
        match edit {
            Edit::Set { at, value } => self.set(at, value),
            Edit::Append { to, value } => self.append(to, value),
            Edit::Insert { into, at, values } => self.insert(into, *at, values),
            Edit::Cut { from, at, count } => self.cut(from, *at, *count),
            Edit::Remove { at } => self.remove(at),
        }
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

/// A value in the place of another: an array keeps having a line for each item.
fn replacement(text: &str, old: &Node, value: &Value) -> Result<String, EditError> {
    let (Shape::Array(_), Value::Array(values)) = (&old.shape, value) else {
        return write::inline(value);
    };
    let lines = values.iter().map(write::inline).collect::<Result<Vec<_>, _>>()?;
    match old.flow().rewritten(text, &lines) {
        Some(lines) => Ok(format!("[{lines}]")),
        None => write::inline(value),
    }
}

fn removal(text: &str, layout: &Layout, at: &Place) -> Result<Vec<Splice>, EditError> {
    let nothing = || EditError::Place("there is nothing at the place".to_owned());
    match layout.find(at) {
        Found::Nothing => Err(nothing()),
        Found::Table | Found::Tables(_) => Ok(sections(text, layout, at)),
        Found::Value(_) | Found::Dotted => {
            let (statement, pair) = layout.pair_above(at).ok_or_else(nothing)?;
            let rest = at.0.get(statement.place.0.len()..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(vec![line(text, &statement.lines)]);
            }
            from_within(text, &pair.value, rest).ok_or_else(nothing)
        }
    }
}

/// Takes a part out of a value.
fn from_within(text: &str, node: &Node, rest: &[Step]) -> Option<Vec<Splice>> {
    match (&node.shape, rest) {
        (Shape::Array(_), [Step::Index(index)]) => Some(node.flow().remove(text, *index)),
        (Shape::Array(nodes), [Step::Index(index), further @ ..]) => {
            from_within(text, nodes.get(*index)?, further)
        }
        (Shape::Table(pairs), _) => {
            if let Some(pair) =
                pairs.iter().find(|p| p.keys.len() < rest.len() && common(&p.keys, rest) == p.keys.len())
            {
                return from_within(text, &pair.value, rest.get(pair.keys.len()..)?);
            }
            // The member itself, or the pairs with dotted keys that make it.
            let fits = pairs.iter().enumerate().filter(|(_, pair)| common(&pair.keys, rest) == rest.len());
            let fits: Vec<usize> = fits.map(|(index, _)| index).collect();
            match fits.as_slice() {
                [only] => Some(node.flow().remove(text, *only)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A pair's lines; at the end of a text without a last line feed, that of the line above instead.
fn line(text: &str, lines: &std::ops::Range<usize>) -> Splice {
    let unended = lines.end == text.len() && !text.ends_with('\n');
    let start = if unended { lines.start.saturating_sub(1) } else { lines.start };
    Splice::cut(start..lines.end)
}

/// All statements of a table: its headers with their comments and one blank line, and the pairs.
fn sections(text: &str, layout: &Layout, at: &Place) -> Vec<Splice> {
    let mut cuts: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, statement) in layout.below(at) {
        let mut cut = statement.lines.clone();
        if matches!(statement.kind, Kind::Header) {
            cut.start = before_block(text, add::block_start(text, layout, index));
        }
        // What stands between two statements of one section goes with them.
        let before = index.checked_sub(1).and_then(|i| layout.statements.get(i)).map_or(0, |s| s.lines.end);
        let within = matches!(statement.kind, Kind::Pair { above, .. } if above >= at.0.len());
        match cuts.last_mut() {
            Some(last) if cut.start <= last.end || (within && before == last.end) => {
                last.end = cut.end;
                continue;
            }
            _ => {}
        }
        cuts.push(cut);
    }
    let unended = !text.ends_with('\n');
    if let Some(last) = cuts.last_mut().filter(|cut| unended && cut.end == text.len()) {
        last.start = last.start.saturating_sub(1);
    }
    cuts.into_iter().map(Splice::cut).collect()
}

/// The blank line above, where there is one.
fn before_block(text: &str, start: usize) -> usize {
    let Some(end) = start.checked_sub(1) else { return start };
    let above = line_start(text, end);
    if blank(text, above..line_end(text, end)) { above } else { start }
}

#[cfg(test)]
mod tests;
