//! A second, independent generator of prompts that look like a recorded one and ask for something else ([`make`]), and how many of them execute.
//!
//! An execution counts as wrong unless what was put in is read as a value of its own, whole: "the cheapest" as an order, "3 weeks" as a
//! length of time. Swapped values have to be where they now stand. What a set itself has as a value of that sort is no contrast.

mod make;
mod words;

use crate::complexfunc;
use crate::matching::{clock, given, memory, tell, wanted};
use crate::sets::{self, Options, Prompt};
use crate::table::Table;
use bir_entity::Vocabulary;
use bir_match::{Decision, Difference, Evidence, Matcher};
use make::{Pair, Right};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Pairs of a kind and set.
const PAIRS: usize = 400;
/// And with `--seed`.
const SEEDED: usize = 1_500;

/// Counts of a kind.
#[derive(Default, Clone, Copy)]
struct Count {
    pairs: usize,
    executed: usize,
    wrong: usize,
}

/// Runs it on all sets that are there; those that are not are named.
pub(crate) fn run(options: &Options, table: &mut Table) -> Result<(), String> {
    let mut missing = Vec::new();
    let mut all = Count::default();
    let mut left = options.show;
    for set in ["snips", "slurp", "atis", "clinc150", "banking77", "complexfuncbench"] {
        if options.only.as_ref().is_some_and(|only| only != set) {
            continue;
        }
        let prompts =
            if set == "complexfuncbench" { complexfunc::prompts(options) } else { sets::load(set, options) };
        match prompts {
            Ok(prompts) => {
                let (counts, bases) = measure(prompts, options, &mut left);
                let mut sum = Count::default();
                for kind in make::KINDS {
                    let count = counts.get(kind).copied().unwrap_or_default();
                    let what = format!("{kind}: wrong executes ({} execute)", count.executed);
                    table.share(crate::matching::name(set), what, count.wrong, count.pairs, "0");
                    sum.add(count);
                }
                let what = format!(
                    "all kinds: wrong executes ({} execute; of {bases} that execute unchanged)",
                    sum.executed
                );
                table.share(crate::matching::name(set), what, sum.wrong, sum.pairs, "0");
                all.add(sum);
            }
            Err(why) => missing.push(format!("not measured: {set}: {why}\n")),
        }
    }
    for why in &missing {
        tell(why);
    }
    if all.pairs == 0 {
        return Err("no set is there".into());
    }
    table.share(
        "structure",
        format!("all sets and kinds: wrong executes ({} execute)", all.executed),
        all.wrong,
        all.pairs,
        "0",
    );
    Ok(())
}

impl Count {
    fn add(&mut self, more: Self) {
        self.pairs += more.pairs;
        self.executed += more.executed;
        self.wrong += more.wrong;
    }
}

