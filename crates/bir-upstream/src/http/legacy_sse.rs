//! HTTP+SSE, the transport of protocol 2024-11-05.
//!
//! One GET carries everything from the upstream; its first event names the address that takes the POSTs, which must be of the same origin. When the
//! stream drops, what was in flight is lost and the upstream counts as gone, as a process that died.

use std::sync::Arc;

use bir_net::{Request, Response, Target};
use bir_wire::sse::{Decoder, Part};
use bytes::Bytes;
use http::Method;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use super::Failure;
use super::events::{Belongs, Place};
use super::inbox::Inbox;
use super::protocol_headers::{self, SessionHeaders};
use super::upstream::{Shared, spawn};

/// The longest endpoint address.
const MAX_ENDPOINT: usize = 8 * 1024;

/// An open event stream.
pub(crate) struct Link {
    endpoint: Target,
    down: watch::Receiver<bool>,
    task: AbortHandle,
}

impl Link {
    pub(crate) fn endpoint(&self) -> &Target {
        &self.endpoint
    }

    /// Closes the stream.
    pub(crate) fn close(&self) {
        self.task.abort();
    }

    pub(crate) fn is_down(&self) -> bool {
        *self.down.borrow()
    }

    /// Waits until the stream has ended.
    pub(crate) async fn down(&self) {
        // The sender lives in the task that reads the stream: its end means the same.
        let _ = self.down.clone().wait_for(|down| *down).await;
    }

    /// Opens the stream and waits for its endpoint.
    pub(crate) async fn open<I: Inbox>(shared: &Arc<Shared<I>>) -> Result<Arc<Self>, Failure> {
        let mut request = Request::new(Method::GET, shared.options.target.clone());
        request.headers = protocol_headers::get(&SessionHeaders::default(), None);
        request.credentials = shared.options.headers.credentials().clone();
        let budget = shared.options.connect_timeout;
        let late = || Failure::NoEndpoint("none came in time");
        let response =
            tokio::time::timeout(budget, shared.client.request(request)).await.map_err(|_| late())??;
        match response.status().as_u16() {
            200 => {}
            401 => return Err(Failure::SignIn),
            403 => return Err(Failure::Forbidden),
            status => return Err(Failure::Status(status)),
        }
        if !response.is_of_type("text/event-stream") {
            return Err(Failure::NoEndpoint("the answer to GET is no event stream"));
        }
        let (found, endpoint) = oneshot::channel();
        let (down_sender, down) = watch::channel(false);
        let reader = shared.clone();
        let task = spawn(async move {
            reader.read_link(response, found).await;
            let _ = down_sender.send(true);
            reader.link_went_down();
        });
        let endpoint = match tokio::time::timeout(budget, endpoint).await {
            Ok(Ok(endpoint)) => endpoint,
            Ok(Err(_)) => Err(Failure::NoEndpoint("the stream ended first")),
            Err(_) => Err(late()),
        };
        let endpoint = endpoint.inspect_err(|_| task.abort())?;
        Ok(Arc::new(Self { endpoint, down, task }))
    }
}

impl<I: Inbox> Shared<I> {
    async fn read_link(&self, mut response: Response, found: oneshot::Sender<Result<Target, Failure>>) {
        let base = response.target().clone();
        let mut decoder = Decoder::new();
        let mut address = Vec::new();
        let mut found = Some(found);
        let mut assembler = self.assembler(&Belongs::NOBODY);
        let mut place = Place::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            let mut rest: &[u8] = &chunk;
            while found.is_some() {
                match decoder.next(&mut rest) {
                    None => break,
                    Some(Part::Data(part)) if address.len() + part.len() <= MAX_ENDPOINT => {
                        address.extend_from_slice(part);
                    }
                    Some(Part::Data(_) | Part::DataNewline | Part::KeepAlive) => {}
                    Some(Part::End(end)) => {
                        let endpoint =
                            endpoint(&base, &self.options.target, end.event.unwrap_or_default(), &address);
                        let usable = endpoint.is_ok();
                        if let Some(found) = found.take() {
                            let _ = found.send(endpoint);
                        }
                        if !usable {
                            return;
                        }
                    }
                }
            }
            let rest: Bytes = chunk.slice_ref(rest);
            if self.feed(&mut decoder, &mut assembler, &rest, &Belongs::NOBODY, &mut place).await.is_err() {
                self.inbox.note("upstream→host: a message was too large; the stream is closed");
                return;
            }
        }
    }
}

fn endpoint(base: &Target, configured: &Target, event: &[u8], address: &[u8]) -> Result<Target, Failure> {
    if event != b"endpoint" {
        return Err(Failure::NoEndpoint("the first event is of another type"));
    }
    let address = str::from_utf8(address).map_err(|_| Failure::NoEndpoint("the address is no text"))?;
    let target = base.join(address).map_err(|_| Failure::NoEndpoint("the address cannot be used"))?;
    if !target.same_origin(base) || !target.same_origin(configured) {
        return Err(Failure::NoEndpoint("the address leads to another origin"));
    }
    Ok(target)
}
