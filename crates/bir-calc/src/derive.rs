//! The values of a scenario's parameters for another prompt: words of that prompt or their normal forms, never a guess.
//!
//! A target that the prompt does not say is missing, and nothing runs. A setting that it does not mention is what it
//! was in the
//! recording; one that it mentions and that cannot be read is missing like a target. Of a prompt that is not read at
//! all everything is missing.

use crate::stored::Stored;
use bir_entity::{Clock, Vocabulary};
use bir_match::decide::{Decision, Evidence, READS};
use bir_match::{Answer, Matcher, Veto};
use bir_model::Usd;
use bir_model::scenario::Derived;
use bir_plan::param::{Param, Reading, Role};
use serde_json::Value;

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
    let matcher = Matcher::new(vec![stored.known("it")], clock);
    let answer = matcher.ask(prompt, clock, &Vocabulary::default());
    of_answer(stored, &answer)
}

/// The values that a match has read already. The answer's places are the scenario's parameters in order, as
/// [`Stored::known`] has them.
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
        Veto::Edge => "a sign stands at the edge of what would be a value, as at that of no recorded one",
        Veto::Several => "what would be a value names more things than any recorded one",
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

/// Nothing was read. Nobody knows whether the prompt mentions a setting, so that is missing too.
fn nothing(stored: &Stored, why: &str) -> Derived {
    let missing = stored.plan.params.iter().map(|param| param.name.clone()).collect();
    Derived { missing, reason: Some(why.to_owned()), ..Derived::default() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::{Example, Slot, Wording};
    use bir_entity::Kind;
    use bir_match::{Difference, Given};
    use bir_model::scenario::Level;
    use bir_plan::scenario::Scenario;
    use serde_json::json;

    fn clock() -> Clock {
        Clock { now: "2026-12-04T10:00[Europe/Berlin]".parse().unwrap() }
    }

    /// "Rome" is a target, "tomorrow" a setting.
    fn stored(prompt: &str) -> Stored {
        let param = |name: &str, words: &str, reading: Reading, role: Role, sample: Value| {
            let at = prompt.find(words)?;
            let spans = std::iter::once(at..at + words.len()).collect();
            Some(Param { name: name.into(), spans, reading, role, sample })
        };
        let params: Vec<Param> = [
            param("city", "Rome", Reading::Text, Role::Target, json!("Rome")),
            param("day", "tomorrow", Reading::Normal(Kind::Date), Role::Setting, json!("2026-12-01")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let slots =
            params.iter().enumerate().map(|(param, p)| Slot { span: p.spans[0].clone(), param }).collect();
        Stored {
            wording: Wording {
                recorded_at: "2026-11-30T10:00:00+01:00[Europe/Berlin]".into(),
                zone_assumed: false,
                examples: vec![Example { text: prompt.into(), slots }],
            },
            plan: Scenario { prompt: prompt.into(), params, steps: Vec::new(), runs: 1 },
            intent: String::new(),
            family: "x".into(),
            steps: Vec::new(),
            level: Level::L0,
            level_reason: String::new(),
        }
    }

    fn answer(values: &[(usize, Value)], missing: &[&str]) -> Answer {
        let given =
            |(place, value): &(usize, Value)| Given { place: *place, span: 0..1, value: value.clone() };
        let nothing = Matcher::new(Vec::new(), &clock()).ask("", &clock(), &Vocabulary::default());
        Answer {
            scenario: Some(0),
            values: values.iter().map(given).collect(),
            missing: missing.iter().map(|name| (*name).to_owned()).collect(),
            difference: Some(Difference::Known),
            confidence: 0.99,
            ..nothing
        }
    }

    #[test]
    fn a_target_has_to_be_said_and_a_setting_need_not() {
        let stored = stored("The weather in Rome tomorrow");
        let (city, day) = ((0, json!("Oslo")), (1, json!("2026-12-05")));
        for (values, unread, missing, sampled) in [
            (vec![city.clone(), day.clone()], vec![], vec![], vec![]),
            (vec![city.clone()], vec![], vec![], vec!["day"]),
            (vec![day.clone()], vec![], vec!["city"], vec![]),
            (vec![], vec![], vec!["city"], vec!["day"]),
            // It is mentioned, and nobody knows as what.
            (vec![city.clone()], vec!["day"], vec!["day"], vec![]),
            (vec![city.clone(), day], vec!["day"], vec!["day"], vec![]),
            (vec![city, (9, json!("x"))], vec![], vec![], vec!["day"]),
        ] {
            let derived = of_answer(&stored, &answer(&values, &unread));
            assert_eq!(
                (derived.missing.clone(), derived.sampled.clone()),
                (owned(&missing), owned(&sampled)),
                "{derived:?}"
            );
            assert!(derived.derived && derived.reason.is_some() != missing.is_empty());
        }
        for not in [
            Answer { scenario: None, ..answer(&[], &[]) },
            Answer { veto: Some(Veto::Typed), ..answer(&[], &[]) },
            Answer { confidence: 0.2, ..answer(&[], &[]) },
        ] {
            let derived = of_answer(&stored, &not);
            assert!(
                !derived.derived && derived.missing == ["city", "day"] && derived.params.is_empty(),
                "{derived:?}"
            );
        }
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_same_words_mean_the_day_on_which_they_are_said() {
        let derived =
            derive(&stored("The weather in Rome tomorrow"), " The weather in Rome tomorrow\n", &clock());
        assert_eq!(Value::from(derived.params), json!({"city": "Rome", "day": "2026-12-05"}));
        assert!(derived.missing.is_empty() && derived.derived);
    }

    #[test]
    fn without_parameters_the_same_words_are_needed() {
        let stored = stored("Show all open tickets");
        for (prompt, read) in [("Show all open tickets", true), ("Show all open orders", false), ("", false)]
        {
            let derived = derive(&stored, prompt, &clock());
            assert_eq!((derived.derived, derived.params.len()), (read, 0), "{prompt}: {derived:?}");
        }
    }
}
