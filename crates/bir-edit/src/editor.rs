//! What each format's editor offers to [`Document`](crate::Document): one text in, changes, one text out.
//!
//! ```text
//!  Document ── text ──▶ Json | Toml | Yaml ── edit ──▶ text ── check ──▶ Document
//! ```
//!
//! An editor lives for the edits that are made together. Its text has no byte order mark. TOML and YAML are given line feeds alone, and
//! [`form`](crate::form) gives each line its end back; JSON is given the line ends as they are.

use bir_model::Edit;
use serde_json::Value;

use crate::EditError;

/// One text of a format. Each has a `parse` of its own beside this.
pub(crate) trait Editor {
    /// What the text says, as [`Document::value`](crate::Document::value) has it.
    fn value(&self) -> Result<Value, EditError>;

    /// Changes the text. After an error the editor is thrown away, so it may be left in any state.
    fn edit(&mut self, edit: &Edit) -> Result<(), EditError>;

    /// The text as it is now.
    fn text(&self) -> String;
}
