//! The real thing behind the traits: configuration, redactor, spool and shipper of a state directory.

use super::keep::{Keep, Open, Scrub};
use super::worker::REOPEN_EVERY;
use super::{Level, Say};
use crate::exclude::{Call, Exclusions};
use crate::opened::{OpenError, Opened};
use crate::redact::{Redactor, UnsyncedKey};
use crate::ship::{self, ShipOptions, Shipper};
use crate::spool::{RunWriter, Spool};
use crate::{Raw, Redacted, SafeRecord};
use bir_model::control::Compared;
use bir_model::own_calls;
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
        let mut opened = Opened::open(dir).map_err(|why| match why {
            OpenError::Dir(e) => in_dir(e),
            // Its owner may want something kept out that nobody can read.
            OpenError::Unclear(why) => format!(
                "{why}; mend the file in {}, and recording goes on by itself within {} s",
                dir.display(),
                REOPEN_EVERY.as_secs()
            ),
        })?;
        opened.warnings.iter().for_each(|warning| warn(warning));
        let unsynced_key = opened.unsynced_key.take();
        let Opened { redactor, exclude, record, hub, .. } = opened;
        let here = std::env::current_dir().unwrap_or_default();
        let scrubber = Scrubber { redactor, exclude, server: self.server.clone(), here };
        let keeper = Keeper {
            dir: dir.clone(),
            spool: Spool::new(dir, record.spool_limit),
            hub,
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
    exclude: Exclusions,
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
        // Our own server is never wrapped by `bir install`; somebody may have done it by hand.
        if !own_calls::is_step(tool, Some(&self.server), Some(tool), None) {
            return true;
        }
        let call = Call { server: Some(&self.server), tools: &[tool], here: &self.here, arguments };
        self.exclude.covers(&call)
    }
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
    use super::*;

    #[test]
    fn calls_of_our_own_server_are_no_steps_but_running_a_scenario() {
        let dir = tempfile::tempdir().unwrap();
        let excludes = |server: &str, tool: &str| {
            let mut store = Store::new(dir.path().into(), server.into(), Arc::new(|_, _| {}));
            store.open(&mut |_| {}).unwrap().0.excludes(tool, None)
        };
        assert!(excludes("bir", "scenario_edit") && excludes("bir", "investigate"));
        assert!(!excludes("bir", "run_scenario") && !excludes("birch", "scenario_edit"));
    }
}
