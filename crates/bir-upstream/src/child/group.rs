//! The process group of an upstream on Unix.

use super::Signal;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

/// How often a group that was asked to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Hangup => Self::HUP,
            Signal::Interrupt => Self::INT,
            Signal::Terminate => Self::TERM,
            Signal::Kill => Self::KILL,
        }
    }
}

/// A running upstream: the leader of its own process group. Dropping it kills the group.
#[derive(Debug)]
pub struct ChildUpstream {
    child: Child,
    group: Pid,
    ended: bool,
}

/// Waits for the upstream's exit on a thread of its own.
#[derive(Debug, Clone, Copy)]
pub struct ExitWatch(Pid);

impl ExitWatch {
    /// Blocks until the upstream has exited. Its status is then read by [`ChildUpstream::reap`].
    pub fn wait(self) -> io::Result<()> {
        // The process is left to be reaped, so that its id stays taken until its group is dealt with.
        loop {
            match rustix::process::waitid(WaitId::Pid(self.0), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl ChildUpstream {
    pub(super) fn new(child: Child) -> io::Result<Self> {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("the system gave a process id that is none"))?;
        Ok(Self { child, group, ended: false })
    }

    /// The process id of the upstream, which is also its group's.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The three pipes; each can be taken once.
    pub fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// For the thread that waits for the exit.
    #[must_use]
    pub fn exit_watch(&self) -> ExitWatch {
        ExitWatch(self.group)
    }

    /// Sends a signal to the upstream and everything that it started in its group. A group that is gone is no error.
    pub fn signal(&self, signal: Signal) {
        if !self.ended {
            // The leader is not reaped yet, so the number cannot belong to anybody else.
            let _ = rustix::process::kill_process_group(self.group, signal.into());
        }
    }

    /// Collects the exit status of an upstream that has exited, and ends what it left behind in its group: SIGTERM at
    /// once, SIGKILL after `grace`.
    pub fn reap(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.signal(Signal::Terminate);
        let status = self.child.wait()?;
        let deadline = Instant::now() + grace;
        while self.has_members() {
            if Instant::now() >= deadline {
                let _ = rustix::process::kill_process_group(self.group, rustix::process::Signal::KILL);
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.ended = true;
        Ok(status)
    }

    /// A group number stays taken while the group has members, reaped leader or not.
    fn has_members(&self) -> bool {
        rustix::process::test_kill_process_group(self.group).is_ok()
    }
}

impl Drop for ChildUpstream {
    fn drop(&mut self) {
        if !self.ended {
            self.signal(Signal::Kill);
            let _ = self.child.wait();
        }
    }
}
