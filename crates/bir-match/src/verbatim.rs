//! A prompt that was recorded word for word: nothing differs, so nothing has to be explained. Its values are the words that were values then;
//! days count from now.

use crate::known::{Known, Slot};
use crate::{Answer, Given, value};
use bir_entity::{Entity, Kind};
use bir_plan::param::{Reading, Role};
use std::collections::HashMap;

/// Recorded prompts by their text.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<String, Vec<usize>>);

impl Texts {
    /// Adds a prompt by its number.
    pub(crate) fn add(&mut self, text: &str, number: usize) {
        self.0.entry(text.trim().to_owned()).or_default().push(number);
    }

    /// Removes it.
    pub(crate) fn remove(&mut self, text: &str, number: usize) {
        if let Some(numbers) = self.0.get_mut(text.trim()) {
            numbers.retain(|n| *n != number);
            if numbers.is_empty() {
                self.0.remove(text.trim());
            }
        }
    }

    /// The numbers of the prompts of the very text.
    pub(crate) fn of(&self, text: &str) -> &[usize] {
        self.0.get(text.trim()).map_or(&[], Vec::as_slice)
    }
}

/// The slots of prompts of one text, by the bytes of another text that differs in white space around it; None: they do not agree.
pub(crate) fn slots<'a>(
    mut examples: impl Iterator<Item = (&'a str, &'a [Slot])>,
    asked: &str,
) -> Option<Vec<Slot>> {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let moved = |(text, slots): (&str, &[Slot])| -> Option<Vec<Slot>> {
        let one = |slot: &Slot| {
            let at = |byte: usize| (byte + indent(asked)).checked_sub(indent(text));
            let span = at(slot.span.start)?..at(slot.span.end)?;
            asked.get(span.clone()).map(|_| Slot { span, place: slot.place })
        };
        slots.iter().map(one).collect()
    };
    let first = moved(examples.next()?)?;
    examples.all(|other| moved(other).as_ref() == Some(&first)).then_some(first)
}

/// Fills an answer with the values of a recorded prompt.
pub(crate) fn read(known: &Known, slots: Vec<Slot>, prompt: &str, entities: &[Entity], answer: &mut Answer) {
    for slot in slots {
        let Some(place) = known.places.get(slot.place) else { continue };
        let clocked = matches!(place.reading, Reading::Normal(Kind::Date | Kind::Time));
        // What the only recording read there is what it is, but for days.
        let sample = || (known.examples.len() == 1 && !clocked).then(|| place.sample.clone());
        let found = value(prompt, &slot.span, &place.reading, entities).or_else(sample);
        let said = answer.values.iter().find(|given| given.place == slot.place);
        match (found, said) {
            (Some(value), None) => answer.values.push(Given { place: slot.place, span: slot.span, value }),
            (Some(value), Some(given)) if given.value == value => {}
            _ if answer.missing.contains(&place.name) => {}
            _ => answer.missing.push(place.name.clone()),
        }
    }
    let given = |at: usize| answer.values.iter().any(|given| given.place == at);
    let unsaid =
        known.places.iter().enumerate().filter(|(at, place)| place.role == Role::Target && !given(*at));
    let unsaid: Vec<String> =
        unsaid.map(|(_, place)| place.name.clone()).filter(|name| !answer.missing.contains(name)).collect();
    answer.missing.extend(unsaid);
}
