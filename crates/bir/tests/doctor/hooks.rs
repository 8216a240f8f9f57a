//! Hooks that are missing, untrusted, doubled, or not reached.

use crate::patient::{Patient, file};
use bir_hosts::config::{Memo, Role};
use bir_hosts::{Host, hooks};
use bir_install::ledger::HookRecord;
use bir_model::Place;
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn servers_are_wrapped_and_there_are_no_hooks() {
    let patient = Patient::healthy();
    std::fs::remove_file(patient.settings()).unwrap();
    let report = patient.finds(&["hooks-missing"]);
    assert_eq!(report["findings"][0]["host"], "claude-code");
    // Elsewhere the same entry is not set up at all.
    std::fs::remove_dir_all(patient.state().join("control")).unwrap();
    patient.finds(&["not-set-up"]);
    // A user's server is as wrapped here as anywhere.
    patient.no_servers();
    patient.finds(&[]);
    patient.user_server("files", &patient.wrapped("npx"));
    let report = patient.finds(&["not-set-up"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("wherever you are"), "{report:#}");
}

#[test]
fn status_says_so_too_where_one_is_in_no_project() {
    let mut patient = Patient::healthy();
    patient.no_servers();
    patient.user_server("files", &patient.wrapped("npx"));
    let place = Place::keys(["mcpServers", "files"]);
    patient.ledger(vec![patient.record(&patient.claude(), place, Some(Memo::default()), 1)]);
    let says = |patient: &Patient| patient.bir(&["status"]).1.contains("here      no project is set up here");
    assert!(!says(&patient));
    patient.here = patient.home.clone();
    assert!(says(&patient), "{}", patient.bir(&["status"]).1);
}

#[test]
fn hooks_of_ours_are_in_two_files() {
    let patient = Patient::healthy();
    patient.hooks(&patient.home.join(".claude/settings.json"));
    let report = patient.finds(&["two-recorders"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("settings.local.json"));
}

#[test]
fn all_hooks_are_switched_off() {
    let patient = Patient::healthy();
    patient.edit(&patient.settings(), |all| all["disableAllHooks"] = json!(true));
    let report = patient.finds(&["hooks-off"]);
    assert_eq!(
        (&report["findings"][0]["severity"], &report["findings"][0]["host"]),
        (&json!("fault"), &json!("claude-code"))
    );
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("disableAllHooks"));
}

#[test]
fn another_recorder_listens_too() {
    let patient = Patient::healthy();
    patient.edit(&patient.home.join(".claude/settings.json"), |all| {
        all["hooks"]["Stop"] =
            json!([{"hooks": [{"type": "command", "command": "/opt/rrepeat-hooks stop"}]}]);
    });
    let report = patient.finds(&["two-recorders"]);
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("rrepeat-hooks"));
}

