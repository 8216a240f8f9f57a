//! `bir match` and `bir scenario` with the real hub: two runs are sent to it, become a scenario, and that is looked
//! at, matched, changed and changed back.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::{RunId, StepId};
use bir_testkit::bins;
use common::Home;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A scenario is calculated in so much time after its run.
const CALCULATED: Duration = Duration::from_secs(30);

/// A run in which the model looked a city's hotels up and booked the first one, as a recorder tells of it.
fn run(city: &str, hotel: &str, at: u64, project: &str) -> (RunId, String) {
    let id = RunId::new();
    let record = |kind: &str, mut record: Value| {
        record["type"] = kind.into();
        record["runId"] = json!(id);
        record
    };
    let rows = |index: u32, tool: &str, input: Value, output: Value| {
        let content =
            json!({"content": [{"type": "text", "text": output.to_string()}], "structuredContent": output});
        let name = format!("mcp__hotels__{tool}");
        let row = |kind: &str, place: u32| {
            json!({"id": StepId::new(), "stepIndex": place, "stepType": kind, "toolName": name, "server": "hotels", "tool": tool,
                "callId": format!("call-{index}"), "sources": ["hook", "proxy"], "at": at + u64::from(place)})
        };
        let (mut selected, mut response) =
            (row("tool_selected", 2 * index), row("tool_response", 2 * index + 1));
        selected["toolInput"] = input.to_string().into();
        (response["toolOutput"], response["outcome"]) = (content.to_string().into(), "ok".into());
        (response["isError"], response["durationUs"]) = (false.into(), 1_000.into());
        [record("step", selected), record("step", response)]
    };
    let mut begin = record(
        "run",
        json!({"id": id, "tier": "bound", "startedAt": at, "project": project, "cwd": project,
        "input": format!("Find a hotel in {city} and show me its reviews"), "host": {"app": "claude-code", "version": "2.1"},
        "servers": [{"name": "hotels"}]}),
    );
    begin.as_object_mut().unwrap().remove("runId");
    let found = json!({"hotels": [{"id": hotel, "name": format!("Grand {hotel}")}]});
    let mut lines = vec![begin];
    lines.extend(rows(0, "search_hotels", json!({"city": city, "limit": 5}), found));
    lines.extend(rows(1, "get_reviews", json!({"hotelId": hotel}), json!({"reviews": ["good"]})));
    lines.push(record("finish", json!({"at": at + 100, "reason": "closed", "finalOutput": "they are good"})));
    (id, lines.iter().map(|line| format!("{line}\n")).collect())
}

fn imported(home: &Home, lines: &str) {
    let file = home.path().join("runs.jsonl");
    std::fs::write(&file, lines).unwrap();
    home.bir(&["runs", "import", "runs.jsonl"]).ok();
}

