//! Which proxies may work, and for whom: what the book and the registrations say at this moment.

use super::{Core, Proxy};
use crate::ledger::{Ledger, Transcripts};
use crate::projects::Who;
use crate::server::Problem;
use crate::work::Seat;
use std::path::{Path, PathBuf};

/// A proxy that asks for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seated {
    pub(crate) seat: Seat,
    /// Where it works.
    pub(crate) cwd: PathBuf,
    /// Nothing of it is recorded, or everything is switched off there: no plan is about it.
    pub(crate) is_out: bool,
}

impl<L: Ledger, T: Transcripts> Core<L, T> {
    /// Who a proxy is that asks for work.
    pub(super) fn seat(&mut self, proxy_id: &str, who: &Who) -> Result<Seated, Problem> {
        let known = self.proxies.get(proxy_id).ok_or(Problem::UnknownProxy)?;
        let cwd = known.registration.cwd.clone();
        if !who.may_speak_of(&cwd) {
            return Err(Problem::ForeignDirectory);
        }
        let (seat, muted) = (self.seat_of(known), known.muted);
        let is_out = muted || self.off.is_off(&cwd);
        Ok(Seated { seat, cwd, is_out })
    }

    /// The proxies of a project, the oldest first, and its sessions that go on.
    pub(super) fn seats(&self, project: &Path) -> (Vec<Seat>, Vec<String>) {
        let within = |dir: &Path| crate::projects::resolved(dir).is_some_and(|dir| dir.starts_with(project));
        let mut known: Vec<_> =
            self.proxies.values().filter(|proxy| !proxy.muted && within(&proxy.registration.cwd)).collect();
        // Their ids begin with the time at which they were made.
        known.sort_by(|a, b| a.registration.proxy_id.cmp(&b.registration.proxy_id));
        let seats = known.into_iter().map(|proxy| self.seat_of(proxy)).collect();
        let sessions = self.ledger.census(&within).sessions.into_iter().map(|session| session.id).collect();
        (seats, sessions)
    }

    fn seat_of(&self, proxy: &Proxy) -> Seat {
        let registration = &proxy.registration;
        Seat {
            proxy: registration.proxy_id.clone(),
            server: registration.server.name.clone(),
            pid: registration.pid,
            session: self.ledger.session_of(&registration.proxy_id),
        }
    }
}
