//! What holds for every scenario, whatever was recorded.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bir_calc::Stored;
use bir_calc::calculate::{Calculated, calculate};
use bir_calc::derive::derive;
use bir_calc::edit::{Checker, check, save};
use bir_calc::rehearse::{Values, rehearse};
use bir_calc::trace::{CallFacts, Recorded, Zone};
use bir_entity::Clock;
use bir_model::RunId;
use bir_model::scenario::{Act, EditAsk};
use bir_plan::effect::judge;
use bir_plan::sandbox::Sandbox;
use bir_plan::trace::{Call, Output, Trace};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

static SANDBOX: LazyLock<Sandbox> =
    LazyLock::new(|| Sandbox::new(bir_testkit::bins::bin("bir-sandbox", "bir-sandbox").unwrap()));

fn clock() -> Clock {
    Clock { now: "2026-11-30T10:00[Europe/Berlin]".parse().unwrap() }
}

fn recorded(prompt: &str, calls: Vec<(String, Value, Output)>) -> Recorded {
    let facts = |n: usize| CallFacts {
        row: 2 * n as u32,
        tool_name: format!("tool {n}"),
        context: None,
        judged: judge(None, "x", None, false),
        fingerprint: None,
    };
    Recorded {
        run: RunId::new(),
        calls: (0..calls.len()).map(facts).collect(),
        trace: Trace {
            prompt: prompt.into(),
            clock: clock(),
            calls: calls
                .into_iter()
                .map(|(tool, input, output)| Call {
                    server: Some("s".into()),
                    tool,
                    schema: None,
                    annotations: None,
                    input,
                    output,
                })
                .collect(),
            answer: None,
        },
        apart: Vec::new(),
        zone: Zone::Recorded,
        cwd: None,
        project: None,
    }
}

fn run(runs: Vec<Recorded>) -> Option<Calculated> {
    calculate(runs, &*SANDBOX, 5_000, Duration::from_secs(60)).ok()
}

/// A value of an input or of a result: words and numbers that meet each other, and odd ones.
fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            "Rome",
            "Oslo",
            "2027-05-01",
            "08:00",
            "a@b.example",
            "",
            "é😀\u{0}\"\\",
            "__proto__",
            "712345",
            "true",
            "[redacted:key:0123456789ab]",
            "https://a.example/x/712345",
            "null",
            "</script>",
            "${x}",
        ])
        .prop_map(Value::from),
        prop::sample::select(vec![
            json!(712_345),
            json!(1),
            json!(0.1),
            json!(-0.0),
            json!(1e300),
            json!(9_007_199_254_740_991_i64)
        ]),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(
                prop::sample::select(vec!["id", "name", "city", "__proto__", "a-b", ""]),
                inner,
                0..4
            )
            .prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    value().prop_map(|value| if value.is_object() { value } else { json!({"x": value}) })
}

fn output() -> impl Strategy<Value = Output> {
    prop_oneof![
        (object(), any::<bool>()).prop_map(|(value, truncated)| Output::Value { value, truncated }),
        "[a-z ]{0,12}".prop_map(|text| Output::Text { text, truncated: false }),
    ]
}

