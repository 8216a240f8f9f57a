//! What a prompt has to be like to be another one's task: tables of prompts that are and are not, and properties of any.

mod common;

use bir_entity::Vocabulary;
use bir_match::decide::{READS, WRITES};
use bir_match::{Decision, Difference, Evidence, Known, Lack, Matcher, Veto};
use bir_plan::param::{Param, Reading, Role};
use common::{clock, executes, scenario};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A handful of tasks, each recorded a few times.
fn recorded() -> Matcher {
    Matcher::new(
        vec![
            scenario(
                "flight",
                &[
                    "Find the cheapest flight from [from=Paris] to [to=Rome] on [day:date=5 December]",
                    "Find the cheapest flight from [from=Berlin] to [to=Oslo] on [day:date=12 March]",
                    "Find the cheapest flight from [from=Madrid] to [to=New York] on [day:date=1 May]",
                    "Find the cheapest flight from [from=Porto] to [to=Lyon] on [day:date=tomorrow]",
                ],
            ),
            scenario(
                "report",
                &[
                    "Send the sales report of project [project=Falcon] to [who=ann@example.org]",
                    "Send the sales report of project [project=Heron] to [who=bob@example.org]",
                    "Please send the sales report of project [project=Kestrel] to [who=eve@example.org]",
                    "Send the sales report of project [project=Osprey] to [who=joe@example.org]",
                ],
            ),
            scenario("standup", &["Show me what my team did since yesterday's standup meeting"]),
        ],
        &clock(),
    )
}

#[test]
fn the_same_task_with_other_parameters_is_recognised() {
    let matcher = recorded();
    for (prompt, expected) in [
        (
            "Find the cheapest flight from Vienna to Lisbon on 24 December",
            vec![("from", json!("Vienna")), ("to", json!("Lisbon")), ("day", json!("2026-12-24"))],
        ),
        // Roles are where they stand, not which value it was.
        (
            "Find the cheapest flight from Rome to Paris on 5 December",
            vec![("from", json!("Rome")), ("to", json!("Paris")), ("day", json!("2026-12-05"))],
        ),
        (
            "could you please find the cheapest flight from Paris to Rome on tomorrow?",
            vec![("from", json!("Paris")), ("to", json!("Rome")), ("day", json!("2026-12-01"))],
        ),
        (
            "Send the sales report of project Condor to zoe@example.org",
            vec![("project", json!("Condor")), ("who", json!("zoe@example.org"))],
        ),
        ("show me what my team did since yesterday's standup meeting, please", vec![]),
    ] {
        let expected: Vec<(String, Value)> = expected.into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
        assert_eq!(executes(&matcher, prompt), Some(expected), "{prompt}");
    }
}

#[test]
fn what_only_looks_alike_is_not() {
    let matcher = recorded();
    for prompt in [
        // Negation, antonym, superlative, comparator.
        "Do not find the cheapest flight from Paris to Rome on 5 December",
        "Don't send the sales report of project Falcon to ann@example.org",
        "Find the most expensive flight from Paris to Rome on 5 December",
        "Find the second cheapest flight from Paris to Rome on 5 December",
        "Find a flight cheaper than 100 from Paris to Rome on 5 December",
        "Cancel the cheapest flight from Paris to Rome on 5 December",
        // Another thing, an extra condition, a second request.
        "Send the purchase report of project Falcon to ann@example.org",
        "Send the sales report of project Falcon to ann@example.org only if it is final",
        "Send the sales report of project Falcon except the appendix to ann@example.org",
        "Send the sales report of project Falcon to ann@example.org and to bob@example.org",
        "Send the sales report of project Falcon to ann@example.org and then delete it",
        "Find the cheapest flight from Paris to Rome on 5 December and book it",
        "Find the cheapest flight from Paris to Rome on 5 December before noon",
        "Find the cheapest flight from Paris to Rome on 5 December for 3 people",
        // An earlier turn, a missing or a further parameter.
        "Send the sales report of project Falcon to her",
        "Send the sales report of the same project to ann@example.org",
        "Find the cheapest flight from there to Rome on 5 December",
        "Find the cheapest flight from Paris to Rome",
        "Find the cheapest flight from Paris via Milan to Rome on 5 December",
        "Show me what my team did not do since yesterday's standup meeting",
        "Show me what your team did since yesterday's standup meeting",
        // Nothing.
        "",
        "?!",
        "flight",
        "hello",
    ] {
        assert_eq!(executes(&matcher, prompt), None, "{prompt}");
    }
}

