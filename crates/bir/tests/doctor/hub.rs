//! A hub that is away, refuses, or lives in another time; and what it knows of tools.

use crate::common::stub::{Reply, Stub, health};
use crate::patient::Patient;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

fn sign_in(patient: &Patient, url: &str) {
    let login = json!({"servers": {url: {"token": "bir_pat_geheim-7731"}}, "current": url});
    patient.write(&patient.state().join("credentials.json"), &login.to_string());
}

/// A hub in which all is well.
fn hub() -> Stub {
    let stub = Stub::new();
    stub.on("GET /recordings/runs", [Reply::Json(200, r#"{"runs": []}"#.into())]);
    stub
}

#[test]
fn it_does_not_answer() {
    let patient = Patient::healthy();
    let hub = hub();
    sign_in(&patient, &hub.url);
    patient.finds(&[]);
    let closed = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    sign_in(&patient, &closed);
    let report = patient.finds(&["hub-unreachable"]);
    assert!(report["findings"][0]["mend"].as_str().unwrap().contains("bir logout"));
    // The hub of this machine, of which only the file is left.
    std::fs::remove_file(patient.state().join("credentials.json")).unwrap();
    let left = json!({"url": closed, "token": "t", "pid": 1, "instance": "i"});
    patient.write(&patient.state().join("hub.json"), &left.to_string());
    let report = patient.finds(&["hub-unreachable"]);
    assert_eq!(report["findings"][0]["mend"], "bir up");
}

#[test]
fn it_does_not_accept_the_token() {
    let patient = Patient::healthy();
    let hub = hub();
    hub.on("GET /recordings/runs", [Reply::Problem(401, "token_expired", "the token has expired")]);
    sign_in(&patient, &hub.url);
    let report = patient.finds(&["token-refused"]);
    assert!(report["findings"][0]["mend"].as_str().unwrap().starts_with("bir login --server http://127"));
    patient.write(&patient.state().join("credentials.json"), "{");
    let report = patient.finds(&["token-refused"]);
    assert_eq!(report["findings"][0]["mend"], "bir login");
}

#[test]
fn nobody_takes_what_waits() {
    let patient = Patient::healthy();
    let segment = "spool/run_01970000-0000-7000-8000-000000000001-000001.spool";
    patient.write(&patient.state().join(segment), "x");
    patient.finds(&["hub-none"]);
}

#[test]
fn its_clock_is_another() {
    let patient = Patient::healthy();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                line.clear();
            }
            let body = if first.contains("/health") { health(1) } else { r#"{"runs": []}"#.into() };
            let _ = write!(
                reader.into_inner(),
                "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    sign_in(&patient, &url);
    let report = patient.finds(&["clock-skew"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("ahead of"));
}

#[test]
fn a_tool_that_it_knows_has_too_long_a_name() {
    let patient = Patient::healthy();
    let (hub, run) = (hub(), "run_01970000-0000-7000-8000-000000000001");
    let tool = "t".repeat(60);
    hub.on("GET /recordings/runs", [Reply::Json(200, json!({"runs": [{"id": run}]}).to_string())]);
    let rows = json!({"steps": [{"server": "files", "tool": "short"}, {"server": "files", "tool": tool}]});
    hub.on(&format!("GET /recordings/runs/{run}/steps"), [Reply::Json(200, rows.to_string())]);
    sign_in(&patient, &hub.url);
    let report = patient.finds(&["long-name"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains(&tool));
}
