//! The runs that are being written, and the shipper of them all.
//!
//! While a journal is heard again nothing is written but what its last seconds say ([`Keeper::quiet`]): the rest reached the
//! spool before the entries that followed it were taken.

use crate::log::Log;
use bir_model::record::{Lost, Record, StepType};
use bir_model::{RunId, StepId};
use bir_record::SafeRecord;
use bir_record::ship::{self, ShipOptions, Shipper};
use bir_record::spool::{RunWriter, Spool};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Records that wait for a run that cannot be opened yet. More of them are lost, and counted.
const MOST_WAITING: usize = 2000;

pub(super) struct Keeper {
    spool: Spool,
    shipper: Option<Shipper>,
    runs: HashMap<RunId, Run>,
    log: Log,
    quiet: bool,
}

struct Run {
    head: SafeRecord,
    writer: Option<RunWriter>,
    waiting: Vec<SafeRecord>,
    /// Calls and records that found no room while the run could not be opened.
    lost: (u64, u64),
    dirty: bool,
    over: bool,
}

impl Keeper {
    /// Nothing is made on a disk before there is a run.
    pub(super) fn new(state_dir: &Path, spool_limit: u64, log: &Log) -> Self {
        let spool = Spool::new(state_dir, spool_limit).carried_on();
        Self { spool, shipper: None, runs: HashMap::new(), log: log.clone(), quiet: false }
    }

    /// Starts to ship what is in the spool. `configured` is where the configuration says that it goes.
    pub(super) fn ship(&mut self, state_dir: &Path, configured: Option<String>) {
        let log = self.log.clone();
        let say: ship::Log = Arc::new(move |level, text| match level {
            ship::Level::Warn => log.warn(text),
            ship::Level::Info => log.info(text),
        });
        let (state_dir, spool) = (state_dir.to_path_buf(), self.spool.clone());
        match Shipper::start(ShipOptions { state_dir, spool, configured, not_before: None, log: say }) {
            Ok(shipper) => self.shipper = Some(shipper),
            Err(e) => self.log.warn(&format!("what is recorded stays in the spool: {e}")),
        }
    }

    /// From now on, or not any more, records are taken to be in the spool already.
    pub(super) fn quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    pub(super) fn begin(&mut self, head: SafeRecord) {
        let id = head.record().run_id();
        let run = self.runs.entry(id).or_insert_with(|| Run {
            head,
            writer: None,
            waiting: Vec::new(),
            lost: (0, 0),
            dirty: false,
            over: false,
        });
        run.over = false;
        if !self.quiet {
            run.open(&self.spool, &self.log);
        }
    }

    pub(super) fn append(&mut self, record: SafeRecord) {
        if self.quiet {
            return;
        }
        let Some(run) = self.runs.get_mut(&record.record().run_id()) else {
            self.log.error("a record of a run that has not begun is not kept");
            return;
        };
        if run.writer.is_none() {
            run.open(&self.spool, &self.log);
        }
        match &mut run.writer {
            Some(writer) => writer.append(&[record]),
            None if run.waiting.len() < MOST_WAITING => run.waiting.push(record),
            None => {
                run.lost.1 += 1;
                let is_call =
                    matches!(record.record(), Record::Step(s) if s.step_type == StepType::ToolSelected);
                run.lost.0 += u64::from(is_call);
            }
        }
        run.dirty = true;
    }

    /// Notes a loss in a run, or in every run that is open.
    pub(super) fn lose(
        &mut self,
        run: Option<RunId>,
        calls: u64,
        records: u64,
        reason: &str,
        at: u64,
    ) -> usize {
        let runs: Vec<RunId> = match run {
            Some(run) => self.runs.get(&run).map(|_| run).into_iter().collect(),
            None => self.runs.iter().filter(|(_, run)| !run.over).map(|(id, _)| *id).collect(),
        };
        for run_id in &runs {
            self.append(SafeRecord::lost(Lost {
                run_id: *run_id,
                id: StepId::new(),
                calls,
                records,
                reason: reason.into(),
                at,
            }));
        }
        runs.len()
    }

    pub(super) fn end(&mut self, id: RunId) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.over = true;
        if run.waiting.is_empty() && run.lost.1 == 0 {
            self.runs.remove(&id);
        }
    }

    /// Opens what could not be opened before, or was not meant to be.
    pub(super) fn settle(&mut self) {
        self.runs.retain(|_, run| {
            if run.writer.is_none() {
                run.open(&self.spool, &self.log);
            }
            !(run.over && run.writer.is_some())
        });
    }

    /// Files with records that may not be on the disk itself yet.
    pub(super) fn take_unsynced(&mut self) -> Vec<File> {
        let mut files = Vec::new();
        for run in self.runs.values_mut().filter(|run| run.dirty) {
            if let Some(writer) = &mut run.writer {
                files.extend(writer.take_unsynced());
                run.dirty = false;
            }
        }
        files
    }

    /// Runs that wait in the spool.
    pub(super) fn waiting(&self) -> u64 {
        self.spool.stats().runs
    }

    /// The end of the process. Runs that are open are not over: the next control server goes on with them. So the shipper ends
    /// before the writers do.
    pub(super) fn close(mut self, budget: Duration) {
        self.settle();
        if let Some(shipper) = self.shipper.take() {
            shipper.close(budget);
        }
        for file in self.take_unsynced() {
            let _ = file.sync_data();
        }
    }
}

impl Run {
    fn open(&mut self, spool: &Spool, log: &Log) {
        if self.writer.is_some() {
            return;
        }
        let id = self.head.record().run_id();
        match spool.begin(&self.head) {
            Ok(mut writer) => {
                let (calls, records) = std::mem::take(&mut self.lost);
                writer.append(&std::mem::take(&mut self.waiting));
                if records > 0 {
                    let reason = "disk".into();
                    let lost =
                        Lost { run_id: id, id: StepId::new(), calls, records, reason, at: crate::now() };
                    writer.append(&[SafeRecord::lost(lost)]);
                }
                self.writer = Some(writer);
                log.info(&format!("run {id}"));
            }
            // Somebody ships what was left of it, and is done soon.
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => log.debug(&format!("{id} waits: {e}")),
            Err(e) => log.warn(&format!("{id} waits, since the spool takes no run: {e}")),
        }
    }
}
