//! Taking back: a function over the history of a scenario.
//!
//! An entry can be taken back when nothing later stands on it: what it made of the step is what the step still is.
//! Taking back is an entry
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

#[cfg(test)]
mod tests {
    use super::*;
    use bir_model::scenario::{Level, Mark};
    use bir_plan::effect::Effect;
    use bir_plan::scenario::{Scenario, Step};
    use bir_plan::template::Template;
    use proptest::prelude::*;
    use serde_json::json;

    fn stored(steps: usize) -> Stored {
        let step = Step {
            server: None,
            tool: "t".into(),
            effect: Effect::Read,
            input: Template::Object(Vec::new()),
            keeps: Vec::new(),
        };
        let own = crate::stored::StoredStep {
            tool_name: "t".into(),
            recorded_input: json!({}),
            recorded_output: json!({}),
            output_truncated: false,
            edits: StepEdits::default(),
            reasoning: None,
            effect_why: None,
            by_trust: false,
            schema: None,
        };
        Stored {
            plan: Scenario { prompt: "p".into(), params: Vec::new(), steps: vec![step; steps], runs: 1 },
            wording: crate::stored::Wording {
                recorded_at: String::new(),
                zone_assumed: false,
                examples: Vec::new(),
            },
            intent: String::new(),
            family: String::new(),
            steps: vec![own; steps],
            level: Level::L0,
            level_reason: String::new(),
        }
    }

    /// A scenario with its history.
    struct Owner {
        stored: Stored,
        history: Vec<EditEntry>,
    }

    impl Owner {
        fn write(&mut self, step: u32, after: StepEdits, takes_back: Option<EditId>) -> EditId {
            let before = std::mem::replace(&mut self.stored.steps[step as usize].edits, after.clone());
            let edit_id = EditId::new();
            let revision = self.history.len() as u64 + 1;
            self.history.push(EditEntry {
                edit_id,
                step_index: step,
                at: 0,
                by: None,
                before,
                after,
                forced: false,
                note: None,
                revision,
                takes_back,
            });
            edit_id
        }

        fn back(&mut self, pick: Pick) -> Result<EditId, Refused> {
            let undo = undo(&self.stored, &self.history, pick)?;
            Ok(self.write(undo.step, undo.after, Some(undo.takes_back)))
        }

        fn input(&self, step: usize) -> Option<&str> {
            self.stored.steps[step].edits.input_logic.as_deref()
        }
    }

    fn input(body: &str) -> StepEdits {
        StepEdits { input_logic: Some(body.into()), ..StepEdits::default() }
    }

    #[test]
    fn undo_walks_back_and_an_undo_of_it_does_it_again() {
        let mut own = Owner { stored: stored(2), history: Vec::new() };
        own.write(0, input("a"), None);
        own.write(1, input("x"), None);
        let second = own.write(0, input("b"), None);
        let undone = own.back(Pick::Newest).unwrap();
        assert_eq!((own.input(0), own.input(1)), (Some("a"), Some("x")));
        // Again: the next one further back, never the entry that took back.
        own.back(Pick::Step(0)).unwrap();
        assert_eq!(own.input(0), None);
        assert!(matches!(own.back(Pick::Step(0)), Err(Refused::NoEdit(_))));
        assert!(
            matches!(own.back(Pick::Edit(second)), Err(Refused::NotUndoable(_))),
            "it is taken back already"
        );
        // What would bring back "b" stands on "a", which is gone.
        assert!(matches!(own.back(Pick::Edit(undone)), Err(Refused::NotUndoable(_))));
        let last = own.history.last().unwrap().edit_id;
        own.back(Pick::Edit(last)).unwrap();
        assert_eq!(own.input(0), Some("a"));
        own.back(Pick::Edit(undone)).unwrap();
        assert_eq!(own.input(0), Some("b"));
        assert!(matches!(own.back(Pick::Edit(EditId::new())), Err(Refused::NoEdit(_))));
    }

    #[test]
    fn parts_that_nobody_has_touched_since_are_taken_back_alone() {
        let mut own = Owner { stored: stored(1), history: Vec::new() };
        let first = own.write(0, input("a"), None);
        own.write(0, StepEdits { mark: Some(Mark::ByHand), ..input("a") }, None);
        own.back(Pick::Edit(first)).unwrap();
        assert_eq!(own.stored.steps[0].edits, StepEdits { mark: Some(Mark::ByHand), ..StepEdits::default() });
    }

    fn edits() -> impl Strategy<Value = (u32, StepEdits)> {
        let body = || prop::option::of("[a-c]");
        let mark = prop::option::of(Just(Mark::ByHand));
        (0..3_u32, body(), body(), mark).prop_map(|(step, input_logic, output_logic, mark)| {
            (step, StepEdits { input_logic, output_logic, mark })
        })
    }

    proptest! {
        #[test]
        fn walking_back_ends_where_it_began(all in prop::collection::vec(edits(), 0..30)) {
            let mut own = Owner { stored: stored(3), history: Vec::new() };
            for (step, after) in all {
                if own.stored.steps[step as usize].edits != after {
                    own.write(step, after, None);
                }
            }
            let (end, written) = (own.stored.clone(), own.history.len());
            for _ in 0..written {
                own.back(Pick::Newest).unwrap();
            }
            prop_assert!(matches!(own.back(Pick::Newest), Err(Refused::NoEdit(_))));
            prop_assert_eq!(&own.stored, &stored(3));
            // And taking back what took back, the last first, does it all again.
            let backs: Vec<EditId> = own.history[written..].iter().map(|entry| entry.edit_id).collect();
            for id in backs.into_iter().rev() {
                own.back(Pick::Edit(id)).unwrap();
            }
            prop_assert_eq!(&own.stored, &end);
        }
    }
}
