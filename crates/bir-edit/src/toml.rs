//! TOML. Not there yet: every file is refused.

use bir_model::Edit;
use serde_json::Value;

use crate::EditError;
use crate::editor::Editor;

/// A TOML document.
#[derive(Debug)]
pub(crate) struct Toml(String);

impl Toml {
    /// Reads a text with line feeds and without a byte order mark.
    pub(crate) fn parse(_text: &str) -> Result<Self, EditError> {
        Err(EditError::Syntax("TOML cannot be changed yet".to_owned()))
    }
}

impl Editor for Toml {
    fn value(&self) -> Result<Value, EditError> {
        Err(EditError::Syntax("TOML cannot be read yet".to_owned()))
    }

    fn edit(&mut self, _edit: &Edit) -> Result<(), EditError> {
        Err(EditError::Unfaithful)
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}
