//! The life of a control server.
//!
//! ```text
//!   claim ──▶ hear journals and inbox ──▶ listen ──▶ say where ──▶ serve ──▶ 503 ──▶ flush ──▶ say no more ──▶ release
//!     │ another one serves                                          │ signal, /shutdown, nobody for half an hour
//!     └──▶ end                                                      └ runs that are open stay in the journal
//! ```

use crate::core::{Around, Core, Work};
use crate::journal::Journal;
use crate::ledger::{Ledger, Transcripts};
use crate::log::Log;
use crate::projects::{Projects, Served, secret};
use crate::server::{QUEUE, Reason, Server};
use crate::single::{Claim, Sole};
use crate::work::{Desk, Works};
use bir_control_client::{Replay, projects, stopped_file};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};

/// After so long without a request, and without a host that lives, a control server ends.
pub const IDLE: Duration = Duration::from_secs(30 * 60);
/// How often is looked whether that is so, and which projects are set up.
const LOOK: Duration = Duration::from_secs(1);
/// How long answers may take to reach who waits for them, when nothing else is left to be done.
const LAST_ANSWERS: Duration = Duration::from_millis(100);
/// How long the end may take: what was taken reaches the disk.
const LAST: Duration = Duration::from_millis(1500);

/// What a control server is made with.
pub struct Options {
    /// The state directory.
    pub state_dir: PathBuf,
    /// The release, as it is told to others.
    pub version: String,
    /// Serve although `bir down` stopped it.
    pub force: bool,
    /// [`IDLE`], or what somebody chose.
    pub idle: Duration,
    /// Its log.
    pub log: Log,
    /// End when this is told, besides SIGINT and SIGTERM.
    pub stop: Arc<Notify>,
    /// Whether replay is on.
    pub replay: Replay,
    /// Is given the handle to the work of proxies, once it serves.
    pub works: Option<Sender<Works>>,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Another one serves that is as new.
    Elsewhere,
    /// Nobody has wanted anything for a long time.
    Idle,
    /// A signal, or [`Options::stop`].
    Told,
    /// `bir down`.
    Down,
    /// A newer release takes over.
    Upgraded,
}

/// Why there is no control server.
#[derive(Debug, Error)]
pub enum ServeError {
    /// `bir down` stopped it.
    #[error("it was stopped with `bir down`; `bir up` starts it again")]
    Stopped,
    /// Another process has the lock, and neither answers nor ends.
    #[error("another control server holds control/serve.lock and does not answer")]
    Stuck,
    /// The state directory, a socket, or a thread.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a token")]
    NoRandomness,
    /// The thread that owns the runs has ended: a fault of ours.
    #[error("the control server failed; what it was told is in its journal")]
    Failed,
}

