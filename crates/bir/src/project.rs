//! `bir project`: where bound recording is set up.

use crate::control::report::place;
use crate::control::{Project, Served, look};
use crate::error::CommandError;
use crate::home::{Home, block_on};
use crate::out::table::{Column, Table};
use crate::out::{self, paint, safe};
use crate::{programs, say};
use bir_control_client::{project_of, projects};
use bir_hosts::{Host, hooks};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The project that stands for everything.
pub(crate) const EVERYWHERE: &str = if cfg!(windows) { "C:\\" } else { "/" };

/// A larger file of a host is not looked into, bytes.
const HOST_FILE: u64 = 4 << 20;

#[derive(Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    command: ProjectCommand,
}

#[derive(Subcommand)]
enum ProjectCommand {
    /// Set a project up: what a host with hooks does in it and below it becomes one run.
    Add(WhichArgs),
    /// List the projects that are set up.
    List(ListArgs),
    /// Take a project out. What was recorded stays.
    Rm(WhichArgs),
}

#[derive(Args)]
struct WhichArgs {
    /// The directory [default: the git root of the working directory, else it].
    #[arg(value_name = "DIR", conflicts_with = "everywhere")]
    dir: Option<PathBuf>,
    /// Every directory.
    #[arg(long)]
    everywhere: bool,
}

#[derive(Args)]
struct ListArgs {
    /// Print an array of projects.
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(args: &ProjectArgs) -> Result<(), CommandError> {
    let home = Home::find()?;
    match &args.command {
        ProjectCommand::Add(which) => add(&home, which),
        ProjectCommand::List(args) => list(&home, args),
        ProjectCommand::Rm(which) => remove(&home, which),
    }
}

impl WhichArgs {
    fn dir(&self) -> Result<PathBuf, CommandError> {
        if self.everywhere {
            return Ok(EVERYWHERE.into());
        }
        match &self.dir {
            None => Ok(project_of(&here()?)),
            Some(dir) => std::path::absolute(dir)
                .map_err(|e| CommandError::failed(format!("`{}` is no directory: {e}", dir.display()))),
        }
    }
}

/// The working directory.
pub(crate) fn here() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|e| {
        CommandError::failed(format!(
            "it is not known where you are: {e}; change to a directory that is there"
        ))
    })
}

fn add(home: &Home, which: &WhichArgs) -> Result<(), CommandError> {
    let dir = which.dir()?;
    if !dir.is_dir() {
        return Err(CommandError::failed(format!("there is no directory {}", dir.display())));
    }
    let was =
        projects::list(&home.dir).into_iter().filter_map(|(_, found)| found.project).collect::<Vec<_>>();
    home.ensure()?;
    projects::add(&home.dir, &dir)
        .map_err(|e| CommandError::failed(format!("cannot set {} up: {e}", dir.display())))?;
    let dir = dir.canonicalize().unwrap_or(dir);
    if was.contains(&dir) {
        say(format_args!("{} was set up already", place(&dir)));
    } else {
        say(format_args!(
            "{} is set up: what a host with hooks does there is recorded as one run",
            place(&dir)
        ));
    }
    if let Some(above) = was.iter().find(|above| **above != dir && dir.starts_with(above)) {
        say(format_args!("note: {} is set up too, which covers it", place(above)));
    }
    if bir_home::off::is_off_in(&dir) {
        say("note: recording is switched off there; `bir status` says by what, `bir on` switches it on");
    }
    let up = home.destination()?.is_some()
        && block_on(async { Ok(look(&home.dir).await) })?
            .iter()
            .any(|found| matches!(found.served, Served::By(_)));
    say(next(hooked(), up));
    Ok(())
}

