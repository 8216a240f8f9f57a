//! What recorded prompts teach, held ready: for each person one matcher for each project.
//!
//! ```text
//!  first question ─▶ built in the background from the store, page by page ─▶ Ready ─▶ asked on a thread for blocking work
//!  a scenario changed here, or two seconds went by ─▶ what changed since is read, and the projects that it is in are built anew
//! ```
//!
//! A question waits for a matcher no longer than its budget; what is not there then is as if nothing was recorded. A matcher that is
//! being built anew answers from what it knew. Building again waits nine times as long as the last building took, so that no more than a tenth
//! of a core goes into it. Who asked longest ago loses theirs first when there are too many, or they are too large.

use crate::settings::ScenarioLimits;
use crate::state::State;
use bir_calc::Stored;
use bir_entity::{Clock, Vocabulary};
use bir_match::{Answer, Known, Matcher};
use bir_model::scenario::{Nearest, ScenarioState};
use bir_model::{RunId, ScenarioId, TenantId, UserId};
use bir_store::StoreError;
use bir_store::model::{Candidate, FeedPosition, Page, View};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

/// Candidates of one part.
const PART: u32 = 1_000;
/// Transactions do not end in the order of their times: what changed so shortly before what was read last is read again, ms.
const OVERLAP: u64 = 10_000;
/// Runs without a scenario that are known by their very words.
const PLAIN: u32 = 500;
/// A prompt of more bytes is not compared: it has more words than a request has.
pub(crate) const PROMPT: usize = 32 << 10;
/// Bytes that a recorded prompt takes beside its text, and how many times its text, by estimate.
const EACH: usize = 2_048;
const TIMES: usize = 24;
/// Building again waits so many times as long as the last building took.
const REST: u32 = 9;
/// Characters of a recorded prompt that are told.
const TOLD: usize = 500;

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

/// Where a scenario of a shelf comes from.
#[derive(Debug, Clone)]
struct Source {
    id: ScenarioId,
    revision: u64,
    updated_at: u64,
    run: Option<RunId>,
}

/// The matcher of a project.
struct Shelf {
    matcher: Matcher,
    /// As many as the matcher knows scenarios.
    sources: Vec<Source>,
    prompts: usize,
    bytes: usize,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("prompts", &self.prompts).finish_non_exhaustive()
    }
}

/// What a person recorded.
#[derive(Debug, Default)]
struct Ready {
    projects: HashMap<Option<String>, Arc<Shelf>>,
    /// Runs without a scenario, by project and prompt.
    plain: HashMap<(Option<String>, String), RunId>,
    position: Option<FeedPosition>,
}

impl Ready {
    fn bytes(&self) -> usize {
        self.projects.values().map(|shelf| shelf.bytes).sum()
    }

    fn prompts(&self) -> usize {
        self.projects.values().map(|shelf| shelf.prompts).sum()
    }
}

