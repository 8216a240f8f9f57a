//! What `/proc` says about a proxy's process tree. The driver is a subreaper, so everything that a proxy starts stays a
//! descendant of the driver even when its own parent goes.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::collections::HashSet;
use std::fs::{read_dir, read_to_string};

/// The upstream's process name; it is never counted as part of a proxy.
pub(crate) const UPSTREAM: &str = "ref-upstream";

/// Clock ticks a second in `/proc/PID/stat` (`USER_HZ`, 100 on every architecture that Rust's std supports here).
const TICKS: f64 = 100.0;

#[derive(Clone, Debug)]
pub(crate) struct Proc {
    pub(crate) pid: i32,
    pub(crate) comm: String,
    ppid: i32,
    state: char,
    ticks: u64,
    start: u64,
}

pub(crate) fn me() -> i32 {
    std::process::id() as i32
}

/// Makes orphans of our descendants our own children.
pub(crate) fn become_subreaper() -> std::io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

pub(crate) fn signal(pid: i32, sig: Signal) {
    if let Some(p) = Pid::from_raw(pid).filter(|_| pid > 1) {
        let _ = kill_process(p, sig); // it may be gone already
    }
}

fn stat(pid: i32) -> Option<Proc> {
    let s = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (a, b) = (s.find('(')?, s.rfind(')')?);
    let f: Vec<&str> = s.get(b + 2..)?.split(' ').collect();
    let n = |i: usize| f.get(i).and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
    Some(Proc {
        pid,
        ppid: f.get(1)?.parse().ok()?,
        comm: s[a + 1..b].into(),
        state: f.first()?.chars().next()?,
        ticks: n(11) + n(12),
        start: n(19),
    })
}

/// All descendants of the driver, less those in `not` and their own descendants.
pub(crate) fn tree(not: &[i32]) -> Vec<Proc> {
    let all: Vec<Proc> = read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter_map(stat)
        .collect();
    let mut known = HashSet::from([me()]);
    let mut out: Vec<Proc> = Vec::new();
    loop {
        let before = out.len();
        for p in &all {
            if known.contains(&p.ppid) && !not.contains(&p.pid) && known.insert(p.pid) {
                out.push(p.clone());
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

/// `root` and everything below it.
pub(crate) fn under(root: i32) -> Vec<Proc> {
    let all = tree(&[]);
    let mut out: Vec<Proc> = all.iter().filter(|p| p.pid == root).cloned().collect();
    let mut i = 0;
    while i < out.len() {
        let parent = out[i].pid;
        out.extend(all.iter().filter(|p| p.ppid == parent).cloned());
        i += 1;
    }
    out
}

/// Is this very process still running (neither gone, nor a zombie, nor another with its pid)?
pub(crate) fn alive(p: &Proc) -> bool {
    stat(p.pid).is_some_and(|q| q.start == p.start && q.state != 'Z')
}

fn proxy_only(not: &[i32]) -> Vec<Proc> {
    tree(not).into_iter().filter(|p| p.comm != UPSTREAM).collect()
}

fn status_kib(pid: i32, key: &str) -> u64 {
    let s = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    s.lines().find_map(|l| l.strip_prefix(key)?.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// (now, peak) resident KiB of the tree without the upstream.
pub(crate) fn rss_kib(not: &[i32]) -> (u64, u64) {
    proxy_only(not)
        .iter()
        .fold((0, 0), |(r, h), p| (r + status_kib(p.pid, "VmRSS:"), h + status_kib(p.pid, "VmHWM:")))
}

/// CPU seconds of the tree without the upstream. schedstat counts nanoseconds but forgets threads that ended; stat
/// remembers them but counts in ticks: take the larger.
pub(crate) fn cpu_s(not: &[i32]) -> f64 {
    let one = |p: &Proc| {
        let ns: u64 = read_dir(format!("/proc/{}/task", p.pid))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|t| {
                read_to_string(t.path().join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
            })
            .sum();
        (ns as f64 / 1e9).max(p.ticks as f64 / TICKS)
    };
    proxy_only(not).iter().map(one).sum()
}

/// Dead children that a living proxy has not collected.
pub(crate) fn zombies(not: &[i32]) -> usize {
    tree(not).iter().filter(|p| p.state == 'Z' && p.ppid != me()).count()
}

/// Collects the orphans in `ours` that died under us; a child with its own handle is not among them.
pub(crate) fn reap(ours: &[Proc]) {
    for p in ours.iter().filter_map(|p| stat(p.pid)).filter(|p| p.state == 'Z' && p.ppid == me()) {
        let _ = waitpid(Pid::from_raw(p.pid), WaitOptions::NOHANG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_and_its_child_are_found_and_the_ended_are_not_alive() {
        let mut c = Command::new("sh")
            .args(["-c", "sleep 60 & echo ready; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let out = c.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut String::new()).unwrap();
        let found = under(c.id() as i32);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(tree(&[c.id() as i32]).iter().all(|p| found.iter().all(|f| f.pid != p.pid)));
        for p in &found {
            assert!(alive(p));
            signal(p.pid, Signal::KILL);
        }
        c.wait().unwrap();
        assert!(!alive(&found[0]));
    }
}
