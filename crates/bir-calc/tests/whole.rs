//! The whole way of a scenario: recorded, calculated, stored and read again, matched with other words, rehearsed,
//! edited, taken back.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bir_calc::calculate::{self, Calculated, Code, calculate};
use bir_calc::derive::derive;
use bir_calc::edit::{self, Checker, Pick, Refused, check, check_undo, save, save_undo, undo};
use bir_calc::predict::{Prediction, predict};
use bir_calc::rehearse::{Values, rehearse};
use bir_calc::trace::{Apart, Recorded, Tools, Why};
use bir_calc::{Logic, Stored};
use bir_entity::Clock;
use bir_model::EditId;
use bir_model::record::{RunStart, Step};
use bir_model::scenario::{EditAsk, EditEntry, Level, Mark, ProblemKind, Source, Stage, StepEdits, UndoAsk};
use bir_plan::effect::Effect;
use bir_plan::sandbox::Sandbox;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static PROGRAM: LazyLock<PathBuf> =
    LazyLock::new(|| bir_testkit::bins::bin("bir-sandbox", "bir-sandbox").unwrap());
/// Room for a machine that is busy with other things.
const AMPLE: Duration = Duration::from_secs(60);

fn sandbox() -> Sandbox {
    Sandbox::new(PROGRAM.clone())
}

fn checker() -> Checker<'static> {
    Checker { program: &PROGRAM, body_ms: 1_000, budget: AMPLE }
}

/// A run of calls `(tool, input, output)`.
fn run(prompt: &str, calls: &[(&str, Value, Value)]) -> Recorded {
    let id = bir_model::RunId::new();
    let start: RunStart = serde_json::from_value(json!({"id": id, "tier": "bound", "input": prompt,
        "startedAt": 1_796_032_800_000_u64, "metadata": {"timeZone": "Europe/Berlin"}}))
    .unwrap();
    let row = |index: usize, kind: &str, tool: &str, more: Value| -> Step {
        let mut row = json!({"id": bir_model::StepId::new(), "runId": id, "stepIndex": index, "stepType": kind,
            "toolName": format!("mcp__s__{tool}"), "server": "s", "tool": tool, "at": 1});
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(row).unwrap()
    };
    let mut rows = Vec::new();
    for (n, (tool, input, output)) in calls.iter().enumerate() {
        let result = json!({"content": [{"type": "text", "text": output.to_string()}]});
        rows.push(row(
            2 * n,
            "tool_selected",
            tool,
            json!({"toolInput": input.to_string(), "context": "I look it up."}),
        ));
        rows.push(row(
            2 * n + 1,
            "tool_response",
            tool,
            json!({"outcome": "ok", "toolOutput": result.to_string()}),
        ));
    }
    Recorded::read(&start, &rows, Some("Done."), &Tools::default())
}

/// A room in a city: the id of the city is looked up.
fn room(city: &str, id: u64, from: u8, to: u8) -> Recorded {
    run(
        &format!("Find a room in {city} from May {from}, 2027 to May {to}, 2027."),
        &[
            ("find_city", json!({"query": city}), json!([{"city_id": id, "name": city}])),
            (
                "search_rooms",
                json!({"city_id": id.to_string(), "from": format!("2027-05-{from:02}"),
                    "to": format!("2027-05-{to:02}"), "order": "price"}),
                json!({"rooms": [{"room_id": id * 7, "price": 90}], "offer": id + 3}),
            ),
            ("get_offer", json!({"offer": id + 3}), json!({"price": 90})),
        ],
    )
}

fn calculated(runs: Vec<Recorded>) -> Calculated {
    calculate(runs, &sandbox(), 1_000, AMPLE).unwrap()
}

fn two() -> Calculated {
    // Stays of another length: else the first day could as well be meant as two days before the last one.
    calculated(vec![room("Rome", 712_345, 1, 3), room("Oslo", 998_877, 7, 10)])
}

