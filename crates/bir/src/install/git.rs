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
        let line = format!("/{}", inside.to_string_lossy().replace('\\', "/"));
        is_not_ignored(project, inside).then(|| {
            format!(
                "{} is new, and git does not ignore it; add the line `{line}` to .git/info/exclude",
                &line[1..]
            )
        })
    })
    .collect()
}

/// Whether git says that it is not ignored. Without git nobody is told anything.
fn is_not_ignored(project: &Path, inside: &Path) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(project).args(["check-ignore", "--quiet", "--no-index", "--"]).arg(inside);
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    git.status().is_ok_and(|status| status.code() == Some(NOT_IGNORED))
}
