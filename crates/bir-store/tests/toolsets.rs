//! The tools of servers, and whom one trusts, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::RunId;
use bir_model::record::Record;
use bir_store::{Options, Store};
use common::{Database, book, person, start, tools};
use std::sync::Arc;

async fn all(store: Arc<dyn Store>) {
    let store = &*store;
    let tenant = store.add_tenant("one").await.unwrap();
    let ada = person(store, tenant).await;
    let bob = person(store, tenant).await;
    let other = store.add_tenant("two").await.unwrap();
    let eve = person(store, other).await;
    let [one, two] = [RunId::new(), RunId::new()];

    let records = [
        tools(one, "s", "a", 60, true),
        start(one, 50),
        tools(one, "s", "a", 60, true),
        tools(one, "s", "a", 61, false),
        tools(one, "s", "ab", 70, true),
        tools(one, "other\0", "a", 65, false),
        start(two, 80),
        tools(two, "s", "ab", 90, false),
        tools(two, "s", "abc", 91, false),
    ];
    assert_eq!(
        book(store, &ada, &records).await,
        ["unknown_run", "booked", "booked", "duplicate", "booked", "booked", "booked", "booked", "booked"]
    );
    let seen = store.tools_of_run(&ada, one).await.unwrap();
    let told: Vec<_> =
        seen.iter().map(|t| (&*t.server, t.at, t.set.as_ref().map(|s| &*s.tools[0].name))).collect();
    assert_eq!(told, [("s", 60, Some("a")), ("other\0", 65, Some("a")), ("s", 70, Some("ab"))]);
    let Record::Tools(whole) = &records[2] else { panic!() };
    assert_eq!(seen[0], *whole);
    let seen = store.tools_of_run(&ada, two).await.unwrap();
    assert_eq!(seen.iter().map(|t| t.set.is_some()).collect::<Vec<_>>(), [true, false]);
    let hashes: Vec<String> = seen.iter().map(|t| t.hash.clone()).collect();
    assert_eq!(store.tool_sets(&ada, &hashes).await.unwrap().len(), 1);

    // Nobody else's.
    for who in [&bob, &eve] {
        assert!(store.tools_of_run(who, one).await.unwrap().is_empty());
        assert!(store.tool_sets(who, &hashes).await.unwrap().is_empty());
    }
    assert_eq!(book(store, &bob, &[tools(one, "s", "a", 1, true)]).await, ["foreign_run"]);
    let mut wrong = tools(one, "s", "a", 1, true);
    if let Record::Tools(seen) = &mut wrong {
        seen.hash = "G".repeat(64);
    }
    assert_eq!(book(store, &ada, &[wrong]).await, ["invalid"]);

    // An export has them whole, and goes in again.
    let export = store.records(&ada, one, None, 100).await.unwrap();
    assert_eq!(export.iter().filter(|r| matches!(r, Record::Tools(t) if t.set.is_some())).count(), 3);
    assert!(matches!(export[1], Record::Tools(_)));
    assert_eq!(book(store, &eve, &export).await, vec!["booked"; export.len()]);
    assert_eq!(store.records(&eve, one, None, 100).await.unwrap(), export);

    // A set goes with the last run that names it, and not before.
    assert!(store.delete_run(&ada, one).await.unwrap());
    assert_eq!(store.tool_sets(&ada, &hashes).await.unwrap().len(), 1);
    let gone: Vec<String> = export
        .iter()
        .filter_map(|r| match r {
            Record::Tools(t) => Some(t.hash.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(store.tool_sets(&ada, &gone).await.unwrap().len(), 1, "the second run names one of them");
    assert_eq!(store.expire(1_000, 10).await.unwrap().runs, 2);
    assert!(store.tool_sets(&ada, &gone).await.unwrap().is_empty());
    assert!(store.tool_sets(&eve, &gone).await.unwrap().is_empty());

    // A server that changes with every call.
    let many = RunId::new();
    assert_eq!(book(store, &ada, &[start(many, 5)]).await, ["booked"]);
    let names: Vec<String> = (1..=260).map(|n| "x".repeat(n)).collect();
    let records: Vec<Record> = names.iter().map(|name| tools(many, "s", name, 6, false)).collect();
    let verdicts = book(store, &ada, &records).await;
    assert_eq!(verdicts.iter().filter(|v| **v == "booked").count(), 256);

    // Whom one trusts is one's own affair.
    assert!(store.trusted_servers(&ada).await.unwrap().is_empty());
    for (server, trusts, changes) in
        [("b", true, true), ("b", true, false), ("a", true, true), ("c", false, false), ("b", false, true)]
    {
        assert_eq!(store.trust_server(&ada, server, trusts).await.unwrap(), changes, "{server} {trusts}");
    }
    assert_eq!(store.trusted_servers(&ada).await.unwrap(), ["a"]);
    assert!(store.trusted_servers(&bob).await.unwrap().is_empty());
    assert!(store.trusted_servers(&eve).await.unwrap().is_empty());
    assert!(store.delete_user(tenant, ada.user).await.unwrap());
    assert!(store.trusted_servers(&ada).await.unwrap().is_empty());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite() {
    all(bir_store::open("sqlite::memory:", Options::default()).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    let Some(database) = Database::new("bir-store: tools on PostgreSQL").await else { return };
    all(bir_store::open(&database.app_url, Options::default()).await.unwrap()).await;
    database.end().await;
}
