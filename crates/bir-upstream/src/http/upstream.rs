//! The upstream as the relay sees it: messages in, messages out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bir_net::{BodySender, Client, ClientOptions, Proxies, Request, RequestBody, Target};
use bir_wire::{Envelope, Field, Kind, Message};
use bytes::Bytes;
use http::{HeaderValue, Method};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::AbortHandle;

use super::Failure;
use super::exchange::{Job, Payload};
use super::inbox::Inbox;
use super::legacy_sse::Link;
use super::mirror::Mirror;
use super::outgoing::{Era, Facts};
use super::protocol_headers;
use super::reach::Reach;
use super::registry::{Cancelled, Registry};
use super::session::State;
use super::turns::{Turn, Turns};
use crate::headers::UpstreamHeaders;

/// Requests in flight at once; further ones wait in order. Notifications and answers of the host are not
/// counted.
pub const MAX_REQUESTS: usize = 64;
/// Messages of any kind that may be under way before the host is no longer read.
const MAX_UNDER_WAY: usize = 1024;
/// How long ending a session may take.
const DELETE_BUDGET: Duration = Duration::from_secs(1);
/// How long the answers to what was in flight may take to be written once an HTTP+SSE stream dropped.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How often is looked whether all is answered when the session ends.
const SETTLE_LOOK: Duration = Duration::from_millis(5);

/// How an upstream is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP; HTTP+SSE where the first `initialize` is refused and the address serves that.
    Auto,
    /// Streamable HTTP only.
    Http,
    /// HTTP+SSE only.
    Sse,
}

/// What an upstream is reached with.
#[derive(Debug)]
pub struct HttpOptions {
    /// The configured URL.
    pub target: Target,
    /// How it is spoken to.
    pub transport: Transport,
    /// Headers for its origin.
    pub headers: UpstreamHeaders,
    /// Budget for opening a connection (`BIR_UPSTREAM_CONNECT_TIMEOUT_MS`).
    pub connect_timeout: Duration,
    /// The longest answer that is let through (`BIR_UPSTREAM_MAX_MESSAGE_BYTES`); `None` for any length.
    pub max_message_bytes: Option<u64>,
    /// The proxies to go through.
    pub proxies: Proxies,
    /// `User-Agent`.
    pub user_agent: HeaderValue,
}

/// What the tasks of one upstream share.
pub(crate) struct Shared<I: Inbox> {
    pub(crate) options: Settings,
    pub(crate) client: Client,
    pub(crate) inbox: I,
    pub(crate) registry: Arc<Registry>,
    pub(crate) mirror: Mirror,
    pub(crate) reinit: tokio::sync::Mutex<()>,
    pub(crate) closing: AtomicBool,
    pub(crate) reach: Reach,
    state: Mutex<State>,
    turns: Turns,
    permits: Arc<Semaphore>,
    under_way: Arc<Semaphore>,
    gone: watch::Sender<bool>,
}

/// The options that are still needed once the client exists.
pub(crate) struct Settings {
    pub(crate) target: Target,
    pub(crate) transport: Transport,
    pub(crate) headers: UpstreamHeaders,
    pub(crate) connect_timeout: Duration,
    pub(crate) max_message_bytes: Option<u64>,
}

/// A remote MCP server.
pub struct HttpUpstream<I: Inbox>(Arc<Shared<I>>);

impl<I: Inbox> HttpUpstream<I> {
    /// An upstream that nothing was sent to yet. Must be used inside a tokio runtime.
    pub fn new(options: HttpOptions, inbox: I) -> Self {
        let client = Client::new(ClientOptions {
            connect_timeout: options.connect_timeout,
            proxies: options.proxies,
            user_agent: options.user_agent,
        });
        Self(Arc::new(Shared {
            options: Settings {
                target: options.target,
                transport: options.transport,
                headers: options.headers,
                connect_timeout: options.connect_timeout,
                max_message_bytes: options.max_message_bytes,
            },
            client,
            inbox,
            registry: Arc::default(),
            mirror: Mirror::default(),
            reinit: tokio::sync::Mutex::default(),
            closing: AtomicBool::new(false),
            reach: Reach::default(),
            state: Mutex::default(),
            turns: Turns::default(),
            permits: Arc::new(Semaphore::new(MAX_REQUESTS)),
            under_way: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            gone: watch::Sender::new(false),
        }))
    }

    /// Whether nothing that was sent has ever had an answer of any kind from the server.
    pub fn never_reached(&self) -> bool {
        self.0.reach.never()
    }

    /// Opens what must be open before the first message: the event stream of HTTP+SSE. Nothing for Streamable
    /// HTTP.
    ///
    /// # Errors
    ///
    /// Why the stream did not open; the upstream is of no use then.
    pub async fn connect(&self) -> Result<(), Failure> {
        if self.0.options.transport == Transport::Sse {
            let link = Link::open(&self.0).await?;
            self.0.state().link = Some(link);
        }
        Ok(())
    }

