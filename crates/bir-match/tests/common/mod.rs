//! Scenarios from prompts with marked values, and what a matcher executes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bir_entity::{Clock, Kind, Vocabulary};
use bir_match::decide::READS;
use bir_match::{Decision, Evidence, Example, Known, Matcher, Place, Slot};
use bir_plan::param::{Reading, Role};
use serde_json::{Value, json};

pub(crate) fn clock() -> Clock {
    Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
}

/// Name, kind, and bytes of a parameter.
pub(crate) type Marked = (String, Option<Kind>, std::ops::Range<usize>);

/// A prompt with its parameters in brackets, `[name=words]`; a name with a kind behind a colon is read in its normal form.
pub(crate) fn marked(text: &str) -> (String, Vec<Marked>) {
    let (mut plain, mut found, mut rest) = (String::new(), Vec::new(), text);
    while let Some(open) = rest.find('[') {
        plain += &rest[..open];
        let close = rest.find(']').unwrap();
        let (name, words) = rest[open + 1..close].split_once('=').unwrap();
        let (name, kind) = name.split_once(':').map_or((name, None), |(n, k)| (n, Some(k)));
        let kind = kind.map(|k| serde_json::from_value(json!(k)).unwrap());
        found.push((name.to_owned(), kind, plain.len()..plain.len() + words.len()));
        plain += words;
        rest = &rest[close + 1..];
    }
    (plain + rest, found)
}

pub(crate) fn scenario(id: &str, prompts: &[&str]) -> Known {
    let mut known =
        Known { id: id.to_owned(), family: id.to_owned(), places: Vec::new(), examples: Vec::new() };
    for prompt in prompts {
        let (text, found) = marked(prompt);
        let mut slots = Vec::new();
        for (name, kind, span) in found {
            let place = known.places.iter().position(|p| p.name == name).unwrap_or_else(|| {
                known.places.push(Place {
                    name: name.clone(),
                    sort: name,
                    reading: kind.map_or(Reading::Text, Reading::Normal),
                    role: Role::Target,
                    sample: Value::Null,
                });
                known.places.len() - 1
            });
            slots.push(Slot { span, place });
        }
        known.examples.push(Example { text, slots });
    }
    known
}

/// The values of a prompt that executes.
pub(crate) fn executes(matcher: &Matcher, prompt: &str) -> Option<Vec<(String, Value)>> {
    let answer = matcher.ask(prompt, &clock(), &Vocabulary::default());
    let decision = answer.decide(READS, Evidence::default());
    let known = &matcher.known()[answer.scenario?];
    (decision == Decision::Execute).then(|| {
        answer.values.iter().map(|g| (known.places[g.place].name.clone(), g.value.clone())).collect()
    })
}
