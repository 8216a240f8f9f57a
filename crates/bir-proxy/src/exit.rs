//! Exit statuses, as wrappers such as `env` and shells have them.

use std::process::ExitStatus;

/// Wrong usage.
pub(crate) const USAGE: u8 = 2;
/// The upstream failed and has no status of its own.
pub(crate) const UPSTREAM: u8 = 1;

/// The status of an upstream that exited: its own, or 128+N when signal N ended it.
#[cfg(unix)]
pub(crate) fn of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(UPSTREAM)
}

/// The status of an upstream that exited.
#[cfg(not(unix))]
pub(crate) fn of(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(UPSTREAM)
}
