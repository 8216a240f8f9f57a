//! The leaves of values, and which of them may be witnesses: what redaction or truncation has put in a value's place says nothing.

use bir_plan::expr::{At, Path};
use serde_json::Value;

/// So deep.
const DEEPEST: usize = 24;
/// So many of one value; what is behind them is not looked at.
pub(crate) const MOST: usize = 60_000;

/// One step on the way to a leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

impl From<Step<'_>> for At {
    fn from(step: Step<'_>) -> Self {
        match step {
            Step::Key(key) => Self::Key(key.to_owned()),
            Step::Index(index) => Self::Index(index),
        }
    }
}

/// The leaves of a value with the ways to them, which share what they have in common. Empty lists and objects are leaves.
#[derive(Default)]
pub(crate) struct Tree<'v> {
    /// Each step with the one before it; 0 is the value itself.
    nodes: Vec<(u32, Option<Step<'v>>)>,
    leaves: Vec<(u32, &'v Value)>,
}

impl<'v> Tree<'v> {
    pub(crate) fn new(value: &'v Value) -> Self {
        let mut tree = Self { nodes: vec![(0, None)], leaves: Vec::new() };
        tree.walk(value, 0, 0);
        tree
    }

    fn walk(&mut self, value: &'v Value, node: u32, depth: usize) {
        if self.leaves.len() >= MOST || depth > DEEPEST {
            return;
        }
        match value {
            Value::Object(members) if !members.is_empty() => {
                if is_cut(value) {
                    return;
                }
                for (key, member) in members {
                    let below = self.below(node, Step::Key(key));
                    self.walk(member, below, depth + 1);
                }
            }
            Value::Array(elements) if !elements.is_empty() => {
                for (n, element) in elements.iter().enumerate() {
                    let below = self.below(node, Step::Index(n));
                    self.walk(element, below, depth + 1);
                }
            }
            leaf => self.leaves.push((node, leaf)),
        }
    }

    fn below(&mut self, node: u32, step: Step<'v>) -> u32 {
        // A value has fewer nodes than fit: each leads to at most one leaf more, and those are bounded.
        let number = u32::try_from(self.nodes.len()).unwrap_or(0);
        self.nodes.push((node, Some(step)));
        number
    }

    /// Its leaves, with their numbers.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (u32, &'v Value)> {
        self.leaves.iter().copied()
    }

    /// Each step with the number of the one before it.
    pub(crate) fn nodes(&self) -> &[(u32, Option<Step<'v>>)] {
        &self.nodes
    }

    /// How many steps lead to a leaf.
    pub(crate) fn depth(&self, leaf: u32) -> usize {
        std::iter::successors(self.nodes.get(leaf as usize), |(before, _)| self.nodes.get(*before as usize))
            .take_while(|(_, step)| step.is_some())
            .count()
    }

    /// The way to a leaf.
    pub(crate) fn steps(&self, leaf: u32) -> Vec<Step<'v>> {
        let mut steps = Vec::new();
        let mut at = leaf;
        while let Some((before, Some(step))) = self.nodes.get(at as usize) {
            steps.push(*step);
            at = *before;
        }
        steps.reverse();
        steps
    }
}

/// The leaves of a value, each with the way to it.
pub(crate) fn leaves(value: &Value) -> Vec<(Path, &Value)> {
    let tree = Tree::new(value);
    tree.leaves().map(|(node, leaf)| (tree.steps(node).into_iter().map(At::from).collect(), leaf)).collect()
}

/// What stands for something that was cut off: `{"truncated":true,"originalBytes":…}`.
pub(crate) fn is_cut(value: &Value) -> bool {
    value.get("truncated") == Some(&Value::Bool(true)) && value.get("originalBytes").is_some()
}

/// Whether redaction has been in a text.
pub(crate) fn is_redacted(text: &str) -> bool {
    text.contains("[redacted:") || text.contains("[REDACTED")
}

/// Whether a leaf may explain anything.
pub(crate) fn is_witness(leaf: &Value) -> bool {
    match leaf {
        Value::String(text) => !text.is_empty() && !is_redacted(text),
        Value::Number(_) => true,
        _ => false,
    }
}

/// What a path leads to.
pub(crate) fn at<'v>(value: &'v Value, path: &[At]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        At::Key(key) => value.get(key),
        At::Index(index) => value.get(*index),
    })
}

/// Whether two values are the same; numbers may differ in what printing a double and reading it again may lose.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a == b || (a - b).abs() <= 2.0 * f64::EPSILON * a.abs().max(b.abs()),
            _ => a == b,
        },
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_cut_off_or_redacted_is_no_witness() {
        let value = json!({"a": [1, {"truncated": true, "originalBytes": 9, "head": "secret"}], "b": "[redacted:key:0123456789ab]", "c": {}});
        let found: Vec<_> = leaves(&value);
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().filter(|(_, leaf)| is_witness(leaf)).count(), 1);
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        assert!(leaves(&deep).is_empty());
        let wide = Value::from(vec![0; MOST + 5]);
        assert_eq!(leaves(&wide).len(), MOST);
    }
}
