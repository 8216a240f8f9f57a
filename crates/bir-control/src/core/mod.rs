//! One thread that owns book, journal, spool and inbox, and takes one thing after the other.
//!
//! ```text
//!   server ── Work ──▶ may it? off? excluded? ──▶ clean ──▶ pass the time ──▶ journal ──▶ book ──▶ answer
//!   inbox ── Envelope ─▶          (intake)                  (timers)             │          └─▶ effects ──▶ keeper
//!   start ── replay ─────────────────────────────────────────────────────────────┴─▶ book
//! ```
//!
//! Time passes for the book between two entries as it did when they were taken first: each timer is told its own time, before
//! the entry that comes after it. So a journal that is heard again makes the same runs.

mod clean;
mod hosts;
mod intake;
mod keeper;
mod off;
mod rounds;
mod seats;
mod seen;
mod store;

use crate::book::{Answer, Effect, Entry, EntryWhat, TranscriptFacts};
use crate::journal::{Journal, Kept, Place};
use crate::ledger::{Ledger, Question, Transcripts};
use crate::log::Log;
use crate::projects::Who;
use crate::server::Problem;
use crate::transcript::RawFacts;
use crate::work::Seat;
use bir_control_client::{Inbox, Replay};
use bir_model::RunId;
use bir_model::control::{HookEvent, PayloadKind, Registration, StepReports, Told};
use bir_model::record::Record;
use bir_record::SafeTold;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

use clean::Cleaner;
use hosts::Hosts;
use keeper::Keeper;
use off::Off;
pub(crate) use seats::Seated;
use seen::Noted;
use store::Store;

/// How often is looked at what nobody tells: inbox, host processes, configuration, disk.
const ROUND: Duration = Duration::from_secs(1);
/// How long the hub gets for what is left, when the process ends.
const LAST_SHIPMENT: Duration = Duration::from_millis(500);
/// Timers that are told in one go; a book that wants more than this is not getting on.
const MOST_TIMERS: usize = 100_000;
/// Of a journal that is heard again, what the last seconds say is written again. The rest is in the spool, since an entry is
/// taken after the rows of the one before it are written; and it is on the disk, which is asked for once a second.
const WRITTEN_AGAIN: u64 = 5_000;
/// Models of one turn.
const MOST_MODELS: usize = 64;
/// Proxies that are known at most.
const MOST_PROXIES: usize = 4096;

/// What the thread is asked to do.
pub(crate) enum Work {
    /// A message, and who sends it.
    Message { message: Message, who: Who, reply: oneshot::Sender<Reply> },
    /// What goes on, for [`Health`](crate::server::Health).
    Health { who: Who, reply: oneshot::Sender<Reply> },
    /// Who a proxy is that asks for work.
    Seat { proxy_id: String, who: Who, reply: oneshot::Sender<Result<Seated, Problem>> },
    /// Who may work in a project.
    Seats { project: PathBuf, reply: oneshot::Sender<(Vec<Seat>, Vec<String>)> },
    /// These projects are set up.
    Projects(Vec<Arc<Path>>),
    /// The process is about to end.
    Stop,
}

/// A message of a hook or a proxy.
pub(crate) enum Message {
    Hook(Box<HookEvent>),
    Register(Box<Registration>),
    Steps(Box<StepReports>),
}

/// What is answered: JSON.
pub(crate) type Reply = Result<Vec<u8>, Problem>;

/// What a core is made with.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) state_dir: PathBuf,
    pub(crate) version: String,
    pub(crate) started_at: u64,
    pub(crate) log: Log,
    /// Says whether a host of any session lives.
    pub(crate) hosts_alive: Arc<AtomicBool>,
    pub(crate) projects: Vec<Arc<Path>>,
    pub(crate) replay: Replay,
}

/// A session that goes on.
struct Known {
    /// Where its entries go.
    place: Place,
    transcript: Option<PathBuf>,
    /// Where it was when it was heard of first.
    home: PathBuf,
}

/// A proxy that has registered.
struct Proxy {
    registration: Registration,
    /// Nothing of its server is recorded.
    muted: bool,
}

pub(crate) struct Core<L, T> {
    around: Around,
    ledger: L,
    transcripts: T,
    inbox: Inbox,
    off: Off,
    hosts: Hosts,
    /// Who has come, beyond the life of this process.
    noted: Noted,
    /// What records are made with and kept in; absent while it is not clear what may be recorded.
    open: Option<Open>,
    /// Why it is absent, as it was told last.
    told: Option<String>,
    proxies: HashMap<String, Proxy>,
    /// Where entries of a session go, with its transcript; and those of the proxies of a process.
    of_session: HashMap<String, Known>,
    of_pid: HashMap<u32, Place>,
    of_run: HashMap<RunId, Place>,
    /// Parents of proxies that reported before it was known whose they are.
    early: HashSet<u32>,
    /// Where the entry is that is heard now.
    here: Place,
    /// The time of the last entry or timer.
    last: u64,
    draining: bool,
    reopen_at: Option<Instant>,
}

