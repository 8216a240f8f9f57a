//! `bir scenario check` and `bir scenario edit`: a change of a step is tried, and saved where nothing is wrong with it.

use super::args::{ChangeArgs, CheckArgs, EditArgs};
use super::{api, body, find, refusal, report};
use crate::error::CommandError;
use crate::home::Home;
use crate::{out, say};
use bir_model::scenario::{EditAsk, EditReport, Edited};

/// What is asked, read before anything is sent.
fn asked(args: &ChangeArgs, more: &str) -> Result<EditAsk, CommandError> {
    let bodies = [&args.input_logic, &args.output_logic];
    if bodies.iter().all(|body| body.as_deref().is_some_and(body::is_stdin)) {
        return Err(CommandError::usage(
            "both bodies from stdin; only one of `--input-logic` and `--output-logic` can be `-`",
        ));
    }
    if bodies.iter().all(|body| body.is_none()) && more.is_empty() && !args.unfreeze {
        return Err(CommandError::usage(
            "nothing to change; give `--input-logic FILE`, `--output-logic FILE`, or one of the options that `--help` names",
        ));
    }
    let [input_logic, output_logic] = bodies.map(|path| path.as_deref().map(body::read).transpose());
    Ok(EditAsk {
        input_logic: input_logic?,
        output_logic: output_logic?,
        unfreeze: args.unfreeze,
        ..EditAsk::default()
    })
}

/// A force without a reason is refused before anything is sent.
pub(super) fn forced(force: bool, note: Option<&str>) -> Result<(), CommandError> {
    if force && note.is_none_or(|note| note.trim().is_empty()) {
        return Err(CommandError::usage(
            "`--force` needs `--note \"why\"`: whoever looks at the scenario later has to know",
        ));
    }
    Ok(())
}

/// Tries a change.
pub(super) async fn check(home: &Home, args: &CheckArgs) -> Result<(), CommandError> {
    let written = find::written(&args.change.of.id)?;
    let ask = asked(&args.change, "")?;
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let step = args.change.step;
    let answer = api::check(&mut client, id, step, &ask).await;
    let answer =
        api::settled(answer, args.json, |e| refusal::of_scenario(e, id, Some(&format!("step {step}"))))?;
    let checked: EditReport = api::read(&answer)?;
    if args.json {
        api::print(&answer.body)?;
    } else {
        out::print(&report::page(&checked))?;
    }
    if checked.ok || checked.no_change { Ok(()) } else { Err(CommandError::Nothing) }
}

/// Saves a change.
pub(super) async fn edit(home: &Home, args: &EditArgs) -> Result<(), CommandError> {
    let written = find::written(&args.change.of.id)?;
    forced(args.force, args.note.as_deref())?;
    let ask = EditAsk {
        freeze: args.freeze,
        force: args.force,
        note: args.note.clone(),
        expected_revision: args.revision,
        ..asked(&args.change, if args.freeze { "freeze" } else { "" })?
    };
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let step = args.change.step;
    let answer = api::edit(&mut client, id, step, &ask).await;
    let answer =
        api::settled(answer, args.json, |e| refusal::of_scenario(e, id, Some(&format!("step {step}"))))?;
    if args.json {
        return api::print(&answer.body);
    }
    let saved: Edited = api::read(&answer)?;
    let edit = &saved.edit;
    let problems = match saved.report.problems.as_slice() {
        [] => String::new(),
        _ => format!("\nsaved in spite of {}", report::plain(&saved.report)),
    };
    say(format_args!(
        "step {} is changed; the scenario has revision {}\ntake it back with: bir scenario undo {id} --edit {}{problems}",
        edit.step_index, saved.revision, edit.edit_id
    ));
    Ok(())
}
