//! What can be wrong with the file of the embedded store: no room, no right, no database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::record::{Record, StepType};
use bir_model::{RunId, StepId};
use bir_store::model::{Page, RunFilter, View};
use bir_store::{Options, Store, StoreError};
use sqlx::{Connection, SqliteConnection};
use std::path::Path;
use std::process::Command;

/// Rows of one run; each batch is one run.
const ROWS: u32 = 40;
/// Batches at most; the file is full long before.
const BATCHES: u32 = 2_000;

fn address(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// A run whose rows are large enough to fill pages.
fn batch() -> (RunId, Vec<Record>) {
    let run = RunId::new();
    let mut records = vec![common::start(run, 1)];
    for index in 0..ROWS {
        let mut record = common::row(run, StepId::new(), index, StepType::ToolSelected, None);
        if let Record::Step(step) = &mut record {
            step.tool_input = Some("x".repeat(500));
        }
        records.push(record);
    }
    (run, records)
}

/// Appends until the store says that it cannot; gives what it acknowledged, what it did not, and why.
async fn until_full(store: &dyn Store, who: &View) -> (Vec<RunId>, RunId, Vec<Record>, StoreError) {
    let mut booked = Vec::new();
    for _ in 0..BATCHES {
        let (run, records) = batch();
        match store.append(who, &records).await {
            Ok(verdicts) => {
                assert!(verdicts.iter().all(|verdict| common::code(verdict) == "booked"));
                booked.push(run);
            }
            Err(error) => return (booked, run, records, error),
        }
    }
    panic!("the file was never full");
}

/// Exactly the runs that were acknowledged are there, each whole.
async fn holds_exactly(store: &dyn Store, who: &View, booked: &[RunId]) {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = Page { cursor, limit: 500 };
        let part = store.runs(who, &RunFilter::default(), &page).await.unwrap();
        for run in &part.runs {
            assert_eq!(run.calls, ROWS);
            found.push(run.id);
        }
        cursor = part.next;
        if cursor.is_none() {
            break;
        }
    }
    found.sort_unstable();
    let mut booked = booked.to_vec();
    booked.sort_unstable();
    assert_eq!(found, booked);
}

#[tokio::test]
async fn a_full_store_says_so_books_nothing_by_halves_and_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hub.db");
    let small = Options { size_limit: Some(2 << 20), ..Options::default() };
    let store = bir_store::open(&address(&file), small).await.unwrap();
    let who = common::person(&*store, store.add_tenant("t").await.unwrap()).await;
    let (mut booked, refused, records, error) = until_full(&*store, &who).await;
    assert!(booked.len() > 10, "{}", booked.len());
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("full"), "{error}");
    assert!(store.run(&who, refused).await.unwrap().is_none());
    holds_exactly(&*store, &who, &booked).await;
    // What is deleted makes room, and the very same records go in.
    for run in booked.drain(..5) {
        assert!(store.delete_run(&who, run).await.unwrap());
    }
    assert_eq!(common::book(&*store, &who, &records).await, vec!["booked"; records.len()]);
    booked.push(refused);
    holds_exactly(&*store, &who, &booked).await;
    store.close().await;
    // A larger limit does too.
    let store = bir_store::open(&address(&file), Options::default()).await.unwrap();
    for _ in 0..20 {
        let (run, records) = batch();
        store.append(&who, &records).await.unwrap();
        booked.push(run);
    }
    holds_exactly(&*store, &who, &booked).await;
    store.close().await;
}

/// Where the child of the next test writes what it was told.
const CHILD: &str = "BIR_STORE_TEST_CHILD";

/// The disk itself refuses to write: the process may make no file larger than 3 MiB, so that the write-ahead log hits the
/// end, and after it the file.
#[test]
fn a_write_that_the_disk_refuses_loses_nothing_that_was_acknowledged() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(dir) = std::env::var_os(CHILD) {
        runtime.block_on(fill_until_refused(Path::new(&dir)));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let me = std::env::current_exe().unwrap();
    let name = "a_write_that_the_disk_refuses_loses_nothing_that_was_acknowledged";
    // Blocks of 1,024 bytes. Ignored, the signal for a file that is too large becomes an error of the write.
    let script = format!("trap '' XFSZ; ulimit -f 3072; exec '{}' --exact {name} --nocapture", me.display());
    let child = Command::new("bash").arg("-c").arg(script).env(CHILD, dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    let told = std::fs::read_to_string(dir.path().join("told")).unwrap();
    let mut ids = told.lines().map(|line| line.parse::<uuid::Uuid>().unwrap());
    let (tenant, user) = (ids.next().unwrap(), ids.next().unwrap());
    let booked: Vec<RunId> = ids.map(RunId::from_uuid).collect();
    assert!(booked.len() > 10);
    runtime.block_on(async {
        let file = dir.path().join("hub.db");
        let mut db = SqliteConnection::connect(&address(&file)).await.unwrap();
        let sound: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut db).await.unwrap();
        assert_eq!(sound, "ok");
        db.close().await.unwrap();
        let store = bir_store::open(&address(&file), Options::default()).await.unwrap();
        let who = View {
            tenant: bir_model::TenantId::from_uuid(tenant),
            user: bir_model::UserId::from_uuid(user),
            whole_tenant: false,
        };
        holds_exactly(&*store, &who, &booked).await;
        let (run, records) = batch();
        assert_eq!(common::book(&*store, &who, &records).await, vec!["booked"; records.len()]);
        holds_exactly(&*store, &who, &[booked, vec![run]].concat()).await;
        store.close().await;
    });
}

