//! The files as they become, while a plan is made: read once, changed in memory, written by somebody else.

use crate::ledger::Hash;
use crate::survey::{ReadFile, read_file};
use bir_edit::Document;
use bir_hosts::config::{ConfigFile, Role, Scope};
use bir_model::{Edit, Format, Place};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// As it was first named.
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// As it was read; none: there was none.
    pub(crate) before: Option<Vec<u8>>,
    /// As it is to be; none: there is to be none.
    pub(crate) now: Option<Vec<u8>>,
    /// Its text is strict JSON, and stays so.
    strict: bool,
    /// What it says now, or why it cannot be changed.
    document: Result<Document, String>,
}

impl Sheet {
    fn new(read: ReadFile) -> Self {
        let strict = read.file.format == Format::Json
            || (read.file.format == Format::Jsonc && read.bytes.as_deref().is_some_and(is_strict));
        Self {
            path: read.file.path,
            format: read.file.format,
            before: read.bytes.clone(),
            now: read.bytes,
            strict,
            document: match read.locked {
                Some(why) => read.document.and(Err(why)),
                None => read.document,
            },
        }
    }

    /// A text that stands in no file.
    pub(crate) fn of_text(path: &Path, format: Format, text: &[u8]) -> Self {
        let file = ConfigFile { path: path.to_path_buf(), scope: Scope::User, format, role: Role::Both };
        let document = Document::parse(text, format).map_err(|e| e.to_string());
        Self::new(ReadFile { file, bytes: Some(text.to_vec()), document, locked: None })
    }

    /// Why it cannot be changed.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.document.as_ref().err().map(String::as_str)
    }

    /// What it says; null where that is not known.
    pub(crate) fn value(&self) -> &Value {
        self.document.as_ref().map_or(&Value::Null, Document::value)
    }

    /// Why what stands at a place cannot be told from what stands beside it.
    pub(crate) fn obstacle(&self, at: &Place) -> Option<String> {
        self.document.as_ref().ok()?.obstacle(at)
    }

    /// The hash of the file as it is to be.
    pub(crate) fn hash(&self) -> Option<Hash> {
        self.now.as_deref().map(Hash::of)
    }

    /// Whether anything is to be written.
    pub(crate) fn changes(&self) -> bool {
        self.before != self.now
    }

    /// Carries edits out, all or none: which objects and arrays were made for them, outermost first.
    pub(crate) fn edit(&mut self, edits: &[Edit]) -> Result<Vec<Place>, String> {
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        let document = self.document.as_mut().map_err(|why| why.clone())?;
        let mut made: Vec<Place> = Vec::new();
        for edit in edits {
            // What an edit before this one has made is not missing any more.
            let missing = missing_parents(document.value(), edit);
            made.extend(missing.into_iter().filter(|place| !made.contains(place)).collect::<Vec<_>>());
        }
        let done = document.edit_all(edits).map_err(|e| e.to_string());
        let bytes = document.bytes();
        let done = done.and_then(|()| {
            if self.strict && !is_strict(&bytes) {
                return Err("what would come out is no strict JSON, which its host needs".into());
            }
            Ok(())
        });
        match done {
            Ok(()) => {
                self.now = Some(bytes);
                Ok(made)
            }
            Err(why) => {
                self.reread();
                Err(why)
            }
        }
    }

    fn reread(&mut self) {
        self.document =
            Document::parse(self.now.as_deref().unwrap_or_default(), self.format).map_err(|e| e.to_string());
    }

    /// Replaces the whole text.
    pub(crate) fn replace(&mut self, text: Option<Vec<u8>>) {
        if self.now != text {
            self.now = text;
            self.reread();
        }
    }

    /// Replaces the text of a file that is ours alone, which nobody parses.
    pub(crate) fn replace_own(&mut self, text: Option<Vec<u8>>) {
        self.now = text;
    }
}

/// Whether a text is JSON as RFC 8259 has it, behind a byte order mark or not.
fn is_strict(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.trim_ascii().is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

/// The objects and arrays above what an edit sets that are not there yet, outermost first.
fn missing_parents(document: &Value, edit: &Edit) -> Vec<Place> {
    let (place, own) = match edit {
        Edit::Set { at, .. } => (at, 0),
        Edit::Append { to, .. } => (to, 1),
        Edit::Insert { into, .. } => (into, 1),
        Edit::Remove { .. } | Edit::Cut { .. } => return Vec::new(),
    };
    let lengths = 1..place.0.len() + own;
    let parents = lengths.map(|length| Place(place.0.iter().take(length).cloned().collect()));
    parents.filter(|parent| parent.of(document).is_none()).collect()
}

/// All files of a plan. Two names of one file are one sheet.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    sheets: BTreeMap<PathBuf, Sheet>,
}

impl Desk {
    /// The sheet of a file, read if it was not.
    pub(crate) fn sheet(&mut self, file: &ConfigFile) -> &mut Sheet {
        self.sheets.entry(real(&file.path)).or_insert_with(|| {
            // What a module names without having listed it is to be changed.
            let role = if file.role == Role::Read { Role::Servers } else { file.role };
            Sheet::new(read_file(ConfigFile { role, ..file.clone() }))
        })
    }

    /// A file that was read already.
    pub(crate) fn lay(&mut self, read: &ReadFile) {
        let document = match (&read.document, &read.bytes) {
            (Err(why), _) => Err(why.clone()),
            (Ok(_), Some(_)) if read.file.role == Role::Own => {
                Document::parse(b"", read.file.format).map_err(|e| e.to_string())
            }
            (Ok(_), bytes) => Document::parse(bytes.as_deref().unwrap_or_default(), read.file.format)
                .map_err(|e| e.to_string()),
        };
        let read = ReadFile {
            file: read.file.clone(),
            bytes: read.bytes.clone(),
            document,
            locked: read.locked.clone(),
        };
        self.sheets.entry(real(&read.file.path)).or_insert_with(|| Sheet::new(read));
    }

    /// The sheet of a path that was laid.
    pub(crate) fn at(&self, path: &Path) -> Option<&Sheet> {
        self.sheets.get(&real(path))
    }

    /// Those that change.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Sheet> {
        self.sheets.values().filter(|sheet| sheet.changes())
    }
}

/// What a path leads to: symbolic links resolved as far as there is something.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        _ => path.to_path_buf(),
    }
}

/// The directories above a file that are not there, outermost first.
pub(crate) fn missing_dirs(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|dir| !dir.as_os_str().is_empty() && dir.symlink_metadata().is_err())
        .map(Path::to_path_buf)
        .collect();
    missing.reverse();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_made_for_an_edit_is_known() {
        let value = json!({"hooks": {}});
        let place = Place::keys(["hooks", "Stop"]);
        assert_eq!(missing_parents(&value, &Edit::Append { to: place.clone(), value: json!(1) }), [place]);
        let set = Edit::Set { at: Place::keys(["projects", "/p", "mcpServers", "s"]), value: json!({}) };
        assert_eq!(missing_parents(&value, &set).len(), 3);
        assert!(
            missing_parents(&json!({"a": 1}), &Edit::Set { at: Place::keys(["a"]), value: json!(2) })
                .is_empty()
        );
    }

    #[test]
    fn strict_is_as_the_standard_has_it() {
        for (text, strict) in
            [("", true), ("{}", true), ("\u{feff}{}\n", true), ("{\"a\":1,}", false), ("{} // x", false)]
        {
            assert_eq!(is_strict(text.as_bytes()), strict, "{text}");
        }
    }
}
