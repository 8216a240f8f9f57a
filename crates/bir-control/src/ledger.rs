//! What the control server needs of the book, and of the reader of transcripts: the seam between what is pure or reads, and
//! what takes, keeps and answers.

use crate::book::{Answer, Book, Effect, Entry};
use crate::transcript::{self, RawFacts};
use bir_model::RunId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Makes rows of entries. The same entries in the same order, and the same times in between, make the same effects.
pub trait Ledger: Send + Sized {
    /// An entry, and what is answered.
    fn hear(&mut self, entry: &Entry) -> (Answer, Vec<Effect>);
    /// So late it is now, ms since the Unix epoch.
    fn tick(&mut self, now: u64) -> Vec<Effect>;
    /// When it wants to be told next how late it is, ms since the Unix epoch.
    fn due_at(&self) -> Option<u64>;
    /// What goes on: sessions of directories that `within` allows, and all proxies.
    fn census(&self, within: &dyn Fn(&Path) -> bool) -> Census;
    /// Processes whose end is to be told as [`HostGone`](crate::book::EntryWhat::HostGone).
    fn watched(&self) -> Vec<u32>;
    /// The session to which belongs what a proxy tells.
    fn session_of(&self, proxy_id: &str) -> Option<String>;
    /// One that has heard nothing yet.
    fn anew(&self) -> Self;
    /// What has to stay in a journal of a session that is settled: entries of it that sessions to come build on.
    fn carried(&self, session: &str) -> Vec<Entry>;
}

/// What goes on, for [`Ledger::census`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Census {
    /// Sessions that have begun and are not over.
    pub sessions: Vec<OpenSession>,
    /// Proxies that have registered and whose host is not gone.
    pub proxies: Vec<OpenProxy>,
    /// Calls over MCP that no proxy saw, by server.
    pub bypassed: BTreeMap<String, u64>,
}

/// A session, for [`Census`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenSession {
    /// The host.
    pub host: String,
    /// The host's id of it.
    #[serde(rename = "sessionId")]
    pub id: String,
    /// Where it works.
    pub cwd: PathBuf,
    /// The run of the turn that goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

/// A proxy, for [`Census`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenProxy {
    /// Its id.
    #[serde(skip)]
    pub id: String,
    /// The key under which the host knows its server.
    pub server: String,
    /// Its process.
    pub pid: u32,
    /// The session to which it belongs, where that is known.
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Reads what a host itself writes of its sessions. What it returns is raw: the control server redacts it.
pub trait Transcripts: Send {
    /// The model's text and reasoning before a call.
    fn context_before(&mut self, transcript: &Path, call_id: &str) -> Option<String>;
    /// What is written of a turn.
    fn facts(&mut self, question: &Question<'_>) -> RawFacts;
    /// A session is over: what is remembered of its transcripts may go.
    fn forget(&mut self, transcripts: &[PathBuf]);
}

/// A question about one turn, as [`Effect::Ask`] puts it.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The session's transcript and those of its sub-agents.
    pub transcripts: &'a [PathBuf],
    /// The turn, and what others belong to it.
    pub turns: &'a [String],
    /// When the turn began, ms since the Unix epoch.
    pub since: u64,
    /// Calls whose end nobody has told.
    pub open_calls: &'a [String],
}

impl Transcripts for transcript::Transcripts {
    fn context_before(&mut self, transcript: &Path, call_id: &str) -> Option<String> {
        self.context_before(transcript, call_id)
    }

    fn facts(&mut self, question: &Question<'_>) -> RawFacts {
        transcript::facts(question.transcripts, question.turns, question.since, question.open_calls)
    }

    fn forget(&mut self, transcripts: &[PathBuf]) {
        self.forget(transcripts);
    }
}

impl Ledger for Book {
    fn hear(&mut self, entry: &Entry) -> (Answer, Vec<Effect>) {
        self.hear(entry)
    }

    fn tick(&mut self, now: u64) -> Vec<Effect> {
        self.tick(now)
    }

    fn due_at(&self) -> Option<u64> {
        self.due_at()
    }

    fn census(&self, within: &dyn Fn(&Path) -> bool) -> Census {
        let view = self.view();
        let open = view.sessions.into_iter().filter(|session| !session.ended && within(&session.cwd));
        let sessions = open.map(|session| OpenSession {
            host: session.host.app,
            id: session.id,
            cwd: session.cwd,
            run: session.open_runs.last().copied(),
        });
        let proxies = view.proxies.into_iter().map(|proxy| OpenProxy {
            id: proxy.id,
            server: proxy.server,
            pid: proxy.pid,
            session: proxy.session,
        });
        Census {
            sessions: sessions.collect(),
            proxies: proxies.collect(),
            bypassed: view.bypassed.into_iter().collect(),
        }
    }

    fn watched(&self) -> Vec<u32> {
        self.watched()
    }

    fn session_of(&self, proxy_id: &str) -> Option<String> {
        self.session_of(proxy_id)
    }

    fn anew(&self) -> Self {
        self.anew()
    }

    fn carried(&self, session: &str) -> Vec<Entry> {
        self.essence(session)
    }
}