#[test]
fn two_runs_become_a_scenario_that_is_matched_changed_and_changed_back() {
    for name in ["bir-hub", "bir-proxy", "bir-sandbox"] {
        bins::bin(name, name).unwrap();
    }
    let home = Home::new();
    home.bir(&["up"]).ok();
    let project = home.path().canonicalize().unwrap().to_string_lossy().into_owned();
    let now = 1_790_000_000_000;
    let (first, one) = run("Rome", "h-4711", now, &project);
    let (second, two) = run("Lisbon", "h-0815", now + 60_000, &project);
    imported(&home, &format!("{one}{two}"));
    home.bir(&["runs", "show", &first.to_string()]).ok();

    // It is calculated by itself, or when it is asked for.
    home.bir(&["scenario", "calc", &first.to_string(), "--json"]).json();
    let deadline = Instant::now() + CALCULATED;
    let shown = loop {
        let shown = home.bir(&["scenario", "show", &first.to_string(), "--json"]);
        let shown: Value = serde_json::from_str(&shown.out).unwrap_or_default();
        if shown["state"] == "ready" || Instant::now() > deadline {
            break shown;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(shown["state"], "ready", "{shown}");
    let id = shown["scenarioId"].as_str().unwrap().to_owned();
    let list = home.bir(&["scenario", "list"]).ok();
    assert!(list.contains("ready") && list.contains("never"), "{list}");
    let page = home.bir(&["scenario", "show", &id, "--logic"]).ok();
    for part in [
        "← parameter ",
        "limit = 5",
        "of the result of step 0",
        "mcp__hotels__search_hotels",
        "toolInputLogic (params, respParams)",
        &first.to_string(),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // By the beginning of its id, and by its run.
    assert_eq!(home.bir(&["scenario", "show", &id[..18], "--json"]).json()["scenarioId"], id.as_str());

    // The words of the recording match, another verb does not.
    let matched = home.bir(&["match", "Find a hotel in Rome and show me its reviews"]);
    assert_eq!(matched.status, Some(0), "{matched:?}");
    for part in [&id, "would run", "\"city\":\"Rome\"", "parameters"] {
        assert!(matched.out.contains(part), "{part}: {matched:?}");
    }
    let other = home.bir(&["match", "Never book any flat in Oslo"]);
    assert!(other.status == Some(1) && other.out.contains("nothing would run"), "{other:?}");
    let elsewhere = home.bir(&["match", "Find a hotel in Rome and show me its reviews", "--project", "/"]);
    assert_eq!(elsewhere.status, Some(1), "{elsewhere:?}");

    let dry = home.bir(&["scenario", "replay", &id, "--dry"]);
    assert!(dry.status == Some(0) && dry.out.contains("2 steps"), "{dry:?}");

    // A change that does not reproduce the recording, one that is a copy of it, one that is neither.
    let body = |text: &str| std::fs::write(home.path().join("b.js"), text).unwrap();
    let check = ["scenario", "check", &id, "--step", "0", "--input-logic", "b.js"];
    let edit = ["scenario", "edit", &id, "--step", "0", "--input-logic", "b.js"];
    body("return { city: 'Roma', limit: 5 };");
    let said = home.bir(&check);
    assert!(said.status == Some(1) && said.out.contains("does not give what was recorded"), "{said:?}");
    let said = home.bir(&edit);
    assert!(said.status == Some(1) && said.err.contains("nothing was saved"), "{said:?}");
    let refused = home.bir(&[&edit[..], &["--json"]].concat());
    let refused: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((&refused["code"], refused["report"]["problems"].is_array()), (&"edit_refused".into(), true));
    body("return { city: ");
    let said = home.bir(&check);
    assert!(said.status == Some(1) && said.out.contains("is no function body"), "{said:?}");
    let params = shown["params"].as_object().unwrap();
    let city = params.keys().find(|name| params[*name]["sampleValue"] == "Rome").unwrap();
    body(&format!("const city = params[{city:?}];\nreturn {{ city, limit: 2 + 3 }};"));
    let said = home.bir(&check);
    assert_eq!(
        (said.status, said.out.trim_end()),
        (Some(0), "it reproduces the recording, and is no copy of it")
    );
    let said = home.bir(&edit);
    assert!(said.status == Some(0) && said.err.starts_with("step 0 is changed"), "{said:?}");
    let page = home.bir(&["scenario", "show", &id, "--step", "0"]).ok();
    assert!(page.contains("edited by hand") && page.contains("limit: 2 + 3"), "{page}");
    assert!(home.bir(&["scenario", "calc", &id, "--force"]).fails(1).contains("--discard-edits"));
    let stale = home.bir(&[&edit[..], &["--freeze", "--revision", "1"]].concat());
    assert!(stale.status == Some(1) && stale.err.contains("bir scenario show"), "{stale:?}");
    let edits = home.bir(&["scenario", "edits", &id]).ok();
    assert!(edits.contains("input logic: edited"), "{edits}");
    // In the sandbox now, and still what was recorded.
    let dry = home.bir(&["scenario", "replay", &id, "--dry"]);
    assert!(dry.status == Some(0) && dry.out.contains("edited by hand"), "{dry:?}");

    let undone = home.bir(&["scenario", "undo", &id]);
    assert_eq!(undone.status, Some(0), "{undone:?}");
    let redo =
        undone.err.lines().find_map(|line| line.strip_prefix("redo it with: bir ")).unwrap().to_owned();
    assert!(!home.bir(&["scenario", "show", &id]).ok().contains("edited by hand"));
    home.bir(&redo.split(' ').collect::<Vec<_>>()).ok();
    assert!(home.bir(&["scenario", "show", &id]).ok().contains("edited by hand"));

    let approved = home.bir(&["scenario", "approve", &id]);
    assert!(approved.status == Some(0) && approved.err.contains("is approved"), "{approved:?}");
    home.bir(&["scenario", "rm", &id, "--yes"]).ok();
    assert!(home.bir(&["scenario", "show", &id]).fails(1).contains("the hub has no scenario"));
    // The runs stay.
    home.bir(&["runs", "show", &second.to_string()]).ok();
}
