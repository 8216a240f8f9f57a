//! `bir` as a person runs it, with a home of its own; and a hub that follows a script.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) mod stub;
#[cfg(target_os = "linux")]
pub(crate) mod terminal;

/// A home with nothing in it. What it started is ended with it.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// The state directory, which is not there before something makes it.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The program with an environment in which nothing of this machine's user is.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bir"));
        command
            .env_clear()
            .env("BIR_HOME", self.state())
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin");
        command.env("TZ", "UTC").current_dir(self.path()).args(args);
        command
    }

    pub(crate) fn bir(&self, args: &[&str]) -> Said {
        Said::from(self.command(args).output().unwrap())
    }

    /// Signed in at a hub, with a pair of tokens.
    pub(crate) fn sign_in(&self, url: &str) {
        std::fs::create_dir_all(self.state()).unwrap();
        let login = serde_json::json!({
            "servers": { url: { "accessToken": "bir_acc_old", "refreshToken": "bir_ref_old", "expiresAt": 1 } },
            "current": url,
        });
        std::fs::write(self.state().join("credentials.json"), login.to_string()).unwrap();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A hub that a test left is not left to the machine.
        if self.state().join("hub.json").exists() {
            let _ = self.command(&["down"]).output();
        }
    }
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { status: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Said {
    /// It went well; what is on stdout.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, Some(0), "{self:?}");
        self.out
    }

    /// The one object or array on stdout.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        assert_eq!(self.status, Some(0), "{self:?}");
        let value: serde_json::Value =
            serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        assert!(value.is_object() || value.is_array(), "{self:?}");
        value
    }

    /// It could not be done: nothing on stdout, one line on stderr.
    #[track_caller]
    pub(crate) fn fails(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{self:?}");
        assert!(self.out.is_empty() && self.err.lines().count() == 1, "{self:?}");
        self.err.trim_end().to_owned()
    }
}
