//! Where each value of the results of a run stands.

use crate::leaves::{Step, Tree, is_witness};
use crate::moment::Moment;
use crate::names;
use bir_plan::expr::{At, Path, as_number};
use bir_plan::trace::{Call, Output};
use serde_json::Value;
use std::collections::HashMap;

/// A place in a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub(crate) call: usize,
    pub(crate) path: Path,
    /// Places whose paths differ in indexes of lists alone have the same, see [`Index::words`].
    pub(crate) shape: u32,
}

/// A leaf of a result: the call, and its number in the tree of that result.
#[derive(Debug, Clone, Copy)]
struct Spot {
    call: u32,
    node: u32,
    shape: u32,
}

/// The leaves of all results of a run by their values.
pub(crate) struct Index<'t> {
    by_text: HashMap<&'t str, Vec<u32>>,
    by_folded: HashMap<String, Vec<u32>>,
    by_number: HashMap<u64, Vec<u32>>,
    /// Texts that begin with a date or a time.
    pub(crate) times: Vec<(u32, Moment<'t>)>,
    /// All texts.
    pub(crate) texts: Vec<(u32, &'t str)>,
    spots: Vec<Spot>,
    trees: Vec<Tree<'t>>,
    shapes: Shapes<'t>,
}

/// Paths without the indexes of lists.
#[derive(Default)]
struct Shapes<'t> {
    by_key: HashMap<(u32, &'t str), u32>,
    /// The words of the keys, by number; 0 is the path of nothing.
    words: Vec<Vec<Vec<String>>>,
}

impl<'t> Shapes<'t> {
    fn below(&mut self, shape: u32, key: &'t str) -> u32 {
        if let Some(known) = self.by_key.get(&(shape, key)) {
            return *known;
        }
        let mut words = self.words.get(shape as usize).cloned().unwrap_or_default();
        words.push(names::words(key));
        let Ok(number) = u32::try_from(self.words.len()) else { return shape };
        self.words.push(words);
        self.by_key.insert((shape, key), number);
        number
    }
}

/// Longer texts are not what an argument is copied from.
const LONGEST: usize = 4_096;
/// So many places of one value are looked at.
const MOST_PLACES: usize = 64;
/// So many leaves of a run.
const MOST: usize = 400_000;

impl<'t> Index<'t> {
    pub(crate) fn new(calls: &'t [Call]) -> Self {
        let mut index = Self {
            by_text: HashMap::new(),
            by_folded: HashMap::new(),
            by_number: HashMap::new(),
            times: Vec::new(),
            texts: Vec::new(),
            spots: Vec::new(),
            trees: Vec::new(),
            shapes: Shapes { words: vec![Vec::new()], ..Shapes::default() },
        };
        for (call, made) in calls.iter().enumerate() {
            let tree = match &made.output {
                Output::Value { value, .. } => Tree::new(value),
                _ => Tree::default(),
            };
            let Ok(call) = u32::try_from(call) else { break };
            // The step before a node stands before it.
            let mut shapes: Vec<u32> = Vec::with_capacity(tree.nodes().len());
            for (before, step) in tree.nodes() {
                let above = shapes.get(*before as usize).copied().unwrap_or(0);
                shapes.push(match step {
                    Some(Step::Key(key)) => index.shapes.below(above, key),
                    _ => above,
                });
            }
            for (node, leaf) in tree.leaves() {
                if index.spots.len() >= MOST {
                    break;
                }
                if is_witness(leaf) {
                    index.add(Spot { call, node, shape: shapes[node as usize] }, leaf);
                }
            }
            index.trees.push(tree);
        }
        index
    }

    fn add(&mut self, spot: Spot, leaf: &'t Value) {
        let Ok(at) = u32::try_from(self.spots.len()) else { return };
        if let Value::String(text) = leaf {
            if text.len() > LONGEST {
                return;
            }
            self.texts.push((at, text));
            push(self.by_text.entry(text).or_default(), at);
            if text.len() <= 200 {
                push(self.by_folded.entry(folded(text)).or_default(), at);
            }
            if looks_like_time(text) {
                self.times.push((at, Moment::read(text)));
            }
        }
        if let Some(number) = as_number(leaf) {
            push(self.by_number.entry(number.to_bits()).or_default(), at);
        }
        self.spots.push(spot);
    }

    /// The call whose result it is a leaf of.
    pub(crate) fn call(&self, at: u32) -> usize {
        self.spots[at as usize].call as usize
    }

    pub(crate) fn shape(&self, at: u32) -> u32 {
        self.spots[at as usize].shape
    }

    pub(crate) fn place(&self, at: u32) -> Place {
        let Spot { call, node, shape } = self.spots[at as usize];
        let path = self.trees[call as usize].steps(node).into_iter().map(At::from).collect();
        Place { call: call as usize, path, shape }
    }

    /// How many steps lead to it.
    pub(crate) fn depth(&self, at: u32) -> usize {
        let Spot { call, node, .. } = self.spots[at as usize];
        self.trees[call as usize].depth(node)
    }

    /// Places of equal values: texts as they stand, numbers by their size.
    pub(crate) fn equal(&self, value: &Value) -> Vec<u32> {
        let mut found = Vec::new();
        if let Value::String(text) = value {
            found.extend(self.by_text.get(text.as_str()).into_iter().flatten());
        }
        if let Some(number) = as_number(value) {
            for at in self.by_number.get(&number.to_bits()).into_iter().flatten() {
                if !found.contains(at) {
                    found.push(*at);
                }
            }
        }
        found
    }

    /// Places of texts that differ in case and white space alone.
    pub(crate) fn alike(&self, text: &str) -> &[u32] {
        self.by_folded.get(&folded(text)).map_or(&[], Vec::as_slice)
    }

    /// The words of the keys of a path.
    pub(crate) fn words(&self, shape: u32) -> &[Vec<String>] {
        &self.shapes.words[shape as usize]
    }
}

fn push(list: &mut Vec<u32>, at: u32) {
    if list.len() < MOST_PLACES {
        list.push(at);
    }
}

fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

fn looks_like_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    (bytes.len() >= 10
        && bytes.len() <= 40
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[0].is_ascii_digit())
        || (bytes.len() >= 5 && bytes.len() <= 8 && bytes[2] == b':' && bytes[0].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_by_text_and_by_size() {
        let call = Call {
            server: None,
            tool: "t".into(),
            schema: None,
            annotations: None,
            input: json!({}),
            output: Output::Value {
                value: json!([{"id": "12"}, {"n": 12.0, "t": "Rome "}, {"s": "[redacted:key:0123456789ab]"}]),
                truncated: false,
            },
        };
        let calls = [call];
        let index = Index::new(&calls);
        assert_eq!(index.equal(&json!("12")).len(), 2);
        assert_eq!(index.equal(&json!(12)).len(), 2);
        assert_eq!(index.equal(&json!("[redacted:key:0123456789ab]")).len(), 0);
        assert_eq!(index.alike("rome").len(), 1);
        assert_eq!(index.place(0).path, [At::Index(0), At::Key("id".into())]);
    }
}
