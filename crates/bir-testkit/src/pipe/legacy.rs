//! The legacy era through the pipe: a session is a child.
//!
//! Ids go through unchanged, since one client owns the child. Answers are event streams with ids, so that a client can
//! take up a stream that it lost.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::child::Child;
use super::guard::{Refusal, check_accept};
use super::{Next, Waited, one_line, wait_for_answer};
use crate::http1::{self, Request};
use crate::raw::{self, Kind};
use crate::script::{Answer, Format};
use crate::serve::event_stream::{EventStream, StreamOutlet};
use crate::serve::outlet::{Body, Outlet};
use crate::serve::post_outlet::PostOutlet;
use crate::step::Chunking;
use crate::sync::lock;

/// Most sessions at a time; the one unused for longest makes room for a new one.
const MOST_SESSIONS: usize = 24;

/// Wait of a client before it takes up a lost stream, in milliseconds.
const RETRY_MS: u64 = 500;

/// Revisions of the era.
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// First revision whose clients understand an event with empty data.
const PRIMING: &str = "2025-11-25";

/// A request on its way.
struct Call {
    id: Vec<u8>,
    token: Option<Vec<u8>>,
    outlet: Arc<PostOutlet>,
}

struct Session {
    id: String,
    child: Child,
    /// In the order they came.
    calls: Mutex<Vec<Call>>,
    own: Arc<EventStream>,
    streams: Mutex<Vec<Arc<EventStream>>>,
    prime: bool,
    used: AtomicUsize,
}

impl Session {
    fn shape(prime: bool) -> Answer {
        Answer {
            format: Format::Sse,
            event_ids: true,
            event_name: true,
            prime,
            retry_ms: prime.then_some(RETRY_MS),
            ..Answer::default()
        }
    }

    /// A line of the child goes where it belongs. Errors of writing are a client that left; it can replay.
    fn route(&self, line: &[u8]) {
        let (body, cut) = (Body::Whole(line), Chunking::default());
        let _ = match raw::kind(line) {
            Kind::Response(id) => {
                let mut calls = lock(&self.calls);
                let found = calls.iter().position(|call| call.id == id).map(|at| calls.remove(at));
                drop(calls);
                match found {
                    Some(call) => call.outlet.message(body, true, &cut),
                    None => Ok(()),
                }
            }
            Kind::Other => Ok(()),
            Kind::Request(_) | Kind::Notification => match self.related(line) {
                Some(outlet) => outlet.message(body, false, &cut),
                None => self.own.event(Some(body), &cut),
            },
        };
    }

    /// The call that a message of the child belongs to, as far as stdio lets us know.
    fn related(&self, line: &[u8]) -> Option<Arc<PostOutlet>> {
        let method = raw::method(line);
        if method.ends_with("/list_changed") || method == "notifications/resources/updated" {
            return None;
        }
        let calls = lock(&self.calls);
        let token = raw::path(line, &["params", "progressToken"]);
        let by_token = calls.iter().find(|call| token.is_some() && call.token.as_deref() == token);
        by_token.or(calls.last()).map(|call| call.outlet.clone())
    }

    fn find(&self, event_id: &str) -> Option<(Arc<EventStream>, usize)> {
        let streams = lock(&self.streams);
        let mut all = streams.iter().chain([&self.own]);
        all.find_map(|stream| Some((stream.clone(), stream.place(event_id)?)))
    }

    /// The child is gone: whoever waits learns it by the end of the connection.
    fn hang_up(&self) {
        for call in lock(&self.calls).drain(..) {
            call.outlet.close();
        }
        let _ = self.own.finish();
    }
}

/// All sessions.
pub(super) struct Sessions {
    command: Vec<String>,
    known: Arc<Mutex<HashMap<String, Arc<Session>>>>,
    next: AtomicUsize,
    /// After so long without an answer a stream is closed and the client polls.
    poll_after: Option<Duration>,
}

impl Sessions {
    pub(super) fn new(command: Vec<String>, poll_after: Option<Duration>) -> Self {
        Self { command, known: Arc::default(), next: AtomicUsize::new(1), poll_after }
    }

    pub(super) fn end_all(&self) {
        let all: Vec<Arc<Session>> = lock(&self.known).drain().map(|(_, session)| session).collect();
        let ends = all.into_iter().map(|session| std::thread::spawn(move || session.child.end()));
        for end in ends.collect::<Vec<_>>() {
            // A panic there leaves that child to the end of its pipes.
            let _ = end.join();
        }
    }

    fn find(&self, request: &Request) -> Result<Arc<Session>, Refusal> {
        let Some(id) = request.header("mcp-session-id") else {
            return Err(Refusal::new(400, -32000, "Bad Request: no session id"));
        };
        let session = lock(&self.known).get(id).cloned();
        let session = session.ok_or_else(|| Refusal::new(404, -32001, "Session not found"))?;
        session.used.store(self.next.fetch_add(1, SeqCst), SeqCst);
        if let Some(version) =
            request.header("mcp-protocol-version").filter(|version| !REVISIONS.contains(version))
        {
            let message = format!("Bad Request: Unsupported protocol version {version}");
            return Err(Refusal::new(400, -32000, &message));
        }
        Ok(session)
    }

