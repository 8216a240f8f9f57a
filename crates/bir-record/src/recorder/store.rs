//! The real thing behind the traits: configuration, redactor, spool and shipper of a state directory.

use super::keep::{Keep, Open, Scrub};
use super::worker::REOPEN_EVERY;
use super::{Level, Say};
use crate::config::{Config, Exclude, Loaded};
use crate::redact::{RedactionKey, Redactor, UnsyncedKey};
use crate::ship::{self, ShipOptions, Shipper};
use crate::spool::{RunWriter, Spool};
use crate::{Raw, Redacted, SafeRecord};
use bir_model::control::Compared;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often what was written is brought to the disk itself, at most: a loss of power costs no more than this.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A state directory that nobody has looked into yet.
pub(super) struct Store {
    dir: PathBuf,
    server: String,
    say: Say,
}

impl Store {
    pub(super) fn new(dir: PathBuf, server: String, say: Say) -> Self {
        Self { dir, server, say }
    }
}

impl Open for Store {
    type Scrub = Scrubber;
    type Keep = Keeper;

    fn open(&mut self, warn: &mut dyn FnMut(&str)) -> Result<(Scrubber, Keeper), String> {
        let dir = &self.dir;
        let in_dir = |e: std::io::Error| format!("the state directory {} cannot be used: {e}", dir.display());
        bir_home::ensure(dir).map_err(in_dir)?;
        let Loaded { config, warnings, unclear } = Config::load(dir);
        warnings.iter().for_each(|warning| warn(warning));
        // Its owner may want something kept out that nobody can read.
        if let Some(why) = unclear {
            return Err(format!(
                "{why}; mend the file in {}, and recording goes on by itself within {} s",
                dir.display(),
                REOPEN_EVERY.as_secs()
            ));
        }
        let mut key = RedactionKey::load_or_create(dir).map_err(in_dir)?;
        let unsynced_key = key.take_unsynced();
        let (redactor, warnings) = Redactor::new(key, config.redact);
        warnings.iter().for_each(|warning| warn(warning));
        let here = std::env::current_dir().unwrap_or_default();
        let scrubber =
            Scrubber { redactor, exclude: config.record.exclude, server: self.server.clone(), here };
        let keeper = Keeper {
            dir: dir.clone(),
            spool: Spool::new(dir, config.record.spool_limit),
            hub: config.hub,
            say: Arc::clone(&self.say),
            writer: None,
            refused: false,
            pending: Vec::new(),
            shipper: None,
            unsynced: false,
            unsynced_key,
            synced_at: Instant::now(),
            syncing: None,
        };
        Ok((scrubber, keeper))
    }
}

/// The redactor, and what is not to be recorded.
pub(super) struct Scrubber {
    redactor: Redactor,
    exclude: Vec<Exclude>,
    server: String,
    here: PathBuf,
}

impl Scrub for Scrubber {
    fn payload(&self, raw: Raw<'_>) -> Redacted {
        self.redactor.payload(raw)
    }

    fn name(&self, text: &str) -> String {
        self.redactor.name(text)
    }

    fn compared(&self, json: &[u8]) -> Option<Compared> {
        self.redactor.compared(json)
    }

    fn excludes(&self, tool: &str, arguments: Option<Raw<'_>>) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        let by_path = self.exclude.iter().any(|exclude| matches!(exclude, Exclude::Path(_)));
        let texts = arguments.filter(|_| by_path).map(|raw| strings(raw.head)).unwrap_or_default();
        self.exclude.iter().any(|exclude| exclude.covers(&self.server, tool, &self.here, &texts))
    }
}

/// Every string of a JSON value, names of members too, also where the value is cut off.
fn strings(json: &[u8]) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(begin) = json[at..].iter().position(|&b| b == b'"').map(|n| at + n) {
        let mut end = begin + 1;
        while let Some(&b) = json.get(end).filter(|&&b| b != b'"') {
            end += if b == b'\\' { 2 } else { 1 };
        }
        let Some(token) = json.get(begin..=end) else { break };
        found.extend(serde_json::from_slice::<String>(token).ok());
        at = end + 1;
    }
    found
}

