//! Keeps the upstream: starts it, restarts it once where that was asked for, and ends it with everything it started.
//!
//! ```text
//!   asleep ──▶ running ──▶ exited ──▶ (restart) running ──▶ exited ──▶ our own end
//!   (--lazy)                             └─ handshake repeated under an id of our own
//! ```

mod exit_of_child;
mod opening;

use super::ending::{ANSWER_GRACE, Cause, Ending};
use super::ends::{HostEnd, UpstreamInner};
use super::flow::Rules;
use super::handshake::Cache;
use super::own_line::OwnLine;
use super::shared::Shared;
use super::{Event, Options, start};
use crate::{exit, log};
use bir_tap::{Conversation, SystemClock};
use bir_upstream::child::{ChildCommand, ChildUpstream, Signal, SpawnError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

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

impl Supervisor {
    pub(super) fn run(options: Options) -> u8 {
        let Options { server_name, command, restart, lazy, stay_up, max_message, call_ids, own, tap } =
            options;
        let stdout = match start::host_stdout() {
            Ok(stdout) => stdout,
            Err(e) => {
                log::error!("stdout cannot be used: {e}");
                return exit::UPSTREAM;
            }
        };
        let mut conversation = Conversation::new(SystemClock);
        let keep = crate::recording::keep(tap.is_some());
        if let Some(tap) = tap {
            conversation.attach(tap);
        }
        let cache = lazy.map(|dir| Cache::open(&dir, server_name.as_str(), &command.words()));
        let (tell, events) = channel();
        let keeps_handshake = restart || cache.is_some();
        let host = HostEnd::new(stdout);
        let mut shared =
            Shared::new(server_name, host, conversation, cache, stay_up, keeps_handshake, tell.clone());
        shared.call_ids = call_ids;
        shared.own = own;
        let shared = Arc::new(shared);
        if let Some(own) = &shared.own {
            own.connect(Box::new(OwnLine::new(&shared)));
        }
        let mut supervisor = Self {
            shared,
            command,
            events,
            tell,
            rules: Rules { frames_only: true, max_message, keep },
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
        if let Err(e) = start::host_pump(&self.shared, &self.tell, self.rules.keep) {
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
