//! What a person decided about recording, and the redactor that follows from it.
//!
//! The configuration is looked at while the control server runs: one that changes counts from then on, and one that is not
//! understood stops the recording until it is mended, since it may be a wish not to record.

use crate::log::Log;
use bir_record::config::{self, Config, Exclude, Loaded};
use bir_record::redact::{RedactionKey, Redactor, UnsyncedKey};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The decisions that count now.
pub(super) struct Store {
    pub(super) redactor: Redactor,
    pub(super) exclude: Vec<Exclude>,
    pub(super) spool_limit: u64,
    /// `[hub] url`.
    pub(super) hub: Option<String>,
    /// The placeholders' key, where it was made just now.
    pub(super) unsynced_key: Option<UnsyncedKey>,
    file: PathBuf,
    seen: Option<(SystemTime, u64)>,
}

impl Store {
    /// Reads them. One line says why nothing may be recorded.
    pub(super) fn open(state_dir: &Path, log: &Log) -> Result<Self, String> {
        let in_dir =
            |e: std::io::Error| format!("the state directory {} cannot be used: {e}", state_dir.display());
        bir_home::ensure(state_dir).map_err(in_dir)?;
        let file = state_dir.join(config::FILE);
        let seen = stamp(&file);
        let Loaded { config, warnings, unclear } = Config::load(state_dir);
        warnings.iter().for_each(|warning| log.warn(warning));
        if let Some(why) = unclear {
            return Err(format!("{why}; mend the file, and recording goes on by itself"));
        }
        let mut key = RedactionKey::load_or_create(state_dir).map_err(in_dir)?;
        let unsynced_key = key.take_unsynced();
        let (redactor, warnings) = Redactor::new(key, config.redact);
        warnings.iter().for_each(|warning| log.warn(warning));
        let (exclude, spool_limit) = (config.record.exclude, config.record.spool_limit);
        Ok(Self { redactor, exclude, spool_limit, hub: config.hub, unsynced_key, file, seen })
    }

    /// Whether the file says something else by now.
    pub(super) fn is_stale(&self) -> bool {
        stamp(&self.file) != self.seen
    }

    /// Whether nothing at all is recorded in a directory.
    pub(super) fn excludes_dir(&self, cwd: &Path) -> bool {
        self.exclude.iter().any(|rule| matches!(rule, Exclude::Dir(dir) if cwd.starts_with(dir)))
    }

    /// Whether a call is not recorded. Rules about paths were applied by whoever saw the arguments; a rule about servers does
    /// not concern a tool that belongs to none.
    pub(super) fn excludes(&self, server: Option<&str>, tool: &str, cwd: &Path) -> bool {
        let concerns = |rule: &&Exclude| server.is_some() || !matches!(rule, Exclude::Server(_));
        let mut rules = self.exclude.iter().filter(concerns);
        rules.any(|rule| rule.covers(server.unwrap_or_default(), tool, cwd, &[]))
    }
}

fn stamp(file: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}
