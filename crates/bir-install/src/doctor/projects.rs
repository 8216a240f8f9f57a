//! The projects that are set up: where replay is on, whether they are there, and whether hooks reach where one works.

use super::{Code, Finding};
use std::path::{Path, PathBuf};

/// What is known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The directory in which one works; resolved.
    pub here: PathBuf,
    /// It lies in a git work tree.
    pub in_git: bool,
    /// The projects that are set up, and whether their directories are there.
    pub set_up: Vec<(PathBuf, bool)>,
    /// Projects in which replay was asked for.
    pub replay: Vec<PathBuf>,
    /// Projects in which hooks of ours stand in the project's own file of Claude Code.
    pub hooked: Vec<PathBuf>,
    /// Hooks of ours stand in the user's file of Claude Code.
    pub user_hooked: bool,
    /// Files of ours that git would commit, each with the work tree in which it lies.
    pub not_ignored: Vec<(PathBuf, PathBuf)>,
}

/// Looks at them.
#[must_use]
pub fn findings(observed: &Observed) -> Vec<Finding> {
    let mut found: Vec<Finding> = observed.replay.iter().map(|dir| replay(dir)).collect();
    found.extend(observed.set_up.iter().filter(|(_, there)| !there).map(|(dir, _)| gone(dir)));
    found.extend(nested(observed));
    found.extend(not_reached(observed));
    found.extend(observed.not_ignored.iter().map(|(file, tree)| not_ignored(file, tree)));
    found
}

/// Replay acts by itself: whoever looks is told first, what it means and how it ends.
fn replay(dir: &Path) -> Finding {
    let shown = shown(dir);
    Finding::warning(
        Code::ReplayOn,
        format!("replay: on in {}", dir.display()),
        "it was asked for with --replay: a prompt that asks for what an approved scenario did lets bir call the same tools by itself, with \
         computed arguments, and a host does not ask for each of these calls",
    )
    .mend(format!("bir uninstall {shown} --replay"))
    .file(dir)
}

fn gone(dir: &Path) -> Finding {
    let shown = shown(dir);
    Finding::warning(
        Code::ProjectGone,
        format!("{} is set up, and is no directory any more", dir.display()),
        "it was moved or removed; what was recorded there stays",
    )
    .safe(format!("bir project rm {shown}"))
    .file(dir)
}

fn nested(observed: &Observed) -> Vec<Finding> {
    let there = || observed.set_up.iter().filter(|(_, there)| *there).map(|(dir, _)| dir.as_path());
    let inner = there().filter_map(|dir| {
        // That everything is recorded (`--everywhere`) is no project that another one would be confused with.
        let outer =
            there().filter(|outer| *outer != dir && dir.starts_with(outer) && outer.parent().is_some());
        // The nearest one is enough to know.
        Some((dir, outer.max_by_key(|outer| outer.components().count())?))
    });
    inner
        .map(|(dir, outer)| {
            Finding::note(
                Code::ProjectsNested,
                format!("{} is set up, and lies in {}, which is set up too", dir.display(), outer.display()),
                "a session counts for the nearest of them; hooks of both may tell of it",
            )
            .mend(format!("bir project rm {}", shown(dir)))
            .file(dir)
        })
        .collect()
}

/// Without git, Claude Code reads the project's file of hooks in the directory in which a session starts, and in none above it.
fn not_reached(observed: &Observed) -> Option<Finding> {
    let Observed { here, in_git, hooked, user_hooked, .. } = observed;
    if *in_git || *user_hooked || hooked.contains(here) {
        return None;
    }
    let above = hooked.iter().filter(|dir| here.starts_with(dir));
    let above = above.max_by_key(|dir| dir.components().count())?;
    Some(
        Finding::warning(
            Code::HooksNotReached,
            format!("the hooks of Claude Code in {} do not count in {}", above.display(), here.display()),
            "without git it reads them only where a session starts, so sessions that start here are not recorded whole",
        )
        .host("claude-code")
        .file(here)
        .mend("bir install here, or bir install --user for every directory"),
    )
}