fn again(stored: &Stored) -> Stored {
    let text = serde_json::to_string(stored).unwrap();
    let read: Stored = serde_json::from_str::<Stored>(&text).unwrap().checked().unwrap();
    assert_eq!(&read, stored);
    read
}

fn clock() -> Clock {
    Clock { now: "2026-12-01T09:00[Europe/Berlin]".parse().unwrap() }
}

fn ask(input: Option<&str>, output: Option<&str>) -> EditAsk {
    EditAsk {
        input_logic: input.map(str::to_owned),
        output_logic: output.map(str::to_owned),
        ..EditAsk::default()
    }
}

/// The name of the parameter that was this in the recording.
fn named(stored: &Stored, sample: &str) -> String {
    stored.plan.params.iter().find(|param| param.sample == sample).unwrap().name.clone()
}

fn kinds(stored: &Stored, step: usize, ask: &EditAsk) -> Vec<ProblemKind> {
    let checked = check(stored, 0, step, ask, &checker()).unwrap();
    checked.report.problems.iter().map(|problem| problem.kind).collect()
}

#[test]
fn two_runs_become_a_scenario_that_does_the_whole_way() {
    let found = two();
    assert_eq!((found.agreeing.len(), found.others.len()), (2, 0));
    let stored = again(&found.stored);
    assert_eq!(stored.level, Level::L1, "{}", stored.level_reason);
    assert_eq!(stored.family, "s/find_city > s/search_rooms > s/get_offer");
    let [city, from, to] = ["Rome", "2027-05-01", "2027-05-03"].map(|sample| named(&stored, sample));
    assert_eq!(stored.intent, format!("Find a room in {{{city}}} from {{{from}}} to {{{to}}}"));
    assert_eq!(stored.wording.examples.len(), 2);
    assert!(!stored.wording.zone_assumed);

    // What a runner is given.
    let payload = serde_json::to_value(stored.payload(0)).unwrap();
    assert_eq!(payload["paramsObject"]["query"]["sampleValue"], "Rome");
    assert_eq!(payload["paramsObject"]["query"]["role"], "target");
    assert_eq!(payload["steps"][1]["toolName"], "mcp__s__search_rooms");
    assert_eq!((&payload["steps"][1]["stepIndex"], &payload["steps"][1]["server"]), (&json!(1), &json!("s")));
    for body in ["toolInputLogic", "toolOutputLogic"] {
        assert!(payload["steps"][0][body].as_str().unwrap().contains("return {"), "{payload:#}");
    }
    assert_eq!(payload["steps"][0]["reasoning"], "I look it up.");

    // With the recording's values it does what was recorded, without a sandbox.
    let dry = rehearse(&stored, Values::Recorded, None);
    assert!(dry.whole && dry.steps.iter().all(|step| step.equal && step.by == Source::Native), "{dry:#?}");

    // With other words it makes other inputs, against the recorded results.
    let prompt = "Find a room in Bern from May 11, 2027 to May 12, 2027.";
    let derived = derive(&stored, prompt, &clock());
    assert_eq!(
        Value::from(derived.params.clone()),
        json!({city: "Bern", from: "2027-05-11", to: "2027-05-12"}),
        "{derived:?}"
    );
    let dry = rehearse(&stored, Values::Prompt { prompt, clock: &clock() }, None);
    assert!(dry.whole, "{dry:#?}");
    assert_eq!(dry.steps[0].input, Some(json!({"query": "Bern"})));
    let differs: Vec<&str> = dry.steps[1].differs.iter().map(|at| at.path.as_str()).collect();
    assert_eq!(differs, ["from", "to"]);
    assert!(dry.steps[2].equal);

    // An edit that does the same in other words holds, and is what runs from then on.
    let body = "const { query } = params;\nreturn { query };";
    let change = ask(Some(body), None);
    let checked = check(&stored, 0, 0, &change, &checker()).unwrap();
    assert!(checked.report.ok && checked.report.problems.is_empty(), "{:#?}", checked.report);
    let saved = save(checked, &change).unwrap();
    assert!(!saved.forced);
    let edited = again(&stored.clone().with_edits(0, saved.after.clone()));
    let sandbox = sandbox();
    let dry = rehearse(
        &edited,
        Values::Prompt { prompt, clock: &clock() },
        Some(Logic::new(&sandbox, 1_000, AMPLE)),
    );
    assert!(
        dry.whole
            && dry.steps[0].by == Source::Sandbox
            && dry.steps[0].input == Some(json!({"query": "Bern"})),
        "{dry:#?}"
    );
    let without = rehearse(&edited, Values::Recorded, None).hand_over.unwrap();
    assert_eq!(
        (without.code.as_str(), without.step_index, without.stage),
        ("unavailable", Some(0), Stage::Input)
    );

    // And is taken back.
    let entry = entry(1, 0, saved.before, saved.after, None);
    let back = undo(&edited, std::slice::from_ref(&entry), Pick::Newest).unwrap();
    let report = check_undo(&edited, &back, &checker()).unwrap();
    let restored = save_undo(&back, &report, &UndoAsk::default()).unwrap();
    assert_eq!(edited.with_edits(0, restored.after), stored);
}

