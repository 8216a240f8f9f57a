//! Which runs belong to a scenario, and what becomes of it when they go.

use super::*;

pub(crate) async fn knows_its_runs(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 6).await;
    let free = async || {
        let part = store.runs_without_scenario(who, &page(100)).await.unwrap();
        part.runs.iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let newest: Vec<RunId> = ids.iter().rev().copied().collect();
    assert_eq!(free().await, newest);
    let one =
        put(store, who, &scenario("one", &[(ids[0], RunRole::Source), (RunId::new(), RunRole::Example)]))
            .await
            .id;
    let two = put(store, who, &scenario("two", &[(ids[1], RunRole::Source)])).await.id;
    assert!(store.add_scenario_run(who, one, ids[2], RunRole::Baseline).await.unwrap());
    assert!(store.add_scenario_run(who, one, ids[2], RunRole::Replayed).await.unwrap());
    assert!(store.add_scenario_run(who, one, ids[3], RunRole::Example).await.unwrap());
    assert!(!store.add_scenario_run(who, one, RunId::new(), RunRole::Example).await.unwrap());
    assert!(!store.add_scenario_run(who, ScenarioId::new(), ids[4], RunRole::Example).await.unwrap());
    let taken = store.add_scenario_run(who, two, ids[2], RunRole::Example).await.unwrap_err();
    assert!(
        matches!(taken, StoreError::Taken { run, scenario } if run == ids[2] && scenario == one),
        "{taken}"
    );
    let taken = store
        .put_scenario(
            who,
            &scenario("three", &[(ids[4], RunRole::Source), (ids[0], RunRole::Example)]),
            PutAs::New,
        )
        .await;
    assert!(matches!(taken, Err(StoreError::Taken { .. })));
    assert_eq!(free().await, [ids[5], ids[4]], "nothing by halves");
    let first = store.runs_without_scenario(who, &page(1)).await.unwrap();
    let second = store.runs_without_scenario(who, &Page { cursor: first.next, limit: 1 }).await.unwrap();
    assert_eq!((second.runs[0].id, second.next), (ids[4], None));

    let known = store.scenarios_of_runs(who, &ids).await.unwrap();
    let known: Vec<_> = known.iter().map(|of| (of.run, of.role, of.scenario.id)).collect();
    assert_eq!(
        known,
        [
            (ids[0], RunRole::Source, one),
            (ids[1], RunRole::Source, two),
            (ids[2], RunRole::Replayed, one),
            (ids[3], RunRole::Example, one),
        ]
    );
    let too_many = store.scenarios_of_runs(who, &vec![ids[0]; 501]).await;
    assert!(matches!(too_many, Err(StoreError::Refused(_))));

    // A scenario outlives its runs, and what they cost stays.
    for run in [ids[0], ids[2]] {
        assert!(store.delete_run(who, run).await.unwrap());
    }
    let part = store.scenario_runs(who, one, &page(10)).await.unwrap();
    let roles: Vec<_> = part.runs.iter().map(|run| (run.run, run.gone)).collect();
    assert_eq!(roles, [(ids[3], false), (ids[0], true)], "one in which it only ran is forgotten");
    assert_eq!(part.runs[1].metrics, Some(json!({"costUsd": "0.10"})));
    assert_eq!((part.runs[1].started_at, part.runs[1].ended_at), (100, Some(900)));
    assert_eq!(store.scenario(who, one).await.unwrap().unwrap().summary.source_run, Some(ids[0]));
    assert_eq!(store.scenario_steps(who, one, 0, 9).await.unwrap().len(), 2);
    assert_eq!(store.baseline(who, one, 10).await.unwrap().len(), 2);
    let first = store.scenario_runs(who, one, &page(1)).await.unwrap();
    let second = store.scenario_runs(who, one, &Page { cursor: first.next, limit: 1 }).await.unwrap();
    assert_eq!((second.runs[0].run, second.next), (ids[0], None));
    store.delete_recordings_of(who, who.user).await.unwrap();
    let left = store.scenario_runs(who, one, &page(10)).await.unwrap().runs;
    assert!(left.len() == 2 && left.iter().all(|run| run.gone));
    store.delete_scenarios(who, None).await.unwrap();
}

