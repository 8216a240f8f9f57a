//! What a person recorded, held ready: one matcher for each project, changed in place, one scenario after the other.
//!
//! Questions read under a lock that a change holds for one scenario, so that nobody sees half of one. What does not fit leaves by age: the
//! scenario that was changed longest ago goes first.

use super::shelf::{Shelf, Source, size};
use super::{Asked, PROMPT, Question, Told};
use bir_entity::Clock;
use bir_match::{Answer, Known};
use bir_model::{RunId, ScenarioId};
use bir_store::model::FeedPosition;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A project; none: runs without one.
pub(super) type Project = Option<Arc<str>>;
/// Runs without a scenario, by project and prompt.
pub(super) type Plain = HashMap<(Project, String), RunId>;

/// How much is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) prompts: usize,
    pub(super) bytes: usize,
}

/// A scenario that is to be matched.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) source: Source,
    pub(super) project: Project,
    pub(super) known: Known,
}

/// What becomes of a scenario.
#[derive(Debug)]
pub(super) enum Change {
    /// It is new, or another one than before.
    Is(Box<Scenario>),
    /// It is not to be matched any more.
    Leaves(ScenarioId),
}

/// Where a scenario is.
#[derive(Debug)]
struct Held {
    project: Project,
    at: usize,
    revision: u64,
    updated_at: u64,
    prompts: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Inner {
    shelves: HashMap<Project, Shelf>,
    held: HashMap<ScenarioId, Held>,
    /// The one that was changed longest ago comes first.
    ages: BTreeSet<(u64, ScenarioId)>,
    prompts: usize,
    bytes: usize,
    plain: Plain,
    position: Option<FeedPosition>,
}

/// What a person recorded.
#[derive(Debug)]
pub(super) struct Library {
    inner: RwLock<Inner>,
    /// What it takes, for whoever must not wait.
    bytes: AtomicUsize,
    most: Most,
}

impl Library {
    /// Builds it from what there is: the newest, as far as it goes.
    pub(super) fn build(mut all: Vec<Scenario>, most: Most) -> Self {
        all.sort_by_key(|scenario| std::cmp::Reverse((scenario.source.updated_at, scenario.source.id)));
        let mut inner = Inner::default();
        let clock = clock();
        for scenario in all {
            inner.put(scenario, most, &clock);
        }
        let bytes = AtomicUsize::new(inner.bytes);
        Self { inner: RwLock::new(inner), bytes, most }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn prompts(&self) -> usize {
        self.read().prompts
    }

    pub(super) fn position(&self) -> Option<FeedPosition> {
        self.read().position
    }

    /// The revision of a scenario that is held.
    pub(super) fn revision(&self, id: ScenarioId) -> Option<u64> {
        self.read().held.get(&id).map(|held| held.revision)
    }

    /// Sets how far was read, and what is known word for word. False: that is known.
    pub(super) fn settle(&self, plain: Plain, position: Option<FeedPosition>) -> bool {
        let mut inner = self.write();
        inner.position = position;
        if inner.plain == plain {
            return false;
        }
        let old = std::mem::replace(&mut inner.plain, plain);
        drop(inner);
        drop(old);
        true
    }

    /// Has a change of one scenario take place.
    pub(super) fn change(&self, change: Change) {
        let clock = clock();
        let mut inner = self.write();
        match change {
            Change::Is(scenario) => inner.put(*scenario, self.most, &clock),
            Change::Leaves(id) => inner.take(id),
        }
        self.bytes.store(inner.bytes, Ordering::Relaxed);
    }

    /// Builds those matchers anew that more has left than they hold, and says how many. Nobody else changes anything meanwhile; questions are
    /// answered.
    pub(super) fn tidy(&self) -> usize {
        let worn: Vec<Project> = {
            let inner = self.read();
            let shelves = inner.shelves.iter();
            shelves.filter(|(_, shelf)| shelf.is_worn()).map(|(project, _)| project.clone()).collect()
        };
        let built = worn.len();
        for project in worn {
            let stay: Vec<(Source, Known)> = {
                let inner = self.read();
                let Some(shelf) = inner.shelves.get(&project) else { continue };
                let held = inner.held.values().filter(|held| held.project == project);
                held.filter_map(|held| {
                    let (source, known) = shelf.get(held.at)?;
                    Some((source.clone(), known.clone()))
                })
                .collect()
            };
            let mut shelf = Shelf::new(&clock());
            let places: Vec<(ScenarioId, usize)> =
                stay.into_iter().map(|(source, known)| (source.id, shelf.add(source, known))).collect();
            let mut inner = self.write();
            for (id, at) in places {
                if let Some(held) = inner.held.get_mut(&id) {
                    held.at = at;
                }
            }
            let old = inner.shelves.insert(project, shelf);
            drop(inner);
            drop(old);
        }
        built
    }

    /// What a question asks for.
    pub(super) fn ask(&self, question: &Question) -> Asked {
        let project: Project = question.project.as_deref().map(Arc::from);
        let key = (project, words(&question.prompt));
        let inner = self.read();
        let plain = inner.plain.get(&key).copied();
        let Some(shelf) = inner.shelves.get(&key.0) else {
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
                        against: Vec::new(),
                        lacking: Vec::new(),
                        nearest: None,
                    },
                    scenario: None,
                    revision: 0,
                    plain,
                    nearest: None,
                })),
            };
        };
        Asked::Told(Box::new(shelf.ask(question, plain)))
    }
}

