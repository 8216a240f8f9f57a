//! The queue of calculations: runs that ended, one at a time for each tenant, in the background.
//!
//! ```text
//!  a run is booked as ended ─▶ queue (bounded) ─▶ two workers, each with another tenant ─▶ calculate
//!                                 ▲                  │ the store is down: again after a pause, five times
//!  at the start, and every ten minutes: runs that ended and have no scenario
//! ```
//!
//! A round leaves out the runs of scenarios that their owner deleted: the store has marked them.
//!
//! Recording never waits for it: what does not fit into the queue is found by the next round. A run for which a ticket waits in the store
//! waits for what became of the execution: a scenario that ran does not confirm itself. Nothing of the queue is kept; what a shutdown cuts
//! off is found at the next start, and the tickets are there still.

use super::calculate::{Cause, Done, Fault, is_for_it, of_run};
use crate::state::{State, told};
use bir_model::record::{EndReason, Record};
use bir_model::{RunId, TenantId};
use bir_store::StoreError;
use bir_store::model::{Appended, Page, View};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::task::JoinSet;

/// The program that evaluates edited logic, by the name of its file.
pub const PROGRAM: &str = "bir-sandbox";
/// Calculations at once, each of another tenant.
const WORKERS: usize = 2;
/// A store that does not answer is asked again so often, after a second, then twice as long each time.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// Runs of one part of a round, and parts for one person.
const PART: u32 = 500;
const PARTS: usize = 20;

#[derive(Debug, Clone, Copy)]
struct Job {
    who: View,
    run: RunId,
    tries: u32,
    /// It has waited for what becomes of its ticket.
    waited: bool,
}

impl Job {
    fn new(who: View, run: RunId) -> Self {
        Self { who, run, tries: 0, waited: false }
    }
}

