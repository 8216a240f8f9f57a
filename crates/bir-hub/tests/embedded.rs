#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]
//! The embedded hub from its first start to its end, as a process.

mod common;

use bir_model::RunId;
use common::{Hub, call, command, indexes, run, run_lines, until};
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn home() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("state");
    (dir, home)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_first_start_makes_what_is_needed_and_the_next_keeps_it() {
    let (_dir, home) = home();
    let hub = Hub::embedded(&home);
    for file in ["hub.lock", "hub.token", "hub.json", "hub.db"] {
        assert_eq!(mode(&home.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&home), 0o700);
    let token = hub.token.clone();
    assert_eq!(std::fs::read_to_string(home.join("hub.token")).unwrap().trim(), token);
    let health = call(hub.address, None, "GET", "/health", "").unwrap().json();
    let told: serde_json::Value =
        serde_json::from_slice(&std::fs::read(home.join("hub.json")).unwrap()).unwrap();
    assert_eq!((&health["instance"], &health["store"]), (&told["instance"], &serde_json::json!("sqlite")));
    let me = hub.call("GET", "/me", "").json();
    assert_eq!(
        (&me["user"]["role"], &me["tenant"]["name"]),
        (&serde_json::json!("admin"), &serde_json::json!("local"))
    );
    let metrics = call(hub.address, None, "GET", "/metrics", "").unwrap();
    assert!(metrics.status == 200 && metrics.body.contains("bir_http_request_duration_seconds"));
    let run = RunId::new();
    assert_eq!(hub.call("POST", "/recordings/batch", &run_lines(run, 0..3, true)).json()["booked"], 7);
    assert!(hub.end().success());
    assert!(!home.join("hub.json").exists());
    let hub = Hub::embedded(&home);
    assert_eq!(hub.token, token);
    assert_eq!(indexes(&hub, run), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_second_hub_is_told_about_the_first() {
    let (_dir, home) = home();
    let hub = Hub::embedded(&home);
    let second = run(&home, &["serve", "--listen", "127.0.0.1:0"], "");
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(3));
    assert!(said.lines().count() == 1 && said.contains(&hub.address.to_string()), "{said}");
    assert_eq!(hub.call("GET", "/me", "").status, 200);
}

/// Nobody would find it again, nor end it.
#[test]
fn a_hub_whose_directory_is_deleted_or_taken_over_ends_by_itself() {
    let (_deleted_dir, deleted) = home();
    let (_taken_dir, taken) = home();
    let (_team_dir, kept) = home();
    let mut hubs = [Hub::embedded(&deleted), Hub::embedded(&taken), Hub::embedded(&kept)];
    let logs = hubs.each_ref().map(|hub| hub.home.with_extension(format!("{}.log", hub.child.id())));
    std::fs::remove_dir_all(&deleted).unwrap();
    let mut other: serde_json::Value =
        serde_json::from_slice(&std::fs::read(taken.join("hub.json")).unwrap()).unwrap();
    (other["pid"], other["instance"]) = (1.into(), "other".into());
    let other = other.to_string();
    std::fs::write(taken.join("hub.json"), &other).unwrap();
    for (n, why) in [(0, "hub.json is gone"), (1, "hub.json names another process")] {
        let status = until("the end of the hub", || hubs[n].child.try_wait().unwrap());
        let said = std::fs::read_to_string(&logs[n]).unwrap();
        assert!(status.success() && said.contains(why) && said.contains("the hub has ended"), "{said}");
    }
    assert!(!deleted.exists(), "nothing of it is made anew");
    assert_eq!(std::fs::read_to_string(taken.join("hub.json")).unwrap(), other, "it is another's");
    assert!(hubs[2].child.try_wait().unwrap().is_none(), "whose directory is there stays");
    assert_eq!(hubs[2].call("GET", "/me", "").status, 200);
}

#[test]
fn what_cannot_be_is_one_line_and_a_status() {
    let (dir, home) = home();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let broken = dir.path().join("broken.toml");
    std::fs::write(&broken, "[hub]\nlisten = 5\n").unwrap();
    let no_database = dir.path().join("no.db");
    std::fs::write(&no_database, "this is no database, and long enough to be looked at as one".repeat(100))
        .unwrap();
    let not_a_database = format!("sqlite:{}", no_database.display());
    let cases: Vec<(Vec<&str>, i32, &str)> = vec![
        (vec!["serve", "--listen", &port], 1, "--listen"),
        (vec!["serve", "--listen", "0.0.0.0:0"], 1, "--store"),
        (vec!["serve", "--listen", "nonsense"], 2, "the flag --listen"),
        (vec!["serve", "--config", broken.to_str().unwrap()], 1, "broken.toml"),
        (vec!["serve", "--config", "/nowhere/hub.toml"], 1, "/nowhere/hub.toml"),
        (vec!["serve", "--store", "mysql://root:hunter2@x/y"], 1, "no store"),
        (vec!["serve", "--store", "postgres://u:hunter2@127.0.0.1:1/x"], 1, ""),
        (vec!["serve", "--store", &not_a_database], 1, ""),
        (vec!["serve", "--nonsense"], 2, "unknown option `--nonsense`; see `bir-hub serve --help`"),
        (vec![], 2, "no command; see `bir-hub --help`"),
        (vec!["user", "add"], 2, "`--email` is missing; see `bir-hub user add --help`"),
        (vec!["user", "list"], 2, "--store"),
        (vec!["migrate", "--store", "postgres://o@127.0.0.1:1/x"], 2, "--app-role"),
    ];
    for (args, status, part) in cases {
        let done = run(&home, &args, "");
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.contains(part) && !said.contains("hunter2"), "{args:?}: {said}");
        assert!(said.lines().count() == 1 && said.starts_with("bir-hub: "), "{args:?}: {said}");
        assert!(done.stdout.is_empty(), "{args:?}");
        assert!(!home.join("hub.json").exists());
    }
    assert!(std::fs::read_to_string(&no_database).unwrap().starts_with("this is no database"));
}

#[test]
fn a_port_that_nobody_asked_for_may_be_another() {
    // Whoever has 7411 on this machine, be it this test or something else, it is taken.
    let _taken = TcpListener::bind("127.0.0.1:7411");
    let (_dir, home) = home();
    let hub = Hub::spawn(&home, &["serve"]);
    assert_ne!(hub.address.port(), 7411);
    let told = std::fs::read_to_string(home.join("hub.json")).unwrap();
    assert!(told.contains("\"taken\":7411"), "{told}");
    assert_eq!(hub.call("GET", "/me", "").status, 200);
}

#[test]
fn a_new_store_gets_a_new_token() {
    let (_dir, home) = home();
    let hub = Hub::embedded(&home);
    let old = hub.token.clone();
    assert!(hub.end().success());
    for name in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = std::fs::remove_file(home.join(name));
    }
    let hub = Hub::embedded(&home);
    assert_ne!(hub.token, old);
    assert_eq!(hub.call("GET", "/me", "").status, 200);
    assert_eq!(call(hub.address, Some(&old), "GET", "/me", "").unwrap().status, 401);
}

