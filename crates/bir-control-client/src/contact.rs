//! Where a control server says that it is.

use crate::projects::{self, Discovery};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A control server's token; it prints nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as it was read.
    #[must_use]
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

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
    /// Its process, where that is told.
    pub pid: Option<u32>,
    /// The discovery file that says so; absent when the environment does.
    pub file: Option<PathBuf>,
}

/// What is known of a control server for a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nothing was ever set up here.
    Nowhere,
    /// The project is set up, and no control server serves it now; the discovery file.
    Asleep(PathBuf),
    /// One that serves it, or did before it died.
    At(Contact),
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

/// Finds the nearest contact for a working directory: the environment's (a variable is asked for by name), else the discovery
/// file of that directory or of one above it.
///
/// # Errors
///
/// There is a file, and it says nothing.
pub fn find(
    state_dir: Option<&Path>,
    dir: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Place, ContactError> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    if let (Some(url), Some(token)) = (variable("BIR_CONTROL_URL"), variable("BIR_CONTROL_TOKEN")) {
        return Ok(Place::At(Contact { url, token: Token(token), pid: None, file: None }));
    }
    let Some(state_dir) = state_dir else { return Ok(Place::Nowhere) };
    let Some(file) = projects::nearest(state_dir, dir) else { return Ok(Place::Nowhere) };
    match Discovery::read(&file)? {
        Discovery { url: Some(url), token: Some(token), pid, .. } if !token.is_empty() => {
            Ok(Place::At(Contact { url, token: Token(token), pid, file: Some(file) }))
        }
        Discovery { url: None, token: None, project: Some(_), .. } => Ok(Place::Asleep(file)),
        _ => Err(ContactError::Broken(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn put(state: &Path, project: &Path, text: &str) {
        std::fs::create_dir_all(state.join("control")).unwrap();
        std::fs::write(state.join("control").join(format!("{}.json", key(project))), text).unwrap();
    }

    fn url(place: Place) -> Option<String> {
        match place {
            Place::At(contact) => Some(contact.url),
            Place::Asleep(_) => Some("asleep".into()),
            Place::Nowhere => None,
        }
    }

    #[test]
    fn the_nearest_file_counts_and_the_environment_before_it() {
        let home = tempfile::tempdir().unwrap();
        let (state, top) = (home.path().join("state"), home.path().canonicalize().unwrap().join("p"));
        let deep = top.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let found =
            |variable: &dyn Fn(&str) -> Option<String>| url(find(Some(&state), &deep, variable).unwrap());
        assert_eq!(found(&nothing), None);
        put(&state, &top, r#"{"url":"http://127.0.0.1:1","token":"t","pid":1}"#);
        assert_eq!(found(&nothing).as_deref(), Some("http://127.0.0.1:1"));
        put(&state, &top.join("a"), r#"{"url":"http://127.0.0.1:2","token":"t"}"#);
        assert_eq!(found(&nothing).as_deref(), Some("http://127.0.0.1:2"));
        put(&state, &deep, &format!(r#"{{"project":{:?}}}"#, deep.display().to_string()));
        assert_eq!(found(&nothing).as_deref(), Some("asleep"));
        let both = |name: &str| Some(format!("http://{}", name.len()));
        assert_eq!(found(&both).as_deref(), Some("http://15"));
        let url_alone = |name: &str| (name == "BIR_CONTROL_URL").then(|| "http://x".to_owned());
        assert_eq!(found(&url_alone).as_deref(), Some("asleep"), "a URL alone is another project's");
        assert_eq!(find(None, &deep, &nothing).unwrap(), Place::Nowhere);
    }

    #[test]
    fn a_file_that_says_nothing_is_told_and_shows_no_token() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().canonicalize().unwrap();
        for text in ["", "{", "[]", "{}", r#"{"url":"http://h"}"#, r#"{"url":"http://h","token":""}"#] {
            put(&dir, &dir, text);
            assert!(matches!(find(Some(&dir), &dir, &nothing), Err(ContactError::Broken(_))), "{text}");
        }
        put(&dir, &dir, r#"{"url":"http://h","token":"geheim"}"#);
        let place = find(Some(&dir), &dir, &nothing).unwrap();
        assert!(!format!("{place:?}").contains("geheim"));
    }
}
