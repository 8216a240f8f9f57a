//! Prompts that look like a recorded one and ask for something else: each is made from a prompt of a set by one change, and is asked
//! against a memory that holds that very prompt.
//!
//! An execution is right only if what changed is what it says: swapped values in the parameters that they now stand in, an inserted word as
//! a value of its own. Everything else that executes is wrong.

use crate::matching::{clock, given, memory, tell, wanted};
use crate::sets::{self, Options, Prompt};
use crate::table::Table;
use bir_entity::{Kind, Vocabulary};
use bir_match::{Decision, Difference, Evidence, Matcher};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// Pairs of a kind and set.
const PAIRS: usize = 400;

/// What may be executed.
enum Right {
    /// Nothing.
    Nothing,
    /// The plan of the prompt that was changed, with these values.
    Values(Vec<(String, String)>),
    /// A plan in which this is a value of its own.
    Own(String),
    /// Anything but the plan of the prompt that was changed.
    Another,
}

struct Pair {
    kind: &'static str,
    text: String,
    right: Right,
}

const ANTONYMS: &[(&str, &str)] = &[
    ("on", "off"),
    ("up", "down"),
    ("add", "remove"),
    ("start", "stop"),
    ("open", "close"),
    ("increase", "decrease"),
    ("raise", "lower"),
    ("show", "hide"),
    ("play", "pause"),
    ("buy", "sell"),
    ("send", "receive"),
    ("include", "exclude"),
    ("enable", "disable"),
    ("lock", "unlock"),
    ("high", "low"),
    ("hot", "cold"),
    ("new", "old"),
    ("next", "previous"),
    ("book", "cancel"),
    ("create", "delete"),
    ("put", "take"),
    ("give", "deny"),
    ("find", "lose"),
    ("make", "undo"),
    ("to", "from"),
    ("with", "without"),
    ("before", "after"),
    ("like", "dislike"),
    ("good", "bad"),
    ("allow", "forbid"),
    ("rate", "unrate"),
    ("set", "unset"),
    ("more", "less"),
    ("louder", "quieter"),
    ("upcoming", "past"),
    ("latest", "oldest"),
    ("see", "ignore"),
    ("search", "forget"),
    ("reserve", "release"),
    ("call", "block"),
    ("remind", "stop reminding"),
    ("tell", "never tell"),
    ("check", "uncheck"),
    ("can", "cannot"),
    ("is", "is not"),
    ("will", "will not"),
];
const NEGATIONS: &[&str] = &[
    "do not",
    "don't",
    "never",
    "please do not",
    "you should not",
    "under no circumstances",
    "stop trying to",
    "i don't want you to",
];
const COMPARATORS: &[&str] =
    &["more than", "less than", "at least", "under", "fewer than", "no more than", "up to", "over"];
const SUPERLATIVES: &[&str] = &[
    "cheapest",
    "most expensive",
    "longest",
    "shortest",
    "worst",
    "least popular",
    "second",
    "oldest",
    "biggest",
];
const UNITS: &[&str] =
    &["percent", "kilometers", "dollars", "minutes", "kilograms", "miles", "hours", "degrees"];
const CONDITIONS: &[&str] = &[
    "only if it rains",
    "unless it is raining",
    "but only the unpaid ones",
    "if it costs less than 20 dollars",
    "except on mondays",
    "as long as it is free",
    "that are still open",
    "when i get home",
    "without telling anyone",
    "sorted by date",
    "in alphabetical order",
    "provided that it is open",
    "once the other one is done",
    "but not the old ones",
    "excluding the ones from last year",
    "assuming nobody objects",
    "for my brother's birthday only",
    "with a discount",
];
const SECONDS: &[&str] = &[
    "and then delete it",
    "and send it to bob",
    "and also turn off the lights",
    "then call my mother",
    "afterwards order a taxi",
    "and tell me what it costs",
    "and cancel the other one",
    "plus remove everything else",
    "and after that close the door",
    "or call the police",
    "and email it",
];
const FIRSTS: &[&str] = &[
    "delete everything and",
    "after you call bob",
    "call mom then",
    "turn off the lights and",
    "cancel it and",
];
const POINTERS: &[&str] = &[
    "it",
    "that one",
    "the same one",
    "the previous one",
    "them",
    "the other one",
    "the last one i mentioned",
    "those",
    "his",
    "the former",
];
const AGAIN: &[&str] =
    &["again", "like last time", "as before", "the same way as yesterday", "once more", "as i said"];

