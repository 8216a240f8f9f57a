//! JSON, with and without comments: text put in at the spans that `jsonc-parser` tells. Whatever is not put in or taken out
//! is not even looked at, so it stays byte for byte.

mod layout;
mod splice;
mod style;
mod tree;

use std::ops::Range;

use bir_model::{Edit, Place, Step};
use serde_json::Value;

use crate::editor::Editor;
use crate::splice::{Splice, spliced};
use crate::{EditError, check};
pub(crate) use layout::comment_end;
use style::{Shape, Style};
pub(crate) use tree::tamed;
use tree::{Kind, Node};

/// A JSON text.
#[derive(Debug)]
pub(crate) struct Json {
    text: String,
    /// Nothing in a text of white space and comments.
    root: Option<Node>,
    comments: bool,
}

impl Json {
    /// Reads a text without a byte order mark; with `comments`, comments and trailing commas are taken.
    pub(crate) fn parse(text: &str, comments: bool) -> Result<Self, EditError> {
        Ok(Self { text: text.to_owned(), root: tree::read(text, comments)?, comments })
    }

    /// Whether the way to a place is clear, as far as it is there.
    ///
    /// # Errors
    ///
    /// [`EditError::Place`]: a key on it is there twice.
    pub(crate) fn way_to(&self, at: &Place) -> Result<(), EditError> {
        let mut node = self.root.as_ref();
        for step in &at.0 {
            let Some(holder) = node else { return Ok(()) };
            node = holder.item(&self.text, step)?.and_then(|item| holder.child(item));
        }
        Ok(())
    }

    /// Puts a value at a place, or at the end of the array there.
    fn put(&self, at: &Place, value: &Value, append: bool) -> Result<Vec<Splice>, EditError> {
        let Some(root) = &self.root else { return Ok(self.first(at, value, append)) };
        let mut node = root;
        // Whether what holds the node is on one line.
        let mut flat = false;
        for (depth, step) in at.0.iter().enumerate() {
            let last = depth + 1 == at.0.len();
            match node.item(&self.text, step)? {
                Some(item) => {
                    let child = node.child(item).ok_or(EditError::Unfaithful)?;
                    flat = layout::one_line(&self.text, &node.span);
                    if last && !append {
                        return Ok(self.replaced(root, child, value, flat));
                    }
                    node = child;
                }
                None => {
                    let Step::Key(key) = step else { return Err(EditError::Unfaithful) };
                    let value = made(at.0.get(depth + 1..).unwrap_or_default(), value, append);
                    if self.is_null(node) {
                        return Ok(self.replaced(
                            root,
                            node,
                            &made(std::slice::from_ref(step), &value, false),
                            flat,
                        ));
                    }
                    if !matches!(node.kind, Kind::Object(_)) {
                        return Err(EditError::Unfaithful);
                    }
                    return Ok(self.inserted(root, node, Some(key), &value, flat));
                }
            }
        }
        match node.kind {
            Kind::Array(_) if append => Ok(self.inserted(root, node, None, value, flat)),
            Kind::Scalar if append && self.is_null(node) => {
                Ok(self.replaced(root, node, &made(&[], value, true), flat))
            }
            _ => Err(EditError::Unfaithful),
        }
    }

    /// A null is where an object or an array may come.
    fn is_null(&self, node: &Node) -> bool {
        self.text.get(node.span.clone()) == Some("null")
    }

    fn inserted(
        &self,
        root: &Node,
        holder: &Node,
        key: Option<&str>,
        value: &Value,
        flat: bool,
    ) -> Vec<Splice> {
        let style = Style::of(&self.text, Some(root), Some(holder));
        // A short value in an array that was empty needs no line of its own.
        let short = key.is_none() && !value.is_object() && !value.is_array();
        let slot = splice::slot(&self.text, holder, &style, flat || short);
        let white = splice::white_of_empty(&self.text, holder, &slot);
        let shape = if slot.flat { Shape::Flat } else { Shape::Usual };
        let item = style.item(key, value, &slot.indentation, shape);
        let mut splices = slot.fill(&item);
        if let (Some(white), Some(item)) = (white, splices.last_mut()) {
            item.range = white;
        }
        splices
    }

    fn replaced(&self, root: &Node, old: &Node, value: &Value, flat: bool) -> Vec<Splice> {
        // The same value stays as it is written.
        if self.text.get(old.span.clone()).is_some_and(|text| check::says(text, value)) {
            return Vec::new();
        }
        let style = Style::of(&self.text, Some(root), Some(old));
        let filled = !matches!(old.kind, Kind::Scalar) && !old.items().is_empty();
        let shape = match (flat, filled) {
            (true, _) => Shape::Flat,
            (false, true) if layout::one_line(&self.text, &old.span) => Shape::Flat,
            (false, true) => Shape::Tall,
            (false, false) => Shape::Usual,
        };
        let indentation = layout::indentation(&self.text, old.span.start);
        vec![Splice::replace(old.span.clone(), style.item(None, value, indentation, shape))]
    }

