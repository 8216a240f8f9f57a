//! What happens to the recording never happens to the session, and what was written stays whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

mod common;
#[path = "common/spool.rs"]
mod spool;

use bir_model::record::{EndReason, Record, StepType};
use bir_testkit::{On, Script};
use common::*;
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A session of a few calls that must go as if nobody recorded.
fn session(setup: Setup) -> String {
    let mut front = setup.start().open();
    calls(&mut front)
}

fn calls(front: &mut Front) -> String {
    for n in 0..5 {
        assert!(front.ask(call(&n.to_string(), "echo", "{}")).contains("\"result\""));
    }
    assert_eq!(front.finish(), 0, "{}", front.stderr_text());
    front.stderr_text()
}

#[test]
fn a_state_directory_that_cannot_be_used_costs_the_recording_alone() {
    let said = session(front(Script::new()).env("BIR_HOME", "/dev/null/state"));
    assert_eq!(said.matches("nothing is recorded for now").count(), 1, "{said}");
    // Nowhere to go: neither variable is set.
    let said = session(front(Script::new()).env("BIR_HOME", "").env("HOME", ""));
    assert_eq!(said.matches("nothing is recorded").count(), 1, "{said}");
    // The place of the spool is taken.
    let setup = front(Script::new());
    std::fs::create_dir_all(setup.home()).unwrap();
    std::fs::write(setup.home().join("spool"), "").unwrap();
    session(setup);
}

