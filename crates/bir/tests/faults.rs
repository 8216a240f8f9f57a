//! What `bir` says when a hub does not do what it should: a scripted one that refuses, forgets, talks nonsense or goes away.
//! Each is one line on stderr that names what, why and a way out; stdout stays empty.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::Home;
use common::stub::{Reply, Stub, health};

const RUNS: &str = "GET /recordings/runs";
const NONE: &str = r#"{"runs":[],"next":null}"#;

fn none() -> Reply {
    Reply::Json(200, NONE.into())
}

fn signed_in(stub: &Stub) -> Home {
    let home = Home::new();
    home.sign_in(&stub.url);
    home
}

#[test]
fn a_token_that_has_ended_is_refreshed_once_and_kept() {
    let stub = Stub::new();
    stub.on(RUNS, [Reply::Problem(401, "expired_token", "it has ended"), none()]);
    let pair = r#"{"accessToken":"bir_acc_new","refreshToken":"bir_ref_new","expiresAt":2}"#;
    stub.on("POST /auth/refresh", [Reply::Json(200, pair.into())]);
    let home = signed_in(&stub);
    assert_eq!(home.bir(&["runs", "list", "--json"]).ok(), "[]\n");
    let tokens: Vec<String> = stub.asked(RUNS).into_iter().map(|asked| asked.token).collect();
    assert_eq!(tokens, ["bir_acc_old", "bir_acc_new"]);
    let refreshed = stub.asked("POST /auth/refresh");
    assert!(refreshed.len() == 1 && refreshed[0].body.contains("bir_ref_old"), "{refreshed:?}");
    // The next command begins with the new one.
    assert_eq!(home.bir(&["runs", "list", "--json"]).ok(), "[]\n");
    assert_eq!(
        (stub.asked(RUNS)[2].token.as_str(), stub.asked("POST /auth/refresh").len()),
        ("bir_acc_new", 1)
    );
}

#[test]
fn a_refresh_token_that_has_ended_sends_to_the_sign_in() {
    let stub = Stub::new();
    stub.on(RUNS, [Reply::Problem(401, "expired_token", "it has ended")]);
    stub.on("POST /auth/refresh", [Reply::Problem(401, "bad_token", "used before")]);
    let said = signed_in(&stub).bir(&["runs", "list", "--json"]).fails(1);
    assert_eq!(
        said,
        "bir runs list: the hub does not accept the token (it has ended); sign in with `bir login`"
    );
    assert_eq!((stub.asked(RUNS).len(), stub.asked("POST /auth/refresh").len()), (1, 1));
}

