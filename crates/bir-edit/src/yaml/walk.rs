//! The way down to a place, and what makes it impassable.

use bir_model::{Place, Step};
use granit_parser::ScalarStyle;
use serde_json::Value;

use super::tree::{Id, Kind, Member, Tree};
use super::write;
use crate::EditError;

/// Where a node stands in what holds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) node: Id,
    /// Behind its `:` or `-`; of the document's node, where it begins.
    pub(super) behind: usize,
    pub(super) holder: Holder,
}

/// What holds a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    Document,
    /// A mapping in a block, whose member begins here.
    Member(usize),
    /// A sequence in a block, whose dash is here.
    Item(usize),
    /// Brackets; whether a `:` is missing before the node.
    Flow {
        bare: bool,
    },
}

/// The nodes from the document's down to a place, as far as they are there.
#[derive(Debug)]
pub(super) struct Walk<'p> {
    pub(super) slots: Vec<Slot>,
    /// The steps that lead on to what is not there.
    pub(super) rest: &'p [Step],
    /// The step to the last slot, as an index of its holder's members or items.
    pub(super) index: usize,
}

impl Walk<'_> {
    /// What stands at the place itself.
    pub(super) fn target(&self) -> Option<&Slot> {
        self.slots.last().filter(|_| self.rest.is_empty())
    }
}

/// Goes down to a place.
///
/// # Errors
///
/// [`EditError::Place`] where the way leads through what stands in several places, or what cannot be told apart.
pub(super) fn walk<'p>(tree: &Tree, value: &Value, place: &'p Place) -> Result<Walk<'p>, EditError> {
    let mut walk = Walk { slots: Vec::new(), rest: &place.0, index: 0 };
    let Some(root) = tree.root else { return Ok(walk) };
    let mut slot = Slot { node: root, behind: tree.node(root)?.start, holder: Holder::Document };
    walk.slots.push(slot);
    let mut value = Some(value);
    while let Some((step, rest)) = walk.rest.split_first() {
        let node = tree.node(slot.node)?;
        if let Kind::Alias = node.kind {
            return Err(refused("an alias (`*`) stands on the way to the place"));
        }
        passable(tree, slot.node)?;
        let found = match (&node.kind, step) {
            (Kind::Mapping { flow, members }, Step::Key(key)) => {
                let found = member(tree, members, key)?;
                let value = value.and_then(|value| value.get(key));
                if found.is_none() && value.is_some() {
                    return Err(refused("a merge key (`<<`) supplies the member"));
                }
                found.map(|(index, member)| {
                    let holder = match flow {
                        true => Holder::Flow { bare: !member.colon },
                        false => Holder::Member(member.start),
                    };
                    (index, Slot { node: member.node, behind: member.behind, holder })
                })
            }
            (Kind::Sequence { flow, items }, Step::Index(index)) => items.get(*index).map(|item| {
                let (behind, holder) = match flow {
                    true => (item.dash, Holder::Flow { bare: false }),
                    false => (item.dash + 1, Holder::Item(item.dash)),
                };
                (*index, Slot { node: item.node, behind, holder })
            }),
            _ => None,
        };
        let Some((index, next)) = found else { break };
        value = value.and_then(|value| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.get(index),
        });
        slot = next;
        walk.slots.push(slot);
        walk.index = index;
        walk.rest = rest;
    }
    Ok(walk)
}

/// Refuses to change what aliases stand for, or what has a tag of its own.
fn passable(tree: &Tree, id: Id) -> Result<(), EditError> {
    if tree.is_shared(id, false) {
        return Err(refused("an alias elsewhere stands for what is to be changed"));
    }
    if tree.node(id)?.tagged {
        return Err(refused("a tag (`!`) says how what is to be changed is read"));
    }
    Ok(())
}

/// Refuses to replace or take away what aliases elsewhere stand for.
pub(super) fn refuse_below(tree: &Tree, id: Id) -> Result<(), EditError> {
    if tree.is_shared(id, true) {
        return Err(refused("an alias elsewhere stands for what is to be changed"));
    }
    passable(tree, id)
}

fn member<'t>(
    tree: &Tree,
    members: &'t [Member],
    name: &str,
) -> Result<Option<(usize, &'t Member)>, EditError> {
    let mut found = None;
    for (index, member) in members.iter().enumerate() {
        let Kind::Scalar { text, style } = &tree.node(member.key)?.kind else { continue };
        if text != name || (*style == ScalarStyle::Plain && !write::reads_as_string(text)) {
            continue;
        }
        if member.explicit {
            return Err(refused("a key on the way to the place is written with `?`"));
        }
        if found.replace((index, member)).is_some() {
            return Err(EditError::Place(format!("the key `{name}` is there twice; remove one of the two")));
        }
    }
    Ok(found)
}

pub(super) fn refused(why: &str) -> EditError {
    EditError::Place(why.to_owned())
}