/// Sends batches until the hub is gone; gives how many calls were acknowledged.
fn send(hub: &Hub, run: RunId, from: u32, kill_at: u32) -> u32 {
    let mut acknowledged = from;
    let mut killed = false;
    loop {
        let lines = run_lines(run, acknowledged..acknowledged + 20, acknowledged == 0);
        let (address, token) = (hub.address, hub.token.clone());
        if acknowledged - from >= kill_at && !killed {
            killed = true;
            // While the next batch is on its way.
            let pid = rustix::process::Pid::from_child(&hub.child);
            std::thread::spawn(move || rustix::process::kill_process(pid, Signal::KILL));
        }
        match call(address, Some(&token), "POST", "/recordings/batch", &lines) {
            Ok(answer) if answer.status == 200 => acknowledged += 20,
            Ok(answer) => panic!("{answer:?}"),
            Err(_) if killed => return acknowledged,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_kill_takes_nothing_that_was_acknowledged() {
    let (_dir, home) = home();
    let run = RunId::new();
    let mut acknowledged = 0;
    for round in 0..6 {
        let mut hub = Hub::embedded(&home);
        // A batch that was booked and not acknowledged is sent again by a shipper under its own ids; here the rows have new
        // ones, so what is there already is asked for first.
        let there = indexes(&hub, run).len() as u32 / 2;
        assert!(there >= acknowledged, "round {round}: {there} of {acknowledged} calls are there");
        acknowledged = send(&hub, run, there, 20 * round);
        hub.child.wait().unwrap();
        // The file of a hub that was killed stays, and does not keep the next one from starting.
        assert!(home.join("hub.json").exists());
    }
    let hub = Hub::embedded(&home);
    let rows = indexes(&hub, run);
    assert!(rows.len() as u32 / 2 >= acknowledged);
    assert!(rows.iter().copied().eq(0..rows.len() as u64), "in order and without a gap");
}

#[test]
fn a_request_under_way_is_finished_and_streams_are_ended() {
    let (_dir, home) = home();
    let mut hub = Hub::embedded(&home);
    let open = |head: String| {
        let mut stream = TcpStream::connect(hub.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let authority = hub.address;
        let token = &hub.token;
        write!(stream, "{head} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n").unwrap();
        stream
    };
    let mut live = open("GET /recordings/stream".into());
    write!(live, "\r\n").unwrap();
    let mut seen = String::new();
    let mut buffer = [0; 4096];
    while !seen.contains(": connected") {
        let n = live.read(&mut buffer).unwrap();
        assert!(n > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
    let run = RunId::new();
    let lines = run_lines(run, 0..1, true);
    let mut slow = open("POST /recordings/batch".into());
    write!(slow, "Content-Length: {}\r\n\r\n{}", lines.len(), &lines[..10]).unwrap();
    // The rest of the body comes after the hub was asked to end.
    std::thread::sleep(Duration::from_millis(300));
    hub.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    write!(slow, "{}", &lines[10..]).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut rest = String::new();
    live.read_to_string(&mut rest).unwrap();
    let child = &mut hub.child;
    assert!(until("the end of the hub", || child.try_wait().unwrap()).success());
    assert!(!home.join("hub.json").exists());
    let hub = Hub::embedded(&home);
    assert_eq!(indexes(&hub, run), [0, 1]);
}

#[test]
fn what_a_killed_recorder_left_in_the_spool_is_swept_up() {
    let (_dir, home) = home();
    let (run, selected) = (RunId::new(), bir_model::StepId::new());
    let lines = [
        format!(r#"{{"type":"run","id":"{run}","tier":"standalone","startedAt":1700000000000}}"#),
        format!(
            r#"{{"type":"step","id":"{selected}","runId":"{run}","stepIndex":0,"stepType":"tool_selected","toolName":"t","at":1700000000000}}"#
        ),
    ];
    let spool = home.join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let text: String = lines.iter().map(|l| format!("{:08x} {l}\n", crc32fast::hash(l.as_bytes()))).collect();
    // The run's id without its prefix or with it is the spool's own affair; both are read by whoever wrote the name.
    std::fs::write(spool.join(format!("{run}-000000.spool")), text).unwrap();
    let hub = Hub::embedded(&home);
    let seen = until("the run in the store", || {
        let answer = hub.call("GET", &format!("/recordings/runs/{run}"), "");
        (answer.status == 200 && answer.json()["run"]["endReason"] == "abandoned").then(|| answer.json())
    });
    assert_eq!(seen["steps"][1]["outcome"], "unknown");
}

#[test]
fn a_team_begins_with_people_from_the_command_line() {
    let (dir, home) = home();
    let store = format!("sqlite:{}", dir.path().join("team.db").display());
    let user = |args: &[&str], stdin: &str| {
        let mut all = vec!["user"];
        all.extend_from_slice(args);
        all.extend(["--store", &store]);
        run(&home, &all, stdin)
    };
    // A slip in the path makes no store.
    for args in [&["list"][..], &["set-password", "--email", "a@example.com"]] {
        let done = user(args, "correct horse\n");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(1) && said.contains("`bir-hub migrate --store sqlite:"), "{said}");
        assert!(!dir.path().join("team.db").exists(), "{args:?}");
    }
    let added = user(&["add", "--email", "a@example.com", "--role", "admin"], "correct horse\n");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    for (args, stdin, part) in [
        (&["add", "--email", "A@example.com"][..], "correct horse\n", "exists already"),
        (&["add", "--email", "b@example.com"], "short\n", "8 to 1024"),
        (&["set-password", "--email", "nobody@example.com"], "correct horse\n", "nobody"),
    ] {
        let done = user(args, stdin);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(1) && said.contains(part) && !said.contains("correct"), "{said}");
    }
    assert!(user(&["set-password", "--email", "a@example.com"], "another horse\n").status.success());
    let list = user(&["list", "--json"], "");
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!((list[0]["email"].as_str(), list[0]["role"].as_str()), (Some("a@example.com"), Some("admin")));
    let lines = String::from_utf8(user(&["list"], "").stdout).unwrap();
    assert!(lines.starts_with("a@example.com  admin"), "{lines}");

    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut child = command(&home)
        .args(["serve", "--store", &store, "--listen", &port.to_string(), "--log-format", "json"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pair = until("signing in", || {
        assert!(child.try_wait().unwrap().is_none(), "the hub ended");
        let body = r#"{"email":"a@example.com","password":"another horse"}"#;
        call(port, None, "POST", "/auth/login", body).ok().filter(|a| a.status == 200)
    });
    let token = pair.json()["accessToken"].as_str().unwrap().to_owned();
    assert_eq!(call(port, Some(&token), "GET", "/people", "").unwrap().status, 200);
    call(port, None, "GET", "/signin?ticket=hunter2", "").unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    let log = String::from_utf8(done.stderr).unwrap();
    assert!(
        log.contains("\"route\":\"/signin\"") && !log.contains("hunter2") && !log.contains("another horse"),
        "{log}"
    );
    for line in log.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    }
    assert!(!home.exists(), "a team's hub leaves the state directory alone");
}
