//! Configuration files changed in place: whatever is not meant by an [`Edit`] stays as it was written, with comments, order,
//! indentation, line ends, byte order mark and final newline.
//!
//! ```text
//!  bytes ── form (BOM, line ends) ── json | toml | yaml ── edits ──▶ bytes
//!                                        └── check: a second parser reads what came out, and finds the old values with
//!                                            the edit carried out, and nothing else
//! ```
//!
//! Everything here is a function of values. A file that cannot be changed faithfully is refused, with the reason; it is never
//! changed nearly.

#![forbid(unsafe_code)]

mod check;
mod editor;
mod flow;
mod form;
mod json;
mod splice;
mod toml;
#[cfg(test)]
mod tried;
mod yaml;

use bir_model::{Edit, Format, Place};
use serde_json::Value;
use thiserror::Error;

use editor::Editor;
use json::Json;
use toml::Toml;
use yaml::Yaml;

/// Longest file that is taken, bytes. Claude Code's own file grows to some megabytes.
pub const LONGEST: usize = 32 << 20;

/// Most objects and arrays in one another that are read. serde_json goes one deeper.
pub const DEEPEST: usize = 126;

/// Why a file is not read, or not changed. The text says what and where (line and column from 1), never a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// Not text of the format.
    #[error("{0}")]
    Syntax(String),
    /// It is not UTF-8: UTF-16 as some editors of Windows write it, or no text at all.
    #[error("the file is not UTF-8")]
    NotUtf8,
    /// Longer than [`LONGEST`].
    #[error("the file is longer than {} MiB", LONGEST >> 20)]
    TooLong,
    /// The place to be changed cannot be told: a key twice, an alias or a merge of YAML, no object where one is needed.
    #[error("{0}")]
    Place(String),
    /// What came out does not read as meant.
    #[error("the change could not be made without touching something else")]
    Unfaithful,
}

/// A configuration, as text and as what it says.
#[derive(Debug, Clone)]
pub struct Document {
    format: Format,
    /// Whether a byte order mark stands before the text.
    mark: bool,
    /// With the line ends of the file.
    text: String,
    value: Value,
}

impl Document {
    /// Reads a file. An empty one (white space and comments alone) is an object without members.
    ///
    /// # Errors
    ///
    /// [`EditError`], but for its last two.
    pub fn parse(bytes: &[u8], format: Format) -> Result<Self, EditError> {
        let (mark, text) = form::take(bytes)?;
        let value = match format {
            Format::Json => read(&Json::parse(text, false)?, format),
            Format::Jsonc => read(&Json::parse(text, true)?, format),
            Format::Toml => read(&Toml::parse(&form::with_line_feeds(text))?, format),
            Format::Yaml => read(&Yaml::parse(&form::with_line_feeds(text))?, format),
        }?;
        Ok(Self { format, mark, text: text.to_owned(), value })
    }

    /// What it says. Dates of TOML are strings here, and keys of YAML mappings that are no strings are left out; both are kept
    /// in the text.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// How it is written.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Why what stands at a place cannot be told from what stands beside it, or is not to be changed there: a key on the way that is there
    /// twice, an alias or a tag of YAML. None: nothing is in the way, whether something stands there or not.
    #[must_use]
    pub fn obstacle(&self, at: &Place) -> Option<String> {
        let way = match self.format {
            Format::Json => Json::parse(&self.text, false).and_then(|json| json.way_to(at)),
            Format::Jsonc => Json::parse(&self.text, true).and_then(|json| json.way_to(at)),
            Format::Toml => Ok(()),
            Format::Yaml => Yaml::parse(&form::with_line_feeds(&self.text)).and_then(|yaml| yaml.way_to(at)),
        };
        way.err().map(|error| error.to_string())
    }

    /// Carries an edit out; after an error nothing has changed.
    ///
    /// # Errors
    ///
    /// [`EditError::Place`], [`EditError::Unfaithful`].
    pub fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        self.edit_all(std::slice::from_ref(edit))
    }

    /// Carries edits out, one after the other; after an error nothing has changed. The second look is one for all of them, which
    /// counts where a file is large.
    ///
    /// # Errors
    ///
    /// [`EditError::Place`], [`EditError::Unfaithful`].
    pub fn edit_all(&mut self, edits: &[Edit]) -> Result<(), EditError> {
        let plain = || form::with_line_feeds(&self.text);
        let (text, value) = match self.format {
            Format::Json => changed(Json::parse(&self.text, false)?, edits, self.format)?,
            Format::Jsonc => changed(Json::parse(&self.text, true)?, edits, self.format)?,
            Format::Toml => changed(Toml::parse(&plain())?, edits, self.format)?,
            Format::Yaml => changed(Yaml::parse(&plain())?, edits, self.format)?,
        };
        let text = match self.format {
            Format::Json | Format::Jsonc => text,
            Format::Toml | Format::Yaml => form::with_ends_of(&self.text, &text),
        };
        if text.len() > LONGEST {
            return Err(EditError::TooLong);
        }
        self.text = text;
        self.value = value;
        Ok(())
    }

    /// The file as it is to be written.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        form::give(self.mark, &self.text)
    }
}

/// What a text says, if a second parser can read it, too.
fn read(editor: &impl Editor, format: Format) -> Result<Value, EditError> {
    check::exact(&editor.text(), format)?;
    editor.value()
}

/// The text and the value after some edits, if both parsers find in it what is meant.
fn changed(mut editor: impl Editor, edits: &[Edit], format: Format) -> Result<(String, Value), EditError> {
    let mut expected = check::exact(&editor.text(), format)?;
    for edit in edits {
        // An editor of JSON tells the lines of keys that are there twice, so it is asked first.
        let outcome = editor.edit(edit);
        expected = match (expected.carried_out(edit), outcome) {
            (_, Err(error @ EditError::Place(_))) | (Err(error), _) | (Ok(_), Err(error)) => {
                return Err(error);
            }
            (Ok(expected), Ok(())) => expected,
        };
    }
    let mut found = check::exact(&editor.text(), format).map_err(|_| EditError::Unfaithful)?;
    if format == Format::Toml {
        for edit in edits {
            (expected, found) = (expected.without_hollow(edit), found.without_hollow(edit));
        }
    }
    if !expected.agrees(&found, format) {
        return Err(EditError::Unfaithful);
    }
    Ok((editor.text(), editor.value().map_err(|_| EditError::Unfaithful)?))
}