#[derive(Debug, Default)]
struct Lines {
    waiting: HashMap<TenantId, VecDeque<Job>>,
    /// Tenants in the order in which they have their turn.
    order: VecDeque<TenantId>,
    busy: HashSet<TenantId>,
    queued: HashSet<RunId>,
    /// Runs that come again after a pause.
    later: HashSet<RunId>,
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Work {
    lines: Mutex<Lines>,
    wake: Notify,
    turns: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Work {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One calculation of a tenant at a time, those that somebody asked for included.
    pub(crate) async fn turn(&self, tenant: TenantId) -> OwnedMutexGuard<()> {
        let turn =
            self.turns.lock().unwrap_or_else(PoisonError::into_inner).entry(tenant).or_default().clone();
        turn.lock_owned().await
    }

    /// Runs that wait, and are under way.
    pub(crate) fn waiting(&self) -> usize {
        self.lines().queued.len()
    }

    /// Takes a run in; one that waits already, or has no room, is left out.
    fn push(&self, job: Job, most: usize) -> bool {
        {
            let mut lines = self.lines();
            let waits = lines.later.contains(&job.run);
            if waits || lines.queued.len() >= most || !lines.queued.insert(job.run) {
                return false;
            }
            let tenant = job.who.tenant;
            lines.waiting.entry(tenant).or_default().push_back(job);
            if !lines.order.contains(&tenant) {
                lines.order.push_back(tenant);
            }
        }
        self.wake.notify_one();
        true
    }

    /// The next run of a tenant that has no other under way.
    fn pop(&self) -> Option<Job> {
        let mut lines = self.lines();
        let at = lines.order.iter().position(|tenant| !lines.busy.contains(tenant))?;
        let tenant = lines.order.remove(at)?;
        let job = lines.waiting.get_mut(&tenant).and_then(VecDeque::pop_front);
        if lines.waiting.get(&tenant).is_some_and(|rest| !rest.is_empty()) {
            lines.order.push_back(tenant);
        } else {
            lines.waiting.remove(&tenant);
        }
        if job.is_some() {
            lines.busy.insert(tenant);
        }
        job
    }

    fn done(&self, job: &Job) {
        let mut lines = self.lines();
        lines.busy.remove(&job.who.tenant);
        lines.queued.remove(&job.run);
        drop(lines);
        self.wake.notify_one();
    }

    /// The model did by itself what was matched in this run, so that it is to be looked at.
    pub(crate) fn settled(&self, state: &State, who: &View, run: RunId) {
        self.lines().later.remove(&run);
        self.push(Job { waited: true, ..Job::new(*who, run) }, state.settings.limits.scenarios.queue);
    }
}

/// Queues the runs among these records that ended.
pub(crate) fn ended(state: &State, who: &View, records: &[Record], verdicts: &[Appended]) {
    for (record, verdict) in records.iter().zip(verdicts) {
        let Record::Finish(finish) = record else { continue };
        if *verdict != Appended::Booked || finish.reason == EndReason::Abandoned {
            continue;
        }
        let job = Job::new(View { whole_tenant: false, ..*who }, finish.run_id);
        state.work.push(job, state.settings.limits.scenarios.queue);
    }
}

/// Queues a run after a while. Until then nothing else does.
fn later(state: &State, job: Job, after: Duration) {
    {
        let mut lines = state.work.lines();
        if lines.later.len() >= state.settings.limits.scenarios.queue || !lines.later.insert(job.run) {
            return;
        }
    }
    let state = state.clone();
    tokio::spawn(async move {
        let mut ending = state.ending();
        tokio::select! {
            () = told(&mut ending) => {}
            () = tokio::time::sleep(after) => {
                // One that was queued meanwhile is not queued twice.
                if state.work.lines().later.remove(&job.run) {
                    state.work.push(job, state.settings.limits.scenarios.queue);
                }
            }
        }
    });
}

/// Whether a run waits for what becomes of its ticket; then it comes again.
async fn waits(state: &State, job: &Job) -> bool {
    if job.waited {
        return false;
    }
    match state.store.waiting(&job.who, &[job.run]).await {
        Ok(waiting) => !waiting.is_empty(),
        Err(error) => {
            tracing::debug!(%error, "the tickets of a run cannot be read");
            false
        }
    }
}

/// Looks for runs that ended and have no scenario.
async fn round(state: &State) -> Result<usize, StoreError> {
    let mut found = 0;
    for tenant in state.store.tenants().await? {
        for person in state.store.users(tenant.id).await? {
            let who = View { tenant: tenant.id, user: person.id, whole_tenant: false };
            let mut cursor = None;
            for _ in 0..PARTS {
                let part = state.store.runs_to_calculate(&who, &Page { limit: PART, cursor }).await?;
                for run in part.runs.iter().filter(|run| is_for_it(run)) {
                    let job = Job::new(who, run.id);
                    found += usize::from(state.work.push(job, state.settings.limits.scenarios.queue));
                }
                cursor = part.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
    }
    Ok(found)
}

async fn rounds(state: &State) {
    loop {
        match round(state).await {
            Ok(0) => {}
            Ok(runs) => tracing::info!(target: "scenarios", runs, "runs without a scenario are calculated"),
            Err(error) => {
                tracing::warn!(%error, "runs without a scenario cannot be looked for; that is tried again")
            }
        }
        tokio::time::sleep(state.settings.limits.scenarios.round).await;
    }
}

async fn one(state: &State, job: Job) {
    if waits(state, &job).await {
        later(state, Job { waited: true, ..job }, state.settings.limits.scenarios.ticket);
        return;
    }
    let _turn = state.work.turn(job.who.tenant).await;
    match of_run(state, &job.who, job.run, Cause::Itself).await {
        Ok(Done::Ready(scenario)) => {
            tracing::debug!(target: "scenarios", run = %job.run, %scenario, "a run was calculated")
        }
        Ok(Done::Unusable(scenario)) => {
            tracing::info!(target: "scenarios", run = %job.run, %scenario, "nothing can be had of a run; the scenario says why");
        }
        Ok(Done::Passed) => {}
        Err(Fault::Later(why)) if job.tries < TRIES => {
            tracing::debug!(target: "scenarios", run = %job.run, why, tries = job.tries, "a calculation is tried again");
            later(state, Job { tries: job.tries + 1, ..job }, PAUSE * 2_u32.saturating_pow(job.tries));
        }
        Err(Fault::Later(why)) => {
            tracing::warn!(target: "scenarios", run = %job.run, why, "a run is not calculated now; a later round finds it");
        }
        Err(Fault::Beside(other)) => {
            tracing::warn!(target: "scenarios", run = %job.run, %other, "a run is not calculated now; a later round finds it");
        }
        Err(Fault::Problem(problem)) => {
            tracing::warn!(target: "scenarios", run = %job.run, code = problem.code.as_str(), detail = %problem.detail, "a run cannot be calculated");
        }
    }
}

async fn worker(state: &State) {
    loop {
        let woken = state.work.wake.notified();
        let Some(job) = state.work.pop() else {
            woken.await;
            continue;
        };
        // There may be work for another worker, too.
        state.work.wake.notify_one();
        // In a task of its own: one that fails takes no other with it.
        let mut task = JoinSet::new();
        let own = state.clone();
        task.spawn(async move { one(&own, job).await });
        if let Some(Err(error)) = task.join_next().await {
            tracing::error!(target: "scenarios", run = %job.run, %error, "the calculation of a run failed");
        }
        state.work.done(&job);
    }
}

/// Calculates what ends, until the service does. Dropping it stops it; what was under way is found at the next start.
pub async fn work(state: State) {
    let mut ending = state.ending();
    let mut tasks = JoinSet::new();
    for _ in 0..WORKERS {
        let state = state.clone();
        tasks.spawn(async move { worker(&state).await });
    }
    let rounds_of = state.clone();
    tasks.spawn(async move { rounds(&rounds_of).await });
    tokio::select! {
        () = told(&mut ending) => {}
        // None of them ends by itself: one did, so it has panicked.
        ended = tasks.join_next() => tracing::error!(?ended, "the calculation of scenarios has stopped"),
    }
    tasks.abort_all();
}
