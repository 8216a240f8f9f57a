//! What is spooled arrives, once and in order, whatever the hub and the network do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::RunId;
use bir_record::hub::{Credentials, HubClient, Login, Token};
use bir_record::ship::{ShipOptions, Shipper, sweep};
use bir_record::spool::{DEFAULT_LIMIT, RunWriter, Spool};
use common::{Act, FakeHub, call, finish, indexes, no_log, row, run_start};
use std::path::Path;
use std::time::Duration;

fn shipper(state_dir: &Path, spool: &Spool) -> Shipper {
    let options = ShipOptions {
        state_dir: state_dir.into(),
        spool: spool.clone(),
        configured: None,
        not_before: None,
        log: no_log(),
    };
    Shipper::start(options).unwrap()
}

fn begin(spool: &Spool) -> (RunId, RunWriter) {
    let run = RunId::new();
    (run, spool.begin(&run_start(run)).unwrap())
}

/// Files of the spool that belong to a run.
fn files(state_dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(state_dir.join("spool")).into_iter().flatten().flatten();
    let mut names: Vec<String> = names.map(|e| e.file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("run_"));
    names
}

fn wait_empty(state_dir: &Path) {
    for _ in 0..1000 {
        if files(state_dir).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the spool keeps {:?}", files(state_dir));
}

#[test]
fn a_run_arrives_while_it_is_written_and_its_files_go_when_it_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.known_in(dir.path());
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let (run, mut writer) = begin(&spool);
    let shipper = shipper(dir.path(), &spool);
    writer.append(&call(run, 0));
    hub.wait("the first call", |r| indexes(r, run) == [0, 1]);
    writer.append(&call(run, 1));
    hub.wait("the second call", |r| indexes(r, run) == [0, 1, 2, 3]);
    assert!(!files(dir.path()).is_empty());
    writer.append(&[finish(run)]);
    writer.end();
    hub.wait("the end", |r| r.iter().any(|r| r["type"] == "finish"));
    wait_empty(dir.path());
    assert_eq!(hub.booked.lock().unwrap().tokens[0], "Bearer bir_loc_x");
    shipper.close(Duration::from_secs(5));
}

#[test]
fn lost_answers_and_refused_batches_cost_repetitions_and_nothing_else() {
    for acts in [
        &[Act::BookAndCut, Act::Book][..],
        &[Act::Cut, Act::Book],
        &[Act::Status(503), Act::Book],
        &[Act::Status(429), Act::Status(401), Act::Book],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let hub = FakeHub::start();
        hub.then(acts);
        hub.known_in(dir.path());
        let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
        let (run, mut writer) = begin(&spool);
        for n in 0..5 {
            writer.append(&call(run, n));
        }
        writer.append(&[finish(run)]);
        writer.end();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Each sweep is what a shipper does between two cool-downs; the runs of this process count as its own.
        drop(spool);
        let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
        for _ in 0..acts.len() {
            let mut client = HubClient::find(dir.path(), None).unwrap();
            let _ = runtime.block_on(sweep(&mut client, &spool, Duration::from_secs(30), &no_log()));
        }
        assert_eq!(indexes(&hub.records(), run), (0..10).collect::<Vec<_>>(), "{acts:?}");
        assert_eq!(files(dir.path()), Vec::<String>::new(), "{acts:?}");
    }
}

#[test]
fn a_batch_that_is_too_large_is_halved_until_it_fits() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.booked.lock().unwrap().most_lines = 7;
    hub.known_in(dir.path());
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let (run, mut writer) = begin(&spool);
    for n in 0..50 {
        writer.append(&call(run, n));
    }
    let shipper = shipper(dir.path(), &spool);
    hub.wait("all rows", |r| indexes(r, run).len() == 100);
    assert!(indexes(&hub.records(), run).is_sorted());
    shipper.close(Duration::from_secs(5));
}

#[test]
fn what_the_hub_refuses_is_told_as_a_loss_and_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.booked.lock().unwrap().otherwise = Some(Act::Refuse("\"stepIndex\":2,"));
    hub.known_in(dir.path());
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let (run, mut writer) = begin(&spool);
    for n in 0..3 {
        writer.append(&call(run, n));
    }
    writer.append(&[finish(run)]);
    writer.end();
    let shipper = shipper(dir.path(), &spool);
    wait_empty(dir.path());
    let records = hub.records();
    assert_eq!(indexes(&records, run), [0, 1, 3, 4, 5]);
    let lost: Vec<_> = records.iter().filter(|r| r["type"] == "lost").collect();
    assert_eq!(lost.len(), 1);
    assert_eq!((&lost[0]["calls"], &lost[0]["reason"]), (&1.into(), &"refused".into()));
    shipper.close(Duration::from_secs(5));
}

