//! Every rung of the ladder, one at a time.

use super::*;
use crate::event::Seal;
use crate::tests::matched;
use bir_model::scenario::{Act, Level, ScenarioState};
use serde_json::json;

fn steps() -> Value {
    json!([
        {"server": "s", "tool": "get", "effect": "read", "input": {"city": {"param": "p"}}},
        {"server": "s", "tool": "more", "effect": "read"},
    ])
}

fn one() -> Matched {
    matched(steps(), Level::L1, json!({"p": "dev", "q": "x"}))
}

/// The decision, with one thing changed.
fn with<'a>(change: impl FnOnce(&mut Question<'a>)) -> Decision {
    of(one(), change)
}

fn of<'a>(found: Matched, change: impl FnOnce(&mut Question<'a>)) -> Decision {
    let policy: &Policy = Box::leak(Box::default());
    let wrapped: &BTreeSet<String> = Box::leak(Box::new(["s".to_owned()].into()));
    let mut question: Question<'a> = Question {
        at: 5,
        now: Now { text: "2026-11-30T08:00".into(), ms: 0 },
        found: Found::Match(Box::new(found)),
        planning: false,
        on: true,
        cooling: false,
        held: false,
        policy,
        wrapped,
        tools: Tools::default(),
        here: Place { project: Some("/p"), cwd: Some("/p") },
        there: Place::default(),
        approved: true,
        delivers: true,
        expected: Expected::default(),
    };
    change(&mut question);
    decide(question)
}

fn code(decision: &Decision) -> Option<Code> {
    match decision {
        Decision::Arm(_) => None,
        Decision::Decline(declined) => Some(declined.code),
    }
}

fn changed(change: impl FnOnce(&mut Matched)) -> Matched {
    let mut found = one();
    change(&mut found);
    found
}

#[test]
fn where_every_rung_holds_a_plan_is_armed() {
    let Decision::Arm(ready) = with(|_| {}) else { panic!("declined") };
    assert_eq!((ready.coverage.mode, ready.consent, ready.delivers), (Mode::Direct, Consent::Given, true));
    assert_eq!(ready.params["p"], json!("dev"));
}

#[test]
fn each_rung_declines_with_its_own_word() {
    let other = |name: &str| BTreeSet::from([name.to_owned()]);
    let (others, policy) = (other("other"), Policy { min_similarity: Some(0.9), ..Policy::default() });
    let named = BTreeSet::from([("s".to_owned(), "get".to_owned())]);
    let cases: Vec<(Decision, Code)> = vec![
        (with(|q| q.planning = true), Code::Planning),
        (with(|q| q.on = false), Code::Off),
        (with(|q| q.cooling = true), Code::ServiceUnhealthy),
        (with(|q| q.held = true), Code::MatchSlow),
        (with(|q| q.found = Found::Nothing), Code::Nothing),
        (with(|q| q.found = Found::TimedOut), Code::MatchTimeout),
        (with(|q| q.found = Found::Late), Code::MatchLate),
        (of(changed(|m| m.decision = Some(HubDecision::Decline)), |_| {}), Code::Declined),
        (of(changed(|m| m.scenario = None), |_| {}), Code::NotReady),
        (
            of(changed(|m| m.scenario.as_mut().unwrap().state = ScenarioState::Pending), |_| {}),
            Code::NotReady,
        ),
        (of(changed(|m| m.scenario.as_mut().unwrap().steps.clear()), |_| {}), Code::NotReady),
        (of(changed(|m| m.scenario.as_mut().unwrap().plan = None), |_| {}), Code::Unreadable),
        (of(changed(|m| m.scenario.as_mut().unwrap().steps[1].tool = "x".into()), |_| {}), Code::Unreadable),
        (of(changed(|m| drop(m.scenario.as_mut().unwrap().steps.pop())), |_| {}), Code::Unreadable),
        (with(|q| q.policy = &policy), Code::Similarity),
        (with(|q| q.there.project = Some("/q")), Code::OtherDirectory),
        (with(|q| (q.wrapped, q.tools.servers) = (&others, Some(&others))), Code::OtherTools),
        (with(|q| q.tools.named = Some(&named)), Code::OtherTools),
        (with(|q| q.delivers = false), Code::NoDeliveryTool),
    ];
    for (decision, expected) in cases {
        assert_eq!(code(&decision), Some(expected));
        let Decision::Decline(mut declined) = decision else { panic!("armed") };
        assert!(!declined.why.is_empty());
        // What matched is a sample of what the task costs, once; what did not is nothing.
        let seal =
            Seal { spent: Some(crate::usage::Spent { tokens: 1, ..Default::default() }), ..Seal::default() };
        let report = declined.report(&seal, 10);
        assert_eq!(report.is_some(), declined.outcome().is_some());
        assert_eq!(report.as_ref().map(|report| report.outcome), declined.outcome());
        assert!(report.is_none_or(|report| report.ticket.is_some()));
        assert_eq!(declined.report(&seal, 11), None);
    }
}

