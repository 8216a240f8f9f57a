//! The entry as a running process: lines in, lines out, the last words of its stderr, and its end.

use super::tail::Tail;
use super::tree;
use crate::wrap::Entry;
use std::io::{BufRead, BufReader, Error, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the entry may take to end after the end of its input; a proxy gives a stubborn server some seconds.
const EOF_GRACE: Duration = Duration::from_secs(6);
/// And after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long its output may stay open once it has ended.
const DRAIN: Duration = Duration::from_millis(200);
/// Between two looks at a process that is ending.
const POLL: Duration = Duration::from_millis(5);

pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Tail>>,
    /// Hears when stderr has closed.
    stderr_closed: Receiver<()>,
}

/// How a process ended, and its last words.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Its own end; nothing if it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stderr: Vec<String>,
}

/// The statuses with which the proxy says, as shells do, that the command is not executable or not there.
pub(super) const NOT_EXECUTABLE: i32 = 126;
pub(super) const NOT_FOUND: i32 = 127;

impl Ended {
    /// Could the server's command not be run at all? To start it again would be no different.
    pub(super) fn never_ran(&self) -> bool {
        matches!(self.code(), Some(NOT_EXECUTABLE | NOT_FOUND))
    }

    pub(super) fn code(&self) -> Option<i32> {
        self.status.and_then(|s| s.code())
    }
}

/// Why there is no line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    Late,
    Closed,
}

impl Process {
    pub(super) fn start(entry: &Entry) -> Result<Self, Error> {
        tree::adopt_orphans();
        let mut command = Command::new(&entry.command);
        command.args(&entry.args).envs(entry.env.iter().map(|(k, v)| (k, v)));
        Self::open(command)
    }

    /// Starts a program whose orphans are its own to end, as those of the proxy are.
    pub(crate) fn open(mut command: Command) -> Result<Self, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let (line, lines) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || read_lines(out, &line));
        }
        let stderr = Arc::new(Mutex::new(Tail::default()));
        let (closed, stderr_closed) = channel();
        if let Some(err) = child.stderr.take() {
            let tail = stderr.clone();
            std::thread::spawn(move || {
                read_tail(err, &tail);
                let _ = closed.send(());
            });
        }
        Ok(Self { child, stdin, lines, stderr, stderr_closed })
    }

    /// Writes one line. That nobody reads it any more is found out by the one who waits for the answer.
    pub(crate) fn send(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{line}\n").as_bytes());
        }
    }

    pub(crate) fn line(&mut self, until: Instant) -> Result<Vec<u8>, NoLine> {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(l) => Ok(l),
            Err(RecvTimeoutError::Timeout) => Err(NoLine::Late),
            Err(RecvTimeoutError::Disconnected) => Err(NoLine::Closed),
        }
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(POLL),
                _ => return None,
            }
        }
    }

    /// Ends the whole tree: closes its input, asks, kills.
    pub(super) fn end(self) -> Ended {
        self.close(tree::kill_orphans)
    }

    /// Ends it and its process group, and leaves other children of this program alone.
    pub(crate) fn leave(self) -> Ended {
        self.close(|| ())
    }

    fn close(mut self, then: impl FnOnce()) -> Ended {
        self.stdin = None;
        let mut status = self.wait(EOF_GRACE);
        if status.is_none() {
            tree::terminate(self.child.id());
            status = self.wait(TERM_GRACE);
        }
        let killed = status.is_none();
        tree::kill_group(self.child.id());
        if killed {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        then();
        let _ = self.stderr_closed.recv_timeout(DRAIN);
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).lines();
        Ended { status, stderr }
    }
}

fn read_lines(out: impl Read, to: &Sender<Vec<u8>>) {
    let mut out = BufReader::new(out);
    loop {
        let mut line = vec![];
        match out.read_until(b'\n', &mut line) {
            Ok(1..) if to.send(line).is_ok() => {}
            _ => return,
        }
    }
}

fn read_tail(err: impl Read, tail: &Mutex<Tail>) {
    let mut err = BufReader::new(err);
    loop {
        let mut line = vec![];
        match err.read_until(b'\n', &mut line) {
            Ok(1..) => tail.lock().unwrap_or_else(PoisonError::into_inner).push(&line),
            _ => return,
        }
    }
}