#[test]
fn each_refusal_and_each_fault_is_one_line() {
    for (reply, expected) in [
        (
            Reply::Problem(403, "forbidden", "an operator sees no runs"),
            "(HTTP 403): an operator sees no runs",
        ),
        (Reply::Problem(429, "rate_limited", "too many requests"), "(HTTP 429): too many requests"),
        (Reply::Problem(500, "internal", "it failed\u{1b}[2J"), "(HTTP 500): it failed␛[2J"),
        (Reply::Problem(503, "store_away", "the store does not answer"), "the store does not answer"),
        (Reply::Json(404, "no".into()), "is that a hub? check the address"),
        (Reply::Garbage, "an answer that is not understood"),
        (Reply::Json(200, r#"{"runs":[{"id":7}]}"#.into()), "is not understood"),
        (Reply::Broken(r#"{"runs":["#), "does not answer"),
    ] {
        let stub = Stub::new();
        stub.on(RUNS, [reply]);
        let said = signed_in(&stub).bir(&["runs", "list"]).fails(1);
        assert!(said.starts_with("bir runs list: ") && said.contains(expected), "{said}");
    }
}

#[test]
fn nobody_answers() {
    let stub = Stub::new();
    let home = signed_in(&stub);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    home.sign_in(&format!("http://{gone}"));
    // A hub on loopback that was signed in to is not the one that `bir up` starts.
    let said = home.bir(&["runs", "list"]).fails(1);
    assert!(said.contains("connection refused") && said.contains("`bir logout`, then `bir up`"), "{said}");
    let said = home.bir(&["up"]).fails(1);
    assert!(said.contains("this machine uses the hub at") && said.contains("`bir up --local`"), "{said}");
    let status = home.bir(&["status", "--json"]).json();
    assert_eq!((&status["hub"]["reachable"], &status["hub"]["kind"]), (&false.into(), &"login".into()));
    // Signing out works although nobody can be told, and says so.
    let out = home.bir(&["logout", "--json"]).json();
    assert_eq!((&out["removed"], &out["revoked"]), (&true.into(), &false.into()));
    assert!(!std::fs::read_to_string(home.state().join("credentials.json")).unwrap().contains("bir_ref_old"));
}

#[test]
fn a_hub_that_says_nothing_does_not_hold_the_status() {
    let stub = Stub::new();
    stub.on("GET /health", [Reply::Silence]);
    let home = signed_in(&stub);
    let began = std::time::Instant::now();
    let status = home.bir(&["status", "--json"]).json();
    assert!(status["hub"]["trouble"].as_str().unwrap().contains("within 5 s"), "{status}");
    assert!(began.elapsed() < std::time::Duration::from_secs(25), "{:?}", began.elapsed());
}

#[test]
fn a_later_hub_asks_for_an_upgrade_and_another_program_is_no_hub() {
    let stub = Stub::new();
    stub.on("GET /health", [Reply::Json(200, health(99))]);
    let home = Home::new();
    let said = home.bir(&["login", "--server", &stub.url, "--device"]).fails(1);
    assert!(said.contains("version 99 of the API") && said.contains("upgrade bir"), "{said}");
    stub.on("GET /health", [Reply::Garbage]);
    let said = home.bir(&["login", "--server", &stub.url, "--device"]).fails(1);
    assert!(said.contains("not understood"), "{said}");
    stub.on("GET /health", [Reply::Json(404, "<html>".into())]);
    let said = home.bir(&["login", "--server", &stub.url, "--device"]).fails(1);
    assert!(said.contains("is that a hub? check the address"), "{said}");
    for (url, status, part) in [
        ("127.0.0.1:7511", 2, "did you mean `--server http://127.0.0.1:7511`?"),
        ("hub.example.com/", 2, "did you mean `--server https://hub.example.com`?"),
        ("ftp://x", 2, "begins with http:// or https://"),
        ("https://no-such-host.invalid", 1, "cannot resolve"),
    ] {
        let said = home.bir(&["login", "--server", url, "--device"]).fails(status);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn an_export_that_breaks_off_leaves_no_file_and_says_so() {
    let stub = Stub::new();
    stub.on("GET /recordings/export", [Reply::Broken("{\"type\":\"run\"}\n")]);
    let home = signed_in(&stub);
    let said = home.bir(&["runs", "export", "--all", "-o", "week.jsonl"]).fails(1);
    assert!(said.contains("the export is not whole"), "{said}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["state"]);
}

#[test]
fn case_is_looked_at_before_the_limit() {
    let row = |n: u32, text: &str| {
        format!(
            r#"{{"type":"step","id":"step_01970000-0000-7000-8000-00000000000{n}","runId":"run_01970000-0000-7000-8000-000000000001","stepIndex":{n},"stepType":"tool_selected","toolName":"t","toolInput":"{text}","at":1}}"#
        )
    };
    let page = |rows: &str, next: &str| Reply::Json(200, format!(r#"{{"steps":[{rows}],"next":{next}}}"#));
    let stub = Stub::new();
    stub.on("GET /recordings/search", [page(&row(0, "paris"), r#""c""#), page(&row(2, "Paris"), "null")]);
    let home = signed_in(&stub);
    let found = home.bir(&["runs", "grep", "Paris", "--case", "--limit", "1", "--json"]).json();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["stepIndex"]), (1, &2.into()));
}

#[test]
fn a_password_is_read_from_stdin_and_a_refusal_tells_nothing_of_it() {
    use std::io::Write;
    let stub = Stub::new();
    let pair =
        r#"{"accessToken":"bir_acc_1","refreshToken":"bir_ref_1","expiresAt":9,"user":{"email":"a@b.c"}}"#;
    stub.on(
        "POST /auth/login",
        [
            Reply::Problem(401, "bad_credentials", "no"),
            Reply::Problem(429, "rate_limited", "no"),
            Reply::Json(200, pair.into()),
        ],
    );
    let home = Home::new();
    let spool = home.state().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("run_01970000-0000-7000-8000-000000000001-000001.spool"), "").unwrap();
    let login = |last: &str| {
        let mut args = vec!["login", "--server", &stub.url, "--email", "a@b.c", "--password-stdin"];
        args.extend(Some(last).filter(|last| !last.is_empty()));
        let mut command = home.command(&args);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hunter2-long\n").unwrap();
        common::Said::from(child.wait_with_output().unwrap())
    };
    let said = login("").err;
    assert!(said.contains("does not know this e-mail address") && !said.contains("hunter2"), "{said}");
    // What waits goes there too, which is told before anybody is signed in.
    assert!(said.starts_with("note: 1 run waits here and will be sent to http://127.0.0.1:"), "{said}");
    std::fs::remove_dir_all(&spool).unwrap();
    assert!(login("").fails(1).contains("wait a minute"));
    assert_eq!(login("--json").json()["email"], "a@b.c");
    assert!(stub.asked("POST /auth/login")[2].body.contains("hunter2-long"));
    use std::os::unix::fs::PermissionsExt;
    let file = std::fs::metadata(home.state().join("credentials.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    // Without a terminal nothing is asked, and nothing waits.
    let mut command = home.command(&["login", "--server", &stub.url]);
    let said = common::Said::from(command.stdin(std::process::Stdio::null()).output().unwrap());
    assert!(said.fails(2).contains("--password-stdin"));
}

#[test]
fn a_code_is_shown_and_waited_for() {
    let stub = Stub::new();
    let grant =
        r#"{"deviceCode":"d","userCode":"ABCD-EFGH","verificationUri":"http://h/device","interval":1}"#;
    let pair =
        r#"{"accessToken":"bir_acc_1","refreshToken":"bir_ref_1","expiresAt":9,"user":{"email":"a@b.c"}}"#;
    stub.on("POST /auth/device", [Reply::Json(200, grant.into())]);
    stub.on(
        "POST /auth/device/token",
        [Reply::Problem(428, "authorization_pending", "not yet"), Reply::Json(200, pair.into())],
    );
    let home = Home::new();
    let said = home.bir(&["login", "--server", &stub.url, "--device"]);
    assert!(said.err.contains("open http://h/device in a browser and enter the code ABCD-EFGH"), "{said:?}");
    assert!(said.err.contains("a@b.c is signed in at"), "{said:?}");
    assert_eq!(said.ok(), "");
    stub.on("POST /auth/device/token", [Reply::Problem(403, "access_denied", "no")]);
    let said = home.bir(&["login", "--device"]);
    assert!(said.status == Some(1) && said.err.contains("was refused in the browser"), "{said:?}");
}