#[test]
fn other_languages_and_control_characters_are_answered() {
    let matcher = recorded();
    for prompt in [
        "Finde den billigsten Flug von Paris nach Rom am 5. Dezember",
        "Trouve le vol le moins cher de Paris à Rome le 5 décembre",
        "Busca el vuelo más barato de París a Roma",
        "Trova il volo più economico da Parigi a Roma",
        "Encontre o voo mais barato de Paris para Roma",
        "Zoek de goedkoopste vlucht van Parijs naar Rome",
        "Найди самый дешёвый рейс из Парижа в Рим",
        "查找从巴黎到罗马最便宜的航班",
        "パリからローマへの一番安い便を探して",
        "ابحث عن أرخص رحلة من باريس إلى روما",
        "מצא את הטיסה הזולה ביותר מפריז לרומא",
        "\u{0}\u{1b}[31mFind\u{7}",
        "\u{202e}Find the cheapest flight",
        "✈️ 🇫🇷 ➡️ 🇮🇹 🗓️5️⃣",
        "🛫",
        "Find the cheapest flight from 🥐 to 🍕 on 5 December",
        "Find the cheapest flight from Paris to Rome on 5 December 🚫",
        "\u{1}\u{2}\u{3}\r\n\t\u{7f}\u{85}\u{200b}",
    ] {
        assert_eq!(executes(&matcher, prompt), None, "{prompt}");
    }
}

#[test]
fn a_prompt_of_any_length_is_answered_in_its_budget() {
    let matcher = recorded();
    for unit in
        ["Find the cheapest flight from Paris to Rome on 5 December ", "a", "and ", "5 ", "\u{0}", "é "]
    {
        let prompt = unit.repeat(100_000 / unit.len());
        let start = std::time::Instant::now();
        assert_eq!(executes(&matcher, &prompt), None);
        // A debug build on a busy machine.
        assert!(start.elapsed().as_secs() < 20, "{unit}: {:?}", start.elapsed());
    }
}

