//! Tickets and what is booked under them.

use super::*;

pub(crate) async fn books_an_execution_once(store: &dyn Store, who: &View) {
    let ids = runs(store, who, 3).await;
    let id = put(store, who, &scenario("run it", &[(ids[0], RunRole::Source)])).await.id;
    let other = put(store, who, &scenario("other", &[])).await.id;
    let matched = Match { run: Some(ids[1]), prompt: Some("asked\0".into()) };
    let Ticket { id: ticket, matches } = store.issue_ticket(who, id, &matched).await.unwrap().unwrap();
    assert_eq!(matches, 1);
    // Asked again, the run has the ticket that it has, and counts once.
    let again = store.issue_ticket(who, id, &matched).await.unwrap().unwrap();
    assert_eq!((again.id, again.matches), (ticket, 1));
    let third = put(store, who, &scenario("third", &[])).await.id;
    assert_ne!(store.issue_ticket(who, third, &matched).await.unwrap().unwrap().id, ticket);
    assert_eq!(store.waiting(who, &ids).await.unwrap().len(), 2);
    assert!(store.delete_scenario(who, third).await.unwrap());
    assert_eq!(store.waiting(who, &ids).await.unwrap(), [ids[1]]);
    assert!(
        store.executions(who, Some(id), &page(9)).await.unwrap().executions.is_empty(),
        "nothing was told yet"
    );
    let mut told = report(Some(ticket), Outcome::FellBack);
    told.mode = Some(Mode::Direct);
    told.level = Some(Level::L1);
    told.derive_cost_usd = "0.000000000001".parse().unwrap();
    told.session_cost_usd = "12.5".parse().unwrap();
    (told.tokens, told.duration_ms, told.steps_planned, told.steps_pinned) = (7, 8, 2, 1);
    (told.measured, told.pricing_version) = (true, "2026-08-30".into());
    (told.error, told.error_stage, told.error_step_index) = (Some("e\0".into()), Some(Stage::Input), Some(1));
    told.error_tool_name = Some("tool1".into());
    told.steps = vec![StepResult {
        step_index: 1,
        tool_name: "tool1".into(),
        status: StepVerdict::Failed,
        stage: Some(Stage::Input),
        error: Some("e\0".into()),
        duration_ms: Some(3),
    }];
    assert_eq!(
        store.redeem(who, other, &told).await.unwrap(),
        Redeemed::Unknown,
        "the ticket of another one"
    );
    assert_eq!(store.redeem(who, id, &told).await.unwrap(), Redeemed::Booked { ticket, run: Some(ids[1]) });
    assert!(store.waiting(who, &ids).await.unwrap().is_empty());
    assert_eq!(
        store.issue_ticket(who, id, &matched).await.unwrap().unwrap().id,
        ticket,
        "redeemed, it is the same"
    );
    let late = report(Some(ticket), Outcome::SteeredFull);
    assert_eq!(store.redeem(who, id, &late).await.unwrap(), Redeemed::Duplicate);
    let never = report(Some(TicketId::new()), Outcome::SteeredFull);
    assert_eq!(store.redeem(who, id, &never).await.unwrap(), Redeemed::Unknown);
    let found = store.executions(who, Some(id), &page(9)).await.unwrap().executions;
    assert_eq!((found.len(), found[0].id, found[0].run), (1, ticket, Some(ids[1])));
    let used =
        |id: ScenarioId| async move { store.scenario(who, id).await.unwrap().unwrap().summary.last_used_at };
    assert_eq!((used(id).await, used(other).await), (Some(found[0].claimed_at), None));
    told.prompt = Some("asked\0".into());
    assert_eq!(found[0].report, told);

    // What the model did by itself, each run once.
    assert!(store.add_scenario_run(who, id, ids[2], RunRole::Baseline).await.unwrap());
    let matched = Match { run: Some(ids[2]), prompt: None };
    let Ticket { id: declined, matches } = store.issue_ticket(who, id, &matched).await.unwrap().unwrap();
    assert_eq!(matches, 2);
    store.redeem(who, id, &report(Some(declined), Outcome::NotSteered)).await.unwrap();
    let Redeemed::Booked { ticket: alone, .. } =
        store.redeem(who, id, &report(None, Outcome::Failed)).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(
        store.redeem(who, ScenarioId::new(), &report(None, Outcome::Failed)).await.unwrap(),
        Redeemed::Unknown
    );
    let samples = store.baseline(who, id, 10).await.unwrap();
    let (mut of_runs, mut executed) = (Vec::new(), Vec::new());
    for sample in samples {
        match sample {
            BaselineSample::Run(run) => of_runs.push(run.run),
            BaselineSample::Execution(execution) => executed.push(execution.id),
        }
    }
    executed.sort_unstable();
    assert_eq!((of_runs, executed), (vec![ids[0]], vec![declined, alone]));
    assert_eq!(store.baseline(who, id, 1).await.unwrap().len(), 1);

    let mut seen = Vec::new();
    let mut cursor = None;
    for _ in 0..10 {
        let part = store.executions(who, None, &Page { cursor, limit: 1 }).await.unwrap();
        seen.extend(part.executions.into_iter().map(|one| one.id));
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, [ticket, declined, alone]);

    // Tickets that nobody redeemed go with what else is over.
    let open = store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    assert_eq!(store.purge(1, 100).await.unwrap(), 0);
    assert_eq!(store.purge(u64::MAX >> 12, 100).await.unwrap(), 1);
    assert_eq!(store.redeem(who, id, &report(Some(open), Outcome::Failed)).await.unwrap(), Redeemed::Unknown);
    assert_eq!(store.executions(who, Some(id), &page(9)).await.unwrap().executions.len(), 3);
    store.delete_scenarios(who, None).await.unwrap();
    assert!(store.executions(who, None, &page(9)).await.unwrap().executions.is_empty());
}

pub(crate) async fn keeps_no_more_tickets_than_may_wait(store: &dyn Store, who: &View) {
    let id = put(store, who, &scenario("asked often", &[])).await.id;
    let issue = async || store.issue_ticket(who, id, &Match::default()).await.unwrap().unwrap().id;
    let first = issue().await;
    let second = issue().await;
    for _ in 2..=TICKETS_WAITING {
        issue().await;
    }
    let told = async |ticket| store.redeem(who, id, &report(Some(ticket), Outcome::Failed)).await.unwrap();
    assert_eq!(told(first).await, Redeemed::Unknown, "the oldest went");
    assert_eq!(told(second).await, Redeemed::Booked { ticket: second, run: None });
    assert!(store.delete_scenario(who, id).await.unwrap());
}