/// What was to be kept out cannot be known then, so nothing is kept.
#[test]
fn a_configuration_that_is_not_understood_costs_the_recording_until_it_is_mended() {
    for (text, told) in [
        (&b"[record\n"[..], "config.toml line 1"),
        (b"[record]\nexclude = ['server:a', 'x']\n", "config.toml line 2"),
        (b"[redact]\npatterns = ['(']\n", "config.toml line 2"),
        (b"# \xff\n", "config.toml cannot be read"),
    ] {
        let setup = front(Script::new());
        let home = setup.home();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), text).unwrap();
        let said = session(setup);
        assert!(said.contains(told) && said.contains("mend the file in"), "{said}");
        assert!(said.contains("5 calls of this session are in no run"), "{said}");
        assert_eq!(spool::runs(&home).len(), 0, "{said}");
    }
    let setup = front(Script::new());
    let home = setup.home();
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.toml"), "[record]\nexclude = ['echo']\n").unwrap();
    let mut front = setup.start().open();
    front.ask(call("1", "echo", r#"{"n":"unkept"}"#));
    front.wait_stderr("nothing is recorded for now: config.toml line 2", BUDGET).unwrap();
    std::fs::write(home.join("config.toml"), "[record]\nexclude = ['tool:x/echo']\n").unwrap();
    let mut n = 2;
    wait_until("it is recorded again", || {
        front.ask(call(&n.to_string(), "echo", "{}"));
        front.ask(call(&format!("\"{n}\""), "sleep", r#"{"ms":1}"#));
        n += 1;
        !spool::runs(&home).is_empty()
    });
    assert_eq!(front.finish(), 0);
    let run = spool::run(&home);
    assert!(
        run.steps.iter().filter(|s| s.step_type == StepType::ToolSelected).all(|s| s.tool_name == "sleep")
    );
    assert!(run.calls() >= 1, "{run:#?}");
}

#[test]
fn a_full_disk_costs_records_and_the_run_says_so_where_it_can() {
    // Every write to the spool fails as on a full disk: no file may grow beyond a block. A pipe is no file.
    let setup = front(Script::new());
    let home = setup.home();
    let inner = setup.up_command();
    let limited = bir_testkit::HostCommand::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .wrap(&proxy(&[], &inner).env("BIR_HOME", &home));
    let mut host = limited.start().unwrap();
    host.ask(INIT, BUDGET).unwrap();
    for n in 0..60 {
        let arguments = format!(r#"{{"text":"{}"}}"#, "word ".repeat(60));
        assert!(text(host.ask(call(&n.to_string(), "echo", &arguments), BUDGET).unwrap()).contains("result"));
    }
    assert_eq!(host.finish(BUDGET).unwrap(), 0);
    let run = spool::run(&home);
    assert!(run.calls() < 60, "the limit is felt");
    assert_eq!(run.torn, 0, "what did not fit was cut off again");
}

#[test]
fn sigterm_in_the_middle_of_a_call_leaves_the_run_whole() {
    let setup = front(Script::new().on(On::tool("never"), []));
    let home = setup.home();
    let mut front = setup.start().open();
    front.ask(call("1", "echo", "{}"));
    front.send(call("2", "never", "{}")).unwrap();
    front.ask(request("3", "ping", "{}"));
    front.signal(Signal::TERM).unwrap();
    assert_eq!(front.status(), 128 + 15);
    let run = spool::run(&home);
    assert_eq!((run.outcomes(), run.torn), (vec!["ok", "unknown"], 0));
    assert_eq!(run.finish.unwrap().reason, EndReason::Closed);
}

/// A hub that books whatever comes, or accepts connections and never says a word.
struct Hub {
    url: String,
    booked: Arc<Mutex<Vec<Record>>>,
}

impl Hub {
    fn start(speaks: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let booked = Arc::default();
        let hub = Self { url, booked: Arc::clone(&booked) };
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let booked = Arc::clone(&booked);
                if speaks {
                    std::thread::spawn(move || serve(stream, &booked));
                } else {
                    silent.push(stream);
                }
            }
        });
        hub
    }

    fn setup(&self, setup: Setup) -> Setup {
        let token = format!("bir_loc_{}_{}", "0".repeat(32), "a".repeat(43));
        setup.env("BIR_HUB_URL", &self.url).env("BIR_HUB_TOKEN", &token)
    }

    fn booked(&self) -> Vec<Record> {
        self.booked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, booked: &Mutex<Vec<Record>>) {
    let mut held = Vec::new();
    let mut block = [0; 64 * 1024];
    loop {
        let head = loop {
            if let Some(at) = held.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut block) {
                Ok(0) | Err(_) => return,
                Ok(n) => held.extend_from_slice(&block[..n]),
            }
        };
        let text = String::from_utf8_lossy(&held[..head]).to_ascii_lowercase();
        let length =
            text.split("content-length:").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
        let length: usize = length.unwrap_or(0);
        while held.len() < head + length {
            match stream.read(&mut block) {
                Ok(0) | Err(_) => return,
                Ok(n) => held.extend_from_slice(&block[..n]),
            }
        }
        let body = &held[head..head + length];
        let answer = if text.starts_with("get /health") {
            r#"{"status":"ok","version":"0.1.0","apiVersion":1,"instance":"i","store":"sqlite"}"#.to_owned()
        } else {
            assert!(text.starts_with("post /recordings/batch"), "{text}");
            let lines = body.split(|&b| b == b'\n').filter(|line| !line.is_empty());
            let records: Vec<Record> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
            let count = records.len();
            booked.lock().unwrap().extend(records);
            format!(r#"{{"booked":{count},"duplicates":0,"refused":[]}}"#)
        };
        held.drain(..head + length);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_standalone_run_is_shipped_while_it_lives_and_leaves_the_spool() {
    let hub = Hub::start(true);
    let setup = hub.setup(front(Script::new()).option("--standalone"));
    let home = setup.home();
    let mut front = setup.start().open();
    front.ask(call("1", "echo", r#"{"n":1}"#));
    let has = |what: fn(&Record) -> bool| hub.booked().iter().any(what);
    wait_until("the end of the call is booked", || {
        has(|r| matches!(r, Record::Step(step) if step.step_type == StepType::ToolResponse))
    });
    assert_eq!(front.finish(), 0);
    // What the end of the session left is shipped by the next one.
    let mut next = hub.setup(common::front(Script::new()).option("--standalone"));
    next = next.env("BIR_HOME", home.to_str().unwrap());
    let mut next = next.start().open();
    next.ask(call("1", "echo", "{}"));
    wait_until("the run is finished", || has(|r| matches!(r, Record::Finish(_))));
    assert_eq!(next.finish(), 0);
}

/// As `bir wrap` writes it: no `--standalone`, and no installation that could claim the run.
#[test]
fn a_call_of_a_plain_entry_is_booked_when_it_is_made() {
    let hub = Hub::start(true);
    let mut front = hub.setup(front(Script::new())).start().open();
    let begun = Instant::now();
    front.ask(call("1", "echo", r#"{"n":1}"#));
    let is_end = |r: &Record| matches!(r, Record::Step(step) if step.step_type == StepType::ToolResponse);
    wait_until("the end of the call is booked", || hub.booked().iter().any(is_end));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(8), "booked after {took:?}: it waited for the window");
    assert!(!hub.booked().iter().any(|r| matches!(r, Record::Finish(_))), "the session lives");
    assert_eq!(front.finish(), 0);
}

#[test]
fn a_hub_that_says_nothing_delays_nobody() {
    let hub = Hub::start(false);
    let setup = hub.setup(front(Script::new()).option("--standalone"));
    let home = setup.home();
    let mut front = setup.start().open();
    calls(&mut front);
    let run = spool::run(&home);
    assert_eq!((run.outcomes(), run.finish.is_some()), (vec!["ok"; 5], true));
}

/// Kills the proxy at a point that the number of answers decides. Each record that was written is whole, and what was open is
/// closed by whoever comes next.
#[test]
fn a_killed_proxy_leaves_whole_records_and_somebody_else_finishes_the_run() {
    let home = tempfile::tempdir().unwrap();
    let home_text = home.path().to_str().unwrap();
    const ROUNDS: u64 = 12;
    for round in 0..ROUNDS {
        let mut front = front(Script::new()).env("BIR_HOME", home_text).start().open();
        // As many as fit; some are answered, some are not.
        let lines: Vec<String> = (0..40)
            .map(|n| call(&n.to_string(), "echo", &format!(r#"{{"round":{round},"n":{n}}}"#)))
            .collect();
        front.send(lines.join("\n")).unwrap();
        for _ in 0..(round * 7) % 40 {
            front.next();
        }
        std::thread::sleep(Duration::from_micros(700 * (round % 5)));
        front.signal(Signal::KILL).unwrap();
        front.wait_exit(BUDGET).unwrap();
    }
    let spooled = spool::runs(home.path());
    for run in &spooled {
        assert!(run.finish.is_none());
        let indexes: BTreeSet<u32> = run.steps.iter().map(|step| step.step_index).collect();
        assert_eq!(indexes.len(), run.steps.len(), "no row is there twice");
        assert!((0..run.calls() as u32).all(|n| indexes.contains(&(2 * n))), "no call is missing in between");
    }
    let hub = Hub::start(true);
    let mut sweeper =
        hub.setup(front(Script::new()).option("--standalone").env("BIR_HOME", home_text)).start().open();
    sweeper.ask(call("1", "echo", "{}"));
    let finished = || -> BTreeSet<String> {
        let of = |record: Record| match record {
            Record::Finish(finish) if finish.reason == EndReason::Abandoned => {
                Some(finish.run_id.to_string())
            }
            _ => None,
        };
        hub.booked().into_iter().filter_map(of).collect()
    };
    wait_until("every run is finished", || finished().len() == spooled.len());
    let mut ends: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for record in hub.booked() {
        if let Record::Step(step) = record
            && step.step_type == StepType::ToolResponse
        {
            ends.entry(step.run_id.to_string()).or_default().insert(step.step_index);
        }
    }
    for run in &spooled {
        let expected: BTreeSet<u32> = (0..run.calls() as u32).map(|n| 2 * n + 1).collect();
        assert_eq!(ends.get(&run.start.id.to_string()).cloned().unwrap_or_default(), expected);
    }
    assert_eq!(sweeper.finish(), 0);
    assert!(Path::new(home_text).join("spool").is_dir());
}

#[test]
fn switching_off_in_mid_session_ends_the_run_and_the_relay_goes_on() {
    let setup = front(Script::new());
    let home = setup.home();
    let mut front = setup.start().open();
    front.ask(call("1", "echo", r#"{"n":"first"}"#));
    wait_until("it is kept", || spool::runs(&home).iter().any(|run| run.calls() == 1));
    std::fs::write(home.join("off"), "").unwrap();
    let mut n = 2;
    wait_until("the run is over", || {
        front.ask(call(&n.to_string(), "echo", "{}"));
        n += 1;
        spool::run(&home).finish.is_some()
    });
    let kept = spool::run(&home).calls();
    front.ask(call("last", "echo", "{}").replace("last", "\"last\""));
    assert_eq!(front.finish(), 0);
    assert_eq!(spool::run(&home).calls(), kept, "nothing more is kept");
}
