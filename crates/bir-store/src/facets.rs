//! What a run can be found by: its servers, tools, outcomes, project and host, one row each, sorted newest first.
//!
//! Each is looked up by a 64-bit hash, so that an index holds no path of 4,000 bytes; the value is compared as well.

use crate::model::RunFilter;
use bir_model::RunId;
use bir_model::record::{RunStart, Step};
use std::collections::HashSet;

/// One thing that a run can be found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Facet {
    pub(crate) kind: &'static str,
    pub(crate) value: String,
}

impl Facet {
    pub(crate) fn new(kind: &'static str, value: &str) -> Self {
        Self { kind, value: value.to_owned() }
    }

    /// FNV-1a over kind and value, as the databases' signed number.
    pub(crate) fn hash(&self) -> i64 {
        let bytes = self.kind.bytes().chain([0]).chain(self.value.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        hash.cast_signed()
    }
}

/// The facets that the records of one transaction add.
#[derive(Debug, Default)]
pub(crate) struct Facets(HashSet<(RunId, Facet)>);

impl Facets {
    fn add(&mut self, run: RunId, kind: &'static str, value: &str) {
        self.0.insert((run, Facet::new(kind, value)));
    }

    pub(crate) fn of_run(&mut self, run: &RunStart) {
        if let Some(project) = &run.project {
            self.add(run.id, "project", project);
        }
        if let Some(host) = &run.host {
            self.add(run.id, "host", &host.app);
        }
        for server in &run.servers {
            self.add(run.id, "server", &server.name);
        }
    }

    pub(crate) fn of_step(&mut self, step: &Step) {
        let run = step.run_id;
        self.add(run, "tool", &step.tool_name);
        if let Some(tool) = step.tool.as_ref().filter(|tool| **tool != step.tool_name) {
            self.add(run, "tool", tool);
        }
        if let Some(server) = &step.server {
            self.add(run, "server", server);
        }
        if let Some(outcome) = step.outcome {
            self.add(run, "outcome", outcome.as_str());
        }
    }

    /// In an order that every transaction keeps, so that two do not wait for each other.
    pub(crate) fn sorted(self) -> Vec<(RunId, i64, Facet)> {
        let mut all: Vec<_> = self.0.into_iter().map(|(run, facet)| (run, facet.hash(), facet)).collect();
        all.sort_by_key(|(run, hash, _)| (*run, *hash));
        all
    }
}

/// The facets that a filter asks for, the rarest kind first.
pub(crate) fn asked(filter: &RunFilter) -> Vec<Facet> {
    let asked = [
        ("tool", filter.tool.as_deref()),
        ("project", filter.project.as_deref()),
        ("server", filter.server.as_deref()),
        ("outcome", filter.outcome.map(bir_model::Outcome::as_str)),
        ("host", filter.host.as_deref()),
    ];
    asked.into_iter().filter_map(|(kind, value)| Some(Facet::new(kind, value?))).collect()
}
