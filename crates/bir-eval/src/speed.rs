//! How long a match takes over 100,000 recorded prompts.

use crate::Options;
use crate::matching::{clock, memory};
use crate::sets::{self, Prompt};
use bir_entity::Vocabulary;
use bir_match::Matcher;
use std::time::{Duration, Instant};

/// Recorded prompts.
const PROMPTS: usize = 100_000;
/// Prompts that ask.
const ASKS: usize = 2_000;

/// Fills a memory with the prompts of the sets, each many times with other words in its slots and a task of its own.
pub(crate) fn run(options: &Options) -> Result<String, String> {
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
    let start = Instant::now();
    let matcher = Matcher::new(memory(&prompts), &clock());
    let built = start.elapsed();
    let mut times: Vec<Duration> = (0..ASKS)
        .map(|n| {
            let prompt = &base[(n * 104_729 + 13) % base.len()].text;
            let start = Instant::now();
            let answer = matcher.ask(prompt, &clock(), &Vocabulary::default());
            let took = start.elapsed();
            std::hint::black_box(answer);
            took
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a small count"
        )]
        let at = (share * times.len() as f64) as usize;
        times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    let long = "what is the weather in the north of ".repeat(2_800);
    let start = Instant::now();
    std::hint::black_box(matcher.ask(&long, &clock(), &Vocabulary::default()));
    let slowest = start.elapsed().as_secs_f64() * 1e3;
    Ok(format!(
        "## speed\n\n{PROMPTS} recorded prompts in {} scenarios, read in {:.1} s\n\n- a match: p50 {:.2} ms, p99 {:.2} ms, slowest {:.2} ms\n- a prompt of 100 kB: {slowest:.1} ms\n",
        matcher.known().len(),
        built.as_secs_f64(),
        at(0.5),
        at(0.99),
        at(0.9999)
    ))
}
