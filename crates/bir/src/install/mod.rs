//! `bir install`, `bir uninstall`, `bir setup`: into the hosts' configurations and out again.
//!
//! ```text
//!  ground (home, ledger, what a crash left) ── survey ── plan ── text ── accepted? ── commit ──▶ projects, trust, what comes next
//!                                                 ▲                                     │
//!                                                 └──── another program was faster ─────┘  (five times at most)
//! ```
//!
//! The plan is on stdout, everything else on stderr. Nothing is changed before the plan was accepted: by `--yes`, or by a person.

mod args;
mod carry;
mod copies;
mod git;
mod ground;
mod purge;
mod setup;
mod text;
mod trust;
mod uninstall;

pub(crate) use args::{InstallArgs, SetupArgs, UninstallArgs};
pub(crate) use ground::{Ground, mended, with_machine};
pub(crate) use setup::run as setup;
pub(crate) use uninstall::run as uninstall;

use crate::error::CommandError;
use crate::say;
use bir_install::plan::Plan;
use carry::{Command, Planned};
use serde_json::json;

/// What this version does with `--replay`.
const REPLAY: &str = "replay is noted for this project; this version does not replay yet";

/// Installs.
pub(crate) fn run(args: &InstallArgs) -> Result<(), CommandError> {
    let ground = Ground::find()?;
    install(&ground, args, "bir install", text::question).map(|_| ())
}

/// Installs; none: there was nothing to do. `name`: the command that a person gave; `asked`: the question by which a plan is accepted.
pub(crate) fn install(
    ground: &Ground,
    args: &InstallArgs,
    name: &'static str,
    asked: fn(&Plan) -> String,
) -> Result<Option<Plan>, CommandError> {
    let project = ground.project(args.dir.as_deref())?;
    if args.dir.is_none() && !args.everywhere && ground.is_bare_home(&project) {
        return Err(CommandError::failed(format!(
            "this is your home, not a project; run it in a project, name one (`{name} DIR`), or record everywhere with `{name} --everywhere`"
        )));
    }
    let wish = args.wish(ground, &project)?;
    let plan = || {
        let ledger = ground.ledger()?;
        let survey = ground.survey(&project, &args.hosts(), &wish.config_files);
        let mut plan = ground.with_machine(|machine| {
            bir_install::plan::plan(&ground.modules, machine, &survey, &wish, &ledger, ground.now())
        });
        // A name that was misspelt is no reason to change anything else.
        if plan.unknown {
            return Err(CommandError::failed(format!(
                "{}; nothing was changed: `{name} --dry-run` without `--server` shows the servers that there are",
                plan.missed.join("; ")
            )));
        }
        plan.notes.extend(copies::notes(&plan, &ground.user));
        plan.notes.extend(git::notes(&project, &plan));
        if plan.trust.is_some() {
            plan.notes.push(trust::note());
            // Nobody is there to be told, so nothing is to be carried out.
            plan.trust = plan.trust.filter(|_| trust::is_possible());
        }
        if args.replay {
            plan.notes.push(REPLAY.into());
        }
        Ok(Planned { plan, no_host: survey.hosts.is_empty() })
    };
    let command =
        Command { name, dry_run: args.dry_run, yes: args.yes, json: args.json, question: asked, more: false };
    let Some(done) = carry::out(ground, &command, &plan, &|_| Ok(()))? else { return Ok(None) };
    after(ground, args, &done)?;
    carry::complete(&done)?;
    Ok(Some(done))
}

/// What is done once the files are as they are to be.
fn after(ground: &Ground, args: &InstallArgs, plan: &Plan) -> Result<(), CommandError> {
    for project in &plan.set_up {
        bir_control_client::projects::add(&ground.home.dir, project).map_err(|e| {
            CommandError::failed(format!(
                "the files are changed, but {} could not be set up: {e}; `bir project add {}` does it",
                project.display(),
                project.display()
            ))
        })?;
    }
    let trusted = plan.trust.as_ref().map(|wanted| trust::give(ground, wanted));
    if args.json {
        let told = trusted.as_ref().map(|given| match given {
            Ok(count) => json!({ "given": true, "hooks": count }),
            Err(why) => json!({ "given": false, "why": why }),
        });
        let mut object = ground.told(plan, true);
        object["trusted"] = told.unwrap_or_default();
        crate::out::json(&object)?;
    }
    match trusted {
        Some(Ok(0)) => say("Codex trusts our hooks already"),
        Some(Ok(count)) => say(format_args!("Codex trusts {count} hooks of ours now")),
        Some(Err(why)) => say(format_args!("warning: {why}")),
        None => {}
    }
    if !args.json {
        say(format_args!("{}; `bir uninstall` puts everything back", text::summary(plan)));
    }
    Ok(())
}
