//! What the book shows of itself: to `bir status`, to whoever watches processes, and to the journal.

use super::run::Phase;
use super::state::Book;
use super::{Entry, EntryWhat};
use bir_model::RunId;
use bir_model::control::{HookEvent, HookWhat};
use bir_model::record::HostInfo;
use std::path::PathBuf;

/// Names the event with which [`Book::essence`] brings a session back.
const ESSENCE: &str = "essence";

/// The state in short.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Sessions by their ids.
    pub sessions: Vec<SessionView>,
    /// Proxies whose host lives, as far as it is known.
    pub proxies: Vec<ProxyView>,
    /// Calls over MCP that were made and that no proxy saw, by server.
    pub bypassed: Vec<(String, u64)>,
    /// Standalone runs that are open.
    pub standalone: Vec<RunId>,
}

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The host.
    pub host: HostInfo,
    /// Its id.
    pub id: String,
    /// Its project.
    pub project: PathBuf,
    /// Where it works.
    pub cwd: PathBuf,
    /// Its runs that are not over.
    pub open_runs: Vec<RunId>,
    /// The process whose end is the session's: to be watched, and told as [`EntryWhat::HostGone`].
    pub host_pid: Option<u32>,
    /// It has ended.
    pub ended: bool,
    /// When it was heard of last, ms since the Unix epoch.
    pub heard_at: u64,
}

/// A proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxyView {
    /// Its id.
    pub id: String,
    /// The server's key.
    pub server: String,
    /// Its process.
    pub pid: u32,
    /// The process that started it: to be watched where no session has it.
    pub parent_pid: u32,
    /// The session to which it belongs, where that is known.
    pub session: Option<String>,
    /// Its calls that are open.
    pub open_calls: usize,
}

impl Book {
    /// The state in short.
    #[must_use]
    pub fn view(&self) -> View {
        let sessions = self.sessions.values().map(|session| SessionView {
            host: session.host.clone(),
            id: session.id.clone(),
            project: session.project.clone(),
            cwd: session.cwd.clone(),
            open_runs: self.open_runs(&session.id),
            host_pid: session.watched(),
            ended: session.ended,
            heard_at: session.spoke_at,
        });
        let proxies = self.proxies.0.values().filter(|proxy| !proxy.gone).map(|proxy| ProxyView {
            id: proxy.registration.proxy_id.clone(),
            server: proxy.registration.server.name.clone(),
            pid: proxy.registration.pid,
            parent_pid: proxy.registration.parent_pid,
            session: proxy.session(&self.sessions),
            open_calls: proxy.open.len(),
        });
        View {
            sessions: sessions.collect(),
            proxies: proxies.collect(),
            bypassed: self.bypassed.iter().map(|(server, calls)| (server.clone(), *calls)).collect(),
            standalone: self.standalone.values().copied().collect(),
        }
    }

    /// Whether nothing is open: no run, and no call that waits. Then nothing is lost if the book is closed.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.runs.values().all(|run| run.phase == Phase::Ended)
    }

    /// The session to which belongs what this proxy tells, as far as it is known: its entries go to the same journal.
    #[must_use]
    pub fn session_of(&self, proxy_id: &str) -> Option<String> {
        self.proxies.0.get(proxy_id)?.session(&self.sessions)
    }

    /// Processes to be watched: each one's end is to be told as [`EntryWhat::HostGone`].
    #[must_use]
    pub fn watched(&self) -> Vec<u32> {
        let hosts = self.sessions.values().filter_map(super::session::Session::watched);
        let parents = self.proxies.0.values().filter(|proxy| !proxy.gone);
        let parents = parents.map(|proxy| proxy.registration.parent_pid);
        let mut pids: Vec<u32> = hosts.chain(self.standalone.keys().copied()).chain(parents).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Entries that stand for all that a settled session has been told: who it is, and its proxies. None when it has ended.
    #[must_use]
    pub fn essence(&self, session: &str) -> Vec<Entry> {
        let Some(session) = self.sessions.get(session).filter(|session| !session.ended) else {
            return Vec::new();
        };
        let mut processes = session.processes();
        if processes.is_empty() {
            processes.push(Vec::new());
        }
        let hooks = processes.into_iter().enumerate().map(|(n, host_pids)| {
            let event = HookEvent {
                id: format!("{ESSENCE}-{}-{n}", session.spoke_at),
                host: session.host.clone(),
                via: session.host.app.clone(),
                session_id: session.id.clone(),
                turn_id: None,
                agent_id: None,
                cwd: session.cwd.clone(),
                transcript: session.transcript.clone(),
                host_pids,
                join: session.join,
                permission_mode: None,
                at: session.spoke_at,
                what: HookWhat::Note { name: ESSENCE.to_owned() },
            };
            EntryWhat::Hook { event: Box::new(event), context: None }
        });
        let proxies = self.proxies.0.values().filter(|proxy| proxy.serves(session));
        let proxies = proxies.map(|proxy| EntryWhat::Register(Box::new(proxy.registration.clone())));
        let taken_at = session.spoke_at;
        hooks.chain(proxies).map(|what| Entry { taken_at, what }).collect()
    }
}
