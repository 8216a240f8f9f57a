//! The recorder's view of this program: where it runs, whether it may, and the log.

mod way;

use crate::args::Relay;
use crate::log;
use crate::replay::{OwnCalls, Poller};
use bir_control_client::Replay;
use bir_home::state_dir;
use bir_model::control::{API_VERSION, Registration};
use bir_model::record::ServerInfo;
use bir_record::recorder::{Farewell, Level, MAX_COPY, Options, ProxyTap, Recorder, Scope, Surroundings};
use bir_wire::Limits;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use way::Way;

/// Where Copilot CLI tells its servers which session they belong to. What other hosts leave in the environment is often another
/// session's (facts/claude-code.md §0.4).
const HOST_SESSION: &str = "COPILOT_AGENT_SESSION_ID";

/// Makes the recorder and its tap, unless nothing is to be recorded. Nothing is read or started before the first call, or where
/// ids may come in the arguments (`takes_call_ids`) before the host asks which tools there are.
pub(crate) fn prepare(
    relay: &Relay,
    takes_call_ids: Option<Arc<AtomicBool>>,
    own: &Arc<OwnCalls>,
) -> Option<(Recorder, ProxyTap)> {
    if !relay.record {
        log::info!("nothing is recorded, as `--no-record` says");
        return None;
    }
    let directory = std::env::current_dir().ok();
    Some(Recorder::new(Options {
        server: relay.server_name.as_str().to_owned(),
        standalone: relay.standalone,
        scope: relay.scope.unwrap_or(Scope::Any),
        state_dir: state_dir(),
        registration: registration(relay, directory.as_deref()),
        takes_call_ids,
        introduces: may_replay(relay, directory.as_deref()),
        link: Box::new(Way::new(directory.clone(), Poller::new(Arc::clone(own), directory.clone()))),
        surroundings: Box::new(Here { directory }),
        say: Arc::new(|level, text| match level {
            Level::Warn => log::warn!("{text}"),
            Level::Info => log::info!("{text}"),
            Level::Debug => log::debug!("{text}"),
        }),
    }))
}

/// Whether there may be work for a plan, as far as the files tell: then the control server is told of this proxy before its
/// first call.
fn may_replay(relay: &Relay, directory: Option<&Path>) -> bool {
    let (Some(state), Some(directory)) = (state_dir(), directory) else { return false };
    !relay.standalone && Replay::of_environment().is_on(&state, directory)
}

/// Whether a control server may put ids into arguments, as far as the files tell: one can come here, and it is not switched off.
pub(crate) fn may_ids_come(relay: &Relay) -> bool {
    let (Some(state), Ok(directory)) = (state_dir(), std::env::current_dir()) else { return false };
    if !relay.record || relay.standalone || bir_home::off::is_off() {
        return false;
    }
    let variable = |name: &str| std::env::var(name).ok();
    let place = bir_control_client::find(Some(&state), &directory, &variable);
    let is_set_up = !matches!(place, Ok(bir_control_client::Place::Nowhere));
    is_set_up && !bir_control_client::stopped_file(&state).exists()
}

/// Bytes of the head of a message that streams that are kept: enough for what a log tells, and where there is a recorder
/// for what it copies.
pub(crate) fn keep(recorded: bool) -> usize {
    if recorded { MAX_COPY } else { Limits::default().keep }
}

/// Ends the recording as the relay has ended.
pub(crate) fn close(recorder: Recorder) {
    let farewell = if crate::watch::was_signalled() { Farewell::Signal } else { Farewell::Clean };
    recorder.close(farewell);
}

/// Who this is; what the handshake tells comes later.
fn registration(relay: &Relay, directory: Option<&Path>) -> Registration {
    // A path that is no text can stand in no message.
    let text = |path: &Path| PathBuf::from(path.to_string_lossy().into_owned());
    Registration {
        api_version: API_VERSION,
        version: env!("CARGO_PKG_VERSION").into(),
        proxy_id: String::new(),
        server: ServerInfo { name: relay.server_name.as_str().to_owned(), ..ServerInfo::default() },
        pid: std::process::id(),
        parent_pid: parent_pid(),
        cwd: directory.map(text).unwrap_or_default(),
        host: None,
        host_session: std::env::var(HOST_SESSION).ok().filter(|session| !session.is_empty()),
        takes_call_id: relay.call_ids,
        tools: None,
    }
}

/// The host, as long as it lives: read at the start.
#[cfg(unix)]
fn parent_pid() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent_pid() -> u32 {
    0
}

struct Here {
    directory: Option<PathBuf>,
}

impl Surroundings for Here {
    fn project(&mut self) -> Option<PathBuf> {
        self.directory.as_deref().map(bir_control_client::project_of)
    }

    fn is_off(&mut self) -> bool {
        bir_home::off::is_off()
    }
}