/// The counts by kind, and how many prompts were executed as they are.
fn measure(
    prompts: Vec<Prompt>,
    options: &Options,
    left: &mut usize,
) -> (HashMap<&'static str, Count>, usize) {
    let values: HashSet<(String, String)> = prompts.iter().flat_map(wanted).collect();
    let (recorded, asks) = sets::halves(prompts, options);
    let matcher = Matcher::new(memory(&recorded), &clock());
    let ask = |text: &str| matcher.ask(text, &clock(), &Vocabulary::default());
    let executes = |text: &str| ask(text).decide(options.limit, Evidence::default()) == Decision::Execute;
    // A small change of what executes is what is dangerous, so those come first.
    let (mut bases, mut others): (Vec<&Prompt>, Vec<&Prompt>) =
        recorded.iter().chain(&asks).partition(|p| executes(&p.text));
    let executing = bases.len();
    bases.sort_by_key(|p| sets::hash(&p.text));
    others.sort_by_key(|p| sets::hash(&p.text));
    bases.extend(others);
    let said: HashSet<String> = recorded.iter().map(|p| p.text.trim().to_lowercase()).collect();
    let mut counts: HashMap<&'static str, Count> = HashMap::new();
    let most = if options.seed == 0 { PAIRS } else { SEEDED };
    for (number, base) in bases.iter().enumerate() {
        let other = bases[(number * 13 + 5) % bases.len()];
        // Where calculation cut a value in two, what stands where is not what its slots say.
        let unchanged = ask(&base.text);
        let odd = unchanged.difference.is_some() && given(&matcher, &unchanged) != wanted(base);
        for pair in make::pairs(base, other, options.seed) {
            let count = counts.entry(pair.kind).or_default();
            if (pair.kind == "swap" && odd)
                || count.pairs >= most
                || said.contains(&pair.text.trim().to_lowercase())
            {
                continue;
            }
            // Those who say so were recorded as asking for the same.
            let begins = |p: &&Prompt| p.intent == base.intent && begins_alike(&p.text, &pair);
            if recorded.iter().find(begins).is_some() {
                continue;
            }
            // Where the set has it as a value of the sort that it replaces, it is one.
            if pair.kind == "reference"
                && base.slots.iter().any(|(_, sort)| values.contains(&(sort.clone(), pair.put.clone())))
            {
                continue;
            }
            let answer = ask(&pair.text);
            // A recorded value of the sort begins so: "every Tuesday" is a day there.
            if matches!(pair.kind, "count" | "superlative" | "comparator")
                && values.iter().any(|(sort, v)| {
                    v.starts_with(&format!("{} ", pair.put)) && base.slots.iter().any(|(_, s)| s == sort)
                })
            {
                continue;
            }
            // The very words of a recorded prompt, or, where a word that is no value was turned round, of one with the same values.
            let whole = matches!(answer.difference, Some(Difference::Known | Difference::Values));
            let said_so = whole
                && matches!(pair.kind, "opposite" | "count")
                && given(&matcher, &answer) == wanted(base);
            if answer.difference == Some(Difference::Same) || said_so {
                continue;
            }
            count.pairs += 1;
            if answer.decide(options.limit, Evidence::default()) != Decision::Execute {
                continue;
            }
            count.executed += 1;
            let plan = answer.scenario.map(|s| matcher.known()[s].id.as_str());
            let got = given(&matcher, &answer);
            if !is_right(&pair, base, plan, &got) {
                count.wrong += 1;
                if *left > 0 {
                    *left -= 1;
                    let mut line = String::new();
                    let _ = writeln!(
                        line,
                        "WRONG {}: {} | from {} | {plan:?} {got:?} {:?} {:.4} shown {}",
                        pair.kind, pair.text, base.text, answer.difference, answer.confidence, answer.shown
                    );
                    tell(&line);
                }
            }
        }
    }
    (counts, executing)
}

/// A prompt begins with what was put at the beginning and the word behind it.
fn begins_alike(text: &str, pair: &Pair) -> bool {
    let (text, changed) = (text.trim().to_lowercase(), pair.text.trim().to_lowercase());
    let Some(rest) = changed.strip_prefix(&pair.put).filter(|_| !pair.put.is_empty()) else { return false };
    let next = rest.split_whitespace().next().unwrap_or_default();
    text.starts_with(&format!("{} {next}", pair.put))
}

/// All of it is one mention of a type that holds the unit: "thousand three seconds".
fn is_amount(text: &str, put: &str) -> bool {
    let unit = put.split_whitespace().next_back().unwrap_or(put);
    let whole = |e: &bir_entity::Entity| e.span == (0..text.len());
    text.contains(unit) && bir_entity::find(text, &clock(), &Vocabulary::default()).iter().any(whole)
}

fn is_right(pair: &Pair, base: &Prompt, plan: Option<&str>, got: &[(String, String)]) -> bool {
    let same = plan == Some(base.plan().as_str());
    let letter = |c: &char| c.is_alphanumeric() || c.is_whitespace();
    let bare =
        |v: &str| v.trim_start_matches("the ").chars().filter(letter).collect::<String>().trim().to_owned();
    match &pair.right {
        Right::Another => !same,
        Right::Values(lists) => {
            let texts = |v: &[(String, String)]| v.iter().map(|(_, v)| bare(v)).collect::<Vec<_>>();
            let sorts = |v: &[(String, String)]| v.iter().map(|(s, _)| s.clone()).collect::<Vec<_>>();
            lists.iter().any(|now| texts(got) == texts(now) && (!same || sorts(got) == sorts(now)))
        }
        // "6 thousand" is what is said where the number is one of thousands.
        Right::Nothing if pair.kind == "unit" && got.iter().any(|(_, v)| is_amount(v, &pair.put)) => true,
        Right::Nothing => {
            (!same || pair.kind == "unit") && got.iter().any(|(_, v)| bare(v) == bare(&pair.put))
        }
    }
}