fn entry(
    revision: u64,
    step: u32,
    before: StepEdits,
    after: StepEdits,
    takes_back: Option<EditId>,
) -> EditEntry {
    EditEntry {
        edit_id: EditId::new(),
        step_index: step,
        at: 0,
        by: None,
        before,
        after,
        forced: false,
        note: None,
        revision,
        takes_back,
    }
}

#[test]
fn a_prompt_is_read_or_what_is_missing_is_named() {
    let stored = two().stored;
    // The recorded prompt again, on another day.
    let same = derive(&stored, &stored.plan.prompt, &clock());
    assert_eq!(same.params, stored.samples());
    assert!(same.derived && same.missing.is_empty());
    for other in [
        "Cancel my room in Bern from May 11, 2027 to May 12, 2027.",
        "Do not find a room in Bern from May 11, 2027 to May 12, 2027.",
        "Find a room in Bern from May 11, 2027 to May 12, 2027, and book it.",
        "What is the weather in Bern?",
        "",
        "ابحث عن غرفة في برن",
    ] {
        let derived = derive(&stored, other, &clock());
        assert!(!derived.missing.is_empty() && derived.reason.is_some(), "{other}: {derived:?}");
        let dry = rehearse(&stored, Values::Prompt { prompt: other, clock: &clock() }, None);
        assert_eq!(dry.hand_over.map(|why| (why.code, dry.steps.len())), Some(("unread".into(), 0)));
    }
    let begun = Instant::now();
    assert!(!derive(&stored, &"Find a room ".repeat(20_000), &clock()).derived);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_a_model_did_by_itself_was_foretold_or_not() {
    let stored = two().stored;
    assert_eq!(predict(&stored, &room("Bern", 445_566, 2, 9), None), Prediction::True);
    assert_eq!(room("Bern", 445_566, 2, 9).family(), stored.family);
    // Another offer than the one of the search.
    let mut other = room("Bern", 445_566, 2, 9);
    other.trace.calls[2].input = json!({"offer": 1});
    let Prediction::False { step: 2, differs } = predict(&stored, &other, None) else { panic!("foretold") };
    assert_eq!(differs[0].path, "offer");
    let mut shorter = room("Bern", 445_566, 2, 9);
    shorter.trace.calls.pop();
    assert_eq!(predict(&stored, &shorter, None), Prediction::False { step: 2, differs: Vec::new() });
    let mut longer = room("Bern", 445_566, 2, 9);
    longer.trace.calls.push(longer.trace.calls[0].clone());
    assert_eq!(predict(&stored, &longer, None), Prediction::False { step: 3, differs: Vec::new() });
    let mut said = room("Bern", 445_566, 2, 9);
    said.trace.prompt = "What is the weather in Bern?".into();
    assert!(matches!(predict(&stored, &said, None), Prediction::Unread(_)));
    let mut empty = room("Bern", 445_566, 2, 9);
    empty.trace.calls[0].output = bir_plan::trace::Output::Text { text: "none".into(), truncated: false };
    assert!(matches!(predict(&stored, &empty, None), Prediction::HandedOver(why) if why.code == "absent"));
}

#[test]
fn one_run_is_no_evidence_for_more_than_steering() {
    let found = calculated(vec![room("Rome", 712_345, 1, 3)]);
    assert_eq!(found.stored.level, Level::L0);
    assert!(found.stored.level_reason.contains("one run"));
    // A run that does something else is no second one.
    let other = run("Find a room in Bern.", &[("find_city", json!({"query": "Bern"}), json!([]))]);
    let found = calculated(vec![room("Rome", 712_345, 1, 3), other]);
    assert_eq!((found.agreeing.len(), found.others.len(), found.stored.level), (1, 1, Level::L0));
}

#[test]
fn a_write_that_failed_is_left_out_and_said_to_be() {
    let mut failed = room("Rome", 712_345, 1, 3);
    let call = |row: u32, tool: &str, why: Why, effect: Effect| Apart {
        row,
        server: None,
        tool: tool.into(),
        why,
        effect,
    };
    failed.apart = vec![
        call(1, "book_room", Why::Failed, Effect::Destructive),
        call(3, "find_more", Why::Failed, Effect::Read),
        call(90, "send_mail", Why::Refused, Effect::Destructive),
    ];
    let reasons: Vec<String> =
        calculated(vec![failed]).stored.steps.into_iter().map(|step| step.reasoning.unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "I look it up.",
            "I look it up. (before it `book_room` gave an error, and is not done again)",
            "I look it up. (after it `send_mail` was refused, and is not done again)",
        ]
    );
}

