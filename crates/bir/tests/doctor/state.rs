//! The state directory, the off switch, and where home is.

use crate::patient::Patient;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_configuration_is_not_understood() {
    let patient = Patient::healthy();
    patient.write(&patient.state().join("config.toml"), "[record]\nexclude = 7\n");
    let report = patient.finds(&["config-unclear"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("line 2"), "{report}");
}

#[test]
fn recording_is_switched_off() {
    let mut patient = Patient::healthy();
    let off = patient.state().join("off");
    let mend = |patient: &Patient| patient.finds(&["switched-off"])["findings"][0]["mend"].clone();
    patient.write(&off, "");
    assert_eq!(mend(&patient), "bir on");
    patient.write(&off, "/somewhere/else\n");
    patient.finds(&[]);
    patient.write(&off, &format!("{}\n", patient.project.display()));
    assert_eq!(mend(&patient), "bir on --here");
    patient.variables.push(("BIR_OFF", "1".into()));
    assert_eq!(mend(&patient), "unset BIR_OFF");
}

#[test]
fn others_may_read_what_was_recorded() {
    let patient = Patient::healthy();
    let secret = patient.state().join("credentials.json");
    patient.write(&secret, "{}");
    for (path, mode) in [(patient.state(), 0o755), (secret.clone(), 0o644)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    patient.finds(&["state-readable"]);
    patient.is_mended();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(patient.state()), mode(secret)), (0o700, 0o600));
}

#[test]
fn what_waits_is_near_its_bound() {
    let patient = Patient::healthy();
    patient.write(&patient.state().join("config.toml"), "[record]\nspool_limit_mb = 1\n");
    let segment = |bytes: usize| {
        let name = "run_01970000-0000-7000-8000-000000000001-000001.spool";
        patient.write(&patient.state().join("spool").join(name), &"x".repeat(bytes));
    };
    segment(700 * 1024);
    // No hub is known either.
    patient.finds(&["hub-none"]);
    segment(900 * 1024);
    patient.finds(&["hub-none", "spool-full"]);
}

#[test]
fn messages_were_dropped() {
    let patient = Patient::healthy();
    patient.write(&patient.state().join("inbox/dropped"), "...");
    let report = patient.finds(&["messages-dropped"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().starts_with("3 messages"));
}

#[test]
fn home_is_not_where_one_would_look() {
    let mut patient = Patient::healthy();
    patient.variables.push(("BIR_HOME", patient.state().to_str().unwrap().into()));
    let report = patient.finds(&["home-unusual"]);
    assert_eq!((&report["notes"], &report["warnings"]), (&1.into(), &0.into()));
    patient.variables.push(("HOME", "home".into()));
    let report = patient.finds(&["home-unusual", "home-unusual"]);
    assert_eq!(report["warnings"], 1);
    patient.variables.push(("HOME", "/no/such/home".into()));
    patient.finds(&["home-unusual", "home-unusual"]);
}

#[test]
fn a_code_is_explained_without_a_checkout() {
    let patient = Patient::healthy();
    let (status, out, _) = patient.bir(&["doctor", "--explain", "spool-full"]);
    assert!(status == Some(0) && out.contains("80 %"), "{out}");
    let (status, out, err) = patient.bir(&["doctor", "--explain", "spool"]);
    assert!(status == Some(2) && out.is_empty() && err.contains("no code `spool`"), "{out}{err}");
}
