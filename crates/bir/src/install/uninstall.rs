//! `bir uninstall`.

use super::args::UninstallArgs;
use super::carry::{self, Command, Planned};
use super::ground::Ground;
use super::{git, purge, text};
use crate::error::CommandError;
use crate::{programs, say};
use bir_control_client::projects;
use bir_install::plan::adopt::adopt;
use bir_install::plan::{Outcome, Plan};
use bir_install::undo::{Out, undo, without_replay};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Takes out.
pub(crate) fn run(args: &UninstallArgs) -> Result<(), CommandError> {
    let ground = Ground::find()?;
    let project = ground.project(args.dir.as_deref()).or_else(|e| gone(&ground, args, e))?;
    let is_away = args.dir.is_some() && !project.is_dir();
    let purge = args.purge && ground.home.dir.is_dir();
    let command = Command {
        name: "bir uninstall",
        dry_run: args.dry_run,
        yes: args.yes,
        json: args.json,
        question: if purge { with_purge } else { text::question },
        more: args.purge,
    };
    let done = if args.replay {
        let plan = || {
            let mut plan = without_replay(&ground.ledger()?, &project);
            let what = if plan.changes() {
                "the wish for replay is taken out"
            } else {
                "replay was not asked for here"
            };
            plan.notes.push(what.into());
            Ok(Planned { plan, no_host: false })
        };
        carry::out(&ground, &command, &plan, &|_| Ok(()))?
    } else {
        let programs = (path_of(programs::PROXY), path_of(programs::HOOKS));
        let out = Out {
            project: project.clone(),
            all: args.all || args.purge,
            hosts: args.hosts.clone(),
            forget: is_away,
        };
        let plan = || {
            // What a lost ledger does not know stands in the files all the same.
            let found = ground.survey(&project, &[], &[]);
            let ledger = adopt(&found, &ground.ledger()?, &programs.0, &programs.1);
            let mut plan = undo(&ground.modules, &ledger, &out);
            plan.missed.extend(remaining(&plan, args.purge));
            let others: Vec<_> =
                plan.operation.ledger.projects.keys().filter(|other| **other != project).collect();
            if let Some(other) =
                others.first().filter(|_| !out.all && !plan.operation.ledger.files.is_empty())
            {
                let more =
                    if others.len() > 1 { format!(" and {} more", others.len() - 1) } else { String::new() };
                let text = format!(
                    "{}{more} is still installed, so what counts everywhere stays; `bir uninstall --all` takes out everything",
                    other.display()
                );
                plan.notes.push(text);
            }
            plan.notes.extend(git::of_no_use(&project, &plan));
            if purge {
                plan.notes.extend(away(&plan));
                plan.notes.push(purge::note(&ground, &plan, args.dry_run));
            } else if !plan.take_out.is_empty() {
                plan.notes.push("what was recorded stays; `bir uninstall --purge` deletes it".into());
            }
            Ok(Planned { plan, no_host: false })
        };
        carry::out(&ground, &command, &plan, &|plan| take_out(&ground, plan))?
    };
    if let Some(plan) = &done {
        if args.json {
            crate::out::json(&ground.told(plan, true))?;
        } else {
            say(text::summary(plan));
        }
        left(plan);
        carry::complete(plan)?;
        if let Some(hosts) = text::changed_hosts(plan) {
            say(format_args!("next: restart {hosts} where it is open"));
        }
        if args.all && !args.purge {
            say(
                "hub and control server go on if they run: `bir down` stops them, `bir uninstall --purge` deletes what was recorded as well",
            );
        }
    }
    // Who accepted the plan accepted all that it says.
    let accepted = args.yes || done.is_some();
    if args.purge && !args.dry_run { purge::run(&ground, args, accepted) } else { Ok(()) }
}

/// Where a program of this installation is; an empty path where it is not: entries that start it are dead then, and known by that.
fn path_of(name: &str) -> String {
    programs::lasting(name).ok().and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_default()
}

/// What of ours may be left, a sentence for each file. One that is gone is no hindrance where everything goes.
fn remaining(plan: &Plan, purge: bool) -> Vec<String> {
    let hindrance = |outcome: &Outcome| match outcome {
        Outcome::Left(refusal) if refusal.code == "gone" => !purge,
        other => other.remains(),
    };
    let servers = plan.servers.iter().map(|line| (&line.file, &line.outcome));
    let all = servers.chain(plan.hooks.iter().map(|line| (&line.file, &line.outcome)));
    let files: BTreeSet<_> = all.filter(|(_, outcome)| hindrance(outcome)).map(|(file, _)| file).collect();
    let sentence = |file: &PathBuf| {
        format!(
            "{} may hold something of bir still, and bir goes on knowing how it was; mend what stands above, then run this again",
            file.display()
        )
    };
    files.into_iter().map(sentence).collect()
}

/// Files that are not there, and of which nothing is known any more where everything goes: a sentence for each.
fn away(plan: &Plan) -> Vec<String> {
    let is_gone = |outcome: &Outcome| matches!(outcome, Outcome::Left(refusal) if refusal.code == "gone");
    let servers = plan.servers.iter().filter(|line| is_gone(&line.outcome)).map(|line| &line.file);
    let hooks = plan.hooks.iter().filter(|line| is_gone(&line.outcome)).map(|line| &line.file);
    let files: BTreeSet<_> = servers.chain(hooks).collect();
    let sentence = |file: &PathBuf| {
        format!(
            "{} is not there, and what stands in it is forgotten with the rest; where it comes back, run `bir uninstall` in its project",
            file.display()
        )
    };
    files.into_iter().map(sentence).collect()
}

/// What a person is asked where everything goes.
fn with_purge(plan: &Plan) -> String {
    format!(
        "{}, and delete everything that was recorded on this machine?",
        text::question(plan).trim_end_matches('?')
    )
}

/// The project of a directory that is not there any more, and that something was installed for.
fn gone(ground: &Ground, args: &UninstallArgs, e: CommandError) -> Result<PathBuf, CommandError> {
    let Some(dir) = args.dir.as_deref() else { return Err(e) };
    let path = std::path::absolute(dir)
        .map_err(|e| CommandError::failed(format!("`{}` is no directory: {e}", dir.display())))?;
    let ledger = ground.ledger()?;
    let layers = ledger.files.iter().flat_map(|record| &record.layers);
    let is_known = ledger.projects.contains_key(&path)
        || layers.into_iter().any(|layer| layer.project.as_deref() == Some(&path));
    if is_known {
        Ok(path)
    } else {
        Err(CommandError::failed(format!("{e}, and nothing was installed for it")))
    }
}

/// Before the files change, so that a crash leaves nothing that only this would have taken out.
fn take_out(ground: &Ground, plan: &Plan) -> Result<(), CommandError> {
    let failed = |project: &Path, e| {
        CommandError::failed(format!("cannot take {} out: {e}; nothing was changed", project.display()))
    };
    for project in &plan.take_out {
        projects::remove(&ground.home.dir, project).map_err(|e| failed(project, e))?;
    }
    Ok(())
}

/// What a person has to look at.
fn left(plan: &Plan) {
    let is_left = |outcome: &Outcome| matches!(outcome, Outcome::Left(_)) && !outcome.remains();
    let servers = plan.servers.iter().filter(|line| is_left(&line.outcome)).map(|line| &line.file);
    let mut files: Vec<_> = servers
        .chain(plan.hooks.iter().filter(|line| is_left(&line.outcome)).map(|line| &line.file))
        .collect();
    files.sort();
    files.dedup();
    for file in files {
        say(format_args!("note: not everything in {} is as it was; see the plan above", file.display()));
    }
}
