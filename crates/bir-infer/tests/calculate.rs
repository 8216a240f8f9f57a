//! What is calculated from runs, and what is not.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bir_entity::Clock;
use bir_infer::{Calculation, calculate};
use bir_plan::template::{Confidence, Origin};
use bir_plan::trace::{Call, Output, Trace};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

fn clock() -> Clock {
    Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
}

fn call(tool: &str, input: Value, output: Value) -> Call {
    Call {
        server: Some("s".into()),
        tool: tool.into(),
        schema: None,
        annotations: None,
        input,
        output: Output::Value { value: output, truncated: false },
    }
}

fn trace(prompt: &str, calls: Vec<Call>) -> Trace {
    Trace { prompt: prompt.into(), clock: clock(), calls, answer: None }
}

/// The inputs of all steps for other words, against given results.
fn replay(found: &Calculation, prompt: &str, results: &[Value]) -> Option<Vec<Value>> {
    let params = found.read(prompt, &clock())?;
    let mut kept = Map::new();
    let mut out = Vec::new();
    for (n, step) in found.scenario.steps.iter().enumerate() {
        out.push(found.scenario.input(n, &params, &kept, "2026-11-30T10:00").ok()?);
        if let Some(result) = results.get(n) {
            step.keep(result, &params, &mut kept, "2026-11-30T10:00").ok()?;
        }
    }
    Some(out)
}

fn origin(found: &Calculation, step: usize, key: &str) -> Origin {
    let at = vec![bir_plan::expr::At::Key(key.into())];
    found.leaves.iter().find(|leaf| leaf.step == step && leaf.path == at).unwrap().origin
}

/// A room in a city: the id of the city is looked up.
fn room(city: &str, id: u64, from: &str, to: &str, people: u64) -> Trace {
    let prompt = format!("We are {people} friends, find us a room in {city} from {from} to {to}.");
    let day = |text: &str| {
        if text.len() > 8 {
            "2027-05-".to_owned() + &format!("{:0>2}", &text[4..text.find(',').unwrap()])
        } else {
            text.into()
        }
    };
    trace(
        &prompt,
        vec![
            call("find_city", json!({"query": city}), json!([{"city_id": id, "name": city, "rank": 3}])),
            call(
                "search_rooms",
                json!({"city_id": id.to_string(), "from": day(from), "to": day(to), "guests": people + 1, "order": "price"}),
                json!({"rooms": [{"room_id": id * 7, "price": 90}, {"room_id": id * 7 + 1, "price": 50}]}),
            ),
            call("show_room", json!({"room_id": id * 7 + 1}), json!({"name": "x"})),
        ],
    )
}

fn rooms() -> [Trace; 3] {
    [
        room("Rome", 712_345, "May 1, 2027", "May 3, 2027", 2),
        room("Oslo", 998_877, "May 7, 2027", "May 9, 2027", 3),
        room("Rio de Janeiro", 445_566, "May 2, 2027", "May 6, 2027", 5),
    ]
}

#[test]
fn one_run_is_explained_and_several_are_trusted() {
    let runs = rooms();
    let one = calculate(&runs[..1]).unwrap();
    assert_eq!(origin(&one, 0, "query"), Origin::Prompt);
    assert_eq!(origin(&one, 1, "city_id"), Origin::Result);
    assert_eq!(origin(&one, 1, "from"), Origin::Prompt);
    assert_eq!(origin(&one, 1, "order"), Origin::Constant);
    assert_eq!(one.unexplained().count(), 0);
    assert!(one.verification.passed(1), "{:?}", one.verification);
    assert!(one.scenario.steps[2].confidence() <= Confidence::Low, "one run does not show why this room");

    let several = calculate(&runs).unwrap();
    assert_eq!(several.agreeing, [0, 1, 2]);
    assert!(several.verification.passed(3), "{:?}", several.verification);
    let results = [
        json!([{"city_id": 31_337, "name": "Bern"}]),
        json!({"rooms": [{"room_id": 5, "price": 70}, {"room_id": 6, "price": 60}]}),
    ];
    let inputs = replay(
        &several,
        "We are 4 friends, find us a room in Bern from May 11, 2027 to May 12, 2027.",
        &results,
    );
    let second =
        json!({"city_id": "31337", "from": "2027-05-11", "to": "2027-05-12", "guests": 5, "order": "price"});
    assert_eq!(inputs, Some(vec![json!({"query": "Bern"}), second, json!({"room_id": 6})]));
}

