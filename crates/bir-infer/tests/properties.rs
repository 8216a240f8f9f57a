//! What has to hold whatever was recorded.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bir_entity::Clock;
use bir_infer::{Calculation, Reader, calculate};
use bir_plan::expr::At;
use bir_plan::scenario::Scenario;
use bir_plan::template::{Confidence, Origin};
use bir_plan::trace::{Call, Output, Trace};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NOW: &str = "2026-11-30T10:00";

fn clock() -> Clock {
    Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
}

fn call(tool: &str, input: Value, output: Value) -> Call {
    let output = Output::Value { value: output, truncated: false };
    Call { server: None, tool: tool.into(), schema: None, annotations: None, input, output }
}

fn trace(prompt: &str, calls: Vec<Call>) -> Trace {
    Trace { prompt: prompt.into(), clock: clock(), calls, answer: None }
}

/// The inputs of all steps for parameters, against given results; None from the first step that has none.
fn inputs(scenario: &Scenario, params: &Map<String, Value>, results: &[Value]) -> Vec<Option<Value>> {
    let (mut kept, mut out) = (Map::new(), Vec::new());
    for (n, step) in scenario.steps.iter().enumerate() {
        out.push(scenario.input(n, params, &kept, NOW).ok());
        if let Some(result) = results.get(n) {
            let _ = step.keep(result, params, &mut kept, NOW);
        }
    }
    out
}

fn samples(found: &Calculation) -> Map<String, Value> {
    found.scenario.params.iter().map(|param| (param.name.clone(), param.sample.clone())).collect()
}

fn origin(found: &Calculation, step: usize, key: &str) -> Origin {
    let path = [At::Key(key.into())];
    found.leaves.iter().find(|leaf| leaf.step == step && leaf.path == path).unwrap().origin
}

/// Opens as many things as there are ids, then reads each.
fn shop(name: &str, ids: &[u64], limit: u64) -> Trace {
    let mut calls: Vec<Call> = ids
        .iter()
        .enumerate()
        .map(|(n, id)| {
            call(
                &format!("open_{n}"),
                json!({"query": name, "limit": limit}),
                json!({"thing_id": id, "size": id % 7 + 3}),
            )
        })
        .collect();
    calls.extend(
        ids.iter().map(|id| call("read", json!({"thing_id": id, "mode": "full"}), json!({"ok": true}))),
    );
    trace(&format!("Read {limit} things about {name}"), calls)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Told from outside: one result is another one, and the inputs that came from it are, and no others.
    #[test]
    fn another_result_moves_exactly_what_came_from_it(
        name in "[A-Z][a-z]{5,9}",
        ids in prop::collection::hash_set(100_000_u64..999_999, 2..5),
        which in 0_usize..5,
        other in 1_000_000_u64..9_999_999,
    ) {
        let ids: Vec<u64> = ids.into_iter().collect();
        let run = shop(&name, &ids, 4);
        let found = calculate(std::slice::from_ref(&run)).unwrap();
        prop_assert!(found.verification.passed(1), "{:?}", found.verification);
        let mut results: Vec<Value> = run
            .calls
            .iter()
            .map(|call| match &call.output { Output::Value { value, .. } => value.clone(), _ => Value::Null })
            .collect();
        let before = inputs(&found.scenario, &samples(&found), &results);
        for (given, recorded) in before.iter().zip(&run.calls) {
            prop_assert_eq!(given.as_ref(), Some(&recorded.input));
        }
        let which = which % ids.len();
        results[which]["thing_id"] = other.into();
        let after = inputs(&found.scenario, &samples(&found), &results);
        for (n, (before, after)) in before.iter().zip(&after).enumerate() {
            if n == ids.len() + which {
                prop_assert_eq!(after.as_ref().unwrap(), &json!({"thing_id": other, "mode": "full"}));
            } else {
                prop_assert_eq!(before, after);
            }
        }
    }

    /// A value that redaction or truncation has touched explains nothing, wherever it stands.
    #[test]
    fn what_was_redacted_or_cut_off_never_explains(
        digest in "[0-9a-f]{12}",
        id in "[A-Z]{3}-[0-9]{6}",
        deep in 0_usize..5,
        redacted in any::<bool>(),
    ) {
        let (value, mut result) = if redacted {
            let secret = format!("[redacted:token:{digest}]");
            (secret.clone(), Value::from(secret))
        } else {
            (id.clone(), json!({"truncated": true, "originalBytes": 4_000_000, "head": id, "key": id}))
        };
        for n in 0..deep {
            result = if n % 2 == 0 { json!({"key": result}) } else { json!([result]) };
        }
        let calls = vec![call("log_in", json!({}), json!({"key": result})), call("fetch", json!({"key": value}), json!({}))];
        let found = calculate(&[trace("Fetch the report", calls)]).unwrap();
        let origin = origin(&found, 1, "key");
        prop_assert!(origin == Origin::Unexplained || (origin == Origin::Constant && !redacted), "{origin:?}");
        prop_assert!(found.scenario.steps.iter().all(|step| step.keeps.is_empty()));
        prop_assert!(found.leaves.iter().all(|leaf| leaf.source.is_none()));
        if redacted {
            prop_assert_eq!(origin, Origin::Unexplained);
        }
    }

    /// In the first run a limit is the size of a result by coincidence; the second tells.
    #[test]
    fn a_coincidence_dies_with_the_second_run(
        ids in prop::collection::hash_set(100_000_u64..999_999, 2),
        limit in 20_u64..90,
    ) {
        let ids: Vec<u64> = ids.into_iter().collect();
        let run = |id: u64, size: u64| trace(
            &format!("List the tickets of PRJ-{id}"),
            vec![
                call("open", json!({"project": format!("PRJ-{id}")}), json!({"key": id * 11, "page_limit": size})),
                call("list", json!({"key": id * 11, "limit": limit}), json!([])),
            ],
        );
        let both = calculate(&[run(ids[0], limit), run(ids[1], limit + 1)]).unwrap();
        prop_assert_eq!(both.agreeing.len(), 2);
        prop_assert_eq!(origin(&both, 1, "key"), Origin::Result);
        prop_assert_ne!(origin(&both, 1, "limit"), Origin::Result);
    }

    /// And the other way round: what is the same in one run by coincidence is no constant in two.
    #[test]
    fn a_constant_dies_with_the_second_run(
        ids in prop::collection::hash_set(100_000_u64..999_999, 2),
        sizes in prop::collection::hash_set(2_u64..900, 2),
    ) {
        let (ids, sizes): (Vec<u64>, Vec<u64>) = (ids.into_iter().collect(), sizes.into_iter().collect());
        let run = |n: usize| trace(
            &format!("List the tickets of PRJ-{}", ids[n]),
            vec![call("list", json!({"project": format!("PRJ-{}", ids[n]), "limit": sizes[n]}), json!([]))],
        );
        let both = calculate(&[run(0), run(1)]).unwrap();
        prop_assert_eq!(origin(&both, 0, "limit"), Origin::Unexplained);
    }

    /// Any prompts at all: an answer, and one that comes from what was recorded.
    #[test]
    fn any_prompts_are_read_or_not(recorded in "\\PC{0,80}", asked in "\\PC{0,80}", id in "[a-z0-9]{1,12}") {
        let found = calculate(&[trace(&recorded, vec![call("find", json!({"q": id, "t": recorded.clone()}), json!([id]))])]).unwrap();
        if let Some(params) = found.read(&asked, &clock()) {
            let given = inputs(&found.scenario, &params, &[]);
            prop_assert_eq!(given.len(), 1);
        }
    }
}

