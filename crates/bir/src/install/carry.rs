//! A plan shown, accepted and carried out; made anew where another program was faster.

use super::ground::{Ground, failed};
use super::text;
use crate::error::CommandError;
use crate::{ask, out, programs, say};
use bir_install::operation::CommitError;
use bir_install::plan::Plan;
use std::time::{Duration, Instant};

/// So often a plan is made where hosts change files while it is accepted.
const TRIES: usize = 5;
/// So long others of us are waited for, whose installs came in between. Each of them is done within a second or so.
const OTHERS: Duration = Duration::from_secs(60);
/// Between two plans where another of us was faster.
const PAUSE: Duration = Duration::from_millis(50);

/// A plan, and what is to be known of it.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// No host was found at all.
    pub(super) no_host: bool,
}

/// How it was asked for.
pub(super) struct Command {
    /// `bir install`.
    pub(super) name: &'static str,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
    /// Asks for the acceptance of a plan.
    pub(super) question: fn(&Plan) -> String,
    /// There is more to do than the plan says, which is said by itself.
    pub(super) more: bool,
}

/// Shows, asks, carries out. `before`: what is done when it was accepted and before the files change. None: there was nothing to do, or
/// it was to be shown alone.
pub(super) fn out(
    ground: &Ground,
    command: &Command,
    make: &dyn Fn() -> Result<Planned, CommandError>,
    before: &dyn Fn(&Plan) -> Result<(), CommandError>,
) -> Result<Option<Plan>, CommandError> {
    let mut accepted: Option<String> = None;
    let (mut tries, mut until) = (0, None);
    loop {
        let Planned { plan, no_host } = make()?;
        if command.dry_run || !plan.changes() {
            show(ground, command, &plan, no_host)?;
            return Ok(None);
        }
        let page = text::page(&plan, &ground.user, None);
        if accepted.as_ref() != Some(&page) {
            if !command.json {
                if accepted.is_some() {
                    say("another program has changed a file meanwhile; this is the plan now:");
                }
                out::print(&text::page(&plan, &ground.user, out::columns()))?;
            }
            accept(ground, command, &plan)?;
            accepted = Some(page);
        }
        ground.home.ensure()?;
        before(&plan)?;
        match ground.commit(&plan.operation) {
            Ok(()) => return Ok(Some(plan)),
            Err(e) if e.is_by_another_bir(&ground.home.dir) => {
                if Instant::now() > *until.get_or_insert_with(|| Instant::now() + OTHERS) {
                    return Err(CommandError::failed(format!(
                        "other `bir install`s or `bir uninstall`s go on changing what is installed; wait for their end, then run `{}` again",
                        command.name
                    )));
                }
                std::thread::sleep(PAUSE);
            }
            Err(CommitError::Changed(_)) => {
                tries += 1;
                if tries >= TRIES {
                    return Err(CommandError::failed(format!(
                        "other programs go on changing the files; end the hosts that are open, then run `{}` again",
                        command.name
                    )));
                }
            }
            Err(e) => return Err(failed(e)),
        }
    }
}

/// What is not carried out.
fn show(ground: &Ground, command: &Command, plan: &Plan, no_host: bool) -> Result<(), CommandError> {
    if command.json {
        let mut object = ground.told(plan, false);
        if command.dry_run {
            object["diff"] = text::json_diff(plan);
        }
        out::json(&object)?;
        return if command.dry_run { Ok(()) } else { complete(plan) };
    }
    let mut page = text::page(plan, &ground.user, out::columns());
    if command.dry_run {
        page.push_str(&text::diff(plan, &ground.user));
    }
    out::print(&page)?;
    if no_host {
        say(nobody());
    } else if command.dry_run && (plan.changes() || command.more) {
        say("nothing was changed");
    } else if plan.missed.is_empty() && !command.more {
        say("nothing to do");
    }
    if command.dry_run { Ok(()) } else { complete(plan) }
}

/// Where hosts were looked for, and which of them lies on PATH and never ran.
fn nobody() -> String {
    let never_ran =
        [("claude", "claude-code"), ("codex", "codex"), ("gemini", "gemini-cli"), ("opencode", "opencode")]
            .into_iter()
            .find(|(program, _)| programs::on_path(program).is_some());
    let hint = match never_ran {
        Some((program, host)) => {
            format!("`{program}` is on PATH and has none yet: start it once, or name it with `--host {host}`")
        }
        None => "start yours once, name it with `--host`, or its file with `--config`".into(),
    };
    format!(
        "no host was found: in your home and in the project is none of the files that hosts keep (~/.claude.json, ~/.codex, ~/.cursor …); {hint}"
    )
}

/// An error where something was asked for by name that is not done, or a file was left alone beside others.
pub(super) fn complete(plan: &Plan) -> Result<(), CommandError> {
    match (plan.missed.is_empty(), plan.partly.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(CommandError::Partly(format!(
            "not all of it could be done: {}; mend that, then run this again",
            plan.partly.join("; ")
        ))),
        (false, _) => {
            let all: Vec<&str> = plan.missed.iter().chain(&plan.partly).map(String::as_str).collect();
            Err(CommandError::failed(all.join("; ")))
        }
    }
}

/// Whether it is to be carried out; an error where it is not.
fn accept(ground: &Ground, command: &Command, plan: &Plan) -> Result<(), CommandError> {
    if command.yes {
        return Ok(());
    }
    if command.json || !ask::can() {
        if command.json {
            out::json(&ground.told(plan, false))?;
        }
        say(format_args!("{}: nothing was changed; `--yes` carries this out", command.name));
        return Err(CommandError::Nothing);
    }
    if ask::yes(&(command.question)(plan))? {
        return Ok(());
    }
    say("nothing was changed");
    Err(CommandError::Nothing)
}
