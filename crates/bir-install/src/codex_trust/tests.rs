//! A program in Codex's place: it answers what is asked in order, and writes what it is told.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const TOML: &str = "# mine\nmodel = \"m\"\n";

/// Answers to `initialize`, `hooks/list`, `config/batchWrite`, `hooks/list`.
fn program(dir: &Path, second: &str, written: &str) -> PathBuf {
    let hook = |key: &str, command: &str, status: &str| {
        format!(
            r#"{{"key":"{key}","command":"{command}","currentHash":"sha256:{key}","trustStatus":"{status}"}}"#
        )
    };
    let list = |id: u32, status: &str| {
        let hooks = [hook("theirs", "say", "untrusted"), hook("ours", "run us", status)].join(",");
        format!(r#"{{"id":{id},"result":{{"data":[{{"hooks":[{hooks}]}}]}}}}"#)
    };
    let script = format!(
        "#!/bin/sh\nread a\necho '{{\"method\":\"news\"}}'\necho '{{\"id\":1,\"result\":{{}}}}'\nread b\nread c\necho '{}'\nread d\n\
         printf %s \"$d\" > '{1}/asked'\nprintf '{written}' >> '{1}/config.toml'\necho '{{\"id\":3,\"result\":{{}}}}'\nread e\necho '{2}'\nread f\n",
        list(2, "untrusted"),
        dir.display(),
        list(4, second),
    );
    let path = dir.join("codex");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn wanted_in(dir: &Path) -> Wanted {
    std::fs::write(dir.join("config.toml"), TOML).unwrap();
    Wanted {
        hooks_file: dir.join("hooks.json"),
        scope: Scope::User,
        config: dir.join("config.toml"),
        project: dir.to_path_buf(),
        commands: vec!["run us".into()],
    }
}

const WRITTEN: &str = "\\n[hooks.state.ours]\\ntrusted_hash = \"sha256:ours\"\\n";

#[test]
fn ours_alone_are_trusted_and_what_was_written_can_be_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = wanted_in(dir.path());
    let given = give(dir.path(), &program(dir.path(), "trusted", WRITTEN), &wanted, 1).unwrap();
    assert_eq!(given.count(), 1);
    let asked: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("asked")).unwrap()).unwrap();
    assert_eq!(
        asked["params"]["edits"][0]["value"],
        serde_json::json!({"ours": {"trusted_hash": "sha256:ours"}})
    );
    let text = std::fs::read(&wanted.config).unwrap();
    let (_, layer) = layer(&wanted, given, 1).unwrap();
    assert_eq!(layer.back.unwrap().apply(&text).unwrap(), TOML.as_bytes());
    assert_eq!((layer.set.len(), layer.made.len()), (1, 2));
}

#[test]
fn what_another_program_wrote_meanwhile_is_not_taken_back_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = wanted_in(dir.path());
    let both = format!("{WRITTEN}[theirs]\\na = 1\\n");
    let given = give(dir.path(), &program(dir.path(), "trusted", &both), &wanted, 1).unwrap();
    assert!(layer(&wanted, given, 1).unwrap().1.back.is_none());
}

#[test]
fn a_program_that_does_not_do_it_is_told_of_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = wanted_in(dir.path());
    let refused = give(dir.path(), &program(dir.path(), "modified", ""), &wanted, 1);
    assert!(matches!(refused, Err(TrustError::Untrusted(1))), "{refused:?}");
    let other = Wanted { commands: vec!["none".into()], ..wanted.clone() };
    let unlisted = give(dir.path(), &program(dir.path(), "trusted", ""), &other, 1);
    assert!(matches!(unlisted, Err(TrustError::NotListed)), "{unlisted:?}");
    assert!(matches!(give(dir.path(), Path::new("/bin/true"), &wanted, 1), Err(TrustError::Ended)));
    assert!(matches!(give(dir.path(), &dir.path().join("none"), &wanted, 1), Err(TrustError::Start(_))));

    let silent = dir.path().join("silent");
    let pid = dir.path().join("pid");
    std::fs::write(
        &silent,
        format!("#!/bin/sh\necho $$ > '{}'\ntrap '' TERM\nexec sleep 600\n", pid.display()),
    )
    .unwrap();
    std::fs::set_permissions(&silent, PermissionsExt::from_mode(0o755)).unwrap();
    let begin = Instant::now();
    let done = server::trust(&silent, &wanted, Duration::from_millis(300), &|_| Ok(()));
    assert!(matches!(done, Err(TrustError::Silent)), "{done:?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(!Path::new(&format!("/proc/{}/exe", pid.trim())).exists(), "it has ended");
}

/// Codex has written, and the command that told it did not come to the end of its note.
#[test]
fn what_was_written_for_a_command_that_died_is_noted_by_the_next_one() {
    let modules = crate::survey::Modules::all();
    let mender = crate::undo::ByEntries(&modules);
    let end = u64::try_from(BUDGET.as_millis()).unwrap();
    for (written, others) in [(WRITTEN, ""), (WRITTEN, "[theirs]\na = 1\n"), ("", "")] {
        let dir = tempfile::tempdir().unwrap();
        let wanted = wanted_in(dir.path());
        let state = dir.path().join("state");
        bir_home::ensure(&state).unwrap();
        give(&state, &program(dir.path(), "trusted", written), &wanted, 1).unwrap();
        let text = format!("{}{others}", std::fs::read_to_string(&wanted.config).unwrap());
        std::fs::write(&wanted.config, &text).unwrap();
        assert!(read_ledger(&state).unwrap().is_empty() && state.join("trust.json").exists());
        if written.is_empty() {
            // It may come yet, and after a while it does not.
            assert_eq!(repair(&state, end, &mender).unwrap(), None);
            assert!(state.join("trust.json").exists());
            assert_eq!(repair(&state, end + 2, &mender).unwrap(), None);
            assert!(!state.join("trust.json").exists() && read_ledger(&state).unwrap().is_empty());
            continue;
        }
        let note = std::fs::read(state.join("trust.json")).unwrap();
        assert!(repair(&state, 2, &mender).unwrap().is_some());
        // Killed once more, before the note was removed.
        std::fs::write(state.join("trust.json"), note).unwrap();
        assert_eq!(repair(&state, 3, &mender).unwrap(), None);
        assert!(!state.join("trust.json").exists());
        let ledger = read_ledger(&state).unwrap();
        let layers = &ledger.files[0].layers;
        assert_eq!((layers.len(), layers[0].set.len()), (1, 1));
        assert_eq!(layers[0].back.is_some(), others.is_empty(), "{text}");
        let out = crate::undo::Out { project: dir.path().into(), all: true, hosts: vec![], forget: false };
        let mut plan = crate::undo::undo(&modules, &ledger, &out);
        let left = String::from_utf8(plan.operation.changes.remove(0).after.unwrap()).unwrap();
        let expected = if others.is_empty() { TOML.to_owned() } else { format!("{TOML}\n{others}") };
        assert_eq!(left.replace("\n\n", "\n"), expected.replace("\n\n", "\n"));
        assert!(others.is_empty() || !left.contains("hooks"));
    }
}
