//! What is changed in place answers as what is built from the same, and keeps within its bounds.

use super::library::{Change, Library, Most, Scenario};
use super::shelf::Source;
use super::{Asked, Question};
use bir_entity::Clock;
use bir_match::{Example, Known, Place, Slot};
use bir_model::{RunId, ScenarioId};
use bir_plan::param::{Reading, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

const VERBS: [&str; 4] = ["Show the weather in", "Close the ticket", "Find flights to", "Send the report to"];
const VALUES: [&str; 6] = ["Rome", "Oslo", "Lima", "Bern", "Riga", "Kyiv"];
const WIDE: Most = Most { prompts: 1_000, bytes: 1 << 30 };

fn example(verb: usize, value: usize) -> Example {
    let text = format!("{} {}", VERBS[verb], VALUES[value]);
    let span = VERBS[verb].len() + 1..text.len();
    Example { text, slots: vec![Slot { span, place: 0 }] }
}

fn scenario(id: ScenarioId, at: u64, project: &str, verb: usize, values: &[usize]) -> Scenario {
    let place = Place {
        name: "value".into(),
        sort: format!("value{verb}"),
        reading: Reading::Text,
        role: Role::Target,
        sample: "Rome".into(),
    };
    Scenario {
        source: Source { id, revision: at, updated_at: at, run: Some(RunId::new()) },
        project: Some(Arc::from(project)),
        known: Known {
            id: id.to_string(),
            family: format!("tool{verb}"),
            places: vec![place],
            examples: values.iter().map(|value| example(verb, *value)).collect(),
        },
    }
}

fn is(scenario: Scenario) -> Change {
    Change::Is(Box::new(scenario))
}

/// What it says to every prompt that there is: the scenario, what was read, and how they differ.
fn said(library: &Library) -> Vec<String> {
    let clock = Clock { now: jiff::civil::date(2026, 11, 30).in_tz("UTC").unwrap() };
    let mut all = Vec::new();
    for project in ["/a", "/b"] {
        for verb in 0..VERBS.len() {
            for value in 0..VALUES.len() {
                let prompt = example(verb, value).text;
                let question = Question { prompt, project: Some(project.to_owned()), clock: clock.clone() };
                all.push(match library.ask(&question) {
                    Asked::Told(told) => format!(
                        "{:?} {} {:?} {:?} {:.9}",
                        told.scenario,
                        told.revision,
                        told.answer.values,
                        told.answer.difference,
                        told.answer.confidence,
                    ),
                    other => format!("{other:?}"),
                });
            }
        }
    }
    all
}

/// Numbers that look random, the same ones each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

#[test]
fn what_is_changed_in_place_answers_as_what_is_built_anew() {
    let mut dice = Dice(7);
    let ids: Vec<ScenarioId> = (0..6).map(|_| ScenarioId::new()).collect();
    let library = Library::build(Vec::new(), WIDE);
    let mut there: BTreeMap<ScenarioId, Scenario> = BTreeMap::new();
    for at in 1..400_u64 {
        let (n, roll) = (dice.roll(ids.len()), dice.roll(5));
        let id = ids[n];
        if roll == 0 {
            there.remove(&id);
            library.change(Change::Leaves(id));
        } else {
            // The verb is mostly that of the scenario, so that prompts come and go in their places.
            let verb = if roll == 1 { dice.roll(VERBS.len()) } else { n % VERBS.len() };
            let project = if dice.roll(8) == 0 { "/b" } else { "/a" };
            let values: Vec<usize> = (0..=dice.roll(4)).map(|_| dice.roll(VALUES.len())).collect();
            let new = scenario(id, at, project, verb, &values);
            there.insert(id, new.clone());
            library.change(is(new));
        }
        if at % 3 == 0 {
            library.tidy();
        }
        let anew = Library::build(there.values().cloned().collect(), WIDE);
        assert_eq!((library.prompts(), library.bytes()), (anew.prompts(), anew.bytes()), "{at}");
        assert_eq!(said(&library), said(&anew), "{at}");
        for id in &ids {
            assert_eq!(library.revision(*id), there.get(id).map(|one| one.source.revision));
        }
    }
}

#[test]
fn what_does_not_fit_leaves_by_age_and_nothing_is_lost_for_what_is_too_large() {
    let most = Most { prompts: 5, bytes: 1 << 20 };
    let [old, middle, new, large, late] = [0; 5].map(|_| ScenarioId::new());
    let held = |library: &Library| [old, middle, new, large, late].map(|id| library.revision(id).is_some());
    let start = vec![scenario(old, 10, "/a", 0, &[0, 1]), scenario(middle, 20, "/b", 1, &[0, 1])];
    let library = Library::build(start, most);
    assert_eq!(held(&library), [true, true, false, false, false]);
    library.change(is(scenario(large, 40, "/a", 2, &[0; 6])));
    assert_eq!(held(&library), [true, true, false, false, false], "it would not fit alone");
    library.change(is(scenario(new, 30, "/a", 2, &[0, 1])));
    assert_eq!((held(&library), library.prompts()), ([false, true, true, false, false], 4));
    library.change(is(scenario(late, 5, "/a", 3, &[0, 1])));
    assert_eq!(held(&library), [false, true, true, false, false], "older than all, and no room");
    library.change(is(scenario(middle, 50, "/b", 1, &[0, 1, 2, 3])));
    assert_eq!((held(&library), library.prompts()), ([false, true, false, false, false], 4), "it grew");
    library.change(is(scenario(middle, 60, "/b", 1, &[0; 6])));
    assert_eq!((held(&library), library.prompts(), library.bytes()), ([false; 5], 0, 0), "it grew too much");

    // Read at once, the newest are taken.
    let all = (0..10).map(|n| scenario(ScenarioId::new(), n, "/a", 0, &[0, 1])).collect::<Vec<_>>();
    let ids: Vec<ScenarioId> = all.iter().map(|one| one.source.id).collect();
    let library = Library::build(all, most);
    let held: Vec<usize> = (0..10).filter(|n| library.revision(ids[*n]).is_some()).collect();
    assert_eq!(held, [8, 9]);
    let narrow = Most { prompts: 100, bytes: 5_000 };
    let all = (0..10).map(|n| scenario(ScenarioId::new(), n, "/a", 0, &[0])).collect::<Vec<_>>();
    assert_eq!(Library::build(all, narrow).prompts(), 1, "bytes count, too");
}

#[test]
fn a_matcher_that_much_has_left_is_built_anew_and_answers_the_same() {
    let library = Library::build(Vec::new(), WIDE);
    let stays = scenario(ScenarioId::new(), 1, "/a", 0, &[0, 1, 2]);
    library.change(is(stays.clone()));
    for at in 0..300 {
        let id = ScenarioId::new();
        library.change(is(scenario(id, 2 + at, "/a", 1 + (at as usize) % 3, &[0, 1, 2, 3])));
        library.change(Change::Leaves(id));
    }
    let before = said(&library);
    assert_eq!((library.tidy(), library.tidy()), (1, 0));
    assert_eq!(said(&library), before);
    assert_eq!(said(&library), said(&Library::build(vec![stays], WIDE)));
    assert_eq!(library.prompts(), 3);
}