#[test]
fn ten_thousand_equal_prompts_are_one_wording() {
    let known = scenario(
        "flight",
        &["Find the cheapest flight from [from=Paris] to [to=Rome] on [day:date=5 December]"],
    );
    let mut many = known.clone();
    many.examples = vec![known.examples[0].clone(); 10_000];
    let start = std::time::Instant::now();
    let matcher = Matcher::new(vec![many], &clock());
    // A debug build on a busy machine.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    let start = std::time::Instant::now();
    let again = executes(&matcher, "Find the cheapest flight from Paris to Rome on 5 December");
    assert_eq!(again.map(|values| values.len()), Some(3));
    // Ten thousand times the same value is no reason to take another one for granted.
    assert_eq!(executes(&matcher, "Find the cheapest flight from there to it on 5 December"), None);
    assert_eq!(executes(&matcher, "Don't find the cheapest flight from Paris to Rome on 5 December"), None);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn roles_are_where_they_stand() {
    let matcher = Matcher::new(
        vec![scenario(
            "add",
            &[
                "Add [song=Yesterday] to my [list=Summer Hits] now",
                "Add [song=Thunder] to my [list=Road Trip] now",
                "Add [song=Hello] to my [list=Quiet Night] now",
                "Add [song=Angels] to my [list=Summer Hits] now",
                "Add [song=Fields of Gold] to my [list=Old Days] now",
                "Open [list=Summer Hits] and add [song=Yesterday] to it now",
            ],
        )],
        &clock(),
    );
    let swapped = executes(&matcher, "Add Summer Hits to my Yesterday now");
    let said = [("song".to_owned(), json!("Summer Hits")), ("list".to_owned(), json!("Yesterday"))];
    assert!(swapped.is_none_or(|values| values == said));
}

#[test]
fn a_new_value_is_one_thing() {
    let matcher = recorded();
    let send = |who: &str| format!("Send the sales report of project {who} to ann@example.org");
    for value in [
        "several Condor",
        "Condor only",
        "falcon each",
        "falcon mute the lights",
        "everything",
        "hers",
        "Falcon & Heron",
        "Falcon and Heron",
        "Falcon or Condor",
        "Condor 50 %",
        "- 5",
    ] {
        assert_eq!(executes(&matcher, &send(value)), None, "{value}");
    }
    assert!(executes(&matcher, &send("Condor")).is_some());
}

#[test]
fn a_veto_is_told() {
    let matcher = recorded();
    let prompt = "Send the sales report of project Falcon unless it rains to ann@example.org";
    let answer = matcher.ask(prompt, &clock(), &Vocabulary::default());
    assert!(matches!(answer.veto, Some(Veto::Word(_) | Veto::Fixed | Veto::Written)), "{answer:?}");
    assert_eq!(answer.decide(1.0, Evidence::default()), Decision::Decline);
    assert!(answer.nearest.is_some());
}

#[test]
fn a_refusal_names_the_words() {
    let matcher = recorded();
    for (prompt, against, lacking) in [
        (
            "Send the sales report of project Falcon unless it rains to ann@example.org",
            vec!["unless"],
            vec![],
        ),
        ("Send the sales report of project (Falcon to ann@example.org", vec!["(Falcon"], vec![]),
        ("Send the sales report of project Condor NOT to ann@example.org", vec!["NOT"], vec![]),
        ("Find the second cheapest flight from Paris to Rome on 5 December", vec!["second"], vec![]),
        ("Find the cheapest train from Paris to Rome on 5 December", vec!["train"], vec!["flight"]),
        ("Find the cheapest flight from Paris to Rome", vec![], vec!["on"]),
        ("Show me what my team did not do since yesterday's standup meeting", vec!["not", "do"], vec![]),
    ] {
        let answer = matcher.ask(prompt, &clock(), &Vocabulary::default());
        assert_eq!(answer.decide(1.0, Evidence::default()), Decision::Decline, "{prompt}");
        let said: Vec<&str> = answer.against.iter().map(|span| &prompt[span.clone()]).collect();
        assert_eq!(
            (said, answer.lacking),
            (against, lacking.into_iter().map(str::to_owned).collect()),
            "{prompt}"
        );
    }
}

#[test]
fn what_is_not_sure_enough_says_what_it_lacks() {
    let matcher = recorded();
    let answer = matcher.ask(
        "Send the sales report of project Condor to zoe@example.org",
        &clock(),
        &Vocabulary::default(),
    );
    assert_eq!(answer.lacks(READS, Evidence::default()), []);
    let lacks = answer.lacks(WRITES, Evidence::default());
    assert!(matches!(lacks.as_slice(), [Lack::Bound { is, limit }] if is > limit), "{lacks:?}");
    assert_eq!(answer.decide(WRITES, Evidence::default()), Decision::Steer);
}

#[test]
fn a_word_that_joins_is_said_once() {
    let matcher = Matcher::new(
        vec![scenario(
            "files",
            &[
                "list all all files of [who=Ann] by name",
                "list all files of [who=Bob] by size",
                "list all files of [who=Eve] by name",
                "list all files of [who=Joe] by name",
            ],
        )],
        &clock(),
    );
    assert_eq!(executes(&matcher, "list all all files of Bob by size"), None);
}

#[test]
fn own_outcomes_count() {
    let matcher = recorded();
    let prompt = "Send the sales report of project Condor to zoe@example.org";
    let answer = matcher.ask(prompt, &clock(), &Vocabulary::default());
    let failing = Evidence { wrong: 200, of: 400 };
    assert_ne!(answer.decide(READS, failing), Decision::Execute);
    assert!(answer.bound(failing) > answer.bound(Evidence { wrong: 0, of: 1_000 }));
}

#[test]
fn two_scenarios_that_say_the_same_are_not_told_apart() {
    let one = scenario("a", &["Restart the service [name=billing] on the first cluster now"]);
    let mut two = one.clone();
    two.id = "b".to_owned();
    let matcher = Matcher::new(vec![one, two], &clock());
    assert_eq!(executes(&matcher, "Restart the service billing on the first cluster now"), None);
}

#[test]
fn a_recorded_prompt_asks_for_what_it_asked() {
    let prompts = [
        "show the newest issue of [repo=newest] and the newest of [other=it]",
        "Rename [a=the] to [b=not]",
        "do it again for [who=her] and [other=him]",
        "東京[city=の天]気を教えて",
        "Book [n:number=75] euros worth of [what=only the best] until [day:date=tomorrow]",
    ];
    for prompt in prompts {
        let known = scenario("task", &[prompt]);
        let (text, slots) = (known.examples[0].text.clone(), known.examples[0].slots.clone());
        let names: Vec<String> = slots.iter().map(|s| known.places[s.place].name.clone()).collect();
        let matcher = Matcher::new(vec![known], &clock());
        for asked in [text.clone(), format!("  {text}\n")] {
            let answer = matcher.ask(&asked, &clock(), &Vocabulary::default());
            assert_eq!(answer.difference, Some(Difference::Verbatim), "{asked}");
            assert_eq!(answer.decide(WRITES, Evidence::default()), Decision::Execute, "{asked}: {answer:?}");
            let values = executes(&matcher, &asked).unwrap_or_default();
            assert_eq!(values.iter().map(|v| v.0.clone()).collect::<Vec<_>>(), names, "{asked}");
            for ((name, value), slot) in values.iter().zip(&slots) {
                let expected = match name.as_str() {
                    "n" => json!(75),
                    "day" => json!("2026-12-01"),
                    _ => json!(text[slot.span.clone()]),
                };
                assert_eq!(value, &expected, "{asked}: {name}");
            }
        }
    }
}

#[test]
fn a_value_that_is_a_part_of_a_word_is_not_read_elsewhere() {
    let matcher = Matcher::new(
        vec![scenario("task", &["погода в [city=Москв]е сегодня вечером пожалуйста"])],
        &clock(),
    );
    assert_eq!(executes(&matcher, "погода в Самаре сегодня вечером пожалуйста"), None);
    let same = executes(&matcher, "погода в Москве сегодня вечером пожалуйста");
    assert_eq!(same, Some(vec![("city".to_owned(), json!("Москв"))]));
}

#[test]
fn an_amount_keeps_its_unit() {
    let matcher = Matcher::new(
        vec![scenario(
            "hotel",
            &[
                "Find me a hotel in [city=Oslo] for less than [price:number=75] euros a night",
                "Find me a hotel in [city=Rome] for less than [price:number=120] euros a night",
            ],
        )],
        &clock(),
    );
    let asked =
        |price: &str| executes(&matcher, &format!("Find me a hotel in Oslo for less than {price} a night"));
    let said = |price: Value| Some(vec![("city".to_owned(), json!("Oslo")), ("price".to_owned(), price)]);
    assert_eq!(asked("91 euros"), said(json!(91)));
    for other in [
        "91 dollars",
        "91",
        "91 thousand euros",
        "-91 euros",
        "91 or 92 euros",
        "91 euros or less",
        "€91",
        "91 %",
    ] {
        assert_eq!(asked(other), None, "{other}");
    }
}

#[test]
fn a_scenario_of_one_prompt_takes_its_parameters() {
    let text =
        "Create a ticket titled \"Login fails\" in project ABC-1 with high priority for the next release";
    let title = text.find("Login").unwrap();
    let project = text.find("ABC-1").unwrap();
    let param = |name: &str, span: std::ops::Range<usize>| Param {
        name: name.to_owned(),
        sample: json!(&text[span.clone()]),
        spans: vec![span],
        reading: Reading::Text,
        role: Role::Target,
    };
    let params = [param("title", title..title + 11), param("project", project..project + 5)];
    let matcher = Matcher::new(vec![Known::new("ticket", "create_ticket", text, &params)], &clock());
    let asked = "Create a ticket titled \"Logout hangs and then fails\" in project XYZ-9 with high priority for the next release";
    let expected = vec![
        ("title".to_owned(), json!("Logout hangs and then fails")),
        ("project".to_owned(), json!("XYZ-9")),
    ];
    assert_eq!(executes(&matcher, asked), Some(expected));
    let low = asked.replace("high", "low");
    assert_eq!(executes(&matcher, &low), None);
}

#[test]
fn what_is_said_twice_has_to_be_the_same() {
    let prompt = "Copy the folder [name=alpha] to the backup server and check that [name=alpha] arrived there completely";
    let matcher = Matcher::new(vec![scenario("copy", &[prompt])], &clock());
    let asked = |a: &str, b: &str| {
        executes(
            &matcher,
            &format!("Copy the folder {a} to the backup server and check that {b} arrived there completely"),
        )
    };
    assert_eq!(asked("beta", "beta"), Some(vec![("name".to_owned(), json!("beta"))]));
    assert_eq!(asked("beta", "gamma"), None);
}

#[test]
fn places_of_one_sort_are_those_of_the_recorded_prompt() {
    let mut known = scenario(
        "move",
        &["Move the whole budget into account [to=A-100] out of account [from=B-200] before the audit"],
    );
    for place in &mut known.places {
        "account".clone_into(&mut place.sort);
    }
    known.places.swap(0, 1);
    for slot in &mut known.examples[0].slots {
        slot.place = 1 - slot.place;
    }
    let matcher = Matcher::new(vec![known], &clock());
    let asked = "Move the whole budget into account C-300 out of account D-400 before the audit";
    let expected = vec![("to".to_owned(), json!("C-300")), ("from".to_owned(), json!("D-400"))];
    assert_eq!(executes(&matcher, asked), Some(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_answered(text in "(\\PC|Find the cheapest flight|from|to|Rome|[0-9]{1,3}| ){0,30}") {
        let matcher = recorded();
        let answer = matcher.ask(&text, &clock(), &Vocabulary::default());
        prop_assert!((0.0..=1.0).contains(&answer.confidence));
        for given in &answer.values {
            prop_assert!(text.get(given.span.clone()).is_some());
        }
    }

    #[test]
    fn names_are_read_where_they_stand(from in "[A-Z][a-z]{3,9}", to in "[A-Z][a-z]{3,9}") {
        let matcher = recorded();
        let prompt = format!("Find the cheapest flight from {from} to {to} on 5 December");
        if let Some(values) = executes(&matcher, &prompt) {
            prop_assert_eq!(&values[0].1, &json!(from));
            prop_assert_eq!(&values[1].1, &json!(to));
        }
    }

    #[test]
    fn a_word_that_no_prompt_has_shown_is_never_passed_over(word in "[a-z]{3,9}", place in 0_usize..9) {
        let words = "Show me what my team did since yesterday's standup meeting".split(' ').collect::<Vec<_>>();
        prop_assume!(!bir_match::lexicon::is_harmless(&word) && !words.contains(&word.as_str()));
        let (before, after) = words.split_at(place);
        let prompt = [before, &[word.as_str()], after].concat().join(" ");
        prop_assert_eq!(executes(&recorded(), &prompt), None);
    }
}
