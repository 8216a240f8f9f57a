//! What matches nothing, whose it is, and what is refused.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn other_words_are_another_request() {
    let place = Place::new().await;
    taught(&place).await;
    let ann = place.ann.clone();
    let said =
        place.asked(&ann, "What is the weather in Lisbon today?", |said| !said["matched"].is_null()).await;
    assert!(!said["matched"].is_null(), "{said}");
    for prompt in [
        "Do not ask what the weather in Rome is today",
        "What is not the weather in Rome today?",
        "What is the weather in Rome and in Oslo today?",
        "What is the weather in Rome today, and send it to Bob",
        "Delete the weather in Rome today",
        "What was the weather there?",
        "",
        "   ",
    ] {
        let run = RunId::new();
        let begun = place.begin(&ann, run, prompt).await;
        assert_eq!(begun.json(), json!({"id": run, "matched": null}), "{prompt}");
        assert_eq!(begun.status, 201, "{prompt}");
        let body = json!({"prompt": prompt, "project": "/p"});
        let said = place.world.post(&ann.token, "/scenarios/match", &body).await.json();
        assert!(
            said["decision"] == "decline" && !said["why"].as_str().unwrap().is_empty(),
            "{prompt}: {said}"
        );
    }
    // Of another project nothing is known.
    let body = json!({"prompt": "What is the weather in Rome today?", "project": "/q"});
    let said = place.world.post(&ann.token, "/scenarios/match", &body).await.json();
    assert_eq!((&said["decision"], &said["code"]), (&json!("decline"), &json!("nothing_recorded")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_is_its_owners_alone() {
    let place = Place::new().await;
    let (first, _, scenario) = taught(&place).await;
    let id = scenario["scenarioId"].as_str().unwrap();
    let world = &place.world;
    let admin = world.person(world.tenant, Role::Admin, "root@example.com").await;
    let member = world.person(world.tenant, Role::Member, "bob@example.com").await;
    let stranger = world.person(world.other, Role::Admin, "eve@example.com").await;
    let edit = "sedit_00000000-0000-7000-8000-000000000001";
    let routes = [
        ("GET", format!("/scenarios/{id}"), ""),
        ("DELETE", format!("/scenarios/{id}"), ""),
        ("POST", format!("/scenarios/{id}/recalculate"), "{}"),
        ("POST", format!("/scenarios/{id}/derive"), r#"{"prompt":"x"}"#),
        ("POST", format!("/scenarios/{id}/replay"), "{}"),
        ("POST", format!("/scenarios/{id}/executions"), r#"{"outcome":"steered_full"}"#),
        ("GET", format!("/scenarios/{id}/executions"), ""),
        ("POST", format!("/scenarios/{id}/steps/0/check"), r#"{"freeze":true}"#),
        ("PATCH", format!("/scenarios/{id}/steps/0"), r#"{"freeze":true}"#),
        ("GET", format!("/scenarios/{id}/edits"), ""),
        ("POST", format!("/scenarios/{id}/edits/{edit}/revert"), "{}"),
        ("POST", format!("/scenarios/{id}/approve"), "{}"),
        ("GET", format!("/recordings/runs/{first}/scenario"), ""),
        ("POST", format!("/recordings/runs/{first}/calculate"), r#"{"force":true}"#),
    ];
    for person in [&admin, &member, &stranger] {
        for (method, path, body) in &routes {
            let answer = world.call(&person.token, method, path, *body).await;
            assert_eq!(answer.problem(), (404, "not_found".into()), "{method} {path}");
        }
        let listed = world.get(&person.token, "/scenarios").await.json();
        assert_eq!(listed["scenarios"], json!([]));
        let begun = place.begin(person, RunId::new(), "What is the weather in Rome today?").await;
        assert!(begun.json()["matched"].is_null(), "{}", begun.text());
    }
    assert_eq!(world.get(&place.ann.token, &format!("/scenarios/{id}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_answered_in_time_and_never_guessed() {
    let place = Place::new().await;
    taught(&place).await;
    let ann = place.ann.clone();
    let languages = [
        "今日のローマの天気は？",
        "今天罗马的天气怎么样？",
        "오늘 로마 날씨는 어때?",
        "Какая сегодня погода в Риме?",
        "ما حالة الطقس في روما اليوم؟",
        "מה מזג האוויר ברומא היום?",
        "Τι καιρό κάνει σήμερα στη Ρώμη;",
        "आज रोम का मौसम कैसा है?",
        "วันนี้อากาศที่โรมเป็นอย่างไร",
        "Wie ist heute das Wetter in Rom?",
    ];
    let long = "What is the weather in Rome today? ".repeat(3_000);
    let odd = [
        "scn_scn_scn_".repeat(50),
        "run_".to_owned(),
        "{{city}} ${city} `x`".to_owned(),
        "\u{202e}\u{0}".to_owned(),
        long,
    ];
    for prompt in languages.iter().map(|text| (*text).to_owned()).chain(odd) {
        let began = Instant::now();
        let run = RunId::new();
        let begun = place.begin(&ann, run, &prompt).await;
        let shown: String = prompt.chars().take(40).collect();
        if begun.status == 413 {
            assert!(prompt.len() > 64 << 10, "{shown}");
        } else {
            assert!(begun.json()["matched"].is_null(), "{shown}: {}", begun.text());
        }
        let body = json!({"prompt": prompt, "project": "/p"});
        let said = place.world.post(&ann.token, "/scenarios/match", &body).await;
        assert!(said.status == 200 && said.json()["decision"] == "decline", "{shown}: {}", said.text());
        assert!(began.elapsed() < Duration::from_secs(5), "{shown}: {:?}", began.elapsed());
    }
    for (path, body) in [
        ("/scenarios/match", r#"{"prompt":7}"#),
        ("/scenarios/match", "{}"),
        ("/scenarios/match", "{"),
        ("/scenarios/match", r#"{"prompt":"x","timeZone":"Mars/Olympus"}"#),
        ("/scenarios/match", r#"{"prompt":"x","now":18446744073709551615}"#),
    ] {
        let answer = place.world.call(&ann.token, "POST", path, body).await;
        assert_eq!(answer.problem().0, 400, "{body}");
    }
    for path in
        ["/scenarios/scn_scn_1", "/scenarios/run_1", "/scenarios/%00", "/recordings/runs/scn_1/scenario"]
    {
        assert_eq!(place.world.get(&ann.token, path).await.problem().0, 404, "{path}");
    }
    assert_eq!(place.world.get(&ann.token, "/scenarios?state=odd").await.problem().0, 400);
    assert_eq!(place.world.get(&ann.token, "/scenarios?cursor=odd").await.problem().0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_which_nothing_can_be_had_say_so() {
    let place = Place::new().await;
    let ann = place.ann.clone();
    let calculate = |run: RunId| {
        let (world, token) = (&place.world, ann.token.clone());
        async move { world.post(&token, &format!("/recordings/runs/{run}/calculate"), &json!({})).await }
    };
    // Without a step.
    let (empty, _) = place.record(&ann, "Say hello", &[]).await;
    assert_eq!(calculate(empty).await.problem(), (422, "invalid".into()));
    // One that goes on.
    let open = RunId::new();
    place.begin(&ann, open, "Wait").await;
    assert_eq!(calculate(open).await.problem(), (422, "invalid".into()));
    assert_eq!(calculate(RunId::new()).await.problem().0, 404);
    // With ids that look like a circle.
    let cyclic = [
        ("a", json!({"id": "x"}), json!({"id": "y", "next": "x"})),
        ("b", json!({"id": "y"}), json!({"id": "x", "next": "y"})),
        ("a", json!({"id": "x"}), json!({"id": "y", "next": "x"})),
    ];
    let (circle, _) = place.record(&ann, "Follow x", &cyclic).await;
    let answer = calculate(circle).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.json()["state"] == "ready" || answer.json()["reason"].is_string(), "{}", answer.text());
    // With more calls than anybody does again.
    let began = Instant::now();
    let many = RunId::new();
    place.begin(&ann, many, "Do it ten thousand times").await;
    let one = call(many, 0, "a", &json!({"n": 1}), &json!({"m": 1}));
    for part in 0..10_u32 {
        let rows: Vec<Record> = (0..1_000_u32)
            .map(|n| 2 * (part * 1_000 + n))
            .flat_map(|index| {
                let [mut begun, mut ended] = one.clone();
                (begun.id, begun.step_index) = (StepId::new(), index);
                (ended.id, ended.step_index) = (StepId::new(), index + 1);
                [Record::Step(begun), Record::Step(ended)]
            })
            .collect();
        assert_eq!(place.world.batch(&ann.token, &rows).await.status, 200);
    }
    place.calls(&ann, many, &[]).await;
    let scenario = place.scenario(&ann, many).await;
    assert_eq!(scenario["state"], "unusable", "{scenario}");
    assert!(scenario["reason"].as_str().unwrap().contains("calls"), "{scenario}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
