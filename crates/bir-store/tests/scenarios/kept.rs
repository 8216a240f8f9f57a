//! What is put comes back: as it was, in lists, for matching, and with its history.

use super::*;

pub(crate) async fn comes_back_as_it_was_put(store: &dyn Store, who: &View) {
    let run = runs(store, who, 1).await[0];
    let mut new = scenario("find\0 it", &[(run, RunRole::Source)]);
    new.approved = true;
    let Put { id, revision } = put(store, who, &new).await;
    assert_eq!(revision, 1);
    let ScenarioDetail { summary, plan } = store.scenario(who, id).await.unwrap().unwrap();
    assert_eq!(plan, new.plan);
    assert_eq!((summary.prompt.as_str(), summary.source_run), ("find\0 it", Some(run)));
    assert_eq!((summary.project.as_deref(), summary.cwd.as_deref()), (Some("/p"), Some("/p/sub")));
    assert_eq!((summary.steps, summary.calculated_from, summary.matches), (2, 1, 0));
    assert!(summary.approved_at.is_some());
    assert_eq!(store.scenario_steps(who, id, 0, 100).await.unwrap(), new.steps);
    assert_eq!(store.scenario_steps(who, id, 1, 100).await.unwrap(), new.steps[1..]);
    assert_eq!(store.scenario_steps(who, id, 0, 1).await.unwrap(), new.steps[..1]);
    assert!(store.scenario_steps(who, id, 2, 100).await.unwrap().is_empty());

    // Another plan in its place: id, history, runs and executions stay.
    let ticket = store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    let saved = store.edit_step(who, id, 0, &edit(1, Some("return {}"), None)).await.unwrap().unwrap();
    let mut other = NewScenario { prompt: "other".into(), runs: vec![], ..new.clone() };
    other.steps.truncate(1);
    other.steps[0].recorded_output = None;
    (other.state, other.reason) = (ScenarioState::Unusable, Some("two values disagree".into()));
    (other.plan, other.approved) = (None, false);
    let instead = |expected_revision| PutAs::Instead { scenario: id, expected_revision };
    let stale = store.put_scenario(who, &other, instead(1)).await.unwrap_err();
    assert!(matches!(stale, StoreError::Revision { expected: 1, found: 2 }), "{stale}");
    let again = store.put_scenario(who, &other, instead(2)).await.unwrap().unwrap();
    assert_eq!((again.id, again.revision), (id, 3));
    let detail = store.scenario(who, id).await.unwrap().unwrap();
    assert_eq!(detail.summary.reason, other.reason);
    assert_eq!((detail.summary.approved_at, detail.summary.created_at), (None, summary.created_at));
    assert_eq!(store.scenario_steps(who, id, 0, 100).await.unwrap(), other.steps);
    assert_eq!(store.edits(who, id, &page(10)).await.unwrap().edits, [saved]);
    assert_eq!(store.scenario_runs(who, id, &page(10)).await.unwrap().runs[0].run, run);
    assert_eq!(
        store.redeem(who, id, &report(Some(ticket), Outcome::Failed)).await.unwrap(),
        Redeemed::Booked { ticket, run: None }
    );
    // One that is not ready is not matched.
    assert!(store.issue_ticket(who, id, &Match::default()).await.unwrap().is_none());
    let nowhere = PutAs::Instead { scenario: ScenarioId::new(), expected_revision: 1 };
    assert!(store.put_scenario(who, &new, nowhere).await.unwrap().is_none());
    assert!(store.delete_scenario(who, id).await.unwrap());
    assert!(!store.delete_scenario(who, id).await.unwrap());
}

