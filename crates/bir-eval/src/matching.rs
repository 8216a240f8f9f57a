//! How often a prompt is recognised as another one's task, and how often wrongly.

use crate::sets::{self, Options, Prompt};
use crate::table::Table;
use bir_entity::{Clock, Vocabulary};
use bir_match::{Answer, Decision, Evidence, Example, Known, Matcher, Place, Slot};
use bir_plan::param::{Reading, Role};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;

/// The clock of all measurements.
pub(crate) fn clock() -> Clock {
    Clock {
        now: jiff::ZonedDateTime::new(
            jiff::Timestamp::from_second(1_790_000_000).unwrap_or_default(),
            jiff::tz::TimeZone::UTC,
        ),
    }
}

/// The scenarios of a memory: one for each plan, with all its prompts. The marked slots stand for the spans that calculation proves.
pub(crate) fn memory(prompts: &[Prompt]) -> Vec<Known> {
    let groups = sets::grouped(prompts, Prompt::plan);
    groups
        .into_iter()
        .map(|(plan, prompts)| {
            let mut sorts: Vec<String> = prompts[0].slots.iter().map(|(_, sort)| sort.clone()).collect();
            sorts.sort();
            let places = sorts.iter().enumerate().map(|(at, sort)| Place {
                name: format!("{sort}#{at}"),
                sort: sort.clone(),
                reading: Reading::Text,
                role: Role::Target,
                sample: Value::Null,
            });
            let example = |p: &Prompt| {
                let mut taken = HashSet::new();
                let slot = |(span, sort): &(std::ops::Range<usize>, String)| {
                    let place = (0..sorts.len()).find(|at| sorts[*at] == *sort && taken.insert(*at))?;
                    Some(Slot { span: span.clone(), place })
                };
                Example { text: p.text.clone(), slots: p.slots.iter().filter_map(slot).collect() }
            };
            Known {
                id: plan,
                family: prompts[0].intent.clone(),
                places: places.collect(),
                examples: prompts.into_iter().map(example).collect(),
            }
        })
        .collect()
}

/// What an answer says, as (type, text) in the order of the text.
pub(crate) fn given(matcher: &Matcher, answer: &Answer) -> Vec<(String, String)> {
    let Some(known) = answer.scenario.and_then(|s| matcher.known().get(s)) else { return Vec::new() };
    let mut values: Vec<_> = answer.values.iter().collect();
    values.sort_by_key(|v| v.span.start);
    values
        .iter()
        .map(|v| (known.places[v.place].sort.clone(), v.value.as_str().unwrap_or_default().to_lowercase()))
        .collect()
}

/// What a prompt asks for, in the same form.
pub(crate) fn wanted(prompt: &Prompt) -> Vec<(String, String)> {
    prompt.slots.iter().map(|(span, sort)| (sort.clone(), prompt.text[span.clone()].to_lowercase())).collect()
}

/// A set's name as the table keeps it.
pub(crate) fn name(set: &str) -> &'static str {
    const NAMES: &[&str] = &["snips", "slurp", "atis", "clinc150", "banking77", "complexfuncbench"];
    NAMES.iter().find(|name| **name == set).copied().unwrap_or("prompts")
}

/// Details go to stderr.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// SNIPS, SLURP, ATIS: recall, precision, parameters.
pub(crate) fn slots(set: &str, options: &Options, table: &mut Table) -> Result<(), String> {
    let (memory_half, asks) = sets::halves(sets::load(set, options)?, options);
    let known = memory(&memory_half);
    let plans: HashSet<String> = known.iter().map(|k| k.id.clone()).collect();
    let matcher = Matcher::new(known, &clock());
    let reachable = asks.iter().filter(|p| plans.contains(&p.plan())).count();
    let mut kinds: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let (mut accepted, mut right, mut exact, mut steered, mut steered_right) = (0, 0, 0, 0, 0);
    let mut shown = String::new();
    let mut misses: BTreeMap<String, usize> = BTreeMap::new();
    let mut left = options.show;
    for prompt in &asks {
        let answer = matcher.ask(&prompt.text, &clock(), &Vocabulary::default());
        let plan = answer.scenario.map(|s| matcher.known()[s].id.clone());
        let same = plan.as_deref() == Some(prompt.plan().as_str());
        let values = same && given(&matcher, &answer) == wanted(prompt);
        match answer.decide(options.limit, Evidence::default()) {
            Decision::Execute => {
                accepted += 1;
                right += usize::from(same);
                exact += usize::from(values);
                let bucket = format!(
                    "{:?} shown {} conf {}",
                    answer.difference,
                    match answer.shown {
                        0 => "0",
                        1..4 => "1-3",
                        _ => "4+",
                    },
                    bucket(answer.confidence)
                );
                let kind = kinds.entry(bucket).or_default();
                kind[0] += 1;
                kind[1] += usize::from(same);
                kind[2] += usize::from(values);
                if !values && left > 0 {
                    left -= 1;
                    let _ = writeln!(
                        shown,
                        "WRONG {} | {:?} {:.4} shown {}\n   want {} {:?}\n   got  {:?} {:?}",
                        prompt.text,
                        answer.difference,
                        answer.confidence,
                        answer.shown,
                        prompt.intent,
                        wanted(prompt),
                        plan,
                        given(&matcher, &answer)
                    );
                }
            }
            decision => {
                if decision == Decision::Steer {
                    steered += 1;
                    steered_right += usize::from(same);
                }
                if plans.contains(&prompt.plan()) {
                    let why = match (&answer.difference, &answer.veto) {
                        (None, _) => "no reading".to_owned(),
                        (_, Some(veto)) => format!("{veto:?}"),
                        _ if !answer.missing.is_empty() => "missing".to_owned(),
                        (Some(d), _) => format!("{d:?} conf {}", bucket(answer.confidence)),
                    };
                    *misses.entry(why).or_default() += 1;
                    if left > 0 && sets::hash(&prompt.text).is_multiple_of(7) {
                        left -= 1;
                        let _ = writeln!(
                            shown,
                            "MISS {} | {:?} {:.3} {:?}\n   want {} {:?}\n   got  {:?} {:?}",
                            prompt.text,
                            answer.difference,
                            answer.confidence,
                            answer.veto,
                            prompt.intent,
                            wanted(prompt),
                            plan,
                            given(&matcher, &answer)
                        );
                    }
                }
            }
        }
    }
    again(set, &memory_half, &matcher, options, table);
    let (recall, goal) =
        (format!("right plan executes, of the reachable ones of {}", asks.len()), goals(set));
    table.share(name(set), recall, right, reachable, goal);
    table.share(name(set), "right plan, of those that execute", right, accepted, "≥ 99 %");
    table.share(name(set), "parameters exact, of the right ones", exact, right, "≥ 99 %");
    table.share(name(set), "right plan, of those that steer", steered_right, steered, "");
    let mut report = format!("{set}: {} recorded prompts in {} plans\n", memory_half.len(), plans.len());
    for (kind, [n, same, values]) in &kinds {
        let _ = writeln!(report, "    {kind}: {n}, plan wrong {}, values wrong {}", n - same, n - values);
    }
    for (why, n) in &misses {
        let _ = writeln!(report, "    reachable, not executed, {why}: {n}");
    }
    if options.verbose {
        tell(&report);
    }
    tell(&shown);
    Ok(())
}

