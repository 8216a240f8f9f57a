//! Where a control server says that it is.

use crate::key;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Longest discovery file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// A control server's token; it prints nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token itself, for the header alone.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[token]")
    }
}

/// A control server that somebody told us of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Its address.
    pub url: String,
    /// What it wants to be shown.
    pub token: Token,
    /// The discovery file that says so; absent when the environment does.
    pub file: Option<PathBuf>,
}

/// Why a discovery file says nothing. The project was set up all the same.
#[derive(Debug, Error)]
pub enum ContactError {
    /// It cannot be read.
    #[error("{0} cannot be read: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// It is not what a control server writes.
    #[error("{0} is no discovery file")]
    Broken(PathBuf),
}

#[derive(Deserialize)]
struct File {
    url: String,
    token: String,
}

/// Finds the nearest contact for a working directory: the environment's (a variable is asked for by name), else the discovery
/// file of that directory or of one above it. `None`: nothing was ever set up here.
///
/// # Errors
///
/// There is a file, and it says nothing.
pub fn find(
    state_dir: Option<&Path>,
    dir: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Contact>, ContactError> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    if let (Some(url), Some(token)) = (variable("BIR_CONTROL_URL"), variable("BIR_CONTROL_TOKEN")) {
        return Ok(Some(Contact { url, token: Token(token), file: None }));
    }
    let Some(control) = state_dir.map(|dir| dir.join("control")) else { return Ok(None) };
    // One look where nothing was ever installed, instead of one for each directory above.
    if !control.is_dir() {
        return Ok(None);
    }
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let files = dir.ancestors().map(|dir| control.join(format!("{}.json", key(dir))));
    files.into_iter().find(|file| file.symlink_metadata().is_ok()).map(read).transpose()
}

fn read(path: PathBuf) -> Result<Contact, ContactError> {
    use std::io::Read as _;
    let mut text = String::new();
    let read = std::fs::File::open(&path).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
    if let Err(e) = read {
        return Err(ContactError::Unreadable(path, e));
    }
    match serde_json::from_str::<File>(&text) {
        Ok(File { url, token }) if !token.is_empty() => {
            Ok(Contact { url, token: Token(token), file: Some(path) })
        }
        _ => Err(ContactError::Broken(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn put(state: &Path, project: &Path, text: &str) {
        std::fs::create_dir_all(state.join("control")).unwrap();
        std::fs::write(state.join("control").join(format!("{}.json", key(project))), text).unwrap();
    }

    #[test]
    fn the_nearest_file_counts_and_the_environment_before_it() {
        let home = tempfile::tempdir().unwrap();
        let (state, top) = (home.path().join("state"), home.path().canonicalize().unwrap().join("p"));
        let deep = top.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let found = |variable: &dyn Fn(&str) -> Option<String>| {
            find(Some(&state), &deep, variable).unwrap().map(|contact| contact.url)
        };
        assert_eq!(found(&nothing), None);
        put(&state, &top, r#"{"url":"http://127.0.0.1:1","token":"t","pid":1}"#);
        assert_eq!(found(&nothing).as_deref(), Some("http://127.0.0.1:1"));
        put(&state, &top.join("a"), r#"{"url":"http://127.0.0.1:2","token":"t"}"#);
        assert_eq!(found(&nothing).as_deref(), Some("http://127.0.0.1:2"));
        let both = |name: &str| Some(format!("http://{}", name.len()));
        assert_eq!(found(&both).as_deref(), Some("http://15"));
        let url_alone = |name: &str| (name == "BIR_CONTROL_URL").then(|| "http://x".to_owned());
        assert_eq!(
            found(&url_alone).as_deref(),
            Some("http://127.0.0.1:2"),
            "a URL alone is another project's"
        );
        assert_eq!(find(None, &deep, &nothing).unwrap(), None);
    }

    #[test]
    fn a_file_that_says_nothing_is_told_and_shows_no_token() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().canonicalize().unwrap();
        for text in ["", "{", "[]", r#"{"url":"http://h"}"#, r#"{"url":"http://h","token":""}"#] {
            put(&dir, &dir, text);
            assert!(matches!(find(Some(&dir), &dir, &nothing), Err(ContactError::Broken(_))), "{text}");
        }
        put(&dir, &dir, r#"{"url":"http://h","token":"geheim"}"#);
        let contact = find(Some(&dir), &dir, &nothing).unwrap().unwrap();
        assert!(!format!("{contact:?}").contains("geheim"));
    }
}