/// All pages of two scenarios each.
pub(crate) async fn listed(store: &dyn Store, who: &View, filter: &ScenarioFilter) -> Vec<ScenarioId> {
    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..100 {
        let part = store.scenarios(who, filter, &Page { cursor, limit: 2 }).await.unwrap();
        found.extend(part.scenarios.iter().map(|one| (one.created_at, one.id)));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
    found.into_iter().map(|(_, id)| id).collect()
}

pub(crate) async fn is_listed_and_found_for_matching(store: &dyn Store, who: &View) {
    let all = ScenarioFilter::default();
    assert!(listed(store, who, &all).await.is_empty());
    let mut ids = Vec::new();
    for n in 0..5 {
        let mut new = scenario(&"long ".repeat(200), &[]);
        if n % 2 == 1 {
            new.state = ScenarioState::Pending;
            new.project = Some("/other".into());
            new.family = "s/x".into();
        }
        ids.push(put(store, who, &new).await.id);
    }
    ids.reverse();
    assert_eq!(listed(store, who, &all).await, ids);
    let odd = [ids[1], ids[3]];
    for filter in [
        ScenarioFilter { state: Some(ScenarioState::Pending), ..all.clone() },
        ScenarioFilter { project: Some("/other".into()), ..all.clone() },
        ScenarioFilter { family: Some("s/x".into()), state: Some(ScenarioState::Pending), ..all.clone() },
    ] {
        assert_eq!(listed(store, who, &filter).await, odd, "{filter:?}");
    }
    let none =
        ScenarioFilter { project: Some("/other".into()), state: Some(ScenarioState::Ready), ..all.clone() };
    assert!(listed(store, who, &none).await.is_empty());
    let first = store.scenarios(who, &all, &page(1)).await.unwrap();
    assert_eq!(first.scenarios[0].prompt.len(), 500);
    // A cursor of another list is none.
    let wrong = store.executions(who, None, &Page { cursor: first.next, limit: 1 }).await;
    assert!(matches!(wrong, Err(StoreError::Cursor)));

    let mut read = Vec::new();
    let mut position = None;
    for _ in 0..100 {
        let part = store.candidates(who, position, 2).await.unwrap();
        let Some(last) = part.last() else { break };
        position = Some(last.position());
        read.extend(part);
    }
    assert_eq!(read.len(), 5);
    assert!(read.is_sorted_by_key(Candidate::position));
    for one in &read {
        assert_eq!(one.plan.is_some(), one.state == ScenarioState::Ready);
        assert_eq!(one.prompt.len(), 1000);
    }
    // What was changed comes again.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let approve = ScenarioChange { approved: Some(true), ..ScenarioChange::default() };
    store.change_scenario(who, ids[4], &approve).await.unwrap().unwrap();
    let news = store.candidates(who, position, 100).await.unwrap();
    assert_eq!((news.len(), news[0].id, news[0].approved), (1, ids[4], true));
    assert_eq!(store.delete_scenarios(who, Some("/other")).await.unwrap(), 2);
    assert_eq!(store.delete_scenarios(who, None).await.unwrap(), 3);
}

pub(crate) async fn keeps_a_history(store: &dyn Store, who: &View) {
    let id = put(store, who, &scenario("edited", &[])).await.id;
    let first =
        store.edit_step(who, id, 1, &edit(1, Some("return {\"a\":\"\0\"}"), None)).await.unwrap().unwrap();
    assert_eq!(first.before, StepEdits { mark: Some(Mark::Calculation), ..StepEdits::default() });
    assert_eq!((first.revision, first.by, first.forced), (2, who.user, true));
    let steps = store.scenario_steps(who, id, 1, 1).await.unwrap();
    assert_eq!(steps[0].edits, first.after);
    let stale = store.edit_step(who, id, 0, &edit(1, None, None)).await.unwrap_err();
    assert!(matches!(stale, StoreError::Revision { expected: 1, found: 2 }), "{stale}");
    let mut undo = edit(2, None, Some(first.id));
    undo.after = first.before.clone();
    let second = store.edit_step(who, id, 1, &undo).await.unwrap().unwrap();
    assert_eq!((second.before.clone(), second.takes_back), (first.after.clone(), Some(first.id)));
    assert!(store.edit_step(who, id, 2, &edit(3, None, None)).await.unwrap().is_none());
    assert!(store.edit_step(who, ScenarioId::new(), 0, &edit(3, None, None)).await.unwrap().is_none());
    let part = store.edits(who, id, &page(1)).await.unwrap();
    assert_eq!(part.edits, std::slice::from_ref(&second));
    let rest = store.edits(who, id, &Page { cursor: part.next, limit: 1 }).await.unwrap();
    assert_eq!((rest.edits, rest.next), (vec![first.clone()], None));
    assert_eq!(store.edit(who, id, first.id).await.unwrap(), Some(first.clone()));
    assert_eq!(store.edit(who, ScenarioId::new(), first.id).await.unwrap(), None);
    assert_eq!(store.scenario(who, id).await.unwrap().unwrap().summary.revision, 3);

    // Levels: one that was taken away meanwhile is not given back.
    let to = |level, from: Option<Level>| ScenarioChange {
        level: Some((level, None)),
        standing: Some(format!("{level}")),
        only_from: from.map(|from| (from, (from != Level::L0).then(|| format!("{from}")))),
        approved: None,
    };
    let now = store.change_scenario(who, id, &to(Level::L1, Some(Level::L0))).await.unwrap().unwrap();
    assert_eq!((now.level, now.level_reason, now.revision), (Level::L1, None, 3));
    assert_eq!(now.standing.as_deref(), Some("L1"));
    let now = store.change_scenario(who, id, &to(Level::L2, Some(Level::L0))).await.unwrap().unwrap();
    assert_eq!(now.level, Level::L1);
    // Nor is one that stands on something else by now.
    let elsewhere = ScenarioChange { only_from: Some((Level::L1, None)), ..to(Level::L2, None) };
    assert_eq!(store.change_scenario(who, id, &elsewhere).await.unwrap().unwrap().level, Level::L1);
    let approve = |yes| ScenarioChange { approved: Some(yes), ..ScenarioChange::default() };
    let now = store.change_scenario(who, id, &approve(true)).await.unwrap().unwrap();
    assert!(now.approved_at.is_some() && now.level == Level::L1);
    assert_eq!(store.change_scenario(who, id, &approve(false)).await.unwrap().unwrap().approved_at, None);
    assert!(store.change_scenario(who, ScenarioId::new(), &approve(true)).await.unwrap().is_none());
    store.delete_scenarios(who, None).await.unwrap();
}
