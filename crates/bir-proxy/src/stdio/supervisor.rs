//! Keeps the upstream: starts it, restarts it once where that was asked for, and ends it with everything it started.
//!
//! ```text
//!   asleep ──▶ running ──▶ exited ──▶ (restart) running ──▶ exited ──▶ our own end
//!   (--lazy)                             └─ handshake repeated under an id of our own
//! ```

use super::ending::{ANSWER_GRACE, Cause, Ending};
use super::ends::{HostEnd, UpstreamInner};
use super::flow::Rules;
use super::from_host::Wake;
use super::handshake::{Cache, Opening, RESULT};
use super::shared::Shared;
use super::{Event, Options, start};
use crate::{answer, exit, log};
use bir_model::Direction;
use bir_tap::{Asked, Conversation, SystemClock};
use bir_upstream::child::{ChildCommand, ChildUpstream, Signal, SpawnError};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

/// How long what an exited upstream has written to stdout and stderr may take to arrive. What it left running may hold the pipe for ever.
const DRAIN: Duration = Duration::from_millis(300);
/// How long the host may take to read some more of it: without us it would lie in the pipe for as long as the host likes.
const READ_LATE: Duration = Duration::from_secs(30);
/// From SIGTERM to SIGKILL for what an exited upstream left running.
const LEFT_BEHIND: Duration = Duration::from_millis(300);
/// How long a repeated handshake may take; a package runner may be downloading.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// How long answers in the place of a dead upstream may take to be written.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// An exit so soon after SIGINT is its consequence, whatever the status.
const INTERRUPT: Duration = Duration::from_secs(5);
/// From the end of an upstream's stdout, or of its stdin, to its exit.
const HALF_CLOSED: Duration = Duration::from_secs(1);
/// Silence after the first request that is worth a word.
const SILENCE: Duration = Duration::from_secs(5);

pub(super) struct Supervisor {
    shared: Arc<Shared>,
    command: ChildCommand,
    events: Receiver<Event>,
    /// For the threads of each start.
    tell: Sender<Event>,
    rules: Rules,
    restarts_left: u32,
    child: Option<ChildUpstream>,
    /// Which start of the upstream is the present one.
    start: u32,
    /// The last start whose stdout has ended and been forwarded.
    drained: u32,
    /// The last start whose stderr has ended and been passed on.
    silent: u32,
    ending: Ending,
    silence_at: Option<Instant>,
    /// The host has hung up and the upstream does not read what is left: when that is over, and how much had been sent.
    stuck_at: Option<(Instant, u64)>,
    /// The upstream has closed a pipe: when it must have exited, and which.
    half_closed_at: Option<(Instant, &'static str)>,
    /// When SIGINT was passed on; the upstream may end of it or not.
    interrupted_at: Option<Instant>,
}

/// How the start of a connection went.
enum Opened {
    Ready,
    Exited,
}

impl Supervisor {
    pub(super) fn run(options: Options) -> u8 {
        let Options { server_name, command, restart, lazy, stay_up, max_message, tap } = options;
        let stdout = match start::host_stdout() {
            Ok(stdout) => stdout,
            Err(e) => {
                log::error!("stdout cannot be used: {e}");
                return exit::UPSTREAM;
            }
        };
        let mut conversation = Conversation::new(SystemClock);
        if let Some(tap) = tap {
            conversation.attach(tap);
        }
        let cache = lazy.map(|dir| Cache::open(&dir, server_name.as_str(), &command.words()));
        let (tell, events) = channel();
        let keeps_handshake = restart || cache.is_some();
        let host = HostEnd::new(stdout);
        let shared =
            Shared::new(server_name, host, conversation, cache, stay_up, keeps_handshake, tell.clone());
        let mut supervisor = Self {
            shared: Arc::new(shared),
            command,
            events,
            tell,
            rules: Rules { frames_only: true, max_message },
            restarts_left: u32::from(restart),
            child: None,
            start: 0,
            drained: 0,
            silent: 0,
            ending: Ending::new(),
            silence_at: None,
            stuck_at: None,
            half_closed_at: None,
            interrupted_at: None,
        };
        let code = supervisor.session();
        supervisor.report();
        code
    }

    fn session(&mut self) -> u8 {
        if let Err(e) = start::watches(&self.tell) {
            log::warn!("signals or the end of the host may go unnoticed: {e}");
        }
        let mut failed = None;
        if !self.shared.sleeping.load(Ordering::Acquire)
            && let Err(e) = self.start_child()
        {
            log::error!("{e}");
            failed = Some(e.exit_code());
            if !self.shared.stays_up {
                return e.exit_code();
            }
            self.shared.gone.store(true, Ordering::Release);
        }
        if let Err(e) = start::host_pump(&self.shared, &self.tell) {
            log::error!("no thread for the host's messages: {e}");
            return exit::UPSTREAM;
        }
        loop {
            if let Some(code) = self.step() {
                return failed.unwrap_or(code);
            }
        }
    }