#[test]
fn runs_of_which_nothing_can_be_had_say_why() {
    let code = |run: Recorded| calculate(vec![run], &sandbox(), 1_000, AMPLE).unwrap_err().code;
    assert_eq!(code(run("Find", &[])), Code::NoCalls);
    assert_eq!(code(run(" ", &[("find_x", json!({}), json!({}))])), Code::NoPrompt);
    assert_eq!(
        code(run("Find\n[truncated: 90000 bytes originally]", &[("find_x", json!({}), json!({}))])),
        Code::PromptCut
    );
    let many: Vec<_> = (0..10_000).map(|n| ("find_x", json!({"n": n}), json!({"n": n}))).collect();
    let begun = Instant::now();
    let long = run("Find all", &many);
    assert_eq!(code(long), Code::TooLong);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // A double has not the digits of this number, so the emitted body would send another one.
    let id = 9_007_199_254_740_993_u64;
    let first = ("find_x", json!({"page": 1}), json!({"item": {"item_id": id}}));
    let large = run("Show the first item", &[first, ("get_item", json!({"item_id": id}), json!({}))]);
    assert_eq!(code(large), Code::EmissionDiffers);
    let secret = run("Sign in", &[("find_x", json!({"key": "[redacted:key:0123456789ab]"}), json!({}))]);
    assert_eq!(code(secret), Code::UnexplainedStart);
    let mut unfinished = room("Rome", 712_345, 1, 3);
    unfinished.apart.push(Apart {
        row: 90,
        server: None,
        tool: "send_mail".into(),
        why: Why::Abandoned,
        effect: Effect::Destructive,
    });
    assert_eq!(code(unfinished), Code::UnfinishedWrite);
    assert_eq!(calculate(Vec::new(), &sandbox(), 1_000, AMPLE).unwrap_err().code, Code::NoCalls);
    let nowhere = Sandbox::new("/no/such/bir-sandbox".into());
    let error = calculate(vec![room("Rome", 712_345, 1, 3)], &nowhere, 1_000, AMPLE).unwrap_err();
    assert!(error.code == Code::SandboxUnavailable && error.code.is_passing(), "{error}");
}