impl Inner {
    fn put(&mut self, new: Scenario, most: Most, clock: &Clock) {
        let Scenario { source, project, known } = new;
        let age = (source.updated_at, source.id);
        let (prompts, bytes) = (known.examples.len(), size(&known));
        if self.held.get(&source.id).is_some_and(|held| held.project != project) {
            self.take(source.id);
        }
        let before = self.held.get(&source.id).map_or((0, 0), |held| (held.prompts, held.bytes));
        let (all_prompts, all_bytes) = (self.prompts - before.0 + prompts, self.bytes - before.1 + bytes);
        let over = (all_prompts.saturating_sub(most.prompts), all_bytes.saturating_sub(most.bytes));
        let Some(leave) = self.older(age, over) else {
            self.take(source.id);
            return;
        };
        for id in leave {
            self.take(id);
        }
        let entry = Held {
            project: project.clone(),
            at: 0,
            revision: source.revision,
            updated_at: source.updated_at,
            prompts,
            bytes,
        };
        let shelf = self.shelves.entry(project).or_insert_with(|| Shelf::new(clock));
        let id = source.id;
        let at = match self.held.get(&id).map(|held| held.at) {
            Some(at) if shelf.reword(at, &source, &known) => at,
            Some(at) => {
                shelf.take(at);
                shelf.add(source, known)
            }
            None => shelf.add(source, known),
        };
        if let Some(old) = self.held.insert(id, Held { at, ..entry }) {
            self.ages.remove(&(old.updated_at, id));
            self.prompts -= old.prompts;
            self.bytes -= old.bytes;
        }
        self.ages.insert(age);
        self.prompts += prompts;
        self.bytes += bytes;
    }

    /// Those older than `age` that have to leave for so many prompts and bytes; None: that would not do.
    fn older(&self, age: (u64, ScenarioId), over: (usize, usize)) -> Option<Vec<ScenarioId>> {
        let (mut prompts, mut bytes) = over;
        let mut leave = Vec::new();
        for (_, id) in self.ages.range(..age).filter(|(_, id)| *id != age.1) {
            if prompts == 0 && bytes == 0 {
                break;
            }
            let held = self.held.get(id)?;
            (prompts, bytes) = (prompts.saturating_sub(held.prompts), bytes.saturating_sub(held.bytes));
            leave.push(*id);
        }
        (prompts == 0 && bytes == 0).then_some(leave)
    }

    fn take(&mut self, id: ScenarioId) {
        let Some(held) = self.held.remove(&id) else { return };
        self.ages.remove(&(held.updated_at, id));
        self.prompts -= held.prompts;
        self.bytes -= held.bytes;
        let Some(shelf) = self.shelves.get_mut(&held.project) else { return };
        shelf.take(held.at);
        if shelf.is_empty() {
            self.shelves.remove(&held.project);
        }
    }
}

/// What is a date is told from today.
fn clock() -> Clock {
    Clock { now: jiff::ZonedDateTime::now() }
}

/// A prompt without what makes no difference in writing.
pub(super) fn words(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a prompt is one that is compared.
pub(super) fn is_compared(prompt: &str) -> bool {
    prompt.len() <= PROMPT && !prompt.trim().is_empty()
}
