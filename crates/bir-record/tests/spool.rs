//! What the spool has taken survives: the death of its writer at any point, damage, and a full disk.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_model::RunId;
use bir_record::hub::HubClient;
use bir_record::ship::sweep;
use bir_record::spool::{DEFAULT_LIMIT, Spool};
use common::{FakeHub, call, indexes, no_log, run_start};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const WRITER: &str = "BIR_TEST_SPOOL_WRITER";

/// Not a test of its own: the process that the others kill. Prints the number of each call once it is in the spool.
#[test]
fn writer() {
    let Ok(dir) = std::env::var(WRITER) else { return };
    let spool = Spool::new(Path::new(&dir), DEFAULT_LIMIT);
    let run = RunId::new();
    let mut writer = spool.begin(&run_start(run)).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nrun {run}").unwrap();
    for n in 0..100_000 {
        writer.append(&call(run, n));
        writeln!(out, "acknowledged {n}").unwrap();
    }
}

fn ship_all(dir: &Path) -> Vec<serde_json::Value> {
    let hub = FakeHub::start();
    hub.known_in(dir);
    let spool = Spool::new(dir, DEFAULT_LIMIT);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut client = HubClient::find(dir, None).unwrap();
    runtime.block_on(sweep(&mut client, &spool, Duration::from_secs(120), &no_log())).unwrap();
    hub.records()
}

