//! Installs that were interrupted, a ledger and files of hosts that cannot be read.

use crate::patient::Patient;
use bir_install::ledger::{Hash, Ledger, VERSION};
use serde_json::json;

#[test]
fn an_install_died_in_the_middle() {
    let patient = Patient::healthy();
    let file = patient.home.join(".cursor/mcp.json");
    let (before, after) = ("{}\n", "{\"mcpServers\": {}}\n");
    patient.write(&file, after);
    let hash = |text: &str| Hash::of(text.as_bytes());
    let pending = json!({
        "version": 1, "id": "0", "kind": "install", "madeDirs": [], "emptyDirs": [],
        "files": [{"path": file, "real": file, "before": hash(before), "after": hash(after), "mend": [{"text": before}]}],
        "ledger": Ledger { version: VERSION, revision: "r".into(), ..Ledger::default() },
    });
    patient.write(&patient.state().join("pending.json"), &pending.to_string());
    patient.finds(&["install-interrupted"]);
    // To look changes nothing.
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    patient.is_mended();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "what had been written is taken back");
}

#[test]
fn an_install_died_while_codex_was_told_to_trust() {
    let patient = Patient::healthy();
    let config = patient.home.join("codex.toml");
    patient.write(&config, "[hooks.state.ours]\ntrusted_hash = \"sha256:ours\"\n");
    let wanted =
        json!({ "hooksFile": "/h", "scope": "user", "config": config, "project": "/p", "commands": [] });
    let set = json!([{ "at": ["hooks", "state", "ours"], "value": { "trusted_hash": "sha256:ours" } }]);
    let note = json!({ "version": 1, "at": 1, "wanted": wanted, "before": null, "set": set, "made": [] });
    patient.write(&patient.state().join("trust.json"), &note.to_string());
    patient.finds(&["install-interrupted"]);
    let report = patient.is_mended();
    assert!(report["done"][0]["what"].as_str().unwrap().contains("told to trust our hooks"), "{report}");
    let ledger = std::fs::read_to_string(patient.state().join("installed.json")).unwrap();
    assert!(ledger.contains("sha256:ours"), "{ledger}");
}

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

#[test]
fn an_upgrade_moved_the_programs_and_fix_installs_as_much_again() {
    let mut patient = Patient::untouched();
    let (old, new) = (patient.home.join("old"), patient.home.join("new"));
    std::fs::create_dir_all(&old).unwrap();
    std::fs::copy(&patient.bir, old.join("bir")).unwrap();
    for name in ["bir-proxy", "bir-hooks"] {
        std::os::unix::fs::symlink(bir_testkit::bins::bin(name, name).unwrap(), old.join(name)).unwrap();
    }
    patient.local_server("files", &Patient::plain("npx"));
    patient.local_server("other", &Patient::plain("uvx"));
    patient.bir = old.join("bir");
    let (status, out, err) = patient.bir(&["install", "--yes", "--host", "claude-code", "--server", "files"]);
    assert_eq!(status, Some(0), "{out}{err}");
    patient.finds(&[]);

    std::fs::rename(&old, &new).unwrap();
    patient.bir = new.join("bir");
    patient.finds(&["dead-path", "dead-path"]);
    let report = patient.is_mended();
    let done = report["done"][0]["what"].as_str().unwrap();
    assert!(done.starts_with("claude-code: the entry of `files` and the hooks: installed again"), "{done}");
    let wrapped = report["wrapped"].as_array().unwrap();
    assert_eq!((wrapped.len(), &wrapped[0]["server"]), (1, &"files".into()), "the other one stays as it was");
    assert_eq!(wrapped[0]["proxy"], new.join("bir-proxy").to_str().unwrap());
}

#[test]
fn without_its_own_programs_it_promises_nothing_and_tells_each_once() {
    let mut patient = Patient::healthy();
    // A bir that stands alone, as after an upgrade that went wrong.
    let alone = patient.home.join("alone/bir");
    std::fs::create_dir_all(alone.parent().unwrap()).unwrap();
    std::fs::copy(&patient.bir, &alone).unwrap();
    patient.bir = alone;
    std::fs::remove_dir_all(patient.home.join("bin")).unwrap();
    let gone = patient.wrapped("uvx");
    ["git", "github", "search"].iter().for_each(|name| patient.local_server(name, &gone));
    let report = patient.finds(&["dead-path", "dead-path"]);
    for finding in report["findings"].as_array().unwrap() {
        assert_eq!(finding["safe"], false, "{finding}");
        let mend = finding["mend"].as_str().unwrap();
        assert!(mend.contains("missing beside bir") && !mend.contains("cargo"), "{finding}");
    }
    let wrapped = report["wrapped"].as_array().unwrap();
    assert!(wrapped.len() == 4 && wrapped.iter().all(|one| one["dead"] == true), "{report:#}");
    let (status, out, _) = patient.bir(&["doctor", "--fix"]);
    assert_eq!(status, Some(1));
    assert!(!out.contains("failed") && out.contains(" dead "), "{out}");
}
