//! HTTP+SSE, the transport of protocol 2024-11-05.
//!
//! One GET carries everything from the upstream; its first event names the address that takes the POSTs,
//! which must be of the same origin. When the stream drops, what was in flight is lost and the upstream
//! counts as gone, as a process that died.

use std::sync::Arc;

use bir_net::{Request, Response, Target};
use bir_wire::sse::Part;
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
        let mut address = Address::default();
        let mut found = Some(found);
        let mut assembler = self.assembler(&Belongs::NOBODY);
        let mut place = Place::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            let mut rest: &[u8] = &chunk;
            while found.is_some() {
                let Some(part) = place.decoder.next(&mut rest) else { break };
                let Some(named) = address.take(part) else { continue };
                let endpoint = named.and_then(|address| endpoint(&base, &self.options.target, &address));
                let usable = endpoint.is_ok();
                if let Some(found) = found.take() {
                    let _ = found.send(endpoint);
                }
                if !usable {
                    return;
                }
            }
            let rest: Bytes = chunk.slice_ref(rest);
            self.feed(&mut assembler, &rest, &Belongs::NOBODY, &mut place).await;
        }
    }
}

/// The first event of the stream, as it comes.
#[derive(Default)]
struct Address {
    bytes: Vec<u8>,
    lines: usize,
    too_long: bool,
}

impl Address {
    /// Takes the next part. `None` while the first event is not complete; one without data is no event.
    fn take(&mut self, part: Part<'_>) -> Option<Result<Vec<u8>, Failure>> {
        let refused = |why| Some(Err(Failure::NoEndpoint(why)));
        match part {
            Part::KeepAlive => None,
            Part::Data(part) => {
                self.too_long |= self.bytes.len() + part.len() > MAX_ENDPOINT;
                if !self.too_long {
                    self.bytes.extend_from_slice(part);
                }
                None
            }
            Part::DataNewline => {
                self.lines += 1;
                None
            }
            Part::End(end) if !end.had_data => None,
            Part::End(end) if end.event != Some(b"endpoint") => refused("the first event is of another type"),
            Part::End(_) if self.too_long => refused("the address is too long"),
            Part::End(_) if self.lines > 0 => refused("the address has more than one line"),
            Part::End(_) if self.bytes.trim_ascii().is_empty() => refused("the address is empty"),
            Part::End(_) => Some(Ok(std::mem::take(&mut self.bytes))),
        }
    }
}

fn endpoint(base: &Target, configured: &Target, address: &[u8]) -> Result<Target, Failure> {
    let address = str::from_utf8(address).map_err(|_| Failure::NoEndpoint("the address is no text"))?;
    let target = base.join(address).map_err(|_| Failure::NoEndpoint("the address cannot be used"))?;
    if !target.same_origin(base) || !target.same_origin(configured) {
        return Err(Failure::NoEndpoint("the address leads to another origin"));
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir_wire::sse::Decoder;

    fn read(stream: &[u8]) -> Option<Result<Vec<u8>, String>> {
        let (mut decoder, mut address) = (Decoder::new(), Address::default());
        let mut rest = stream;
        while let Some(part) = decoder.next(&mut rest) {
            if let Some(named) = address.take(part) {
                return Some(named.map_err(|failure| failure.to_string()));
            }
        }
        None
    }

    #[test]
    fn the_endpoint_is_the_first_event_with_data() {
        for stream in [
            "event: endpoint\ndata: /m?s=1\n\n",
            "retry: 5\n\nevent: endpoint\ndata: /m?s=1\n\n",
            ": x\n\nid: 1\n\nevent: other\n\nevent: endpoint\ndata: /m?s=1\n\n",
        ] {
            assert_eq!(read(stream.as_bytes()), Some(Ok(b"/m?s=1".to_vec())), "{stream}");
        }
        let long = format!("event: endpoint\ndata: /{}\n\n", "a".repeat(9000));
        for (stream, why) in [
            (long.as_str(), "too long"),
            ("event: endpoint\ndata: /m\ndata: x\n\n", "more than one line"),
            ("event: endpoint\ndata:\n\n", "empty"),
            ("data: {}\n\n", "another type"),
        ] {
            let refused = read(stream.as_bytes()).unwrap().unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert_eq!(read(b"event: endpoint\ndata: /m\n"), None);
    }
}