#[test]
fn a_writer_that_is_killed_at_any_point_loses_nothing_that_was_acknowledged() {
    for round in 0..12_u64 {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer", "--nocapture", "--test-threads=1"])
            .env(WRITER, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let run = lines.find_map(|line| line.unwrap().strip_prefix("run ").map(str::to_owned)).unwrap();
        let wanted = 1 + round * 37 % 400;
        let mut last = None;
        for line in lines.by_ref().take(usize::try_from(wanted).unwrap()) {
            last = line.unwrap().strip_prefix("acknowledged ").map(|n| n.parse::<u64>().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it still said before it died counts too.
        for line in lines.map_while(Result::ok) {
            last = line.strip_prefix("acknowledged ").and_then(|n| n.parse().ok()).or(last);
        }
        let records = ship_all(dir.path());
        let rows = indexes(&records, run.parse().unwrap());
        assert_eq!(rows, (0..rows.len() as u64).collect::<Vec<_>>(), "round {round}");
        assert!(rows.len() as u64 >= 2 * (last.unwrap() + 1), "round {round}: {} rows, {last:?}", rows.len());
        assert!(records.iter().any(|r| r["type"] == "finish" && r["reason"] == "abandoned"));
    }
}

#[test]
fn damage_costs_the_lines_that_it_hit_and_is_told() {
    let whole = tempfile::tempdir().unwrap();
    let run = RunId::new();
    let spool = Spool::new(whole.path(), DEFAULT_LIMIT);
    let mut writer = spool.begin(&run_start(run)).unwrap();
    for n in 0..3 {
        writer.append(&call(run, n));
    }
    drop((writer, spool));
    let name = format!("{run}-000000.spool");
    let text = std::fs::read(whole.path().join("spool").join(&name)).unwrap();
    let lines = text.iter().filter(|&&b| b == b'\n').count();
    for at in (0..text.len()).step_by(97) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("spool")).unwrap();
        let file = dir.path().join("spool").join(&name);
        // A byte is another one.
        let mut spoilt = text.clone();
        spoilt[at] = spoilt[at].wrapping_add(1);
        std::fs::write(&file, &spoilt).unwrap();
        let records = ship_all(dir.path());
        let rows = records.iter().filter(|r| r["type"] == "step" && r["toolName"] == "echo").count();
        assert!(rows >= lines - 2, "byte {at}: {rows} of {lines}");
        assert!(records.iter().any(|r| r["type"] == "lost" && r["reason"] == "damaged"), "byte {at}");
        // The file ends here.
        std::fs::write(&file, &text[..at]).unwrap();
        let complete = text[..at].iter().filter(|&&b| b == b'\n').count();
        let records = ship_all(dir.path());
        let own =
            records.iter().filter(|r| r["type"] == "run" || r["outcome"] == "ok" || r["outcome"].is_null());
        let own = own.filter(|r| r["type"] == "run" || r["type"] == "step").count();
        assert_eq!(own, complete, "cut at {at}");
    }
}

#[test]
fn a_full_disk_costs_records_that_are_counted_and_writing_goes_on_when_there_is_room() {
    const LIMITED: &str = "BIR_TEST_SPOOL_LIMITED";
    if let Ok(dir) = std::env::var(LIMITED) {
        // Files may not grow beyond 40 blocks of 1 KiB here; the signal for it is ignored by the shell that started this.
        let spool = Spool::new(Path::new(&dir), DEFAULT_LIMIT);
        let run = RunId::new();
        let mut writer = spool.begin(&run_start(run)).unwrap();
        for n in 0..500 {
            writer.append(&call(run, n));
        }
        let (calls, records) = writer.missed();
        assert!(calls > 0 && records >= 2 * calls - 1, "{calls} {records}");
        let mut out = std::io::stdout();
        writeln!(out, "\nrun {run} missed {calls}").unwrap();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let test = "a_full_disk_costs_records_that_are_counted_and_writing_goes_on_when_there_is_room";
    let script = "trap '' XFSZ; ulimit -f 40; exec \"$0\" --exact \"$1\" --nocapture --test-threads=1";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(LIMITED, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let (run, missed) = said
        .lines()
        .find_map(|line| line.strip_prefix("run ").and_then(|rest| rest.split_once(" missed ")))
        .unwrap();
    let missed: u64 = missed.parse().unwrap();
    let records = ship_all(dir.path());
    let rows = indexes(&records, run.parse().unwrap());
    assert_eq!(rows.len() as u64 / 2 + missed, 500);
    // The disk was full until the writer ended, and the hub is told all the same, once.
    assert_eq!(lost(&records, "disk"), [(missed, 2 * missed)]);
    assert_eq!(files(dir.path()), Vec::<String>::new());
}

/// Calls and records of the losses with this reason.
fn lost(records: &[serde_json::Value], reason: &str) -> Vec<(u64, u64)> {
    let losses = records.iter().filter(|r| r["type"] == "lost" && r["reason"] == reason);
    losses.map(|r| (r["calls"].as_u64().unwrap(), r["records"].as_u64().unwrap())).collect()
}

fn files(state_dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(state_dir.join("spool")).into_iter().flatten().flatten();
    let names = names.map(|e| e.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("run_")).collect()
}

#[test]
fn whoever_finds_a_segment_that_was_being_dropped_tells_what_it_held() {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::new(dir.path(), DEFAULT_LIMIT);
    let run = RunId::new();
    let mut writer = spool.begin(&run_start(run)).unwrap();
    for n in 0..3 {
        writer.append(&call(run, n));
    }
    drop((writer, spool));
    // Its dropper was killed when it had changed the name.
    let place = dir.path().join("spool");
    let gone = place.join(format!("{run}-000000-3-6.gone"));
    std::fs::rename(place.join(format!("{run}-000000.spool")), &gone).unwrap();
    let copy = std::fs::read(&gone).unwrap();
    let records = ship_all(dir.path());
    assert_eq!((lost(&records, "spool_full"), indexes(&records, run)), (vec![(3, 6)], vec![]));
    let ends: Vec<_> = records.iter().filter(|r| r["type"] == "finish").map(|r| r["at"].as_u64()).collect();
    assert!(
        matches!(ends[..], [Some(at)] if at > 0),
        "a run of which nothing is left ends when it was heard of last: {ends:?}"
    );
    assert_eq!(files(dir.path()), Vec::<String>::new());
    // Killed between the note and the deletion: the same loss again, under the same id.
    std::fs::write(&gone, &copy).unwrap();
    let again = ship_all(dir.path());
    let id =
        |records: &[serde_json::Value]| records.iter().find(|r| r["type"] == "lost").unwrap()["id"].clone();
    assert_eq!(id(&again), id(&records));
}
