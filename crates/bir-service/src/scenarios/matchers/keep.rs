//! Keeping what is held up to date, in the background: built when somebody asks first, then changed by what the store says has changed.

use super::library::{Change, Library, Most, Plain, Scenario, is_compared, words};
use super::shelf::Source;
use super::{Owner, REST};
use crate::state::State;
use bir_calc::Stored;
use bir_model::ScenarioId;
use bir_model::scenario::ScenarioState;
use bir_store::StoreError;
use bir_store::model::{Candidate, FeedPosition, Page, View};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::time::Instant;

/// Candidates of one part.
const PART: u32 = 1_000;
/// Transactions do not end in the order of their times: what changed so shortly before what was read last is read again, ms.
const OVERLAP: u64 = 10_000;
/// Runs without a scenario that are known by their very words.
const PLAIN: u32 = 500;

/// Has somebody look in the background for what changed, where nobody does.
pub(super) fn look(state: &State, who: &View, owner: &Arc<Owner>) {
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
            if !matches!(renewed, Ok(false)) {
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

/// What a candidate says.
fn change(candidate: Candidate) -> Change {
    let plan = candidate.plan.as_deref().filter(|_| candidate.state == ScenarioState::Ready);
    let stored = plan.map(serde_json::from_str::<Stored>);
    if let Some(Err(error)) = &stored {
        tracing::error!(scenario = %candidate.id, %error, "a stored plan cannot be read; calculate it again");
    }
    let Some(Ok(stored)) = stored else { return Change::Leaves(candidate.id) };
    Change::Is(Box::new(Scenario {
        source: Source {
            id: candidate.id,
            revision: candidate.revision,
            updated_at: candidate.updated_at,
            run: candidate.source_run,
        },
        project: candidate.project.map(Arc::from),
        known: stored.known(&candidate.id.to_string()),
    }))
}

/// Reads what changed, and has it change what is held. False: nothing changed.
async fn renew(state: &State, who: &View, owner: &Arc<Owner>) -> Result<bool, StoreError> {
    let library = owner.holdings();
    let mut position = library.as_ref().and_then(|library| library.position());
    let mut after = position.map(|at| FeedPosition {
        updated_at: at.updated_at.saturating_sub(OVERLAP),
        id: ScenarioId::from_uuid(uuid::Uuid::nil()),
    });
    let mut changes: HashMap<ScenarioId, Change> = HashMap::new();
    loop {
        let part = state.store.candidates(who, after, PART).await?;
        let Some(last) = part.last() else { break };
        after = Some(last.position());
        position = position.max(after);
        let held = |id| library.as_ref().and_then(|library| library.revision(id));
        let changed: Vec<Candidate> = part
            .into_iter()
            .filter(|c| match held(c.id) {
                Some(revision) => revision != c.revision || c.state != ScenarioState::Ready,
                None => c.state == ScenarioState::Ready,
            })
            .collect();
        if changed.is_empty() {
            continue;
        }
        let read = move || changed.into_iter().map(|c| (c.id, change(c))).collect::<Vec<_>>();
        changes.extend(blocking(read).await?);
    }
    let plain = plain(state, who).await?;
    let gone: HashSet<ScenarioId> = owner.work().gone.iter().copied().collect();
    changes.retain(|id, _| !gone.contains(id));
    changes.extend(gone.iter().map(|id| (*id, Change::Leaves(*id))));
    // One is built or changed at a time.
    let Ok(turn) = state.matchers.building.clone().acquire_owned().await else { return Ok(false) };
    let most = Most {
        prompts: state.settings.limits.scenarios.prompts,
        bytes: state.settings.limits.scenarios.matcher_bytes,
    };
    let known = library.clone();
    let done = blocking(move || {
        let _turn = turn;
        let (library, changed) = match known {
            Some(library) => {
                let changed = !changes.is_empty();
                changes.into_values().for_each(|change| library.change(change));
                if changed && library.tidy() > 0 {
                    tracing::debug!("a matcher that much has left was built anew");
                }
                (library, changed)
            }
            None => {
                let scenarios = changes.into_values().filter_map(|change| match change {
                    Change::Is(scenario) => Some(*scenario),
                    Change::Leaves(_) => None,
                });
                (Arc::new(Library::build(scenarios.collect(), most)), true)
            }
        };
        let settled = library.settle(plain, position);
        (library, changed || settled)
    });
    // One that a change has failed in may be half of each: the next question has it built again.
    let (library, changed) = done.await.inspect_err(|_| owner.discard())?;
    if changed {
        let (prompts, bytes) = (library.prompts(), library.bytes());
        tracing::debug!(user = %who.user, prompts, bytes, "prompts are held ready");
    }
    owner.publish(library);
    // What was deleted is in no matcher any more; what is deleted now is deleted for ever.
    owner.work().gone.retain(|id| !gone.contains(id));
    Ok(changed)
}

/// Does work for which nobody may wait on this thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| StoreError::Failed(error.to_string()))
}

/// The newest runs that ended, made calls and have no scenario yet.
async fn plain(state: &State, who: &View) -> Result<Plain, StoreError> {
    let page = Page { limit: PLAIN, cursor: None };
    let found = state.store.runs_without_scenario(who, &page).await?;
    let mut plain = Plain::new();
    for run in found.runs.into_iter().filter(|run| run.ended_at.is_some() && run.calls > 0) {
        if let Some(input) = run.input.filter(|input| is_compared(input)) {
            plain.entry((run.project.map(Arc::from), words(&input))).or_insert(run.id);
        }
    }
    Ok(plain)
}