#[test]
fn a_hook_of_the_ledger_was_taken_away() {
    let patient = Patient::healthy();
    let text = std::fs::read_to_string(patient.settings()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let hook = HookRecord { to: Place::keys(["hooks", "Stop"]), value: value["hooks"]["Stop"][0].clone() };
    patient.ledger(vec![file(&patient.settings(), Role::Both, Vec::new(), vec![hook], 1)]);
    patient.finds(&[]);
    patient.edit(&patient.settings(), |all| all["hooks"]["Stop"] = json!([]));
    patient.finds(&["entry-gone"]);
}

#[test]
fn codex_does_not_trust_them() {
    let patient = Patient::healthy();
    let program = patient.home.join("bin/bir-hooks");
    let file = patient.home.join(".codex/hooks.json");
    let text = hooks(Host::Codex, program.to_str().unwrap()).unwrap().text;
    patient.write(&file, &text);
    patient.write(&patient.home.join(".codex/config.toml"), "model = \"m\"\n");
    let report = patient.finds(&["untrusted-hook"]);
    assert_eq!(report["findings"][0]["safe"], false, "trust is given by whoever was asked");
    // No Codex is there that an install could tell: what it left behind does not make doctor fail.
    assert_eq!(report["findings"][0]["severity"], "warning");
    assert!(report["findings"][0]["mend"].as_str().unwrap().contains("on PATH"), "{report:#}");
    let events: Value = serde_json::from_str(&text).unwrap();
    let mut config = String::new();
    for event in events["hooks"].as_object().unwrap().keys() {
        let snake: String = event
            .chars()
            .enumerate()
            .flat_map(|(at, c)| {
                let mark = (at > 0 && c.is_ascii_uppercase()).then_some('_');
                mark.into_iter().chain([c.to_ascii_lowercase()])
            })
            .collect();
        config.push_str(&format!(
            "[hooks.state.\"{}:{snake}:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
            file.display()
        ));
    }
    patient.write(&patient.home.join(".codex/config.toml"), &config);
    patient.finds(&[]);
}

#[test]
fn codex_would_trust_another_text() {
    let mut patient = Patient::healthy();
    let file = patient.home.join(".codex/hooks.json");
    let command = format!("'{}' hook Stop --host codex", patient.home.join("bin/bir-hooks").display());
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    patient.write(&file, &hooks.to_string());
    let key = format!("{}:stop:0:0", file.display());
    let config = format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:old\"\n");
    patient.write(&patient.home.join(".codex/config.toml"), &config);
    patient.finds(&[]);
    // A Codex that is there, and lists it.
    let codex = patient.program("codex", "1.0.0");
    let answers = |patient: &Patient, hash: &str| {
        let hook = json!({"command": command, "sourcePath": file, "key": key, "currentHash": hash, "trustStatus": "modified"});
        let listed = json!({"id": 2, "result": {"data": [{"hooks": [hook]}]}}).to_string();
        let script = format!(
            "#!/bin/sh\nread -r a\necho '{{\"id\":1,\"result\":{{}}}}'\nread -r b\nread -r c\ncat <<'END'\n{listed}\nEND\n"
        );
        patient.write(&codex, &script);
    };
    let path = format!("{}:/usr/bin:/bin", patient.home.join("bin").display());
    answers(&patient, "sha256:new");
    patient.variables.push(("PATH", path));
    assert_eq!(patient.finds(&["untrusted-hook"])["faults"], 1);
    answers(&patient, "sha256:old");
    patient.finds(&[]);
}

#[test]
fn hooks_of_a_directory_above_do_not_count_without_git() {
    let mut patient = Patient::healthy();
    std::fs::remove_dir(patient.project.join(".git")).unwrap();
    let text = std::fs::read_to_string(patient.settings()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let hook = HookRecord { to: Place::keys(["hooks", "Stop"]), value: value["hooks"]["Stop"][0].clone() };
    patient.ledger(vec![file(&patient.settings(), Role::Both, Vec::new(), vec![hook], 1)]);
    patient.finds(&[]);
    patient.here = patient.project.join("sub/deep");
    std::fs::create_dir_all(&patient.here).unwrap();
    patient.finds(&["hooks-not-reached"]);
    // Hooks of the user reach everywhere.
    std::fs::rename(patient.settings(), patient.home.join(".claude.tmp")).unwrap();
    std::fs::create_dir_all(patient.home.join(".claude")).unwrap();
    std::fs::rename(patient.home.join(".claude.tmp"), patient.home.join(".claude/settings.json")).unwrap();
    patient.finds(&["file-gone"]);
}

#[test]
fn git_would_commit_them() {
    let patient = Patient::healthy();
    std::fs::remove_dir(patient.project.join(".git")).unwrap();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.env_clear().env("HOME", &patient.home).env("PATH", "/usr/bin:/bin");
        git.current_dir(&patient.project).args(args).output().map(|output| output.status.success())
    };
    if git(&["init", "--quiet"]).ok() != Some(true) {
        // Without git nobody commits anything.
        return;
    }
    let report = patient.finds(&["not-ignored"]);
    let mend = report["findings"][0]["mend"].as_str().unwrap();
    assert!(mend.contains(" /.claude/settings.local.json "), "the line that an install tells: {mend}");
    let mended = Command::new("sh")
        .args(["-c", mend])
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", &patient.home)
        .current_dir(&patient.project)
        .status();
    assert!(mended.unwrap().success());
    patient.finds(&[]);
}