#[test]
fn a_budget_is_obeyed() {
    let calls: Vec<_> = (0..calculate::MOST_CALLS)
        .map(|n| {
            let rows: Vec<Value> =
                (0..400).map(|m| json!({"id": n * 1_000 + m, "name": format!("name {n} {m}")})).collect();
            (
                "find_x",
                json!({"id": (n * 1_000).saturating_sub(999), "q": format!("name {n} 3"), "page": n}),
                json!(rows),
            )
        })
        .collect();
    let long = run("Find everything that there is", &calls);
    for budget in [Duration::ZERO, Duration::from_millis(50), calculate::BUDGET] {
        let (runs, sandbox) = (vec![long.clone()], sandbox());
        let begun = Instant::now();
        let found = calculate(runs, &sandbox, 1_000, budget);
        let took = begun.elapsed();
        assert!(took < budget + Duration::from_millis(1_500), "{budget:?}: {took:?}");
        if budget < Duration::from_millis(100) {
            assert_eq!(found.unwrap_err().code, Code::Budget);
        }
    }
}

#[test]
fn a_change_is_judged_by_what_it_does() {
    use ProblemKind::{BreaksAnswer, BreaksLater, Copy, DoesNotCompile, DoesNotReproduce, Fails};
    let stored = two().stored;
    let own = stored.calculated(1);
    let key = stored.plan.steps[0].keeps[0].key.clone();
    let to = named(&stored, "2027-05-03");
    let keeps = |value: &str| format!("return {{ {key}: {value} }};");
    for (step, change, expected) in [
        (0, ask(Some("return { query: params.query };"), None), vec![]),
        (0, ask(Some("return { query: "), None), vec![DoesNotCompile]),
        (0, ask(Some("return { query: params.query.no.such };"), None), vec![Fails]),
        (0, ask(Some("return Promise.resolve({});"), None), vec![Fails]),
        (0, ask(Some("return { query: params.query + '!' };"), None), vec![DoesNotReproduce]),
        (0, ask(Some("return { query: params.query, more: 1 };"), None), vec![DoesNotReproduce]),
        (0, ask(Some("return { query: 'Rome' };"), None), vec![Copy]),
        (1, ask(Some(&own.0.replace("order: \"price\"", "order: \"pri\" + \"ce\"")), None), vec![]),
        // A constant may stand for what was always the same, and for nothing else.
        (
            1,
            ask(
                Some(&format!(
                    "return {{ city_id: `${{respParams.{key}}}`, from: '2027-05-01', to: params.{to}, order: 'price' }};"
                )),
                None,
            ),
            vec![Copy],
        ),
        (0, ask(None, Some(&keeps("toolOutput[0].city_id"))), vec![]),
        (0, ask(None, Some(&keeps("toolOutput.find((city) => city.name === params.query).city_id"))), vec![]),
        (0, ask(None, Some(&keeps("712345"))), vec![Copy]),
        (
            0,
            ask(None, Some(&keeps("toolOutput[0].city_id + 1"))),
            vec![DoesNotReproduce, BreaksLater, BreaksAnswer],
        ),
        (0, ask(None, Some("return {};")), vec![DoesNotReproduce, BreaksLater, BreaksAnswer]),
        (
            0,
            ask(None, Some(&format!("return {{ {key}: toolOutput[0].city_id, name: 'Rome' }};"))),
            vec![Copy],
        ),
        (0, ask(None, Some("return toolOutput;")), vec![Fails]),
        (0, ask(Some("return { query: 1 };"), Some("return [")), vec![DoesNotReproduce, DoesNotCompile]),
    ] {
        assert_eq!(kinds(&stored, step, &change), expected, "{change:?}");
    }
    let checked =
        check(&stored, 0, 0, &ask(Some("const a = 1;\nreturn { query: a.b.c };"), None), &checker()).unwrap();
    assert_eq!((checked.report.problems[0].line, checked.report.problems[0].step_index), (Some(2), Some(0)));
    let checked = check(&stored, 0, 1, &ask(Some("return { city_id: '1' };"), None), &checker()).unwrap();
    let differs: Vec<&str> = checked.report.problems[0].differs.iter().map(|at| at.path.as_str()).collect();
    assert_eq!(differs, ["city_id", "from", "to", "order"]);
    assert!(
        checked.report.problems[0].message.contains("`from` is missing"),
        "{}",
        checked.report.problems[0].message
    );
}

