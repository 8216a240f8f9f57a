//! How long a match takes over 100,000 recorded prompts.

use crate::matching::{clock, memory, tell};
use crate::sets::{self, Options, Prompt};
use crate::table::Table;
use bir_entity::Vocabulary;
use bir_match::Matcher;
use std::time::Instant;

/// Recorded prompts.
const PROMPTS: usize = 100_000;
/// Prompts that are taken out and put in again.
const CHANGES: usize = 1_000;
/// Prompts that ask.
const ASKS: usize = 2_000;

/// Fills a memory with the prompts of the sets, each many times with other words in its slots and a task of its own.
pub(crate) fn run(options: &Options, table: &mut Table) -> Result<(), String> {
    let mut base: Vec<Prompt> = Vec::new();
    for set in ["snips", "slurp", "clinc150", "banking77"] {
        base.extend(sets::load(set, options)?);
    }
    let mut prompts = Vec::with_capacity(PROMPTS);
    for number in 0..PROMPTS {
        let from = &base[(number * 7919) % base.len()];
        let mut prompt = Prompt {
            text: String::new(),
            intent: format!("{}/{}", from.intent, number / base.len()),
            slots: Vec::new(),
        };
        let mut at = 0;
        for (span, sort) in &from.slots {
            prompt.text += &from.text[at..span.start];
            let start = prompt.text.len();
            prompt.text += &format!("{} {number}", &from.text[span.clone()]);
            prompt.slots.push((start..prompt.text.len(), sort.clone()));
            at = span.end;
        }
        prompt.text += &from.text[at..];
        prompts.push(prompt);
    }
    let known = memory(&prompts);
    let (start, before) = (Instant::now(), resident());
    let mut matcher = Matcher::new(known, &clock());
    let (built, held) = (start.elapsed(), resident().saturating_sub(before));
    // One prompt out and in again, as when a run is forgotten and another one recorded.
    let mut changes = Vec::new();
    for number in 0..CHANGES {
        let scenario = (number * 7_919) % matcher.known().len();
        let start = Instant::now();
        if let Ok(example) = matcher.remove_example(scenario, 0) {
            let added = matcher.insert_example(scenario, example);
            changes.push(start.elapsed().as_secs_f64() * 1e3);
            added.map_err(|why| why.to_string())?;
        }
    }
    table.times("speed", "a prompt removed and one added, of 100,000", changes, "");
    let times = (0..ASKS).map(|n| {
        let prompt = &base[(n * 104_729 + 13) % base.len()].text;
        let start = Instant::now();
        std::hint::black_box(matcher.ask(prompt, &clock(), &Vocabulary::default()));
        start.elapsed().as_secs_f64() * 1e3
    });
    table.times("speed", "a match over 100,000 recorded prompts", times.collect(), "p99 ≤ 10 ms");
    let long = "what is the weather in the north of ".repeat(2_800);
    let start = Instant::now();
    std::hint::black_box(matcher.ask(&long, &clock(), &Vocabulary::default()));
    table.times("speed", "a prompt of 100 kB", vec![start.elapsed().as_secs_f64() * 1e3], "");
    tell(&format!(
        "{PROMPTS} prompts in {} scenarios, learned in {:.1} s, {} MiB more than before (beside the prompts themselves)\n",
        matcher.known().len(),
        built.as_secs_f64(),
        held >> 20
    ));
    Ok(())
}

/// Bytes of memory of this process that are in use; 0 where the system does not say.
fn resident() -> usize {
    /// A page.
    const PAGE: usize = 4096;
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0) * PAGE
}
