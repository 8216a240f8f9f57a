//! Installs that were interrupted, a ledger and files of hosts that cannot be read.

use crate::patient::Patient;

#[test]
fn the_ledger_cannot_be_read() {
    let patient = Patient::healthy();
    let ledger = patient.state().join("installed.json");
    patient.write(&ledger, "{");
    patient.finds(&["ledger-broken"]);
    patient.write(&ledger, r#"{"version": 99}"#);
    patient.finds(&["ledger-broken"]);
}

#[test]
fn a_file_of_a_host_cannot_be_read() {
    let patient = Patient::healthy();
    patient.write(&patient.claude(), "{\"mcpServers\": {");
    let report = patient.finds(&["file-broken"]);
    assert_eq!(report["findings"][0]["file"], patient.claude().to_str().unwrap());
    // The ledger knows it, too, and it is told once.
    patient.ledger(vec![patient.record(&patient.claude(), patient.local_place(), None, 1)]);
    patient.finds(&["file-broken"]);
}
