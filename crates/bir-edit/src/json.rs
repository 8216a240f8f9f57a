//! JSON, with and without comments. Not there yet: every file is refused.

use bir_model::Edit;
use serde_json::Value;

use crate::EditError;
use crate::editor::Editor;

/// A JSON document.
#[derive(Debug)]
pub(crate) struct Json(String);

impl Json {
    /// Reads a text without a byte order mark.
    pub(crate) fn parse(_text: &str, _comments: bool) -> Result<Self, EditError> {
        Err(EditError::Syntax("JSON cannot be changed yet".to_owned()))
    }
}

impl Editor for Json {
    fn value(&self) -> Result<Value, EditError> {
        Err(EditError::Syntax("JSON cannot be read yet".to_owned()))
    }

    fn edit(&mut self, _edit: &Edit) -> Result<(), EditError> {
        Err(EditError::Unfaithful)
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}
