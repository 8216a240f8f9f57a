//! `bir match` and `bir scenario` against a hub that follows a script: what is sent, what is shown, how each ends.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::stub::{Reply, Stub};
use common::{Home, Said};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

const RUN: &str = "run_01970000-0000-7000-8000-000000000001";
const SCN: &str = "scn_01970001-0000-7000-8000-000000000001";
const OTHER: &str = "scn_01970001-0000-7000-8000-0000000000ff";
const EDIT: &str = "sedit_01970002-0000-7000-8000-000000000001";
const NEWER: &str = "sedit_01970003-0000-7000-8000-000000000001";

fn at(tail: &str) -> String {
    format!("/scenarios/{SCN}{tail}")
}

fn step(index: u32) -> Value {
    json!({"stepIndex": index, "toolName": "mcp__hotels__search", "server": "hotels", "tool": "search", "effect": "read",
        "toolInputLogic": "return { city: params.city };", "toolOutputLogic": "return { id: toolOutput.id };", "reasoning": "find it",
        "confidence": "medium", "inputEdited": index == 1, "mark": (index == 1).then_some("by_hand"), "leaves": [
            {"path": "city", "origin": "prompt", "source": "parameter city", "confidence": "medium", "others": 1},
            {"path": "limit", "origin": "constant", "confidence": "low"},
            {"path": "token\u{1b}[2J", "origin": "unexplained", "confidence": "none"}],
        "recordedInput": {"city": "Rome", "limit": 5}, "recordedOutput": {"id": 7}})
}

fn view() -> Value {
    json!({"scenarioId": SCN, "sourceRunId": RUN, "family": "hotels/search", "project": "/p", "cwd": "/p", "prompt": "a room in Rome",
        "intent": "Find a room in {city}", "state": "ready", "reason": null, "level": "L1", "levelReason": "one run alone writes nothing",
        "confidence": "medium", "runs": 2, "revision": 4, "approved": false, "params": {"city": {"sampleValue": "Rome",
        "description": "the city", "role": "target"}}, "paramsLogic": "return params;", "responseParamsLogic": "return {};",
        "steps": [step(0), step(1)], "createdAt": 0, "updatedAt": 0})
}

fn listed(id: &str) -> Value {
    json!({"id": id, "state": "ready", "level": "L1", "calculatedFrom": 2, "lastUsedAt": 60_000, "intent": "Find a room", "prompt": "x"})
}

fn entry(id: &str, step: u32, back: Option<&str>) -> Value {
    json!({"editId": id, "stepIndex": step, "at": 0, "by": "ada", "before": {}, "after": {"inputLogic": "return {};"}, "revision": 5,
        "takesBack": back})
}

fn ok(body: &Value) -> [Reply; 1] {
    [Reply::Json(200, body.to_string())]
}

/// A hub that has one scenario of one run, and who is signed in there.
fn hub() -> (Stub, Home) {
    let stub = Stub::new();
    let run = json!({"id": RUN, "tier": "bound", "startedAt": 1, "lastAt": 1, "calls": 1});
    stub.on("GET /recordings/runs", ok(&json!({"runs": [run], "next": null})));
    stub.on("GET /scenarios", ok(&json!({"scenarios": [listed(SCN)], "next": null})));
    stub.on(&format!("GET {}", at("")), ok(&view()));
    stub.on(&format!("GET /recordings/runs/{RUN}/scenario"), ok(&view()));
    let home = Home::new();
    home.sign_in(&stub.url);
    (stub, home)
}