#[test]
fn a_check_ends_in_time_and_blames_nobody_for_a_lack_of_it() {
    let stored = two().stored;
    let begun = Instant::now();
    let endless = ask(Some("while (true) {}"), None);
    let short = Checker { body_ms: 300, budget: Duration::from_secs(10), ..checker() };
    let checked = check(&stored, 0, 0, &endless, &short).unwrap();
    assert_eq!(checked.report.problems[0].kind, ProblemKind::Fails, "{:?}", checked.report);
    assert!(checked.report.problems[0].message.contains("300 ms"));
    let short = Checker { body_ms: 1_000, budget: Duration::from_millis(400), ..checker() };
    let checked = check(&stored, 0, 0, &endless, &short).unwrap();
    assert_eq!(checked.report.problems[0].kind, ProblemKind::TooCostly, "{:?}", checked.report);
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    let nowhere = PathBuf::from("/no/such/bir-sandbox");
    let refused = check(&stored, 0, 0, &endless, &Checker { program: &nowhere, ..checker() }).unwrap_err();
    assert_eq!((refused.code(), refused.status()), ("logic_sandbox_unavailable", 503));
}

#[test]
fn what_is_saved_is_what_was_checked_or_forced_with_a_note() {
    let stored = two().stored;
    let bad = EditAsk { input_logic: Some("return { query: 'Rome' };".into()), ..EditAsk::default() };
    let checked = || check(&stored, 3, 0, &bad, &checker()).unwrap();
    let refused = save(checked(), &bad).unwrap_err();
    assert!(matches!(&refused, Refused::Problems(report) if report.problems.len() == 1));
    assert_eq!((refused.code(), refused.status()), ("edit_refused", 422));
    let force = |note: Option<&str>| EditAsk { force: true, note: note.map(str::to_owned), ..bad.clone() };
    assert_eq!(save(checked(), &force(None)).unwrap_err().code(), "note_needed");
    assert_eq!(save(checked(), &force(Some(" "))).unwrap_err().code(), "note_needed");
    let saved = save(checked(), &force(Some("only Rome"))).unwrap();
    assert!(saved.forced && saved.note.as_deref() == Some("only Rome"));

    // What is the step's already.
    let own = stored.calculated(0);
    let same = ask(Some(&own.0), Some(&own.1));
    let checked = check(&stored, 3, 0, &same, &checker()).unwrap();
    assert!(checked.report.no_change && checked.report.ok);
    assert_eq!(save(checked, &same).unwrap_err().code(), "nothing_to_change");
    let errors = [
        (check(&stored, 3, 9, &bad, &checker()), "step_not_found", 404),
        (
            check(&stored, 3, 0, &EditAsk { expected_revision: Some(2), ..bad.clone() }, &checker()),
            "revision_conflict",
            409,
        ),
        (
            check(&stored, 3, 0, &EditAsk { freeze: true, unfreeze: true, ..bad.clone() }, &checker()),
            "freeze_and_unfreeze",
            400,
        ),
        (
            check(&stored, 3, 0, &ask(Some(&" ".repeat(edit::LONGEST + 1)), None), &checker()),
            "payload_too_large",
            413,
        ),
    ];
    for (outcome, code, status) in errors {
        let refused = outcome.unwrap_err();
        assert_eq!((refused.code(), refused.status()), (code, status), "{refused}");
    }
}