    /// Waits for the next event or the next deadline, and acts on it. The exit status when the session is over.
    fn step(&mut self) -> Option<u8> {
        let now = Instant::now();
        let wake_at = [
            self.ending.wake_at(now),
            self.silence_at,
            self.stuck_at.map(|s| s.0),
            self.half_closed_at.map(|h| h.0),
        ]
        .into_iter()
        .flatten()
        .min();
        let event = match wake_at {
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => self.events.recv_timeout(at.saturating_duration_since(now)),
        };
        match event {
            Ok(Event::UpstreamExited { start }) if start == self.start => self.on_exit(),
            Ok(Event::Wake(wake)) => self.on_wake(&wake),
            Ok(Event::FirstRequest) => {
                self.silence_at = Some(Instant::now() + SILENCE);
                None
            }
            Ok(event) => {
                self.on_outside(event);
                self.nothing_left()
            }
            Err(_) => {
                self.on_deadline();
                None
            }
        }
    }

    /// What comes from outside counts whatever the supervisor is waiting for.
    fn on_outside(&mut self, event: Event) {
        let cause = match event {
            Event::HostClosed => Cause::HostClosed,
            Event::HostGone => Cause::HostGone,
            Event::HostHungUp => {
                let sent = self.shared.seen.sent.load(Ordering::Relaxed);
                self.stuck_at = Some((Instant::now() + ANSWER_GRACE, sent));
                return;
            }
            Event::Signal(signal) => {
                log::debug!("{signal:?} is passed on");
                if signal == Signal::Interrupt {
                    self.interrupted_at = Some(Instant::now());
                }
                if let Some(child) = &self.child {
                    child.signal(signal);
                }
                Cause::Signal(signal)
            }
            Event::ContentLengthFraming => {
                log::error!(
                    "the server speaks `Content-Length` framing, and MCP over stdio is one JSON message per line; start \
                     the server in its MCP stdio mode, or wrap another command"
                );
                Cause::Unusable
            }
            Event::UpstreamDrained { start } => {
                self.drained = start;
                self.half_closed("has closed its stdout");
                return;
            }
            Event::UpstreamDeaf => {
                self.half_closed("reads its stdin no more");
                return;
            }
            Event::UpstreamSilent { start } => {
                self.silent = start;
                return;
            }
            _ => return,
        };
        if matches!(cause, Cause::HostClosed | Cause::HostGone) {
            self.shared.upstream.disconnect();
            self.stuck_at = None;
        }
        let open = self.shared.conversation().open_requests();
        self.ending.begin(cause, open, Instant::now());
    }

    /// An upstream that has closed one of its pipes is about to exit, or is of no use any more.
    fn half_closed(&mut self, what: &'static str) {
        if self.child.is_some() && self.ending.is_running() && self.half_closed_at.is_none() {
            self.half_closed_at = Some((Instant::now() + HALF_CLOSED, what));
        }
    }

    /// Without a child there is nothing to wait for once an end has begun.
    fn nothing_left(&self) -> Option<u8> {
        match (&self.child, self.ending.cause()) {
            (None, Some(Cause::Signal(signal))) => Some(exit::by(signal)),
            (None, Some(_)) => Some(0),
            (None, None) if self.interrupted_at.is_some() => Some(exit::by(Signal::Interrupt)),
            _ => None,
        }
    }

    fn on_deadline(&mut self) {
        let now = Instant::now();
        if self.silence_at.is_some_and(|at| now >= at) {
            self.silence_at = None;
            if !self.shared.seen.answered.load(Ordering::Relaxed) {
                log::warn!(
                    "the server has not answered for {} s; a slow start looks like this, and so does a server that expects \
                     `Content-Length` framing instead of one JSON message per line",
                    SILENCE.as_secs()
                );
            }
        }
        if let Some((at, before)) = self.stuck_at
            && now >= at
        {
            let sent = self.shared.seen.sent.load(Ordering::Relaxed);
            self.stuck_at = Some((now + ANSWER_GRACE, sent));
            if sent == before {
                log::warn!("the host has hung up and the server does not read what is left");
                self.on_outside(Event::HostGone);
            }
        }
        if let Some((_, what)) = self.half_closed_at.take_if(|(at, _)| now >= *at) {
            log::warn!("the server {what} and lives on; it is ended");
            self.ending.begin(Cause::UpstreamClosed, 0, now);
        }
        let open = self.shared.conversation().open_requests();
        if let Some(signal) = self.ending.due(open, now)
            && let Some(child) = &self.child
        {
            log::info!("the server is still there; {signal:?} is sent to its process group");
            child.signal(signal);
        }
    }