struct Open {
    store: Store,
    keeper: Keeper,
    journal: Journal,
    syncing: Option<std::thread::JoinHandle<()>>,
    /// It was said that the journal takes nothing.
    gap_told: bool,
}

impl<L: Ledger, T: Transcripts> Core<L, T> {
    /// A core that has heard everything that journals and inbox hold, where it is clear what may be recorded.
    pub(crate) fn start(around: Around, ledger: L, transcripts: T) -> Self {
        let inbox = Inbox::new(&around.state_dir);
        let noted = Noted::read(&around.state_dir);
        let mut core = Self {
            around,
            ledger,
            transcripts,
            inbox,
            off: Off::default(),
            hosts: Hosts::default(),
            noted,
            open: None,
            told: None,
            proxies: HashMap::new(),
            of_session: HashMap::new(),
            of_pid: HashMap::new(),
            of_run: HashMap::new(),
            early: HashSet::new(),
            here: Place::other(),
            last: 0,
            draining: false,
            reopen_at: None,
        };
        core.try_open();
        core.drain_inbox();
        core.look_at_hosts();
        core
    }

    /// Works until it is told to stop, or nobody is there who could ask for anything.
    pub(crate) fn run(mut self, work: &Receiver<Work>) {
        let mut round_at = Instant::now() + ROUND;
        loop {
            let due = self
                .ledger
                .due_at()
                .filter(|_| self.open.is_some())
                .map(|due| Instant::now() + Duration::from_millis(due.saturating_sub(crate::now())));
            let until = due.map_or(round_at, |due| due.min(round_at));
            match work.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Work::Message { message, who, reply }) => self.message(message, &who, reply),
                Ok(Work::Health { who, reply }) => drop(reply.send(self.health(&who))),
                Ok(Work::Seat { proxy_id, who, reply }) => drop(reply.send(self.seat(&proxy_id, &who))),
                Ok(Work::Seats { project, reply }) => drop(reply.send(self.seats(&project))),
                Ok(Work::Projects(projects)) => self.around.projects = projects,
                Ok(Work::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= round_at {
                self.round();
                round_at = Instant::now() + ROUND;
            }
            self.pass_time();
        }
        self.noted.write(&self.around.state_dir);
        if let Some(open) = self.open.take() {
            open.close();
        }
    }

    /// Takes an entry: it is in the journal when this returns. The effects are to be applied next.
    fn take(&mut self, place: &Place, what: EntryWhat) -> (Answer, Vec<Effect>) {
        self.pass_time();
        self.enter(place, &Entry { taken_at: self.taken_at(), what })
    }

    fn enter(&mut self, place: &Place, entry: &Entry) -> (Answer, Vec<Effect>) {
        self.last = entry.taken_at;
        self.here = place.clone();
        if let Some(open) = &mut self.open
            && open.journal.note(place, entry) == Kept::No
            && !std::mem::replace(&mut open.gap_told, true)
        {
            self.around.log.warn(
                "the journal takes no more; runs go on, and are not whole if this process dies before they are over",
            );
        }
        self.ledger.hear(entry)
    }

