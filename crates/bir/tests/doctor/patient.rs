//! A home of its own with one host, one wrapped server and hooks, all as they should be; and what is done to them.

use bir_control_client::{Discovery, key, projects};
use bir_hosts::config::{Memo, Role, Scope};
use bir_hosts::{Host, hooks};
use bir_install::ledger::{EntryRecord, FileRecord, Hash, HookRecord, Layer, Ledger, VERSION};
use bir_model::{Format, Place};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A credential of the set-up; it is shown nowhere.
pub(crate) const SECRET: &str = "geheim-7731";

pub(crate) struct Patient {
    _dir: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
    /// Where `bir doctor` is called.
    pub(crate) here: PathBuf,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The program that is called.
    pub(crate) bir: PathBuf,
}

/// What was found.
pub(crate) struct Seen {
    pub(crate) status: Option<i32>,
    pub(crate) report: Value,
    /// Sorted.
    pub(crate) codes: Vec<String>,
}

impl Patient {
    /// A home in which `bir` never was.
    pub(crate) fn untouched() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, project) = (root.join("home"), root.join("home/work/p"));
        // A work tree that git itself does not take for one, so that it is not asked.
        std::fs::create_dir_all(project.join(".git")).unwrap();
        let bir = env!("CARGO_BIN_EXE_bir").into();
        Self { _dir: dir, home, here: project.clone(), project, variables: Vec::new(), bir }
    }

    /// Set up, with a wrapped server of Claude Code and its hooks.
    pub(crate) fn healthy() -> Self {
        let patient = Self::untouched();
        bir_home::ensure(&patient.state()).unwrap();
        projects::add(&patient.state(), &patient.project).unwrap();
        patient.program("bir-proxy", "0.1.0");
        patient.program("bir-hooks", "0.1.0");
        patient.local_server("files", &patient.wrapped("npx"));
        patient.hooks(&patient.settings());
        patient
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".baseinstrunner")
    }

    /// A program that says its version and does nothing.
    pub(crate) fn program(&self, name: &str, version: &str) -> PathBuf {
        let path = self.home.join("bin").join(name);
        self.write(&path, &format!("#!/bin/sh\necho '{name} {version}'\n"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    /// A bir of its own, with the other programs beside it.
    pub(crate) fn installed(&mut self) {
        let dir = self.home.join("installed");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy(&self.bir, dir.join("bir")).unwrap();
        for name in ["bir-proxy", "bir-hooks"] {
            std::os::unix::fs::symlink(bir_testkit::bins::bin(name, name).unwrap(), dir.join(name)).unwrap();
        }
        self.bir = dir.join("bir");
    }

    pub(crate) fn write(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// An entry as it is wrapped.
    pub(crate) fn wrapped(&self, program: &str) -> Value {
        self.wrapped_by(&self.home.join("bin/bir-proxy"), program)
    }

    pub(crate) fn wrapped_by(&self, proxy: &Path, program: &str) -> Value {
        json!({"type": "stdio", "command": proxy, "env": {"TOKEN": SECRET},
            "args": ["--server-name", "files", "--scope", "local", "--", program, "-y", "files"]})
    }

    /// An entry as it was.
    pub(crate) fn plain(program: &str) -> Value {
        json!({"type": "stdio", "command": program, "args": ["-y", "files"], "env": {"TOKEN": SECRET}})
    }

    pub(crate) fn claude(&self) -> PathBuf {
        self.home.join(".claude.json")
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.project.join(".claude/settings.local.json")
    }

    /// Puts an entry into the local scope of Claude Code.
    pub(crate) fn local_server(&self, name: &str, entry: &Value) {
        let project = self.project.to_str().unwrap().to_owned();
        self.edit(&self.claude(), |all| all["projects"][&project]["mcpServers"][name] = entry.clone());
    }

    /// Puts an entry into the user's scope of Claude Code.
    pub(crate) fn user_server(&self, name: &str, entry: &Value) {
        self.edit(&self.claude(), |all| all["mcpServers"][name] = entry.clone());
    }

    /// Takes the servers of Claude Code away.
    pub(crate) fn no_servers(&self) {
        self.write(&self.claude(), "{}");
    }

    pub(crate) fn edit(&self, path: &Path, change: impl FnOnce(&mut Value)) {
        let text = std::fs::read_to_string(path).unwrap_or_else(|_| "{}".into());
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        self.write(path, &format!("{value:#}\n"));
    }

    /// Our hooks, in a file of Claude Code.
    pub(crate) fn hooks(&self, file: &Path) {
        let program = self.home.join("bin/bir-hooks");
        self.write(file, &hooks(Host::ClaudeCode, program.to_str().unwrap()).unwrap().text);
    }

    /// A ledger in which these files hold something of ours.
    pub(crate) fn ledger(&self, files: Vec<FileRecord>) -> Ledger {
        let ledger = Ledger { version: VERSION, program: "0.1.0".into(), files, ..Ledger::default() };
        self.write_ledger(&ledger);
        ledger
    }

    pub(crate) fn write_ledger(&self, ledger: &Ledger) {
        self.write(&self.state().join("installed.json"), &serde_json::to_string(ledger).unwrap());
    }

    /// A file in which a server was wrapped at a time.
    pub(crate) fn record(&self, path: &Path, place: Place, memo: Option<Memo>, at: u64) -> FileRecord {
        let entry = EntryRecord { server: "files".into(), place, memo };
        file(path, Role::Servers, vec![entry], Vec::new(), at)
    }

    /// The place of the server in the local scope of Claude Code.
    pub(crate) fn local_place(&self) -> Place {
        Place::keys(["projects", self.project.to_str().unwrap(), "mcpServers", "files"])
    }

    /// What a discovery file of the project says.
    pub(crate) fn served(&self, url: &str, pid: u32) {
        let said = Discovery {
            project: Some(self.project.clone()),
            url: Some(url.to_owned()),
            token: Some("a-token".into()),
            pid: Some(pid),
            ..Discovery::default()
        };
        said.write(&projects::folder(&self.state()).join(format!("{}.json", key(&self.project)))).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.bir);
        command.env_clear().env("HOME", &self.home).env("PATH", "/usr/bin:/bin").env("TZ", "UTC");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.here).args(args);
        command
    }

    /// Status, stdout and stderr.
    pub(crate) fn bir(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    pub(crate) fn looks(&self) -> Seen {
        self.looks_with(&[])
    }

    pub(crate) fn looks_with(&self, more: &[&str]) -> Seen {
        let (status, out, err) = self.bir(&[&["doctor", "--json"], more].concat());
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
        assert!(!out.contains(SECRET) && !err.contains(SECRET), "{out}{err}");
        let findings = report["findings"].as_array().unwrap();
        let mut codes: Vec<String> =
            findings.iter().map(|one| one["code"].as_str().unwrap().into()).collect();
        codes.sort();
        Seen { status, report, codes }
    }

    /// Exactly these codes are found, each with a mend, and the status is that of what they are.
    #[track_caller]
    pub(crate) fn finds(&self, expected: &[&str]) -> Value {
        let seen = self.looks();
        assert_eq!(seen.codes, expected, "{:#}", seen.report);
        let findings = seen.report["findings"].as_array().unwrap();
        for finding in findings {
            assert!(finding["mend"].as_str().is_some_and(|mend| !mend.is_empty()), "{finding}");
            assert!(finding["what"].as_str().is_some_and(|what| !what.ends_with('.')), "{finding}");
        }
        let is_fault = findings.iter().any(|finding| finding["severity"] == "fault");
        assert_eq!(seen.status, Some(i32::from(is_fault)), "{:#}", seen.report);
        let text = self.bir(&["doctor"]).1;
        assert!(
            expected.iter().all(|code| *code == "replay-on" || text.contains(&format!("[{code}]"))),
            "{text}"
        );
        assert!(!text.contains(SECRET), "{text}");
        seen.report
    }

    /// `--fix` mends what is found, and looks again: nothing is left, and nothing is found by the next one.
    #[track_caller]
    pub(crate) fn is_mended(&self) -> Value {
        let fixed = self.looks_with(&["--fix"]);
        let done = fixed.report["done"].as_array().unwrap();
        assert!(!done.is_empty() && done.iter().all(|one| one["well"] == true), "{:#}", fixed.report);
        assert_eq!((fixed.status, fixed.codes.len()), (Some(0), 0), "{:#}", fixed.report);
        assert_eq!(self.looks().codes.len(), 0);
        fixed.report
    }
}

/// A file of Claude Code in the ledger.
pub(crate) fn file(
    path: &Path,
    role: Role,
    entries: Vec<EntryRecord>,
    hooks: Vec<HookRecord>,
    at: u64,
) -> FileRecord {
    let layer = Layer {
        project: None,
        at,
        before: None,
        after: Hash("0".repeat(64)),
        back: None,
        entries,
        hooks,
        made: Vec::new(),
        set: Vec::new(),
    };
    FileRecord {
        path: path.to_path_buf(),
        host: "claude-code".into(),
        scope: Scope::Local,
        format: Format::Json,
        role,
        made_dirs: Vec::new(),
        layers: vec![layer],
    }
}