pub(crate) async fn remembers_what_was_deleted(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 5).await;
    let of = async |page: &Page| {
        let part = store.runs_to_calculate(who, page).await.unwrap();
        (part.runs.iter().map(|run| run.id).collect::<Vec<_>>(), part.next)
    };
    let dismissed = async || {
        let mut found = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            if store.is_dismissed(who, *id).await.unwrap() {
                found.push(n);
            }
        }
        found
    };
    let one =
        put(store, who, &scenario("one", &[(ids[0], RunRole::Source), (ids[1], RunRole::Example)])).await.id;
    assert!(store.add_scenario_run(who, one, ids[2], RunRole::Replayed).await.unwrap());
    put(store, who, &scenario("two", &[(ids[3], RunRole::Source)])).await;
    assert!(dismissed().await.is_empty());
    assert!(store.delete_run(who, ids[1]).await.unwrap());
    assert!(store.delete_scenario(who, one).await.unwrap());
    assert_eq!(dismissed().await, [0, 2], "one that was deleted before leaves no mark");
    assert_eq!(store.delete_scenarios(who, None).await.unwrap(), 1);
    assert_eq!(dismissed().await, [0, 2, 3]);
    assert_eq!(of(&page(1)).await, (vec![ids[4]], None));
    let free = store.runs_without_scenario(who, &page(9)).await.unwrap().runs;
    assert_eq!(free.iter().map(|run| run.id).collect::<Vec<_>>(), [ids[4], ids[3], ids[2], ids[0]]);
    assert!(store.scenarios_of_runs(who, &ids).await.unwrap().is_empty());

    // Put into a scenario, it is as any other.
    let again = put(store, who, &scenario("again", &[(ids[0], RunRole::Source)])).await.id;
    assert!(store.add_scenario_run(who, again, ids[2], RunRole::Baseline).await.unwrap());
    assert_eq!(dismissed().await, [3]);
    let known = store.scenarios_of_runs(who, &ids).await.unwrap();
    let known: Vec<_> = known.iter().map(|of| (of.run, of.role, of.scenario.id)).collect();
    assert_eq!(known, [(ids[0], RunRole::Source, again), (ids[2], RunRole::Baseline, again)]);

    // The mark goes with its run, however that goes.
    assert!(store.delete_run(who, ids[3]).await.unwrap());
    assert!(dismissed().await.is_empty());
    assert!(store.delete_scenario(who, again).await.unwrap());
    assert_eq!(dismissed().await, [0, 2]);
    store.delete_recordings_of(who, who.user).await.unwrap();
    assert!(dismissed().await.is_empty());
}

/// Deleting scenarios and runs at the same time leaves no mark behind, and ends.
pub(crate) async fn is_deleted_beside_its_runs(store: &Arc<dyn Store>, who: View) {
    for _ in 0..20 {
        let ids = runs(&**store, &who, 4).await;
        let named: Vec<_> = ids.iter().map(|run| (*run, RunRole::Example)).collect();
        let id = put(&**store, &who, &scenario("p", &named)).await.id;
        let gone = store.clone();
        let scenario = tokio::spawn(async move { gone.delete_scenario(&who, id).await });
        store.delete_recordings_of(&who, who.user).await.unwrap();
        assert!(scenario.await.unwrap().unwrap());
    }
}

pub(crate) async fn goes_with_its_owner_and_stays_without_its_runs(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 3).await;
    let gone = put(store, who, &scenario("gone", &[(ids[2], RunRole::Source)])).await.id;
    assert!(
        store.delete_scenario(who, gone).await.unwrap() && store.is_dismissed(who, ids[2]).await.unwrap()
    );
    let id = put(store, who, &scenario("kept", &[(ids[0], RunRole::Source), (ids[1], RunRole::Replayed)]))
        .await
        .id;
    assert!(store.expire(u64::MAX >> 12, 100_000).await.unwrap().runs >= 2);
    assert!(store.scenario(who, id).await.unwrap().is_some());
    let left = store.scenario_runs(who, id, &page(9)).await.unwrap().runs;
    assert_eq!(left.iter().map(|run| (run.run, run.gone)).collect::<Vec<_>>(), [(ids[0], true)]);
    for n in 0..250 {
        put(store, who, &scenario(&format!("{n}"), &[])).await;
    }
    assert!(store.delete_user(who.tenant, who.user).await.unwrap());
    assert!(store.scenario(who, id).await.unwrap().is_none());
    let late = store.put_scenario(who, &scenario("late", &[]), PutAs::New).await.unwrap_err();
    assert!(matches!(late, StoreError::Refused(_)), "{late}");
}
