//! Whose it is, and what is too large.

use super::*;

/// Somebody else, an administrator and another tenant among them, gets nothing and changes nothing.
pub(crate) async fn is_its_owners_alone(store: &dyn Store, who: &View, others: &[View]) {
    let run = runs(store, who, 1).await[0];
    let id = put(store, who, &scenario("mine", &[(run, RunRole::Source)])).await.id;
    let ticket = store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    let saved = store.edit_step(who, id, 0, &edit(1, None, None)).await.unwrap().unwrap();
    store.redeem(who, id, &report(None, Outcome::Failed)).await.unwrap();
    let before = store.scenario(who, id).await.unwrap();
    for other in others {
        let own = runs(store, other, 1).await[0];
        assert!(store.scenario(other, id).await.unwrap().is_none());
        assert!(store.scenario_steps(other, id, 0, 9).await.unwrap().is_empty());
        assert!(kept::listed(store, other, &ScenarioFilter::default()).await.is_empty());
        assert!(store.scenarios_of_runs(other, &[run]).await.unwrap().is_empty());
        assert!(store.candidates(other, None, 9).await.unwrap().is_empty());
        assert!(store.scenario_runs(other, id, &page(9)).await.unwrap().runs.is_empty());
        for free in [
            store.runs_without_scenario(other, &page(9)).await.unwrap().runs,
            store.runs_to_calculate(other, &page(9)).await.unwrap().runs,
        ] {
            assert_eq!(free.iter().map(|run| run.id).collect::<Vec<_>>(), [own]);
        }
        assert!(store.edits(other, id, &page(9)).await.unwrap().edits.is_empty());
        assert!(store.edit(other, id, saved.id).await.unwrap().is_none());
        for of in [Some(id), None] {
            assert!(store.executions(other, of, &page(9)).await.unwrap().executions.is_empty());
        }
        assert!(store.baseline(other, id, 9).await.unwrap().is_empty());
        let instead = PutAs::Instead { scenario: id, expected_revision: 2 };
        assert!(store.put_scenario(other, &scenario("theirs", &[]), instead).await.unwrap().is_none());
        assert!(store.edit_step(other, id, 0, &edit(2, None, None)).await.unwrap().is_none());
        let change = ScenarioChange { approved: Some(true), ..ScenarioChange::default() };
        assert!(store.change_scenario(other, id, &change).await.unwrap().is_none());
        assert!(store.issue_ticket(other, id, &Match::default()).await.unwrap().is_none());
        for ticket in [Some(ticket), None] {
            let told = report(ticket, Outcome::SteeredFull);
            assert_eq!(store.redeem(other, id, &told).await.unwrap(), Redeemed::Unknown);
        }
        assert!(!store.add_scenario_run(other, id, own, RunRole::Example).await.unwrap());
        // Somebody else's run is not one's own, also for who sees it.
        let theirs = put(store, other, &scenario("theirs", &[(run, RunRole::Source)])).await.id;
        assert!(store.scenario_runs(other, theirs, &page(9)).await.unwrap().runs.is_empty());
        assert!(!store.add_scenario_run(other, theirs, run, RunRole::Example).await.unwrap());
        assert!(!store.delete_scenario(other, id).await.unwrap());
        assert_eq!(store.delete_scenarios(other, None).await.unwrap(), 1);
    }
    assert_eq!(store.scenario(who, id).await.unwrap(), before);
    assert_eq!(
        store.redeem(who, id, &report(Some(ticket), Outcome::Failed)).await.unwrap(),
        Redeemed::Booked { ticket, run: None }
    );
    assert!(store.delete_scenario(who, id).await.unwrap() && store.is_dismissed(who, run).await.unwrap());
    for other in others {
        assert!(!store.is_dismissed(other, run).await.unwrap());
    }
}

pub(crate) async fn says_what_is_too_large(store: &dyn Store, who: &View) {
    const LIMIT: usize = 16 << 20;
    let whole = "ä\0".repeat((10 << 20) / 3);
    let mut new = scenario("large", &[]);
    new.steps[0].recorded_output = Some(whole.clone());
    new.steps[1].recorded_output = Some("x".repeat(LIMIT));
    let id = put(store, who, &new).await.id;
    let steps = store.scenario_steps(who, id, 0, 9).await.unwrap();
    assert!(steps == new.steps, "10 MB come back as they were");
    // Many of them come in parts.
    let large = &new.steps[1];
    new.steps = (0..5).map(|index| ScenarioStep { index, ..large.clone() }).collect();
    let id = put(store, who, &new).await.id;
    let mut read = 0;
    let mut parts = 0;
    while parts < 10 {
        let part = store.scenario_steps(who, id, read, 100).await.unwrap();
        if part.is_empty() {
            break;
        }
        read += u32::try_from(part.len()).unwrap();
        parts += 1;
    }
    assert_eq!((read, parts), (5, 2));

    // What is larger does not come to the database; `limits.rs` tries each limit.
    new.steps[0].recorded_output = Some("x".repeat(LIMIT + 1));
    let error = store.put_scenario(who, &new, PutAs::New).await.unwrap_err();
    assert!(matches!(&error, StoreError::Refused(why) if why.contains("recordedOutput")), "{error}");
    let huge = StepEdit { note: Some("x".repeat(LIMIT + 1)), ..edit(1, None, None) };
    assert!(matches!(store.edit_step(who, id, 0, &huge).await, Err(StoreError::Refused(_))));
    let mut told = report(None, Outcome::Failed);
    told.tokens = u64::MAX;
    assert!(matches!(store.redeem(who, id, &told).await, Err(StoreError::Refused(_))));
    store.delete_scenarios(who, None).await.unwrap();
}
