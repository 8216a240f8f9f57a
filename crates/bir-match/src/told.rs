//! What a refusal names: the words that stand against a prompt, and those that it lacks.

use crate::grammar::Said;
use crate::guard::Veto;
use crate::known::Example;
use crate::lexicon::Class;
use crate::parse::{Asked, Filled};
use crate::word::words;
use std::ops::Range;

/// Words that are told, at most.
const TOLD: usize = 12;
/// Prompts with more words than that are not compared word by word: the work is the product of both lengths.
const COMPARED: usize = 150;

/// The bytes of what a veto is about: a word of the value, or all of it.
pub(crate) fn against(asked: &Asked<'_>, filled: Filled, veto: Veto) -> Range<usize> {
    let words = &asked.said.words;
    let mut inside = filled.from..filled.to;
    let word = match veto {
        Veto::Edge => None,
        Veto::Word(class) => inside.find(|at| asked.classes[*at].contains(&class)),
        Veto::Function => inside.find(|at| asked.is_function(*at)),
        Veto::Unit => inside.find(|at| asked.is_measure(*at)),
        // Of other vetoes the whole value is the matter, but one word in it mostly is why.
        _ if inside.len() > 1 => inside.find(|at| {
            let small = veto == Veto::Written && !words[*at].marked;
            small || asked.classes[*at].iter().any(|class| *class != Class::Preposition)
        }),
        _ => None,
    };
    let whole = words[filled.from].span.start..words[filled.to - 1].span.end;
    let spaced = |c: char| c.is_whitespace();
    match (word, veto) {
        (Some(at), _) => words[at].span.clone(),
        // The sign itself is what is to be seen.
        (None, Veto::Edge) => {
            let before = asked.prompt[..whole.start].char_indices().rev().find(|(_, c)| spaced(*c));
            let start = before.map_or(0, |(at, c)| at + c.len_utf8());
            let end = asked.prompt[whole.end..].find(spaced).map_or(asked.prompt.len(), |at| whole.end + at);
            start..end
        }
        (None, _) => whole,
    }
}

/// The words of a prompt that a recorded one does not have, and the fixed words of the recorded one that it lacks, along the alignment that
/// leaves the fewest. A parameter takes any words, few rather than many.
pub(crate) fn differs(said: &Said, example: &Example) -> (Vec<Range<usize>>, Vec<String>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Step {
        Begin,
        Same,
        Extra,
        Lacking,
        First,
        More,
    }
    /// What a word costs that nothing explains, a parameter that is not said, and one more word of a parameter.
    const WORD: u32 = 10;
    const VALUE: u32 = 5;
    const MORE: u32 = 4;
    let recorded = words(&example.text);
    let asked: Vec<usize> = (0..said.words.len()).filter(|at| !said.harmless[*at]).collect();
    if asked.len() > COMPARED || recorded.len() > COMPARED {
        return (Vec::new(), Vec::new());
    }
    // Each fixed word, and each parameter once.
    let mut items: Vec<Option<&str>> = Vec::new();
    let mut last = None;
    for word in &recorded {
        let slot =
            example.slots.iter().position(|s| s.span.start < word.span.end && word.span.start < s.span.end);
        match slot {
            Some(slot) if last == Some(slot) => {}
            Some(slot) => {
                last = Some(slot);
                items.push(None);
            }
            None if crate::lexicon::is_harmless(&word.text) => {}
            None => items.push(Some(&word.text)),
        }
    }
    let (rows, columns) = (items.len() + 1, asked.len() + 1);
    let mut cost = vec![(u32::MAX, Step::Begin); rows * columns];
    cost[0] = (0, Step::Begin);
    for row in 0..rows {
        for column in 0..columns {
            let here = cost[row * columns + column].0;
            if here == u32::MAX {
                continue;
            }
            let mut reach = |row: usize, column: usize, more: u32, step: Step| {
                let to = &mut cost[row * columns + column];
                if here + more < to.0 {
                    *to = (here + more, step);
                }
            };
            if column < asked.len() {
                reach(row, column + 1, WORD, Step::Extra);
                let in_value = row > 0 && items[row - 1].is_none();
                if in_value {
                    reach(row, column + 1, MORE, Step::More);
                }
            }
            if let Some(item) = items.get(row) {
                let lacking = if item.is_some() { WORD } else { VALUE };
                reach(row + 1, column, lacking, Step::Lacking);
                match item {
                    None if column < asked.len() => reach(row + 1, column + 1, 0, Step::First),
                    Some(word) if asked.get(column).is_some_and(|at| said.words[*at].text == *word) => {
                        reach(row + 1, column + 1, 0, Step::Same);
                    }
                    _ => {}
                }
            }
        }
    }
    let (mut row, mut column) = (rows - 1, columns - 1);
    let (mut extra, mut lacking) = (Vec::new(), Vec::new());
    while (row, column) != (0, 0) {
        match cost[row * columns + column].1 {
            Step::Same | Step::First => (row, column) = (row - 1, column - 1),
            Step::Extra => {
                column -= 1;
                extra.push(said.words[asked[column]].span.clone());
            }
            Step::More => {
                column -= 1;
                // What is more than a recorded value may be what is not explained.
                if said.words[asked[column]].text.chars().all(|c| !c.is_alphanumeric())
                    || crate::lexicon::classes(&said.words[asked[column]].text).next().is_some()
                {
                    extra.push(said.words[asked[column]].span.clone());
                }
            }
            Step::Lacking => {
                row -= 1;
                lacking.extend(items[row].map(str::to_owned));
            }
            Step::Begin => break,
        }
    }
    extra.reverse();
    lacking.reverse();
    extra.dedup();
    extra.truncate(TOLD);
    lacking.truncate(TOLD);
    (extra, lacking)
}