    fn open(&self, initialize: &[u8]) -> io::Result<Arc<Session>> {
        let used = self.next.fetch_add(1, SeqCst);
        let id = format!("pipe-{}-{used}", std::process::id());
        let asked =
            raw::path(initialize, &["params", "protocolVersion"]).and_then(raw::string).unwrap_or_default();
        let prime = asked.as_str() >= PRIMING;
        let (child, lines) = Child::start(&self.command)?;
        let session = Arc::new(Session {
            id: id.clone(),
            child,
            calls: Mutex::default(),
            own: Arc::new(EventStream::new(0, Session::shape(false))),
            streams: Mutex::default(),
            prime,
            used: AtomicUsize::new(used),
        });
        let mut known = lock(&self.known);
        let oldest = known.values().min_by_key(|session| session.used.load(SeqCst)).map(|s| s.id.clone());
        let removed =
            oldest.filter(|_| known.len() >= MOST_SESSIONS).and_then(|oldest| known.remove(&oldest));
        known.insert(id.clone(), session.clone());
        drop(known);
        if let Some(removed) = removed {
            std::thread::spawn(move || removed.child.end());
        }
        let (routed, all): (Weak<Session>, _) = (Arc::downgrade(&session), self.known.clone());
        std::thread::spawn(move || {
            lines.each(|line| {
                if let Some(session) = routed.upgrade() {
                    session.route(&line);
                }
            });
            if let Some(session) = routed.upgrade() {
                session.hang_up();
            }
            lock(&all).remove(&id);
        });
        Ok(session)
    }

    pub(super) fn post(&self, request: &Request, socket: &mut TcpStream) -> Next {
        let id = raw::get(&request.body, "id").unwrap_or(b"null");
        if let Some(refusal) = check_accept(request) {
            return refusal.answer(socket, id);
        }
        let opens = raw::method(&request.body) == "initialize" && request.header("mcp-session-id").is_none();
        let session = match opens {
            true => match self.open(&request.body) {
                Ok(session) => session,
                Err(error) => return Refusal::new(500, -32603, &error.to_string()).answer(socket, id),
            },
            false => match self.find(request) {
                Ok(session) => session,
                Err(refusal) => return refusal.answer(socket, id),
            },
        };
        let line = one_line(&request.body);
        let Kind::Request(id) = raw::kind(&line) else {
            if session.child.write(&line).is_err() {
                lock(&self.known).remove(&session.id);
                return Refusal::new(404, -32001, "Session not found").answer(socket, b"null");
            }
            http1::answer(socket, 202, &[("Mcp-Session-Id", &session.id)], b"")?;
            return Ok(true);
        };
        let number = self.next.fetch_add(1, SeqCst);
        let stream = Arc::new(EventStream::new(number, Session::shape(session.prime)));
        lock(&session.streams).push(stream.clone());
        let headers = vec![("Mcp-Session-Id".to_owned(), session.id.clone())];
        let own = Arc::new(StreamOutlet(session.own.clone()));
        // The session's first answer has no priming event: its client does not know yet what it speaks to.
        let shape = Session::shape(session.prime && !opens);
        let outlet = Arc::new(PostOutlet::new(socket.try_clone()?, shape, stream, headers, own, None));
        let token = raw::path(&line, &["params", "_meta", "progressToken"]).map(<[u8]>::to_vec);
        lock(&session.calls).push(Call { id: id.to_vec(), token, outlet: outlet.clone() });
        if session.prime && !opens {
            outlet.open()?;
        }
        if session.child.write(&line).is_err() {
            // Too late for a status when the stream has begun: then its end tells.
            lock(&self.known).remove(&session.id);
            outlet.close();
            return Ok(false);
        }
        // A client that leaves has not cancelled: the answer waits for its return.
        let budget = self.poll_after.filter(|_| session.prime && !opens);
        match wait_for_answer(&outlet, socket, budget) {
            Waited::Answered => Ok(!http1::is_gone(socket)),
            Waited::Left => Ok(false),
            Waited::Late => outlet.cut(true).map(|()| true),
        }
    }

    pub(super) fn get(&self, request: &Request, socket: &mut TcpStream) -> Next {
        if let Some(refusal) = check_accept(request) {
            return refusal.answer(socket, b"null");
        }
        let session = match self.find(request) {
            Ok(session) => session,
            Err(refusal) => return refusal.answer(socket, b"null"),
        };
        let (stream, from) = match request.header("last-event-id") {
            Some(event) => match session.find(event) {
                Some((stream, from)) => (stream, Some(from)),
                None => return Refusal::new(400, -32000, "Unknown event id").answer(socket, b"null"),
            },
            None => (session.own.clone(), None),
        };
        if from.is_none() && stream.is_live() {
            return Refusal::new(409, -32000, "Conflict: the stream is already open").answer(socket, b"null");
        }
        let attached =
            stream.attach(socket.try_clone()?, &[("Mcp-Session-Id".to_owned(), session.id.clone())], from)?;
        let alive = Arc::downgrade(&session);
        drop(session);
        stream.hold(attached, socket, &|| alive.upgrade().is_none());
        Ok(!http1::is_gone(socket))
    }

    pub(super) fn delete(&self, request: &Request, socket: &mut TcpStream) -> Next {
        let session = match self.find(request) {
            Ok(session) => session,
            Err(refusal) => return refusal.answer(socket, b"null"),
        };
        lock(&self.known).remove(&session.id);
        session.hang_up();
        session.child.end();
        http1::answer(socket, 200, &[("Content-Type", "text/plain")], b"")?;
        Ok(true)
    }
}