    /// Sends one complete message of the host, with or without its line end.
    ///
    /// Must be called by one task, message after message: the order of calls is the order of sending. Returns
    /// when the message has its place in that order; waits only while more than a thousand messages are under
    /// way.
    pub async fn send(&self, bytes: Bytes, message: &Message<'_>) {
        if message.kind() == Kind::Blank {
            return;
        }
        let shared = &self.0;
        let facts = Facts::of(message);
        let bytes = without_line_end(bytes);
        let era = {
            let mut state = shared.state();
            if facts.method_is("initialize") && facts.kind == Kind::Request {
                state.begin(&bytes, message);
            }
            state.era(&facts)
        };
        let modern = era != Era::Legacy;
        if let Some(id) = &facts.cancels {
            match shared.registry.cancel(id) {
                Cancelled::StreamClosed | Cancelled::NeverSent => return,
                Cancelled::Unknown if modern => return,
                Cancelled::Unknown | Cancelled::MustBeSent => {}
            }
        }
        let room = shared.under_way.clone().acquire_owned().await;
        let entry = shared.registry.enter(facts.ids.clone(), modern);
        if facts.method_is("subscriptions/listen") {
            entry.lasts();
        }
        let handle = entry.handle();
        let payload = Payload::Whole(bytes);
        let shared = shared.clone();
        let permit =
            if facts.ids.is_empty() { None } else { Some(shared.permits.clone().try_acquire_owned()) };
        let task = match permit {
            Some(Err(_)) => spawn(async move {
                let _room = room;
                let permit = shared.permits.clone().acquire_owned().await.ok();
                let turn = shared.turns.take();
                shared.run(Job { facts, era, payload, turn, entry, permit }).await;
            }),
            permit => {
                let turn = match facts.kind {
                    Kind::Response | Kind::ErrorResponse => Turn::none(),
                    _ => shared.turns.take(),
                };
                let job = Job { facts, era, payload, turn, entry, permit: permit.and_then(Result::ok) };
                spawn(async move {
                    let _room = room;
                    shared.run(job).await;
                })
            }
        };
        handle.set_task(task);
    }

    /// Begins to send a message that is too large to hold, of which the beginning was read.
    ///
    /// `None` when the beginning does not tell enough for the headers: more of it must be held then. The same
    /// rules of order apply as for [`HttpUpstream::send`].
    pub fn begin(&self, so_far: &Envelope) -> Option<Upload> {
        let shared = &self.0;
        let facts = Facts::so_far(so_far);
        let era = match shared.state().settled_era() {
            Some(_) if facts.version.is_some() => Era::Modern(facts.version.clone()),
            Some(era) => era,
            None => return None,
        };
        let ready = match &era {
            Era::Legacy => true,
            Era::Modern(_) => {
                let named = facts.method.is_some() && facts.has_needed_name();
                let mirrored = facts.method_is("tools/call")
                    && facts.name.as_deref().is_some_and(|tool| shared.mirror.concerns(tool));
                (named && !mirrored) || so_far.has(Field::Result) || so_far.has(Field::Error)
            }
        };
        if !ready {
            return None;
        }
        let (sender, body) = RequestBody::stream();
        let (facts_sender, facts_receiver) = oneshot::channel();
        let entry = shared.registry.enter(Vec::new(), era != Era::Legacy);
        let handle = entry.handle();
        let payload = Payload::Stream(Some(body), Some(facts_receiver));
        let job = Job { facts, era, payload, turn: shared.turns.take(), entry, permit: None };
        let runner = shared.clone();
        handle.set_task(spawn(async move { runner.run(job).await }));
        Some(Upload { body: Some(sender), facts: facts_sender })
    }

    /// Waits until the upstream is gone for good: the stream of HTTP+SSE dropped, and what was in flight is
    /// answered. Never returns for Streamable HTTP.
    pub async fn gone(&self) {
        let mut gone = self.0.gone.subscribe();
        if gone.wait_for(|gone| *gone).await.is_err() {
            return;
        }
        let answered = async {
            while !self.0.registry.is_empty() {
                tokio::time::sleep(SETTLE_LOOK).await;
            }
        };
        let _ = tokio::time::timeout(LAST_ANSWERS, answered).await;
    }

    /// Waits until every request is answered. A subscription, which has no answer to wait for, does not
    /// count.
    pub async fn settled(&self) {
        while !self.0.registry.is_settled() {
            tokio::time::sleep(SETTLE_LOOK).await;
        }
    }

    /// Ends everything: requests in flight are dropped, a legacy session is deleted within a second.
    pub async fn close(&self) {
        let shared = &self.0;
        shared.closing.store(true, Ordering::Relaxed);
        shared.registry.end_all();
        let session = {
            let mut state = shared.state();
            state.stop_listening();
            if let Some(link) = state.link.take() {
                link.close();
            }
            std::mem::take(&mut state.session)
        };
        if session.id.is_none() {
            return;
        }
        let mut request = Request::new(Method::DELETE, shared.options.target.clone());
        request.headers = protocol_headers::delete(&session);
        request.credentials = shared.options.headers.credentials().clone();
        match tokio::time::timeout(DELETE_BUDGET, shared.client.request(request)).await {
            Ok(Ok(response)) => response.discard().await,
            Ok(Err(error)) => shared.inbox.note(&format!("the session was not ended: {error}")),
            Err(_) => shared.inbox.note("the session was not ended: no answer in time"),
        }
    }
}

/// A large message on its way to the upstream. Dropping it before its end breaks the request off.
pub struct Upload {
    body: Option<BodySender>,
    facts: oneshot::Sender<Facts>,
}

impl Upload {
    /// Hands over the next bytes; waits while the connection is behind. Bytes after the upstream has had
    /// enough are dropped.
    pub async fn push(&mut self, bytes: Bytes) {
        if let Some(body) = &self.body
            && body.push(bytes).await.is_err()
        {
            self.body = None;
        }
    }

    /// The message is complete, and this is what it was.
    pub async fn end(self, message: &Message<'_>) {
        let _ = self.facts.send(Facts::of(message));
        if let Some(body) = self.body {
            let _ = body.end().await;
        }
    }
}

impl<I: Inbox> Shared<I> {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn link_went_down(&self) {
        if self.state().link.is_some() {
            self.gone.send_replace(true);
        }
    }
}

pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    tokio::spawn(task).abort_handle()
}

fn without_line_end(bytes: Bytes) -> Bytes {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    bytes.slice(..end)
}
