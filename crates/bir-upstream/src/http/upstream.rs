//! The upstream as the relay sees it: messages in, messages out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bir_net::{Client, ClientOptions, Proxies, Request, Target};
use bir_wire::{Envelope, Field, Kind, Message};
use bytes::Bytes;
use http::{HeaderValue, Method};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::Failure;
use super::inbox::Inbox;
use super::job::{Job, Payload};
use super::legacy_sse::Link;
use super::mirror::Mirror;
use super::outgoing::{Era, Facts};
use super::protocol_headers::{self, SessionHeaders};
use super::reach::Reach;
use super::registry::{Cancelled, Registry};
use super::room::Room;
use super::session::State;
use super::turns::{Turn, Turns};
use super::upload::Upload;
use crate::headers::UpstreamHeaders;

/// Requests in flight at once; further ones wait in order. Subscriptions, which last as long as the session, are not
/// counted, nor are notifications and answers of the host. So many that calls which wait for further calls (a tool
/// that asks the host, which calls a tool) do not take every place.
pub const MAX_REQUESTS: usize = 1024;
/// How long ending a session may take.
const DELETE_BUDGET: Duration = Duration::from_secs(1);
/// How long the answers to what was in flight may take to be written once an HTTP+SSE stream dropped.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How long messages that want no answer may take to be delivered when the session ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

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
    /// Bytes of the head of a message that streams that are kept for whoever observes it; 0 where nobody does.
    pub keep: usize,
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
    room: Room,
    gone: watch::Sender<bool>,
}

/// The options that are still needed once the client exists.
pub(crate) struct Settings {
    pub(crate) target: Target,
    pub(crate) transport: Transport,
    pub(crate) headers: UpstreamHeaders,
    pub(crate) connect_timeout: Duration,
    pub(crate) max_message_bytes: Option<u64>,
    pub(crate) keep: usize,
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
                keep: options.keep,
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
            room: Room::default(),
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
    /// when the message has its place in that order. Waits only while too much is under way, for some seconds:
    /// a request that finds no room then is answered with an error.
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
                shared.end_in_turn(state.begin(&bytes, message));
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
        let place = if facts.cancels.is_some() { None } else { shared.room.take(bytes.len()).await };
        if place.is_none() && !facts.ids.is_empty() {
            let shared = shared.clone();
            // Not here: a host that waits for us to read does not read either.
            spawn(async move { shared.refuse(&facts.ids, &Failure::Crowded).await });
            return;
        }
        let entry = shared.registry.enter(&facts.ids, modern);
        // Neither the end of a session nor the host's other requests wait for what the host has not asked.
        let own = facts.ids.first().is_some_and(|id| shared.inbox.is_own(id));
        let lasts = own || facts.method_is("subscriptions/listen");
        if lasts {
            entry.lasts();
        }
        let handle = entry.handle();
        let payload = Payload::Whole(bytes);
        let shared = shared.clone();
        let counts = !facts.ids.is_empty() && !lasts;
        let permit = if counts { shared.room.turn_now() } else { None };
        let task = if counts && permit.is_none() {
            spawn(async move {
                let _place = place;
                entry.hold(shared.room.turn(|text| shared.inbox.note(text)).await);
                let turn = shared.turns.take();
                shared.run(Job { facts, era, payload, turn, entry }).await;
            })
        } else {
            entry.hold(permit);
            let turn = match facts.kind {
                Kind::Response | Kind::ErrorResponse => Turn::none(),
                _ => shared.turns.take(),
            };
            let job = Job { facts, era, payload, turn, entry };
            spawn(async move {
                let _place = place;
                shared.run(job).await;
            })
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
        let (upload, payload) = Upload::new();
        let entry = shared.registry.enter_undecided(era != Era::Legacy);
        let handle = entry.handle();
        let job = Job { facts, era, payload, turn: shared.turns.take(), entry };
        let runner = shared.clone();
        handle.set_task(spawn(async move { runner.run(job).await }));
        Some(upload)
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

    /// Waits until every request is answered and the answers are with the inbox. A subscription, which has no
    /// answer to wait for, does not count, nor does a request that the host cancelled. What wants no answer has
    /// two seconds to be delivered.
    pub async fn settled(&self) {
        let until = tokio::time::Instant::now() + LAST_WORDS;
        while !self.0.registry.is_settled(tokio::time::Instant::now() < until) {
            tokio::time::sleep(SETTLE_LOOK).await;
        }
    }

    /// How many requests of the host have no answer yet.
    pub fn open_requests(&self) -> usize {
        self.0.registry.open_requests()
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
        shared.end_session(&session).await;
    }
}

impl<I: Inbox> Shared<I> {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host begins anew: its former session is ended in the order of messages, beside the new one.
    fn end_in_turn(self: &Arc<Self>, session: SessionHeaders) {
        if session.id.is_none() {
            return;
        }
        let (shared, mut turn) = (self.clone(), self.turns.take());
        spawn(async move {
            turn.come().await;
            turn.done();
            shared.end_session(&session).await;
        });
    }

    async fn end_session(&self, session: &SessionHeaders) {
        if session.id.is_none() {
            return;
        }
        let mut request = Request::new(Method::DELETE, self.options.target.clone());
        request.headers = protocol_headers::delete(session);
        request.credentials = self.options.headers.credentials().clone();
        match tokio::time::timeout(DELETE_BUDGET, self.client.request(request)).await {
            Ok(Ok(response)) => response.discard().await,
            Ok(Err(error)) => self.inbox.note(&format!("the session was not ended: {error}")),
            Err(_) => self.inbox.note("the session was not ended: no answer in time"),
        }
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
