//! Changing the file `off`: from one text to the next, or to none. What a person wrote in it stays: comments, other
//! directories, the order of lines.
//!
//! ```text
//!   off           no file ─▶ empty file        /a, /b ─▶ both set aside in comments, so that the file names none
//!   on            empty, or with lines set aside ─▶ these lines, or no file
//!   off --here    + the line of the project    on --here    − the lines that name it
//! ```
//!
//! A file that names no directory means everywhere. So the last line never goes alone: the file goes with it.

use super::{Reach, entries, reach_of};
use std::path::{Path, PathBuf};

/// Begins the comment that keeps a directory while everything is off.
const ASIDE: &str = "# set aside by `bir off`: ";

/// What is to become of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It says so already.
    None,
    /// The new text.
    Write(String),
    /// It goes; the comments that go with it.
    Remove(Vec<String>),
}

/// Off everywhere. Directories are set aside, for [`on`] to bring them back.
#[must_use]
pub fn off(file: Option<&str>) -> Change {
    match file {
        None => Change::Write(String::new()),
        Some(text) if reach_of(text) == Reach::Everywhere => Change::None,
        Some(text) => {
            let aside = |line: &str| match names_a_directory(line) {
                true => format!("{ASIDE}{}\n", line.trim()),
                false => format!("{line}\n"),
            };
            Change::Write(text.lines().map(aside).collect())
        }
    }
}

/// On again, but for the directories that were off before everything was.
#[must_use]
pub fn on(file: Option<&str>) -> Change {
    match file {
        Some(text) if reach_of(text) == Reach::Everywhere => {
            let back: String =
                text.lines().map(|line| format!("{}\n", line.strip_prefix(ASIDE).unwrap_or(line))).collect();
            written(back)
        }
        // Some directories are off, each by a will of its own.
        _ => Change::None,
    }
}

/// Off in a directory and below it. None: everything is off, and a line would switch everything else on.
#[must_use]
pub fn off_in(file: Option<&str>, dir: &Path) -> Option<Change> {
    let mut text = file.unwrap_or_default().to_owned();
    match file.map(reach_of) {
        Some(Reach::Everywhere) => return None,
        Some(Reach::In(lines)) if lines.iter().any(|line| Path::new(line) == dir) => {
            return Some(Change::None);
        }
        _ => {}
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("{}\n", dir.display()));
    Some(Change::Write(text))
}

/// On again in a directory of a project: lines that name the project, the directory, or one between them go.
/// `resolve` follows symbolic links.
#[must_use]
pub fn on_in(
    file: Option<&str>,
    project: &Path,
    dir: &Path,
    resolve: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Change {
    let Some(text) = file else { return Change::None };
    let is_ours = |line: &str| {
        let named = Path::new(line.trim());
        let within = |named: &Path| named.starts_with(project) && dir.starts_with(named);
        names_a_directory(line) && (within(named) || resolve(named).is_some_and(|named| within(&named)))
    };
    let kept: String = text.lines().filter(|line| !is_ours(line)).map(|line| format!("{line}\n")).collect();
    if kept.lines().count() == text.lines().count() {
        return Change::None;
    }
    written(kept)
}

fn names_a_directory(line: &str) -> bool {
    entries(line).next().is_some()
}

fn written(text: String) -> Change {
    if reach_of(&text) == Reach::Everywhere {
        return Change::Remove(text.lines().filter(|line| !line.trim().is_empty()).map(Into::into).collect());
    }
    Change::Write(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(text: &str) -> Change {
        Change::Write(text.into())
    }

    #[test]
    fn off_and_on_again_leaves_what_was() {
        assert_eq!(off(None), write(""));
        assert_eq!(off(Some("# why\n")), Change::None);
        assert_eq!(on(Some("")), Change::Remove(Vec::new()));
        assert_eq!(on(Some("# why\n")), Change::Remove(vec!["# why".into()]));
        assert_eq!(on(None), Change::None);
        assert_eq!(on(Some("/a\n")), Change::None);
        let before = "# mine\n/a\n\n  /b c\n";
        let Change::Write(all) = off(Some(before)) else { panic!("nothing was written") };
        assert_eq!(reach_of(&all), Reach::Everywhere, "{all}");
        assert_eq!(on(Some(&all)), write("# mine\n/a\n\n/b c\n"));
    }

    #[test]
    fn a_directory_is_added_once_and_never_switches_others_on() {
        let dir = Path::new("/home/a/p");
        assert_eq!(off_in(None, dir), Some(write("/home/a/p\n")));
        assert_eq!(off_in(Some("# x\n/b"), dir), Some(write("# x\n/b\n/home/a/p\n")));
        assert_eq!(off_in(Some("/b\n/home/a/p\n"), dir), Some(Change::None));
        assert_eq!(off_in(Some("# everything\n"), dir), None);
    }

    #[test]
    fn on_here_takes_the_lines_of_the_project_and_no_other() {
        let (project, dir) = (Path::new("/home/a/p"), Path::new("/home/a/p/sub/deep"));
        let none = |_: &Path| None;
        let on = |text| on_in(Some(text), project, dir, &none);
        assert_eq!(on("# x\n/b\n/home/a/p\n/home/a/p/sub\n"), write("# x\n/b\n"));
        assert_eq!(on("# x\n/home/a/p\n"), Change::Remove(vec!["# x".into()]));
        for text in ["/home/a\n", "/home/a/p/other\n", "/home/a/pp\n", "p\n", ""] {
            assert_eq!(on(text), Change::None, "{text}");
        }
        let link = |named: &Path| (named == Path::new("/link")).then(|| project.to_path_buf());
        assert_eq!(on_in(Some("/link\n"), project, dir, &link), Change::Remove(Vec::new()));
        assert_eq!(on_in(None, project, dir, &none), Change::None);
    }
}
