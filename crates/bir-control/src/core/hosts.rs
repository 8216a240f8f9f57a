//! The processes whose end is a session's end. Which ones those are, the book says; whether they are there, is looked at here.

use crate::process::Process;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long after its death a host is gone: what its hooks have left comes first.
const GRACE: Duration = Duration::from_secs(2);
/// What clocks may differ by.
const SLACK: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Hosts(HashMap<u32, Watch>);

struct Watch {
    /// As it was when it was first looked at; absent where there was none any more.
    process: Option<Process>,
    gone_since: Option<Instant>,
    /// It was said that it is gone.
    told: bool,
}

impl Hosts {
    /// Looks at these processes and lets go of others. `known_at` is when the last thing was said, ms since the Unix epoch: what
    /// began later is another process with the number of one that is gone. Returns those that have been gone for a while.
    pub(super) fn look(&mut self, pids: &[u32], known_at: u64, now: Instant) -> Vec<u32> {
        // Where it cannot be told whether a process is there, none is gone.
        if Process::of(std::process::id()).is_none() {
            return Vec::new();
        }
        self.0.retain(|pid, _| pids.contains(pid));
        let mut gone = Vec::new();
        for pid in pids {
            let watch = self.0.entry(*pid).or_insert_with(|| {
                let process = Process::of(*pid).filter(|found| found.began_before(known_at, SLACK));
                Watch { process, gone_since: None, told: false }
            });
            if watch.process.is_some_and(Process::is_alive) {
                watch.gone_since = None;
            } else if now.duration_since(*watch.gone_since.get_or_insert(now)) >= GRACE
                && !std::mem::replace(&mut watch.told, true)
            {
                gone.push(*pid);
            }
        }
        gone
    }

    /// Whether any of them was there with the last look, or is not said to be gone yet.
    pub(super) fn any_alive(&self) -> bool {
        self.0.values().any(|watch| !watch.told)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
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
    fn a_host_is_gone_a_while_after_its_end_and_once() {
        let (child, now, later) = (process(), Instant::now(), Instant::now() + GRACE);
        let (pid, at, mut hosts) = (child.id(), crate::now(), Hosts::default());
        assert_eq!((hosts.look(&[pid], at, now), hosts.any_alive()), (vec![], true));
        end(child);
        assert_eq!((hosts.look(&[pid], at, now), hosts.any_alive()), (vec![], true));
        assert_eq!(hosts.look(&[], at, later), Vec::<u32>::new(), "nobody wants to know any more");
        assert_eq!(hosts.look(&[pid], at, now), Vec::<u32>::new());
        assert_eq!(hosts.look(&[pid], at, later), [pid]);
        assert_eq!((hosts.look(&[pid], at, later), hosts.any_alive()), (vec![], false));
    }

    #[test]
    fn a_later_process_of_the_same_number_is_no_host() {
        let child = process();
        let mut hosts = Hosts::default();
        let (pid, at, now) = (child.id(), crate::now() - 60_000, Instant::now());
        hosts.look(&[pid], at, now);
        assert_eq!(hosts.look(&[pid], at, now + GRACE), [pid]);
        end(child);
    }
}