#[test]
fn other_words_are_not_read() {
    let found = calculate(&rooms()).unwrap();
    for other in [
        "We are 4 friends, find us a flat in Bern from May 11, 2027 to May 12, 2027.",
        "We are 4 friends, find us a room in Bern from May 11, 2027 to May 12, 2027, but no hostel.",
        "We are 4 friends, do not find us a room in Bern from May 11, 2027 to May 12, 2027.",
        "We are 4 friends, find us a room near Bern from May 11, 2027 to May 12, 2027.",
        "",
    ] {
        assert_eq!(found.read(other, &clock()), None, "{other}");
    }
}

#[test]
fn explanations_that_disagree_hand_over() {
    // The last is the cheapest in all three; where it is not, nobody knows which was meant.
    let found = calculate(&rooms()).unwrap();
    let results = [
        json!([{"city_id": 31_337, "name": "Bern"}]),
        json!({"rooms": [{"room_id": 5, "price": 40}, {"room_id": 6, "price": 60}]}),
    ];
    assert_eq!(
        replay(
            &found,
            "We are 4 friends, find us a room in Bern from May 11, 2027 to May 12, 2027.",
            &results
        ),
        None
    );
}

#[test]
fn a_coincidence_dies_with_the_second_run() {
    let run = |id: u64, limit: u64| {
        trace(
            &format!("List {limit} tickets of project ABC-{id}"),
            vec![
                call(
                    "open_project",
                    json!({"project": format!("ABC-{id}")}),
                    json!({"size": 7_654_321, "key": id * 11}),
                ),
                // In the first run the size is the key by coincidence.
                call("list_tickets", json!({"key": id * 11, "limit": limit}), json!([])),
            ],
        )
    };
    let mut first = run(695_847, 20);
    first.calls[0].output =
        Output::Value { value: json!({"key_size": 7_654_317, "key": 7_654_317}), truncated: false };
    first.calls[1].input = json!({"key": 7_654_317, "limit": 20});
    let both = calculate(&[first, run(812_233, 30)]).unwrap();
    let leaf = both.leaves.iter().find(|leaf| leaf.step == 1 && leaf.source.is_some()).unwrap();
    assert_eq!(leaf.source.as_ref().unwrap().keys, ["key"]);
    assert_eq!(leaf.others, 0);
}

#[test]
fn what_was_redacted_or_cut_off_is_no_witness() {
    let secret = "[redacted:token:0123456789ab]";
    let run = trace(
        "Fetch the report",
        vec![
            call(
                "log_in",
                json!({}),
                json!({"token": secret, "body": {"truncated": true, "originalBytes": 99, "head": "R-5567881"}}),
            ),
            call("get_report", json!({"token": secret, "id": "R-5567881"}), json!({})),
        ],
    );
    let found = calculate(&[run]).unwrap();
    assert_eq!(origin(&found, 1, "token"), Origin::Unexplained);
    assert_eq!(origin(&found, 1, "id"), Origin::Unexplained);
    assert!(found.scenario.steps.iter().all(|step| step.keeps.is_empty()));
}

