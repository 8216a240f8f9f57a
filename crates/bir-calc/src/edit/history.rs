//! Taking back: a function over the history of a scenario.
//!
//! An entry can be taken back when nothing later stands on it: what it made of the step is what the step still is. Taking back is an entry
//! of its own, so that it can be taken back too, which is doing it again.

use super::Refused;
use crate::stored::Stored;
use bir_model::EditId;
use bir_model::scenario::{EditEntry, StepEdits};
use std::collections::HashSet;

/// Which edit is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The newest that can be; never one that takes back.
    Newest,
    /// The newest of a step, from 0.
    Step(u32),
    /// This one, also where it takes back another.
    Edit(EditId),
}

/// What taking back makes of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// The edit that is taken back.
    pub takes_back: EditId,
    /// Its step, from 0.
    pub step: u32,
    /// What is changed by hand in the step now.
    pub before: StepEdits,
    /// And then.
    pub after: StepEdits,
}

/// What is taken back. The entries may be in any order; their revisions have one.
///
/// # Errors
///
/// [`Refused::NoEdit`] and [`Refused::NotUndoable`].
pub fn undo(stored: &Stored, history: &[EditEntry], pick: Pick) -> Result<Undo, Refused> {
    let mut newest: Vec<&EditEntry> = history.iter().collect();
    newest.sort_by_key(|entry| std::cmp::Reverse(entry.revision));
    let undone = taken_back(&newest);
    let chosen = match pick {
        Pick::Edit(id) => {
            let entry = newest.iter().find(|entry| entry.edit_id == id);
            let entry =
                entry.ok_or_else(|| Refused::NoEdit(format!("there is no edit {id} of this scenario")))?;
            if undone.contains(&id) {
                return Err(Refused::NotUndoable(format!("{id} is taken back already")));
            }
            return back(stored, entry).ok_or_else(|| stands_on(&newest, entry));
        }
        Pick::Newest => newest.iter().find_map(|entry| candidate(stored, entry, &undone)),
        Pick::Step(step) => newest
            .iter()
            .filter(|entry| entry.step_index == step)
            .find_map(|entry| candidate(stored, entry, &undone)),
    };
    chosen.ok_or_else(|| {
        Refused::NoEdit(match pick {
            Pick::Step(step) => format!("step {step} has no edit that can be taken back"),
            _ => "there is no edit that can be taken back".to_owned(),
        })
    })
}

fn candidate(stored: &Stored, entry: &EditEntry, undone: &HashSet<EditId>) -> Option<Undo> {
    if entry.takes_back.is_some() || undone.contains(&entry.edit_id) { None } else { back(stored, entry) }
}

/// The entries that are taken back, by one that is not.
fn taken_back(newest: &[&EditEntry]) -> HashSet<EditId> {
    let mut undone = HashSet::new();
    for entry in newest {
        if let Some(of) = entry.takes_back.filter(|_| !undone.contains(&entry.edit_id)) {
            undone.insert(of);
        }
    }
    undone
}

/// The step without what an entry did to it; none: the step is no longer what that made of it.
fn back(stored: &Stored, entry: &EditEntry) -> Option<Undo> {
    let now = &stored.steps.get(entry.step_index as usize)?.edits;
    let (was, made) = (&entry.before, &entry.after);
    Some(Undo {
        takes_back: entry.edit_id,
        step: entry.step_index,
        before: now.clone(),
        after: StepEdits {
            input_logic: part(&was.input_logic, &made.input_logic, &now.input_logic)?,
            output_logic: part(&was.output_logic, &made.output_logic, &now.output_logic)?,
            mark: part(&was.mark, &made.mark, &now.mark)?,
        },
    })
}

/// What a part becomes: what it was, if the entry changed it and nobody has since; as it is, if the entry did not.
fn part<T: PartialEq + Clone>(was: &T, made: &T, now: &T) -> Option<T> {
    if was == made { Some(now.clone()) } else { (made == now).then(|| was.clone()) }
}

fn stands_on(newest: &[&EditEntry], entry: &EditEntry) -> Refused {
    let later =
        newest.iter().filter(|other| other.step_index == entry.step_index && other.revision > entry.revision);
    let ids: Vec<String> = later.map(|other| other.edit_id.to_string()).take(5).collect();
    Refused::NotUndoable(format!(
        "step {} was changed again after it; take back first: {}",
        entry.step_index,
        if ids.is_empty() { "what is newer".to_owned() } else { ids.join(", ") }
    ))
}
