//! Processes as `/proc` shows them: trees, waiting for ends, cleaning up.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// Pause between two looks at `/proc`.
const LOOK: Duration = Duration::from_millis(5);

/// Sees to it that what this process starts does not ignore the signals that tests send: a shell starts what it puts into
/// the background with SIGINT ignored, and that is inherited. Here they keep doing what they do by default.
pub fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM]
        {
            let always = Arc::new(AtomicBool::new(true));
            // Without the handler a test of that signal fails, which is how it is noticed.
            let _ = signal_hook::flag::register_conditional_default(signal, always);
        }
    });
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proc {
    /// Its id.
    pub pid: u32,
    /// Its parent's id.
    pub ppid: u32,
    /// Its process group.
    pub pgid: u32,
    /// State letter (`R`, `S`, `Z`, …).
    pub state: char,
    /// Start time in clock ticks since boot; with the pid it names a process for good.
    pub started: u64,
    /// The command's name (15 bytes at most).
    pub name: String,
}

impl Proc {
    /// Ended, but not yet waited for by its parent.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// The process with this id; `None` when there is none. Zombies are given.
pub fn find(pid: u32) -> Option<Proc> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold any character, so fields are counted from the last one.
    let (head, tail) = stat.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split(' ').collect();
    Some(Proc {
        pid,
        name,
        state: fields.first()?.chars().next()?,
        ppid: fields.get(1)?.parse().ok()?,
        pgid: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// All processes of the machine.
pub fn all() -> Vec<Proc> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| find(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The process and all that descend from it now, parents first. A child whose parent has ended belongs to
/// the nearest subreaper (or pid 1) and is not found from its old grandparent.
pub fn tree(root: u32) -> Vec<Proc> {
    let all = all();
    let mut found: Vec<Proc> = all.iter().filter(|proc| proc.pid == root).cloned().collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|proc| proc.pid) {
        found.extend(all.iter().filter(|proc| proc.ppid == parent && proc.pid != parent).cloned());
        at += 1;
    }
    found
}

/// All processes whose environment at start had this `NAME=value`.
pub fn with_env(entry: &str) -> Vec<Proc> {
    all()
        .into_iter()
        .filter(|proc| {
            std::fs::read(PathBuf::from(format!("/proc/{}/environ", proc.pid)))
                .is_ok_and(|env| env.split(|byte| *byte == 0).any(|one| one == entry.as_bytes()))
        })
        .collect()
}

/// Whether this very process still runs (a zombie does not).
pub fn runs(proc: &Proc) -> bool {
    find(proc.pid).is_some_and(|now| now.started == proc.started && !now.is_zombie())
}

/// Waits until none of these runs; gives those that still do when the budget is over.
pub fn wait_gone(procs: &[Proc], budget: Duration) -> Vec<Proc> {
    let deadline = Instant::now() + budget;
    loop {
        let left: Vec<Proc> = procs.iter().filter(|proc| runs(proc)).cloned().collect();
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(LOOK);
    }
}

/// Sends a signal to a process, if it still is that process.
///
/// # Errors
/// There is no such process any more, or it may not be signalled.
pub fn signal(proc: &Proc, signal: Signal) -> io::Result<()> {
    if !runs(proc) {
        return Err(io::ErrorKind::NotFound.into());
    }
    send(proc.pid, signal)
}

/// Sends a signal to a process id.
///
/// # Errors
/// There is no such process, or it may not be signalled.
pub fn send(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, signal)?)
}

/// Kills all of these and waits for their ends, zombies that are ours included.
pub fn kill_all(procs: &[Proc], budget: Duration) -> Vec<Proc> {
    for proc in procs {
        // It may have ended by itself meanwhile.
        let _ = signal(proc, Signal::KILL);
    }
    let left = wait_gone(procs, budget);
    let known: HashSet<u32> = procs.iter().map(|proc| proc.pid).collect();
    reap(&known);
    left
}

/// Makes this process the parent of all its descendants that lose theirs, so that [`tree`] of our own pid
/// finds them. They have to be reaped: see [`kill_all`] and [`reap_orphans`].
///
/// # Errors
/// The kernel refuses (before 3.4).
pub fn become_subreaper() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Reaps our own children among these pids that have ended. Children of a [`std::process::Child`] must
/// not be among them: their status would be lost.
fn reap(pids: &HashSet<u32>) {
    let me = std::process::id();
    for pid in pids {
        if find(*pid).is_some_and(|proc| proc.is_zombie() && proc.ppid == me)
            && let Some(pid) = Pid::from_raw(*pid as i32)
        {
            // Another thread may have been faster.
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
        }
    }
}

/// Reaps those of `procs` that became our children and have ended; for a subreaper.
pub fn reap_orphans(procs: &[Proc]) {
    reap(&procs.iter().map(|proc| proc.pid).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_tree_is_found_and_its_end_is_seen() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 30 & echo ready; wait"])
            .env("BIR_TESTKIT_PROCS_TEST", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let found = tree(child.id());
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1].ppid, child.id());
        assert_eq!(with_env("BIR_TESTKIT_PROCS_TEST=1").len(), 2);
        assert_eq!(wait_gone(&found, Duration::from_millis(1)).len(), 2);
        for proc in &found {
            signal(proc, Signal::KILL).unwrap();
        }
        assert_eq!(wait_gone(&found, Duration::from_secs(5)), []);
        child.wait().unwrap();
        assert!(find(child.id()).is_none());
    }
}
