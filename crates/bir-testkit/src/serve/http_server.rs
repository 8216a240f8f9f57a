//! The Streamable HTTP transport of the test upstream, in both eras.
//!
//! ```text
//!   connection ─ request ─▶ log ─▶ rule on HTTP? ─▶ session ─▶ Engine::receive ─▶ PostOutlet
//!                                                      └ GET: the session's own stream, or a replay
//! ```
//!
//! One thread a connection; the requests on it are handled one after the other.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::http1::{self, Connection, Request};
use crate::log::exact;
use crate::raw::{self, Kind};
use crate::script::{Allow, Moment};
use crate::serve::engine::{Engine, META_VERSION, MODERN, Session};
use crate::serve::event_stream::{EventStream, StreamOutlet};
use crate::serve::headers;
use crate::serve::outlet::{Nowhere, Outlet};
use crate::serve::post_outlet::{Phase, PostOutlet};
use crate::step::Step;
use crate::sync::lock;

const NO_HEADERS: [(&str, &str); 0] = [];

/// What one connection does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Reads the next request.
    Read,
    /// Closes.
    Close,
}

/// A session over HTTP and its streams.
pub(crate) struct HttpSession {
    pub(crate) session: Arc<Session>,
    pub(crate) own: Arc<EventStream>,
    streams: Mutex<Vec<Arc<EventStream>>>,
    next: AtomicUsize,
}

impl HttpSession {
    pub(crate) fn new(engine: &Engine, id: &str, own: Arc<EventStream>) -> Arc<Self> {
        let session = Session::new(id, Arc::new(StreamOutlet(own.clone())));
        engine.add_session(&session);
        Arc::new(Self { session, own, streams: Mutex::default(), next: AtomicUsize::new(1) })
    }

    fn stream(&self, engine: &Engine) -> Arc<EventStream> {
        let number = self.next.fetch_add(1, SeqCst);
        let stream = Arc::new(EventStream::new(number, engine.script.http.answer.clone()));
        lock(&self.streams).push(stream.clone());
        stream
    }

    fn find(&self, event_id: &str) -> Option<(Arc<EventStream>, usize)> {
        let streams = lock(&self.streams);
        let mut all = streams.iter().chain([&self.own]);
        all.find_map(|stream| Some((stream.clone(), stream.place(event_id)?)))
    }
}

/// Makes a session unknown from now on (the step `forget`).
pub(crate) fn forget(session: &Session) {
    session.forgotten.store(true, SeqCst);
}

/// Sockets of a server, so that an end inside a test process closes them.
#[derive(Default)]
pub(crate) struct Stop {
    stopped: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Stop {
    pub(crate) fn now(&self) {
        self.stopped.store(true, SeqCst);
        for socket in lock(&self.sockets).drain(..) {
            http1::close(&socket);
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.stopped.load(SeqCst)
    }
}

/// Which of the two HTTP transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    Streamable,
    LegacySse,
}

/// A listening test upstream.
pub(crate) struct Server {
    pub(crate) engine: Arc<Engine>,
    pub(crate) face: Face,
    sessions: RwLock<HashMap<String, Arc<HttpSession>>>,
    nameless: Arc<HttpSession>,
    next: AtomicUsize,
    stop: Arc<Stop>,
}

impl Server {
    pub(crate) fn new(engine: Arc<Engine>, face: Face, stop: Arc<Stop>) -> Arc<Self> {
        let own = Arc::new(EventStream::new(0, engine.script.http.answer.clone()));
        let nameless = HttpSession::new(&engine, "", own);
        engine.moment(Moment::Start, &nameless.session);
        let (sessions, next) = (RwLock::default(), AtomicUsize::new(1));
        Arc::new(Self { engine, face, sessions, nameless, next, stop })
    }

