//! A matcher that learned and forgot answers like one that was made of what is left.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bir_entity::{Clock, Vocabulary};
use bir_match::decide::READS;
use bir_match::{Absent, Answer, Evidence, Example, Known, Matcher, Place, Slot};
use bir_plan::param::{Reading, Role};
use proptest::prelude::*;
use serde_json::Value;

fn clock() -> Clock {
    Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
}

/// Requests with places for values.
const WORDINGS: &[(&str, &[&str])] = &[
    ("mail", &["send {file} to {who}", "please mail {file} to {who} today", "{who} needs {file}"]),
    ("mail", &["send it to {who} as {file}", "forward {file} to {who} and {who}"]),
    ("flight", &["find the cheapest flight from {city} to {city} on {day}", "fly me to {city} on {day}"]),
    (
        "lights",
        &["turn on the light", "turn off the light in {room}", "dim the light in {room} by {number} %"],
    ),
    ("plain", &["what did my team do yesterday", "show me what my team did"]),
];
const VALUES: &[(&str, &[&str])] = &[
    ("file", &["report.pdf", "the sales report", "Notes", "budget 2026"]),
    ("who", &["Ann", "bob@example.org", "Carol Smith", "dave"]),
    ("city", &["Paris", "Rome", "New York", "Oslo"]),
    ("day", &["5 December", "tomorrow", "2026-12-24", "1 May"]),
    ("room", &["kitchen", "living room", "hall"]),
    ("number", &["5", "20", "35"]),
];

/// A scenario without prompts; it has two places of each sort.
fn scenario(number: usize) -> Known {
    let (family, _) = WORDINGS[number % WORDINGS.len()];
    let place = |sort: &str, at: usize| Place {
        name: format!("{sort}{at}"),
        sort: sort.to_owned(),
        reading: Reading::Text,
        role: Role::Setting,
        sample: Value::Null,
    };
    let places = VALUES.iter().flat_map(|(sort, _)| [place(sort, 1), place(sort, 2)]).collect();
    Known { id: format!("s{number}"), family: family.to_owned(), places, examples: Vec::new() }
}

fn example(scenario: usize, wording: usize, values: usize) -> Example {
    let (_, wordings) = WORDINGS[scenario % WORDINGS.len()];
    let (mut text, mut slots, mut rest) = (String::new(), Vec::new(), wordings[wording % wordings.len()]);
    let mut seed = values;
    let mut used = [0; 6];
    while let Some(open) = rest.find('{') {
        text += &rest[..open];
        let close = rest.find('}').unwrap();
        let sort = VALUES.iter().position(|(sort, _)| *sort == &rest[open + 1..close]).unwrap();
        let of = VALUES[sort].1;
        let value = of[seed % of.len()];
        seed /= of.len();
        slots.push(Slot { span: text.len()..text.len() + value.len(), place: sort * 2 + used[sort] });
        used[sort] += 1;
        text += value;
        rest = &rest[close + 1..];
    }
    Example { text: text + rest, slots }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(usize),
    Add(usize, usize, usize),
    Take(usize, usize),
    Remove(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0_usize..20).prop_map(Step::Insert),
        8 => (0_usize..8, 0_usize..4, 0_usize..256).prop_map(|(s, w, v)| Step::Add(s, w, v)),
        3 => (0_usize..8, 0_usize..6).prop_map(|(s, e)| Step::Take(s, e)),
        1 => (0_usize..8).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 1..60)
}

/// What an answer says, without places in lists.
fn said(matcher: &Matcher, answer: &Answer) -> String {
    let known = answer.scenario.map(|s| &matcher.known()[s]);
    let name = |g: &bir_match::Given| known.map(|k| k.places[g.place].name.clone());
    let values: Vec<_> = answer.values.iter().map(|g| (name(g), g.value.clone())).collect();
    let decision = answer.decide(READS, Evidence::default());
    let Answer { missing, difference, veto, shown, .. } = answer;
    let id = known.map(|k| &k.id);
    format!("{id:?} {values:?} {missing:?} {difference:?} {veto:?} {shown} {decision:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn incremental_equals_rebuilt(steps in steps()) {
        let mut matcher = Matcher::new(Vec::new(), &clock());
        let mut named = 0;
        for step in &steps {
            match step {
                Step::Insert(kind) => {
                    let mut known = scenario(*kind);
                    known.id = format!("s{named}");
                    named += 1;
                    known.examples = vec![example(*kind, named, named * 7)];
                    let at = matcher.insert(known.clone());
                    prop_assert_eq!(&matcher.known()[at], &known);
                }
                Step::Add(at, wording, values) => {
                    let Some(known) = matcher.known().get(*at) else { continue };
                    let kind = WORDINGS.iter().position(|(f, _)| *f == known.family).unwrap();
                    let _ = matcher.insert_example(*at, example(kind, *wording, *values));
                }
                Step::Take(at, number) => {
                    let _ = matcher.remove_example(*at, *number);
                }
                Step::Remove(at) => {
                    let _ = matcher.remove(*at);
                }
            }
        }
        let left: Vec<Known> = matcher.known().iter().filter(|k| !k.examples.is_empty()).cloned().collect();
        let rebuilt = Matcher::new(left, &clock());
        for kind in 0..WORDINGS.len() {
            for number in 0..12 {
                let prompt = example(kind, number, number * 37 + 11).text;
                let asked = |m: &Matcher| m.ask(&prompt, &clock(), &Vocabulary::default());
                let (one, two) = (asked(&matcher), asked(&rebuilt));
                prop_assert_eq!(said(&matcher, &one), said(&rebuilt, &two), "{}", prompt);
                prop_assert!((one.confidence - two.confidence).abs() < 1e-6, "{prompt}: {one:?} {two:?}");
                prop_assert!((one.weight - two.weight).abs() < 1e-6 && (one.doubt - two.doubt).abs() < 1e-6, "{prompt}: {one:?} {two:?}");
            }
        }
    }
}

#[test]
fn what_is_forgotten_leaves_nothing() {
    let mut matcher = Matcher::new(Vec::new(), &clock());
    let mut known = scenario(0);
    known.examples = (0..3).map(|n| example(0, n, n)).collect();
    let at = matcher.insert(known);
    assert_eq!(matcher.insert_example(at, example(0, 1, 9)), Ok(3));
    matcher.remove(at).unwrap();
    assert!(matcher.known()[at].examples.is_empty());
    let answer = matcher.ask("send report.pdf to Ann", &clock(), &Vocabulary::default());
    assert_eq!((answer.scenario, answer.nearest), (None, None));
    assert_eq!(matcher.remove(at), Err(Absent::Scenario));
    assert_eq!(matcher.insert_example(at, example(0, 1, 9)), Err(Absent::Scenario));
    assert_eq!(matcher.remove_example(at, 0), Err(Absent::Example));
    assert_eq!(matcher.remove_example(99, 0), Err(Absent::Scenario));
    // The place is taken again.
    assert_eq!(matcher.insert(scenario(1)), at);
}