/// The line is the one that `bir install` tells.
fn not_ignored(file: &Path, tree: &Path) -> Finding {
    let inside = file.strip_prefix(tree).unwrap_or(file);
    let line = format!("/{}", inside.to_string_lossy().replace('\\', "/"));
    Finding::warning(
        Code::NotIgnored,
        format!("{} holds paths of this machine, and git does not ignore it", file.display()),
        "whoever gets it with a commit has hooks that start nothing",
    )
    .mend(format!("echo {} >> \"$(git rev-parse --git-common-dir)/info/exclude\"", shown(Path::new(&line))))
    .file(file)
}

/// A path as a word of a command line.
fn shown(dir: &Path) -> String {
    let text = dir.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '\\' | ':');
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(observed: &Observed) -> Vec<(Code, String)> {
        findings(observed).into_iter().map(|found| (found.code, found.what)).collect()
    }

    #[test]
    fn replay_is_told_with_what_it_means_and_how_it_ends() {
        let observed = Observed { replay: vec!["/a b".into()], ..Observed::default() };
        let found = findings(&observed).remove(0);
        assert_eq!((found.code, found.what.as_str()), (Code::ReplayOn, "replay: on in /a b"));
        assert!(found.why.contains("--replay") && found.why.contains("by itself"));
        assert_eq!(found.mend.as_deref(), Some("bir uninstall '/a b' --replay"));
    }

    #[test]
    fn projects_that_are_gone_or_lie_in_each_other_are_told() {
        let set_up = |dirs: &[(&str, bool)]| Observed {
            set_up: dirs.iter().map(|(dir, there)| (PathBuf::from(dir), *there)).collect(),
            ..Observed::default()
        };
        assert!(codes(&set_up(&[("/a", true), ("/ab", true)])).is_empty());
        let found = codes(&set_up(&[("/a", true), ("/a/b", true), ("/a/b/c", true), ("/a/gone", false)]));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].0 == Code::ProjectGone && found[0].1.contains("/a/gone"));
        assert!(found[2].1.contains("/a/b/c is set up, and lies in /a/b,"), "the nearest: {found:?}");
    }

    #[test]
    fn hooks_above_count_only_with_git_or_for_the_user() {
        let observed = |here: &str, in_git: bool, user_hooked: bool| Observed {
            here: here.into(),
            in_git,
            hooked: vec!["/p".into(), "/p/q".into()],
            user_hooked,
            ..Observed::default()
        };
        for (here, in_git, user, expected) in [
            ("/p", false, false, 0),
            ("/p/q", false, false, 0),
            ("/p/x", false, false, 1),
            ("/p/x", true, false, 0),
            ("/p/x", false, true, 0),
            ("/px", false, false, 0),
        ] {
            assert_eq!(codes(&observed(here, in_git, user)).len(), expected, "{here} {in_git} {user}");
        }
        let found = codes(&observed("/p/q/deep", false, false));
        assert!(found[0].0 == Code::HooksNotReached && found[0].1.contains("in /p/q do not"), "{found:?}");
    }

    #[test]
    fn a_file_that_git_would_commit_is_told() {
        let file = "/p/.claude/settings.local.json";
        let observed = Observed { not_ignored: vec![(file.into(), "/p".into())], ..Observed::default() };
        let found = findings(&observed).remove(0);
        assert_eq!((found.code, found.file.as_deref()), (Code::NotIgnored, Some(Path::new(file))));
        assert!(found.mend.is_some_and(|mend| mend.starts_with("echo /.claude/settings.local.json >> ")));
    }

    #[test]
    fn everywhere_is_no_project_around_another() {
        let set_up = |dirs: &[&str]| {
            let set_up = dirs.iter().map(|dir| (PathBuf::from(dir), true)).collect();
            codes(&Observed { set_up, ..Observed::default() })
                .into_iter()
                .map(|(code, _)| code)
                .collect::<Vec<_>>()
        };
        assert_eq!(set_up(&["/", "/p"]), []);
        assert_eq!(set_up(&["/", "/p", "/p/q"]), [Code::ProjectsNested]);
    }
}
