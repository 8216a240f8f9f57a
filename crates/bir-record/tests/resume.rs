//! A run whose writer is gone goes on under the next one, and nobody takes it up too early.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::RunId;
use bir_record::hub::HubClient;
use bir_record::ship::{ShipOptions, Shipper, sweep};
use bir_record::spool::{DEFAULT_LIMIT, Spool};
use common::{FakeHub, call, finish, indexes, no_log, run_start};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, SystemTime};

fn spool(dir: &Path) -> Spool {
    Spool::new(dir, DEFAULT_LIMIT).carried_on()
}

/// What a process leaves that is killed after three calls.
fn killed(dir: &Path) -> RunId {
    let (spool, run) = (spool(dir), RunId::new());
    let mut writer = spool.begin(&run_start(run)).unwrap();
    (0..3).for_each(|n| writer.append(&call(run, n)));
    run
}

fn swept(dir: &Path, hub: &FakeHub) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = HubClient::find(dir, None).unwrap();
    runtime.block_on(sweep(&mut client, &spool(dir), Duration::from_secs(60), &no_log())).unwrap();
    hub.records()
}

fn hub(dir: &Path) -> FakeHub {
    let hub = FakeHub::start();
    hub.known_in(dir);
    hub
}

fn ends(records: &[Value]) -> Vec<&str> {
    records.iter().filter(|r| r["type"] == "finish").filter_map(|r| r["reason"].as_str()).collect()
}

#[test]
fn a_run_goes_on_behind_what_its_killed_writer_left() {
    let dir = tempfile::tempdir().unwrap();
    let run = killed(dir.path());
    // The last line was cut off by the kill.
    let torn = dir.path().join("spool").join(format!("{run}-000000.spool"));
    let mut text = std::fs::read(&torn).unwrap();
    text.extend_from_slice(b"01234567 {\"type\":\"st");
    std::fs::write(&torn, text).unwrap();
    let next = spool(dir.path());
    let mut writer = next.begin(&run_start(run)).unwrap();
    (3..5).for_each(|n| writer.append(&call(run, n)));
    writer.append(&[finish(run)]);
    drop((writer, next));
    let records = swept(dir.path(), &hub(dir.path()));
    assert_eq!(indexes(&records, run), (0..10).collect::<Vec<_>>());
    assert_eq!(ends(&records), ["closed"]);
    assert!(spool(dir.path()).is_empty());
}

#[test]
fn what_was_shipped_before_stays_shipped_and_the_rest_follows() {
    let dir = tempfile::tempdir().unwrap();
    let hub = hub(dir.path());
    let ship = |spool: &Spool| {
        let (state_dir, spool) = (dir.path().to_path_buf(), spool.clone());
        Shipper::start(ShipOptions { state_dir, spool, configured: None, not_before: None, log: no_log() })
            .unwrap()
    };
    let run = RunId::new();
    let first = spool(dir.path());
    let mut writer = first.begin(&run_start(run)).unwrap();
    writer.append(&call(run, 0));
    let shipper = ship(&first);
    hub.wait("the first call", |records| indexes(records, run).len() == 2);
    // A control server ends so that nothing of its runs is closed: the shipper goes before the writers do.
    shipper.close(Duration::from_secs(60));
    drop((writer, first));
    assert_eq!(swept(dir.path(), &hub).len(), 3, "nobody closes it meanwhile");
    let next = spool(dir.path());
    let mut writer = next.begin(&run_start(run)).unwrap();
    let shipper = ship(&next);
    writer.append(&call(run, 1));
    writer.append(&[finish(run)]);
    writer.end();
    let records = hub.wait("the end", |records| ends(records).len() == 1);
    assert_eq!((indexes(&records, run), ends(&records)), ((0..4).collect(), vec!["closed"]));
    shipper.close(Duration::from_secs(60));
}

#[test]
fn a_run_that_was_over_goes_on_in_the_same_process_while_it_is_shipped() {
    let dir = tempfile::tempdir().unwrap();
    let hub = hub(dir.path());
    let (run, spool) = (RunId::new(), spool(dir.path()));
    let (state_dir, theirs) = (dir.path().to_path_buf(), spool.clone());
    let options = ShipOptions { state_dir, spool: theirs, configured: None, not_before: None, log: no_log() };
    let shipper = Shipper::start(options).unwrap();
    for n in 0..40 {
        let mut writer = spool.begin(&run_start(run)).unwrap();
        writer.append(&call(run, n));
        if n == 0 {
            writer.append(&[finish(run)]);
        }
        writer.end();
    }
    let records = hub.wait("all calls", |records| indexes(records, run).len() == 80);
    assert_eq!(ends(&records), ["closed"]);
    assert!(records.iter().all(|r| r["outcome"] != "unknown"));
    shipper.close(Duration::from_secs(60));
}

#[test]
fn a_carried_run_waits_ten_minutes_for_the_next_control_server() {
    let dir = tempfile::tempdir().unwrap();
    let hub = hub(dir.path());
    let run = killed(dir.path());
    assert_eq!(spool(dir.path()).abandoned(), []);
    assert!(swept(dir.path(), &hub).is_empty());
    let age = |seconds| {
        let file = dir.path().join("spool").join(format!("{run}-000000.spool"));
        let file = std::fs::File::options().append(true).open(file).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    age(9 * 60);
    assert_eq!(spool(dir.path()).abandoned(), []);
    age(11 * 60);
    assert_eq!(spool(dir.path()).abandoned(), [run]);
    assert_eq!(ends(&swept(dir.path(), &hub)), ["abandoned"]);
}

#[test]
fn a_carried_run_that_has_its_end_is_shipped_by_anybody_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, run) = (spool(dir.path()), RunId::new());
    let mut writer = spool.begin(&run_start(run)).unwrap();
    writer.append(&call(run, 0));
    writer.append(&[finish(run)]);
    drop((writer, spool));
    assert_eq!(ends(&swept(dir.path(), &hub(dir.path()))), ["closed"]);
}
