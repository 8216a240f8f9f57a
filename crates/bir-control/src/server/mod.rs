//! HTTP/1.1 on 127.0.0.1: who may say what, in which form, and how much of it. What is said goes to the core.
//!
//! ```text
//!   POST /session/* /tool/*     a HookEvent, each on the route of its kind      HookReply
//!   POST /proxy/register        a Registration                                  Registered
//!   POST /proxy/step            StepReports; 409 where the proxy is not known   StepAnswer
//!   POST /proxy/poll            a WorkPoll, held for up to 25 s                 WorkAnswer; 409 as above
//!   POST /proxy/result          a WorkReport of up to 24 MiB                    {}; 409 where the order is not that proxy's
//!   POST /scenario/hello        a ScenarioHello                                 {}
//!   POST /scenario/run          a ScenarioRun                                   ScenarioAnswer
//!   GET  /health                                                                Health, of the asking project
//!   POST /shutdown              {"reason":"down"} or {"reason":"upgrade"}       {}
//! ```
//!
//! Every route wants the token of a project, and takes what concerns a directory of that project alone.

mod body;
mod gate;
mod problem;
mod replay;

use crate::core::{Message, Reply, Work};
use crate::ledger::Census;
use crate::log::Log;
use crate::projects::{Projects, Who};
use crate::work::Desk;
use bir_model::control::{HookEvent, Registration, StepReports};
use body::Room;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

pub(crate) use problem::Problem;

/// Connections at a time. One more waits.
const MOST_CONNECTIONS: usize = 256;
/// How long a request's head may take, and how long a connection may lie idle.
const HEAD: Duration = Duration::from_secs(5);
/// The same, as it is told to clients, so that they do not send on a connection that is being closed.
const KEEP_ALIVE: HeaderValue = HeaderValue::from_static("timeout=5");
/// How long the core may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Messages that wait for the core: one of each connection.
pub(crate) const QUEUE: usize = MOST_CONNECTIONS + 16;
/// Bytes of a connection's buffer.
const BUFFER: usize = 64 * 1024;

/// What the control server says of itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health<'a> {
    /// `ok`, or `not_recording` where it is not clear what may be recorded.
    pub(crate) status: &'a str,
    pub(crate) api_version: u64,
    pub(crate) version: &'a str,
    pub(crate) pid: u32,
    /// ms since the Unix epoch.
    pub(crate) started_at: u64,
    /// `sessions`, `proxies`, `bypassed` (calls by server) of the asking project.
    #[serde(flatten)]
    pub(crate) census: &'a Census,
    /// Runs that wait in the spool.
    pub(crate) spooled_runs: u64,
}

/// Why it is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// `bir down`.
    Down,
    /// A newer release takes over.
    Upgrade,
}

#[derive(Deserialize)]
struct Shutdown {
    reason: Reason,
}

/// What all connections share. They live on one thread.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) projects: RefCell<Projects>,
    pub(crate) core: SyncSender<Work>,
    pub(crate) log: Log,
    pub(crate) last_request: Cell<Instant>,
    /// No more is taken.
    pub(crate) closed: Cell<bool>,
    /// Somebody asks that it ends.
    pub(crate) end: Notify,
    pub(crate) end_reason: Cell<Option<Reason>>,
    projects_read: Cell<Instant>,
    /// The core is not told yet which projects are set up.
    untold: Cell<bool>,
    desk: Rc<Desk>,
    room: Room,
    /// For results of calls, which are longer than anything else.
    long_room: Room,
    connections: Cell<usize>,
    left: Notify,
}

impl Server {
    pub(crate) fn new(
        port: u16,
        projects: Projects,
        core: SyncSender<Work>,
        desk: Rc<Desk>,
        log: Log,
    ) -> Self {
        Self {
            port,
            projects: RefCell::new(projects),
            core,
            log,
            last_request: Cell::new(Instant::now()),
            closed: Cell::new(false),
            end: Notify::new(),
            end_reason: Cell::new(None),
            projects_read: Cell::new(Instant::now()),
            untold: Cell::new(false),
            desk,
            room: Room::new(body::LONGEST, body::HELD),
            long_room: Room::new(body::LONGEST_RESULT, body::LONGEST_RESULT),
            connections: Cell::new(0),
            left: Notify::new(),
        }
    }