/// What is missing next, as far as it can be seen. `hooked`: a host has our hooks; `up`: hub and control server answer.
fn next(hooked: bool, up: bool) -> String {
    let steps = [
        (!hooked).then_some("`bir hooks claude-code` prints the hooks of Claude Code (`bir hooks --help` names the other hosts)"),
        Some("`bir wrap` puts a server behind the recorder"),
        (!up).then_some("`bir up` starts the hub and the control server"),
    ];
    format!("next: {}", steps.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// Whether the user's file of some host names our hooks.
fn hooked() -> bool {
    let Some(user) = std::env::home_dir() else { return false };
    let files = Host::INSTALLED.into_iter().filter_map(|host| hooks(host, programs::HOOKS));
    files.map(|found| user.join(found.in_home)).any(|file| {
        std::fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() <= HOST_FILE)
            && std::fs::read_to_string(&file).is_ok_and(|text| text.contains(programs::HOOKS))
    })
}

fn remove(home: &Home, which: &WhichArgs) -> Result<(), CommandError> {
    let dir = which.dir()?;
    let failed = |e| CommandError::failed(format!("cannot take {} out: {e}", dir.display()));
    if projects::remove(&home.dir, &dir).map_err(failed)? {
        say(format_args!("{} is no project any more; what was recorded stays", place(&dir)));
        still_covered(home, &dir);
        return Ok(());
    }
    let above =
        projects::nearest(&home.dir, &dir).and_then(|file| projects::Discovery::read(&file).ok()?.project);
    let hint = match above {
        Some(above) => format!("; it lies in {}, which is", place(&above)),
        None => "; `bir project list` shows what is".into(),
    };
    Err(CommandError::failed(format!("{} is not set up{hint}", place(&dir))))
}

/// Says that a project above goes on covering a directory.
fn still_covered(home: &Home, dir: &Path) {
    let above =
        projects::nearest(&home.dir, dir).and_then(|file| projects::Discovery::read(&file).ok()?.project);
    if let Some(above) = above {
        say(format_args!("note: it lies in {}, which is set up and goes on covering it", place(&above)));
    }
}

fn list(home: &Home, args: &ListArgs) -> Result<(), CommandError> {
    let projects = block_on(async { Ok(look(&home.dir).await) })?;
    if args.json {
        let one = |project: &Project| {
            let trouble = match &project.served {
                Served::Silent(why) => Some(why),
                _ => None,
            };
            json!({ "dir": project.dir, "served": matches!(project.served, Served::By(_)), "trouble": trouble,
                "sessions": look::sessions_of(&projects, &project.dir).len() })
        };
        return Ok(out::json(&projects.iter().map(one).collect::<Vec<_>>())?);
    }
    if projects.is_empty() {
        say("no project is set up for bound recording; `bir project add` sets up the one you are in");
        return Ok(());
    }
    Ok(out::print(&table(&projects).render(out::columns()))?)
}

fn table(projects: &[Project]) -> Table {
    let mut table = Table::new(&[
        ("PROJECT", Column::Left),
        ("SESSIONS", Column::Right),
        ("CONTROL SERVER", Column::Flexible),
    ]);
    for project in projects {
        let gone = if project.dir.is_dir() {
            ""
        } else {
            "; the directory is gone, so take it out with `bir project rm`"
        };
        let served = match &project.served {
            Served::By(_) => paint::good("answers"),
            Served::No => paint::dim("none runs"),
            Served::Silent(why) => paint::warn(&format!("does not answer: {}", safe::line(why))),
        };
        table.row(vec![
            place(&project.dir),
            look::sessions_of(projects, &project.dir).len().to_string(),
            format!("{served}{gone}"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::look::samples::served;

    #[test]
    fn only_what_is_missing_is_named() {
        let all = next(false, false);
        assert!(
            all.contains("`bir hooks claude-code`")
                && all.ends_with("`bir up` starts the hub and the control server")
        );
        assert_eq!(next(true, true), "next: `bir wrap` puts a server behind the recorder");
    }

    #[test]
    fn a_project_is_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let told = json!({"sessions": [{"host": "codex", "sessionId": "s", "cwd": format!("{path}/sub")}]});
        let gone = Project { dir: "/no/such\u{1b}".into(), contact: None, served: Served::No };
        let text = table(&[served(path, told), gone]).render(None);
        let plain = console::strip_ansi_codes(&text).into_owned();
        let lines: Vec<_> =
            plain.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[1], format!("{path} 1 answers"));
        assert_eq!(
            lines[2],
            "/no/such␛ 0 none runs; the directory is gone, so take it out with `bir project rm`"
        );
    }
}
