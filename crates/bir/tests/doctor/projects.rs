//! Projects that are set up: with replay, gone, in each other.

use crate::patient::Patient;
use bir_control_client::projects;
use bir_install::ledger::ProjectRecord;

#[test]
fn replay_is_on_and_stands_above_everything() {
    let patient = Patient::healthy();
    let mut ledger = patient.ledger(Vec::new());
    ledger
        .projects
        .insert(patient.project.clone(), ProjectRecord { replay: true, ..ProjectRecord::default() });
    patient.write_ledger(&ledger);
    let report = patient.finds(&["replay-on"]);
    assert_eq!(report["replay"], serde_json::json!([patient.project]));
    let text = patient.bir(&["doctor"]).1;
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(&*format!("REPLAY: ON in {}", patient.project.display())));
    assert!(lines.next().unwrap().contains("asked for with --replay"), "{text}");
    assert!(lines.next().unwrap().contains("bir uninstall "), "{text}");
    // Whatever else is wrong, it stays the first.
    patient.write(&patient.claude(), "{");
    let text = patient.bir(&["doctor"]).1;
    assert!(text.starts_with("REPLAY: ON") && text.contains("[file-broken]"), "{text}");
}

#[test]
fn a_project_is_gone() {
    let patient = Patient::healthy();
    let gone = patient.home.join("gone");
    std::fs::create_dir(&gone).unwrap();
    projects::add(&patient.state(), &gone).unwrap();
    patient.finds(&[]);
    std::fs::remove_dir(&gone).unwrap();
    patient.finds(&["project-gone"]);
    patient.is_mended();
    assert_eq!(projects::list(&patient.state()).len(), 1);
}

#[test]
fn a_project_lies_in_another() {
    let patient = Patient::healthy();
    let inner = patient.project.join("inner");
    std::fs::create_dir(&inner).unwrap();
    projects::add(&patient.state(), &inner).unwrap();
    let report = patient.finds(&["projects-nested"]);
    assert_eq!(report["notes"], 1);
}
