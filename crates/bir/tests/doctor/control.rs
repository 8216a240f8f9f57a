//! A control server that is dead, old, stopped, or somebody else; and calls that no proxy saw.

use crate::common::stub::{Reply, Stub};
use crate::patient::Patient;
use bir_control_client::stopped_file;
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// The number of a process that has ended.
fn dead() -> u32 {
    let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    pid
}

/// A port at which nobody listens.
fn closed() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

/// Which answers as a control server of a release.
fn control(version: &str, bypassed: &str) -> Stub {
    let stub = Stub::new();
    let health =
        format!(r#"{{"status":"ok","apiVersion":1,"version":"{version}","pid":7,"bypassed":{bypassed}}}"#);
    stub.on("GET /health", [Reply::Json(200, health)]);
    stub
}

#[test]
fn it_was_killed() {
    let patient = Patient::healthy();
    patient.served(&closed(), dead());
    let report = patient.finds(&["control-dead"]);
    assert_eq!(report["findings"][0]["mend"], "bir up --restart");
    // The process lives, and nobody listens: it is another one by now.
    patient.served(&closed(), std::process::id());
    patient.finds(&["control-dead"]);
}

#[test]
fn a_dead_one_is_started_again() {
    let mut patient = Patient::healthy();
    // A bir of its own, with a bir-hooks beside it that ends with the test.
    let hooks = bir_testkit::bins::bin("bir-hooks", "bir-hooks").unwrap();
    let bin = patient.home.join("real");
    std::fs::create_dir(&bin).unwrap();
    std::fs::copy(&patient.bir, bin.join("bir")).unwrap();
    std::os::unix::fs::symlink(hooks, bin.join("bir-hooks")).unwrap();
    patient.bir = bin.join("bir");
    patient.served(&closed(), dead());
    patient.finds(&["control-dead"]);
    let report = patient.is_mended();
    assert!(report["done"][0]["what"].as_str().unwrap().contains("control server"), "{report}");
    assert_eq!(patient.bir(&["down"]).0, Some(0));
    patient.finds(&["control-stopped"]);
}

#[test]
fn another_program_has_its_port() {
    let patient = Patient::healthy();
    let other = Stub::new();
    other.on("GET /health", [Reply::Problem(404, "not_found", "a shop")]);
    patient.served(&other.url, dead());
    patient.finds(&["control-foreign"]);
    other.on("GET /health", [Reply::Garbage]);
    patient.finds(&["control-foreign"]);
}

#[test]
fn it_is_of_an_older_release() {
    let patient = Patient::healthy();
    let old = control("0.0.9", "{}");
    patient.served(&old.url, std::process::id());
    patient.finds(&["control-old"]);
    let new = control("9.0.0", "{}");
    patient.served(&new.url, std::process::id());
    patient.finds(&[]);
}

#[test]
fn it_was_stopped() {
    let patient = Patient::healthy();
    patient.write(&stopped_file(&patient.state()), "");
    patient.served(&closed(), dead());
    patient.finds(&["control-stopped"]);
}

#[test]
fn calls_were_made_that_no_proxy_saw() {
    let patient = Patient::healthy();
    let told = control("0.1.0", r#"{"files": 3, "other": 1}"#);
    patient.served(&told.url, std::process::id());
    let report = patient.finds(&["bypassed"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("3 calls"));
    patient.no_servers();
    patient.finds(&[]);
}

/// Hosts that tell no server tell the name of the tool, as they render it.
#[test]
fn calls_of_a_rendered_tool_are_of_its_server() {
    let patient = Patient::healthy();
    let told = control("0.1.0", r#"{"mcp__files__read": 2, "mcp__files__write": 1, "mcp__other__x": 7}"#);
    patient.served(&told.url, std::process::id());
    let report = patient.finds(&["bypassed"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("`files` is wrapped"), "{report}");
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("3 calls"), "{report}");
}
