//! Where each value of the results of a run stands.

use crate::leaves::{is_witness, leaves};
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
}

/// The leaves of all results of a run by their values.
pub(crate) struct Index<'t> {
    by_text: HashMap<String, Vec<u32>>,
    by_folded: HashMap<String, Vec<u32>>,
    by_number: HashMap<u64, Vec<u32>>,
    /// Texts that begin with a date or a time.
    pub(crate) times: Vec<(u32, &'t str)>,
    /// All texts.
    pub(crate) texts: Vec<(u32, &'t str)>,
    places: Vec<Place>,
    key_words: HashMap<String, Vec<String>>,
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
            places: Vec::new(),
            key_words: HashMap::new(),
        };
        for (call, made) in calls.iter().enumerate() {
            let Output::Value { value, .. } = &made.output else { continue };
            for (path, leaf) in leaves(value) {
                if index.places.len() >= MOST {
                    return index;
                }
                if is_witness(leaf) {
                    index.add(Place { call, path }, leaf);
                }
            }
        }
        index
    }

    fn add(&mut self, place: Place, leaf: &'t Value) {
        let Ok(at) = u32::try_from(self.places.len()) else { return };
        for step in &place.path {
            if let At::Key(key) = step
                && !self.key_words.contains_key(key)
            {
                self.key_words.insert(key.clone(), names::words(key));
            }
        }
        if let Value::String(text) = leaf {
            if text.len() > LONGEST {
                return;
            }
            self.texts.push((at, text));
            push(self.by_text.entry(text.clone()).or_default(), at);
            if text.len() <= 200 {
                push(self.by_folded.entry(folded(text)).or_default(), at);
            }
            if looks_like_time(text) {
                self.times.push((at, text));
            }
        }
        if let Some(number) = as_number(leaf) {
            push(self.by_number.entry(number.to_bits()).or_default(), at);
        }
        self.places.push(place);
    }

    pub(crate) fn place(&self, at: u32) -> &Place {
        &self.places[at as usize]
    }

    /// Places of equal values: texts as they stand, numbers by their size.
    pub(crate) fn equal(&self, value: &Value) -> Vec<u32> {
        let mut found = Vec::new();
        if let Value::String(text) = value {
            found.extend(self.by_text.get(text).into_iter().flatten());
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
    pub(crate) fn words(&self, path: &[At]) -> Vec<Vec<String>> {
        let keys = path.iter().filter_map(|step| match step {
            At::Key(key) => self.key_words.get(key).cloned(),
            At::Index(_) => None,
        });
        keys.collect()
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
