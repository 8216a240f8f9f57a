//! Stretches of several recorded prompts, joined to one that nobody said: what may stand in one prompt by itself, and what makes two of one.
//!
//! "give it 2 points at most" was recorded once, and "give BOOK 2 points" often. Joined they would be "give BOOK 2 points at most", with a
//! condition that no parameter holds. So a word that limits or turns round has to be usual where it stands; and a sign that ends a clause has
//! no words of its own behind it.

use crate::grammar::{BEGIN, END, Grammar};
use crate::guard::Veto;
use crate::lexicon::Class;
use crate::parse::{Asked, Reading};
use crate::steps::Stretch;

/// So many prompts make it usual.
const USUAL: u32 = 4;

/// What speaks against a reading whose very words no recorded prompt has, and at which word.
pub(crate) fn veto(grammar: &Grammar, asked: &Asked<'_>, reading: &Reading) -> Option<(Veto, usize)> {
    let limits = |class: &&Class| {
        matches!(
            class,
            Class::Negation | Class::Condition | Class::Comparator | Class::Superlative | Class::Reference
        )
    };
    let mut from = BEGIN;
    let mut at = 0;
    for number in 0..=reading.values.len() {
        let next = reading.values.get(number);
        let until = next.map_or(asked.said.words.len(), |f| f.from);
        let mut stretch = Stretch::new(reading.family, from);
        let mut limiting = None;
        for word in (at..until).filter(|w| !asked.said.harmless[*w]) {
            if at > 0 && asked.ends_clause(word) {
                return Some((Veto::Divided, word));
            }
            stretch.push(asked.fixed_id(word));
            let class = asked.classes[word].iter().find(limits).map(|class| (Veto::Word(*class), word));
            // A unit stands behind the number that it measures, wherever it was recorded.
            limiting = limiting.or(class).or_else(|| asked.is_measure(word).then_some((Veto::Unit, word)));
            // "all all": what joins two stretches is said once.
            let twice = word > at && asked.said.words[word].text == asked.said.words[word - 1].text;
            limiting = limiting.or_else(|| twice.then_some((Veto::Twice, word)));
        }
        if let Some(veto) = limiting {
            let to = next.map_or(END, |f| f.sort);
            let shown = grammar.steps.lead(stretch).into_iter().find(|s| s.to == to).map_or(0, |s| s.shown);
            if shown < USUAL {
                return Some(veto);
            }
        }
        from = next.map_or(END, |f| f.sort);
        at = next.map_or(until, |f| f.to);
    }
    None
}
