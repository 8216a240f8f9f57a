//! The life of one message of the host: sent once, answered once.
//!
//! ```text
//! lease a connection ─> wait for the turn ─> send ─> status ─┬─ 2xx: body or events ─> answered?
//!         ▲                                                  ├─ session forgotten: initialise again, once
//!         └──────────────────────────────────────────────────┤
//!                                                            └─ anything else: the body if it is an answer, else an error of ours
//! ```
//!
//! A message is sent a second time only after the upstream rejected it because it forgot the session: nothing
//! happened then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bir_net::{Lease, Request, RequestBody, Response, Target};
use bir_wire::Scanner;
use bytes::Bytes;
use http::Method;

use super::events::{Belongs, Place};
use super::failure::{error_answer, media_type};
use super::inbox::Inbox;
use super::job::{Job, Payload};
use super::legacy_sse::Link;
use super::listen::LASTED;
use super::outgoing::Era;
use super::protocol_headers::{self, SessionHeaders};
use super::turns::Ended;
use super::upstream::{Shared, spawn};
use super::verdict::{error_body, is_answer, says_session_is_gone};
use super::{Failure, Transport};

/// Tries to pick a stream up again that fail one after the other.
const MAX_RESUMES: u32 = 4;
/// How often a request that was taken without an answer looks whether the standalone stream is still there.
const LOOK: Duration = Duration::from_secs(1);

/// How long what follows waits for the upstream to take `notifications/initialized`.
const INITIALIZED_BUDGET: Duration = Duration::from_secs(10);
const LATE_INITIALIZED: &str =
    "the upstream has not taken notifications/initialized in time; what follows is sent all the same";

impl<I: Inbox> Shared<I> {
    /// Sends a message and sees to it that the host gets an answer if it wants one.
    pub(crate) async fn run(self: Arc<Self>, mut job: Job) {
        let handle = job.entry.handle();
        let outcome = tokio::select! {
            biased;
            outcome = self.exchange(&mut job) => outcome,
            // The host no longer waits: the connection is closed, whatever is still on it.
            () = handle.given_up() => return,
        };
        if job.facts.method_is("notifications/initialized") && outcome.is_ok() && !job.is_modern() {
            self.listen_first().await;
        }
        job.turn.done();
        let Err(failure) = outcome else { return self.reach.well() };
        job.stop_upload();
        if job.settle().await.is_err() || job.entry.is_cancelled() || self.is_closing() {
            return;
        }
        let ids = job.entry.take_unanswered();
        if ids.is_empty() {
            let what = job.facts.method.as_deref().unwrap_or("an answer");
            self.inbox.note(&format!("host→upstream: {what} was not delivered: {failure}"));
        } else if let Some(line) = self.reach.failed(&failure) {
            self.inbox.note(&line);
        }
        self.refuse(&ids, &failure).await;
    }

    pub(crate) async fn refuse(&self, ids: &[Bytes], failure: &Failure) {
        let _writing = self.registry.writing();
        for id in ids {
            self.answer_with(id, failure).await;
        }
    }

    pub(crate) async fn answer_with(&self, id: &[u8], failure: &Failure) {
        if self.inbox.failed(id, failure) {
            return;
        }
        let answer = error_answer(id, &failure.to_string());
        let mut scanner = Scanner::default();
        let message = scanner.finish_whole(&answer);
        self.inbox.message(answer.clone(), &message).await;
    }

    async fn exchange(self: &Arc<Self>, job: &mut Job) -> Result<(), Failure> {
        let mut repeated = false;
        loop {
            if self.options.transport == Transport::Sse {
                Box::pin(self.open_link()).await?;
            }
            let target = self.target_for(job);
            let lease = self.client.lease(&target).await;
            job.turn.come().await;
            self.limit_turn(job);
            let (link, session, generation) = {
                let state = self.state();
                (state.link.clone(), state.session.clone(), state.generation)
            };
            if let Some(link) = link {
                return Box::pin(self.post_to_link(job, &link)).await;
            }
            let response = self.post(job, target, lease?, &session).await?;
            self.reach.answered();
            let status = response.status().as_u16();
            if response.status().is_success() {
                job.settle().await?;
                return self.take_answer(job, response).await;
            }
            let (is_json, body) = Box::pin(error_body(response)).await;
            job.stop_upload();
            job.settle().await?;
            let may_repeat =
                !repeated && !job.is_modern() && session.id.is_some() && !job.facts.ids.is_empty();
            if may_repeat && says_session_is_gone(status, &body, job.facts.ids.first().map(|id| &id[..])) {
                Box::pin(self.reinitialise(generation)).await?;
                repeated = true;
                continue;
            }
            if self.may_be_sse(job, status) && !is_answer(&body) {
                match Box::pin(Link::open(self)).await {
                    Ok(link) => {
                        self.state().link = Some(link);
                        continue;
                    }
                    Err(failure) => self.inbox.note(&format!("no HTTP+SSE upstream either: {failure}")),
                }
            }
            return Box::pin(self.take_refusal(job, status, is_json, body)).await;
        }
    }

