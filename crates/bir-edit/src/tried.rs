//! What the tests of TOML and of YAML share: edits written short, and a document as the crate offers it, beside what its text says when it
//! is read anew.

use crate::editor::Editor;
use crate::toml::Toml;
use crate::yaml::Yaml;
use crate::{Document, EditError};
use bir_model::{Edit, Format, Place};
use serde_json::Value;

pub(crate) fn place(path: &str) -> Place {
    path.split('/').fold(Place::default(), |place, step| match step.parse() {
        Ok(index) => place.index(index),
        Err(_) => place.key(step),
    })
}

pub(crate) fn set(path: &str, value: Value) -> Edit {
    Edit::Set { at: place(path), value }
}

pub(crate) fn append(path: &str, value: Value) -> Edit {
    Edit::Append { to: place(path), value }
}

pub(crate) fn remove(path: &str) -> Edit {
    Edit::Remove { at: place(path) }
}

/// A document, and what its text says.
#[derive(Debug)]
pub(crate) struct Doc(pub(crate) Document, pub(crate) Value, Format);

impl Doc {
    pub(crate) fn parse(text: &str, format: Format) -> Result<Self, EditError> {
        let document = Document::parse(text.as_bytes(), format)?;
        Ok(Self(document, says(text, format)?, format))
    }

    pub(crate) fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        self.0.edit(edit)?;
        self.1 = says(&self.text(), self.2)?;
        Ok(())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.bytes()).unwrap()
    }
}

fn says(text: &str, format: Format) -> Result<Value, EditError> {
    Ok(match format {
        Format::Toml => Toml::parse(text)?.value()?,
        _ => Yaml::parse(text)?.value()?,
    })
}

/// The text after an edit.
pub(crate) fn edited(text: &str, format: Format, edit: &Edit) -> Result<String, EditError> {
    let mut document = Doc::parse(text, format)?;
    document.edit(edit)?;
    Ok(document.text())
}
