//! What ends a session from outside: signals, and the end of the host's process.

use bir_upstream::child::Signal;

/// Calls `tell` for each signal that is to be passed on, from a thread of its own.
#[cfg(unix)]
pub(super) fn signals(tell: impl Fn(Signal) + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let run = move || {
        for signal in signals.forever() {
            tell(match signal {
                SIGHUP => Signal::Hangup,
                SIGINT => Signal::Interrupt,
                _ => Signal::Terminate,
            });
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(run).map(drop)
}

#[cfg(not(unix))]
pub(super) fn signals(_tell: impl Fn(Signal) + Send + 'static) -> std::io::Result<()> {
    Ok(())
}

/// Calls `gone` once when the process that started us has ended.
#[cfg(unix)]
pub(super) fn parent(gone: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let Some(parent) = rustix::process::getppid() else { return Ok(()) };
    if parent.is_init() {
        // Started by nobody, or our parent has ended already; stdin will tell.
        return Ok(());
    }
    let run = move || {
        wait_for_end_of(parent);
        gone();
    };
    std::thread::Builder::new().name("parent".into()).spawn(run).map(drop)
}

#[cfg(not(unix))]
pub(super) fn parent(_gone: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn wait_for_end_of(parent: rustix::process::Pid) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, getppid, pidfd_open};
    let Ok(handle) = pidfd_open(parent, PidfdFlags::empty()) else { return poll_for_end_of(parent) };
    if getppid() != Some(parent) {
        return; // it ended before the handle was ours
    }
    loop {
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], None) {
            Ok(_) => return,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return poll_for_end_of(parent),
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn wait_for_end_of(parent: rustix::process::Pid) {
    poll_for_end_of(parent);
}

/// An orphan gets another parent.
#[cfg(unix)]
fn poll_for_end_of(parent: rustix::process::Pid) {
    while rustix::process::getppid() == Some(parent) {
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
}
