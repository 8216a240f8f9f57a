//! Where Claude Code keeps its files.

use super::super::{ConfigFile, Machine, Role, Scope, System};
use bir_model::Format;
use std::path::{Path, PathBuf};

/// Its own file, with the servers of the user and of each project.
pub(super) fn main(machine: &Machine<'_>) -> PathBuf {
    machine.dir(CONFIG_DIR).unwrap_or_else(|| machine.home.clone()).join(".claude.json")
}

/// The variable that moves everything of the user's.
const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// The directory of the user's settings.
pub(super) fn folder(machine: &Machine<'_>) -> PathBuf {
    machine.dir(CONFIG_DIR).unwrap_or_else(|| machine.home.join(".claude"))
}

/// The directories of the machine's operator. Windows has had two.
fn managed(machine: &Machine<'_>) -> Vec<PathBuf> {
    match machine.system {
        System::Linux => vec!["/etc/claude-code".into()],
        System::MacOs => vec!["/Library/Application Support/ClaudeCode".into()],
        System::Windows => {
            let of = |variable: &str, else_in: &str| {
                machine.dir(variable).unwrap_or_else(|| else_in.into()).join("ClaudeCode")
            };
            vec![of("ProgramFiles", r"C:\Program Files"), of("ProgramData", r"C:\ProgramData")]
        }
    }
}

/// The operator's servers.
pub(super) fn managed_servers(machine: &Machine<'_>) -> Vec<PathBuf> {
    managed(machine).into_iter().map(|dir| dir.join("managed-mcp.json")).collect()
}

/// The operator's settings.
pub(super) fn managed_settings(machine: &Machine<'_>) -> Vec<PathBuf> {
    managed(machine).into_iter().map(|dir| dir.join("managed-settings.json")).collect()
}

/// The servers of the project, those first that count more: the nearest.
pub(super) fn project_servers(project: &Path) -> impl Iterator<Item = PathBuf> {
    project.ancestors().map(|dir| dir.join(".mcp.json"))
}

/// The user's settings for every project.
pub(super) fn user_settings(machine: &Machine<'_>) -> ConfigFile {
    file(folder(machine).join("settings.json"), Scope::User, Role::Hooks)
}

/// The user's settings for one project.
pub(super) fn local_settings(project: &Path) -> ConfigFile {
    file(project.join(".claude/settings.local.json"), Scope::Local, Role::Hooks)
}

/// Everybody's settings for one project.
pub(super) fn project_settings(project: &Path) -> ConfigFile {
    file(project.join(".claude/settings.json"), Scope::Project, Role::Read)
}

/// The settings that are no operator's.
pub(super) fn settings(machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
    let all = [local_settings(project), project_settings(project), user_settings(machine)];
    let mut settings: Vec<ConfigFile> = Vec::with_capacity(all.len());
    for file in all {
        // In the home directory, the settings of the project are those of the user.
        match settings.iter_mut().find(|known| known.path == file.path) {
            Some(known) => *known = file,
            None => settings.push(file),
        }
    }
    settings
}

/// Every file.
pub(super) fn all(machine: &Machine<'_>, project: &Path) -> Vec<ConfigFile> {
    let read = |path| file(path, Scope::Managed, Role::Read);
    let mut all: Vec<ConfigFile> = managed_servers(machine).into_iter().map(read).collect();
    all.extend(managed_settings(machine).into_iter().map(read));
    all.push(file(main(machine), Scope::User, Role::Servers));
    all.extend(project_servers(project).map(|path| file(path, Scope::Project, Role::Servers)));
    all.extend(settings(machine, project));
    all
}

fn file(path: PathBuf, scope: Scope, role: Role) -> ConfigFile {
    ConfigFile { path, scope, format: Format::Json, role }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{files, on};
    use super::super::ClaudeCode;
    use super::*;

    #[test]
    fn its_files() {
        let common = [
            "user servers /h/.claude.json",
            "project servers /p/.mcp.json",
            "project servers /.mcp.json",
            "local hooks /p/.claude/settings.local.json",
            "project read /p/.claude/settings.json",
            "user hooks /h/.claude/settings.json",
        ];
        let linux = [
            "managed read /etc/claude-code/managed-mcp.json",
            "managed read /etc/claude-code/managed-settings.json",
        ];
        assert_eq!(files(&ClaudeCode, System::Linux, &[]), [&linux[..], &common].concat());
        let mac = files(&ClaudeCode, System::MacOs, &[]);
        assert_eq!(mac[0], "managed read /Library/Application Support/ClaudeCode/managed-mcp.json");
        let windows = files(&ClaudeCode, System::Windows, &[("ProgramData", "D:/Data")]);
        assert_eq!(windows[0], "managed read C:/Program Files/ClaudeCode/managed-mcp.json");
        assert_eq!(windows[3], "managed read D:/Data/ClaudeCode/managed-settings.json");
        let moved = files(&ClaudeCode, System::Linux, &[("CLAUDE_CONFIG_DIR", "/d")]);
        assert_eq!(
            (moved[2].as_str(), moved[7].as_str()),
            ("user servers /d/.claude.json", "user hooks /d/settings.json")
        );
    }

    #[test]
    fn in_the_home_directory_the_settings_are_the_users() {
        let all = on(System::Linux, &[], |machine| settings(machine, Path::new("/h")));
        let shown: Vec<_> =
            all.iter().map(|file| (file.scope, file.role, file.path.to_str().unwrap())).collect();
        assert_eq!(
            shown,
            [
                (Scope::Local, Role::Hooks, "/h/.claude/settings.local.json"),
                (Scope::User, Role::Hooks, "/h/.claude/settings.json")
            ]
        );
    }
}
