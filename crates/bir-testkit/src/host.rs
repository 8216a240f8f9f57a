//! A host on stdio: starts a command, writes raw bytes, reads raw bytes, and leaves no process behind.
//!
//! Every byte of the command's stdout is kept as it came ([`StdioHost::stdout`]), lines are handed out one
//! by one ([`StdioHost::line`]) without their newline. When the host is dropped, all processes that carry its
//! mark in their environment ([`MARK`]) are killed, however they were started or re-parented; a program
//! that starts its children with an emptied environment escapes that. A command that is given no `BIR_HOME` gets an empty one.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::procs::{self, Proc};
use crate::sync::{lock, wait_until};

/// Name of the environment variable that marks all processes of one host.
pub const MARK: &str = "BIR_TESTKIT_HOST";

/// Budget for the ends of processes when a host is dropped.
const DROP_BUDGET: Duration = Duration::from_secs(5);

/// Why a host could not go on.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The budget is over.
    #[error("nothing within {0:?}; stderr so far: {1}")]
    Timeout(Duration, String),
    /// The command's stdout has ended; what was left without a newline.
    #[error("stdout ended (left over: {0:?}); stderr: {1}")]
    Ended(String, String),
    /// Starting, reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[derive(Default)]
struct Collected {
    bytes: Vec<u8>,
    /// Where the next line begins.
    taken: usize,
    /// Up to where there is no newline after `taken`.
    scanned: usize,
    total: u64,
    ended: bool,
}

#[derive(Default)]
struct Stream {
    state: Mutex<Collected>,
    changed: Condvar,
}

impl Stream {
    fn collect(mut from: impl Read + Send + 'static, keep: bool) -> Arc<Self> {
        let stream = Arc::new(Self::default());
        let filled = stream.clone();
        std::thread::spawn(move || {
            let mut block = vec![0; 64 * 1024];
            loop {
                let n = match from.read(&mut block) {
                    Ok(0) => break,
                    Ok(n) => n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let mut state = lock(&filled.state);
                state.total += n as u64;
                if keep {
                    state.bytes.extend_from_slice(&block[..n]);
                }
                drop(state);
                filled.changed.notify_all();
            }
            lock(&filled.state).ended = true;
            filled.changed.notify_all();
        });
        stream
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.state).bytes).into_owned()
    }
}

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct HostCommand {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, Option<OsString>)>,
    dir: Option<OsString>,
    marked: bool,
    keep_stdout: bool,
}

impl HostCommand {
    /// A command; its arguments come with [`HostCommand::arg`] and [`HostCommand::args`].
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            dir: None,
            marked: true,
            keep_stdout: true,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds the program and arguments of another command: `proxy -- CMD ARGS…`.
    #[must_use]
    pub fn wrap(mut self, inner: &HostCommand) -> Self {
        self.args.push(inner.program.clone());
        self.args.extend(inner.args.iter().cloned());
        self.env.extend(inner.env.iter().cloned());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn env_remove(mut self, key: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), None));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = Some(dir.as_ref().as_os_str().to_owned());
        self
    }

    /// Does not put [`MARK`] into the environment; then only the direct child and the tree below it are
    /// cleaned up.
    #[must_use]
    pub fn unmarked(mut self) -> Self {
        self.marked = false;
        self
    }

    /// Counts stdout instead of keeping it, for answers larger than memory; [`StdioHost::line`] then gives nothing.
    #[must_use]
    pub fn count_stdout(mut self) -> Self {
        self.keep_stdout = false;
        self
    }

    /// The program and its arguments.
    pub fn argv(&self) -> Vec<OsString> {
        [&self.program].into_iter().chain(&self.args).cloned().collect()
    }

    /// Starts it.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(&self) -> Result<StdioHost, HostError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        procs::heed_signals();
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (key, value) in &self.env {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        if self.marked {
            command.env(MARK, &mark);
        }
        // What is recorded in a test is not for the state directory of whoever runs it.
        let home = match self.env.iter().any(|(key, _)| key == "BIR_HOME") {
            true => None,
            false => Some(tempfile::tempdir()?),
        };
        if let Some(home) = &home {
            command.env("BIR_HOME", home.path());
        }
        let mut child = command.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let stdout = Stream::collect(child.stdout.take().ok_or_else(missing)?, self.keep_stdout);
        let stderr = Stream::collect(child.stderr.take().ok_or_else(missing)?, true);
        let started = procs::find(child.id());
        Ok(StdioHost {
            stdin: child.stdin.take(),
            child,
            started,
            stdout,
            stderr,
            mark: self.marked.then(|| format!("{MARK}={mark}")),
            status: None,
            _home: home,
        })
    }
}

/// A running command with a host's hands on its pipes.
pub struct StdioHost {
    child: Child,
    started: Option<Proc>,
    stdin: Option<ChildStdin>,
    stdout: Arc<Stream>,
    stderr: Arc<Stream>,
    mark: Option<String>,
    status: Option<ExitStatus>,
    /// The state directory of a command that was given none; it goes with the host.
    _home: Option<tempfile::TempDir>,
}

