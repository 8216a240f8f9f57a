//! What a control server was told survives it, however it ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use bir_control::daemon::{End, ServeError};
use bir_control_client::{Inbox, stopped_file};
use bir_model::control::{Envelope, HookEvent, HookWhat};
use common::{Home, call, event, indexes, post, pre, stop, wait};
use std::time::{Duration, Instant};

#[test]
fn a_run_goes_on_where_it_was_when_the_next_one_starts() {
    let home = Home::new();
    let dir = home.project("a").join("sub");
    let mut first = None;
    for round in 0..3 {
        let server = home.serve();
        let client = home.client("a");
        for n in 0..4 {
            let id = format!("{round} {n}");
            let (status, answer) = client.tell(&event(&dir, "s", pre(&id)));
            assert_eq!((status, answer["stepIndex"].as_u64()), (200, Some(round * 8 + n * 2)));
            let run = first.get_or_insert_with(|| answer["runId"].clone());
            assert_eq!(&answer["runId"], run);
            client.tell(&event(&dir, "s", post(&id)));
        }
        assert_eq!(server.end(), End::Told);
        assert_eq!(home.discovery("a").url, None, "it says no more where it is");
        assert!(!home.state().join("control/serve.json").exists());
    }
    assert_eq!(indexes(&home.spooled()), (0..24).collect::<Vec<_>>());
    assert!(home.spooled().iter().all(|record| record["type"] != "finish"), "nothing ended with the server");
    let server = home.serve();
    home.client("a").tell(&event(&dir, "s", stop()));
    wait("the end of the run", || home.spooled().iter().any(|record| record["type"] == "finish"));
    wait("the end of the journal", || home.journals().is_empty());
    server.end();
}

#[test]
fn a_timer_that_was_due_while_nobody_served_is_told_when_somebody_does() {
    let home = Home::new();
    let server = home.serve();
    home.client("a").tell(&event(&home.project("a"), "s", pre("1")));
    home.client("a").tell(&event(&home.project("a"), "s", stop()));
    server.end();
    let server = home.serve();
    wait("the end of the run", || home.spooled().iter().any(|record| record["type"] == "finish"));
    server.end();
}

#[test]
fn what_nobody_took_is_heard_before_the_first_request() {
    let home = Home::new();
    let inbox = Inbox::new(&home.state());
    let foreign = event(&home.project("elsewhere"), "t", pre("1"));
    inbox.put(&[Envelope::Hook(Box::new(event(&home.project("a"), "s", pre("1"))))]).unwrap();
    inbox.put(&[Envelope::Hook(Box::new(foreign))]).unwrap();
    let server = home.serve();
    assert!(inbox.files().is_empty());
    let client = home.client("a");
    assert_eq!(client.tell(&event(&home.project("a"), "s", pre("2"))).1["stepIndex"], 2);
    assert_eq!(client.get("/health").1["sessions"].as_array().unwrap().len(), 1);
    // What comes while it serves is heard within a second, and before the run is over.
    client.tell(&event(&home.project("a"), "s", stop()));
    inbox.put(&[Envelope::Hook(Box::new(event(&home.project("a"), "s", pre("3"))))]).unwrap();
    wait("the end of the run", || home.spooled().iter().any(|record| record["type"] == "finish"));
    assert_eq!(indexes(&home.spooled()), [0, 2, 4]);
    server.end();
}

#[test]
fn what_nobody_took_is_heard_before_the_first_call_of_a_turn() {
    let home = Home::new();
    let (server, inbox) = (home.serve(), Inbox::new(&home.state()));
    let client = home.client("a");
    // Where the host names turns, and where it names none.
    for turn in [Some("t".to_owned()), None] {
        let session = turn.clone().unwrap_or_else(|| "none".to_owned());
        let of_turn = |what| HookEvent { turn_id: turn.clone(), ..event(&home.project("a"), &session, what) };
        client.tell(&event(
            &home.project("a"),
            &session,
            HookWhat::SessionStart { source: "startup".into() },
        ));
        inbox.put(&[Envelope::Hook(Box::new(of_turn(pre("1"))))]).unwrap();
        assert_eq!(client.tell(&of_turn(pre("2"))).1["stepIndex"], 2, "{turn:?}");
    }
    server.end();
}

