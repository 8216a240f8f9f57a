//! Opening a connection to a child that is started after the host has opened ours: a sleeping one, or the next one.

use super::Supervisor;
use crate::stdio::Event;
use crate::stdio::ending::Cause;
use crate::stdio::ends::UpstreamInner;
use crate::stdio::from_host::Wake;
use crate::stdio::handshake::{Opening, RESULT};
use crate::{answer, log};
use bir_model::Direction;
use bir_upstream::child::SpawnError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a repeated handshake may take; a package runner may be downloading.
const HANDSHAKE: Duration = Duration::from_secs(60);

/// How the start of a connection went.
pub(super) enum Opened {
    Ready,
    Exited,
}

impl Supervisor {
    /// A message needs the sleeping upstream: start it, and open the connection as the host has opened ours.
    pub(super) fn on_wake(&mut self, wake: &Wake) -> Option<u8> {
        let shared = Arc::clone(&self.shared);
        if !shared.sleeping.load(Ordering::Acquire) {
            // Somebody else has woken it.
            let _ = wake.started.send(());
            return None;
        }
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
    pub(super) fn start_and_open(
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
}

/// A line of our own for the child that is being opened.
fn say(end: &mut UpstreamInner, line: &[u8]) {
    if let Err(e) = end.say(line) {
        log::debug!("{}: {e}", Direction::HostToUpstream);
    }
}