#[test]
fn bad_input_has_an_answer_within_its_budget() {
    assert!(calculate::<Trace>(&[]).is_none());
    let empty = calculate(&[trace("", Vec::new())]).unwrap();
    assert!(empty.scenario.steps.is_empty() && empty.read("anything", &clock()).is_none());
    // Ids that point at each other.
    let ring = (0..30).map(|n| {
        call(
            "follow",
            json!({"id": format!("node-{:06}", n * 7)}),
            json!({"id": format!("node-{:06}", (n + 1) % 30 * 7), "back": format!("node-{:06}", n * 7)}),
        )
    });
    let ring = calculate(&[trace("Follow node-000000", ring.collect())]).unwrap();
    assert_eq!(ring.unexplained().count(), 0);
    let many = (0..10_000).map(|n| {
        call("touch", json!({"n": n, "name": format!("file{n}")}), json!({"ok": true, "next": n + 1}))
    });
    let long = "word Berlin 2027-05-01 ".repeat(5_000);
    for run in [
        trace("Touch all", many.collect()),
        trace(&long, vec![call("say", json!({"text": "Berlin"}), json!({}))]),
    ] {
        let start = Instant::now();
        let found = calculate(&[run]).unwrap();
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        assert!(found.read("Touch all files", &clock()).is_none());
    }
}

#[test]
fn every_language_and_no_text_have_an_answer() {
    for prompt in [
        "Finde ein Zimmer in Rom am 3. Mai 2027",
        "在罗马找一个房间",
        "ローマの部屋を探して",
        "Найди номер в Риме",
        "ابحث عن غرفة في روما",
        "Trouve une chambre à Rome",
        "रोम में एक कमरा खोजें",
        "로마에서 방을 찾아줘",
        "Busca una habitación en Roma",
        "Roma'da bir oda bul",
        "\u{0}\u{feff}\u{202e}",
    ] {
        let found = calculate(&[trace(prompt, vec![call("find", json!({"q": "x"}), json!(null))])]).unwrap();
        assert!(found.read("Find a room in Oslo", &clock()).is_none(), "{prompt}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was recorded: a dry replay gives it again, and a change moves exactly what depends on it.
    #[test]
    fn a_change_moves_exactly_the_dependent_leaves(
        names in prop::collection::vec("[A-Z][a-z]{4,8}", 1..4),
        ids in prop::collection::vec(100_000_u64..999_999, 4),
        picks in prop::collection::vec(0_usize..4, 1..4),
    ) {
        let prompt = format!("Please look at {}", names.join(" or "));
        let list: Vec<Value> = ids.iter().enumerate().map(|(n, id)| json!({"item_id": id, "title": format!("T{n}"), "size": id % 97})).collect();
        let mut calls = vec![call("search_items", json!({"query": names[0], "page": 1}), json!({"items": list, "total": 4}))];
        for pick in &picks {
            calls.push(call("get_item", json!({"item_id": ids[*pick], "owner": names[names.len() - 1]}), json!({"done": true})));
        }
        let found = calculate(&[trace(&prompt, calls)]).unwrap();
        prop_assert_eq!(found.unexplained().count(), 0);
        prop_assert!(found.verification.passed(1), "{:?}", found.verification);
        prop_assert!(found.verification.changes > 0);
    }
}

#[test]
fn a_list_that_gives_back_what_was_asked_for_is_not_where_it_comes_from() {
    let id = "8812345";
    let run = trace(
        "Show the rooms of the Grand Hotel",
        vec![
            call("find_place", json!({"query": "Grand Hotel"}), json!([{"dest_id": id, "type": "hotel"}])),
            call("search_hotels", json!({"dest": id}), json!({"hotels": [{"hotel_id": id, "price": 90}]})),
            call("rooms", json!({"hotel_id": id}), json!({})),
        ],
    );
    let found = calculate(&[run]).unwrap();
    let source = |step: usize| {
        let leaf = found.leaves.iter().find(|leaf| leaf.step == step).unwrap();
        leaf.source.as_ref().map(|source| source.step)
    };
    assert_eq!((source(1), source(2)), (Some(0), Some(0)));
}

#[test]
fn one_leaf_that_is_not_sure_keeps_a_scenario_from_beginning_unless_a_person_wrote_it() {
    let one = calculate(&rooms()[..1]).unwrap();
    assert!(!one.scenario.is_sure(|_| false));
    assert!(one.scenario.is_sure(|step| step == 2), "its other steps are sure enough");
    assert!(!one.scenario.is_sure(|step| step == 0));
}
