//! What a wrapped copy takes with it into another file: environments and headers, which may hold credentials.

use super::text::short;
use crate::out::safe;
use bir_install::plan::{Outcome, Plan};
use std::path::Path;

/// A note for each file into which such members are copied. `user`: the person's home.
pub(super) fn notes(plan: &Plan, user: &Path) -> Vec<String> {
    let mut files: Vec<(&Path, Vec<String>)> = Vec::new();
    for line in &plan.servers {
        let is_made = matches!(line.outcome, Outcome::Wrapped | Outcome::Renewed);
        let Some(copied) = line.copied.as_ref().filter(|copied| is_made && !copied.members.is_empty()) else {
            continue;
        };
        // Within one file nothing new comes to stand anywhere.
        if copied.file == line.file {
            continue;
        }
        let what = format!(
            "the {} of `{}` ({})",
            copied.members.iter().map(|name| safe::line(name)).collect::<Vec<_>>().join(" and "),
            safe::line(&line.server),
            short(&copied.file, user)
        );
        match files.iter_mut().find(|(file, _)| *file == line.file) {
            Some((_, all)) => all.push(what),
            None => files.push((&line.file, vec![what])),
        }
    }
    let note = |(file, all): (&Path, Vec<String>)| {
        let shown = short(file, user);
        let open = if is_open(file) {
            format!(", which others on this machine can read: `chmod 600 {shown}` keeps them out")
        } else {
            String::new()
        };
        format!("copies {} into {shown}{open}", all.join(", "))
    };
    files.into_iter().map(note).collect()
}

/// Whether others than its owner may read a file.
#[cfg(unix)]
fn is_open(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    /// For the group, for others: reading.
    const OTHERS_READ: u32 = 0o044;
    file.metadata().is_ok_and(|found| found.permissions().mode() & OTHERS_READ != 0)
}

/// Rights are not looked at here.
#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}
