//! What a second parser finds in a text, before and after an edit.
//!
//! ```text
//!  old text ── second parser ──▶ Exact ── carried_out(edit) ──▶ expected ─┐
//!                                                                         ├─ equal, or the edit is refused
//!  new text ── second parser ─────────────────────────────────▶ found ────┘
//! ```
//!
//! Numbers are what is written, so that `1.50` is not `1.5` and long ones are not rounded. The order of members counts.

mod read;
#[cfg(test)]
mod tests;

use bir_model::{Edit, Format, Place, Step};
use serde_json::Value;

use crate::EditError;
pub(crate) use read::{exact, json, json_exact};

/// A value with all that could get lost on the way through [`Value`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exact {
    Null,
    Bool(bool),
    /// As it is written, and for YAML as it was understood.
    Number(String),
    Text(String),
    /// What JSON does not have: dates.
    Other(String),
    Array(Vec<Self>),
    /// Keys are texts but in YAML.
    Object(Vec<(Self, Self)>),
    /// From an edit. Of its numbers the value counts, since each format writes them in its own way.
    New(Value),
}

/// Whether a JSON text says exactly this, in this order.
pub(crate) fn says(text: &str, value: &Value) -> bool {
    json_exact(text).is_ok_and(|found| found.is_written(value))
}

impl Exact {
    /// The old value with an edit carried out: the plain function that a changed text is held against.
    ///
    /// # Errors
    ///
    /// [`EditError::Place`] where there is no such place.
    pub(crate) fn carried_out(mut self, edit: &Edit) -> Result<Self, EditError> {
        let at = edit.place();
        let Some((last, above)) = at.0.split_last() else {
            return match edit {
                Edit::Append { .. } | Edit::Insert { .. } | Edit::Cut { .. } => {
                    self.change_elements(edit)?;
                    Ok(self)
                }
                _ => Err(EditError::Place("a whole document is neither set nor removed".to_owned())),
            };
        };
        let make = !matches!(edit, Edit::Remove { .. } | Edit::Cut { .. });
        let mut holder = &mut self;
        for (depth, step) in above.iter().enumerate() {
            holder = holder.down(step, make, || named(at, depth + 1))?;
        }
        match edit {
            Edit::Set { value, .. } => {
                *holder.down(last, true, || named(at, at.0.len()))? = Self::New(value.clone())
            }
            Edit::Append { .. } | Edit::Insert { .. } | Edit::Cut { .. } => {
                let known = holder.find(last).is_some();
                let array = holder.down(last, make, || named(at, at.0.len()))?;
                if make && (!known || *array == Self::Null) {
                    *array = Self::Array(Vec::new());
                }
                array.change_elements(edit)?;
            }
            Edit::Remove { .. } => match (holder.find(last), holder) {
                (Some(index), Self::Object(members)) => drop(members.remove(index)),
                (Some(index), Self::Array(elements)) => drop(elements.remove(index)),
                _ => return Err(nothing(&named(at, at.0.len()))),
            },
        }
        Ok(self)
    }

    /// Without the tables and arrays above an edit's place that hold nothing: in TOML they may have no text.
    pub(crate) fn without_hollow(mut self, edit: &Edit) -> Self {
        self.empty_out(&edit.place().0);
        self
    }

    fn empty_out(&mut self, steps: &[Step]) {
        let Some((step, further)) = steps.split_first().filter(|(_, further)| !further.is_empty()) else {
            return;
        };
        let Some(index) = self.find(step) else { return };
        match self {
            Self::Object(members) => {
                let Some((_, member)) = members.get_mut(index) else { return };
                member.empty_out(further);
                if matches!(member, Self::Object(inner) if inner.is_empty())
                    || matches!(member, Self::Array(inner) if inner.is_empty())
                {
                    members.remove(index);
                }
            }
            Self::Array(elements) => {
                if let Some(element) = elements.get_mut(index) {
                    element.empty_out(further);
                }
            }
            _ => {}
        }
    }

    /// Puts elements into an array, or takes some out of it.
    fn change_elements(&mut self, edit: &Edit) -> Result<(), EditError> {
        let place = edit.place();
        let elements = self.elements(place)?;
        let none = |index: usize| nothing(&named(&place.index(index), place.0.len() + 1));
        match edit {
            Edit::Append { value, .. } => elements.push(Self::New(value.clone())),
            Edit::Insert { at, values, .. } if *at <= elements.len() => {
                drop(elements.splice(*at..*at, values.iter().cloned().map(Self::New)));
            }
            Edit::Insert { at, .. } => return Err(none(*at)),
            Edit::Cut { at, count, .. } => match at.checked_add(*count) {
                Some(end) if end <= elements.len() => drop(elements.drain(*at..end)),
                _ => return Err(none(elements.len())),
            },
            Edit::Set { .. } | Edit::Remove { .. } => return Err(EditError::Unfaithful),
        }
        Ok(())
    }

    fn elements(&mut self, at: &Place) -> Result<&mut Vec<Self>, EditError> {
        match self {
            Self::Array(elements) => Ok(elements),
            _ => Err(EditError::Place(format!("{} is not an array", named(at, at.0.len())))),
        }
    }

