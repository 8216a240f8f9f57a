//! Several at once: one wins, and the others are told.

use super::*;

/// Of several at once one wins, and the others are told.
pub(crate) async fn is_changed_by_one_at_a_time(store: &Arc<dyn Store>, who: View) {
    const AT_ONCE: usize = 8;
    let run = runs(&**store, &who, 1).await[0];
    for _ in 0..10 {
        let id = put(&**store, &who, &scenario("raced", &[])).await.id;
        let edits = futures(AT_ONCE, |n| {
            let store = store.clone();
            async move { store.edit_step(&who, id, 0, &edit(1, Some(&format!("{n}")), None)).await }
        });
        let (won, lost): (Vec<_>, Vec<_>) = edits.await.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, AT_ONCE - 1));
        assert!(lost.iter().all(|lost| matches!(lost, Err(StoreError::Revision { expected: 1, found: 2 }))));
        let saved = won.into_iter().next().unwrap().unwrap().unwrap();
        assert_eq!(store.scenario_steps(&who, id, 0, 1).await.unwrap()[0].edits, saved.after);
        assert_eq!(store.edits(&who, id, &page(9)).await.unwrap().edits, [saved]);

        let ticket = store.issue_ticket(&who, id, &Match::default()).await.unwrap().unwrap().id;
        let told = futures(AT_ONCE, |n| {
            let store = store.clone();
            let mut told = report(Some(ticket), Outcome::SteeredFull);
            told.tokens = n as u64;
            async move { store.redeem(&who, id, &told).await.unwrap() }
        });
        let told = told.await;
        assert_eq!(told.iter().filter(|one| **one == Redeemed::Booked { ticket, run: None }).count(), 1);
        assert_eq!(told.iter().filter(|one| **one == Redeemed::Duplicate).count(), AT_ONCE - 1);
        let winner = told.iter().position(|one| *one == Redeemed::Booked { ticket, run: None }).unwrap();
        let booked = store.executions(&who, Some(id), &page(9)).await.unwrap().executions;
        assert_eq!((booked.len(), booked[0].report.tokens), (1, winner as u64));

        // A run that is calculated in two places gets one scenario.
        let put = futures(AT_ONCE, |_| {
            let store = store.clone();
            async move { store.put_scenario(&who, &scenario("p", &[(run, RunRole::Source)]), PutAs::New).await }
        });
        let (won, lost): (Vec<_>, Vec<_>) = put.await.into_iter().partition(Result::is_ok);
        assert!(
            won.len() == 1 && lost.iter().all(|lost| matches!(lost, Err(StoreError::Taken { .. }))),
            "{lost:?}"
        );
        assert_eq!(store.delete_scenarios(&who, None).await.unwrap(), 2);

        // Runs of one task that are calculated in several places get one scenario; the others are told which.
        let put = futures(AT_ONCE, |_| {
            let (store, beside) = (store.clone(), PutAs::Beside { seen: vec![] });
            async move { store.put_scenario(&who, &scenario("task", &[]), beside).await }
        });
        let (won, lost): (Vec<_>, Vec<_>) = put.await.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, AT_ONCE - 1));
        let made = won.into_iter().next().unwrap().unwrap().unwrap().id;
        assert!(
            lost.iter().all(|lost| matches!(lost, Err(StoreError::Beside(id)) if *id == made)),
            "{lost:?}"
        );
        let seen = PutAs::Beside { seen: vec![made] };
        assert!(store.put_scenario(&who, &scenario("another", &[]), seen).await.unwrap().is_some());
        // One of another project or of other calls is none of them.
        for (project, family) in [(None, "s/tool0 s/tool1"), (Some("/p"), "s/x")] {
            let mut new = scenario("elsewhere", &[]);
            (new.project, new.family) = (project.map(str::to_owned), family.into());
            let put = store.put_scenario(&who, &new, PutAs::Beside { seen: vec![] }).await;
            assert!(put.unwrap().is_some());
        }
        assert_eq!(store.delete_scenarios(&who, None).await.unwrap(), 4);
        // And a run that asks in several places gets one ticket.
        let id = put_one(&**store, &who).await;
        let asked = futures(AT_ONCE, |_| {
            let store = store.clone();
            let matched = Match { run: Some(run), prompt: None };
            async move { store.issue_ticket(&who, id, &matched).await.unwrap().unwrap() }
        });
        let tickets: HashSet<(TicketId, u64)> =
            asked.await.into_iter().map(|ticket| (ticket.id, ticket.matches)).collect();
        assert_eq!(tickets.len(), 1, "{tickets:?}");
        assert!(store.delete_scenario(&who, id).await.unwrap());
    }
}

async fn futures<T, F>(count: usize, make: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(|n| tokio::spawn(make(n))).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.unwrap());
    }
    done
}