/// With something on stdin.
fn fed(home: &Home, args: &[&str], text: &str) -> Said {
    let mut command = home.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Said::from(child.wait_with_output().unwrap())
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_list_has_state_level_runs_and_use() {
    let (stub, home) = hub();
    let shown = home.bir(&["scenario", "list"]).ok();
    assert_eq!(
        words(&shown),
        "SCENARIO STATE LEVEL RUNS LAST USED WHAT 019700010000 ready L1 2 1970-01-01 00:01 Find a room"
    );
    let array = home.bir(&["scenario", "list", "--json", "--state", "ready", "--project", "."]).json();
    assert_eq!(array, json!([listed(SCN)]));
    let asked = &stub.asked("GET /scenarios")[1].line;
    assert!(asked.contains("state=ready&project=%2F") && asked.contains("limit=20"), "{asked}");
    stub.on("GET /scenarios", ok(&json!({"scenarios": [], "next": null})));
    let none = home.bir(&["scenario", "list"]);
    assert!(
        none.status == Some(0) && none.out.is_empty() && none.err.contains("bir scenario calc last"),
        "{none:?}"
    );
    assert_eq!(home.bir(&["scenario", "list", "--json"]).ok(), "[]\n");
}

#[test]
fn a_scenario_is_shown_as_its_chain() {
    let (stub, home) = hub();
    let shown = home.bir(&["scenario", "show", SCN]).ok();
    let expected = format!(
        "scenario {SCN}
  does      Find a room in {{city}}
  prompt    a room in Rome
  state     ready
  level     L1, reads run, writes steer the model
            (one run alone writes nothing)
  trust     medium, calculated from 2 runs
  approved  no
  project   /p
  run       {RUN}
  revision  4, 1970-01-01 00:00:00

  parameters
    city  \"Rome\"  a prompt has to say it  the city

    0 mcp__hotels__search  reads  medium
      find it
      city = \"Rome\"  ← parameter city, medium, another explanation has to agree
      limit = 5  ← a constant, low
      token␛[2J  ← nothing explains it

    1 mcp__hotels__search  reads  medium
"
    );
    let squeezed = |text: &str| text.lines().map(words).collect::<Vec<_>>().join("\n");
    assert!(squeezed(&shown).starts_with(squeezed(&expected).trim_end()), "{shown}");
    for part in ["frozen by hand", "the input logic was edited by hand"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("return { city"), "{shown}");
    let logic = home.bir(&["scenario", "show", SCN, "--logic"]).ok();
    for part in
        ["paramsLogic (params)", "return { city: params.city };", "responseParamsLogic (params, respParams)"]
    {
        assert!(logic.contains(part), "{part}: {logic}");
    }
    // As the hub sent it, to the byte.
    assert_eq!(home.bir(&["scenario", "show", SCN, "--json"]).ok(), format!("{}\n", view()));
    let one = home.bir(&["scenario", "show", SCN, "--step", "1", "--json"]).json();
    let keys: Vec<&str> = one.as_object().unwrap().keys().map(String::as_str).take(3).collect();
    assert_eq!(keys, ["scenarioId", "chainRevision", "stepIndex"]);
    assert_eq!((&one["chainRevision"], &one["recordedOutput"]), (&json!(4), &json!({"id": 7})));
    let one = home.bir(&["scenario", "show", SCN, "--step", "0"]).ok();
    assert!(
        one.contains("revision 4") && one.contains("recorded output") && one.contains("\"id\": 7"),
        "{one}"
    );
    let said = home.bir(&["scenario", "show", SCN, "--step", "9"]).fails(1);
    assert!(said.ends_with("has no step 9; its steps are 0 to 1"), "{said}");
    assert_eq!(stub.asked(&format!("GET {}", at(""))).len(), 6);
}

#[test]
fn a_scenario_is_named_by_its_id_its_beginning_or_its_run() {
    let (stub, home) = hub();
    for name in ["last", RUN, "run_01970000", "01970000", "scn_01970001", "01970001"] {
        let said = home.bir(&["scenario", "show", name, "--json"]).json();
        assert_eq!(said["scenarioId"], SCN, "{name}");
    }
    stub.on("GET /scenarios", ok(&json!({"scenarios": [listed(SCN), listed(OTHER)], "next": null})));
    let said = home.bir(&["scenario", "show", "scn_0197"]).fails(1);
    assert!(said.contains("2 scenarios begin with `0197`") && said.ends_with("give more digits"), "{said}");
    for (name, part) in
        [("scn_beef", "no scenario begins with `beef`"), ("beef", "no scenario begins with `beef`")]
    {
        let said = home.bir(&["scenario", "show", name]).fails(1);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_sent() {
    let (stub, home) = hub();
    for (args, part) in [
        (&["show", "nonsense"][..], "`nonsense` is no scenario and no run"),
        (&["show", EDIT], "is a change's id, not a scenario's"),
        (&["calc", SCN], "`--force` calculates it again"),
        (&["check", SCN, "--step", "1"], "nothing to change"),
        (&["check", SCN, "--step", "1", "--input-logic", "-", "--output-logic", "-"], "only one of"),
        (&["edit", SCN, "--step", "1", "--freeze", "--force"], "needs `--note"),
        (&["undo", SCN, "--edit", "nonsense"], "`nonsense` is no change"),
        (&["undo", SCN, "--force"], "needs `--note"),
        (&["replay", SCN], "give --dry"),
        (&["replay", SCN, "--dry", "--prompt", " "], "the prompt is empty"),
        (&["rm", SCN], "give --yes"),
        (&["undo", SCN, "--edit", EDIT, "--step", "1"], "exclude each other"),
    ] {
        let mut command = home.command(&[&["scenario"], args].concat());
        let said = Said::from(command.stdin(Stdio::null()).output().unwrap()).fails(2);
        assert!(said.contains(part), "{args:?}: {said}");
    }
    assert!(home.bir(&["match", ""]).fails(2).contains("the prompt is empty"));
    let gone = home.bir(&["scenario", "check", SCN, "--step", "1", "--input-logic", "none.js"]).fails(1);
    assert!(gone.contains("cannot read none.js"), "{gone}");
    for route in ["GET /scenarios", "GET /recordings/runs", &format!("GET {}", at(""))] {
        assert!(stub.asked(route).is_empty(), "{route}");
    }
}

#[test]
fn without_a_hub_or_a_sign_in_the_next_command_is_named() {
    let home = Home::new();
    for args in
        [&["match", "x"][..], &["scenario", "list"], &["scenario", "show", SCN], &["scenario", "edits", SCN]]
    {
        let said = home.bir(args).fails(1);
        assert!(said.contains("no hub is known; start one with `bir up`"), "{said}");
    }
    let (stub, home) = hub();
    stub.on("POST /auth/refresh", [Reply::Problem(401, "bad_token", "used before")]);
    let expired = || [Reply::Problem(401, "expired_token", "it has ended")];
    stub.on("POST /scenarios/match", expired()).on(&format!("GET {}", at("")), expired());
    for args in [&["match", "x"][..], &["scenario", "show", SCN]] {
        assert!(home.bir(args).fails(1).ends_with("sign in with `bir login`"));
    }
}

#[test]
fn what_is_not_there_is_named_with_the_way_to_what_is() {
    let stub = Stub::new();
    let home = Home::new();
    home.sign_in(&stub.url);
    stub.on("GET /scenarios", ok(&json!({"scenarios": [], "next": null})));
    std::fs::write(home.path().join("b.js"), "return {};").unwrap();
    let step = ["--step", "9", "--input-logic", "b.js"];
    for (args, part) in [
        (&["show", SCN][..], "the hub has no scenario scn_"),
        (&["show", RUN], "`bir scenario calc run_"),
        (&["edits", RUN], "`bir scenario calc run_"),
        (&["edits", SCN], "the hub has no scenario scn_"),
        (&["calc", RUN], "the hub has no run run_"),
        (&["calc", SCN, "--force"], "the hub has no scenario scn_"),
        (&[&["check", SCN][..], &step].concat(), "or it has no step 9"),
        (&[&["edit", SCN][..], &step].concat(), "or it has no step 9"),
        (&["undo", SCN, "--edit", EDIT], "or it has no change sedit_"),
        (&["approve", SCN], "the hub has no scenario scn_"),
        (&["replay", SCN, "--dry"], "the hub has no scenario scn_"),
        (&["rm", SCN, "--yes"], "the hub has no scenario scn_"),
    ] {
        let said = home.bir(&[&["scenario"], args].concat()).fails(1);
        assert!(said.contains(part), "{args:?}: {said}");
    }
}

#[test]
fn a_run_is_calculated_and_a_scenario_again() {
    let (stub, home) = hub();
    let calculate = format!("POST /recordings/runs/{RUN}/calculate");
    stub.on(&calculate, ok(&view()));
    let said = home.bir(&["scenario", "calc", "last"]);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(
        said.err.starts_with(&format!("{SCN} is ready: 2 steps, L1, calculated from 2 runs")),
        "{said:?}"
    );
    assert_eq!(home.bir(&["scenario", "calc", RUN, "--json"]).ok(), format!("{}\n", view()));
    home.bir(&["scenario", "calc", RUN, "--force", "--discard-edits"]).ok();
    let bodies: Vec<String> = stub.asked(&calculate).into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies, ["{}", "{}", r#"{"force":true,"discardEdits":true}"#]);
    let mut pending = view();
    (pending["state"], pending["steps"]) = ("pending".into(), json!([]));
    stub.on(&calculate, ok(&pending));
    assert!(home.bir(&["scenario", "calc", RUN]).err.contains("waits to be calculated"));
    (pending["state"], pending["reason"]) = ("unusable".into(), "it calls nothing".into());
    stub.on(&calculate, ok(&pending));
    assert!(home.bir(&["scenario", "calc", RUN]).fails(1).ends_with("cannot be used: it calls nothing"));
    let again = format!("POST {}", at("/recalculate"));
    stub.on(
        &again,
        [Reply::Problem(409, "scenario_has_edits", "edited"), Reply::Json(200, view().to_string())],
    );
    let said = home.bir(&["scenario", "calc", SCN, "--force"]).fails(1);
    assert!(said.contains("--force --discard-edits"), "{said}");
    home.bir(&["scenario", "calc", SCN, "--force", "--discard-edits"]).ok();
    assert!(stub.asked(&again)[1].body.contains(r#""discardEdits":true"#));
}

#[test]
fn a_check_says_in_words_what_is_wrong_and_ends_with_1() {
    let (stub, home) = hub();
    let check = format!("POST {}", at("/steps/1/check"));
    let bad = json!({"ok": false, "problems": [{"kind": "does_not_reproduce", "stepIndex": 1, "part": "input", "message": "1 value differs",
        "differs": [{"path": "city", "recorded": "Rome", "made": "Roma"}]}], "durationMs": 3});
    stub.on(&check, ok(&bad));
    std::fs::write(home.path().join("b.js"), "return { city: 'Roma' };\n").unwrap();
    let args = ["scenario", "check", SCN, "--step", "1", "--input-logic", "b.js"];
    let said = home.bir(&args);
    assert_eq!((said.status, said.err.as_str()), (Some(1), ""), "{said:?}");
    for part in [
        "1 problem",
        "the input logic of step 1 does not give what was recorded",
        "city: recorded \"Rome\", made \"Roma\"",
        "→ make it give",
    ] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    let raw = home.bir(&[&args[..], &["--json"]].concat());
    assert_eq!((raw.status, raw.out), (Some(1), format!("{bad}\n")));
    let body: Value = serde_json::from_str(&stub.asked(&check)[0].body).unwrap();
    assert_eq!(body, json!({"inputLogic": "return { city: 'Roma' };\n"}));
    // From stdin, by the run, and nothing wrong.
    stub.on(&check, ok(&json!({"ok": true, "problems": [], "durationMs": 1})));
    let said = fed(
        &home,
        &["scenario", "check", RUN, "--step", "1", "--output-logic", "-", "--unfreeze"],
        "return {};",
    );
    assert_eq!(said.ok(), "it reproduces the recording, and is no copy of it\n");
    let body: Value = serde_json::from_str(&stub.asked(&check)[2].body).unwrap();
    assert_eq!(body, json!({"outputLogic": "return {};", "unfreeze": true}));
    stub.on(&check, ok(&json!({"ok": false, "noChange": true, "problems": []})));
    assert!(home.bir(&args).ok().starts_with("nothing would change"));
    for (status, code, part) in [
        (400, "nothing_to_change", "nothing was changed"),
        (413, "payload_too_large", "make it smaller"),
        (503, "logic_sandbox_unavailable", "nothing was checked, saved or undone"),
        (409, "scenario_not_ready", "it is not calculated yet"),
        (500, "internal", "(HTTP 500)"),
    ] {
        stub.on(&check, [Reply::Problem(status, code, "it is not calculated yet")]);
        assert!(home.bir(&args).fails(1).contains(part), "{code}");
    }
}

#[test]
fn a_change_is_saved_or_refused_with_the_report() {
    let (stub, home) = hub();
    let edit = format!("PATCH {}", at("/steps/1"));
    let saved = json!({"edit": entry(EDIT, 1, None), "revision": 5, "report": {"ok": true, "problems": []}});
    stub.on(&edit, ok(&saved));
    std::fs::write(home.path().join("b.js"), "return {};").unwrap();
    let args = ["scenario", "edit", SCN, "--step", "1", "--input-logic", "b.js"];
    let said = home.bir(&args);
    assert_eq!((said.status, said.out.as_str()), (Some(0), ""), "{said:?}");
    let expected = format!(
        "step 1 is changed; the scenario has revision 5\ntake it back with: bir scenario undo {SCN} --edit {EDIT}\n"
    );
    assert_eq!(said.err, expected);
    let more = ["--freeze", "--force", "--note", "the site moved", "--revision", "4", "--json"];
    assert_eq!(home.bir(&[&args[..], &more].concat()).ok(), format!("{saved}\n"));
    let body: Value = serde_json::from_str(&stub.asked(&edit)[1].body).unwrap();
    let expected = json!({"inputLogic": "return {};", "freeze": true, "force": true, "note": "the site moved", "expectedRevision": 4});
    assert_eq!(body, expected);
    let report = json!({"ok": false, "problems": [{"kind": "copy", "stepIndex": 1, "part": "input", "message": "all of it"}]});
    let refused = json!({"code": "edit_refused", "detail": "no", "status": 422, "report": report});
    stub.on(&edit, [Reply::Json(422, refused.to_string())]);
    let said = home.bir(&args);
    assert_eq!((said.status, said.out.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.err.starts_with("bir scenario edit: nothing was saved: 1 problem\n"), "{said:?}");
    assert!(
        said.err.contains("is a copy of what was recorded") && said.err.contains("--force --note"),
        "{said:?}"
    );
    let raw = home.bir(&[&args[..], &["--json"]].concat());
    assert_eq!((raw.status, raw.out), (Some(1), format!("{refused}\n")));
    stub.on(&edit, [Reply::Problem(409, "revision_conflict", "its revision is 6, not 4")]);
    assert!(home.bir(&args).fails(1).contains("its revision is 6, not 4; `bir scenario show`"));
}

#[test]
fn changes_are_listed_and_undo_walks_back() {
    let (stub, home) = hub();
    let edits = format!("GET {}", at("/edits"));
    stub.on(&edits, ok(&json!({"edits": [entry(NEWER, 0, None), entry(EDIT, 1, None)], "next": null})));
    let shown = home.bir(&["scenario", "edits", SCN]).ok();
    assert!(
        shown.starts_with(&format!("{NEWER}  1970-01-01 00:00:00 by ada  step 0  revision 5\n")),
        "{shown}"
    );
    let array = home.bir(&["scenario", "edits", SCN, "--json"]).json();
    assert_eq!(array, json!([entry(NEWER, 0, None), entry(EDIT, 1, None)]));
    let back = |edit: &str| format!("POST {}", at(&format!("/edits/{edit}/revert")));
    let redo = "sedit_01970004-0000-7000-8000-000000000001";
    let undone =
        json!({"edit": entry(redo, 0, Some(NEWER)), "revision": 6, "report": {"ok": true, "problems": []}});
    stub.on(&back(NEWER), ok(&undone)).on(&back(EDIT), ok(&undone));
    let said = home.bir(&["scenario", "undo", SCN]);
    assert_eq!(said.status, Some(0), "{said:?}");
    let expected = format!(
        "{NEWER} of step 0 is taken back; the scenario has revision 6\nredo it with: bir scenario undo {SCN} --edit {redo}\n"
    );
    assert_eq!(said.err, expected);
    home.bir(&["scenario", "undo", SCN, "--step", "1", "--force", "--note", "why", "--json"]).ok();
    home.bir(&["scenario", "undo", RUN, "--edit", "sedit_01970002"]).ok();
    assert_eq!((stub.asked(&back(NEWER)).len(), stub.asked(&back(EDIT)).len()), (1, 2));
    assert_eq!(stub.asked(&back(EDIT))[0].body, r#"{"force":true,"note":"why"}"#);
    // What was taken back is not taken back again.
    stub.on(
        &edits,
        ok(&json!({"edits": [entry(redo, 0, Some(NEWER)), entry(NEWER, 0, None)], "next": null})),
    );
    let said = home.bir(&["scenario", "undo", SCN]).fails(1);
    assert!(said.contains("no change is there to be taken back"), "{said}");
    let report = json!({"ok": false, "problems": [{"kind": "breaks_later", "stepIndex": 1, "message": "it reads `id`"}]});
    let refused = json!({"code": "undo_refused", "detail": "no", "status": 422, "report": report});
    stub.on(&back(EDIT), [Reply::Json(422, refused.to_string())]);
    let said = home.bir(&["scenario", "undo", SCN, "--edit", EDIT]);
    assert_eq!(said.status, Some(1), "{said:?}");
    assert!(
        said.err.contains("the change was not taken back: 1 problem") && said.err.contains("it reads `id`"),
        "{said:?}"
    );
    stub.on(&edits, ok(&json!({"edits": [], "next": null})));
    let none = home.bir(&["scenario", "edits", SCN]);
    assert!(
        none.out.is_empty() && none.err == "nothing was changed by hand\n" && none.status == Some(0),
        "{none:?}"
    );
}

#[test]
fn an_owner_approves_and_deletes() {
    let (stub, home) = hub();
    let approve = format!("POST {}", at("/approve"));
    let mut approved = view();
    approved["approved"] = true.into();
    stub.on(&approve, ok(&approved));
    let said = home.bir(&["scenario", "approve", SCN, "--level", "L2"]);
    assert!(
        said.err.contains("is approved; it has level L1: reads run, writes steer the model (one run"),
        "{said:?}"
    );
    home.bir(&["scenario", "approve", SCN, "--revoke", "--json"]).json();
    let bodies: Vec<String> = stub.asked(&approve).into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies, [r#"{"level":"L2"}"#, r#"{"revoke":true}"#]);
    stub.on(&format!("DELETE {}", at("")), [Reply::Json(200, "{}".into())]);
    let said = home.bir(&["scenario", "rm", SCN, RUN, "--yes"]);
    assert_eq!((said.status, said.err.as_str()), (Some(0), "1 scenario deleted\n"), "{said:?}");
    assert_eq!(home.bir(&["scenario", "rm", "last", "--yes", "--json"]).json(), json!({"scenarios": 1}));
    assert_eq!(stub.asked(&format!("DELETE {}", at(""))).len(), 2);
}

#[test]
fn a_dry_replay_shows_what_would_run_and_ends_with_1_where_it_hands_over() {
    let (stub, home) = hub();
    let replay = format!("POST {}", at("/replay"));
    let derived =
        json!({"params": {"city": "Oslo"}, "missing": [], "sampled": [], "derived": true, "costUsd": "0"});
    let mut replayed = json!({"derived": derived, "whole": true, "steps": [{"stepIndex": 0, "toolName": "mcp__h__search",
        "input": {"city": "Oslo"}, "equal": true, "by": "native", "act": "run"}]});
    stub.on(&replay, ok(&replayed));
    let said = home.bir(&["scenario", "replay", SCN, "--dry"]).ok();
    assert!(said.contains("→ {\"city\":\"Oslo\"}") && said.ends_with("1 step would run\n"), "{said}");
    assert_eq!(stub.asked(&replay)[0].body, "{}");
    replayed["whole"] = false.into();
    replayed["handOver"] =
        json!({"stepIndex": 0, "stage": "input_logic", "code": "frozen", "why": "it is frozen"});
    stub.on(&replay, ok(&replayed));
    let said = home.bir(&["scenario", "replay", SCN, "--dry", "--prompt", "a room in Oslo", "--json"]);
    assert_eq!((said.status, said.out), (Some(1), format!("{replayed}\n")));
    let body: Value = serde_json::from_str(&stub.asked(&replay)[1].body).unwrap();
    assert!(body["prompt"] == "a room in Oslo" && body["now"].is_u64(), "{body}");
    let said = home.bir(&["scenario", "replay", SCN, "--dry"]);
    assert!(said.out.contains("it hands over to the model at step 0: it is frozen (frozen)"), "{said:?}");
}

#[test]
fn a_match_ends_with_0_and_no_match_with_1_and_a_reason() {
    let (stub, home) = hub();
    let matched = json!({"decision": "steer", "code": "values", "why": "it differs in values alone", "words": {"city": "Oslo"},
        "matched": {"runId": RUN, "scenarioId": SCN, "similarity": null, "executionTicket": null, "scenario": null},
        "nearest": {"runId": RUN, "scenarioId": SCN, "prompt": "a room in Rome"}, "tookUs": 1});
    let none = json!({"decision": "decline", "code": "nothing_recorded", "why": "no scenario of this project is ready"});
    let answers = [&matched, &matched, &none, &none].map(|body| Reply::Json(200, body.to_string()));
    stub.on("POST /scenarios/match", answers);
    let said = home.bir(&["match", "a room in Oslo"]).ok();
    assert!(said.contains("Rome → Oslo  parameter city"), "{said}");
    assert_eq!(fed(&home, &["match", "-", "--json"], "a room in Oslo").ok(), format!("{matched}\n"));
    let said = home.bir(&["match", "a room in Oslo", "--project", "/"]);
    assert_eq!((said.status, said.err.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.out.contains("no scenario of this project is ready (nothing_recorded)"), "{said:?}");
    let said = home.bir(&["match", "a room in Oslo", "--json"]);
    assert_eq!((said.status, said.out), (Some(1), format!("{none}\n")));
    let asked = stub.asked("POST /scenarios/match");
    let body: Value = serde_json::from_str(&asked[0].body).unwrap();
    let here = home.path().canonicalize().unwrap();
    assert_eq!(
        (&body["prompt"], &body["project"]),
        (&"a room in Oslo".into(), &here.to_str().unwrap().into()),
        "{body}"
    );
    assert_eq!(serde_json::from_str::<Value>(&asked[2].body).unwrap()["project"], "/");
}