    /// Where a step leads, if something is there.
    fn find(&self, step: &Step) -> Option<usize> {
        match (self, step) {
            (Self::Object(members), Step::Key(key)) => {
                members.iter().position(|(name, _)| matches!(name, Self::Text(name) if name == key))
            }
            (Self::Array(elements), Step::Index(index)) => (*index < elements.len()).then_some(*index),
            _ => None,
        }
    }

    fn down(&mut self, step: &Step, make: bool, name: impl Fn() -> String) -> Result<&mut Self, EditError> {
        // An editor of JSON refuses to put anything into a null; in YAML it is what nothing at all is read as.
        if make && *self == Self::Null {
            *self = match step {
                Step::Key(_) => Self::Object(Vec::new()),
                Step::Index(_) => Self::Array(Vec::new()),
            };
        }
        let found = self.find(step);
        match (self, step, found) {
            (Self::Object(members), _, Some(index)) => members.get_mut(index).map(|(_, value)| value),
            (Self::Array(elements), _, Some(index)) => elements.get_mut(index),
            (Self::Object(members), Step::Key(key), None) if make => {
                members.push((Self::Text(key.clone()), Self::Object(Vec::new())));
                members.last_mut().map(|(_, value)| value)
            }
            (Self::Object(_), Step::Key(_), None) | (Self::Array(_), Step::Index(_), None) => None,
            (_, Step::Key(_), _) => {
                return Err(EditError::Place(format!("what should hold {} is not an object", name())));
            }
            (_, Step::Index(_), _) => {
                return Err(EditError::Place(format!("what should hold {} is not an array", name())));
            }
        }
        .ok_or_else(|| nothing(&name()))
    }

    /// Whether a changed text says what was expected of it.
    pub(crate) fn agrees(&self, found: &Self, format: Format) -> bool {
        match (self, found) {
            (Self::New(value), found) => found.is(value, format),
            (Self::Array(expected), Self::Array(found)) => {
                expected.len() == found.len()
                    && expected.iter().zip(found).all(|(expected, found)| expected.agrees(found, format))
            }
            (Self::Object(expected), Self::Object(found)) => {
                let same = |(expected, found): (&(Self, Self), &(Self, Self))| {
                    expected.0 == found.0 && expected.1.agrees(&found.1, format)
                };
                if expected.len() != found.len() {
                    return false;
                }
                // A table of TOML has no order, and may stand in several places: an edit of one of them moves it.
                if format == Format::Toml {
                    return expected.iter().all(|e| found.iter().any(|f| e.0 == f.0 && same((e, f))));
                }
                expected.iter().zip(found).all(same)
            }
            (expected, found) => expected == found,
        }
    }

    fn is(&self, value: &Value, format: Format) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(found), Value::Bool(value)) => found == value,
            (Self::Text(found), Value::String(value)) => found == value,
            (Self::Number(found), Value::Number(value)) => {
                *found == value.to_string()
                    || found.parse().ok().is_some_and(|found: f64| {
                        value.as_f64() == Some(found) && !value.is_i64() && !value.is_u64()
                    })
            }
            (Self::Array(found), Value::Array(value)) => {
                found.len() == value.len()
                    && found.iter().zip(value).all(|(found, value)| found.is(value, format))
            }
            (Self::Object(found), Value::Object(value)) => {
                let order = format == Format::Toml
                    || found
                        .iter()
                        .zip(value)
                        .all(|((found, _), (key, _))| matches!(found, Self::Text(found) if found == key));
                order
                    && found.len() == value.len()
                    && value.iter().all(|(key, value)| {
                        found.iter().any(|(name, found)| {
                            matches!(name, Self::Text(name) if name == key) && found.is(value, format)
                        })
                    })
            }
            _ => false,
        }
    }

    /// Whether this is the value as it would be written, its numbers by their text.
    fn is_written(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number(found), Value::Number(value)) => *found == value.to_string(),
            (Self::Array(found), Value::Array(value)) => {
                found.len() == value.len()
                    && found.iter().zip(value).all(|(found, value)| found.is_written(value))
            }
            (Self::Object(found), Value::Object(value)) => {
                found.len() == value.len()
                    && found.iter().zip(value).all(|((name, found), (key, value))| {
                        matches!(name, Self::Text(name) if name == key) && found.is_written(value)
                    })
            }
            _ => self.is(value, Format::Json),
        }
    }
}

fn nothing(name: &str) -> EditError {
    EditError::Place(format!("nothing stands at {name}"))
}

/// The first steps of a place, for people: keys as they would be written in a program.
fn named(at: &Place, steps: usize) -> String {
    let mut name = String::new();
    for step in at.0.iter().take(steps) {
        match step {
            Step::Key(key)
                if key.contains(|character: char| {
                    !character.is_alphanumeric() && !"-_".contains(character)
                }) =>
            {
                name.push_str(&format!("[{key:?}]"));
            }
            Step::Key(key) => {
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(key);
            }
            Step::Index(index) => name.push_str(&format!("[{index}]")),
        }
    }
    if name.is_empty() { "the document".to_owned() } else { name }
}
