//! The values of a scenario's parameters for another prompt: words of that prompt or their normal forms, never a guess.
//!
//! A target that the prompt does not say is missing, and nothing runs. A setting that it does not mention is what it was in the
//! recording; one that it mentions and that cannot be read is missing like a target.

use crate::stored::Stored;
use bir_entity::{Clock, Vocabulary};
use bir_match::decide::{Decision, Evidence, READS};
use bir_match::{Answer, Matcher, Veto};
use bir_model::Usd;
use bir_model::scenario::Derived;
use bir_plan::param::{Param, Reading, Role};
use serde_json::{Map, Value};

/// A prompt of more bytes is not read.
const LONGEST: usize = 100 * 1024;

/// The values for a prompt.
#[must_use]
pub fn derive(stored: &Stored, prompt: &str, clock: &Clock) -> Derived {
    if prompt.len() > LONGEST {
        return nothing(stored, "the prompt is longer than 100 KiB");
    }
    if prompt.trim() == stored.plan.prompt.trim() {
        return again(stored, clock);
    }
    if stored.plan.params.is_empty() {
        let why = "the scenario has no parameters, and the prompt is not the one that it was recorded with";
        return nothing(stored, why);
    }
    let matcher = Matcher::new(vec![stored.known("it")], clock);
    let answer = matcher.ask(prompt, clock, &Vocabulary::default());
    of_answer(stored, &answer)
}

/// The values that a match has read already. The answer's places are the scenario's parameters in order, as [`Stored::known`] has them.
#[must_use]
pub fn of_answer(stored: &Stored, answer: &Answer) -> Derived {
    if answer.scenario.is_none() {
        return nothing(
            stored,
            "the prompt does not ask for what the scenario does, or not in words that were recorded",
        );
    }
    if let Some(veto) = answer.veto {
        return nothing(stored, veto_said(veto));
    }
    if answer.decide(READS, Evidence::default()) == Decision::Decline {
        return nothing(stored, "the prompt may as well ask for something else");
    }
    let mut found: Vec<Option<Value>> = vec![None; stored.plan.params.len()];
    for given in &answer.values {
        if let Some(slot) = found.get_mut(given.place) {
            *slot = Some(given.value.clone());
        }
    }
    assemble(stored, found, &answer.missing)
}

/// What speaks against a value, in words.
fn veto_said(veto: Veto) -> &'static str {
    match veto {
        Veto::Word(_) => {
            "a word inside of what would be a value excludes, compares, adds to or points away from what was recorded"
        }
        Veto::Typed => "what would be a value mentions something of a kind that no recorded value mentions",
        Veto::Fixed => "what would be a value holds a word that belongs to the task",
        Veto::Divided => "a sign divides what would be a value",
        _ => "what would be a value is like none that was recorded",
    }
}

/// The prompt of the recording itself: its words are what they were, its days are those of today.
fn again(stored: &Stored, clock: &Clock) -> Derived {
    let prompt = stored.plan.prompt.as_str();
    let texts: Vec<_> = stored
        .plan
        .params
        .iter()
        .filter(|param| param.reading == Reading::Text)
        .flat_map(|param| param.spans.iter().cloned())
        .collect();
    let wording = bir_infer::Wording::new(prompt, clock, &texts);
    let entities = bir_entity::find(prompt, clock, &Vocabulary::default());
    let read = |param: &Param| match &param.reading {
        Reading::Text => Some(param.sample.clone()),
        Reading::Normal(kind) => {
            let span = param.spans.first()?;
            let places = wording.places().iter().filter_map(|place| place.entity.as_ref());
            let found = places.chain(&entities).find(|entity| entity.kind == *kind && entity.span == *span);
            found.map(|entity| entity.normal.clone())
        }
    };
    let found: Vec<Option<Value>> = stored.plan.params.iter().map(read).collect();
    let unread = stored.plan.params.iter().zip(&found).filter(|(_, value)| value.is_none());
    let unread: Vec<String> = unread.map(|(param, _)| param.name.clone()).collect();
    assemble(stored, found, &unread)
}

fn assemble(stored: &Stored, found: Vec<Option<Value>>, unread: &[String]) -> Derived {
    let mut out = Derived { derived: true, cost_usd: Usd::ZERO, ..Derived::default() };
    for (param, value) in stored.plan.params.iter().zip(found) {
        match value.filter(|_| !unread.contains(&param.name)) {
            Some(value) => {
                out.params.insert(param.name.clone(), value);
            }
            None if param.role == Role::Setting && !unread.contains(&param.name) => {
                out.params.insert(param.name.clone(), param.sample.clone());
                out.sampled.push(param.name.clone());
            }
            None => out.missing.push(param.name.clone()),
        }
    }
    if !out.missing.is_empty() {
        out.reason = Some(format!("the prompt does not say, or not clearly: {}", out.missing.join(", ")));
    }
    out
}

/// Nothing was read: settings stand on their samples, and every target is missing.
fn nothing(stored: &Stored, why: &str) -> Derived {
    let mut out = Derived { reason: Some(why.to_owned()), ..Derived::default() };
    let mut params = Map::new();
    for param in &stored.plan.params {
        match param.role {
            Role::Target => out.missing.push(param.name.clone()),
            Role::Setting => {
                params.insert(param.name.clone(), param.sample.clone());
                out.sampled.push(param.name.clone());
            }
        }
    }
    out.params = params;
    out
}

/// The values of the recording.
#[must_use]
pub fn recorded(stored: &Stored) -> Derived {
    Derived {
        params: stored.samples(),
        sampled: stored.plan.params.iter().map(|param| param.name.clone()).collect(),
        ..Derived::default()
    }
}