#[derive(Debug)]
struct Owner {
    ready: watch::Sender<Option<Arc<Ready>>>,
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
                let bytes = owner.ready.borrow().as_ref().map_or(0, |ready| ready.bytes());
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

impl Ready {
    fn ask(&self, question: &Question) -> Asked {
        let key = (question.project.clone(), words(&question.prompt));
        let plain = self.plain.get(&key).copied();
        let Some(shelf) = self.projects.get(&question.project) else {
            return match plain {
                None => Asked::Nothing,
                Some(_) => Asked::Told(Box::new(Told {
                    answer: Answer {
                        scenario: None,
                        values: Vec::new(),
                        missing: Vec::new(),
                        difference: None,
                        confidence: 0.0,
                        weight: 0.0,
                        doubt: 1.0,
                        shown: 0,
                        veto: None,
                        nearest: None,
                    },
                    scenario: None,
                    revision: 0,
                    plain,
                    nearest: None,
                })),
            };
        };
        let answer = shelf.matcher.ask(&question.prompt, &question.clock, &Vocabulary::default());
        let known = |at: usize| shelf.matcher.known().get(at).zip(shelf.sources.get(at));
        let found = answer.scenario.and_then(known);
        let nearest = answer.nearest.and_then(|(scenario, example)| {
            let (known, source) = known(scenario)?;
            let text: String = known.examples.get(example)?.text.chars().take(TOLD).collect();
            // The first prompt is that of the first run.
            let run_id = source.run.filter(|_| example == 0);
            Some(Nearest { run_id, scenario_id: Some(source.id), prompt: text })
        });
        let scenario = found.map(|(_, source)| source.id);
        let revision = found.map_or(0, |(_, source)| source.revision);
        Asked::Told(Box::new(Told { answer, scenario, revision, plain, nearest }))
    }
}

/// A prompt without what makes no difference in writing.
fn words(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Has somebody look in the background for what changed, where nobody does.
fn look(state: &State, who: &View, owner: &Arc<Owner>) {
    {
        let mut work = owner.work();
        work.again = true;
        if work.busy {
            return;
        }
        work.busy = true;
    }
    let (state, who, owner) = (state.clone(), *who, owner.clone());
    tokio::spawn(async move {
        let mut ending = state.ending();
        tokio::select! {
            () = crate::state::told(&mut ending) => {}
            () = keep(&state, &who, &owner) => {}
        }
    });
}

async fn keep(state: &State, who: &View, owner: &Arc<Owner>) {
    loop {
        let not_before = {
            let mut work = owner.work();
            if !work.again {
                work.busy = false;
                return;
            }
            work.again = false;
            work.not_before
        };
        tokio::time::sleep_until(not_before).await;
        let began = Instant::now();
        let renewed = renew(state, who, owner).await;
        let took = began.elapsed();
        {
            let mut work = owner.work();
            work.looked = Some(Instant::now());
            if let Ok(true) = &renewed {
                work.not_before = Instant::now() + took * REST;
            }
        }
        match renewed {
            Ok(true) => {
                state.metrics.matcher_built(took);
                state.matchers.evict(&state.settings.limits.scenarios);
            }
            Ok(false) => {}
            // The next question has somebody look again.
            Err(error) => tracing::warn!(%error, "what was recorded cannot be read for matching"),
        }
    }
}

/// A scenario that changed.
struct Fresh {
    source: Source,
    project: Option<String>,
    /// None: it is not to be matched.
    known: Option<Known>,
}

impl Fresh {
    fn of(candidate: Candidate) -> Self {
        let plan = candidate.plan.as_deref().filter(|_| candidate.state == ScenarioState::Ready);
        let stored = plan.map(serde_json::from_str::<Stored>);
        if let Some(Err(error)) = &stored {
            tracing::error!(scenario = %candidate.id, %error, "a stored plan cannot be read; calculate it again");
        }
        let known = stored.and_then(Result::ok).map(|stored| stored.known(&candidate.id.to_string()));
        let source = Source {
            id: candidate.id,
            revision: candidate.revision,
            updated_at: candidate.updated_at,
            run: candidate.source_run,
        };
        Self { source, project: candidate.project, known }
    }
}

/// Reads what changed, and builds anew what it is in. False: nothing changed.
async fn renew(state: &State, who: &View, owner: &Arc<Owner>) -> Result<bool, StoreError> {
    let old = owner.ready.borrow().clone();
    let mut position = old.as_ref().and_then(|ready| ready.position);
    let mut after = position.map(|at| FeedPosition {
        updated_at: at.updated_at.saturating_sub(OVERLAP),
        id: ScenarioId::from_uuid(uuid::Uuid::nil()),
    });
    let held: HashMap<ScenarioId, u64> = old
        .iter()
        .flat_map(|ready| ready.projects.values())
        .flat_map(|shelf| shelf.sources.iter().map(|source| (source.id, source.revision)))
        .collect();
    let mut fresh: HashMap<ScenarioId, Fresh> = HashMap::new();
    loop {
        let part = state.store.candidates(who, after, PART).await?;
        let Some(last) = part.last() else { break };
        after = Some(last.position());
        position = position.max(after);
        let changed: Vec<Candidate> = part
            .into_iter()
            .filter(|c| match held.get(&c.id) {
                Some(revision) => *revision != c.revision || c.state != ScenarioState::Ready,
                None => c.state == ScenarioState::Ready,
            })
            .collect();
        if changed.is_empty() {
            continue;
        }
        let read =
            tokio::task::spawn_blocking(move || changed.into_iter().map(Fresh::of).collect::<Vec<_>>());
        let read = read.await.map_err(|error| StoreError::Failed(error.to_string()))?;
        fresh.extend(read.into_iter().map(|fresh| (fresh.source.id, fresh)));
    }
    let plain = plain(state, who).await?;
    let gone: HashSet<ScenarioId> = owner.work().gone.iter().copied().collect();
    if let Some(old) = &old
        && fresh.is_empty()
        && plain == old.plain
        && !gone.iter().any(|id| held.contains_key(id))
    {
        if position != old.position {
            let projects = old.projects.clone();
            owner.ready.send_replace(Some(Arc::new(Ready { projects, plain, position })));
        }
        return Ok(false);
    }
    let Ok(turn) = state.matchers.building.clone().acquire_owned().await else { return Ok(false) };
    let most = state.settings.limits.scenarios.prompts;
    let bytes = state.settings.limits.scenarios.matcher_bytes;
    let removed = gone.clone();
    let built = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let projects = build(old.as_deref(), fresh, &removed, most, bytes);
        Ready { projects, plain, position }
    });
    let ready = built.await.map_err(|error| StoreError::Failed(error.to_string()))?;
    tracing::debug!(user = %who.user, prompts = ready.prompts(), bytes = ready.bytes(), "prompts are held ready");
    owner.ready.send_replace(Some(Arc::new(ready)));
    // What was deleted is in no matcher any more; what is deleted now is deleted for ever.
    owner.work().gone.retain(|id| !gone.contains(id));
    Ok(true)
}

