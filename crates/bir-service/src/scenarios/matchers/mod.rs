//! What recorded prompts teach, held ready: for each person one matcher for each project.
//!
//! ```text
//!  first question ─▶ keep: read from the store, page by page ─▶ library: built ─▶ asked on a thread for blocking work
//!  a scenario changed here, or two seconds went by ─▶ keep: what changed since is read ─▶ library: changed in place, one by one
//! ```
//!
//! A question waits for what is built no longer than its budget; what is not there then is as if nothing was recorded. Looking for what changed
//! waits nine times as long as the last change took, so that no more than a tenth of a core goes into it. Who asked longest ago loses theirs
//! first when there are too many, or they are too large.

mod keep;
mod library;
mod shelf;
#[cfg(test)]
mod tests;

use crate::settings::ScenarioLimits;
use crate::state::State;
use bir_entity::Clock;
use bir_match::Answer;
use bir_model::scenario::Nearest;
use bir_model::{RunId, ScenarioId, TenantId, UserId};
use bir_store::model::View;
use keep::look;
use library::Library;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

/// A prompt of more bytes is not compared: it has more words than a request has.
pub(crate) const PROMPT: usize = 32 << 10;
/// Looking again waits so many times as long as the last change took.
const REST: u32 = 9;

type Key = (TenantId, UserId);

/// What somebody asks for.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) prompt: String,
    pub(crate) project: Option<String>,
    pub(crate) clock: Clock,
}

/// What is known of it.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The matcher was not there in time, or had not answered.
    NotInTime,
    /// The prompt has more bytes than are compared.
    TooLong,
    /// Nothing of this project is recorded.
    Nothing,
    /// This.
    Told(Box<Told>),
}

/// An answer, with the places in it by name.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) answer: Answer,
    /// The scenario that explains it, as it was at this revision.
    pub(crate) scenario: Option<ScenarioId>,
    pub(crate) revision: u64,
    /// A run without a scenario that has the same prompt.
    pub(crate) plain: Option<RunId>,
    pub(crate) nearest: Option<Nearest>,
}

#[derive(Debug)]
struct Owner {
    ready: watch::Sender<Option<Arc<Library>>>,
    work: Mutex<Work>,
}

#[derive(Debug)]
struct Work {
    /// Somebody reads, or builds.
    busy: bool,
    /// Something changed while somebody did.
    again: bool,
    looked: Option<Instant>,
    not_before: Instant,
    asked: Instant,
    /// Deleted, and still in a matcher.
    gone: HashSet<ScenarioId>,
}

impl Owner {
    fn new() -> Self {
        let now = Instant::now();
        let work = Work {
            busy: false,
            again: false,
            looked: None,
            not_before: now,
            asked: now,
            gone: HashSet::new(),
        };
        Self { ready: watch::Sender::new(None), work: Mutex::new(work) }
    }

    /// What is held; None: nobody has asked yet, or it is not built.
    fn holdings(&self) -> Option<Arc<Library>> {
        self.ready.borrow().clone()
    }

    /// Tells those who wait that it is there.
    fn publish(&self, library: Arc<Library>) {
        self.ready.send_if_modified(|ready| ready.replace(library).is_none());
    }

    /// Lets go of what is held.
    fn discard(&self) {
        self.ready.send_replace(None);
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Matchers {
    owners: Mutex<HashMap<Key, Arc<Owner>>>,
    /// Questions at once.
    turns: Arc<Semaphore>,
    /// One is built at a time.
    building: Arc<Semaphore>,
}

impl Matchers {
    pub(crate) fn new(limits: &ScenarioLimits) -> Self {
        Self {
            owners: Mutex::default(),
            turns: Arc::new(Semaphore::new(limits.matching)),
            building: Arc::new(Semaphore::new(1)),
        }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<Key, Arc<Owner>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owner(&self, who: &View) -> Arc<Owner> {
        self.owners().entry((who.tenant, who.user)).or_insert_with(|| Arc::new(Owner::new())).clone()
    }

    /// Something of theirs changed. Nothing is done for people who have not asked yet.
    pub(crate) fn changed(&self, state: &State, who: &View) {
        let owner = self.owners().get(&(who.tenant, who.user)).cloned();
        if let Some(owner) = owner {
            look(state, who, &owner);
        }
    }

    /// A scenario was deleted: it is no answer from now on.
    pub(crate) fn forget(&self, state: &State, who: &View, id: ScenarioId) {
        let owner = self.owners().get(&(who.tenant, who.user)).cloned();
        if let Some(owner) = owner {
            owner.work().gone.insert(id);
            look(state, who, &owner);
        }
    }

    /// Asks, until then.
    pub(crate) async fn ask(&self, state: &State, who: &View, question: Question, until: Instant) -> Asked {
        if question.prompt.len() > PROMPT {
            return Asked::TooLong;
        }
        let owner = self.owner(who);
        let stale = {
            let mut work = owner.work();
            work.asked = Instant::now();
            work.looked.is_none_or(|at| at.elapsed() >= state.settings.limits.scenarios.matcher_age)
        };
        if stale {
            look(state, who, &owner);
        }
        let mut told = owner.ready.subscribe();
        let ready = match timeout_at(until, told.wait_for(Option::is_some)).await {
            Ok(Ok(ready)) => ready.clone(),
            _ => None,
        };
        let Some(ready) = ready else { return Asked::NotInTime };
        let Ok(Ok(turn)) = timeout_at(until, self.turns.clone().acquire_owned()).await else {
            return Asked::NotInTime;
        };
        let asking = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            ready.ask(&question)
        });
        let asked = match timeout_at(until, asking).await {
            Ok(Ok(asked)) => asked,
            Ok(Err(error)) => {
                tracing::error!(%error, "a question to the recorded prompts failed");
                return Asked::NotInTime;
            }
            Err(_) => return Asked::NotInTime,
        };
        match asked {
            Asked::Told(told) if told.scenario.is_some_and(|id| owner.work().gone.contains(&id)) => {
                Asked::Nothing
            }
            other => other,
        }
    }

    /// Lets go of those who asked longest ago, until what is left is within the limits.
    fn evict(&self, limits: &ScenarioLimits) {
        let mut owners = self.owners();
        let mut held: Vec<(Instant, Key, usize)> = owners
            .iter()
            .map(|(key, owner)| {
                let bytes = owner.holdings().map_or(0, |library| library.bytes());
                (owner.work().asked, *key, bytes)
            })
            .collect();
        held.sort_by_key(|(asked, ..)| *asked);
        let mut bytes: usize = held.iter().map(|(.., bytes)| bytes).sum();
        // The one who asked last keeps theirs: it is within the limit of one person.
        held.pop();
        for (_, key, freed) in held {
            if owners.len() <= limits.matchers && bytes <= limits.matcher_bytes {
                break;
            }
            owners.remove(&key);
            bytes -= freed;
        }
    }
}

/// Until then a question may take.
pub(crate) fn until(budget: Duration) -> Instant {
    Instant::now() + budget
}