    /// Tells the book of every timer that is due. What the inbox holds comes first: it was said before now.
    fn pass_time(&mut self) {
        let now = self.now();
        let is_due = self.ledger.due_at().is_some_and(|due| due <= now);
        if self.open.is_none() || self.draining || !is_due {
            return;
        }
        self.drain_inbox();
        for _ in 0..MOST_TIMERS {
            let Some(due) = self.ledger.due_at().filter(|due| *due <= now) else { return };
            self.last = self.last.max(due);
            let effects = self.ledger.tick(due);
            self.apply(effects);
        }
        self.around.log.error("the book's timers do not come to an end");
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.effect(effect);
        }
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Ask { run, transcripts, turns, since, open_calls } => {
                let question =
                    Question { transcripts: &transcripts, turns: &turns, since, open_calls: &open_calls };
                let facts = self.ask(&question);
                let place = self.of_run.get(&run).cloned().unwrap_or_else(Place::other);
                let entry = Entry { taken_at: self.taken_at(), what: EntryWhat::Transcript { run, facts } };
                let (_, effects) = self.enter(&place, &entry);
                self.apply(effects);
            }
            Effect::Settled { session } => self.settled(&session),
            Effect::End(run) => {
                let place = self.of_run.get(&run).cloned();
                self.kept(effect);
                if let Some(place) = place {
                    self.proxies_settled(&place);
                }
            }
            other => self.kept(other),
        }
    }

    /// Effects that say something of a run.
    fn kept(&mut self, effect: Effect) {
        let Some(open) = &mut self.open else { return };
        match effect {
            Effect::Begin(head) => {
                if let Record::Run(start) = head.record() {
                    let app = start.host.as_ref().map_or("", |host| host.app.as_str());
                    let session = start.session_id.as_ref().map(|session| Place::session(app, session));
                    // One without a session is that of the proxy that reports.
                    self.of_run.insert(start.id, session.unwrap_or_else(|| self.here.clone()));
                }
                open.keeper.begin(head);
            }
            Effect::Append(record) => open.keeper.append(record),
            Effect::End(run) => {
                open.keeper.end(run);
                self.of_run.remove(&run);
            }
            Effect::Ask { .. } | Effect::Settled { .. } => {}
        }
    }

    fn settled(&mut self, session: &str) {
        let carried = self.ledger.carried(session);
        let (Some(open), Some(known)) = (&mut self.open, self.of_session.get(session)) else {
            return;
        };
        if let Err(e) = open.journal.settle(&known.place, &carried) {
            self.around.log.warn(&format!("a journal that is of no use any more stays: {e}"));
        }
        // The session is over.
        if carried.is_empty() {
            self.transcripts.forget(known.transcript.as_slice());
            self.of_session.remove(session);
        }
        self.early_words_settled(session);
    }

    /// What proxies of a settled session told before it was known whose they are is of no use any more, either.
    fn early_words_settled(&mut self, session: &str) {
        let theirs =
            |proxy: &&Proxy| self.ledger.session_of(&proxy.registration.proxy_id).as_deref() == Some(session);
        let parents: HashSet<u32> =
            self.proxies.values().filter(theirs).map(|proxy| proxy.registration.parent_pid).collect();
        for parent in parents {
            self.proxies_settled(&Place::proxies_of(parent));
        }
    }

    /// A run is over that may have been one of proxies without a session: who they are is all that is of use any more.
    fn proxies_settled(&mut self, place: &Place) {
        let theirs = |proxy: &&Proxy| Place::proxies_of(proxy.registration.parent_pid) == *place;
        let known = self.proxies.values().filter(theirs).filter(|proxy| !proxy.muted);
        let entry = |proxy: &Proxy| Entry {
            taken_at: self.last,
            what: EntryWhat::Register(Box::new(proxy.registration.clone())),
        };
        let carried: Vec<_> = known.map(entry).collect();
        if carried.is_empty() || self.of_run.values().any(|open| open == place) {
            return;
        }
        if let Some(open) = &mut self.open
            && let Err(e) = open.journal.settle(place, &carried)
        {
            self.around.log.warn(&format!("a journal that is of no use any more stays: {e}"));
        }
    }

    fn ask(&mut self, question: &Question<'_>) -> Box<TranscriptFacts> {
        let there: Vec<_> = question.transcripts.iter().filter(|path| path.is_file()).cloned().collect();
        let RawFacts { outcomes, final_answer, usage } =
            self.transcripts.facts(&Question { transcripts: &there, ..*question });
        let final_answer = final_answer.and_then(|answer| self.safe_text(answer));
        let usage = usage.map(|usage| self.safe_names(usage));
        Box::new(TranscriptFacts { outcomes, final_answer, usage })
    }

    /// Names of models are whatever somebody called them.
    fn safe_names(&self, mut usage: serde_json::Value) -> serde_json::Value {
        let Some(open) = &self.open else { return serde_json::Value::Null };
        if let Some(models) = usage.get_mut("models").and_then(serde_json::Value::as_object_mut) {
            let named = std::mem::take(models).into_iter().take(MOST_MODELS);
            *models =
                named.map(|(name, tokens)| (Cleaner(&open.store.redactor).named(name), tokens)).collect();
        }
        usage
    }

    fn safe_text(&self, text: String) -> Option<SafeTold> {
        let redactor = &self.open.as_ref()?.store.redactor;
        let told = Told { original_bytes: text.len() as u64, text, truncated: false };
        Some(redactor.again(PayloadKind::Text, told))
    }

    /// The time of an entry that is taken now. What the inbox holds was said before the timers that are due.
    fn taken_at(&self) -> u64 {
        let due = self.ledger.due_at().filter(|_| self.draining);
        due.map_or(self.now(), |due| self.now().min(due.saturating_sub(1)).max(self.last))
    }

    /// So late it is. It does not go back.
    fn now(&self) -> u64 {
        self.last.max(crate::now())
    }
}

impl Open {
    /// The end of the process, within a budget. Runs that are open stay open, and the journals say how they go on.
    fn close(mut self) {
        for file in self.journal.take_unsynced() {
            let _ = file.sync_data();
        }
        self.keeper.close(LAST_SHIPMENT);
        if let Some(syncing) = self.syncing.take() {
            let _ = syncing.join();
        }
    }
}