/// Runs it on all sets that are there.
pub(crate) fn run(options: &Options, table: &mut Table) -> Result<(), String> {
    let mut counts: BTreeMap<&'static str, [usize; 3]> = BTreeMap::new();
    let mut shown = String::new();
    let mut left = options.show;
    let mut missing = Vec::new();
    for set in ["snips", "slurp", "clinc150", "banking77"] {
        match sets::load(set, options) {
            Ok(prompts) => measure(prompts, options, &mut counts, &mut shown, &mut left),
            Err(why) => missing.push(format!("{set}: {why}")),
        }
    }
    if counts.is_empty() {
        return Err(missing.join("; "));
    }
    let (mut all, mut wrong) = (0, 0);
    for (kind, [n, executed, bad]) in &counts {
        table.share("contrast", format!("{kind}: wrong executes ({executed} execute)"), *bad, *n, "0");
        all += n;
        wrong += bad;
    }
    table.share("contrast", "all kinds: wrong executes", wrong, all, "0");
    tell(&shown);
    for why in missing {
        tell(&format!("not measured: {why}\n"));
    }
    Ok(())
}

fn measure(
    prompts: Vec<Prompt>,
    options: &Options,
    counts: &mut BTreeMap<&'static str, [usize; 3]>,
    shown: &mut String,
    left: &mut usize,
) {
    let mut values: HashMap<(String, String), usize> = HashMap::new();
    for prompt in &prompts {
        for value in wanted(prompt) {
            *values.entry(value).or_default() += 1;
        }
    }
    let (recorded, asks) = sets::halves(prompts, options);
    let matcher = Matcher::new(memory(&recorded), &clock());
    let ask = |text: &str| matcher.ask(text, &clock(), &Vocabulary::default());
    let executes = |text: &str| ask(text).decide(options.limit, Evidence::default()) == Decision::Execute;
    // Those that execute as they are come first: a small change of them is what is dangerous.
    let (mut sure, unsure): (Vec<&Prompt>, Vec<&Prompt>) =
        recorded.iter().chain(&asks).partition(|p| executes(&p.text));
    sure.sort_by_key(|p| sets::hash(&p.text));
    sure.extend(unsure);
    let said: HashSet<String> = recorded.iter().map(|p| p.text.trim().to_lowercase()).collect();
    let mut made: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (number, prompt) in sure.iter().enumerate() {
        let other = sure[(number * 7 + 3) % sure.len()];
        for pair in pairs(prompt, other, &values) {
            let of_kind = made.entry(pair.kind).or_default();
            if *of_kind >= PAIRS || said.contains(&pair.text.trim().to_lowercase()) {
                continue;
            }
            let answer = ask(&pair.text);
            // The changed words are themselves a recorded prompt: no contrast.
            if answer.difference == Some(Difference::Same) {
                continue;
            }
            *of_kind += 1;
            let count = counts.entry(pair.kind).or_default();
            count[0] += 1;
            if answer.decide(options.limit, Evidence::default()) != Decision::Execute {
                continue;
            }
            count[1] += 1;
            let same = answer.scenario.is_some_and(|s| matcher.known()[s].id == prompt.plan());
            let values = given(&matcher, &answer);
            let fine = match &pair.right {
                Right::Nothing => false,
                Right::Values(expected) => same && values == *expected,
                Right::Own(word) => !same && values.iter().any(|(_, v)| v.trim_start_matches("the ") == word),
                Right::Another => !same,
            };
            if !fine {
                count[2] += 1;
                if *left > 0 {
                    *left -= 1;
                    let plan = answer.scenario.map(|s| matcher.known()[s].id.as_str());
                    let _ = writeln!(
                        shown,
                        "WRONG {}: {} | from {} | {plan:?} {values:?} {:?} {:.4} shown {}",
                        pair.kind, pair.text, prompt.text, answer.difference, answer.confidence, answer.shown
                    );
                }
            }
        }
    }
}

/// One of a list, by the text.
fn one<'a>(list: &[&'a str], text: &str, salt: u64) -> &'a str {
    let at = usize::try_from((sets::hash(text) / 8 + salt) % list.len() as u64).unwrap_or(0);
    list[at]
}

/// The words of a prompt outside of its slots, with their bytes.
fn fixed(prompt: &Prompt) -> Vec<(usize, &str)> {
    let words =
        prompt.text.split_whitespace().map(|w| (w.as_ptr() as usize - prompt.text.as_ptr() as usize, w));
    words.filter(|(at, w)| !prompt.slots.iter().any(|(s, _)| s.start < at + w.len() && *at < s.end)).collect()
}

/// A prompt with other texts in its slots.
fn filled(prompt: &Prompt, with: impl Fn(usize) -> String) -> (String, Vec<(String, String)>) {
    let (mut text, mut values, mut at) = (String::new(), Vec::new(), 0);
    for (number, (span, sort)) in prompt.slots.iter().enumerate() {
        text += &prompt.text[at..span.start];
        let value = with(number);
        text += &value;
        values.push((sort.clone(), value.to_lowercase()));
        at = span.end;
    }
    text += &prompt.text[at..];
    (text, values)
}