    /// Accepts until stopped.
    pub(crate) fn serve(self: &Arc<Self>, listener: &TcpListener) -> io::Result<()> {
        while !self.stop.is_set() {
            let fd = listener.as_fd();
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            if poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 50_000_000 })).unwrap_or(0) == 0 {
                continue;
            }
            let (socket, peer) = listener.accept()?;
            lock(&self.stop.sockets).push(socket.try_clone()?);
            let server = self.clone();
            std::thread::spawn(move || server.connection(socket, peer));
        }
        Ok(())
    }

    fn connection(self: Arc<Self>, socket: TcpStream, peer: SocketAddr) {
        let mut connection = Connection::new(socket);
        loop {
            let request = match connection.read() {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(error) => {
                    self.engine.log.put("bad_http", vec![("text", error.to_string().into())]);
                    break;
                }
            };
            let Ok(mut socket) = connection.socket() else { break };
            if self.stop.is_set() || !matches!(self.request(&request, &mut socket), Ok(Next::Read)) {
                break;
            }
        }
        if let Ok(socket) = connection.socket() {
            http1::close(&socket);
            // The copies in the list of all sockets must not keep descriptors open.
            lock(&self.stop.sockets).retain(|known| known.peer_addr().is_ok_and(|other| other != peer));
        }
    }

    fn request(self: &Arc<Self>, request: &Request, socket: &mut TcpStream) -> io::Result<Next> {
        let mut fields = exact(&request.body);
        let headers: Vec<[&str; 2]> = request.headers.iter().map(|(k, v)| [k.as_str(), v.as_str()]).collect();
        fields.push(("method", request.method.clone().into()));
        fields.push(("path", request.target.clone().into()));
        fields.push(("headers", serde_json::json!(headers)));
        self.engine.log.put("http", fields);
        if let Some(steps) = self.engine.http_rule(&request.method) {
            let id = raw::get(&request.body, "id").unwrap_or(b"null").to_vec();
            let outlet = Arc::new(self.outlet(&self.nameless, request, socket, vec![], None)?);
            let default = steps.iter().position(|step| *step == Step::Default);
            let before = &steps[..default.unwrap_or(steps.len())];
            self.engine.call(&self.nameless.session, &request.body, &id, false, outlet.clone()).run(before);
            if default.is_none() || outlet.phase() != Phase::Fresh {
                return Ok(self.after(&outlet, request, socket));
            }
        }
        if self.face == Face::LegacySse {
            return self.legacy_sse(request, socket);
        }
        if request.path() != self.engine.script.http.path {
            http1::answer(socket, 404, &NO_HEADERS, b"")?;
            return Ok(Next::Read);
        }
        match request.method.as_str() {
            "POST" => self.post(request, socket),
            "GET" if self.allowed(self.engine.script.http.get, request) => self.get(request, socket),
            "DELETE" if self.allowed(self.engine.script.http.delete, request) => self.delete(request, socket),
            _ => {
                http1::answer(socket, 405, &[("Allow", "POST")], b"")?;
                Ok(Next::Read)
            }
        }
    }

    fn allowed(&self, allow: Allow, request: &Request) -> bool {
        allow == Allow::Yes
            && self.engine.script.era.legacy()
            && request.header("mcp-protocol-version") != Some(MODERN)
    }

    /// After the steps: a request without an answer is held until the client goes away.
    fn after(&self, outlet: &PostOutlet, request: &Request, socket: &TcpStream) -> Next {
        while matches!(outlet.phase(), Phase::Fresh | Phase::Streaming) {
            if http1::is_gone(socket) || self.stop.is_set() {
                self.engine.log.put("http_gone", vec![("path", request.target.clone().into())]);
                return Next::Close;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        if outlet.phase() == Phase::Closed || http1::is_gone(socket) { Next::Close } else { Next::Read }
    }

    fn outlet(
        &self,
        session: &HttpSession,
        _request: &Request,
        socket: &TcpStream,
        headers: Vec<(String, String)>,
        modern: Option<bool>,
    ) -> io::Result<PostOutlet> {
        let shape = self.engine.script.http.answer.clone();
        let stream = session.stream(&self.engine);
        let common = session.session.common.clone();
        Ok(PostOutlet::new(socket.try_clone()?, shape, stream, headers, common, modern))
    }

    fn error(
        &self,
        socket: &mut TcpStream,
        status: u16,
        id: &[u8],
        code: i32,
        message: &str,
    ) -> io::Result<Next> {
        let head = format!(
            "{{\"jsonrpc\":\"2.0\",\"error\":{{\"code\":{code},\"message\":{}}},\"id\":",
            raw::quote(message.as_bytes())
        );
        let body = [head.as_bytes(), id, b"}"].concat();
        http1::answer(socket, status, &[("Content-Type", "application/json")], &body)?;
        Ok(Next::Read)
    }

    fn post(self: &Arc<Self>, request: &Request, socket: &mut TcpStream) -> io::Result<Next> {
        let body = &request.body;
        if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
            return self.error(socket, 400, b"null", -32700, "Parse error");
        }
        let era = self.engine.script.era;
        let claims = request.header("mcp-protocol-version") == Some(MODERN)
            || raw::path(body, &["params", "_meta", META_VERSION]).is_some();
        if era.modern() && (!era.legacy() || claims) {
            return self.post_modern(request, socket);
        }
        let http = &self.engine.script.http;
        let id = match raw::kind(body) {
            Kind::Request(id) => id,
            _ => b"null",
        };
        if raw::method(body) == "initialize" {
            let session = self.initialize();
            let headers = match session.session.id.as_str() {
                "" => vec![],
                id => vec![("Mcp-Session-Id".to_owned(), id.to_owned())],
            };
            return self.receive(&session, request, socket, headers, None);
        }
        let session = match (http.sessions, request.header("mcp-session-id")) {
            (false, _) => self.nameless.clone(),
            (true, None) => {
                return self.error(socket, 400, id, -32000, "Bad Request: Server not initialized");
            }
            (true, Some(name)) => match self.session(name) {
                Some(session) => session,
                None => return self.error(socket, http.unknown_session, id, -32001, "Session not found"),
            },
        };
        self.receive(&session, request, socket, vec![], None)
    }

    fn initialize(&self) -> Arc<HttpSession> {
        if !self.engine.script.http.sessions {
            return self.nameless.clone();
        }
        self.new_session()
    }

    /// A new session. The process id is in its name, so that one of an earlier process is never known.
    pub(crate) fn new_session(&self) -> Arc<HttpSession> {
        let id = format!("session-{}-{}", std::process::id(), self.next.fetch_add(1, SeqCst));
        let own = Arc::new(EventStream::new(0, self.engine.script.http.answer.clone()));
        let session = HttpSession::new(&self.engine, &id, own);
        self.sessions.write().unwrap_or_else(PoisonError::into_inner).insert(id, session.clone());
        session
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<HttpSession>> {
        let session = self.sessions.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()?;
        let used = lock(&session.session.inner).requests;
        let expired = self.engine.script.http.expire_after.is_some_and(|limit| used >= limit);
        (!expired && !session.session.forgotten.load(SeqCst)).then_some(session)
    }

    pub(crate) fn remove(&self, id: &str) {
        self.sessions.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    fn receive(
        self: &Arc<Self>,
        session: &Arc<HttpSession>,
        request: &Request,
        socket: &mut TcpStream,
        headers: Vec<(String, String)>,
        modern: Option<bool>,
    ) -> io::Result<Next> {
        if !matches!(raw::kind(&request.body), Kind::Request(_)) {
            // A notification's steps may send something, but not on this answer, which is empty.
            self.engine.receive(&session.session, request.body.clone(), Arc::new(Nowhere), true);
            http1::answer(socket, 202, &NO_HEADERS, b"")?;
            return Ok(Next::Read);
        }
        let outlet = Arc::new(self.outlet(session, request, socket, headers, modern)?);
        self.engine.receive(&session.session, request.body.clone(), outlet.clone(), false);
        Ok(self.after(&outlet, request, socket))
    }

    fn post_modern(self: &Arc<Self>, request: &Request, socket: &mut TcpStream) -> io::Result<Next> {
        let is_request = matches!(raw::kind(&request.body), Kind::Request(_));
        let complete = headers::meta_complete(&request.body);
        if self.engine.script.http.check_headers
            && is_request
            && complete
            && let Some(problem) = headers::mismatch(request)
        {
            let id = raw::get(&request.body, "id").unwrap_or(b"null");
            return self.error(socket, 400, id, -32020, &problem);
        }
        self.receive(&self.nameless, request, socket, vec![], Some(complete))
    }

    fn get(self: &Arc<Self>, request: &Request, socket: &mut TcpStream) -> io::Result<Next> {
        let http = &self.engine.script.http;
        let session = match (http.sessions, request.header("mcp-session-id")) {
            (false, _) => self.nameless.clone(),
            (true, None) => return self.error(socket, 400, b"null", -32000, "Bad Request: no session id"),
            (true, Some(name)) => match self.session(name) {
                Some(session) => session,
                None => {
                    return self.error(socket, http.unknown_session, b"null", -32001, "Session not found");
                }
            },
        };
        let (stream, from) = match request.header("last-event-id") {
            Some(event) => match session.find(event) {
                Some((stream, from)) => (stream, Some(from)),
                None => return self.error(socket, 400, b"null", -32000, "Unknown event id"),
            },
            None => (session.own.clone(), None),
        };
        if from.is_none() && stream.is_live() {
            return self.error(socket, 409, b"null", -32000, "Conflict: the stream is already open");
        }
        let attached = stream.attach(socket.try_clone()?, &[], from)?;
        let gone = Arc::downgrade(&session);
        stream.hold(attached, socket, &|| self.stop.is_set() || Weak::upgrade(&gone).is_none());
        if http1::is_gone(socket) {
            self.engine.log.put("http_gone", vec![("path", request.target.clone().into())]);
            return Ok(Next::Close);
        }
        Ok(Next::Read)
    }

    fn delete(self: &Arc<Self>, request: &Request, socket: &mut TcpStream) -> io::Result<Next> {
        let id = request.header("mcp-session-id").unwrap_or_default();
        let Some(session) = self.session(id) else {
            return self.error(
                socket,
                self.engine.script.http.unknown_session,
                b"null",
                -32001,
                "Session not found",
            );
        };
        self.remove(id);
        forget(&session.session);
        // Its GET stream ends with it; a client that is gone makes no difference.
        let _ = session.own.finish();
        http1::answer(socket, 200, &NO_HEADERS, b"")?;
        Ok(Next::Read)
    }

    /// The 2024-11-05 transport: one GET stream a session, POSTs beside it answered 202.
    fn legacy_sse(self: &Arc<Self>, request: &Request, socket: &mut TcpStream) -> io::Result<Next> {
        let http = &self.engine.script.http;
        match request.method.as_str() {
            "GET" if request.path() == http.path => {
                let session = self.new_session();
                let id = session.session.id.clone();
                let endpoint = http.endpoint.as_deref().unwrap_or("/messages?sessionId=${session}");
                let endpoint = endpoint.replace("${session}", &id);
                let attached = session.own.attach(socket.try_clone()?, &[], None)?;
                let event = format!("event: endpoint\ndata: {endpoint}\n\n");
                session
                    .own
                    .bytes(crate::serve::outlet::Body::Whole(event.as_bytes()), &Default::default())?;
                session.own.hold(attached, socket, &|| self.stop.is_set());
                self.engine.log.put("http_gone", vec![("session", id.clone().into())]);
                self.remove(&id);
                Ok(Next::Close)
            }
            "POST" if request.path() == "/messages" => {
                let name = request.query("sessionId").unwrap_or_default();
                let Some(session) = self.session(name) else {
                    return self.error(socket, http.unknown_session, b"null", -32001, "Session not found");
                };
                let outlet: Arc<dyn Outlet> = session.session.common.clone();
                // Accepted before it is handled: the answer comes on the stream.
                http1::answer(socket, 202, &NO_HEADERS, b"Accepted")?;
                self.engine.receive(&session.session, request.body.clone(), outlet, true);
                Ok(Next::Read)
            }
            "GET" | "POST" if request.path() != http.path => {
                http1::answer(socket, 404, &NO_HEADERS, b"")?;
                Ok(Next::Read)
            }
            _ => {
                http1::answer(socket, 405, &[("Allow", "GET")], b"")?;
                Ok(Next::Read)
            }
        }
    }
}
