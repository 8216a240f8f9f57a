//! Places in a configuration, and changes of one: what host modules ask for, and editors carry out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON as RFC 8259 has it: comments and trailing commas are mistakes, and what is written holds none.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// One step down into a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// A member of an object.
    Key(String),
    /// An element of an array, from 0.
    Index(usize),
}

/// Where a value stands in a document; the empty place is the document itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(pub Vec<Step>);

impl Place {
    /// A place by its keys.
    #[must_use]
    pub fn keys<S: Into<String>>(keys: impl IntoIterator<Item = S>) -> Self {
        Self(keys.into_iter().map(|key| Step::Key(key.into())).collect())
    }

    /// A member of what stands here.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.step(Step::Key(key.into()))
    }

    /// An element of what stands here.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// What stands there.
    #[must_use]
    pub fn of<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(document, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.get(index),
        })
    }
}

/// One change of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Replaces what stands at a place. A member that is not there becomes the last one; objects above it are made.
    Set {
        /// The place; never the document itself.
        at: Place,
        /// What is to stand there.
        value: Value,
    },
    /// Adds an element to the end of an array, which is made where there is none.
    Append {
        /// The array.
        to: Place,
        /// The element.
        value: Value,
    },
    /// Puts elements into an array, which is made where there is none. Those that are there keep their text, comments and all.
    Insert {
        /// The array.
        into: Place,
        /// Which element they stand before; as many as there are: behind the last one.
        at: usize,
        /// The elements.
        values: Vec<Value>,
    },
    /// Takes elements that stand beside one another out of an array, which stays: an [`Edit::Insert`] backwards.
    Cut {
        /// The array.
        from: Place,
        /// The first of them.
        at: usize,
        /// How many.
        count: usize,
    },
    /// Takes a member or an element away. What holds it stays, empty or not.
    Remove {
        /// The place; never the document itself.
        at: Place,
    },
}

impl Edit {
    /// The place that it is about: what is set, removed, or the array that gets or loses elements.
    #[must_use]
    pub fn place(&self) -> &Place {
        let (Self::Set { at: place, .. }
        | Self::Append { to: place, .. }
        | Self::Insert { into: place, .. }
        | Self::Cut { from: place, .. }
        | Self::Remove { at: place }) = self;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_is_found() {
        let document = json!({"a": {"b.c": [1, {"d": 2}]}});
        let place = Place::keys(["a", "b.c"]).index(1).key("d");
        assert_eq!(place.of(&document), Some(&json!(2)));
        assert_eq!(serde_json::to_string(&place).unwrap(), r#"["a","b.c",1,"d"]"#);
        assert_eq!(Place::default().of(&document), Some(&document));
        assert_eq!(place.key("x").of(&document), None);
    }
}