fn pairs(prompt: &Prompt, other: &Prompt, values: &HashMap<(String, String), usize>) -> Vec<Pair> {
    let text = prompt.text.trim();
    let open = text.trim_end_matches(['.', '?', '!', ' ']);
    let mut pairs = Vec::new();
    let mut push = |kind, text: String, right| pairs.push(Pair { kind, text, right });
    let slot = |at: usize| prompt.text[prompt.slots[at].0.clone()].to_owned();
    // A swap is one where nothing but the place says which value is which: each is the only one of its kind, and words stand between.
    let typed = |text: &str| {
        !bir_entity::find(text, &clock(), &Vocabulary::default()).iter().all(|e| e.kind == Kind::Name)
    };
    let alone = |at: usize| wanted(prompt).get(at).is_some_and(|v| values.get(v) == Some(&1) && !typed(&v.1));
    let apart =
        |at: usize| prompt.text[prompt.slots[at].0.end..prompt.slots[at + 1].0.start].trim().len() > 1;
    if let Some(a) =
        (1..prompt.slots.len()).map(|at| at - 1).find(|at| alone(*at) && alone(*at + 1) && apart(*at))
    {
        let (swapped, values) = filled(prompt, |n| {
            slot(if n == a {
                a + 1
            } else if n == a + 1 {
                a
            } else {
                n
            })
        });
        push("role swap", swapped, Right::Values(values));
    }
    push("negation", format!("{} {text}", one(NEGATIONS, text, 0)), Right::Nothing);
    let words = fixed(prompt);
    for (at, word) in &words {
        let lower = word.to_lowercase();
        let turned = ANTONYMS
            .iter()
            .find_map(|(a, b)| if *a == lower { Some(*b) } else { (*b == lower).then_some(*a) });
        if let Some(turned) = turned {
            push(
                "antonym",
                format!("{}{turned}{}", &prompt.text[..*at], &prompt.text[at + word.len()..]),
                Right::Another,
            );
            break;
        }
    }
    let number =
        prompt.slots.iter().find(|(s, _)| prompt.text[s.clone()].starts_with(|c: char| c.is_ascii_digit()));
    if let Some((span, _)) = number {
        let comparator = one(COMPARATORS, text, 1);
        push(
            "comparator",
            format!("{}{comparator} {}", &prompt.text[..span.start], &prompt.text[span.start..]),
            Right::Own(format!("{comparator} {}", &prompt.text[span.clone()])),
        );
        let unit = one(UNITS, text, 2);
        // The unit is said, so a value that has it says what was meant.
        let with =
            filled(
                prompt,
                |n| if prompt.slots[n].0 == *span { format!("{} {unit}", slot(n)) } else { slot(n) },
            );
        push("unit", with.0, Right::Values(with.1));
    } else if let Some((span, _)) = prompt.slots.last() {
        let comparator = one(COMPARATORS, text, 1);
        push(
            "comparator",
            format!("{}{comparator} 5 {}", &prompt.text[..span.start], &prompt.text[span.start..]),
            Right::Own(format!("{comparator} 5")),
        );
    }
    if let Some((span, _)) = prompt.slots.first() {
        let superlative = one(SUPERLATIVES, text, 3);
        push(
            "superlative",
            format!("{}{superlative} {}", &prompt.text[..span.start], &prompt.text[span.start..]),
            Right::Own(superlative.to_owned()),
        );
    } else if let Some((at, _)) = words.last() {
        let superlative = one(SUPERLATIVES, text, 3);
        push(
            "superlative",
            format!("{}{superlative} {}", &prompt.text[..*at], &prompt.text[*at..]),
            Right::Nothing,
        );
    }
    push("extra condition", format!("{open} {}", one(CONDITIONS, text, 4)), Right::Nothing);
    let compound = match sets::hash(text) % 5 {
        0 => format!("{open} and {}", other.text.trim()),
        1 => format!("{open}, {}", other.text.trim()),
        2 => format!("{} {text}", one(FIRSTS, text, 5)),
        _ => format!("{open} {}", one(SECONDS, text, 6)),
    };
    push("compound", compound, Right::Nothing);
    if !prompt.slots.is_empty() && !sets::hash(text).is_multiple_of(3) {
        let which = usize::try_from(sets::hash(text) / 16).unwrap_or(0) % prompt.slots.len();
        let pointer = one(POINTERS, text, 7);
        let (pointing, _) = filled(prompt, |n| if n == which { pointer.to_owned() } else { slot(n) });
        push("reference", pointing, Right::Nothing);
    } else {
        push("reference", format!("{open} {}", one(AGAIN, text, 8)), Right::Nothing);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_says_what_now_stands_where() {
        let prompt = Prompt {
            text: "add A to B".into(),
            intent: "i".into(),
            slots: vec![(4..5, "song".into()), (9..10, "list".into())],
        };
        let swap = pairs(&prompt, &prompt, &wanted(&prompt).into_iter().map(|v| (v, 1)).collect())
            .into_iter()
            .find(|p| p.kind == "role swap")
            .unwrap();
        assert_eq!(swap.text, "add B to A");
        assert!(
            matches!(swap.right, Right::Values(v) if v == [("song".into(), "b".into()), ("list".into(), "a".into())])
        );
        assert_eq!(
            wanted(&prompt),
            [("song".to_owned(), "a".to_owned()), ("list".to_owned(), "b".to_owned())]
        );
    }
}
