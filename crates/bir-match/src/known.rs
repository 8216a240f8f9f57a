//! What matching knows of a scenario: its parameters, and the prompts that it was recorded from with the words that are parameters in them.

use bir_plan::param::{Param, Reading, Role};
use serde_json::Value;
use std::ops::Range;

/// A parameter of a [`Known`] scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Its name, unique in the scenario.
    pub name: String,
    /// What its values are values of: the argument that they go into. Parameters of one sort learn from each other's values.
    pub sort: String,
    /// How its words are read.
    pub reading: Reading,
    /// Whether a task can do without it.
    pub role: Role,
    /// Its value where a prompt does not mention it and may leave it out.
    pub sample: Value,
}

/// Words of a recorded prompt that went into a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Their bytes.
    pub span: Range<usize>,
    /// Which parameter, in [`Known::places`].
    pub place: usize,
}

/// A prompt that a scenario was recorded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// As it was said.
    pub text: String,
    /// The words that are parameters.
    pub slots: Vec<Slot>,
}

/// A scenario, as matching knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Its id.
    pub id: String,
    /// What it calls, in order. Scenarios that call the same learn from each other's words.
    pub family: String,
    /// Its parameters.
    pub places: Vec<Place>,
    /// Its prompts.
    pub examples: Vec<Example>,
}

impl Known {
    /// A scenario with one recorded prompt.
    pub fn new(id: impl Into<String>, family: impl Into<String>, prompt: &str, params: &[Param]) -> Self {
        let place = |p: &Param| Place {
            name: p.name.clone(),
            sort: p.name.clone(),
            reading: p.reading.clone(),
            role: p.role,
            sample: p.sample.clone(),
        };
        let slots = params
            .iter()
            .enumerate()
            .flat_map(|(place, p)| p.spans.iter().map(move |span| Slot { span: span.clone(), place }));
        let mut slots: Vec<Slot> =
            slots.filter(|s| !s.span.is_empty() && prompt.get(s.span.clone()).is_some()).collect();
        slots.sort_by_key(|s| (s.span.start, s.span.end));
        Self {
            id: id.into(),
            family: family.into(),
            places: params.iter().map(place).collect(),
            examples: vec![Example { text: prompt.to_owned(), slots }],
        }
    }
}