    /// What follows the handshake waits until the upstream has taken its last message, but not for ever.
    fn limit_turn(self: &Arc<Self>, job: &mut Job) {
        if job.is_barrier() && job.facts.method_is("notifications/initialized") {
            let (shared, ended) = (self.clone(), job.turn.limit(INITIALIZED_BUDGET));
            spawn(async move {
                if ended.await == Ended::Late {
                    shared.inbox.note(LATE_INITIALIZED);
                }
            });
        }
    }

    /// An HTTP+SSE upstream that was not there before is tried again with each message, one at a time.
    async fn open_link(self: &Arc<Self>) -> Result<(), Failure> {
        if self.state().link.is_some() {
            return Ok(());
        }
        let _alone = self.reinit.lock().await;
        if self.state().link.is_none() {
            let link = Link::open(self).await?;
            self.state().link = Some(link);
        }
        Ok(())
    }

    fn target_for(&self, job: &Job) -> Target {
        match &job.payload {
            // A streamed body cannot follow a redirect, so it goes where the last redirect led.
            Payload::Stream(..) => {
                self.state().moved_to.clone().unwrap_or_else(|| self.options.target.clone())
            }
            Payload::Whole(_) => self.options.target.clone(),
        }
    }

    async fn post(
        &self,
        job: &mut Job,
        target: Target,
        lease: Lease,
        session: &SessionHeaders,
    ) -> Result<Response, Failure> {
        let mut request = Request::new(Method::POST, target);
        request.headers = protocol_headers::post(&job.era, &job.facts, session);
        request.credentials = self.options.headers.credentials().clone();
        request.body = match &mut job.payload {
            Payload::Whole(bytes) => {
                if job.era != Era::Legacy
                    && let Some(tool) = job.facts.name.as_deref()
                    && job.facts.method_is("tools/call")
                {
                    for header in self.mirror.add(tool, bytes, &mut request.headers) {
                        self.note_left_out(header.as_str());
                    }
                }
                RequestBody::whole(bytes.clone())
            }
            Payload::Stream(body, ..) => body.take().ok_or(Failure::TooLargeToRepeat)?,
        };
        if job.is_modern() && job.facts.unsayable_name {
            self.note_left_out("mcp-name");
        }
        job.entry.sent();
        let pending = self.client.start_on(lease, request)?;
        if !job.is_barrier() {
            job.turn.done();
        }
        let response = pending.response().await?;
        self.keep_session(job, &response);
        Ok(response)
    }

    fn note_left_out(&self, header: &str) {
        self.inbox
            .note(&format!("host→upstream: {header} was left out: its text holds half a surrogate pair"));
    }

    async fn take_answer(self: &Arc<Self>, job: &mut Job, response: Response) -> Result<(), Failure> {
        let status = response.status().as_u16();
        if response.is_of_type("text/event-stream") {
            return Box::pin(self.take_events(job, response)).await;
        }
        if job.entry.is_answered() {
            response.discard().await;
            return Ok(());
        }
        if response.is_of_type("application/json") {
            return self.take_body(job, response).await;
        }
        let media_type = media_type(response.media_type());
        if !response.head_of_body(1).await.map_err(Failure::Net)?.is_empty() {
            return Err(Failure::MediaType(media_type));
        }
        Box::pin(self.answer_elsewhere(job, status)).await
    }

    /// A request was taken without an answer: some servers send it on the standalone stream.
    async fn answer_elsewhere(&self, job: &Job, status: u16) -> Result<(), Failure> {
        while !job.is_modern() && self.state().listening.as_ref().is_some_and(|task| !task.is_finished()) {
            if tokio::time::timeout(LOOK, job.entry.until_answered()).await.is_ok() {
                return Ok(());
            }
        }
        Err(Failure::NoAnswer(status))
    }