/// Serves until there is a reason to end. Not to be called where a runtime runs.
///
/// # Errors
///
/// It cannot serve, or not any more.
pub fn serve<L, T>(options: Options, ledger: L, transcripts: T) -> Result<End, ServeError>
where
    L: Ledger + 'static,
    T: Transcripts + Default + 'static,
{
    if !options.force && stopped_file(&options.state_dir).exists() {
        return Err(ServeError::Stopped);
    }
    let sole = match Sole::claim(&options.state_dir, &options.version, &options.log)? {
        Claim::Ours(sole) => sole,
        Claim::Theirs => return Ok(End::Elsewhere),
        Claim::Stuck => return Err(ServeError::Stuck),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = tokio::task::LocalSet::new().block_on(&runtime, live(&options, &sole, ledger, transcripts));
    runtime.shutdown_background();
    options.log.info(&match &ended {
        Ok(end) => format!("ended: {end:?}"),
        Err(e) => format!("ended: {e}"),
    });
    ended
}

async fn live<L, T>(options: &Options, sole: &Sole, ledger: L, transcripts: T) -> Result<End, ServeError>
where
    L: Ledger + 'static,
    T: Transcripts + Default + 'static,
{
    let mut signals = Signals::new()?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let started_at = crate::now();
    let hosts_alive = Arc::new(AtomicBool::new(false));
    let around = Around {
        state_dir: options.state_dir.clone(),
        version: options.version.clone(),
        started_at,
        log: options.log.clone(),
        hosts_alive: Arc::clone(&hosts_alive),
        projects: set_up(&options.state_dir),
        replay: options.replay,
    };
    let (core, work) = sync_channel(QUEUE);
    let (ready, is_ready) = oneshot::channel();
    let (tell_over, mut over) = oneshot::channel::<()>();
    std::thread::Builder::new().name("core".into()).spawn(move || {
        // However it ends, whoever waits hears of it.
        let _over = tell_over;
        run_core(around, ledger, transcripts, ready, &work);
    })?;
    is_ready.await.map_err(|_| ServeError::Failed)?;

    let url = format!("http://127.0.0.1:{port}");
    let successor = secret().ok_or(ServeError::NoRandomness)?;
    let served =
        Served { url: url.clone(), pid: std::process::id(), started_at, version: options.version.clone() };
    let projects = Projects::new(&options.state_dir, served, &successor);
    let (desk, works, asked) = Desk::new(&options.state_dir, options.replay, options.log.clone());
    let server = Rc::new(Server::new(port, projects, core, Rc::clone(&desk), options.log.clone()));
    sole.tell(&url, &successor, &options.version)?;
    server.look_at_projects();
    options.log.info(&format!("release {} serves at {url}", options.version));
    if let Some(give) = &options.works {
        // Whoever does not wait for it any more has no work either.
        let _ = give.send(works);
    }

    let ended = tokio::select! {
        () = server.listen(&listener) => Err(ServeError::Failed),
        _ = &mut over => Err(ServeError::Failed),
        () = server.end.notified() => Ok(match server.end_reason.get() {
            Some(Reason::Upgrade) => End::Upgraded,
            _ => End::Down,
        }),
        () = options.stop.notified() => Ok(End::Told),
        () = signals.next() => Ok(End::Told),
        () = idle(&server, &options.state_dir, options.idle, &hosts_alive) => Ok(End::Idle),
        () = desk.run(&server, asked) => Err(ServeError::Failed),
    };

    server.closed.set(true);
    desk.close();
    server.projects.borrow().leave();
    // What waits in its queue is taken first. Who comes now is told that nobody takes it.
    let failed = ended.is_err();
    let flush = async {
        if failed {
            // Whoever waits is told that nobody takes it.
            tokio::time::sleep(LAST_ANSWERS).await;
        } else {
            let _ = server.core.try_send(Work::Stop);
            let _ = (&mut over).await;
        }
    };
    tokio::select! {
        () = server.listen(&listener) => {}
        () = flush => {}
        () = tokio::time::sleep(LAST) => options.log.warn("the end took too long; the journal has what was taken"),
    }
    ended
}

/// The core's thread. A journal at which it fails is set aside: the next start would fail at it, too.
fn run_core<L: Ledger, T: Transcripts + Default>(
    around: Around,
    ledger: L,
    transcripts: T,
    ready: oneshot::Sender<()>,
    work: &Receiver<Work>,
) {
    let (again, log) = (around.clone(), around.log.clone());
    let fresh = ledger.anew();
    let started = catch_unwind(AssertUnwindSafe(|| Core::start(around, ledger, transcripts)));
    let core = started.or_else(|_| {
        log.error("the journals could not be heard again, and are set aside in control/journal.aside");
        if let Err(e) = Journal::set_aside(&again.state_dir) {
            log.error(&format!("they stay: {e}"));
        }
        catch_unwind(AssertUnwindSafe(|| Core::start(again, fresh, T::default())))
    });
    let Ok(core) = core else { return };
    let _ = ready.send(());
    if catch_unwind(AssertUnwindSafe(|| core.run(work))).is_err() {
        log.error("a fault of our own ended the recording; the next control server goes on");
    }
}

/// Ends when nobody has wanted anything for so long and no host lives; looks for new projects meanwhile.
async fn idle(server: &Server, state_dir: &Path, after: Duration, hosts_alive: &AtomicBool) {
    loop {
        tokio::time::sleep(LOOK).await;
        server.look_at_projects();
        // Whoever took the state directory away wants nothing of it any more.
        if !state_dir.exists() {
            return;
        }
        if server.last_request.get().elapsed() >= after && !hosts_alive.load(Ordering::Relaxed) {
            return;
        }
    }
}

fn set_up(state_dir: &Path) -> Vec<Arc<Path>> {
    projects::list(state_dir).into_iter().filter_map(|(_, said)| said.project).map(Into::into).collect()
}

/// SIGINT and SIGTERM.
#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 2]);

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