#[test]
fn secrets_are_taken_out_again_whoever_sent_them() {
    let home = Home::new();
    let server = home.serve();
    let what = HookWhat::Pre { call: call("1", r#"{"password":"hunter2secret","note":"kept"}"#) };
    home.client("a").tell(&event(&home.project("a"), "s", what));
    server.end();
    let journals = home.journals();
    let texts = journals.iter().map(|file| std::fs::read_to_string(file).unwrap());
    let everything: String = texts.chain([format!("{:?}", home.spooled())]).collect();
    assert!(everything.contains("kept") && !everything.contains("hunter2"), "{everything}");
}

#[test]
fn what_is_not_understood_stops_the_recording_until_it_is_mended() {
    let home = Home::new();
    let config = home.state().join("config.toml");
    std::fs::write(&config, "[record]\nexclude = [\"tol:a/b\"]\n").unwrap();
    let server = home.serve();
    let client = home.client("a");
    let tell = |id: &str| client.tell(&event(&home.project("a"), "s", pre(id)));
    assert_eq!(tell("1"), (200, serde_json::json!({ "version": "0.1.0" })));
    assert_eq!(client.get("/health").1["status"], "not_recording");
    assert!(home.journals().is_empty());
    std::fs::write(&config, "[record]\nexclude = [\"tool:*/Secret\"]\n").unwrap();
    wait("the recording", || client.get("/health").1["status"] == "ok");
    assert!(tell("2").1["runId"].is_string());
    let mut secret = call("3", "{}");
    secret.tool_name = "Secret".into();
    let excluded = client.tell(&event(&home.project("a"), "s", HookWhat::Pre { call: secret }));
    assert_eq!(excluded, (200, serde_json::json!({ "version": "0.1.0" })));
    std::fs::write(&config, format!("[record]\nexclude = [\"dir:{}\"]\n", home.project("a").display()))
        .unwrap();
    wait("the exclusion", || tell("2").1["runId"].is_null());
    server.end();
}

#[test]
fn a_journal_at_which_the_book_fails_is_set_aside() {
    let home = Home::new();
    let server = home.serve();
    let panic = HookWhat::Note { name: "panic".into() };
    assert_eq!(home.client("a").tell(&event(&home.project("a"), "s", panic)).0, 503);
    assert!(matches!(server.result(), Err(ServeError::Failed)));
    let server = home.serve();
    assert!(home.state().join("control/journal.aside").is_dir());
    assert_eq!(home.client("a").tell(&event(&home.project("a"), "s", pre("1"))).0, 200);
    server.end();
}

#[test]
fn it_ends_when_nobody_has_wanted_anything_and_no_host_lives() {
    let home = Home::new();
    let server = home.serve_as("0.1.0", Duration::from_millis(500));
    let mut host = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let mut told = event(&home.project("a"), "s", pre("1"));
    told.host_pids = vec![host.id()];
    home.client("a").tell(&told);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(home.client("a").get("/health").0, 200, "its host lives");
    host.kill().unwrap();
    host.wait().unwrap();
    assert_eq!(server.ended(), End::Idle);
    let over = home.spooled().iter().filter(|record| record["type"] == "finish").count();
    assert_eq!(over, 1, "the host's session is over");
}

#[test]
fn one_serves_and_what_was_stopped_stays_so() {
    let home = Home::new();
    let server = home.serve();
    assert_eq!(home.start("0.1.0", Duration::from_secs(60)).ended(), End::Elsewhere);
    assert_eq!(home.start("0.0.9", Duration::from_secs(60)).ended(), End::Elsewhere);
    assert_eq!(home.client("a").post("/shutdown", &serde_json::json!({ "reason": "no" })).0, 422);
    assert_eq!(home.client("a").post("/shutdown", &serde_json::json!({ "reason": "down" })).0, 200);
    assert_eq!(server.ended(), End::Down);
    std::fs::write(stopped_file(&home.state()), "").unwrap();
    let refused = home.start("0.1.0", Duration::from_secs(60)).result();
    assert!(matches!(refused, Err(ServeError::Stopped)));
}

#[test]
fn a_newer_one_takes_over_and_the_run_goes_on() {
    let home = Home::new();
    let older = home.serve();
    home.client("a").tell(&event(&home.project("a"), "s", pre("1")));
    let (before, start) = (home.discovery("a").url, Instant::now());
    let newer = home.start("0.2.0", Duration::from_secs(3600));
    assert_eq!(older.ended(), End::Upgraded);
    wait("the newer one", || home.discovery("a").url.is_some_and(|url| Some(url) != before));
    assert!(start.elapsed() < Duration::from_secs(5));
    let (_, answer) = home.client("a").tell(&event(&home.project("a"), "s", pre("2")));
    assert_eq!((&answer["stepIndex"], &answer["version"]), (&2.into(), &"0.2.0".into()));
    newer.end();
}
