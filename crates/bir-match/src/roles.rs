//! Which value is which: by where it stands, and not by which values were seen in which place.
//!
//! ```text
//!  recorded   add [song] to my [list]
//!  asked      add Blue Hits to my song         "Blue Hits" was a list, and "song" a song
//! ```
//!
//! The likeliest reading of that makes the list the first of the two, since it was one before. But it is not what stands there. So the words
//! between the values are asked alone: where recorded prompts have two of the sorts the other way round far more often, the reading is vetoed.

use crate::grammar::{BEGIN, END, Grammar, Sort};
use crate::guard::{self, Veto};
use crate::parse::{Asked, Reading};
use crate::steps::Stretch;

/// The other way round is vetoed where it is so many times likelier,
const RATIO: f64 = 12.0;
/// where no recorded prompt has the very words, already where it is a fifth as likely,
const JOINED: f64 = 0.2;
/// and where, besides, few recorded prompts show one of the stretches, where it is possible at all.
const SELDOM: f64 = 0.05;
/// Prompts that are not few.
const OFTEN: u32 = 4;
/// What nothing was counted for is so unlikely.
const NEVER: f64 = 1e-6;
/// Readings with more values than that are not looked at in pairs; they are vetoed where they hold anything new.
const VALUES: usize = 16;

/// What speaks against a reading as a whole; `whole`: a recorded prompt has the very words between its values.
pub(crate) fn veto(grammar: &Grammar, asked: &Asked<'_>, reading: &Reading, whole: bool) -> Option<Veto> {
    let values = &reading.values;
    let open = |from: usize, to: usize| (from..to).all(|at| asked.said.harmless[at]);
    let beside = |pair: &[crate::parse::Filled]| {
        open(pair[0].to, pair[1].from) && pair.iter().any(|f| guard::is_bare(grammar, asked, *f))
    };
    if values.windows(2).any(beside) || values.len() > VALUES {
        return Some(Veto::Beside);
    }
    let sorts: Vec<Sort> = values.iter().map(|f| f.sort).collect();
    let ratio = match (whole, reading.weakest) {
        (true, _) => RATIO,
        (false, OFTEN..) => JOINED,
        (false, _) => SELDOM,
    };
    let stands = likely(grammar, asked, reading, &sorts);
    for a in 0..sorts.len() {
        for b in a + 1..sorts.len() {
            if sorts[a] == sorts[b] {
                continue;
            }
            let mut turned = sorts.clone();
            turned.swap(a, b);
            if likely(grammar, asked, reading, &turned) > stands + ratio.ln() {
                return Some(Veto::Roles);
            }
        }
    }
    None
}

/// How likely the words between the values are, if these are their sorts.
fn likely(grammar: &Grammar, asked: &Asked<'_>, reading: &Reading, sorts: &[Sort]) -> f64 {
    let mut sum = 0.0;
    let mut from = BEGIN;
    let mut at = 0;
    let values = reading.values.iter().zip(sorts).map(|(f, sort)| (*sort, f.from, f.to));
    let end = asked.said.words.len();
    for (to, until, behind) in values.chain([(END, end, end)]) {
        let mut stretch = Stretch::new(reading.family, from);
        for word in (at..until).filter(|w| !asked.said.harmless[*w]) {
            stretch.push(asked.fixed_id(word));
        }
        let steps = grammar.steps.lead(stretch);
        sum += steps.iter().find(|s| s.to == to).map_or(NEVER.ln(), |s| s.log.max(NEVER.ln()));
        from = to;
        at = behind;
    }
    sum
}
