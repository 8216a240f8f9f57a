//! The matcher of a project, with where each of its scenarios comes from.

use super::{Question, Told};
use bir_entity::{Clock, Vocabulary};
use bir_match::{Known, Matcher};
use bir_model::scenario::Nearest;
use bir_model::{RunId, ScenarioId};
use std::fmt;

/// Bytes that a recorded prompt takes beside its text, and how many times its text, by estimate.
const EACH: usize = 2_048;
const TIMES: usize = 24;
/// A matcher keeps the words that it once knew. It is built anew when more prompts have left it than it holds, and so many more.
const LEFT: usize = 1_000;
/// Characters of a recorded prompt that are told.
const TOLD: usize = 500;

/// Where a scenario of a shelf comes from.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) id: ScenarioId,
    pub(super) revision: u64,
    pub(super) updated_at: u64,
    pub(super) run: Option<RunId>,
}

/// The matcher of a project.
pub(super) struct Shelf {
    matcher: Matcher,
    /// As many as the matcher has places for scenarios; those of free places are of no meaning.
    sources: Vec<Source>,
    scenarios: usize,
    prompts: usize,
    /// Prompts that left since it was built.
    left: usize,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("prompts", &self.prompts).finish_non_exhaustive()
    }
}

impl Shelf {
    pub(super) fn new(clock: &Clock) -> Self {
        let matcher = Matcher::new(Vec::new(), clock);
        Self { matcher, sources: Vec::new(), scenarios: 0, prompts: 0, left: 0 }
    }

    /// Adds a scenario and says its place.
    pub(super) fn add(&mut self, source: Source, known: Known) -> usize {
        self.scenarios += 1;
        self.prompts += known.examples.len();
        let at = self.matcher.insert(known);
        match self.sources.get_mut(at) {
            Some(place) => *place = source,
            None => self.sources.push(source),
        }
        at
    }

    /// Removes the scenario of a place.
    pub(super) fn take(&mut self, at: usize) {
        let prompts = self.matcher.known().get(at).map_or(0, |known| known.examples.len());
        if self.matcher.remove(at).is_ok() {
            self.scenarios -= 1;
            self.prompts -= prompts;
            self.left += prompts;
        }
    }

    /// Gives the scenario of a place other prompts, where it is the same in all else. False: it is not.
    pub(super) fn reword(&mut self, at: usize, source: &Source, known: &Known) -> bool {
        let Some(old) = self.matcher.known().get(at) else { return false };
        if old.id != known.id || old.family != known.family || old.places != known.places {
            return false;
        }
        // Their order says whose they are: what comes behind the first difference is taken out and put in again.
        let same = old.examples.iter().zip(&known.examples).take_while(|(old, new)| old == new).count();
        for example in (same..old.examples.len()).rev() {
            if self.matcher.remove_example(at, example).is_ok() {
                self.prompts -= 1;
                self.left += 1;
            }
        }
        for example in &known.examples[same..] {
            if self.matcher.insert_example(at, example.clone()).is_ok() {
                self.prompts += 1;
            }
        }
        self.sources[at] = source.clone();
        true
    }

    /// The scenario of a place.
    pub(super) fn get(&self, at: usize) -> Option<(&Source, &Known)> {
        self.sources.get(at).zip(self.matcher.known().get(at))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scenarios == 0
    }

    /// Whether it is to be built anew.
    pub(super) fn is_worn(&self) -> bool {
        self.left > self.prompts + LEFT
    }

    /// What a question asks for. `plain`: a run without a scenario that has the same prompt.
    pub(super) fn ask(&self, question: &Question, plain: Option<RunId>) -> Told {
        let answer = self.matcher.ask(&question.prompt, &question.clock, &Vocabulary::default());
        let known = |at: usize| self.matcher.known().get(at).zip(self.sources.get(at));
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
        Told { answer, scenario, revision, plain, nearest }
    }
}

/// Bytes that a scenario takes in a matcher, by estimate.
pub(super) fn size(known: &Known) -> usize {
    known.examples.iter().map(|example| EACH + TIMES * example.text.len()).sum()
}