#[test]
fn a_scenario_and_its_reader_are_stored_whole() {
    let runs: Vec<Trace> = [("Rome", 31), ("Oslo", 42), ("Rio de Janeiro", 53)]
        .into_iter()
        .map(|(city, id)| {
            let id = id * 10_007;
            trace(
                &format!("Please show the weather of {city} on May {}, 2027.", id % 28 + 1),
                vec![
                    call("find_city", json!({"query": city}), json!([{"city_id": id}])),
                    call(
                        "weather",
                        json!({"city_id": id, "day": format!("2027-05-{:02}", id % 28 + 1)}),
                        json!({}),
                    ),
                ],
            )
        })
        .collect();
    let found = calculate(&runs).unwrap();
    let scenario: Scenario = serde_json::from_str(&serde_json::to_string(&found.scenario).unwrap()).unwrap();
    let reader: Reader = serde_json::from_str(&serde_json::to_string(&found.reader).unwrap()).unwrap();
    assert_eq!((&scenario, &reader), (&found.scenario, &found.reader));
    let prompt = "Please show the weather of Bern on May 9, 2027.";
    let params = reader.read(prompt, &clock()).unwrap();
    assert_eq!(Some(&params), found.read(prompt, &clock()).as_ref());
    let given = inputs(&scenario, &params, &[json!([{"city_id": 77_777}])]);
    assert_eq!(given[1], Some(json!({"city_id": 77_777, "day": "2027-05-09"})));
    assert!(reader.read("Please show the weather of Bern, not Oslo, on May 9, 2027.", &clock()).is_err());
}

#[test]
fn one_run_that_says_something_else_makes_a_leaf_doubtful() {
    let run = |city: &str, query: &str| {
        trace(&format!("Find a flat in {city}"), vec![call("find_flat", json!({"query": query}), json!({}))])
    };
    let mut runs = vec![run("Rome", "Rome"), run("Oslo", "Oslo"), run("Bern", "Bern")];
    assert!(calculate(&runs).unwrap().scenario.confidence() > Confidence::Low);
    runs.push(run("Paris", "Paris, France"));
    let found = calculate(&runs).unwrap();
    assert_eq!((found.contradicted, found.scenario.confidence()), (1, Confidence::Low));
    assert_eq!(origin(&found, 0, "query"), Origin::Prompt);
}
