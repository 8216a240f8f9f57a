//! Whatever a process leaves behind.
//!
//! On Linux this program becomes the one that orphans fall to, so nothing that the entry started can escape. Elsewhere only
//! the process group is ended, and what left the group is the proxy's own to end.

/// Makes orphans of our descendants our own children.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() {
    // Without it only the group is ended, as on other systems.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() {}

/// Kills the process group of `leader`.
#[cfg(unix)]
pub(super) fn kill_group(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL); // nobody may be left in it
    }
}

/// Asks a process to end.
#[cfg(unix)]
pub(super) fn terminate(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM); // it may be gone already
    }
}

#[cfg(not(unix))]
pub(super) fn kill_group(_leader: u32) {}

#[cfg(not(unix))]
pub(super) fn terminate(_pid: u32) {}

/// Kills and collects the orphans that fell to us; each may leave its own children, so it looks again, within a bound.
#[cfg(target_os = "linux")]
pub(super) fn kill_orphans() {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
    /// How often, and how far apart, it looks.
    const LOOKS: (u32, std::time::Duration) = (200, std::time::Duration::from_millis(5));
    for _ in 0..LOOKS.0 {
        let children = children();
        if children.is_empty() {
            return;
        }
        for pid in children.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
        std::thread::sleep(LOOKS.1);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill_orphans() {}

/// The pids of our children.
#[cfg(target_os = "linux")]
fn children() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok());
    lists.flat_map(|l| l.split_whitespace().filter_map(|p| p.parse().ok()).collect::<Vec<_>>()).collect()
}
