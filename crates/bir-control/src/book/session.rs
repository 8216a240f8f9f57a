//! A host's session: where it works, which process it is, and the runs of its turns.

use super::heard::Heard;
use super::join::short;
use bir_model::RunId;
use bir_model::control::{HookEvent, HookWhat, Join};
use bir_model::record::HostInfo;
use bir_record::SafeTold;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Runs of a session that are remembered once they have ended.
const RUNS: usize = 16;
/// Turns of a session that are remembered.
const TURNS: usize = 256;
/// Servers without a proxy that are remembered.
const BARE: usize = 256;
/// Sets of tools of a session that are remembered.
const TOOL_SETS: usize = 256;
/// Processes above a hook that are remembered.
const PIDS: usize = 16;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) host: HostInfo,
    pub(super) cwd: PathBuf,
    pub(super) project: PathBuf,
    pub(super) transcript: Option<PathBuf>,
    pub(super) join: Join,
    /// Processes that its latest hook had above it, nearest first: shells of that hook, the host, and whatever the host has above it.
    pub(super) pids: Vec<u32>,
    /// Those of them that all hooks of the host's process had above them, as far as it is known: the first is the host.
    agreed: Vec<u32>,
    /// Servers of its host's process for which no proxy has spoken when one was waited for.
    bare: BTreeSet<String>,
    /// The latest last.
    pub(super) runs: VecDeque<RunId>,
    turns: BTreeMap<String, RunId>,
    order: VecDeque<String>,
    pub(super) ended: bool,
    /// Number of the entry that spoke of it last.
    pub(super) spoke: u64,
    /// When, ms.
    pub(super) spoke_at: u64,
    pub(super) heard: Heard,
    /// Servers that did not give an injected id back.
    pub(super) deaf: BTreeSet<String>,
    /// The names of the sets of tools that are said in it.
    tools: VecDeque<String>,
}

impl Session {
    pub(super) fn new(event: &HookEvent<SafeTold>, project: PathBuf) -> Self {
        Self {
            id: event.session_id.clone(),
            host: event.host.clone(),
            cwd: event.cwd.clone(),
            project,
            transcript: None,
            join: event.join,
            pids: Vec::new(),
            agreed: Vec::new(),
            bare: BTreeSet::new(),
            runs: VecDeque::new(),
            turns: BTreeMap::new(),
            order: VecDeque::new(),
            ended: false,
            spoke: 0,
            spoke_at: 0,
            heard: Heard::default(),
            deaf: BTreeSet::new(),
            tools: VecDeque::new(),
        }
    }

    /// Whether a set of tools is said in it for the first time, as far as it remembers.
    pub(super) fn has_new_tools(&mut self, hash: &str) -> bool {
        if self.tools.iter().any(|known| known == hash) {
            return false;
        }
        if self.tools.len() >= TOOL_SETS {
            self.tools.pop_front();
        }
        self.tools.push_back(hash.to_owned());
        true
    }

    /// Takes from an event what it says of the session.
    pub(super) fn learn(&mut self, event: &HookEvent<SafeTold>) {
        if event.transcript.is_some() {
            self.transcript.clone_from(&event.transcript);
        }
        if event.host.version.is_some() {
            self.host.version.clone_from(&event.host.version);
        }
        self.join = event.join;
        if event.host_pids.is_empty() {
            return;
        }
        let told = event.host_pids[..event.host_pids.len().min(PIDS)].to_vec();
        let among =
            |pids: &[u32]| -> Vec<u32> { told.iter().copied().filter(|pid| pids.contains(pid)).collect() };
        let (known, recent) = (among(&self.agreed), among(&self.pids));
        let is_host = self.agreed.first().is_some_and(|host| known.first() == Some(host));
        let place = |pids: &[u32]| pids.first().and_then(|pid| told.iter().position(|one| one == pid));
        // A session that goes on in another process may have only a terminal in common with what it was before, or nothing.
        let begins = matches!(event.what, HookWhat::SessionStart { .. });
        if !is_host && (begins || !self.agreed.is_empty()) {
            self.bare.clear();
        }
        self.agreed = if is_host && place(&known) <= place(&recent) {
            known
        } else if told.len() == 1 {
            told.clone()
        } else if begins || !self.agreed.is_empty() && !is_host {
            Vec::new()
        } else {
            recent
        };
        self.pids = told;
    }

    /// Where a process stands above its hooks, the nearest first. One above its host is not the host, and others have it above
    /// them too.
    pub(super) fn stands(&self, pid: u32) -> Option<usize> {
        let place = |pid: u32| self.pids.iter().position(|one| *one == pid);
        let highest = self.agreed.first().map_or(usize::MAX, |host| place(*host).unwrap_or(usize::MAX));
        place(pid).filter(|place| *place <= highest)
    }

    /// Whether a proxy may still speak for a server: it introduces itself with its first call, and may have to wait for
    /// a control server.
    pub(super) fn awaits_proxy(&self, server: &str) -> bool {
        !self.bare.contains(&short(server))
    }

    /// Nobody spoke for this server.
    pub(super) fn is_bare(&mut self, server: &str) {
        if self.bare.len() < BARE {
            self.bare.insert(server.to_owned());
        }
    }

    /// What its hooks have told of processes, to be told again: what they agree on first, and then what the latest said.
    pub(super) fn processes(&self) -> Vec<Vec<u32>> {
        let told_once = self.pids.len() == 1;
        let agreed = Some(self.agreed.clone()).filter(|pids| !pids.is_empty() && !told_once);
        agreed.into_iter().chain(Some(self.pids.clone()).filter(|pids| !pids.is_empty())).collect()
    }

    /// The process whose end is the session's, where it is known: not the shell that ran one hook.
    pub(super) fn watched(&self) -> Option<u32> {
        self.agreed.first().copied().filter(|_| !self.ended)
    }

    /// The run of a turn, or the run with which it goes on.
    pub(super) fn turn(&self, turn: &str) -> Option<RunId> {
        self.turns.get(turn).copied()
    }

    /// A turn belongs to this run.
    pub(super) fn belongs(&mut self, turn: &str, run: RunId) {
        if self.turns.insert(turn.to_owned(), run).is_none() {
            self.order.push_back(turn.to_owned());
        }
        if self.order.len() > TURNS
            && let Some(oldest) = self.order.pop_front()
        {
            self.turns.remove(&oldest);
        }
    }

    /// Ended runs that are to be forgotten for a new one.
    pub(super) fn outlived(&mut self, ended: impl Fn(&RunId) -> bool) -> Vec<RunId> {
        let mut forgotten = Vec::new();
        while self.runs.len() >= RUNS {
            let Some(at) = self.runs.iter().position(&ended) else { break };
            forgotten.extend(self.runs.remove(at));
        }
        forgotten
    }

    /// Whether it works in this project.
    pub(super) fn is_in(&self, project: &Path) -> bool {
        self.project == project
    }
}
