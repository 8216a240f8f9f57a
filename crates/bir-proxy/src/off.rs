//! The off switch: `BIR_OFF=1`, or the file `off` in the state directory.
//!
//! An empty file switches everything off. Otherwise each line names a directory, absolute and as it is (no `~`, no quotes), in
//! which and below which the recorder is off; lines that begin with `#` are comments.

use crate::log;
use bir_record::state_dir::state_dir;
use std::path::{Path, PathBuf};

/// Whether the recorder is off here at the start; says which lines of the list are none.
pub(crate) fn is_off() -> bool {
    if let Some(list) = list() {
        for line in entries(&list).filter(|line| !Path::new(line).is_absolute()) {
            log::warn!("`{line}` in the file `off` is no absolute directory and switches nothing off");
        }
    }
    is_off_now()
}

/// Whether the recorder is off here and now. A list that cannot be read switches nothing off: recording is not to stop by
/// accident.
pub(crate) fn is_off_now() -> bool {
    if crate::environment::switch("BIR_OFF") {
        return true;
    }
    let here = || std::env::current_dir().ok();
    list().zip(here()).is_some_and(|(list, here)| covers(&list, &here, &|dir| dir.canonicalize().ok()))
}

fn list() -> Option<String> {
    std::fs::read_to_string(state_dir()?.join("off")).ok()
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
