//! What ends a session from outside: signals, and the end of the host's process.

use bir_upstream::child::Signal;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal that is to be passed on has come.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// Whether a signal has asked for the end: nothing is waited for then.
pub(crate) fn was_signalled() -> bool {
    SIGNALLED.load(Ordering::Relaxed)
}

/// Calls `tell` for each signal that is to be passed on, from a thread of its own.
#[cfg(unix)]
pub(crate) fn signals(tell: impl Fn(Signal) + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
    // What was ignored when we were started stays ignored, for the server as well: `nohup`, a shell's `&`.
    let ignored = ignored_signals();
    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|s| ignored & (1 << (s - 1)) == 0);
    // Where SIGCHLD is ignored, a child's exit status is lost; with a handler it is not.
    let mut signals = signal_hook::iterator::Signals::new(wanted.chain([SIGCHLD]))?;
    let run = move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGHUP => Signal::Hangup,
                SIGINT => Signal::Interrupt,
                SIGTERM => Signal::Terminate,
                _ => continue,
            };
            SIGNALLED.store(true, Ordering::Relaxed);
            tell(signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(run).map(drop)
}

/// The signals that are ignored, as a mask.
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Not to be found out here without unsafe code; the handlers are installed as ever.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored_signals() -> u64 {
    0
}

#[cfg(not(unix))]
pub(crate) fn signals(_tell: impl Fn(Signal) + Send + 'static) -> std::io::Result<()> {
    Ok(())
}

/// What befalls the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "nothing watches the host there"))]
pub(crate) enum HostFate {
    /// The process that started us has ended, or nobody reads our stdout any more.
    Ended,
    /// Nobody holds the other end of our stdin any more; what was written may still be unread.
    #[cfg_attr(all(unix, not(target_os = "linux")), expect(dead_code, reason = "found out on Linux only"))]
    HungUp,
}

/// Calls `tell` for what befalls the host, from a thread of its own.
#[cfg(unix)]
pub(crate) fn host(tell: impl Fn(HostFate) + Send + 'static) -> std::io::Result<()> {
    let parent = rustix::process::getppid();
    // Started by nobody, or our parent has ended already: stdin will tell.
    let parent = parent.filter(|p| !p.is_init());
    std::thread::Builder::new().name("host fate".into()).spawn(move || watch_host(parent, &tell)).map(drop)
}

#[cfg(not(unix))]
pub(crate) fn host(_tell: impl Fn(HostFate) + Send + 'static) -> std::io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn watch_host(parent: Option<rustix::process::Pid>, tell: &impl Fn(HostFate)) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, getppid, pidfd_open};
    let process = parent.and_then(|p| pidfd_open(p, PidfdFlags::empty()).ok());
    if parent.is_some() && getppid() != parent {
        return tell(HostFate::Ended); // before the handle was ours
    }
    if parent.is_some() && process.is_none() {
        return poll_for_end_of(parent, tell);
    }
    let mut hung_up = false;
    let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    loop {
        // No events are asked for on the host's pipes: only their end is reported. A host that closed our output has gone,
        // whether or not there is anything to say to it.
        let mut watched = vec![PollFd::new(&stdout, PollFlags::empty())];
        watched.extend(process.as_ref().map(|p| PollFd::new(p, PollFlags::IN)));
        let ends = watched.len();
        watched.extend((!hung_up).then(|| PollFd::new(&stdin, PollFlags::empty())));
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return poll_for_end_of(parent, tell),
        }
        let has_ended = |fd: &PollFd<'_>| !fd.revents().is_empty();
        if watched[..ends].iter().any(has_ended) {
            return tell(HostFate::Ended);
        }
        if watched[ends..].iter().any(has_ended) {
            hung_up = true;
            tell(HostFate::HungUp);
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn watch_host(parent: Option<rustix::process::Pid>, tell: &impl Fn(HostFate)) {
    poll_for_end_of(parent, tell);
}

/// An orphan gets another parent.
#[cfg(unix)]
fn poll_for_end_of(parent: Option<rustix::process::Pid>, tell: &impl Fn(HostFate)) {
    if parent.is_none() {
        return;
    }
    while rustix::process::getppid() == parent {
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    tell(HostFate::Ended);
}