    /// The first value of a text without any.
    fn first(&self, at: &Place, value: &Value, append: bool) -> Vec<Splice> {
        let style = Style::of(&self.text, None, None);
        let object = style.item(None, &made(&at.0, value, append), "", Shape::Usual);
        let end = self.text.len();
        if self.text.trim().is_empty() {
            let line_end = if self.text.contains('\n') { "" } else { style.end };
            return vec![Splice::insert(0, format!("{object}{line_end}"))];
        }
        let line_end = if self.text.ends_with('\n') { "" } else { style.end };
        vec![Splice::insert(end, format!("{line_end}{object}{}", style.end))]
    }

    /// The array at a place; none where there is nothing, or a null.
    fn array(&self, at: &Place) -> Result<Option<&Node>, EditError> {
        let Some(mut node) = self.root.as_ref() else { return Ok(None) };
        for step in &at.0 {
            let Some(item) = node.item(&self.text, step)? else { return Ok(None) };
            node = node.child(item).ok_or(EditError::Unfaithful)?;
        }
        match node.kind {
            Kind::Array(_) => Ok(Some(node)),
            _ if self.is_null(node) => Ok(None),
            _ => Err(EditError::Unfaithful),
        }
    }

    /// Elements before one that is there: each on a line where that begins one.
    fn before(&self, array: &Node, item: &Range<usize>, values: &[Value]) -> Result<Splice, EditError> {
        let text = &self.text;
        let style = Style::of(text, self.root.as_ref(), Some(array));
        let indentation = layout::indentation(text, item.start);
        let (between, shape) = if layout::begins_line(text, item.start) {
            let end = layout::line_end_before(text, layout::line_start(text, item.start));
            let end = text.get(end).ok_or(EditError::Unfaithful)?;
            (format!(",{end}{indentation}"), Shape::Usual)
        } else {
            (style.comma().to_owned(), Shape::Flat)
        };
        let written = values.iter().map(|value| style.item(None, value, indentation, shape) + &between);
        Ok(Splice::insert(item.start, written.collect::<String>()))
    }

    fn removed(&self, at: &Place) -> Result<Vec<Range<usize>>, EditError> {
        let mut node = self.root.as_ref().ok_or(EditError::Unfaithful)?;
        for (depth, step) in at.0.iter().enumerate() {
            let item = node.item(&self.text, step)?.ok_or(EditError::Unfaithful)?;
            if depth + 1 == at.0.len() {
                return Ok(splice::without(&self.text, node, item));
            }
            node = node.child(item).ok_or(EditError::Unfaithful)?;
        }
        Err(EditError::Unfaithful)
    }
}

/// From the first byte that some splices change to the last.
fn touched(splices: &[Splice]) -> Option<Range<usize>> {
    let start = splices.iter().map(|splice| splice.range.start).min()?;
    let end = splices.iter().map(|splice| splice.range.end).max()?;
    Some(start..end)
}

/// A value with the objects above it.
fn made(steps: &[Step], value: &Value, append: bool) -> Value {
    let inner = if append { Value::Array(vec![value.clone()]) } else { value.clone() };
    steps.iter().rev().fold(inner, |inner, step| match step {
        Step::Key(key) => Value::Object(std::iter::once((key.clone(), inner)).collect()),
        Step::Index(_) => inner,
    })
}

impl Editor for Json {
    fn value(&self) -> Result<Value, EditError> {
        check::json(&self.text)
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        let splices = match edit {
            Edit::Set { at, value } => self.put(at, value, false)?,
            Edit::Append { to, value } => self.put(to, value, true)?,
            Edit::Remove { at } => self.removed(at)?.into_iter().map(Splice::cut).collect(),
            Edit::Insert { into, at, values } => {
                let Some(array) = self.array(into)? else {
                    return self.edit(&Edit::Set { at: into.clone(), value: values.clone().into() });
                };
                match array.items().get(*at) {
                    Some(item) => vec![self.before(array, item, values)?],
                    None => {
                        let append = |value: &Value| Edit::Append { to: into.clone(), value: value.clone() };
                        return values.iter().try_for_each(|value| self.edit(&append(value)));
                    }
                }
            }
            Edit::Cut { from, at, count } => {
                let array = self.array(from)?.ok_or(EditError::Unfaithful)?;
                match splice::run(&self.text, array, *at, *count) {
                    Some(run) => vec![Splice::cut(run)],
                    None => {
                        let mut each = (0..*count).rev().map(|n| Edit::Remove { at: from.index(at + n) });
                        return each.try_for_each(|edit| self.edit(&edit));
                    }
                }
            }
        };
        let Some(touched) = touched(&splices) else { return Ok(()) };
        let text = spliced(&self.text, splices)?;
        match &mut self.root {
            Some(root) => tree::follow(root, &text, &touched, self.comments, self.text.len()),
            none => tree::read(&text, self.comments).map(|root| *none = root),
        }
        .map_err(|_| EditError::Unfaithful)?;
        self.text = text;
        Ok(())
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}
