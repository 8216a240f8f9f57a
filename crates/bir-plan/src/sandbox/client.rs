//! The worker process: started with the first job, used again, killed and replaced without a word to whoever asks.

use super::blame::Blamed;
use super::wire::{Job, JobLine, LogicError, Reply, Why};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long after its deadline a job may still answer, before the worker is killed. Starting one is in it.
const GRACE: Duration = Duration::from_millis(500);
/// Longest answer that is read, bytes; a worker that says more is none.
const ANSWER: u64 = 64 << 20;
/// A worker is replaced after so many jobs: whatever it may have gathered is gone then.
const JOBS: u64 = 2_000;

/// A worker, one job at a time. Whoever must not wait for others has one of his own.
#[derive(Debug)]
pub struct Sandbox {
    program: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    worker: Option<Worker>,
    blamed: Blamed,
    next: u64,
}

/// How an attempt ended without an answer.
enum Lost {
    /// It was killed at deadline plus grace.
    Overran,
    /// It ended by itself.
    Died,
    /// It cannot be started.
    Absent(std::io::Error),
}

impl Sandbox {
    /// With the absolute path of `bir-sandbox`. Nothing is started yet.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program, state: Mutex::default() }
    }

    /// Evaluates a body: the plain object that it returns. Takes no longer than twice its time limit and a second.
    ///
    /// # Errors
    ///
    /// [`LogicError`].
    pub fn evaluate(&self, job: &Job) -> Result<Value, LogicError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(refusal) = state.blamed.refusal(job, Instant::now()) {
            return Err(refusal);
        }
        let answer = match state.attempt(&self.program, job) {
            // It may have been the worker's own fault, or that of the body before.
            Err(Lost::Died) => state.attempt(&self.program, job),
            other => other,
        };
        let outcome = match answer {
            Ok(reply) => reply.and_then(|text| {
                serde_json::from_str(&text).map_err(|e| {
                    LogicError::new(Why::Result, format!("what it returned cannot be read: {e}"))
                })
            }),
            Err(Lost::Overran) => {
                Err(LogicError::new(Why::Time, format!("it took longer than {} ms", job.limits.time_ms)))
            }
            Err(Lost::Died) => Err(LogicError::new(Why::Died, "it took the evaluator down, twice")),
            Err(Lost::Absent(e)) => Err(LogicError::new(
                Why::Unavailable,
                format!("cannot start {}: {e}; nothing was evaluated", self.program.display()),
            )),
        };
        if let Err(error) = &outcome {
            state.blamed.note(job, error, Instant::now());
        }
        outcome
    }
}

impl State {
    fn attempt(&mut self, program: &PathBuf, job: &Job) -> Result<Result<String, LogicError>, Lost> {
        let worker = match &mut self.worker {
            Some(worker) if worker.jobs < JOBS => worker,
            slot => slot.insert(Worker::start(program).map_err(Lost::Absent)?),
        };
        self.next += 1;
        let answer = worker.ask(self.next, job);
        if answer.is_err() {
            // Dropping it kills it.
            self.worker = None;
        }
        answer
    }
}

#[derive(Debug)]
struct Worker {
    child: Child,
    stdin: ChildStdin,
    replies: Receiver<Reply>,
    jobs: u64,
}

impl Worker {
    fn start(program: &PathBuf) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        // Local time is that of the zone that is named; nothing else of this process is its affair.
        command.env_clear().env("TZ", "UTC").current_dir(if cfg!(windows) { "C:\\" } else { "/" });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        let (tell, replies) = sync_channel(1);
        std::thread::Builder::new()
            .name("sandbox".into())
            .spawn(move || read(BufReader::new(stdout), &tell))?;
        Ok(Self { child, stdin, replies, jobs: 0 })
    }

    fn ask(&mut self, id: u64, job: &Job) -> Result<Result<String, LogicError>, Lost> {
        self.jobs += 1;
        let line = JobLine {
            id,
            kind: job.kind,
            body: job.body.clone(),
            arguments: job.arguments.iter().map(Value::to_string).collect(),
            now_ms: job.now_ms,
            limits: job.limits,
        };
        let mut text = serde_json::to_vec(&line).map_err(|_| Lost::Died)?;
        text.push(b'\n');
        let end = Instant::now() + job.limits.time() + GRACE;
        self.stdin.write_all(&text).and_then(|()| self.stdin.flush()).map_err(|_| Lost::Died)?;
        loop {
            match self.replies.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(reply) if reply.id == id => return Ok(reply.result),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Err(Lost::Overran),
                Err(RecvTimeoutError::Disconnected) => return Err(Lost::Died),
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands answers on until the worker ends, or says something that is none.
fn read(mut from: impl BufRead, tell: &SyncSender<Reply>) {
    let mut line = Vec::new();
    while from.by_ref().take(ANSWER).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let Ok(reply) = serde_json::from_slice(&line) else { return };
        if tell.send(reply).is_err() {
            return;
        }
        line.clear();
    }
}