    /// A message needs the sleeping upstream: start it, and open the connection as the host has opened ours.
    fn on_wake(&mut self, wake: &Wake) -> Option<u8> {
        let shared = Arc::clone(&self.shared);
        let opened = self.start_and_open(&mut shared.upstream.lock(), |_| !wake.opening);
        self.shared.sleeping.store(false, Ordering::Release);
        let code = match opened {
            Ok(Opened::Ready) => None,
            Ok(Opened::Exited) => self.on_exit(),
            Err(e) => {
                log::error!("{e}");
                self.upstream_is_gone(e.exit_code())
            }
        };
        // Last: the message goes on to a child that is ready, or is answered in its place.
        let _ = wake.started.send(());
        code
    }

    /// Starts the child. An opening of the host that is to be `repeated` goes out before anything else of the host's.
    fn start_and_open(
        &mut self,
        end: &mut UpstreamInner,
        repeated: impl FnOnce(&Opening) -> bool,
    ) -> Result<Opened, SpawnError> {
        let shared = Arc::clone(&self.shared);
        self.start_child_on(end)?;
        let (opening, initialized) = {
            let memory = shared.memory();
            (memory.to_repeat().cloned(), memory.initialized.clone())
        };
        let Some(opening) = opening.filter(repeated) else { return Ok(Opened::Ready) };
        let id = format!("\"bir:handshake-{}\"", self.start);
        shared.asks(id.as_bytes());
        say(end, &opening.under(&id));
        match self.await_own_answer(id.as_bytes(), end) {
            None => return Ok(Opened::Exited),
            Some(Some(member)) if member.starts_with(RESULT) => shared.keep_answer(&opening, &member),
            Some(_) => {}
        }
        if let Some(initialized) = initialized {
            say(end, &initialized);
        }
        if matches!(self.ending.cause(), Some(Cause::HostClosed | Cause::HostGone)) {
            end.close();
        }
        Ok(Opened::Ready)
    }

    /// Waits until the upstream has answered a request of our own. `None` when it exited instead.
    fn await_own_answer(&mut self, own: &[u8], end: &mut UpstreamInner) -> Option<Option<String>> {
        let deadline = Instant::now() + HANDSHAKE;
        loop {
            let now = Instant::now();
            let wake_at = self.ending.wake_at(now).map_or(deadline, |at| at.min(deadline));
            match self.events.recv_timeout(wake_at.saturating_duration_since(now)) {
                Ok(Event::OwnAnswer { id, member }) if id == own => return Some(member),
                Ok(Event::UpstreamExited { start }) if start == self.start => return None,
                Ok(Event::Ping { id }) => say(end, &answer::envelope(&id, "\"result\":{}")),
                // The host pump may be waiting for us and see no end of file itself.
                Ok(Event::HostHungUp) => self.on_outside(Event::HostClosed),
                Ok(event) => self.on_outside(event),
                Err(_) if Instant::now() >= deadline => {
                    let limit = HANDSHAKE.as_secs();
                    log::warn!("the server did not answer the handshake within {limit} s; the relay goes on");
                    return Some(None);
                }
                Err(_) => self.on_deadline(),
            }
        }
    }

    /// The child has exited. `None` when the session goes on.
    fn on_exit(&mut self) -> Option<u8> {
        self.drain();
        let Some(mut child) = self.child.take() else { return Some(exit::UPSTREAM) };
        self.half_closed_at = None;
        let status = child.reap(LEFT_BEHIND);
        let unusable = self.shared.seen.unusable.load(Ordering::Relaxed);
        let code = status.as_ref().ok().filter(|_| !unusable).map_or(exit::UPSTREAM, |s| exit::of(*s));
        if self.ending.is_running() {
            log::warn!("the server has exited: {}", describe(&status));
        }
        if !self.shared.stays_up && !self.shared.conversation().is_established() {
            // The host starts a server again that died in its handshake; an answer from us would stop it.
            return Some(code);
        }
        if self.ended_as_asked(&status) {
            // Without us the host would get no further answer either.
            return Some(code);
        }
        if !self.ending.is_running() {
            self.last_answers();
            return Some(code);
        }
        if self.restarts_left == 0 {
            return self.upstream_is_gone(code);
        }
        self.restarts_left -= 1;
        log::warn!("the server is started once more");
        // What the host asks once it has read the answers is for the next child, and waits for it.
        let shared = Arc::clone(&self.shared);
        let mut end = shared.upstream.lock();
        self.last_answers();
        if let Err(e) = self.shared.host.end_line() {
            log::debug!("{}: {e}", Direction::UpstreamToHost);
        }
        // The modern era has no handshake: a probe that was answered once needs no second answer.
        let opened = self.start_and_open(&mut end, |opening| opening.asked == Asked::Initialize);
        drop(end);
        match opened {
            Ok(Opened::Ready) => None,
            Ok(Opened::Exited) => self.on_exit(),
            Err(e) => {
                log::error!("{e}");
                self.upstream_is_gone(code)
            }
        }
    }

