//! The process tree of an upstream on Windows. Written and type-checked, not run: a job object that ends the tree with us
//! is still to come, so only the upstream itself is ended.

use super::Signal;
use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often a running upstream is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running upstream. Dropping it kills it.
#[derive(Debug)]
pub struct ChildUpstream {
    child: Arc<Mutex<Child>>,
    pid: u32,
    pipes: Option<(ChildStdin, ChildStdout, ChildStderr)>,
}

/// Waits for the upstream's exit on a thread of its own.
#[derive(Debug, Clone)]
pub struct ExitWatch(Arc<Mutex<Child>>);

impl ExitWatch {
    /// Blocks until the upstream has exited. Its status is then read by [`ChildUpstream::reap`].
    pub fn wait(self) -> io::Result<()> {
        while lock(&self.0).try_wait()?.is_none() {
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl ChildUpstream {
    pub(super) fn new(mut child: Child) -> io::Result<Self> {
        let pipes = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Some((stdin, stdout, stderr)),
            _ => None,
        };
        Ok(Self { pid: child.id(), child: Arc::new(Mutex::new(child)), pipes })
    }

    /// The process id of the upstream.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The three pipes; they can be taken once.
    pub fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        self.pipes.take()
    }

    /// For the thread that waits for the exit.
    #[must_use]
    pub fn exit_watch(&self) -> ExitWatch {
        ExitWatch(Arc::clone(&self.child))
    }

    /// Windows has no signals for processes of another console: everything but a request to end politely is a kill.
    pub fn signal(&self, signal: Signal) {
        if signal == Signal::Kill || signal == Signal::Terminate {
            let _ = lock(&self.child).kill();
        }
    }

    /// Collects the exit status of an upstream that has exited.
    pub fn reap(&mut self, _grace: Duration) -> io::Result<ExitStatus> {
        lock(&self.child).wait()
    }
}

impl Drop for ChildUpstream {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn lock(child: &Mutex<Child>) -> std::sync::MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
