//! The projects that are set up, one discovery file each: `control/<key of the project>.json`, readable by its user alone.
//!
//! The file stays for as long as the project is set up. While a control server serves it, the file also says where it is and
//! which token it wants to be shown; the token is made anew with each start, so that whoever gets the port of a dead server
//! learns nothing that is of use with the next one.

use crate::contact::ContactError;
use crate::key;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Longest discovery file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// What a discovery file says.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    /// The project's directory, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Where the control server listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The project's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The control server's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When it started, ms since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// The version of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version of its interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<u64>,
    /// The project has opted in to replay, or out again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<bool>,
}

impl Discovery {
    /// Reads a discovery file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is none.
    pub fn read(path: &Path) -> Result<Self, ContactError> {
        use std::io::Read as _;
        let mut text = String::new();
        let read =
            std::fs::File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
        if let Err(e) = read {
            return Err(ContactError::Unreadable(path.to_path_buf(), e));
        }
        serde_json::from_str(&text).map_err(|_| ContactError::Broken(path.to_path_buf()))
    }

    /// Writes it in one step.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        bir_home::replace(path, &serde_json::to_vec(self)?)
    }
}

/// The folder of everything that belongs to the control server.
#[must_use]
pub fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("control")
}

/// The discovery file of a project.
#[must_use]
pub fn file_of(state_dir: &Path, project: &Path) -> PathBuf {
    folder(state_dir).join(format!("{}.json", key(project)))
}

/// The discovery file that counts for a directory: its own, or that of the nearest directory above it.
#[must_use]
pub fn nearest(state_dir: &Path, dir: &Path) -> Option<PathBuf> {
    // One look where nothing was ever installed, instead of one for each directory above.
    if !folder(state_dir).is_dir() {
        return None;
    }
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let mut files = dir.ancestors().map(|dir| file_of(state_dir, dir));
    files.find(|file| file.symlink_metadata().is_ok())
}

/// Sets a project up: what happens in it and below it is recorded as bound from now on. `/` stands for everywhere.
///
/// # Errors
///
/// The directory is none, or the file cannot be written.
pub fn add(state_dir: &Path, project: &Path) -> io::Result<PathBuf> {
    let project = project.canonicalize()?;
    let file = file_of(state_dir, &project);
    if Discovery::read(&file).is_ok_and(|found| found.project.as_ref() == Some(&project)) {
        return Ok(file);
    }
    bir_home::ensure(&folder(state_dir))?;
    Discovery { project: Some(project), ..Discovery::default() }.write(&file)?;
    Ok(file)
}

/// Whether the project of a directory has opted in to replay.
#[must_use]
pub fn replays(state_dir: &Path, dir: &Path) -> bool {
    let said = nearest(state_dir, dir).and_then(|file| Discovery::read(&file).ok());
    said.is_some_and(|said| said.replay == Some(true))
}

/// Opts a project in to replay, or out. False: it is not set up.
///
/// # Errors
///
/// The file cannot be written.
pub fn set_replay(state_dir: &Path, project: &Path, on: bool) -> io::Result<bool> {
    let project = project.canonicalize()?;
    let file = file_of(state_dir, &project);
    match Discovery::read(&file) {
        Ok(said) if said.project.as_ref() == Some(&project) => {
            Discovery { replay: Some(on), ..said }.write(&file)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Takes a project out. False: it was not set up.
///
/// # Errors
///
/// The file cannot be removed.
pub fn remove(state_dir: &Path, project: &Path) -> io::Result<bool> {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_path_buf());
    match std::fs::remove_file(file_of(state_dir, &project)) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Every project that is set up, with its file; files that say nothing are left out.
#[must_use]
pub fn list(state_dir: &Path) -> Vec<(PathBuf, Discovery)> {
    let entries = std::fs::read_dir(folder(state_dir)).into_iter().flatten().flatten();
    let files =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    let read = |path: PathBuf| Discovery::read(&path).ok().map(|found| (path, found));
    let named = |(path, found): &(PathBuf, Discovery)| {
        found.project.as_ref().is_some_and(|p| path.file_stem().is_some_and(|stem| *stem == *key(p)))
    };
    let mut all: Vec<_> = files.filter_map(read).filter(named).collect();
    all.sort_by(|a, b| a.1.project.cmp(&b.1.project));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_set_up_once_listed_and_taken_out() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state");
        let project = home.path().canonicalize().unwrap().join("p");
        assert!(add(&state, &project).is_err(), "there is no such directory");
        std::fs::create_dir(&project).unwrap();
        let file = add(&state, &project).unwrap();
        let served = Discovery { url: Some("http://127.0.0.1:1".into()), ..Discovery::read(&file).unwrap() };
        served.write(&file).unwrap();
        assert_eq!(add(&state, &project).unwrap(), file);
        assert!(Discovery::read(&file).unwrap().url.is_some(), "setting it up again changes nothing");
        std::fs::write(folder(&state).join("other.json"), "{}").unwrap();
        let listed: Vec<_> = list(&state).into_iter().filter_map(|(_, found)| found.project).collect();
        assert_eq!(listed, std::slice::from_ref(&project));
        assert_eq!(nearest(&state, &project.join("not/there")), Some(file));
        assert!(remove(&state, &project).unwrap());
        assert!(!remove(&state, &project).unwrap());
        assert_eq!(nearest(&state, &project), None);
    }
}