/// Recorded prompts, asked word for word: each has to execute with the values that it had.
fn again(set: &str, recorded: &[Prompt], matcher: &Matcher, options: &Options, table: &mut Table) {
    let right = recorded.iter().filter(|prompt| {
        let answer = matcher.ask(&prompt.text, &clock(), &Vocabulary::default());
        let plan = answer.scenario.map(|s| matcher.known()[s].id.as_str());
        answer.decide(options.limit, Evidence::default()) == Decision::Execute
            && plan == Some(prompt.plan().as_str())
            && given(matcher, &answer) == wanted(prompt)
    });
    table.share(
        name(set),
        "recorded prompts, asked again, are themselves",
        right.count(),
        recorded.len(),
        "100 %",
    );
}

/// The share of reachable prompts that is aimed at.
fn goals(set: &str) -> &'static str {
    match set {
        "snips" => "≥ 80 %",
        "slurp" => "≥ 50 %",
        _ => "",
    }
}

fn bucket(confidence: f64) -> &'static str {
    match confidence {
        c if c > 0.9999 => ">.9999",
        c if c > 0.999 => ">.999",
        c if c > 0.99 => ">.99",
        c if c > 0.97 => ">.97",
        c if c > 0.9 => ">.9",
        c if c > 0.5 => ">.5",
        _ => "low",
    }
}

/// CLINC150 and BANKING77: matches where there should be none.
pub(crate) fn intents(set: &str, options: &Options, table: &mut Table) -> Result<(), String> {
    let prompts = sets::load(set, options)?;
    let (outside, inside): (Vec<Prompt>, Vec<Prompt>) = prompts.into_iter().partition(|p| p.intent == "oos");
    let (memory_half, asks) = sets::halves(inside, options);
    let matcher = Matcher::new(memory(&memory_half), &clock());
    again(set, &memory_half, &matcher, options, table);
    let mut shown = options.show;
    let mut texts = String::new();
    let mut count = |prompts: &[Prompt], texts: &mut String| {
        let (mut executed, mut wrong) = (0, 0);
        for prompt in prompts {
            let answer = matcher.ask(&prompt.text, &clock(), &Vocabulary::default());
            if answer.decide(options.limit, Evidence::default()) == Decision::Execute {
                executed += 1;
                let known = answer.scenario.map(|s| &matcher.known()[s]);
                if known.is_none_or(|k| k.family != prompt.intent) {
                    wrong += 1;
                    if shown > 0 {
                        shown -= 1;
                        let near = known.map(|k| {
                            (
                                k.family.as_str(),
                                k.examples.iter().map(|e| e.text.as_str()).take(1).collect::<String>(),
                            )
                        });
                        let _ = writeln!(
                            texts,
                            "FALSE {} ({}) as {near:?} {:?} {:.4}",
                            prompt.text, prompt.intent, answer.difference, answer.confidence
                        );
                    }
                }
            }
        }
        (executed, wrong)
    };
    let (executed, wrong) = count(&asks, &mut texts);
    table.share(name(set), "execute, with no parameters", executed, asks.len(), "");
    table.share(name(set), "false matches across intents", wrong, asks.len(), "≤ 0.1 %");
    if !outside.is_empty() {
        let (_, wrong) = count(&outside, &mut texts);
        table.share(name(set), "false matches out of scope", wrong, outside.len(), "≤ 0.1 %");
    }
    tell(&texts);
    Ok(())
}
