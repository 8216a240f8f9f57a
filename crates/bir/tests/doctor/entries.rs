//! Wrapped entries that are not what counts, or start what is not there.

use crate::patient::Patient;
use bir_control_client::Seen;
use bir_control_client::seen::{SeenProxy, SeenSession};
use bir_hosts::config::Memo;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_program_that_is_gone_after_an_upgrade() {
    let mut patient = Patient::healthy();
    patient.installed();
    let gone = patient.home.join("old/bir-proxy");
    patient.local_server("files", &patient.wrapped_by(&gone, "npx"));
    let report = patient.finds(&["dead-path"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["server"], &finding["safe"]), (&"files".into(), &true.into()), "{finding}");
    assert_eq!(finding["file"], patient.claude().to_str().unwrap());
    // There, and no program.
    patient.write(&gone, "");
    std::fs::set_permissions(&gone, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(
        patient.finds(&["dead-path"])["findings"][0]["what"].as_str().unwrap().contains("cannot be started")
    );
    // The hooks' program, too.
    let mut patient = Patient::healthy();
    patient.installed();
    std::fs::remove_file(patient.home.join("bin/bir-hooks")).unwrap();
    let report = patient.finds(&["dead-path"]);
    assert_eq!(report["findings"][0]["server"], Value::Null);
}

/// Which takes the host's server with it, and tells nothing of itself.
#[test]
fn a_program_that_hangs() {
    let patient = Patient::healthy();
    let proxy = patient.home.join("bin/bir-proxy");
    patient.write(&proxy, "#!/bin/sh\nexec sleep 100\n");
    std::fs::set_permissions(&proxy, PermissionsExt::from_mode(0o755)).unwrap();
    let report = patient.finds(&["dead-path"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["severity"], &finding["safe"]), (&"warning".into(), &false.into()), "{finding}");
    assert!(finding["what"].as_str().unwrap().contains("did not tell its version in time"), "{finding}");
}

#[test]
fn a_program_of_another_release() {
    let patient = Patient::healthy();
    patient.program("bir-proxy", "0.0.1");
    let report = patient.finds(&["other-version"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("0.0.1"));
    patient.program("bir-hooks", "0.0.1");
    patient.finds(&["other-version", "other-version"]);
}

#[test]
fn an_entry_that_another_scope_shadows() {
    let patient = Patient::healthy();
    patient.user_server("files", &patient.wrapped("npx"));
    patient.finds(&[]);
    patient.local_server("files", &Patient::plain("npx"));
    // Nothing that counts is wrapped, so hooks are not looked for.
    let report = patient.finds(&["shadowed-entry"]);
    assert_eq!(report["wrapped"][0]["state"], "shadowed");
}

#[test]
fn a_copy_whose_original_has_changed() {
    let patient = Patient::healthy();
    let committed = patient.project.join(".mcp.json");
    let commit =
        |program: &str| patient.edit(&committed, |all| all["mcpServers"]["files"] = Patient::plain(program));
    commit("npx");
    patient.edit(&patient.claude(), |all| {
        let project = &mut all["projects"][patient.project.to_str().unwrap()];
        project["hasTrustDialogAccepted"] = json!(true);
        project["enabledMcpjsonServers"] = json!(["files"]);
    });
    patient.ledger(vec![patient.record(&patient.claude(), patient.local_place(), None, 1)]);
    patient.finds(&[]);
    commit("uvx");
    let report = patient.finds(&["outdated-copy"]);
    assert_eq!(report["findings"][0]["safe"], true);
    std::fs::remove_file(&committed).unwrap();
    patient.finds(&["outdated-copy"]);
}

#[test]
fn an_entry_that_is_wrapped_twice() {
    let patient = Patient::healthy();
    patient.local_server("files", &patient.wrapped("/usr/local/bin/bir-proxy"));
    patient.finds(&["wrapped-twice"]);
}

#[test]
fn a_server_of_the_project_that_nobody_has_approved() {
    let patient = Patient::healthy();
    patient.edit(&patient.project.join(".mcp.json"), |all| all["mcpServers"]["team"] = Patient::plain("npx"));
    let report = patient.finds(&["pending-approval"]);
    assert_eq!(report["findings"][0]["server"], "team");
}

#[test]
fn a_server_of_which_no_proxy_has_come() {
    let patient = Patient::healthy();
    patient.ledger(vec![patient.record(
        &patient.claude(),
        patient.local_place(),
        Some(Memo::default()),
        1_000,
    )]);
    let mut seen = Seen::default();
    let began = |at| SeenSession { project: patient.project.clone(), host: "claude-code".into(), at };
    seen.began(began(2_000));
    seen.write(&patient.state()).unwrap();
    patient.finds(&[]);
    seen.began(began(100_000));
    seen.write(&patient.state()).unwrap();
    let report = patient.finds(&["never-registered"]);
    assert_eq!(report["wrapped"][0]["registeredAt"], Value::Null);
    seen.registered(SeenProxy {
        project: patient.project.clone(),
        server: "files".into(),
        host: None,
        version: "0.1.0".into(),
        at: 110_000,
    });
    seen.write(&patient.state()).unwrap();
    assert_eq!(patient.finds(&[])["wrapped"][0]["registeredAt"], 110_000);
}

#[test]
fn a_key_that_leaves_no_room_for_tools() {
    let patient = Patient::healthy();
    let long = "k".repeat(42);
    patient.local_server(&long, &Patient::plain("npx"));
    let report = patient.finds(&["long-name"]);
    assert_eq!(report["findings"][0]["server"], long);
}

#[test]
fn entries_of_the_ledger_that_others_took_away() {
    let patient = Patient::healthy();
    patient.ledger(vec![patient.record(&patient.claude(), patient.local_place(), Some(Memo::default()), 1)]);
    patient.finds(&[]);
    patient.local_server("files", &Patient::plain("npx"));
    let report = patient.finds(&["entry-gone"]);
    assert_eq!(report["findings"][0]["server"], "files");
    patient.no_servers();
    patient.finds(&["entry-gone"]);
    std::fs::remove_file(patient.claude()).unwrap();
    patient.finds(&["file-gone"]);
}
