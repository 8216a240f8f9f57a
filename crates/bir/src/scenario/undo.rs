//! `bir scenario undo`: walks back through what was changed by hand.

use super::args::UndoArgs;
use super::edits::in_force;
use super::{api, change, find, refusal, report};
use crate::error::CommandError;
use crate::home::Home;
use crate::runs::find::beginning;
use crate::runs::wire::read;
use crate::say;
use bir_model::scenario::{EditEntry, Edited, UndoAsk};
use bir_model::{EditId, ScenarioId};

/// Which change, looked at before anything is sent.
enum Which {
    Id(EditId),
    /// The digits that its id begins with.
    From(String),
    Newest(Option<u32>),
}

fn which(args: &UndoArgs) -> Result<Which, CommandError> {
    let Some(text) = &args.edit else { return Ok(Which::Newest(args.step)) };
    if let Ok(id) = text.parse() {
        return Ok(Which::Id(id));
    }
    let digits = text.strip_prefix(EditId::PREFIX).unwrap_or(text);
    beginning(digits).map(Which::From).ok_or_else(|| {
        CommandError::usage(format!(
            "`{text}` is no change; give `sedit_…` as `bir scenario edits` shows it, or at least 4 digits of its beginning"
        ))
    })
}

/// Takes back a change.
pub(super) async fn run(home: &Home, args: &UndoArgs) -> Result<(), CommandError> {
    let written = find::written(&args.of.id)?;
    let which = which(args)?;
    change::forced(args.force, args.note.as_deref())?;
    let mut client = home.swept().await?;
    let id = find::scenario(home, &mut client, &written).await?;
    let edit = match which {
        Which::Id(edit) => edit,
        other => {
            let edits = api::edits(&mut client, id).await.map_err(|e| refusal::again(e, id))?;
            let edits = edits.iter().map(read::<EditEntry>).collect::<Result<Vec<_>, _>>()?;
            chosen(&edits, &other, id)?
        }
    };
    let ask = UndoAsk { force: args.force, note: args.note.clone(), expected_revision: None };
    let answer = api::undo(&mut client, id, edit, &ask).await;
    let answer =
        api::settled(answer, args.json, |e| refusal::of_scenario(e, id, Some(&format!("change {edit}"))))?;
    if args.json {
        return api::print(&answer.body);
    }
    let undone: Edited = api::read(&answer)?;
    let problems = match undone.report.problems.as_slice() {
        [] => String::new(),
        _ => format!("\nundone in spite of {}", report::plain(&undone.report)),
    };
    say(format_args!(
        "{edit} of step {} is taken back; the scenario has revision {}\nredo it with: bir scenario undo {id} --edit {}{problems}",
        undone.edit.step_index, undone.revision, undone.edit.edit_id
    ));
    Ok(())
}

/// The change that is meant, of all, newest first.
fn chosen(edits: &[EditEntry], which: &Which, id: ScenarioId) -> Result<EditId, CommandError> {
    match which {
        Which::Id(edit) => Ok(*edit),
        Which::From(digits) => {
            let fits =
                |edit: &&EditEntry| edit.edit_id.uuid().simple().to_string().starts_with(digits.as_str());
            let mut found = edits.iter().filter(fits).map(|edit| edit.edit_id);
            match (found.next(), found.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(CommandError::failed(format!(
                    "no change begins with `{digits}`; `bir scenario edits {id}` shows those that are there"
                ))),
                (Some(one), Some(other)) => Err(CommandError::failed(format!(
                    "several changes begin with `{digits}`: {one}, {other} …; give more digits"
                ))),
            }
        }
        Which::Newest(step) => {
            let active = in_force(edits);
            let fits = |edit: &&EditEntry| {
                edit.takes_back.is_none()
                    && active.contains(&edit.edit_id)
                    && step.is_none_or(|step| edit.step_index == step)
            };
            edits.iter().find(fits).map(|edit| edit.edit_id).ok_or_else(|| {
                let of = step.map(|step| format!(" of step {step}")).unwrap_or_default();
                CommandError::failed(format!(
                    "no change{of} is there to be taken back; `bir scenario edits {id}` shows what was changed"
                ))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::edits::samples::{edit, id};
    use super::*;

    #[test]
    fn undo_walks_back_and_never_takes_an_undo_back_by_itself() {
        let scenario = ScenarioId::new();
        let newest = |edits: &[EditEntry], step| chosen(edits, &Which::Newest(step), scenario);
        let mut edits = vec![edit(2, 1, None), edit(1, 0, None)];
        assert_eq!(newest(&edits, None).unwrap(), id(2));
        assert_eq!(newest(&edits, Some(0)).unwrap(), id(1));
        edits.insert(0, edit(3, 1, Some(2)));
        assert_eq!(newest(&edits, None).unwrap(), id(1), "one further back");
        edits.insert(0, edit(4, 0, Some(1)));
        let none = newest(&edits, None).unwrap_err().to_string();
        assert!(none.contains("no change is there to be taken back"), "{none}");
        // A redo brings the change back into reach.
        edits.insert(0, edit(5, 0, Some(4)));
        assert_eq!(newest(&edits, None).unwrap(), id(1));
        let none = newest(&edits, Some(7)).unwrap_err().to_string();
        assert!(none.contains("no change of step 7"), "{none}");
    }

    #[test]
    fn a_change_is_named_by_the_beginning_of_its_id() {
        let edits = [edit(2, 1, None), edit(1, 0, None)];
        let from = |digits: &str| chosen(&edits, &Which::From(digits.into()), ScenarioId::new());
        assert_eq!(from("01970000000070008000000000000002").unwrap(), id(2));
        assert!(from("0197").unwrap_err().to_string().contains("several changes begin with"));
        assert!(from("ffff").unwrap_err().to_string().contains("no change begins with"));
    }
}
