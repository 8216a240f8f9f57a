//! `bir-hub serve`: from the configuration to a service that answers, and back.
//!
//! ```text
//! configuration ─▶ state directory held (embedded) ─▶ store opened ─▶ listening ─▶ hub.json ─▶ serving
//! SIGTERM, SIGINT, state directory lost (embedded)
//!   ─▶ no new connections, streams end ─▶ requests have 10 s ─▶ jobs end ─▶ hub.json gone ─▶ store closed
//! ```
//!
//! The order matters: whoever reads `hub.json` finds a hub that answers, and the lock is held until the store is closed.

use crate::config::{self, Config};
use crate::embedded::{self, HubFile, StateDir};
use crate::fault::Fault;
use crate::{args, jobs, log, scenarios, store};
use bir_service::clock::{Clock as _, SystemClock, SystemSource};
use bir_service::{API_VERSION, DeriveSetting, Settings, State, Telemetry};
use bir_store::Store;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Requests under way have so long to end.
const GRACE: Duration = Duration::from_secs(10);
/// The collector has so long to take the last spans.
const TELEMETRY: Duration = Duration::from_secs(3);
/// The store has so long to close.
const CLOSE: Duration = Duration::from_secs(10);
/// The life of a ticket that the embedded hub gives out.
const EMBEDDED_TICKET: Duration = Duration::from_secs(600);

fn listen_fault(address: SocketAddr, error: &std::io::Error) -> Fault {
    let hint = match error.kind() {
        std::io::ErrorKind::AddrInUse => "; another program has that port, choose one with --listen",
        std::io::ErrorKind::PermissionDenied => {
            "; a port below 1024 needs rights, choose a higher one with --listen"
        }
        std::io::ErrorKind::AddrNotAvailable => "; that address is none of this machine's",
        _ => "",
    };
    Fault::new(format!("cannot listen on {address}: {error}{hint}"))
}

/// Listens where it was asked for. The embedded hub takes another port when nobody asked for one and it is taken.
async fn listen(config: &Config, embedded: bool) -> Result<(TcpListener, SocketAddr), Fault> {
    let wanted = config.listen;
    let bound = match TcpListener::bind(wanted).await {
        Err(e) if embedded && !config.listen_asked && e.kind() == std::io::ErrorKind::AddrInUse => {
            TcpListener::bind(SocketAddr::new(wanted.ip(), 0)).await
        }
        other => other,
    };
    let listener = bound.map_err(|e| listen_fault(wanted, &e))?;
    let address = listener.local_addr().map_err(|e| listen_fault(wanted, &e))?;
    Ok((listener, address))
}

/// Resolves when somebody asks for the end. Signals are listened to from here on: who reads the file that announces the hub may send one
/// at once.
#[cfg(unix)]
fn asked_to_end() -> impl Future<Output = &'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let (term, int) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async {
        let (Ok(mut term), Ok(mut int)) = (term, int) else { return std::future::pending().await };
        tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        }
    }
}

#[cfg(not(unix))]
async fn asked_to_end() -> &'static str {
    match tokio::signal::ctrl_c().await {
        Ok(()) => "Ctrl-C",
        Err(_) => std::future::pending().await,
    }
}

/// Serves until it is asked to end.
pub(crate) async fn serve(flags: &args::Serve) -> Result<(), Fault> {
    let state_dir = embedded::find();
    let environment = |name: &str| std::env::var(name).ok();
    let config = config::load(flags, &environment, state_dir.as_deref())?;
    log::begin(config.log_format, &config.log);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let held = match &config.store {
        Some(_) => None,
        None => {
            if !config.listen.ip().is_loopback() {
                return Err(Fault::new(format!(
                    "the embedded hub is for this machine alone and does not listen on {}; for others name a store with --store, \
                     add people with `bir-hub user add`, and see docs/hub.md",
                    config.listen
                )));
            }
            let dir = state_dir.ok_or_else(|| {
                Fault::new("there is no state directory: set HOME or BIR_HOME, or name a store with --store")
            })?;
            Some(StateDir::hold(dir)?)
        }
    };
    let address = match (&held, &config.store) {
        (Some(dir), _) => dir.store(),
        (None, Some(address)) => address.clone(),
        (None, None) => return Err(Fault::new("there is no store")),
    };
    let store = store::open(&address).await?;
    let done = with_store(&config, held.as_ref(), &store).await;
    if tokio::time::timeout(CLOSE, store.close()).await.is_err() {
        tracing::warn!("the store did not close in time");
    }
    done
}

