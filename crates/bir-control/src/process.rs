//! Whether a process is still the one that it was.

use std::time::Duration;

/// Ticks of a second in `/proc`, on every Linux that there is (`USER_HZ`).
#[cfg(target_os = "linux")]
const TICKS: u64 = 100;

/// A process, with what tells it from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    began: u64,
}

impl Process {
    /// The process that has this number now. None: there is none, or it cannot be told here.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        (pid > 1).then(|| began(pid).map(|began| Self { pid, began })).flatten()
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(self) -> bool {
        began(self.pid) == Some(self.began)
    }

    /// Whether it began before a moment, as far as that is known; `slack` is what clocks may differ by.
    pub(crate) fn began_before(self, epoch_ms: u64, slack: Duration) -> bool {
        let Some(boot) = booted_at() else { return true };
        boot + self.began <= epoch_ms.saturating_add(u64::try_from(slack.as_millis()).unwrap_or(u64::MAX))
    }
}

/// ms between the machine's start and the process's. A process that has ended and is waited for is gone.
#[cfg(target_os = "linux")]
fn began(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    // proc(5): field 22 is the start time; the state is field 3.
    let ticks: u64 = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(ticks * 1000 / TICKS)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn began(pid: u32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => Some(0),
        Err(_) => None,
    }
}

#[cfg(not(unix))]
fn began(_: u32) -> Option<u64> {
    None
}

/// When the machine started, ms since the Unix epoch.
#[cfg(target_os = "linux")]
fn booted_at() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let up: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(now.checked_sub(Duration::try_from_secs_f64(up).ok()?)?.as_millis()).ok()
}

#[cfg(not(target_os = "linux"))]
fn booted_at() -> Option<u64> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert!(process.is_alive());
        assert!(process.began_before(crate::now(), Duration::from_secs(10)));
        #[cfg(target_os = "linux")]
        assert!(!process.began_before(crate::now() - 60_000, Duration::from_secs(10)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert_eq!((Process::of(child.id()), Process::of(0)), (None, None));
    }
}