    /// Whether the upstream's end is what the host wanted: nothing is said for it then, and nothing is started again.
    fn ended_as_asked(&self, status: &std::io::Result<ExitStatus>) -> bool {
        let succeeded = status.as_ref().is_ok_and(ExitStatus::success);
        match self.ending.cause() {
            Some(Cause::HostGone | Cause::Signal(_)) => true,
            // The host reads on: a crash is worth a word, an orderly end is the upstream's own affair.
            Some(Cause::HostClosed) => succeeded,
            Some(Cause::Unusable | Cause::UpstreamClosed) => false,
            None => self.interrupted_at.is_some_and(|at| at.elapsed() < INTERRUPT),
        }
    }

    /// No more upstream: answer for it, and end unless we are to stay.
    fn upstream_is_gone(&mut self, code: u8) -> Option<u8> {
        self.shared.gone.store(true, Ordering::Release);
        self.last_answers();
        if self.shared.stays_up { self.nothing_left() } else { Some(code) }
    }

    /// Answers what is in flight. A host that does not read gets a moment and no more.
    fn last_answers(&self) {
        let shared = Arc::clone(&self.shared);
        let (done, wait) = sync_channel(1);
        let answer = move || {
            if let Err(e) = shared.answer_for_upstream() {
                log::debug!("{}: {e}", Direction::UpstreamToHost);
            }
            let _ = done.send(());
        };
        if start::thread("answers", answer).is_ok() {
            let _ = wait.recv_timeout(LAST_ANSWERS);
        }
    }

    /// Waits until what the child has written has been forwarded, its last words on stderr included.
    fn drain(&mut self) {
        let mut deadline = Instant::now() + DRAIN;
        let (mut moved_at, mut taken) = (Instant::now(), None);
        while self.drained.min(self.silent) < self.start {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => self.on_outside(event),
                Err(_) => {
                    let behind = self.host_is_behind();
                    if behind.is_none() {
                        return;
                    }
                    if behind != taken {
                        (moved_at, taken) = (Instant::now(), behind);
                    }
                    if moved_at.elapsed() >= READ_LATE {
                        let limit = READ_LATE.as_secs();
                        log::warn!(
                            "the host has read nothing for {limit} s; what the server said last is lost"
                        );
                        return;
                    }
                    deadline = Instant::now() + DRAIN;
                }
            }
        }
    }

    /// A host that is there has not yet taken what the upstream said: how much it has taken.
    fn host_is_behind(&self) -> Option<u64> {
        let host_is_there =
            matches!(self.ending.cause(), None | Some(Cause::HostClosed | Cause::UpstreamClosed));
        self.shared.host.is_behind().filter(|_| host_is_there)
    }

    fn start_child(&mut self) -> Result<(), SpawnError> {
        let shared = Arc::clone(&self.shared);
        self.start_child_on(&mut shared.upstream.lock())
    }

    fn start_child_on(&mut self, end: &mut UpstreamInner) -> Result<(), SpawnError> {
        let mut child = self.command.spawn()?;
        self.start += 1;
        log::info!("the server is started, process {}", child.pid());
        let stdin = start::child_threads(&mut child, self.start, self.rules, &self.shared, &self.tell)
            .map_err(|e| self.command.failed(e))?;
        end.connect(stdin, self.shared.generation());
        self.child = Some(child);
        Ok(())
    }

    fn report(&self) {
        let seen = &self.shared.seen;
        let (noise, broken) = (seen.noise.load(Ordering::Relaxed), seen.broken.load(Ordering::Relaxed));
        if noise > 0 {
            log::warn!("lines on the server's stdout that were no messages, kept from the host: {noise}");
        }
        if broken > 1 {
            log::warn!("messages of the server that were not JSON: {broken}");
        }
    }
}

/// A line of our own for the child that is being opened.
fn say(end: &mut UpstreamInner, line: &[u8]) {
    if let Err(e) = end.say(line) {
        log::debug!("{}: {e}", Direction::HostToUpstream);
    }
}

fn describe(status: &std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(e) => format!("its status cannot be read: {e}"),
    }
}