    async fn take_body(&self, job: &Job, mut response: Response) -> Result<(), Failure> {
        let status = response.status().as_u16();
        let belongs = job.belongs(true);
        let mut assembler = self.assembler(&belongs);
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) => assembler.body(&self.inbox, bytes).await?,
                Ok(None) => break,
                // TLS that ends without its farewell, or a wrong length: nothing is missing all the same.
                Err(bir_net::Error::BodyLost) if assembler.holds_a_message() => break,
                Err(error) => return Err(error.into()),
            }
        }
        if assembler.is_empty() {
            return Box::pin(self.answer_elsewhere(job, status)).await;
        }
        let _writing = self.registry.writing();
        assembler.finish(&self.inbox, |message, bytes| self.look(message, bytes, &belongs)).await;
        if job.entry.is_answered() { Ok(()) } else { Err(Failure::NotAResponse) }
    }

    async fn take_events(&self, job: &mut Job, response: Response) -> Result<(), Failure> {
        let mut place = Place::default();
        let Job { facts, entry, turn, era, .. } = job;
        let modern = *era != Era::Legacy;
        let belongs = Belongs { entry: Some(entry), facts: Some(facts), alone: false, modern };
        let mut stream = Some(response);
        // Tries since the stream last led further, which is what pauses grow by, and failed ones among them.
        let (mut attempt, mut failed) = (0, 0);
        loop {
            if let Some(response) = stream.take() {
                let since = Instant::now();
                let wanted = !entry.is_answered();
                let mut reading = std::pin::pin!(self.read_events(response, &belongs, &mut place));
                let further = tokio::select! {
                    biased;
                    further = &mut reading => further,
                    () = entry.until_answered(), if wanted => {
                        // Answered: whoever waits for this may go on, also while the stream stays open.
                        turn.done();
                        reading.await
                    }
                };
                if further || since.elapsed() >= LASTED {
                    (attempt, failed) = (0, 0);
                }
            }
            if entry.is_answered() || entry.is_cancelled() {
                return Ok(());
            }
            if modern || place.last_event_id.is_none() || failed >= MAX_RESUMES {
                return Err(Failure::StreamEnded);
            }
            let pause = place.pause(attempt);
            attempt += 1;
            if tokio::time::timeout(pause, entry.until_answered()).await.is_ok() {
                return Ok(());
            }
            match self.get_events(place.last_event_id.as_deref()).await {
                Got::Stream(response) => stream = Some(*response),
                Got::Later => failed += 1,
                Got::Never(_) => return Err(Failure::StreamEnded),
            }
        }
    }

    /// Asks for an event stream with GET.
    pub(crate) async fn get_events(&self, last_event_id: Option<&[u8]>) -> Got {
        let session = self.state().session.clone();
        let mut request = Request::new(Method::GET, self.options.target.clone());
        request.headers = protocol_headers::get(&session, last_event_id);
        request.credentials = self.options.headers.credentials().clone();
        match self.client.request(request).await {
            Ok(response) if response.status() == http::StatusCode::OK => {
                if response.is_of_type("text/event-stream") {
                    Got::Stream(Box::new(response))
                } else {
                    Got::Never(200)
                }
            }
            Ok(response) => match response.status().as_u16() {
                408 | 425 | 429 | 500.. => Got::Later,
                status => Got::Never(status),
            },
            Err(bir_net::Error::RedirectRefused { .. } | bir_net::Error::UnknownEncoding { .. }) => {
                Got::Never(0)
            }
            Err(_) => Got::Later,
        }
    }

    async fn post_to_link(&self, job: &mut Job, link: &Link) -> Result<(), Failure> {
        if link.is_down() {
            return Err(Failure::Gone);
        }
        let session = SessionHeaders { id: None, version: self.state().session.version.clone() };
        let target = link.endpoint().clone();
        let lease = self.client.lease(&target).await?;
        let response = self.post(job, target, lease, &session).await?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            let (is_json, body) = error_body(response).await;
            job.stop_upload();
            job.settle().await?;
            return self.take_refusal(job, status, is_json, body).await;
        }
        job.settle().await?;
        response.discard().await;
        tokio::select! {
            biased;
            () = job.entry.until_answered() => Ok(()),
            () = link.down() => Err(Failure::StreamEnded),
        }
    }
}

/// What a GET for events brought.
pub(crate) enum Got {
    Stream(Box<Response>),
    /// Worth another try.
    Later,
    /// Not worth another try; the status, or 0.
    Never(u16),
}