#[test]
fn a_similarity_is_a_veto_only_where_an_operator_sets_one() {
    let policy = Policy { min_similarity: Some(0.9), ..Policy::default() };
    for (similarity, expected) in
        [(None, Some(Code::Similarity)), (Some(0.89), Some(Code::Similarity)), (Some(0.9), None)]
    {
        let found = || changed(|m| m.similarity = similarity);
        assert_eq!(code(&of(found(), |q| q.policy = &policy)), expected);
        assert_eq!(code(&of(found(), |_| {})), None);
    }
}

#[test]
fn a_target_has_to_be_read_and_a_setting_need_not() {
    let role = |role: &str, m: &mut Matched| {
        m.scenario.as_mut().unwrap().plan.as_mut().unwrap()["params"][0]["role"] = json!(role);
    };
    for (target, change, expected) in [
        (true, (|_| {}) as fn(&mut Matched), None),
        (true, |m| m.derived = None, Some(Code::MissingTarget)),
        (false, |m| m.derived = None, None),
        (true, |m| m.derived.as_mut().unwrap().missing.push("p".into()), Some(Code::MissingTarget)),
        (false, |m| m.derived.as_mut().unwrap().missing.push("p".into()), Some(Code::MissingTarget)),
        (true, |m| drop(m.derived.as_mut().unwrap().params.shift_remove("p")), Some(Code::MissingTarget)),
        (false, |m| drop(m.derived.as_mut().unwrap().params.shift_remove("p")), None),
        (
            true,
            |m| drop(m.derived.as_mut().unwrap().params.insert("p".into(), Value::Null)),
            Some(Code::MissingTarget),
        ),
        (false, |m| m.derived.as_mut().unwrap().derived = false, Some(Code::MissingTarget)),
    ] {
        let found = changed(|m| {
            role(if target { "target" } else { "setting" }, m);
            change(m);
        });
        let decision = of(found, |_| {});
        assert_eq!(code(&decision), expected, "target: {target}");
        if let Decision::Arm(ready) = decision {
            assert!(!ready.params["p"].is_null(), "never nothing in the place of a value");
        }
    }
}

#[test]
fn what_goes_into_a_command_is_a_plain_value() {
    let shell = json!([{"tool": "Bash", "effect": "destructive", "input": {"command": {"param": "p"}}}]);
    for (value, expected) in [("dev", None), ("dev; rm -rf x", Some(Code::UnsafeValue))] {
        let found = matched(shell.clone(), Level::L3, json!({"p": value}));
        assert_eq!(code(&of(found, |_| {})), expected, "{value}");
    }
}

#[test]
fn nothing_is_announced_of_which_the_first_step_does_not_run() {
    for step in [
        json!({"server": "s", "tool": "get", "mark": "by_hand"}),
        json!({"server": "s", "tool": "get", "confidence": "none"}),
        json!({"server": "s", "tool": "get", "input": {"url": {"kept": "x"}}}),
    ] {
        assert_eq!(code(&of(matched(json!([step]), Level::L3, json!({})), |_| {})), Some(Code::NothingToRun));
    }
}

