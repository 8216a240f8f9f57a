//! Sending what is spooled to a hub.
//!
//! ```text
//!  news ──▶ own runs ──▶ batch ──▶ POST /recordings/batch ──▶ ack ──▶ delete
//!  15 s ──▶ abandoned runs (their lock is free) ──▶ the same, then what is open is closed as unknown
//!  failure ──▶ cool-down of 5 s, doubling to 60 s; the destination is looked up again
//! ```
//!
//! One run is shipped by one process: by the one that records it, afterwards by whoever takes its lock. Sending from an
//! earlier place than necessary books nothing twice, so a crash anywhere costs a repetition at most.

mod backoff;
mod batch;
mod run;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::backoff::Backoff;
use crate::hub::{HubClient, HubError};
use crate::spool::{self, Spool};

/// How often is looked for a hub where none is known, and for runs that others left behind.
const LOOK: Duration = Duration::from_secs(15);

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// A person should know.
    Warn,
    /// How things go.
    Info,
}

/// Takes messages. They hold no payload and no token.
pub type Log = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// What a shipper is made with.
pub struct ShipOptions {
    /// The state directory.
    pub state_dir: PathBuf,
    /// What is shipped.
    pub spool: Spool,
    /// `[hub] url` of the configuration.
    pub configured: Option<String>,
    /// Nothing is shipped earlier, unless the shipper is closed.
    pub not_before: Option<Instant>,
    /// Takes messages.
    pub log: Log,
}

/// A thread that ships.
pub struct Shipper {
    state: Arc<State>,
    over: Receiver<()>,
}

#[derive(Default)]
struct State {
    closing: Mutex<bool>,
    news: tokio::sync::Notify,
}

impl State {
    fn is_closing(&self) -> bool {
        *self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shipper {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn start(options: ShipOptions) -> std::io::Result<Self> {
        let state = Arc::new(State::default());
        let (tell, over) = channel();
        let theirs = Arc::clone(&state);
        std::thread::Builder::new().name("ship".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => {
                    runtime.block_on(work(options, &theirs));
                    // A name that is being looked up on another thread is not worth waiting for.
                    runtime.shutdown_background();
                }
                Err(e) => (options.log)(Level::Warn, &format!("nothing is sent to the hub: {e}")),
            }
            let _ = tell.send(());
        })?;
        Ok(Self { state, over })
    }

    /// Sends what it can within the budget, and ends. What is left stays in the spool.
    pub fn close(self, budget: Duration) {
        *self.state.closing.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.state.news.notify_one();
        let _ = self.over.recv_timeout(budget);
    }
}

async fn work(options: ShipOptions, state: &State) {
    let ShipOptions { state_dir, spool, configured, not_before, log } = options;
    if let Some(start) = not_before {
        let early = tokio::time::sleep_until(start.into());
        tokio::select! { () = early => {}, () = state.news.notified() => {} }
    }
    let mut backoff = Backoff::default();
    let mut client: Option<HubClient> = None;
    let mut told = HashSet::new();
    let mut last_look: Option<Instant> = None;
    loop {
        let closing = state.is_closing();
        if client.is_none() {
            match connect(&state_dir, configured.as_deref()).await {
                Ok(found) => client = found,
                Err(e) => tell_once(&log, &mut told, &e),
            }
        }
        let pause = match &mut client {
            None => LOOK,
            Some(client_now) => {
                let look = !closing && last_look.is_none_or(|at| at.elapsed() >= LOOK);
                if look {
                    last_look = Some(Instant::now());
                }
                match ship_all(client_now, &spool, true, look, &log).await {
                    Ok(()) => {
                        backoff.reset();
                        told.clear();
                        Duration::ZERO
                    }
                    Err(e) => {
                        tell_once(&log, &mut told, &e);
                        client = None;
                        let asked = match &e {
                            HubError::Refused { retry_after, .. } => *retry_after,
                            _ => None,
                        };
                        backoff.next(random(), asked)
                    }
                }
            }
        };
        if closing {
            return;
        }
        if pause.is_zero() {
            let news = spool.inner().news.notified();
            tokio::select! { () = news => {}, () = state.news.notified() => {}, () = tokio::time::sleep(LOOK) => {} }
        } else {
            tokio::select! { () = tokio::time::sleep(pause) => {}, () = state.news.notified() => {} }
        }
    }
}

async fn connect(state_dir: &Path, configured: Option<&str>) -> Result<Option<HubClient>, HubError> {
    match HubClient::find(state_dir, configured) {
        Ok(client) => {
            client.health().await?;
            Ok(Some(client))
        }
        Err(HubError::NoHub) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Ships the runs of this process and, where asked for, those that nobody has any more.
async fn ship_all(
    client: &mut HubClient,
    spool: &Spool,
    own: bool,
    abandoned: bool,
    log: &Log,
) -> Result<(), HubError> {
    if own {
        for (run, over) in spool.own_runs() {
            run::ship(client, spool, run, over, log).await?;
        }
    }
    if abandoned {
        for run in spool.abandoned() {
            // Held until it is shipped.
            let Some(_lock) = spool::try_lock(&spool.inner().dir, run) else { continue };
            match run::ship(client, spool, run, true, log).await {
                // What is wrong with the files of one run is no matter of the others.
                Err(e @ HubError::State { .. }) => {
                    log(Level::Warn, &format!("{run} stays in the spool: {e}"))
                }
                other => drop(other?),
            }
        }
    }
    Ok(())
}

/// Ships what living processes do not: for a command that is about to show runs, and for the embedded hub.
///
/// # Errors
///
/// The hub does not take it; it stays in the spool then.
pub async fn sweep(
    client: &mut HubClient,
    spool: &Spool,
    budget: Duration,
    log: &Log,
) -> Result<(), HubError> {
    let url = client.destination().url.clone();
    match tokio::time::timeout(budget, ship_all(client, spool, false, true, log)).await {
        Ok(result) => result,
        Err(_) => Err(HubError::Timeout { url, after: budget }),
    }
}

fn tell_once(log: &Log, told: &mut HashSet<String>, e: &HubError) {
    let text = e.to_string();
    // Causes are few; a text that varies without end must not fill the memory.
    if told.len() < 64 && told.insert(text.clone()) {
        log(Level::Warn, &format!("what is recorded stays in the spool for now: {text}"));
    }
}

fn random() -> u8 {
    let mut byte = [0];
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut byte);
    byte[0]
}
