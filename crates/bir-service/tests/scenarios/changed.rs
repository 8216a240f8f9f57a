//! Changes by hand, approvals, and the level that they leave.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_checked_saved_refused_forced_and_taken_back() {
    let place = Place::new().await;
    let (_, _, scenario) = taught(&place).await;
    let (world, ann) = (&place.world, &place.ann);
    let id = scenario["scenarioId"].as_str().unwrap();
    let revision = || async {
        world.get(&ann.token, &format!("/scenarios/{id}")).await.json()["revision"].as_u64().unwrap()
    };
    let step = format!("/scenarios/{id}/steps/0");
    let patch = |body: Value| {
        let (step, token) = (step.clone(), ann.token.clone());
        async move { world.call(&token, "PATCH", &step, body.to_string()).await }
    };
    let own = scenario["steps"][0]["toolInputLogic"].as_str().unwrap().to_owned();
    let fine = format!("// by hand\n{own}");
    let before = revision().await;

    // A check writes nothing, and says what a save would.
    let checked = world.post(&ann.token, &format!("{step}/check"), &json!({"inputLogic": fine})).await;
    assert_eq!(checked.json()["ok"], true, "{}", checked.text());
    assert_eq!(revision().await, before);
    let copy = json!({"inputLogic": "return {query: 'Rome'};"});
    let checked = world.post(&ann.token, &format!("{step}/check"), &copy).await;
    assert!(checked.status == 200 && checked.json()["problems"][0]["kind"] == "copy", "{}", checked.text());

    // What does not hold is not saved without force and a note.
    let refused = patch(copy.clone()).await;
    assert_eq!(refused.problem(), (422, "edit_refused".into()));
    assert_eq!(refused.json()["report"]["problems"][0]["kind"], "copy", "{}", refused.text());
    let unsaid = patch(json!({"inputLogic": "return {query: 'Rome'};", "force": true})).await;
    assert_eq!(unsaid.problem(), (422, "invalid".into()));
    assert_eq!(patch(json!({"inputLogic": own})).await.problem(), (400, "nothing_to_change".into()));
    assert_eq!(patch(json!({})).await.problem(), (400, "nothing_to_change".into()));
    let old = patch(json!({"inputLogic": fine, "expectedRevision": before + 7})).await;
    assert_eq!(old.problem(), (409, "revision_conflict".into()));
    let long = patch(json!({"inputLogic": "x".repeat(400 << 10)})).await;
    assert_eq!(long.problem(), (413, "payload_too_large".into()));
    let missing = world
        .call(&ann.token, "PATCH", &format!("/scenarios/{id}/steps/9"), json!({"freeze": true}).to_string())
        .await;
    assert_eq!(missing.problem().0, 404);
    assert_eq!(revision().await, before);

    let saved = patch(json!({"inputLogic": fine, "expectedRevision": before, "note": "why"})).await;
    assert_eq!(saved.status, 200, "{}", saved.text());
    let first = saved.json()["edit"]["editId"].as_str().unwrap().to_owned();
    let forced =
        patch(json!({"inputLogic": "return {query: 'Rome'};", "force": true, "note": "for the demo"})).await;
    assert_eq!(forced.json()["edit"]["forced"], true, "{}", forced.text());
    let second = forced.json()["edit"]["editId"].as_str().unwrap().to_owned();
    let shown = world.get(&ann.token, &format!("/scenarios/{id}")).await.json();
    assert_eq!((&shown["steps"][0]["inputEdited"], &shown["level"]), (&json!(true), &json!("L0")), "{shown}");
    let why = shown["levelReason"].as_str().unwrap();
    assert!(why.contains("by hand") && !why.contains("calculated from one run"), "{why}");

    // An edited step is evaluated in the sandbox.
    let replayed = world.post(&ann.token, &format!("/scenarios/{id}/replay"), &json!({})).await.json();
    assert_eq!(
        (&replayed["steps"][0]["by"], &replayed["steps"][0]["equal"]),
        (&json!("sandbox"), &json!(true)),
        "{replayed}"
    );

    // Edited logic is not calculated over.
    let again = format!("/scenarios/{id}/recalculate");
    assert_eq!(
        world.post(&ann.token, &again, &json!({})).await.problem(),
        (409, "scenario_has_edits".into())
    );

    // Taking back walks back; what a later change stands on is not taken back before it.
    let revert = |edit: &str| {
        let (path, token) = (format!("/scenarios/{id}/edits/{edit}/revert"), ann.token.clone());
        async move { world.post(&token, &path, &json!({})).await }
    };
    assert_eq!(revert(&first).await.problem(), (409, "conflict".into()));
    assert_eq!(revert(&second).await.status, 200);
    assert_eq!(revert(&first).await.status, 200);
    assert_eq!(revert(&first).await.problem().0, 409);
    let shown = world.get(&ann.token, &format!("/scenarios/{id}")).await.json();
    assert_eq!(shown["steps"][0]["toolInputLogic"], json!(own));
    // As it was calculated, it runs as far as it did.
    assert_eq!((&shown["level"], &shown["runs"]), (&json!("L1"), &json!(2)), "{shown}");
    assert!(!shown["levelReason"].as_str().unwrap().contains("by hand"), "{shown}");
    let edits = world.get(&ann.token, &format!("/scenarios/{id}/edits")).await.json();
    assert_eq!(edits["edits"].as_array().unwrap().len(), 4, "{edits}");
    assert_eq!(
        (&edits["edits"][0]["takesBack"], &edits["edits"][0]["by"]),
        (&json!(first), &json!("ann@example.com"))
    );

    // A frozen step hands over; its mark goes by hand, or with the changes.
    assert_eq!(patch(json!({"freeze": true})).await.json()["report"]["mark"], "by_hand");
    let replayed = world.post(&ann.token, &format!("/scenarios/{id}/replay"), &json!({})).await.json();
    assert_eq!((&replayed["whole"], &replayed["handOver"]["code"]), (&json!(false), &json!("frozen")));
    let anew = world.post(&ann.token, &again, &json!({"discardEdits": true})).await;
    assert!(anew.status == 200 && anew.json()["steps"][0].get("mark").is_none(), "{}", anew.text());

    // How far it runs is its owner's word, within what was shown.
    let approve = format!("/scenarios/{id}/approve");
    let approved = world.post(&ann.token, &approve, &json!({})).await.json();
    assert_eq!(approved["approved"], true, "{approved}");
    let further = world.post(&ann.token, &approve, &json!({"level": "L3"})).await;
    assert!(further.status == 200 && further.json()["level"] == "L3", "{}", further.text());
    // Taken back, it is what it was before the first approval.
    let back = world.post(&ann.token, &approve, &json!({"revoke": true})).await.json();
    assert_eq!((&back["approved"], &back["level"]), (&json!(false), &approved["level"]), "{back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_calculated_logic_works_and_changes_are_refused() {
    let place = Place::over(MemoryStore::new().await, |settings| settings.sandbox = None).await;
    let (_, _, scenario) = taught(&place).await;
    let id = scenario["scenarioId"].as_str().unwrap();
    let (world, token) = (&place.world, &place.ann.token);
    let replayed = world.post(token, &format!("/scenarios/{id}/replay"), &json!({})).await.json();
    assert_eq!(replayed["whole"], true, "{replayed}");
    let step = format!("/scenarios/{id}/steps/0");
    let change = json!({"inputLogic": "return {};"});
    let unavailable = (503, "logic_sandbox_unavailable".to_owned());
    assert_eq!(world.post(token, &format!("{step}/check"), &change).await.problem(), unavailable);
    assert_eq!(world.call(token, "PATCH", &step, change.to_string()).await.problem(), unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_taken_back_leaves_what_was_before_it() {
    let place = Place::new().await;
    let (_, _, scenario) = taught(&place).await;
    let path = format!("/scenarios/{}/approve", scenario["scenarioId"].as_str().unwrap());
    let approve = async |ask: Value| place.world.post(&place.ann.token, &path, &ask).await;
    for (ask, level, approved) in [
        (json!({"level": "L3"}), "L3", true),
        (json!({"revoke": true}), "L1", false),
        (json!({"level": "L2"}), "L2", true),
        (json!({"level": "L3"}), "L3", true),
        (json!({"revoke": true}), "L1", false),
        (json!({"revoke": true}), "L1", false),
        (json!({"level": "L0"}), "L0", true),
        (json!({"revoke": true}), "L1", false),
        (json!({}), "L1", true),
    ] {
        let said = approve(ask.clone()).await;
        let view = said.json();
        assert_eq!((&view["level"], &view["approved"]), (&json!(level), &json!(approved)), "{ask}: {view}");
    }
    // What failed meanwhile would have failed without it.
    approve(json!({"level": "L3"})).await;
    let executions = path.replace("/approve", "/executions");
    let broken = json!({"outcome": "fell_back", "steps":
        [{"stepIndex": 1, "status": "failed", "stage": "input_logic", "error": "boom"}]});
    assert_eq!(place.world.post(&place.ann.token, &executions, &broken).await.status, 201);
    let view = approve(json!({"revoke": true})).await.json();
    assert_eq!((&view["level"], &view["approved"]), (&json!("L0"), &json!(false)), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_imported_steers_until_runs_here_agree() {
    let place = Place::new().await;
    let (_, _, scenario) = taught(&place).await;
    let (world, ann) = (&place.world, place.ann.clone());
    let path = format!("/scenarios/{}", scenario["scenarioId"].as_str().unwrap());
    assert_eq!(world.post(&ann.token, &format!("{path}/approve"), &json!({"level": "L3"})).await.status, 200);
    let exported = world.get(&ann.token, &format!("{path}/export")).await.json();
    let bob = world.person(world.tenant, Role::Member, "bob@example.com").await;
    let import = async |body: &Value| world.post(&bob.token, "/scenarios/import", body).await;
    let came = import(&exported).await;
    assert_eq!(came.status, 201, "{}", came.text());
    let view = came.json();
    assert_eq!(
        (&view["level"], &view["approved"], &view["runs"]),
        (&json!("L0"), &json!(false), &json!(0)),
        "{view}"
    );
    assert!(view["levelReason"].as_str().unwrap().starts_with("imported"), "{view}");
    assert_eq!(view["steps"][0]["recordedOutput"], scenario["steps"][0]["recordedOutput"]);
    let again = import(&exported).await;
    assert_eq!((again.status.as_u16(), &again.json()["scenarioId"]), (200, &view["scenarioId"]));
    // Its owner's word alone lets it do nothing.
    let approve = format!("/scenarios/{}/approve", view["scenarioId"].as_str().unwrap());
    for level in ["L1", "L3"] {
        let early = world.post(&bob.token, &approve, &json!({"level": level})).await;
        assert_eq!(early.problem(), (409, "conflict".into()));
    }

    // Runs here that agree belong to it, and let it read.
    let (first, _) =
        place.record(&bob, "What is the weather in Rome today?", &weather("Rome", 4711, 31)).await;
    assert_eq!(place.scenario(&bob, first).await["scenarioId"], view["scenarioId"]);
    let (second, _) =
        place.record(&bob, "What is the weather in Oslo today?", &weather("Oslo", 815, 12)).await;
    let now = place.scenario(&bob, second).await;
    assert_eq!(
        (&now["scenarioId"], &now["level"], &now["runs"]),
        (&view["scenarioId"], &json!("L1"), &json!(2)),
        "{now}"
    );

    // What it says of itself is looked at again.
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut body = exported.clone();
        body["project"] = "/q".into();
        change(&mut body);
        body
    };
    let dangerous = import(&changed(&|body| {
        body["scenario"]["plan"]["steps"][0]["tool"] = "delete_city".into();
        body["scenario"]["plan"]["steps"][0]["effect"] = "read".into();
        body["scenario"]["level"] = "L3".into();
    }))
    .await;
    assert_eq!(dangerous.status, 201, "{}", dangerous.text());
    assert_eq!(
        (&dangerous.json()["steps"][0]["effect"], &dangerous.json()["level"]),
        (&json!("destructive"), &json!("L0"))
    );
    for refused in [
        changed(&|body| body["version"] = 2.into()),
        changed(&|body| body["scenario"]["steps"] = json!([])),
        changed(&|body| body["scenario"]["steps"][0]["recordedInput"]["query"] = "Paris".into()),
    ] {
        let said = import(&refused).await;
        assert_eq!(said.problem(), (422, "invalid".into()), "{}", said.text());
    }
    assert_eq!(import(&json!({"nothing": 1})).await.status.as_u16() / 100, 4);
}
