//! A plan shown, accepted and carried out; made anew where another program was faster.

use super::ground::{Ground, failed};
use super::text;
use crate::error::CommandError;
use crate::{ask, out, say};
use bir_install::operation::CommitError;
use bir_install::plan::Plan;

/// So often a plan is made where files change while it is accepted.
const TRIES: usize = 5;

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
    pub(super) question: &'static str,
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
    for _ in 0..TRIES {
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
            Err(CommitError::Changed(_)) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Err(CommandError::failed(format!(
        "other programs go on changing the files; end the hosts that are open, then run `{}` again",
        command.name
    )))
}

/// What is not carried out.
fn show(ground: &Ground, command: &Command, plan: &Plan, no_host: bool) -> Result<(), CommandError> {
    if command.json {
        let mut object = ground.told(plan, false);
        if command.dry_run {
            object["diff"] = text::json_diff(plan);
        }
        return Ok(out::json(&object)?);
    }
    let mut page = text::page(plan, &ground.user, out::columns());
    if command.dry_run {
        page.push_str(&text::diff(plan, &ground.user));
    }
    out::print(&page)?;
    if no_host {
        say("no host was found; name one with `--host`, or its file with `--config`");
    } else if !plan.changes() {
        say("nothing is to be done");
    }
    Ok(())
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
    if ask::yes(command.question)? {
        return Ok(());
    }
    say("nothing was changed");
    Err(CommandError::Nothing)
}