/// The spool and the shipper.
pub(super) struct Keeper {
    dir: PathBuf,
    spool: Spool,
    /// Where the configuration says that records go.
    hub: Option<String>,
    say: Say,
    writer: Option<RunWriter>,
    /// The spool did not take the last run.
    refused: bool,
    /// Appended and not written yet.
    pending: Vec<SafeRecord>,
    shipper: Option<Shipper>,
    unsynced: bool,
    /// The placeholders' key, where this session made it.
    unsynced_key: Option<UnsyncedKey>,
    synced_at: Instant,
    /// Waits for the disk, so that the recorder does not.
    syncing: Option<JoinHandle<()>>,
}

impl Keeper {
    /// What is to be brought to the disk, as something to be done anywhere. What the disk refuses, it is asked for again with
    /// the next records.
    fn sync(&mut self) -> impl FnOnce() + Send + 'static {
        let key = self.unsynced_key.take();
        let files = match &mut self.writer {
            Some(writer) if std::mem::take(&mut self.unsynced) => writer.take_unsynced(),
            _ => Vec::new(),
        };
        self.synced_at = Instant::now();
        move || {
            if let Some(key) = key {
                key.sync();
            }
            for file in files {
                let _ = file.sync_data();
            }
        }
    }
}

impl Keep for Keeper {
    fn begin(&mut self, run: SafeRecord) -> bool {
        self.end();
        match self.spool.begin(&run) {
            Ok(writer) => (self.writer, self.refused) = (Some(writer), false),
            Err(e) => {
                // Told once: every call of the session would say the same.
                if !std::mem::replace(&mut self.refused, true) {
                    (self.say)(
                        Level::Warn,
                        &format!("calls are relayed and not recorded: the spool takes no run: {e}"),
                    );
                }
                self.writer = None;
            }
        }
        self.writer.is_some()
    }

    fn append(&mut self, record: SafeRecord) {
        self.pending.push(record);
    }

    fn end(&mut self) {
        self.flush();
        self.sync()();
        if let Some(writer) = self.writer.take() {
            writer.end();
        }
    }

    fn flush(&mut self) {
        if let Some(writer) = self.writer.as_mut().filter(|_| !self.pending.is_empty()) {
            writer.append(&self.pending);
            self.unsynced = true;
        }
        self.pending.clear();
    }

    fn rest(&mut self) {
        let is_due = self.unsynced && self.synced_at.elapsed() >= SYNC_EVERY;
        if is_due && self.syncing.as_ref().is_none_or(JoinHandle::is_finished) {
            let sync = self.sync();
            self.syncing = std::thread::Builder::new().name("sync".into()).spawn(sync).ok();
        }
    }

    fn ship(&mut self) {
        if self.shipper.is_some() {
            return;
        }
        let say = Arc::clone(&self.say);
        let log: ship::Log = Arc::new(move |level, text| match level {
            ship::Level::Warn => say(Level::Warn, text),
            ship::Level::Info => say(Level::Info, text),
        });
        let options = ShipOptions {
            state_dir: self.dir.clone(),
            spool: self.spool.clone(),
            configured: self.hub.clone(),
            not_before: None,
            log,
        };
        match Shipper::start(options) {
            Ok(shipper) => self.shipper = Some(shipper),
            Err(e) => (self.say)(Level::Warn, &format!("what is recorded stays in the spool: {e}")),
        }
    }

    fn close(&mut self, budget: Duration) {
        self.end();
        if let Some(shipper) = self.shipper.take() {
            shipper.close(budget);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::strings;

    #[test]
    fn strings_are_found_wherever_they_stand() {
        let json = br#"{"path":"/a/.env","n":[1,"b\"\u0041",{"k":null}],"cut":"/b/.e"#;
        assert_eq!(strings(json), ["path", "/a/.env", "n", "b\"A", "k", "cut"]);
        for broken in [&b"\""[..], b"\"\\", b"", b"{\"a\\", b"\"\xff\"\"x\""] {
            strings(broken);
        }
        assert_eq!(strings(b"\"\xff\"\"x\""), ["x"]);
    }
}
