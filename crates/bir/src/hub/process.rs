//! The process of a hub or a control server that is to end.
//!
//! On Linux it is held by a pidfd, which is opened before `/health` confirms what it is: whatever is signalled
//! afterwards is that process and never a later one of the same number.

use std::time::Duration;

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It has ended.
    Ended,
    /// It goes on after the budget.
    GoesOn,
    /// It may not be signalled.
    Refused,
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Duration, End};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fd::OwnedFd;
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    pub(crate) struct Process(OwnedFd);

    impl Process {
        /// None: there is no such process.
        pub(crate) fn of(pid: u32) -> Option<Self> {
            let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
            let process = pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)?;
            // One that has ended keeps its number until somebody collects it, which not every container does.
            (process.ends_within(Duration::ZERO) == End::GoesOn).then_some(process)
        }

        /// Waits for its end: a pidfd is readable then, whether or not somebody has collected the process. Blocks.
        pub(crate) fn ends_within(&self, budget: Duration) -> End {
            let budget = Timespec {
                tv_sec: i64::try_from(budget.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: budget.subsec_nanos().into(),
            };
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&budget)) {
                Ok(1..) => End::Ended,
                _ => End::GoesOn,
            }
        }

        /// Asks it to end, and waits for that. Blocks.
        pub(crate) fn end(&self, budget: Duration) -> End {
            match pidfd_send_signal(&self.0, Signal::TERM) {
                Ok(()) => {}
                Err(rustix::io::Errno::SRCH) => return End::Ended,
                Err(_) => return End::Refused,
            }
            self.ends_within(budget)
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod system {
    use super::{Duration, End};
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};
    use std::time::Instant;

    /// Between two looks.
    const POLL: Duration = Duration::from_millis(20);

    pub(crate) struct Process(Pid);

    impl Process {
        pub(crate) fn of(pid: u32) -> Option<Self> {
            let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
            test_kill_process(pid).ok().map(|()| Self(pid))
        }

        pub(crate) fn end(&self, budget: Duration) -> End {
            if kill_process(self.0, Signal::TERM).is_err() {
                return if test_kill_process(self.0).is_ok() { End::Refused } else { End::Ended };
            }
            self.ends_within(budget)
        }

        /// Waits for its end. Blocks.
        pub(crate) fn ends_within(&self, budget: Duration) -> End {
            let until = Instant::now() + budget;
            while Instant::now() < until {
                if test_kill_process(self.0).is_err() {
                    return End::Ended;
                }
                std::thread::sleep(POLL);
            }
            End::GoesOn
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::{Duration, End};

    pub(crate) struct Process;

    impl Process {
        pub(crate) fn of(_pid: u32) -> Option<Self> {
            Some(Self)
        }

        pub(crate) fn end(&self, _budget: Duration) -> End {
            End::Refused
        }

        pub(crate) fn ends_within(&self, _budget: Duration) -> End {
            End::GoesOn
        }
    }
}

pub(crate) use system::Process;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_ended_and_its_end_is_seen_before_it_is_collected() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert_eq!(process.end(Duration::from_secs(20)), End::Ended);
        // Nobody has collected it, and there is no process all the same.
        assert!(Process::of(child.id()).is_none());
        child.wait().unwrap();
        assert_eq!(process.end(Duration::from_secs(1)), End::Ended);
    }

    #[test]
    fn one_that_does_not_end_is_left_and_said_to_go_on() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo; exec sleep 60"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read(child.stdout.as_mut().unwrap(), &mut [0; 1]).unwrap();
        assert_eq!(Process::of(child.id()).unwrap().end(Duration::from_millis(50)), End::GoesOn);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
