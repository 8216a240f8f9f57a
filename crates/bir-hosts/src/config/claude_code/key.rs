//! Which member of `projects` in `~/.claude.json` is a project's. Its key is the git root, else the directory, as Claude Code writes it; on
//! Windows with slashes, whatever the system says.

use super::super::System;
use serde_json::Value;
use std::path::Path;

/// A path as keys are compared: with slashes, without one at the end, without `\\?\`, its drive in a small letter.
fn normal(path: &str, system: System) -> String {
    let mut path = match system {
        System::Windows => slashes(path),
        System::Linux | System::MacOs => path.to_owned(),
    };
    while path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    if system == System::Windows && path.as_bytes().get(1) == Some(&b':') {
        path = path.get(..1).unwrap_or_default().to_ascii_lowercase() + path.get(1..).unwrap_or_default();
    }
    path
}

/// A path of Windows with slashes, and without what says that it is to be taken as it is.
fn slashes(path: &str) -> String {
    let path = path.replace('\\', "/");
    match path.strip_prefix("//?/") {
        Some(rest) => rest.strip_prefix("UNC/").map_or_else(|| rest.to_owned(), |share| format!("//{share}")),
        None => path,
    }
}

/// The key that Claude Code would write for a project. None: it is no text.
pub(super) fn written(project: &Path, system: System) -> Option<String> {
    let project = project.to_str()?;
    Some(match system {
        System::Windows => slashes(project),
        System::Linux | System::MacOs => project.to_owned(),
    })
}

/// The members of `projects` that mean a project, first the one whose key is as Claude Code would write it.
fn all_of<'v>(document: &'v Value, project: &Path, system: System) -> Vec<(&'v String, &'v Value)> {
    let (Some(members), Some(written)) =
        (document.get("projects").and_then(Value::as_object), written(project, system))
    else {
        return Vec::new();
    };
    let meant = normal(&written, system);
    let mut all: Vec<_> = members.iter().filter(|(key, _)| normal(key, system) == meant).collect();
    all.sort_by_key(|(key, _)| **key != written);
    all
}

/// The project's member: its key and what stands there.
pub(super) fn of_project<'v>(
    document: &'v Value,
    project: &Path,
    system: System,
) -> Option<(&'v String, &'v Value)> {
    all_of(document, project, system).into_iter().next()
}

/// The key under which something of the project is to be written: as it stands there, else as Claude Code would write it.
pub(super) fn to_write(document: Option<&Value>, project: &Path, system: System) -> Option<String> {
    let known = document.and_then(|document| of_project(document, project, system));
    known.map(|(key, _)| key.clone()).or_else(|| written(project, system))
}

/// Whether the user has said that the folder is trusted, or one above it.
pub(super) fn is_trusted(document: &Value, project: &Path, system: System) -> bool {
    project.ancestors().any(|dir| {
        let trusted =
            |(_, entry): &(_, &Value)| entry.get("hasTrustDialogAccepted") == Some(&Value::Bool(true));
        all_of(document, dir, system).iter().any(trusted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_matched_however_they_are_written() {
        use System::{Linux, MacOs, Windows};
        for (system, project, key, same) in [
            (Linux, "/w/shop", "/w/shop", true),
            (Linux, "/w/shop", "/w/shop/", true),
            (MacOs, "/w/shop/", "/w/shop", true),
            (Linux, "/w/shop", "/w/Shop", false),
            (Linux, "/w/shop", "/w/shop2", false),
            (Linux, "/", "/", true),
            // A backslash is a letter of a name there.
            (Linux, r"/w/a\b", "/w/a/b", false),
            (Windows, r"C:\w\shop", "C:/w/shop", true),
            (Windows, r"c:\w\shop\", "C:/w/shop", true),
            (Windows, r"C:\w\shop", r"c:\w\shop\", true),
            (Windows, r"\\?\C:\w\shop", "C:/w/shop", true),
            (Windows, r"\\?\UNC\server\share\w", "//server/share/w", true),
            (Windows, r"\\server\share\w", r"\\server\share\w", true),
            (Windows, r"C:\w\shop", "D:/w/shop", false),
        ] {
            let document = json!({ "projects": { "/other": {}, key: { "x": 1 } } });
            let known = of_project(&document, Path::new(project), system);
            assert_eq!(known.is_some(), same, "{project} {key}");
            if same {
                assert_eq!(to_write(Some(&document), Path::new(project), system).as_deref(), Some(key));
            }
        }
    }

    #[test]
    fn a_key_that_is_not_there_is_written_as_claude_code_does() {
        let of = |project: &str, system| to_write(Some(&json!({})), Path::new(project), system).unwrap();
        assert_eq!(of(r"\\?\C:\w\shop", System::Windows), "C:/w/shop");
        assert_eq!(of(r"C:\w\shop", System::Windows), "C:/w/shop");
        assert_eq!(of("/w/shop", System::Linux), "/w/shop");
        assert_eq!(to_write(None, Path::new("/w"), System::MacOs).unwrap(), "/w");
    }

    #[test]
    fn of_two_keys_the_one_counts_that_claude_code_would_write() {
        let document = json!({ "projects": { r"C:\w": { "n": 1 }, "C:/w": { "n": 2 } } });
        let (key, entry) = of_project(&document, Path::new(r"C:\w"), System::Windows).unwrap();
        assert_eq!((key.as_str(), &entry["n"]), ("C:/w", &json!(2)));
    }

    #[test]
    fn trust_in_a_folder_is_trust_in_what_is_below_it() {
        let document = json!({ "projects": { "/w": { "hasTrustDialogAccepted": true }, "/v": { "hasTrustDialogAccepted": false } } });
        for (project, trusted) in [("/w", true), ("/w/a/b", true), ("/v", false), ("/x", false), ("/", false)]
        {
            assert_eq!(is_trusted(&document, Path::new(project), System::Linux), trusted, "{project}");
        }
    }
}
