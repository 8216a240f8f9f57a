//! Exit statuses, as wrappers such as `env` and shells have them.

use bir_upstream::child::Signal;
use std::process::ExitStatus;

/// Wrong usage.
pub(crate) const USAGE: u8 = 2;
/// The upstream failed and has no status of its own.
pub(crate) const UPSTREAM: u8 = 1;

/// The status of a process that signal N ended, as shells have it.
const SIGNAL: u8 = 128;

/// The status that stands for an upstream which a signal would have ended.
pub(crate) fn by(signal: Signal) -> u8 {
    SIGNAL
        + match signal {
            Signal::Hangup => 1,
            Signal::Interrupt => 2,
            Signal::Terminate => 15,
            Signal::Kill => 9,
        }
}

/// The status of an upstream that exited: its own, or 128+N when signal N ended it.
#[cfg(unix)]
pub(crate) fn of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| i32::from(SIGNAL) + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(UPSTREAM)
}

/// The status of an upstream that exited.
#[cfg(not(unix))]
pub(crate) fn of(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(UPSTREAM)
}
