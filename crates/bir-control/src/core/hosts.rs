//! Which host processes sessions belong to, and when those are gone.
//!
//! A hook knows its ancestors, nearest first, and not which of them is the host: one may be a shell that lives as long as the
//! hook. The nearest that every event of the session has in common is the host. While there was one event alone, a dead
//! process is the host only if none further up lives.

use crate::process::Process;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long after its death a host is gone: what its hooks have left comes first.
const GRACE: Duration = Duration::from_secs(2);
/// What clocks may differ by.
const SLACK: Duration = Duration::from_secs(10);
/// Sessions that are watched at most; of more, the one that was heard of longest ago is let go.
const MOST: usize = 1024;
/// Ancestors that are kept of a session.
const MOST_PIDS: usize = 16;

#[derive(Default)]
pub(super) struct Hosts(HashMap<String, Watch>);

struct Watch {
    candidates: Vec<Process>,
    told_once: bool,
    heard: Instant,
    gone_since: Option<Instant>,
}

impl Hosts {
    /// An event of a session, or of a proxy, and what it says of its host.
    pub(super) fn seen(&mut self, of: &str, pids: &[u32], at: u64) {
        let now = Instant::now();
        if let Some(watch) = self.0.get_mut(of) {
            watch.heard = now;
            watch.gone_since = None;
            let common: Vec<_> =
                watch.candidates.iter().copied().filter(|one| pids.contains(&one.pid)).collect();
            if !common.is_empty() {
                watch.candidates = common;
                watch.told_once = false;
                return;
            }
        }
        let found = pids.iter().take(MOST_PIDS).filter_map(|pid| Process::of(*pid));
        let candidates: Vec<_> = found.filter(|process| process.began_before(at, SLACK)).collect();
        if candidates.is_empty() {
            self.0.remove(of);
            return;
        }
        if self.0.len() >= MOST
            && let Some(oldest) = self.0.iter().min_by_key(|(_, watch)| watch.heard).map(|(of, _)| of.clone())
        {
            self.0.remove(&oldest);
        }
        self.0.insert(of.to_owned(), Watch { candidates, told_once: true, heard: now, gone_since: None });
    }

    /// A session is over; its host may live on.
    pub(super) fn over(&mut self, of: &str) {
        self.0.remove(of);
    }

    /// The processes that are gone now, each once.
    pub(super) fn gone(&mut self, now: Instant) -> Vec<u32> {
        let mut gone = Vec::new();
        self.0.retain(|_, watch| {
            while watch.told_once
                && watch.candidates.len() > 1
                && watch.candidates.first().is_some_and(|first| !first.is_alive())
            {
                watch.candidates.remove(0);
            }
            let Some(host) = watch.candidates.first() else { return false };
            if host.is_alive() {
                watch.gone_since = None;
                return true;
            }
            let since = *watch.gone_since.get_or_insert(now);
            if now.duration_since(since) < GRACE {
                return true;
            }
            gone.push(host.pid);
            false
        });
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Whether any host is there.
    pub(super) fn any_alive(&self) -> bool {
        self.0.values().any(|watch| watch.candidates.first().is_some_and(|host| host.is_alive()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn process() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_host_is_what_all_events_have_in_common() {
        let (shell, host, other) = (process(), process(), process());
        let (now, later) = (Instant::now(), Instant::now() + GRACE + GRACE);
        let mut hosts = Hosts::default();
        let at = crate::now();
        hosts.seen("s", &[shell.id(), host.id(), std::process::id()], at);
        end(shell);
        assert_eq!((hosts.gone(now), hosts.gone(later)), (vec![], vec![]));
        hosts.seen("s", &[other.id(), host.id(), std::process::id()], at);
        hosts.seen("proxy", &[host.id()], at);
        let pid = host.id();
        end(host);
        assert_eq!(hosts.gone(now), Vec::<u32>::new(), "its hooks may have left something");
        assert!(!hosts.any_alive());
        assert_eq!((hosts.gone(later), hosts.gone(later)), (vec![pid], vec![]));
        end(other);
    }

    #[test]
    fn a_later_process_of_the_same_number_is_no_host() {
        let child = process();
        let mut hosts = Hosts::default();
        hosts.seen("s", &[child.id()], crate::now() - 60_000);
        assert!(!hosts.any_alive());
        end(child);
    }
}
