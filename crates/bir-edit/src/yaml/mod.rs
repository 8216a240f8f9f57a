//! YAML, changed by splices of its text.
//!
//! ```text
//!  text ── granit-parser: events with bytes ──▶ tree: where each node stands
//!   │ └─── serde-saphyr ──▶ value
//!   └── edit: splices ──▶ text, which `check` compares with what the edit means
//! ```
//!
//! What several places share (an anchor with its aliases, a merge) is not changed, nor what only looks like a tree: a second
//! document, keys that are collections, tags of an application.

mod edit;
mod read;
mod tree;
mod walk;
mod write;

use bir_model::{Edit, Place};
use serde_json::{Map, Value};

use crate::EditError;
use crate::editor::Editor;
use crate::splice::{Splice, spliced};
pub(crate) use read::yaml_options;
use tree::{Kind, Tree};

/// A YAML document.
#[derive(Debug)]
pub(crate) struct Yaml {
    text: String,
    /// With keys that are no strings, as [`read::read`] has them.
    value: Value,
}

impl Yaml {
    /// Reads a text with line feeds and without a byte order mark.
    pub(crate) fn parse(text: &str) -> Result<Self, EditError> {
        Tree::of(text)?;
        Ok(Self { text: text.to_owned(), value: read::read(text)? })
    }

    /// Whether the way to a place is clear, as far as it is there.
    ///
    /// # Errors
    ///
    /// [`EditError::Place`]: a key on it is there twice, or what stands on it is not to be changed.
    pub(crate) fn way_to(&self, at: &Place) -> Result<(), EditError> {
        walk::walk(&Tree::of(&self.text)?, &self.value, at).map(|_| ())
    }

    fn set(&mut self, at: &Place, value: &Value) -> Result<(), EditError> {
        if at.of(&self.value) == Some(value) {
            return Ok(());
        }
        let tree = Tree::of(&self.text)?;
        let walk = walk::walk(&tree, &self.value, at)?;
        let Some(slot) = walk.target() else {
            let splices = edit::add(&self.text, &tree, &walk, value)?;
            return self.splice(splices);
        };
        match (&tree.node(slot.node)?.kind, value) {
            (Kind::Mapping { members, .. }, Value::Object(new))
                if !members.is_empty() && !new.is_empty() && keeps_order(at.of(&self.value), new) =>
            {
                walk::refuse_below(&tree, slot.node)?;
                self.set_members(at, value)
            }
            _ => {
                let splices = edit::put(&self.text, &tree, slot, value)?;
                self.splice(splices)
            }
        }
    }

    /// Makes a mapping hold these members and no others; what is the same stays as it is written.
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
        Ok(())
    }

    fn append(&mut self, to: &Place, value: &Value) -> Result<(), EditError> {
        let tree = Tree::of(&self.text)?;
        let walk = walk::walk(&tree, &self.value, to)?;
        let splices = match walk.target() {
            Some(slot) => edit::push(&self.text, &tree, slot, value)?,
            None => edit::add(&self.text, &tree, &walk, &Value::Array(vec![value.clone()]))?,
        };
        self.splice(splices)
    }

    fn insert(&mut self, into: &Place, at: usize, values: &[Value]) -> Result<(), EditError> {
        let tree = Tree::of(&self.text)?;
        let walk = walk::walk(&tree, &self.value, into)?;
        let splices = match walk.target() {
            Some(slot) => edit::insert(&self.text, &tree, slot, at, values)?,
            None => edit::add(&self.text, &tree, &walk, &values.to_vec().into())?,
        };
        self.splice(splices)
    }

    fn cut(&mut self, from: &Place, at: usize, count: usize) -> Result<(), EditError> {
        let tree = Tree::of(&self.text)?;
        let walk = walk::walk(&tree, &self.value, from)?;
        let slot = walk.target().ok_or_else(|| walk::refused("there is nothing at the place"))?;
        if let Some(cut) = edit::cut(&self.text, &tree, slot, at, count)? {
            return self.splice(vec![cut]);
        }
        (0..count).rev().try_for_each(|n| self.remove(&from.index(at + n)))
    }

    fn remove(&mut self, at: &Place) -> Result<(), EditError> {
        let tree = Tree::of(&self.text)?;
        let walk = walk::walk(&tree, &self.value, at)?;
        let splices = edit::remove(&self.text, &tree, &walk)?;
        self.splice(splices)
    }

    fn splice(&mut self, splices: Vec<Splice>) -> Result<(), EditError> {
        let text = spliced(&self.text, splices)?;
        self.value = read::read(&text).map_err(|_| EditError::Unfaithful)?;
        self.text = text;
        Ok(())
    }
}

impl Editor for Yaml {
    fn value(&self) -> Result<Value, EditError> {
        Ok(read::with_strings_alone(self.value.clone()))
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        if edit.place().0.is_empty() && matches!(edit, Edit::Set { .. } | Edit::Remove { .. }) {
            return Err(EditError::Place("the document itself cannot be replaced".to_owned()));
        }
        if self.text.contains('\r') {
            return Err(EditError::Place(
                "a carriage return without a line feed stands in the file".to_owned(),
            ));
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

/// Whether the old members that stay, with the new ones behind them, stand in the order that is asked for.
fn keeps_order(old: Option<&Value>, new: &Map<String, Value>) -> bool {
    let Some(Value::Object(old)) = old else { return false };
    let stay = old.keys().filter(|key| new.contains_key(*key));
    stay.chain(new.keys().filter(|key| !old.contains_key(*key))).eq(new.keys())
}

#[cfg(test)]
mod tests;