fn a_run() -> impl Strategy<Value = Recorded> {
    let call = (prop::sample::select(vec!["find_city", "get_room", "send_mail"]), object(), output());
    let call = call.prop_map(|(tool, input, output)| (tool.to_owned(), input, output));
    let prompt = prop::sample::select(vec![
        "Find Rome on May 1, 2027",
        "712345",
        "Mail a@b.example at 8 am, and Oslo",
    ]);
    (prompt, prop::collection::vec(call, 1..5)).prop_map(|(prompt, calls)| recorded(prompt, calls))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is calculated is stored whole, does what was recorded, and hands over where nothing explains a value.
    #[test]
    fn what_is_calculated_does_what_was_recorded(run_of in a_run()) {
        let Some(found) = run(vec![run_of.clone()]) else { return Ok(()) };
        let text = serde_json::to_string(&found.stored).unwrap();
        let stored: Stored = serde_json::from_str::<Stored>(&text).unwrap().checked().unwrap();
        prop_assert_eq!(&stored, &found.stored);
        let dry = rehearse(&stored, Values::Recorded, None);
        for (step, call) in dry.steps.iter().zip(&run_of.trace.calls) {
            if step.input.is_some() {
                prop_assert!(step.equal, "{:#?}", step);
                let sent = step.input.as_ref().unwrap().to_string();
                prop_assert!(!sent.contains("[redacted:"), "{}", sent);
            } else {
                prop_assert!(step.hand_over.is_some(), "{:?}", call);
            }
            // One run never executes anything.
            prop_assert!(step.act != Act::Run);
        }
        prop_assert!(dry.whole == dry.hand_over.is_none());
        // A payload says of each step what it calls, and can be read.
        let payload = serde_json::to_value(stored.payload(1)).unwrap();
        prop_assert_eq!(payload["steps"].as_array().unwrap().len(), run_of.trace.calls.len());
        let read: bir_model::scenario::Payload = serde_json::from_value(payload).unwrap();
        prop_assert_eq!(read, stored.payload(1));
        for n in 0..stored.steps.len() {
            prop_assert!(stored.step_view(n).is_some());
        }
    }

    /// A value that is derived stands in the prompt, is a normal form of something in it, or is said to be the sample.
    #[test]
    fn nothing_is_guessed(prompt in "[ -~äéЖ日]{0,60}") {
        let stored = &*ROOMS;
        let within = format!("Find a room in {prompt} from May 2, 2027 to May 9, 2027.");
        for prompt in [prompt.clone(), within, format!("{prompt} {}", stored.plan.prompt)] {
            let derived = derive(stored, &prompt, &clock());
            for param in &stored.plan.params {
                let missing = derived.missing.contains(&param.name);
                let sampled = derived.sampled.contains(&param.name);
                let Some(value) = derived.params.get(&param.name) else {
                    prop_assert!(missing, "{}: {:?}", prompt, derived);
                    continue;
                };
                prop_assert!(!missing);
                let text = value.as_str().unwrap_or_default();
                let normal = bir_entity::find(&prompt, &clock(), &bir_entity::Vocabulary::default());
                prop_assert!(
                    sampled || prompt.contains(text) || normal.iter().any(|entity| entity.normal == *value),
                    "{}: {:?}", prompt, derived
                );
            }
            prop_assert!(derived.missing.is_empty() || derived.reason.is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is written as a body, there is a report within its budget, and nothing but the recorded input passes.
    #[test]
    fn any_body_gets_a_report(input in body(), output in body(), step in 0..2_usize) {
        let program = bir_testkit::bins::bin("bir-sandbox", "bir-sandbox").unwrap();
        let checker = Checker { program: &program, body_ms: 200, budget: Duration::from_secs(30) };
        let (input_logic, output_logic) = (Some(input.clone()), Some(output.clone()));
        let ask = EditAsk { input_logic, output_logic, ..EditAsk::default() };
        let checked = check(&ROOMS, 0, step, &ask, &checker).unwrap();
        prop_assert_eq!(checked.report.ok, checked.report.problems.is_empty());
        prop_assert!(!checked.report.ok && !checked.report.no_change, "{} {}", input, output);
        prop_assert!(checked.report.problems.iter().all(|problem| !problem.message.is_empty()));
        prop_assert!(save(checked, &ask).is_err());
    }
}

/// What somebody may write.
fn body() -> impl Strategy<Value = String> {
    let pieces = vec![
        "return {",
        "}",
        "params",
        ".query",
        "respParams",
        "toolOutput",
        "[0]",
        ".city_id",
        ";",
        "(",
        ")",
        "=>",
        "while(true)",
        "throw 1",
        "'x'",
        "1",
        ":",
        ",",
        "query",
        "\n",
        "//",
        "`${",
        "null",
        "new Array(1e9)",
        "async",
        "Promise",
        "\u{2028}",
        "é",
    ];
    prop_oneof![
        prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|p| p.join(" ")),
        "[ -~\n]{0,40}"
    ]
}

fn room(city: &str, id: u64, from: u8, to: u8) -> Recorded {
    let value = |value: Value| Output::Value { value, truncated: false };
    recorded(
        &format!("Find a room in {city} from May {from}, 2027 to May {to}, 2027."),
        vec![
            ("find_city".into(), json!({"query": city}), value(json!([{"city_id": id}]))),
            (
                "search_rooms".into(),
                json!({"city_id": id, "from": format!("2027-05-{from:02}"), "to": format!("2027-05-{to:02}")}),
                value(json!({})),
            ),
        ],
    )
}

static ROOMS: LazyLock<Stored> =
    LazyLock::new(|| run(vec![room("Rome", 712_345, 1, 3), room("Oslo", 998_877, 7, 10)]).unwrap().stored);