#[test]
fn an_abandoned_run_is_closed_by_whoever_finds_it() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.known_in(dir.path());
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let (run, mut writer) = begin(&spool);
    writer.append(&call(run, 0));
    let open = bir_model::StepId::new();
    writer.append(&[row(run, 2, open)]);
    drop(writer);
    // The process is gone, and its lock with it.
    drop(spool);
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    assert_eq!(spool.abandoned(), [run]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = HubClient::find(dir.path(), None).unwrap();
    runtime.block_on(sweep(&mut client, &spool, Duration::from_secs(30), &no_log())).unwrap();
    let records = hub.records();
    assert_eq!(indexes(&records, run), [0, 1, 2, 3]);
    let closed = records.iter().find(|r| r["stepIndex"] == 3).unwrap();
    assert_eq!(closed["outcome"], "unknown");
    assert_eq!(closed["id"], bir_record::response_id(open).to_string());
    let end = records.iter().find(|r| r["type"] == "finish").unwrap();
    assert_eq!(end["reason"], "abandoned");
    assert_eq!(files(dir.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_writer_that_was_killed_before_its_first_line_leaves_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.known_in(dir.path());
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    std::fs::create_dir_all(dir.path().join("spool")).unwrap();
    for begun in ["", "0000", "01234567 {\"type\":\"run\",\"id\":"] {
        let name = format!("{}-000000.spool", RunId::new());
        std::fs::write(dir.path().join("spool").join(name), begun).unwrap();
    }
    let mut client = HubClient::find(dir.path(), None).unwrap();
    sweep(&mut client, &spool, Duration::from_secs(20), &no_log()).await.unwrap();
    assert!(hub.records().is_empty(), "{:?}", hub.records());
    assert!(files(dir.path()).is_empty());
}

#[test]
fn a_run_that_is_being_recorded_is_nobody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.known_in(dir.path());
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let (run, mut writer) = begin(&spool);
    writer.append(&call(run, 0));
    let other = Spool::new(dir.path(), DEFAULT_LIMIT);
    assert_eq!(other.abandoned(), []);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = HubClient::find(dir.path(), None).unwrap();
    runtime.block_on(sweep(&mut client, &other, Duration::from_secs(30), &no_log())).unwrap();
    assert_eq!(hub.records().len(), 0);
    // Also when the same run is begun twice.
    assert!(other.begin(&run_start(run)).is_err());
}

#[test]
fn a_token_that_has_ended_is_refreshed_once_for_all() {
    let dir = tempfile::tempdir().unwrap();
    let hub = FakeHub::start();
    hub.then(&[Act::Status(401)]);
    let mut credentials = Credentials { current: Some(hub.url.clone()), ..Credentials::default() };
    let login = Login {
        access_token: Some(Token::new("old")),
        refresh_token: Some(Token::new("r1")),
        expires_at: Some(1),
        ..Login::default()
    };
    credentials.servers.insert(hub.url.clone(), login);
    credentials.save(dir.path()).unwrap();
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let (run, mut writer) = begin(&spool);
    writer.append(&call(run, 0));
    let shipper = shipper(dir.path(), &spool);
    hub.wait("the call", |r| indexes(r, run) == [0, 1]);
    shipper.close(Duration::from_secs(5));
    let tokens = hub.booked.lock().unwrap().tokens.clone();
    assert_eq!(tokens[..3], ["Bearer old", "refresh r1", "Bearer fresh"]);
    let saved = Credentials::load(dir.path()).unwrap();
    let login = &saved.servers[&hub.url];
    assert_eq!(login.refresh_token, Some(Token::new("next")));
    assert_eq!(format!("{login:?}").matches('…').count(), 2);
}

#[test]
fn without_a_hub_everything_stays_and_a_full_spool_drops_the_oldest_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let limit = 3 * 1024 * 1024;
    let spool = Spool::new(dir.path(), limit);
    let (run, mut writer) = begin(&spool);
    let mut n = 0;
    while n < 16_000 {
        let calls: Vec<_> = (n..n + 100).flat_map(|n| call(run, n)).collect();
        writer.append(&calls);
        n += 100;
    }
    let stats = spool.stats();
    assert!(stats.bytes <= limit && stats.segments >= 2, "{stats:?}");
    writer.append(&[finish(run)]);
    writer.end();
    drop(spool);
    let spool = Spool::new(dir.path(), limit);
    let hub = FakeHub::start();
    hub.known_in(dir.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = HubClient::find(dir.path(), None).unwrap();
    runtime.block_on(sweep(&mut client, &spool, Duration::from_secs(120), &no_log())).unwrap();
    let records = hub.records();
    let kept = indexes(&records, run);
    let lost: u64 =
        records.iter().filter(|r| r["type"] == "lost").map(|r| r["calls"].as_u64().unwrap()).sum();
    assert!(lost > 0);
    assert_eq!(kept.len() as u64 / 2 + lost, 16_000);
    // What is kept is the newest part, whole.
    assert_eq!(kept, (32_000 - kept.len() as u64..32_000).collect::<Vec<_>>());
    assert_eq!(files(dir.path()), Vec::<String>::new());
}