impl StdioHost {
    /// The command's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are. A command that does not read blocks this for ever: use another thread then.
    ///
    /// # Errors
    /// Stdin is closed, or the command is gone.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), HostError> {
        let stdin = self.stdin.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        stdin.write_all(bytes.as_ref())?;
        stdin.flush()?;
        Ok(())
    }

    /// Writes a line and its newline in one write.
    ///
    /// # Errors
    /// As [`StdioHost::write`].
    pub fn send(&mut self, line: impl AsRef<[u8]>) -> Result<(), HostError> {
        self.write([line.as_ref(), b"\n"].concat())
    }

    /// Takes stdin, to write from another thread or to keep it open longer.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Closes stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next line of stdout without its newline (a carriage return stays).
    ///
    /// # Errors
    /// The budget is over, or stdout has ended without one more newline.
    pub fn line(&mut self, budget: Duration) -> Result<Vec<u8>, HostError> {
        let mut found = None;
        let done = wait_until(&self.stdout.state, &self.stdout.changed, budget, |state| {
            let from = state.scanned.max(state.taken);
            match state.bytes[from..].iter().position(|byte| *byte == b'\n') {
                Some(n) => {
                    let end = from + n;
                    found = Some(Ok(state.bytes[state.taken..end].to_vec()));
                    state.taken = end + 1;
                    state.scanned = end + 1;
                }
                None => {
                    state.scanned = state.bytes.len();
                    if state.ended {
                        let rest = String::from_utf8_lossy(&state.bytes[state.taken..]).into_owned();
                        found = Some(Err(rest));
                    }
                }
            }
            found.is_some()
        });
        match found {
            Some(Ok(line)) if done => Ok(line),
            Some(Err(rest)) => Err(HostError::Ended(rest, self.stderr_text())),
            _ => Err(HostError::Timeout(budget, self.stderr_text())),
        }
    }

    /// Sends a line and gives the next line that comes.
    ///
    /// # Errors
    /// As [`StdioHost::send`] and [`StdioHost::line`].
    pub fn ask(&mut self, line: impl AsRef<[u8]>, budget: Duration) -> Result<Vec<u8>, HostError> {
        self.send(line)?;
        self.line(budget)
    }

    /// All bytes of stdout so far.
    pub fn stdout(&self) -> Vec<u8> {
        lock(&self.stdout.state).bytes.clone()
    }

    /// How many bytes have come on stdout.
    pub fn stdout_len(&self) -> u64 {
        lock(&self.stdout.state).total
    }

    /// All bytes of stderr so far.
    pub fn stderr(&self) -> Vec<u8> {
        lock(&self.stderr.state).bytes.clone()
    }

    /// Stderr so far as text.
    pub fn stderr_text(&self) -> String {
        self.stderr.text()
    }

    /// Waits until stderr has this text.
    ///
    /// # Errors
    /// The budget is over, or stderr has ended without it.
    pub fn wait_stderr(&self, text: &str, budget: Duration) -> Result<(), HostError> {
        let mut found = false;
        wait_until(&self.stderr.state, &self.stderr.changed, budget, |state| {
            found = String::from_utf8_lossy(&state.bytes).contains(text);
            found || state.ended
        });
        if found { Ok(()) } else { Err(HostError::Timeout(budget, self.stderr_text())) }
    }

    /// Waits until stdout has so many bytes, or has ended; gives how many it has.
    pub fn wait_stdout_len(&self, bytes: u64, budget: Duration) -> u64 {
        wait_until(&self.stdout.state, &self.stdout.changed, budget, |state| {
            state.total >= bytes || state.ended
        });
        self.stdout_len()
    }

    /// Sends a signal to the command alone.
    ///
    /// # Errors
    /// The command is gone.
    pub fn signal(&self, signal: Signal) -> Result<(), HostError> {
        let proc = self.started.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(procs::signal(proc, signal)?)
    }

    /// Waits for the command's end.
    ///
    /// # Errors
    /// The budget is over.
    pub fn wait_exit(&mut self, budget: Duration) -> Result<ExitStatus, HostError> {
        let deadline = Instant::now() + budget;
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            self.status = self.child.try_wait()?;
            if self.status.is_none() {
                if Instant::now() >= deadline {
                    return Err(HostError::Timeout(budget, self.stderr_text()));
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// Waits until stdout has ended: every holder of the pipe is gone. Tells whether it has.
    pub fn wait_stdout_end(&self, budget: Duration) -> bool {
        wait_until(&self.stdout.state, &self.stdout.changed, budget, |state| state.ended)
    }

    /// Waits until stderr has ended. Tells whether it has.
    pub fn wait_stderr_end(&self, budget: Duration) -> bool {
        wait_until(&self.stderr.state, &self.stderr.changed, budget, |state| state.ended)
    }

    /// Closes stdin, waits for the end and for both streams; gives the status as a shell would
    /// (128 + signal).
    ///
    /// # Errors
    /// The budget is over.
    pub fn finish(&mut self, budget: Duration) -> Result<i32, HostError> {
        self.close_stdin();
        let status = self.wait_exit(budget)?;
        if !(self.wait_stdout_end(budget) && self.wait_stderr_end(budget)) {
            return Err(HostError::Timeout(budget, self.stderr_text()));
        }
        Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    /// All processes that belong to this host now: those that carry its mark, and the command's tree.
    pub fn processes(&self) -> Vec<Proc> {
        let mut found = self.mark.as_deref().map(procs::with_env).unwrap_or_default();
        if self.started.as_ref().is_some_and(procs::runs) {
            for proc in procs::tree(self.child.id()) {
                if !found.iter().any(|known| known.pid == proc.pid) {
                    found.push(proc);
                }
            }
        }
        found.retain(|proc| !proc.is_zombie());
        found
    }
}

impl Drop for StdioHost {
    fn drop(&mut self) {
        self.stdin = None;
        // A process may be starting another one while we look, so look until there is none.
        let deadline = Instant::now() + DROP_BUDGET;
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() >= deadline {
                break;
            }
            for proc in &left {
                let _ = procs::signal(proc, Signal::KILL);
            }
            procs::wait_gone(&left, Duration::from_millis(500));
            procs::reap_orphans(
                &left.into_iter().filter(|proc| proc.pid != self.child.id()).collect::<Vec<_>>(),
            );
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