#[test]
fn a_scenario_that_is_not_approved_asks_and_trust_all_does_not() {
    let trusts = Policy { trust_all: true, ..Policy::default() };
    let consent = |decision| match decision {
        Decision::Arm(ready) => ready.consent,
        Decision::Decline(declined) => panic!("{declined:?}"),
    };
    assert_eq!(consent(with(|q| q.approved = false)), Consent::Ask);
    assert_eq!(consent(with(|q| (q.approved, q.policy) = (false, &trusts))), Consent::Given);
}

#[test]
fn where_the_hub_says_steer_nothing_runs_by_itself() {
    let found = changed(|m| m.decision = Some(HubDecision::Steer));
    let Decision::Arm(ready) = of(found, |q| q.delivers = false) else { panic!("declined") };
    assert_eq!((ready.coverage.mode, ready.delivers, ready.coverage.lead), (Mode::Steer, false, 0));
    assert!(ready.coverage.steps.iter().all(|step| !step.executes && step.act == Act::Steer));
}

#[test]
fn steps_at_the_beginning_run_in_one_call_where_somebody_serves_it() {
    let mixed = json!([
        {"server": "s", "tool": "a"}, {"server": "s", "tool": "b"}, {"tool": "Read"},
    ]);
    let found = || matched(mixed.clone(), Level::L1, json!({}));
    let delivers = |decision| match decision {
        Decision::Arm(ready) => (ready.coverage.mode, ready.delivers),
        Decision::Decline(declined) => panic!("{declined:?}"),
    };
    assert_eq!(delivers(of(found(), |_| {})), (Mode::Steer, true));
    assert_eq!(delivers(of(found(), |q| q.delivers = false)), (Mode::Steer, false));
    let single = matched(json!([{"server": "s", "tool": "a"}, {"tool": "Read"}]), Level::L1, json!({}));
    assert_eq!(delivers(of(single, |_| {})), (Mode::Steer, false), "one call for one step saves nothing");
}

#[test]
fn a_place_of_another_directory_is_not_carried_over() {
    let at = |command: &str| {
        matched(
            json!([{"tool": "Read", "effect": "read", "input": {"file_path": {"const": command}}}]),
            Level::L1,
            json!({}),
        )
    };
    for (constant, there, here, expected) in [
        ("/home/a/x.rs", "/home/a", "/home/b", Some(Code::OtherDirectory)),
        ("cat /home/a/x.rs", "/home/a/", "/home/b", Some(Code::OtherDirectory)),
        ("/home/ab/x.rs", "/home/a", "/home/b", None),
        ("/etc/hosts", "/home/a", "/home/b", None),
        ("x.rs", "/home/a", "/home/b", None),
        ("/home/a/x.rs", "/home/a", "/home/a", None),
        ("/home/a/sub/x.rs", "/home/a", "/home/a/sub", None),
    ] {
        let decision = of(at(constant), |q| {
            q.there = Place { project: Some("/p"), cwd: Some(there) };
            q.here = Place { project: Some("/p"), cwd: Some(here) };
        });
        assert_eq!(code(&decision), expected, "{constant} {there} {here}");
    }
}

#[test]
fn every_code_has_a_word_of_its_own() {
    let all = [
        Code::Planning,
        Code::Off,
        Code::ServiceUnhealthy,
        Code::MatchSlow,
        Code::Nothing,
        Code::MatchTimeout,
        Code::MatchLate,
        Code::Declined,
        Code::NotReady,
        Code::Unreadable,
        Code::Similarity,
        Code::OtherDirectory,
        Code::OtherTools,
        Code::MissingTarget,
        Code::UnsafeValue,
        Code::NothingToRun,
        Code::NoDeliveryTool,
    ];
    assert_eq!(all.iter().map(|code| code.as_str()).collect::<BTreeSet<_>>().len(), all.len());
}
