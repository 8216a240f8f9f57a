//! One stdio server: lines in, lines out, and its end.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::sync::lock;

/// How long a child may take to end by itself after the end of its stdin.
const END_BUDGET: Duration = Duration::from_secs(2);

/// How long it may take after SIGTERM.
const TERM_BUDGET: Duration = Duration::from_secs(2);

/// A running child in a process group of its own.
pub(super) struct Child {
    process: Mutex<std::process::Child>,
    stdin: Mutex<Option<ChildStdin>>,
    group: Option<Pid>,
}

/// The stdout of a child.
pub(super) struct ChildLines(BufReader<ChildStdout>);

impl ChildLines {
    /// Calls back for each line that is not empty, without its line end; returns when stdout has ended.
    pub(super) fn each(mut self, line_came: impl Fn(Vec<u8>)) {
        loop {
            let mut line = Vec::new();
            match self.0.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            line.pop_if(|last| *last == b'\n');
            line.pop_if(|last| *last == b'\r');
            if !line.is_empty() {
                line_came(line);
            }
        }
    }
}

impl Child {
    /// Starts the command; its lines are read by [`ChildLines::each`], on a thread.
    pub(super) fn start(command: &[String]) -> io::Result<(Self, ChildLines)> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut process = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let group = Pid::from_raw(process.id() as i32);
        let lines = ChildLines(BufReader::with_capacity(64 * 1024, stdout));
        Ok((Self { process: Mutex::new(process), stdin: Mutex::new(stdin), group }, lines))
    }

    /// Writes one line.
    pub(super) fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut stdin = lock(&self.stdin);
        let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(&[line, b"\n"].concat())
    }

    fn waited(&self, budget: Duration) -> bool {
        let deadline = Instant::now() + budget;
        loop {
            if !matches!(lock(&self.process).try_wait(), Ok(None)) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes stdin, waits, then ends the group by SIGTERM and SIGKILL.
    pub(super) fn end(&self) {
        *lock(&self.stdin) = None;
        if self.waited(END_BUDGET) {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            if let Some(group) = self.group {
                // The group may have ended meanwhile.
                let _ = rustix::process::kill_process_group(group, signal);
            }
            if self.waited(TERM_BUDGET) {
                return;
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