    /// Takes connections until the future is dropped.
    pub(crate) async fn listen(self: &Rc<Self>, listener: &TcpListener) {
        loop {
            while self.connections.get() >= MOST_CONNECTIONS {
                self.left.notified().await;
            }
            match listener.accept().await {
                Ok((stream, _)) => self.serve(stream),
                // No descriptor is free, say: the next connection may go better.
                Err(e) => {
                    self.log.warn(&format!("a connection is not taken: {e}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn serve(self: &Rc<Self>, stream: TcpStream) {
        // Answers are small and single.
        let _ = stream.set_nodelay(true);
        self.connections.set(self.connections.get() + 1);
        let server = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let answering = service_fn(|request| {
                let server = Rc::clone(&server);
                async move { Ok::<_, Infallible>(server.answer(request).await) }
            });
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
            if let Err(e) = connection.serve_connection(TokioIo::new(stream), answering).await {
                server.log.debug(&format!("a connection ended: {e}"));
            }
            server.connections.set(server.connections.get().saturating_sub(1));
            server.left.notify_one();
        });
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.handle(request).await {
            Ok(body) => response(StatusCode::OK, "application/json", body),
            Err(problem) => {
                self.log.debug(&format!("refused: {}", problem.code()));
                let mut response = response(problem.status(), "application/problem+json", problem.body());
                // What is still to come of a body is not read.
                if matches!(problem, Problem::TooLarge | Problem::TooSlow | Problem::Unavailable) {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        }
    }

    async fn handle(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let who = self.who(&head.headers)?;
        if self.closed.get() {
            return Err(Problem::Unavailable);
        }
        self.last_request.set(Instant::now());
        let route = Route::of(head.uri.path()).ok_or(Problem::NoRoute)?;
        if head.method != route.method() {
            return Err(Problem::Method);
        }
        match route {
            Route::Health => return self.ask(|reply| Work::Health { who, reply }).await,
            Route::Result => {
                let body = self.long_room.read(&head.headers, body).await?;
                return self.result(parse(&body.bytes)?, who).await;
            }
            _ => {}
        }
        let body = self.room.read(&head.headers, body).await?;
        let message = match route {
            Route::Register => Message::Register(Box::new(parse::<Registration>(&body.bytes)?)),
            Route::Step => Message::Steps(Box::new(parse::<StepReports>(&body.bytes)?)),
            Route::Poll => {
                let poll = parse(&body.bytes)?;
                drop(body);
                return self.poll(poll, who).await;
            }
            Route::Hello => return self.hello(&parse(&body.bytes)?, &who),
            Route::Run => return self.run(&parse(&body.bytes)?, &who),
            Route::Shutdown => {
                let Shutdown { reason } = parse(&body.bytes)?;
                self.end_reason.set(Some(reason));
                self.end.notify_one();
                return Ok(b"{}".to_vec());
            }
            _ => {
                let event: HookEvent = parse(&body.bytes)?;
                if event.what.route() != head.uri.path() {
                    return Err(Problem::Unfit);
                }
                Message::Hook(Box::new(event))
            }
        };
        self.ask(|reply| Work::Message { message, who, reply }).await
    }

    /// Who asks. A token that is not known may be that of a project that was set up just now.
    fn who(&self, headers: &http::HeaderMap) -> Result<Who, Problem> {
        let found = gate::pass(headers, self.port, &self.projects.borrow());
        let may_look = self.projects_read.get().elapsed() >= Duration::from_secs(1);
        if found != Err(Problem::Unauthorized) || !may_look {
            return found;
        }
        self.look_at_projects();
        gate::pass(headers, self.port, &self.projects.borrow())
    }

    /// Reads which projects are set up, and tells the core where they are others than before.
    pub(crate) fn look_at_projects(&self) {
        self.projects_read.set(Instant::now());
        let mut projects = self.projects.borrow_mut();
        if projects.look() || self.untold.get() {
            let told = self.core.try_send(Work::Projects(projects.projects().collect()));
            self.untold.set(told.is_err());
        }
    }

    async fn ask(&self, work: impl FnOnce(oneshot::Sender<Reply>) -> Work) -> Reply {
        let (reply, answer) = oneshot::channel();
        match self.core.try_send(work(reply)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return Err(Problem::Unavailable),
        }
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(Problem::Unavailable),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Hook,
    Register,
    Step,
    Poll,
    Result,
    Hello,
    Run,
    Health,
    Shutdown,
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/session/start" | "/session/prompt" | "/session/agent" | "/session/stop" | "/session/end"
            | "/session/note" | "/tool/pre" | "/tool/post" | "/tool/batch" | "/tool/permission" => Self::Hook,
            "/proxy/register" => Self::Register,
            "/proxy/step" => Self::Step,
            "/proxy/poll" => Self::Poll,
            "/proxy/result" => Self::Result,
            "/scenario/hello" => Self::Hello,
            "/scenario/run" => Self::Run,
            "/health" => Self::Health,
            "/shutdown" => Self::Shutdown,
            _ => return None,
        })
    }

    fn method(self) -> Method {
        if self == Self::Health { Method::GET } else { Method::POST }
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|_| match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => Problem::Unfit,
        Err(_) => Problem::NoJson,
    })
}

fn response(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("keep-alive", KEEP_ALIVE);
    response
}
