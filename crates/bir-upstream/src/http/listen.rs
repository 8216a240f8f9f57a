//! The standalone event stream of the legacy era, and initialising again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bir_net::{Request, RequestBody, Response};
use bir_wire::sse::{Decoder, Part};
use bir_wire::{Field, Kind, Scanner};
use bytes::Bytes;
use http::Method;
use tokio::sync::oneshot;

use super::Failure;
use super::events::{Belongs, Place};
use super::exchange::Got;
use super::inbox::Inbox;
use super::outgoing::{Era, Facts};
use super::protocol_headers::{self, SessionHeaders};
use super::session::REINIT_ID;
use super::upstream::{Shared, spawn};

/// A stream that lasted this long was a good one: the next pause begins small again.
pub(super) const LASTED: Duration = Duration::from_secs(5);
/// Failures in a row after which the stream is only tried again once the server has answered a message: a dead server is
/// not dialled for weeks on behalf of a host that says nothing.
const PATIENCE: u32 = 6;
/// How long what follows the handshake waits for the standalone stream.
const FIRST_ANSWER: Duration = Duration::from_millis(500);
/// How long a forgotten session may take to be initialised again.
const REINIT_BUDGET: Duration = Duration::from_secs(30);
/// The longest answer to our own `initialize` that is read.
const MAX_REINIT_ANSWER: usize = 1024 * 1024;

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl<I: Inbox> Shared<I> {
    /// Opens the standalone stream in the background, in place of an earlier one. What is returned is ready when
    /// the upstream has answered or there is nothing to wait for.
    pub(crate) fn start_listening(self: &Arc<Self>) -> oneshot::Receiver<()> {
        let (answered, first_answer) = oneshot::channel();
        if self.is_closing() || self.state().link.is_some() {
            return first_answer;
        }
        let task = spawn(self.clone().listen(answered));
        let mut state = self.state();
        state.initialized = true;
        state.stop_listening();
        state.listening = Some(task);
        first_answer
    }

    /// Opens the standalone stream once the handshake is over, and lets it be there before anything is asked: what
    /// a server sends there while no stream is open, such as a request in the middle of a call, is lost.
    pub(crate) async fn listen_first(self: &Arc<Self>) {
        // Late or never is no fault: servers need not have this stream, nor begin it before there is an event.
        let _ = tokio::time::timeout(FIRST_ANSWER, self.start_listening()).await;
    }

    async fn listen(self: Arc<Self>, answered: oneshot::Sender<()>) {
        let mut answered = Some(answered);
        let mut place = Place::default();
        let mut heard = self.reach.heard();
        let (mut attempt, mut failures) = (0_u32, 0_u32);
        loop {
            heard.mark_unchanged();
            let got = self.get_events(place.last_event_id.as_deref()).await;
            drop(answered.take());
            match got {
                Got::Stream(response) => {
                    let since = Instant::now();
                    let further = self.read_events(*response, &Belongs::NOBODY, &mut place).await;
                    failures = 0;
                    attempt = if further || since.elapsed() >= LASTED { 0 } else { attempt + 1 };
                }
                Got::Later => {
                    failures += 1;
                    attempt += 1;
                }
                Got::Never(status) => {
                    if matches!(status, 401 | 403) {
                        self.inbox.note(&format!("upstream→host: no standalone stream (HTTP {status})"));
                    }
                    return;
                }
            }
            let again = tokio::time::Instant::now() + place.pause(attempt.saturating_sub(1));
            if failures >= PATIENCE && heard.changed().await.is_err() {
                return;
            }
            tokio::time::sleep_until(again).await;
        }
    }

    /// Begins a new session in the host's name after the upstream forgot the one of `generation`. Of several
    /// that ask at once, one does it, and all have its outcome.
    pub(crate) async fn reinitialise(self: &Arc<Self>, generation: u64) -> Result<(), Failure> {
        let (failures, _) = self.state().failed_again.clone();
        let _alone = self.reinit.lock().await;
        let initialize = {
            let state = self.state();
            if state.generation != generation {
                return Ok(());
            }
            if state.failed_again.0 != failures {
                return Err(Failure::Reinitialise(state.failed_again.1.clone()));
            }
            state.initialize_again()
        };
        let outcome = self.try_again(initialize).await;
        if let Err(failure) = &outcome {
            let why = match failure {
                Failure::Reinitialise(why) => why.clone(),
                other => other.to_string(),
            };
            let mut state = self.state();
            state.failed_again = (failures + 1, why);
        }
        outcome
    }

    async fn try_again(self: &Arc<Self>, initialize: Option<Bytes>) -> Result<(), Failure> {
        let again = |why: &str| Failure::Reinitialise(why.to_owned());
        let initialize = initialize.ok_or_else(|| again("the first initialize is not known"))?;
        let fresh = tokio::time::timeout(REINIT_BUDGET, self.handshake(initialize))
            .await
            .map_err(|_| again("no answer in time"))??;
        let listened = {
            let mut state = self.state();
            state.session = fresh;
            state.generation += 1;
            state.initialized
        };
        self.inbox.note("the upstream forgot the session; it was initialised again");
        if listened {
            self.listen_first().await;
        }
        Ok(())
    }

    async fn handshake(&self, initialize: Bytes) -> Result<SessionHeaders, Failure> {
        let again = |why: String| Failure::Reinitialise(why);
        let response = self
            .post_our_own(initialize, &SessionHeaders::default())
            .await
            .map_err(|error| again(error.to_string()))?;
        if !response.status().is_success() {
            return Err(again(format!("HTTP {}", response.status().as_u16())));
        }
        let id = response
            .headers()
            .get(protocol_headers::SESSION_ID)
            .filter(|_| response.target().same_origin(&self.options.target))
            .cloned();
        let answer =
            answer_to_ours(response).await.ok_or_else(|| again("no answer to initialize".to_owned()))?;
        let mut scanner = Scanner::default();
        let message = scanner.finish_whole(&answer);
        if message.kind() != Kind::Response {
            return Err(again("initialize was answered with an error".to_owned()));
        }
        let version = message
            .envelope()
            .text(Field::ResultProtocolVersion)
            .and_then(|version| http::HeaderValue::from_str(&version).ok());
        let session = SessionHeaders { id, version };
        let response = self
            .post_our_own(Bytes::from_static(INITIALIZED), &session)
            .await
            .map_err(|error| again(error.to_string()))?;
        if !response.status().is_success() {
            return Err(again(format!("HTTP {} to notifications/initialized", response.status().as_u16())));
        }
        response.discard().await;
        Ok(session)
    }

    async fn post_our_own(&self, body: Bytes, session: &SessionHeaders) -> Result<Response, bir_net::Error> {
        let mut scanner = Scanner::default();
        let facts = Facts::of(&scanner.finish_whole(&body));
        let mut request = Request::new(Method::POST, self.options.target.clone());
        request.headers = protocol_headers::post(&Era::Legacy, &facts, session);
        request.credentials = self.options.headers.credentials().clone();
        request.body = RequestBody::whole(body);
        self.client.request(request).await
    }
}

/// The response with our id, from a JSON body or an event stream. Other messages in the stream are not for
/// the host.
async fn answer_to_ours(mut response: Response) -> Option<Vec<u8>> {
    if !response.is_of_type("text/event-stream") {
        return response.head_of_body(MAX_REINIT_ANSWER).await.ok().filter(|body| is_ours(body));
    }
    let mut decoder = Decoder::new();
    let mut event = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let mut rest: &[u8] = &chunk;
        while let Some(part) = decoder.next(&mut rest) {
            match part {
                Part::KeepAlive => {}
                Part::Data(part) if event.len() + part.len() <= MAX_REINIT_ANSWER => {
                    event.extend_from_slice(part)
                }
                Part::Data(_) => return None,
                Part::DataNewline => event.push(b' '),
                Part::End(_) if is_ours(&event) => return Some(event),
                Part::End(_) => event.clear(),
            }
        }
    }
    None
}

fn is_ours(message: &[u8]) -> bool {
    let mut scanner = Scanner::default();
    let message = scanner.finish_whole(message);
    matches!(message.kind(), Kind::Response | Kind::ErrorResponse)
        && message.envelope().raw(Field::Id) == Some(REINIT_ID)
}