fn settings(config: &Config, listen: SocketAddr, embedded: bool) -> Settings {
    let mut settings = Settings::new(listen);
    settings.version = env!("CARGO_PKG_VERSION").to_owned();
    settings.public_url = config.public_url.clone();
    settings.embedded = embedded;
    if embedded {
        settings.ticket_life = EMBEDDED_TICKET;
    }
    settings
}

async fn with_store(config: &Config, held: Option<&StateDir>, store: &Arc<dyn Store>) -> Result<(), Fault> {
    let token = match held {
        Some(dir) => Some(dir.token(&**store).await?),
        None => None,
    };
    let ending = asked_to_end();
    let (listener, listening) = listen(config, held.is_some()).await?;
    let telemetry = Telemetry::from_env(env!("CARGO_PKG_VERSION"))
        .map_err(|e| Fault::new(format!("{e} (OTEL_EXPORTER_OTLP_…)")))?;
    let mut settings = settings(config, listening, held.is_some());
    let exe = std::env::current_exe().ok();
    scenarios::apply(&mut settings, &|name| std::env::var(name).ok(), exe.as_deref().and_then(Path::parent))?;
    scenarios::redaction(&mut settings, held.map(StateDir::path));
    if let DeriveSetting::On(derive) = &settings.derive {
        tracing::info!(
            host = derive.target.host_port(),
            model = derive.model,
            "a model endpoint may be asked for missing parameters and unexplained values (docs/model-help.md)"
        );
    }
    if !listening.ip().is_loopback() && config.public_url.is_none() {
        tracing::warn!(
            "no public URL is set (--public-url): links point to {listening}, and any host name is answered to"
        );
    }
    let (url, instance) = (settings.base_url(), settings.instance.clone());
    let state =
        State::with(store.clone(), settings, Arc::new(SystemClock), Arc::new(SystemSource), telemetry);

    let mut jobs = tokio::task::JoinSet::new();
    jobs.spawn(jobs::retention(store.clone(), config.retention_days));
    jobs.spawn(jobs::purge(store.clone()));
    jobs.spawn(bir_service::scenarios::work(state.clone()));
    if let (Some(dir), Some(token)) = (held, token) {
        let url = format!("http://{listening}");
        jobs::sweep(&mut jobs, dir.path(), &url, &token);
        dir.announce(&HubFile {
            url,
            token,
            pid: std::process::id(),
            instance: instance.clone(),
            api_version: API_VERSION,
            started_at: SystemClock.now(),
            // Another port was taken for this reason alone.
            taken: (!config.listen_asked && listening.port() != config.listen.port())
                .then_some(config.listen.port()),
        })?;
    }
    tracing::info!(url, listen = %listening, store = store.kind(), embedded = held.is_some(), "the hub is ready");
    let lost = async {
        match held {
            Some(dir) => jobs::lost(dir, &instance).await,
            None => std::future::pending().await,
        }
    };
    let stop = async {
        tokio::select! {
            signal = ending => tracing::info!(signal, "the hub ends"),
            why = lost => tracing::warn!(
                why,
                dir = %held.map(|dir| dir.path().display().to_string()).unwrap_or_default(),
                "the hub ends: its state directory was deleted or is another hub's, and nobody would find it"
            ),
        }
    };
    let clean = bir_service::serve::serve(listener, state.clone(), stop, GRACE).await;
    if !clean {
        tracing::warn!("requests that took too long were cut off");
    }
    jobs.shutdown().await;
    if let Some(dir) = held {
        dir.withdraw(&instance);
    }
    state.close_telemetry(TELEMETRY).await;
    tracing::info!("the hub has ended");
    Ok(())
}
