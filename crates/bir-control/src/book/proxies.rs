//! The proxies that introduced themselves, and the sessions to which they belong.
//!
//! A proxy that its host started has the host for its parent, and the host's hooks have it above them: that binds the two
//! (facts/claude-code.md §0.4). Where something stands between, `npx` or a shell, a call with an id tells.

use super::join::{of_server, same_tool};
use super::session::Session;
use bir_model::RunId;
use bir_model::control::Registration;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Proxies that are remembered.
const PROXIES: usize = 10_000;
/// Calls of a proxy whose end is remembered out of their order.
const ENDED_CALLS: usize = 20_000;

/// A proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) registration: Registration,
    pub(super) project: PathBuf,
    /// The session of its last call with an id.
    pub(super) learned: Option<String>,
    /// Its calls that are open, and where they stand.
    pub(super) open: BTreeMap<u64, (RunId, u32)>,
    ended: Ended,
    /// Its host is gone.
    pub(super) gone: bool,
    spoke: u64,
}

/// The calls of a proxy that are over. It counts them, so that nearly all are below one number.
#[derive(Debug, Default)]
struct Ended {
    all_below: u64,
    above: BTreeSet<u64>,
}

impl Ended {
    fn insert(&mut self, call: u64) {
        if call >= self.all_below {
            self.above.insert(call);
        }
        while self.above.remove(&self.all_below) || self.above.len() > ENDED_CALLS {
            self.all_below += 1;
        }
    }

    fn contains(&self, call: u64) -> bool {
        call < self.all_below || self.above.contains(&call)
    }
}

impl Proxy {
    /// A call of it is over; what is told of it again is old.
    pub(super) fn ended(&mut self, call: u64) {
        self.open.remove(&call);
        self.ended.insert(call);
    }

    /// Whether that call is over.
    pub(super) fn has_ended(&self, call: u64) -> bool {
        self.ended.contains(call)
    }

    /// Where in the session's processes its parent stands.
    fn binds(&self, session: &Session) -> Option<usize> {
        match &self.registration.host_session {
            Some(id) if *id == session.id => Some(0),
            _ => session.stands(self.registration.parent_pid),
        }
    }

    /// Whether it belongs to a session.
    pub(super) fn serves(&self, session: &Session) -> bool {
        !self.gone && (self.binds(session).is_some() || self.learned.as_ref() == Some(&session.id))
    }

    /// Whether a call of it may have been announced in this session.
    pub(super) fn may_serve(&self, session: &Session, sessions: &BTreeMap<String, Session>) -> bool {
        let bound = self.bound(sessions);
        bound.contains(&session.id) || bound.is_empty() && session.is_in(&self.project)
    }

    /// The sessions that have its parent for their host, the likeliest first. Of those that have it above them the nearest ones
    /// count alone: a host that was started by another one has that above it, and its proxies are not its own.
    pub(super) fn bound(&self, sessions: &BTreeMap<String, Session>) -> Vec<String> {
        let mut bound: Vec<_> = sessions
            .values()
            .filter_map(|session| {
                Some((session.ended, self.binds(session)?, Reverse(session.spoke), &session.id))
            })
            .collect();
        bound.sort();
        let nearest = bound.first().map(|(_, place, ..)| *place);
        let bound = bound.into_iter().filter(|(_, place, ..)| Some(*place) <= nearest);
        bound.map(|(.., id)| id.clone()).collect()
    }

    /// The session to which its calls belong if nothing else tells.
    pub(super) fn session(&self, sessions: &BTreeMap<String, Session>) -> Option<String> {
        let learned = || self.learned.clone().filter(|id| sessions.contains_key(id));
        self.bound(sessions).into_iter().next().or_else(learned)
    }

    /// The sessions in which a call of it may have been announced, the likeliest first.
    pub(super) fn candidates(&self, sessions: &BTreeMap<String, Session>) -> Vec<String> {
        let bound = self.bound(sessions);
        if bound.is_empty() { self.near(sessions) } else { bound }
    }

    /// The sessions of its project, the likeliest first.
    pub(super) fn near(&self, sessions: &BTreeMap<String, Session>) -> Vec<String> {
        let mut near: Vec<_> = sessions.values().filter(|session| session.is_in(&self.project)).collect();
        near.sort_by_key(|session| (self.learned.as_ref() != Some(&session.id), Reverse(session.spoke)));
        near.into_iter().map(|session| session.id.clone()).collect()
    }
}

/// All proxies.
#[derive(Debug, Default)]
pub(super) struct Proxies(pub(super) BTreeMap<String, Proxy>);

impl Proxies {
    /// Takes an introduction, also a repeated one.
    pub(super) fn register(&mut self, mut registration: Registration, project: PathBuf, number: u64) {
        if let Some(known) = self.0.get_mut(&registration.proxy_id) {
            // It says its tools once, and later their name.
            let before = &mut known.registration;
            if registration.server.tools.is_none() {
                registration.server.tools.clone_from(&before.server.tools);
            }
            if registration.tools.is_none() && registration.server.tools == before.server.tools {
                registration.tools = before.tools.take();
            }
            known.registration = registration;
            known.gone = false;
            known.spoke = number;
            return;
        }
        if self.0.len() >= PROXIES {
            let oldest = self.0.iter().min_by_key(|(_, proxy)| (!proxy.open.is_empty(), proxy.spoke));
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.0.remove(&oldest);
            }
        }
        let id = registration.proxy_id.clone();
        let proxy = Proxy {
            registration,
            project,
            learned: None,
            open: BTreeMap::new(),
            ended: Ended::default(),
            gone: false,
            spoke: number,
        };
        self.0.insert(id, proxy);
    }

    pub(super) fn spoke(&mut self, id: &str, number: u64) -> Option<&mut Proxy> {
        let proxy = self.0.get_mut(id)?;
        proxy.spoke = number;
        Some(proxy)
    }

    /// The proxy of a session that serves the server of a call. `tool` is the server's name of it, where it is known.
    pub(super) fn serving(
        &self,
        session: &Session,
        rendered: &str,
        server: Option<&str>,
        tool: Option<&str>,
    ) -> Option<&Proxy> {
        let fits = |proxy: &&Proxy| {
            let named = &proxy.registration.server.name;
            match server {
                Some(_) => same_tool(rendered, server, named, tool.unwrap_or("")),
                None => of_server(rendered, named),
            }
        };
        self.0.values().filter(|proxy| proxy.serves(session)).filter(fits).max_by_key(|proxy| proxy.spoke)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_calls_take_no_room_once_those_before_them_have_ended() {
        let mut ended = Ended::default();
        for call in [1, 2, 4, 0, 3] {
            assert!(!ended.contains(call));
            ended.insert(call);
            assert!(ended.contains(call));
        }
        assert_eq!((ended.all_below, ended.above.len()), (5, 0));
        (0..2 * ENDED_CALLS as u64).for_each(|n| ended.insert(10 + 2 * n));
        assert!(ended.above.len() <= ENDED_CALLS);
    }
}