#[test]
fn a_frozen_step_stops_the_scenario_until_it_is_lifted_by_hand() {
    let stored = two().stored;
    let freeze = EditAsk { freeze: true, ..EditAsk::default() };
    let saved = save(check(&stored, 0, 1, &freeze, &checker()).unwrap(), &freeze).unwrap();
    assert_eq!(saved.after.mark, Some(Mark::ByHand));
    let frozen = stored.clone().with_edits(1, saved.after);
    let dry = rehearse(&frozen, Values::Recorded, None);
    assert_eq!(dry.hand_over.map(|why| (why.code, why.step_index)), Some(("frozen".into(), Some(1))));
    assert_eq!(dry.steps.len(), 2);
    // A save leaves the mark, a forced one too.
    let other = ask(Some(&format!("{}\n", stored.calculated(1).0)), None);
    assert_eq!(check(&frozen, 0, 1, &other, &checker()).unwrap().after.mark, Some(Mark::ByHand));
    let lift = EditAsk { unfreeze: true, ..EditAsk::default() };
    assert_eq!(
        save(check(&frozen, 0, 1, &lift, &checker()).unwrap(), &lift).unwrap().after,
        StepEdits::default()
    );
    assert_eq!(edit::recalculable(&frozen, false).unwrap_err().code(), "scenario_has_edits");
    assert!(edit::recalculable(&frozen, true).is_ok() && edit::recalculable(&stored, false).is_ok());
}

#[test]
fn a_value_that_nothing_explains_freezes_its_step_until_somebody_writes_it() {
    let run = |city: &str, id: u64, text: &str| {
        run(
            &format!("Look {city} up and tell me"),
            &[
                ("find_city", json!({"query": city}), json!([{"city_id": id}])),
                ("find_note", json!({"city": id, "wish": text}), json!({"ok": true})),
            ],
        )
    };
    let found = calculated(vec![
        run("Rome", 712_345, "somewhere with a garden"),
        run("Oslo", 998_877, "near the old harbour"),
    ]);
    let stored = again(&found.stored);
    assert_eq!(stored.steps[1].edits.mark, Some(Mark::Calculation));
    let why = rehearse(&stored, Values::Recorded, None).hand_over.unwrap();
    assert_eq!((why.code.as_str(), why.step_index), ("unexplained", Some(1)));
    assert!(why.why.contains("`wish`"), "{}", why.why);
    // The recorded words are a copy, whoever writes them.
    let key = &stored.plan.steps[0].keeps[0].key;
    let copy =
        ask(Some(&format!("return {{ city: respParams.{key}, wish: 'somewhere with a garden' }};")), None);
    assert_eq!(kinds(&stored, 1, &copy), [ProblemKind::Copy]);
    let forced = EditAsk { force: true, note: Some("always the same".into()), ..copy };
    let saved = save(check(&stored, 0, 1, &forced, &checker()).unwrap(), &forced).unwrap();
    assert!(saved.forced && saved.after.mark.is_none());
    let sandbox = sandbox();
    let edited = stored.with_edits(1, saved.after);
    assert!(rehearse(&edited, Values::Recorded, Some(Logic::new(&sandbox, 1_000, AMPLE))).whole);
}

#[test]
fn calculation_of_ten_steps_is_quick() {
    let calls: Vec<_> = (0..10_u64)
        .map(|n| {
            (
                "find_x",
                json!({"id": 700_000 + n}),
                json!({"next": {"id": 700_001 + n}, "name": format!("thing {n}")}),
            )
        })
        .collect();
    let ten = run("Follow 700000 to the end", &calls);
    let sandbox = sandbox();
    let mut took: Vec<Duration> = (0..20)
        .map(|_| {
            let begun = Instant::now();
            calculate(vec![ten.clone()], &sandbox, 1_000, AMPLE).unwrap();
            begun.elapsed()
        })
        .collect();
    took.sort_unstable();
    println!("median {:?}, most {:?}", took[10], took[19]);
    assert!(took[10] < Duration::from_secs(2), "{took:?}");
}