async fn fill_until_refused(dir: &Path) {
    let store = bir_store::open(&address(&dir.join("hub.db")), Options::default()).await.unwrap();
    let who = common::person(&*store, store.add_tenant("t").await.unwrap()).await;
    let (booked, refused, records, error) = until_full(&*store, &who).await;
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    // It stays readable, and every further attempt is refused as clearly.
    assert!(store.run(&who, refused).await.unwrap().is_none());
    holds_exactly(&*store, &who, &booked).await;
    for _ in 0..3 {
        let again = store.append(&who, &records).await.unwrap_err();
        assert!(matches!(again, StoreError::Unavailable(_)), "{again:?}");
    }
    holds_exactly(&*store, &who, &booked).await;
    let ids = [who.tenant.uuid(), who.user.uuid()].into_iter().chain(booked.iter().map(|run| run.uuid()));
    let told: Vec<String> = ids.map(|id| id.to_string()).collect();
    std::fs::write(dir.join("told"), told.join("\n")).unwrap();
    store.close().await;
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_refused_by_name_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("text.db"), "these are notes, and not a database at all\n".repeat(500)).unwrap();
    let mut music =
        SqliteConnection::connect(&format!("{}?mode=rwc", address(&at("music.db")))).await.unwrap();
    sqlx::raw_sql("CREATE TABLE songs (id INTEGER)").execute(&mut music).await.unwrap();
    music.close().await.unwrap();
    let fixture = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v1.db")).unwrap();
    // The header says more pages than there are, and the pages are others'.
    let mut broken = fixture;
    for byte in &mut broken[4096..] {
        *byte = byte.wrapping_mul(31).wrapping_add(7);
    }
    std::fs::write(at("broken.db"), &broken).unwrap();
    std::fs::create_dir(at("folder.db")).unwrap();
    for (name, said) in [
        ("text.db", "no database that can be opened"),
        ("music.db", "another program"),
        ("broken.db", "malformed"),
        ("folder.db", "cannot be opened"),
    ] {
        let file = at(name);
        let before = std::fs::read(&file).ok();
        let error = bir_store::open(&address(&file), Options::default()).await.unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(name), "{name}: {error}");
        if name != "music.db" {
            assert_eq!(std::fs::read(&file).ok(), before, "{name} was changed");
        }
    }
    let music = SqliteConnection::connect(&address(&at("music.db"))).await.unwrap();
    music.close().await.unwrap();
}

#[tokio::test]
async fn where_nothing_can_be_made_is_said() {
    // Nobody can make files there, root neither.
    for place in ["/proc/hub.db", "/nowhere/at/all/hub.db"] {
        let error = bir_store::open(&format!("sqlite:{place}"), Options::default()).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        let message = error.to_string();
        assert!(message.contains(place) && message.contains("cannot be opened"), "{message}");
    }
    let begun = std::time::Instant::now();
    let options = Options { patience: std::time::Duration::from_secs(2), ..Options::default() };
    // Port 9 of loopback: nobody listens.
    let error = bir_store::open("postgres://me:hunter2@127.0.0.1:9/db", options).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("me@127.0.0.1:9/db") && !message.contains("hunter2"), "{message}");
    assert!(begun.elapsed().as_secs() < 30);
}

#[tokio::test]
async fn what_is_deleted_is_not_to_be_found_in_the_files() {
    const NEEDLE: &[u8] = b"needle-in-a-deleted-run";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hub.db");
    let store = bir_store::open(&address(&file), Options::default()).await.unwrap();
    let tenant = store.add_tenant("t").await.unwrap();
    let who = common::person(&*store, tenant).await;
    let mut runs = Vec::new();
    for _ in 0..20 {
        let (run, mut records) = batch();
        for record in &mut records {
            if let Record::Step(step) = record {
                step.tool_input = Some(format!("{} {}", String::from_utf8_lossy(NEEDLE), "x".repeat(3_000)));
            }
        }
        store.append(&who, &records).await.unwrap();
        runs.push(run);
    }
    let found = || {
        let files = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| std::fs::read(path).unwrap().windows(NEEDLE.len()).any(|part| part == NEEDLE))
            .count()
    };
    assert!(found() > 0);
    for run in &runs[..10] {
        assert!(store.delete_run(&who, *run).await.unwrap());
    }
    store.delete_recordings_of(&who, who.user).await.unwrap();
    assert_eq!(found(), 0);
    store.close().await;
}
