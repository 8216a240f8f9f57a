//! A file of one person's that would be new in a git work tree, where git would offer it to everybody.

use bir_install::plan::Plan;
use std::path::Path;
use std::process::{Command, Stdio};

/// Exit status of `git check-ignore` for what is not ignored.
const NOT_IGNORED: i32 = 1;

/// A note for each new file in the project that git does not ignore.
pub(super) fn notes(project: &Path, plan: &Plan) -> Vec<String> {
    if project.join(".git").symlink_metadata().is_err() {
        return Vec::new();
    }
    let new =
        plan.operation.changes.iter().filter(|change| change.before.is_none() && change.after.is_some());
    new.filter_map(|change| {
        let inside = change.path.strip_prefix(project).ok()?;
        if !is_not_ignored(project, inside) {
            return None;
        }
        // The same line as `bir doctor` names.
        let name = inside.file_name()?.to_string_lossy().into_owned();
        let inside = inside.to_string_lossy().replace('\\', "/");
        Some(format!(
            "{inside} is new, and git does not ignore it: echo '**/{name}' >> \"$(git rev-parse --git-common-dir)/info/exclude\""
        ))
    })
    .collect()
}

/// Of files that go: the lines that keep git from offering them, and are of no use any more.
pub(super) fn of_no_use(project: &Path, plan: &Plan) -> Option<String> {
    let exclude = std::fs::read_to_string(project.join(".git/info/exclude")).ok()?;
    let gone = plan.operation.changes.iter().filter(|change| change.after.is_none());
    let names = gone.filter_map(|change| {
        change.path.strip_prefix(project).ok()?;
        Some(format!("**/{}", change.path.file_name()?.to_string_lossy()))
    });
    let left: Vec<String> = names.filter(|name| exclude.lines().any(|line| line == name)).collect();
    (!left.is_empty()).then(|| {
        format!("`{}` in .git/info/exclude is of no use any more; take it out by hand", left.join("`, `"))
    })
}

/// Whether git says that it is not ignored. Without git nobody is told anything.
fn is_not_ignored(project: &Path, inside: &Path) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(project).args(["check-ignore", "--quiet", "--no-index", "--"]).arg(inside);
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    git.status().is_ok_and(|status| status.code() == Some(NOT_IGNORED))
}
