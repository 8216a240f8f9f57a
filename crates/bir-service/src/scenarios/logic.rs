//! Where bodies of logic are evaluated: workers of `bir-sandbox`, a few at once, each for one request at a time.

use crate::problem::{Code, Problem};
use crate::settings::Settings;
use crate::state::State;
use bir_calc::edit::Checker;
use bir_calc::{Logic, Stored};
use bir_plan::sandbox::Sandbox;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Workers for dry replays and for calculations, and checks at once, each of which has its own.
const REPLAYS: usize = 2;
const CALCULATIONS: usize = 2;
const CHECKS: usize = 2;
/// A request waits so long for a worker.
const WAIT: Duration = Duration::from_secs(3);

/// Workers of one kind.
#[derive(Debug)]
pub(crate) struct Workers {
    program: Option<PathBuf>,
    idle: Arc<Mutex<Vec<Sandbox>>>,
    turns: Arc<Semaphore>,
}

/// A worker that is in use; it goes back by itself.
#[derive(Debug)]
pub(crate) struct Worker {
    sandbox: Option<Sandbox>,
    idle: Arc<Mutex<Vec<Sandbox>>>,
    _turn: OwnedSemaphorePermit,
}

impl Workers {
    fn new(program: Option<PathBuf>, most: usize) -> Self {
        Self { program, idle: Arc::default(), turns: Arc::new(Semaphore::new(most)) }
    }

    /// One that nobody uses. Nothing is started yet: that comes with the first body.
    pub(crate) async fn take(&self) -> Result<Worker, Problem> {
        let turn = wait(&self.turns).await?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // Without a program whatever is evaluated says that there is none.
        let sandbox = idle.unwrap_or_else(|| Sandbox::new(self.program.clone().unwrap_or_default()));
        Ok(Worker { sandbox: Some(sandbox), idle: self.idle.clone(), _turn: turn })
    }

    /// Whether there is a program to start.
    pub(crate) fn is_there(&self) -> bool {
        self.program.as_deref().is_some_and(std::path::Path::is_file)
    }
}

impl Worker {
    pub(crate) fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sandbox);
        }
    }
}

/// All workers.
#[derive(Debug)]
pub(crate) struct Sandboxes {
    /// For dry replays.
    replays: Workers,
    pub(crate) calculations: Workers,
    /// Checks at once.
    checks: Arc<Semaphore>,
}

impl Sandboxes {
    pub(crate) fn new(settings: &Settings) -> Self {
        let program = || settings.sandbox.clone();
        Self {
            replays: Workers::new(program(), REPLAYS),
            calculations: Workers::new(program(), CALCULATIONS),
            checks: Arc::new(Semaphore::new(CHECKS)),
        }
    }
}

/// Milliseconds that one body may take.
pub(crate) fn body_ms(state: &State) -> u64 {
    u64::try_from(state.settings.logic_timeout.as_millis()).unwrap_or(u64::MAX)
}

fn broke(error: &tokio::task::JoinError) -> Problem {
    tracing::error!(%error, "logic could not be looked at");
    Problem::new(Code::Internal, "the logic could not be looked at; the hub's log says why")
}

/// Does something with a scenario whose calculated steps need no worker; where some are edited, with one if there is one.
pub(crate) async fn with<T: Send + 'static>(
    state: &State,
    stored: Stored,
    act: impl FnOnce(&Stored, Option<Logic<'_>>) -> T + Send + 'static,
) -> Result<T, Problem> {
    let edited = stored.has_edits() && state.sandboxes.replays.is_there();
    let worker = if edited { Some(state.sandboxes.replays.take().await?) } else { None };
    let (ms, budget) = (body_ms(state), state.settings.edit_budget);
    let acting = tokio::task::spawn_blocking(move || {
        let sandbox = worker.as_ref().and_then(Worker::sandbox);
        act(&stored, sandbox.map(|sandbox| Logic::new(sandbox, ms, budget)))
    });
    acting.await.map_err(|error| broke(&error))
}

/// Checks a change, in workers of its own.
pub(crate) async fn check<T: Send + 'static>(
    state: &State,
    stored: Stored,
    act: impl FnOnce(&Stored, &Checker<'_>) -> T + Send + 'static,
) -> Result<T, Problem> {
    let sandboxes = &state.sandboxes;
    if !sandboxes.replays.is_there() {
        return Err(unavailable());
    }
    let turn = wait(&sandboxes.checks).await?;
    let program = state.settings.sandbox.clone().unwrap_or_default();
    let (body_ms, budget) = (body_ms(state), state.settings.edit_budget);
    let acting = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        act(&stored, &Checker { program: &program, body_ms, budget })
    });
    acting.await.map_err(|error| broke(&error))
}

async fn wait(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    match tokio::time::timeout(WAIT, turns.clone().acquire_owned()).await {
        Ok(Ok(turn)) => Ok(turn),
        _ => {
            let busy = "too many bodies of logic are evaluated now; try again in a moment";
            Err(Problem::new(Code::LogicSandboxUnavailable, busy).after(5))
        }
    }
}

/// There is no program that evaluates.
pub(crate) fn unavailable() -> Problem {
    Problem::new(
        Code::LogicSandboxUnavailable,
        "the hub found no bir-sandbox beside its own program, or cannot start it (BIR_SANDBOX names another): nothing was \
         checked, saved or undone",
    )
}