/// The newest runs that ended, made calls and have no scenario yet.
async fn plain(state: &State, who: &View) -> Result<HashMap<(Option<String>, String), RunId>, StoreError> {
    let page = Page { limit: PLAIN, cursor: None };
    let found = state.store.runs_without_scenario(who, &page).await?;
    let mut plain = HashMap::new();
    for run in found.runs.into_iter().filter(|run| run.ended_at.is_some() && run.calls > 0) {
        if let Some(input) = run.input.filter(|input| input.len() <= PROMPT && !input.trim().is_empty()) {
            plain.entry((run.project, words(&input))).or_insert(run.id);
        }
    }
    Ok(plain)
}

fn build(
    old: Option<&Ready>,
    fresh: HashMap<ScenarioId, Fresh>,
    gone: &HashSet<ScenarioId>,
    most: usize,
    bytes: usize,
) -> HashMap<Option<String>, Arc<Shelf>> {
    let mut shelves: HashMap<Option<String>, Arc<Shelf>> =
        old.map(|old| old.projects.clone()).unwrap_or_default();
    let mut lists: HashMap<Option<String>, Vec<(Known, Source)>> = HashMap::new();
    let leaves = |id: &ScenarioId| gone.contains(id) || fresh.contains_key(id);
    // The projects in which something changes: where it was, and where it is.
    for (project, shelf) in &shelves {
        if shelf.sources.iter().any(|source| leaves(&source.id)) {
            lists.insert(project.clone(), Vec::new());
        }
    }
    for one in fresh.values().filter(|one| one.known.is_some()) {
        lists.entry(one.project.clone()).or_default();
    }
    for (project, list) in &mut lists {
        let Some(shelf) = shelves.remove(project) else { continue };
        let stay = shelf.matcher.known().iter().zip(&shelf.sources).filter(|(_, source)| !leaves(&source.id));
        list.extend(stay.map(|(known, source)| (known.clone(), source.clone())));
    }
    for one in fresh.into_values().filter(|one| !gone.contains(&one.source.id)) {
        if let (Some(known), Some(list)) = (one.known, lists.get_mut(&one.project)) {
            list.push((known, one.source));
        }
    }
    // The newest of what changed, and all of what did not, as far as it goes.
    let (mut prompts, mut room) = (most, bytes);
    for shelf in shelves.values() {
        prompts = prompts.saturating_sub(shelf.prompts);
        room = room.saturating_sub(shelf.bytes);
    }
    let clock = Clock { now: jiff::ZonedDateTime::now() };
    for (project, mut list) in lists {
        list.sort_by_key(|(_, source)| std::cmp::Reverse((source.updated_at, source.id)));
        let mut shelf = (0, 0);
        list.retain(|(known, _)| {
            let (more, size) = (known.examples.len(), size(known));
            let fits = more <= prompts && size <= room;
            if fits {
                (prompts, room) = (prompts - more, room - size);
                shelf = (shelf.0 + more, shelf.1 + size);
            }
            fits
        });
        if list.is_empty() {
            continue;
        }
        let (known, sources) = list.into_iter().unzip();
        let matcher = Matcher::new(known, &clock);
        shelves.insert(project, Arc::new(Shelf { matcher, sources, prompts: shelf.0, bytes: shelf.1 }));
    }
    shelves
}

/// Bytes that a scenario takes in a matcher, by estimate.
fn size(known: &Known) -> usize {
    known.examples.iter().map(|example| EACH + TIMES * example.text.len()).sum()
}

/// Until then a question may take.
pub(crate) fn until(budget: Duration) -> Instant {
    Instant::now() + budget
}
