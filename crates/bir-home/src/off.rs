//! The off switch: `BIR_OFF=1`, or the file `off` in the state directory.
//!
//! An empty file switches everything off. Otherwise each line names a directory, absolute and as it is (no `~`, no quotes), in
//! which and below which the recorder is off; lines that begin with `#` are comments. [`edit`] changes the file.

pub mod edit;

use crate::state_dir;
use std::path::{Path, PathBuf};

/// The file in the state directory.
pub const FILE: &str = "off";

/// Whether the recorder is off in a directory, here and now. A list that cannot be read switches nothing off: recording is not
/// to stop by accident.
#[must_use]
pub fn is_off_in(dir: &Path) -> bool {
    if switch("BIR_OFF") {
        return true;
    }
    // As the system gives the working directory: without symbolic links.
    let here = || dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    list().is_some_and(|list| covers(&list, &here(), &|dir| dir.canonicalize().ok()))
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// There is no file: nothing is off.
    Nowhere,
    /// It names no directory: everything is off.
    Everywhere,
    /// The lines that are no comment, as they stand.
    In(Vec<String>),
}

/// What the file of a state directory says. One that cannot be read says nothing.
#[must_use]
pub fn reach(state_dir: &Path) -> Reach {
    std::fs::read_to_string(state_dir.join(FILE)).map_or(Reach::Nowhere, |list| reach_of(&list))
}

/// What a text says that stands in the file.
#[must_use]
pub fn reach_of(list: &str) -> Reach {
    let lines: Vec<String> = entries(list).map(ToOwned::to_owned).collect();
    if lines.is_empty() { Reach::Everywhere } else { Reach::In(lines) }
}

/// Whether the recorder is off in the working directory.
#[must_use]
pub fn is_off() -> bool {
    is_off_in(&std::env::current_dir().unwrap_or_default())
}

/// Lines of the list that switch nothing off, because they name no absolute directory.
#[must_use]
pub fn mistakes() -> Vec<String> {
    let list = list().unwrap_or_default();
    entries(&list).filter(|line| !Path::new(line).is_absolute()).map(ToOwned::to_owned).collect()
}

/// A variable that switches something on: `1` or `true`. Anything else leaves it off.
#[must_use]
pub fn switch(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "1" || value == "true")
}

fn list() -> Option<String> {
    std::fs::read_to_string(state_dir()?.join(FILE)).ok()
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// `here` is without symbolic links, as the system gives it; the directories of the list are resolved to compare.
fn covers(list: &str, here: &Path, resolve: &dyn Fn(&Path) -> Option<PathBuf>) -> bool {
    let mut directories = entries(list).map(Path::new).peekable();
    directories.peek().is_none()
        || directories.filter(|dir| dir.is_absolute()).any(|dir| {
            here.starts_with(dir) || resolve(dir).is_some_and(|resolved| here.starts_with(resolved))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_covers_everything_and_lines_cover_their_directories() {
        let here = Path::new("/home/a/project/sub");
        for (list, off) in [
            ("", true),
            ("# why\n", true),
            ("/home/a/project\n", true),
            ("/home/b\n/home/a/project/sub\n", true),
            ("/home/a/proj\n", false),
            ("project\n", false),
        ] {
            assert_eq!(covers(list, here, &|_| None), off, "{list:?}");
        }
        let resolve = |dir: &Path| (dir == Path::new("/link")).then(|| PathBuf::from("/home/a"));
        assert!(covers("/link\n", here, &resolve));
    }
}
