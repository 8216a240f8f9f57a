//! The threads of a session: two pumps, the upstream's stderr, its exit, and the watch on the outside.

use super::Event;
use super::flow::Rules;
use super::from_host::FromHost;
use super::from_upstream::FromUpstream;
use super::noise::forward_stderr;
use super::patient::Patient;
use super::pump::{self, End};
use super::shared::Shared;
use crate::{log, watch};
use bir_model::Direction;
use bir_upstream::child::ChildUpstream;
use std::io;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::mpsc::Sender;

pub(super) fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(run).map(drop)
}

/// Signals, and the fate of the host.
pub(super) fn watches(tell: &Sender<Event>) -> io::Result<()> {
    let to = tell.clone();
    watch::signals(move |signal| drop(to.send(Event::Signal(signal))))?;
    let to = tell.clone();
    watch::host(move |fate| {
        let event = match fate {
            watch::HostFate::Ended => Event::HostGone,
            watch::HostFate::HungUp => Event::HostHungUp,
        };
        drop(to.send(event));
    })
}

/// Tells the supervisor that a pump is over, also when it panicked: no direction stops in silence.
struct LastWords {
    direction: Direction,
    tell: Sender<Event>,
    event: Option<Event>,
}

impl Drop for LastWords {
    fn drop(&mut self) {
        if std::thread::panicking() {
            log::error!("{}: the relay failed, and the session ends", self.direction);
            let _ = self.tell.send(Event::HostGone);
        }
        if let Some(event) = self.event.take() {
            let _ = self.tell.send(event);
        }
    }
}

/// Moves the host's messages until its input ends. Of those that stream so many bytes are kept for the observer.
pub(super) fn host_pump(shared: &Arc<Shared>, tell: &Sender<Event>, keep: usize) -> io::Result<()> {
    let (shared, tell, stdin) = (Arc::clone(shared), tell.clone(), host_stdin()?);
    thread("host", move || {
        let direction = Direction::HostToUpstream;
        let _last = LastWords { direction, tell, event: Some(Event::HostClosed) };
        let rules = Rules { frames_only: false, max_message: None, keep };
        match pump::run(stdin, rules, &mut FromHost::new(&shared)) {
            End::Broken(e) | End::Refused(e) => log::warn!("{direction}: {e}"),
            End::Drained => {}
        }
    })
}

/// Attends to a child: forwards what it says and waits for its exit. Returns its stdin.
pub(super) fn child_threads(
    child: &mut ChildUpstream,
    start: u32,
    rules: Rules,
    shared: &Arc<Shared>,
    tell: &Sender<Event>,
) -> io::Result<ChildStdin> {
    let (stdin, stdout, stderr) = child.take_pipes().ok_or_else(|| io::Error::other("it has no pipes"))?;
    let (for_pump, to) = (Arc::clone(shared), tell.clone());
    thread("upstream", move || {
        let direction = Direction::UpstreamToHost;
        let last = LastWords { direction, tell: to, event: Some(Event::UpstreamDrained { start }) };
        match pump::run(stdout, rules, &mut FromUpstream::new(&for_pump)) {
            End::Refused(e) => {
                log::debug!("{direction}: {e}");
                let _ = last.tell.send(Event::HostGone);
            }
            End::Broken(e) => log::warn!("{direction}: {e}"),
            End::Drained => {}
        }
    })?;
    let name = shared.server_name.clone();
    let to = tell.clone();
    thread("stderr", move || {
        forward_stderr(stderr, name.as_str());
        let _ = to.send(Event::UpstreamSilent { start });
    })?;
    let (watch, to) = (child.exit_watch(), tell.clone());
    thread("exit", move || {
        if let Err(e) = watch.wait() {
            log::warn!("the server's exit cannot be awaited: {e}");
        }
        let _ = to.send(Event::UpstreamExited { start });
    })?;
    Ok(stdin)
}

#[cfg(unix)]
pub(super) fn host_stdout() -> io::Result<Patient> {
    Ok(Patient(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?.into()))
}

#[cfg(unix)]
fn host_stdin() -> io::Result<Patient> {
    Ok(Patient(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?.into()))
}

#[cfg(windows)]
pub(super) fn host_stdout() -> io::Result<Patient> {
    use std::os::windows::io::AsHandle as _;
    Ok(Patient(io::stdout().as_handle().try_clone_to_owned()?.into()))
}

#[cfg(windows)]
fn host_stdin() -> io::Result<Patient> {
    use std::os::windows::io::AsHandle as _;
    Ok(Patient(io::stdin().as_handle().try_clone_to_owned()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_pump_that_panics_ends_the_session() {
        let (tell, told) = channel();
        let pump = thread("pump", move || {
            let _last = LastWords {
                direction: Direction::HostToUpstream,
                tell,
                event: Some(Event::UpstreamDrained { start: 7 }),
            };
            panic!("a fault of the pump");
        });
        pump.unwrap();
        assert!(matches!(told.recv(), Ok(Event::HostGone)));
        assert!(matches!(told.recv(), Ok(Event::UpstreamDrained { start: 7 })));
    }
}
