//! The projects that are set up, and what git says of our files.

use bir_control_client::projects;
use bir_hosts::Host;
use bir_hosts::config::Scope;
use bir_install::doctor::hooks::Hook;
use bir_install::doctor::projects::Observed;
use bir_install::ledger::Ledger;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's own file of Claude Code.
const LOCAL_SETTINGS: &str = ".claude/settings.local.json";

/// The nearest project that is set up and covers a directory.
pub(super) fn covering(state_dir: &Path, here: &Path) -> Option<PathBuf> {
    let all = projects::list(state_dir).into_iter().filter_map(|(_, said)| said.project);
    let above = all.filter(|project| here.starts_with(project));
    above.max_by_key(|project| project.components().count())
}

pub(super) fn look(state_dir: &Path, here: &Path, ledger: &Ledger, hooks: &[Hook]) -> Observed {
    let set_up = projects::list(state_dir).into_iter().filter_map(|(_, said)| said.project);
    let ours = |hook: &&Hook| hook.host == Host::ClaudeCode.as_str() && hook.is_ours();
    let replay = ledger.projects.iter().filter(|(_, project)| project.replay).map(|(dir, _)| dir.clone());
    Observed {
        here: here.to_path_buf(),
        in_git: here.ancestors().any(|dir| dir.join(".git").symlink_metadata().is_ok()),
        set_up: set_up.map(|dir| (dir.clone(), dir.is_dir())).collect(),
        replay: replay.collect(),
        hooked: hooked(ledger),
        user_hooked: hooks.iter().filter(ours).any(|hook| matches!(hook.scope, Scope::User | Scope::Managed)),
        not_ignored: not_ignored(hooks),
    }
}

/// Projects in whose own file of Claude Code we have put hooks, which are there still.
fn hooked(ledger: &Ledger) -> Vec<PathBuf> {
    let files = ledger.files.iter().filter(|file| file.layers.iter().any(|layer| !layer.hooks.is_empty()));
    let files = files.map(|file| file.path.as_path()).filter(|path| path.ends_with(LOCAL_SETTINGS));
    let dirs = files.filter(|path| path.is_file()).filter_map(|path| path.ancestors().nth(2));
    dirs.map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf())).collect()
}

/// Files with our hooks that are one person's and one project's, and that git would commit; each with its work tree.
fn not_ignored(hooks: &[Hook]) -> Vec<(PathBuf, PathBuf)> {
    let mine = hooks.iter().filter(|hook| hook.is_ours() && hook.scope == Scope::Local);
    let mut files: Vec<PathBuf> = mine.map(|hook| hook.file.clone()).collect();
    files.sort();
    files.dedup();
    files.retain(|file| is_ignored(file) == Some(false));
    let tree = |file: &PathBuf| {
        let tree = file.ancestors().skip(1).find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
        Some(tree.to_path_buf())
    };
    files.into_iter().filter_map(|file| Some((file.clone(), tree(&file)?))).collect()
}

/// Whether git ignores a file. None: it lies in no work tree, or there is no git to ask.
fn is_ignored(file: &Path) -> Option<bool> {
    let dir = file.parent()?;
    let mut git = Command::new("git");
    git.arg("-C").arg(dir).args(["check-ignore", "--quiet", "--"]).arg(file);
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match git.status().ok()?.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}
